//! What becomes of the sessions that a probe opened (MCP.md, "Do no harm"): each is closed, but for those of releases
//! that a closed session brings down. There one is kept over beats instead, and shared by every probe.

use std::sync::Arc;

use chrono::TimeDelta;

use crate::domain::learnt::{Caution, Deed, Doing, KeptSession, Learnt};
use crate::domain::observation::{FaultKind, Observation, Stage};
use crate::domain::protocol::{Era, FRAGILE_UP_TO};
use crate::probe::call::{Afterwards, Caller};
use crate::probe::clock::Clock;

/// A kept session in which the tools were not listed is given up when it is older: it may be the session alone that broke.
const DOUBTED_AFTER: TimeDelta = TimeDelta::minutes(5);

/// Characters of a session's id that is kept: what is longer is no id that releases in question give.
const ID_CHARS_MAX: usize = 256;

/// Whether closing this session may bring its server down: the Python SDK up to 1.9.4 names sessions by 32 hexadecimal
/// digits and knows no version after 2025-03-26. Where no version was answered, it may be one of those.
pub(crate) fn may_kill(session: &[u8], answered: Option<&str>) -> bool {
    let by_that_sdk = session.len() == 32 && session.iter().all(u8::is_ascii_hexdigit);
    by_that_sdk && answered.is_none_or(|version| version <= FRAGILE_UP_TO)
}

/// Whether a session is to stay open: as the file says, unless the server was seen to go down with one.
pub(crate) fn is_spared(close_sessions: Option<bool>, learnt: &Learnt, session: &[u8], answered: Option<&str>) -> bool {
    if learnt.closing == Caution::Harmful {
        return true;
    }
    match close_sessions {
        Some(close) => !close,
        None => learnt.era != Some(Era::Modern) && may_kill(session, answered.or(learnt.answered)),
    }
}

/// Keeps or closes sessions; what went wrong about it is a note on the last step.
///
/// The first time it is checked that the server survives it: some went down with the session.
pub(crate) async fn close(caller: &mut Caller<'_>, learnt: &mut Learnt, seen: &mut Observation) {
    let mut clock = Clock::start(Stage::Handshake, "closing");
    keep(caller, learnt, seen);
    let well = seen.steps.iter().all(|step| step.fault.is_none());
    if caller.close(learnt, &mut clock).await && learnt.closing == Caution::Unchecked {
        learnt.deed = Some(Deed { what: Doing::Closing, at: caller.now() });
        if well {
            check_after_closing(caller, learnt, seen.era.unwrap_or(Era::Legacy), &mut clock).await;
        }
    }
    let notes = clock.stop(None).notes;
    if let Some(last) = seen.steps.last_mut() {
        last.notes.extend(notes);
    }
}

/// Keeps the session that this probe spoke in, where it is one that stays open and was well.
fn keep(caller: &Caller<'_>, learnt: &mut Learnt, seen: &Observation) {
    let Some((session, version)) = caller.session.as_ref().zip(caller.version()) else { return };
    // One whose opening was not finished is not spoken in again: old releases die of that too.
    let well = seen.era == Some(Era::Legacy)
        && !seen.steps.iter().filter_map(|step| step.fault.as_ref()).any(|fault| fault.kind == FaultKind::SessionLost);
    let id = session.to_str().ok().filter(|id| id.len() <= ID_CHARS_MAX);
    let Some(id) = id.filter(|_| well && caller.spares(learnt, session)) else {
        learnt.kept = None;
        return;
    };
    let failed = seen.fault(Stage::Tools).is_some();
    let doubted = |kept: &KeptSession| failed && caller.now() - kept.opened_at >= DOUBTED_AFTER;
    if learnt.kept.as_deref().is_some_and(doubted) {
        learnt.kept = None;
    } else if learnt.kept.as_ref().is_none_or(|kept| kept.id != id) {
        learnt.kept = Some(Arc::new(KeptSession { id: id.to_owned(), version, opened_at: caller.now() }));
    }
}

async fn check_after_closing(caller: &mut Caller<'_>, learnt: &mut Learnt, era: Era, clock: &mut Clock) {
    match caller.still_answers(era, clock).await {
        Afterwards::Answers => learnt.closing = Caution::Harmless,
        Afterwards::Unclear => {}
        Afterwards::Gone => {
            learnt.closing = Caution::Harmful;
            clock.note(
                "the server was gone after its session was closed; its sessions stay open from now on".to_owned(),
            );
        }
    }
    // The look itself may have opened one.
    caller.close(learnt, clock).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_releases_that_die_with_them_stay_open() {
        const PYTHON: &str = "0123456789abcdef0123456789abcdef";
        const OTHER: &str = "01234567-89ab-cdef-0123-456789abcdef";
        let of = |closing, era, known| Learnt { closing, era, answered: known, ..Learnt::default() };
        let open = |answered| of(Caution::Unchecked, None, answered);
        let (old, oldest, newer) = (Some("2025-03-26"), Some("2024-11-05"), Some("2025-06-18"));
        type Row = (&'static str, Option<bool>, Learnt, &'static str, Option<&'static str>, bool);
        let rows: Vec<Row> = vec![
            ("an old version and that SDK's id", None, open(None), PYTHON, old, true),
            ("the oldest version", None, open(None), PYTHON, oldest, true),
            ("in capitals", None, open(None), "0123456789ABCDEF0123456789ABCDEF", old, true),
            ("an old version and an id of another form", None, open(None), OTHER, old, false),
            ("a digit more", None, open(None), "0123456789abcdef0123456789abcdef0", old, false),
            ("a newer version", None, open(None), PYTHON, newer, false),
            ("no version yet: an error reply opened it", None, open(None), PYTHON, None, true),
            ("no version yet, and it answered a newer one before", None, open(newer), PYTHON, None, false),
            ("no version yet, and it answered an old one before", None, open(old), PYTHON, None, true),
            ("a server of the modern era", None, of(Caution::Unchecked, Some(Era::Modern), None), PYTHON, None, false),
            ("the file says to close", Some(true), open(None), PYTHON, old, false),
            ("the file says not to", Some(false), open(None), OTHER, newer, true),
            (
                "it went down once, whatever the file says",
                Some(true),
                of(Caution::Harmful, None, None),
                OTHER,
                newer,
                true,
            ),
        ];
        for (sentence, close, learnt, session, answered, expected) in rows {
            assert_eq!(is_spared(close, &learnt, session.as_bytes(), answered), expected, "{sentence}");
        }
    }
}
