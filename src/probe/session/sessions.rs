//! The sessions of one probe: joined, kept, closed, or left to the next probe to close.

use bytes::Bytes;
use http::{HeaderValue, Method};
use std::time::Duration;
use tokio::time::Instant;

use crate::domain::server_profile::{KeptSession, ServerProfile};
use crate::probe::decode::era::LEGACY;
use crate::probe::session::caller::{Caller, Carrier};
use crate::probe::session::message::{PROTOCOL, SESSION};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::connection::Reply;

/// Sessions one probe closes: one of its own, those that error replies opened, and what an earlier one owes.
pub(super) const SESSIONS_MAX: usize = 16;

/// Time for closing them, beyond the budget if need be: a leaked session costs the server more than this costs us.
pub(super) const CLOSE_LIMIT: Duration = Duration::from_secs(2);

impl<'a> Caller<'a> {
    /// Closes the sessions that replies opened, but for those that are to stay open; whether it closed any. Never
    /// fails: what was not closed shows in the footprint.
    pub(crate) async fn close(&mut self, profile: &ServerProfile, clock: &mut StepClock) -> bool {
        let mut closed = matches!(self.carrier, Carrier::Sse(_));
        self.close_stream();
        let deadline = Instant::now() + CLOSE_LIMIT;
        for session in std::mem::take(&mut self.session.open) {
            if self.spares(profile, &session) {
                clock.note("a session stays open: closing one may bring this server down".to_owned());
                continue;
            }
            closed = true;
            let version = self.session.protocol.clone().unwrap_or(HeaderValue::from_static(LEGACY));
            let request = self.request(Method::DELETE, Bytes::new());
            let request = request.with(SESSION, session.clone()).with(PROTOCOL, version);
            match self.wire.send(request, clock, deadline).await {
                Ok(reply) if reply.status.is_success() || reply.status.as_u16() == 404 => {
                    self.wire.footprint.sessions_closed += 1;
                    self.let_go(&reply);
                }
                Ok(reply) => {
                    clock.note(format!("the server did not let its session be closed: {}", reply.status));
                    self.let_go(&reply);
                }
                Err(fault) => {
                    clock.note(self.scrub.line(&format!("the session could not be closed: {}", fault.detail)));
                    self.session.open.push(session);
                }
            }
        }
        self.session.id = None;
        closed
    }

    /// Whether this session is to stay open.
    pub(crate) fn spares(&self, profile: &ServerProfile, session: &HeaderValue) -> bool {
        profile.spares(self.monitor.reach.close_sessions, session.as_bytes(), self.version())
    }

    /// Goes on in a session that an earlier probe left open; false where its id cannot be one.
    pub(crate) fn go_on(&mut self, kept: &KeptSession) -> bool {
        let Ok(id) = HeaderValue::from_str(&kept.id) else { return false };
        self.session.id = Some(id);
        self.session.protocol = Some(HeaderValue::from_static(kept.version));
        // Whoever else speaks in it just now counts from elsewhere.
        self.requests = u64::from(rand::random::<u32>()) << 8;
        true
    }

    /// Speaks outside the legacy conversation from now on; its session is still to be closed.
    pub(crate) fn leave_legacy(&mut self) {
        (self.session.id, self.session.protocol) = (None, None);
    }

    /// Takes note of the session that a reply named: error replies open some too.
    pub(crate) fn keep_session(&mut self, reply: &Reply) {
        self.session.named = reply.headers.get(SESSION).cloned();
        if let Some(id) = reply.headers.get(SESSION)
            && self.session.open.len() < SESSIONS_MAX
            && !self.session.open.contains(id)
            && self.session.id.as_ref() != Some(id)
        {
            self.session.open.push(id.clone());
            self.wire.footprint.sessions_opened += 1;
        }
    }

    /// The session the last reply opened becomes ours.
    pub(crate) fn join_session(&mut self) {
        self.session.id = self.session.named.clone();
    }
}

impl Drop for Caller<'_> {
    /// What is still open is closed by the next probe: this one was dropped, or the server did not take the closing.
    fn drop(&mut self) {
        if !self.session.open.is_empty() {
            self.means.unclosed_sessions.leave(
                &self.monitor.id,
                &self.monitor.definition_hash,
                std::mem::take(&mut self.session.open),
            );
        }
    }
}
