//! A sentence out of an earlier answer, asked back where one is due.
//!
//! Nothing of it leaves this file but as a call to the server that it came from: what is seen of it is a rank.

use crate::domain::answer::{Answer, Ask, Turn, Variant};
use crate::domain::fault::Fault;
use crate::domain::observation::{BeatKind, Harvested, Observation, Stage};
use crate::domain::protocol::Era;
use crate::domain::quality::canary::rank_of;
use crate::domain::quality::harvest::HARVESTED;
use crate::probe::assignment::{Assignment, Harvesting};
use crate::probe::decode::answer::{self, Reader};
use crate::probe::session::caller::Caller;
use crate::probe::session::listing::Listed;
use crate::probe::stages::search::{called, fits, gather};
use crate::probe::wire::clock::StepClock;

/// Asks one sentence back, where one is due; the last thing that is asked of a server.
pub(super) async fn ask_back(
    caller: &mut Caller<'_>,
    (era, tools): (Era, &Listed),
    assignment: &Assignment,
    seen: &mut Observation,
) {
    let Some(Harvesting { pool, is_wanted }) = &assignment.further.harvest else { return };
    let tool = seen.tools.as_ref().and_then(|seen| seen.search_tool.clone());
    let Some(tool) = tool.filter(|_| assignment.kind == BeatKind::Scheduled && fits(caller, &assignment.monitor))
    else {
        return;
    };
    let Some(sentence) = pool.lock().draw(assignment.monitor.every, *is_wanted, caller.now()) else { return };
    let arguments = caller.asking(sentence.text());
    let mut clock = StepClock::start(Stage::Search, HARVESTED);
    let transcript = caller.wire.transcript;
    if let Some(transcript) = transcript {
        transcript.pause();
    }
    let outcome = called(caller, era, &tool, &arguments, tools.mirrored(&tool), &mut clock).await;
    let step = clock.stop(None);
    // What is still under way of a call that was given up may come with any other answer.
    if let Some(transcript) = transcript.filter(|_| outcome.is_ok()) {
        transcript.resume();
    }
    // A server may repeat the question in whatever it says of a fault.
    let wordless = |fault: Fault| Fault { detail: String::new(), ..fault };
    let search = &assignment.monitor.search;
    let came = outcome.map_err(wordless).and_then(|raw| {
        gather(pool, &raw, search);
        let reader = Reader { reads_text: false, needs_no_list: false };
        let (_, answer) = answer::read_whole(&raw, search, reader);
        answer.map_err(|misfit| Fault { kind: misfit.kind, detail: String::new() })
    });
    let rank = came.as_ref().ok().and_then(|answer| rank_of(&[sentence.source().to_owned()], &answer.hits));
    let ask = Ask {
        canary: HARVESTED.to_owned(),
        variant: Variant::Fresh,
        turn: Turn::Harvested,
        elapsed: step.elapsed,
        fresh_connection: step.fresh_connection,
        result: Some(came.map(cost_of)),
    };
    seen.harvested = Some(Box::new(Harvested { ask, rank }));
}

/// What an answer cost, and what it says of a cache; its text is there until its tokens are counted.
fn cost_of(answer: Answer) -> Answer {
    let Answer { cache, bytes, text, .. } = answer;
    Answer { cache, bytes, text, ..Answer::default() }
}
