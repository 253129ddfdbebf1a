//! Whether somebody still answers after something that servers were seen to die of.

use http::StatusCode;
use tokio::time::Instant;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::protocol::Era;
use crate::probe::session::caller::Caller;
use crate::probe::session::message::{Call, initialize_params};
use crate::probe::session::sessions::CLOSE_LIMIT;
use crate::probe::wire::clock::StepClock;

/// What became of a server after something was done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Answers,
    /// It does not, and did before.
    Gone,
    /// It is slow: that proves nothing.
    Unclear,
}

/// What an answer after a closing says of the server.
pub(super) fn afterwards(knocked: &Result<StatusCode, Fault>) -> Afterwards {
    match knocked {
        Ok(status) if !status.is_server_error() => Afterwards::Answers,
        Ok(_) => Afterwards::Gone,
        Err(fault) if is_gone(fault.kind) => Afterwards::Gone,
        Err(_) => Afterwards::Unclear,
    }
}

/// Nobody is there any more, which a slow or confused server never looks like.
pub(crate) fn is_gone(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Refused | FaultKind::Reset | FaultKind::ClosedEarly)
}

impl<'a> Caller<'a> {
    /// Whether somebody still answers, on a connection of its own.
    ///
    /// Any answer but a 5xx will do. Behind a gateway a server that is gone is a 502, and one whose tasks broke down
    /// says 500; so may a confused one to a ping without a session, which then still opens a session when asked to.
    pub(crate) async fn still_answers(&mut self, era: Era, clock: &mut StepClock) -> Afterwards {
        // The modern era has neither of the two below.
        if era == Era::Modern {
            let discover = Call { method: "server/discover", ..Call::default() };
            return afterwards(&self.knock(era, &discover, clock).await);
        }
        let ping = Call { method: "ping", ..Call::default() };
        match self.knock(era, &ping, clock).await {
            Ok(status) if !status.is_server_error() => return Afterwards::Answers,
            Err(fault) if is_gone(fault.kind) => return Afterwards::Gone,
            _ => {}
        }
        let params = initialize_params();
        let initialize = Call { method: "initialize", params: &params, ..Call::default() };
        afterwards(&self.knock(era, &initialize, clock).await)
    }

    /// Posts a call outside any session on a fresh connection; the status is all that is looked at.
    pub(super) async fn knock(
        &mut self,
        era: Era,
        call: &Call<'_>,
        clock: &mut StepClock,
    ) -> Result<StatusCode, Fault> {
        self.wire.hang_up();
        let deadline = Instant::now() + CLOSE_LIMIT.min(self.limits.timeout);
        let letter = self.letter(era, call, true);
        let reply = self.post(era, call, &letter, clock, deadline).await?;
        self.let_go(&reply);
        Ok(reply.status)
    }
}
