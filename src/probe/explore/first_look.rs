//! A first look at a server that nobody has described yet: what it speaks, how it is searched, what could be asked.
//!
//! One conversation, closed at its end, of at most
//! [`REQUESTS_MAX`](crate::probe::explore::talk::REQUESTS_MAX) requests. First the server's own words are asked
//! for, then the rare ones of what came back; only what the server then answered from the same source is proposed.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio::time::Instant;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::Monitor;
use crate::domain::observation::{BeatKind, Observation, Stage};
use crate::domain::search::Search;
use crate::domain::server_profile::ServerProfile;
use crate::probe::explore::explored::{Explored, Wish};
use crate::probe::explore::talk::Talk;
use crate::probe::prober::Prober;
use crate::probe::session::caller::{Caller, Destination};
use crate::probe::session::closing::close;
use crate::probe::session::declared::Way;
use crate::probe::session::handshake::weigh_discover;
use crate::probe::session::listing::all_pages;
use crate::probe::session::opened::Opened;
use crate::probe::session::process_pool::ProcessPool;
use crate::probe::stages::declarations::made_of;
use crate::probe::stages::steps::meet;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::egress::{ClientIdentity, trusting};
use crate::tool_lists::callable::{Callable, find};
use crate::tool_lists::known::KnownLists;
use crate::tool_lists::tools::reduce;

/// The whole exploration, however slow the server.
const TIME_MAX: Duration = Duration::from_secs(90);

impl Prober {
    /// Looks at a server for the first time. Only address, credentials and limits of `monitor` are used; `profile` is
    /// what is known of it from elsewhere.
    ///
    /// Never fails: what could not be found out is said in `Explored::gaps`.
    pub async fn explore(
        &self,
        monitor: &Monitor,
        wish: &Wish,
        profile: ServerProfile,
        now: DateTime<Utc>,
    ) -> Explored {
        let mut found = Explored {
            seen: Observation::blank(monitor.id.clone(), BeatKind::Burst, now, now),
            // Whether the session is there still shows in a beat, which opens another where it is not; here it would not.
            profile: ServerProfile { kept: None, ..profile },
            search: None,
            lists: Vec::new(),
            canaries: Vec::new(),
            durations: Vec::new(),
            guesses: Vec::new(),
            gaps: Vec::new(),
        };
        let began = Instant::now();
        let declared = made_of(monitor, Arc::default());
        let trusting = |way: &Way| {
            trusting(&self.connector, way.target.clone(), monitor, &declared.scrub, ClientIdentity::Identity)
        };
        let (way, target) = match declared.way().and_then(|way| Ok((way, trusting(way)?))) {
            Ok(found) => found,
            Err(fault) => {
                found.gaps.push(unreachable(Stage::Connect, &fault));
                return found;
            }
        };
        let destination = Destination { way, target, until: began + TIME_MAX };
        let mut caller = Caller::new(self.means(), destination, &declared, monitor, now);
        converse(&mut caller, &self.programs, monitor, wish, &mut found).await;
        weigh_discover(&mut found.seen.steps, &mut found.profile);
        close(&mut caller, &mut found.profile, &mut found.seen).await;
        if let Some(process) = caller.take_program() {
            process.stop().await;
        }
        caller.wire.hang_up();
        found.seen.footprint = caller.wire.footprint;
        found.seen.elapsed = began.elapsed();
        found
    }
}

/// From the connection to the last search; ends early where the next step has nothing to stand on.
async fn converse(
    caller: &mut Caller<'_>,
    programs: &ProcessPool,
    monitor: &Monitor,
    wish: &Wish,
    found: &mut Explored,
) {
    let Some(Opened { era, .. }) = meet(caller, programs, monitor, &mut found.profile, &mut found.seen).await else {
        let broken = found.seen.steps.iter().rev().find_map(|step| Some((step.stage, step.fault.as_ref()?)));
        found.gaps.extend(broken.map(|(stage, fault)| unreachable(stage, fault)));
        return;
    };
    let mut clock = StepClock::start(Stage::Tools, "tools/list");
    let listed = all_pages(caller, era, &mut clock).await;
    let step = clock.stop(listed.as_ref().err().cloned());
    found.durations.extend(step.fault.is_none().then_some(step.elapsed));
    found.seen.steps.push(step);
    let tools = match listed {
        Ok(tools) => tools,
        Err(fault) => {
            found.gaps.push(unreachable(Stage::Tools, &fault));
            return;
        }
    };
    let search = match &wish.declared {
        Some(declared) => as_declared(&tools, &declared.search),
        None => {
            let callable = find(&tools, wish.tool.as_deref(), wish.query.as_deref(), &wish.arguments);
            callable.map(|callable| {
                found.guesses.extend(callable.guesses.iter().cloned());
                as_search(callable)
            })
        }
    };
    let reduced = search.as_ref().ok().unwrap_or(&monitor.search);
    found.seen.tools = Some(reduce(&tools, reduced, &KnownLists::default()));
    match search {
        Err(why) => found.gaps.push(why),
        Ok(search) => {
            let mut talk = Talk::new(caller, era, &tools, search, found);
            talk.run(wish).await;
        }
    }
}

fn as_search(callable: Callable) -> Search {
    let Callable { tool, query, arguments, .. } = callable;
    let query = vec![query];
    Search { tool: Some(tool), query, arguments, per_beat: 2, ..Search::default() }
}

/// The search of a file, by the tool that its probes would call.
fn as_declared(tools: &[Value], declared: &Search) -> Result<Search, String> {
    let tool = reduce(tools, declared, &KnownLists::default()).search_tool;
    let tool = tool.ok_or_else(|| "the server lists no tool that the file's `search` means".to_owned())?;
    Ok(Search { tool: Some(tool), ..declared.clone() })
}

/// Why the server could not be asked at all, and what would help.
fn unreachable(stage: Stage, fault: &Fault) -> String {
    let said = format!("at {}: {}", stage.slug(), fault.detail);
    match fault.kind {
        FaultKind::AuthRequired => format!("the server needs credentials, {said}; give them with --bearer-env"),
        FaultKind::AuthRejected => format!("the server refused these credentials, {said}"),
        _ => format!("the server could not be asked, {said}"),
    }
}
