//! `serin init URL`: two minutes to the first monitor.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use chrono::Utc;

use crate::cli::init::append;
use crate::cli::init::compose::{Draft, new_file};
use crate::cli::init::confirming::{CONFIRMATIONS, Proposed, once_more};
use crate::cli::init::given::{InitArgs, InitInput, WrittenReference, arguments};
use crate::cli::init::monitors_file::{Standing, put_into, standing, whole_text};
use crate::cli::init::scalar;
use crate::cli::observe::recalled;
use crate::domain::monitor::{CanaryKind, Monitor};
use crate::domain::observation::Footprint;
use crate::domain::server_profile::ServerProfile;
use crate::domain::wording::counted;
use crate::probe::explore::explored::{CANARIES_MAX, Explored, Wish};
use crate::probe::prober::Prober;

/// All was found out, and less than that.
const WHOLE: u8 = 0;
const PARTLY: u8 = 2;

/// Explores, proposes, confirms, writes.
///
/// # Errors
/// Where the arguments cannot be used, or the file cannot be written as it should be.
pub(crate) async fn command(args: InitArgs) -> anyhow::Result<ExitCode> {
    let given = InitInput::read(&args)?;
    if args.canaries > CANARIES_MAX {
        bail!("at most {CANARIES_MAX} canaries are looked for; further ones are better written by a person");
    }
    let standing = standing(&args, &given, std::io::stdin().is_terminal())?;
    let wish = Wish {
        tool: args.tool.clone(),
        query: args.query.clone(),
        asks: args.asks.clone(),
        asks_nothing: args.asks_nothing.clone(),
        arguments: arguments(&args.arguments)?,
        canaries: args.canaries,
        declared: None,
    };
    let prober = Prober::new(1);
    let monitor = given.monitor();
    anstream::eprintln!("exploring {} …", monitor.url.shown);
    let profile = recalled(args.append.as_deref().unwrap_or(Path::new("monitors.yaml")), &monitor).await;
    let explored = Box::pin(prober.explore(&monitor, &wish, profile, Utc::now())).await;
    let id = id_for(&args, &given, &explored, &standing);
    let written = given.written(&id);
    if let Some(file) = args.append.as_deref().filter(|_| explored.seen.tools.is_none()) {
        bail!("{} was not changed: {}", file.display(), unanswered(&explored.gaps, &written));
    }
    let mut draft = drafted(&explored, &written, id);
    let mut cost = Cost { total: explored.seen.footprint };
    if explored.was_throttled() {
        draft.canaries.clear();
        draft
            .doubts
            .push("the server asked for quiet (429), so that no canary was confirmed; try again later".to_owned());
    } else if explored.seen.tools.is_some() {
        confirm(&prober, &mut draft, &written, explored.profile.clone(), &mut cost).await?;
    }
    finish(&mut draft, &explored, &written, &cost)?;
    if let Some(file) = &args.append {
        // What the file would refuse is no proposal; and its `defaults` decide what is proposed.
        whole_text(file, &mut draft, &written, standing.replaced.as_deref())?;
    }
    report(&draft, &explored, &written, &cost);
    match &args.append {
        None => anstream::print!("{}", new_file(&draft.item(2))),
        Some(file) => put_into(file, &mut draft, &written, standing.replaced.as_deref(), args.yes)?,
    }
    Ok(ExitCode::from(if is_whole(&explored.gaps, &draft, args.canaries) { WHOLE } else { PARTLY }))
}

/// Whether all was found out: without gaps, and with a search whose right answer is known, where one was wanted.
fn is_whole(gaps: &[String], draft: &Draft, wanted: usize) -> bool {
    let is_asked = |(proposal, _): &Proposed| proposal.kind != CanaryKind::Negative;
    gaps.is_empty() && (wanted == 0 || draft.canaries.iter().any(is_asked))
}

/// Why no monitor of a server that listed no tools is put into a file, where it would stand in the way of the next try.
fn unanswered(gaps: &[String], written: &WrittenReference) -> String {
    let why = gaps.first().map_or("the server listed no tools", String::as_str);
    format!("{}; without --append, a monitor to fill in is printed", scalar::comment(&written.masked(why)))
}

/// The id that was chosen, else that of the monitor whose place it takes, else one that is free.
fn id_for(args: &InitArgs, given: &InitInput, explored: &Explored, standing: &Standing) -> String {
    if let Some(id) = args.id.as_ref().or(standing.replaced.as_ref()) {
        return id.clone();
    }
    let name = explored.seen.server.as_ref().map(|server| server.name.as_str());
    let base = given.id(name.filter(|name| !given.betrayed(name)));
    let numbered = (2..).map(|nth| format!("{base}-{nth}"));
    std::iter::once(base.clone()).chain(numbered).find(|id| !standing.ids.contains(id)).unwrap_or(base)
}

fn drafted(explored: &Explored, written: &WrittenReference, id: String) -> Draft {
    let seen = &explored.seen;
    let named = seen.server.as_ref().map(|server| server.name.clone()).filter(|name| !written.betrays(name));
    let listed = seen.sources.as_ref().filter(|sources| sources.knows_newest());
    let indexed = listed.and_then(|sources| sources.last_indexed_at);
    let (canaries, betrayed) = without_secrets(&explored.canaries, written);
    Draft {
        name: named.filter(|name| !name.trim().is_empty() && *name != id),
        id,
        url: written.url.clone(),
        program: written.program.clone(),
        env: written.env.clone(),
        bearer: written.bearer.clone(),
        headers: written.headers.clone(),
        search: explored.search.clone(),
        lists: explored.lists.clone(),
        canaries,
        durations: explored.durations.clone(),
        indexed: indexed.map(|at| at.format("%Y-%m-%d").to_string()),
        is_listed: false,
        by_defaults: false,
        calls_per_day: None,
        facts: Vec::new(),
        doubts: betrayed.into_iter().collect(),
    }
}

/// Canaries that may stand in a file, and a doubt where there are others.
fn without_secrets(canaries: &[Proposed], written: &WrittenReference) -> (Vec<Proposed>, Option<String>) {
    let is_clean = |(proposal, _): &&Proposed| {
        let mut texts = [&proposal.query, &proposal.source].into_iter().chain(&proposal.contains);
        !texts.any(|text| written.betrays(text))
    };
    let kept: Vec<Proposed> = canaries.iter().filter(is_clean).cloned().collect();
    let betraying = canaries.len() - kept.len();
    let doubt = || format!("{} left out, for repeating a secret of ours", counted(betraying, "canary", "canaries"));
    (kept, (betraying > 0).then(doubt))
}

/// Probes the draft as it would be watched; canaries that are answered otherwise are left out.
async fn confirm(
    prober: &Prober,
    draft: &mut Draft,
    written: &WrittenReference,
    mut profile: ServerProfile,
    cost: &mut Cost,
) -> anyhow::Result<()> {
    let rounds = if draft.canaries.is_empty() { 1 } else { CONFIRMATIONS };
    for _ in 0..rounds {
        let monitor = declared(draft, written)?;
        let (footprint, next) = once_more(prober, draft, &monitor, profile).await;
        profile = next;
        cost.add(&footprint);
    }
    Ok(())
}

/// The draft as the checker reads it. Canaries that it refuses are left out: a stranger's text is no ground to stand on.
fn declared(draft: &mut Draft, written: &WrittenReference) -> anyhow::Result<Arc<Monitor>> {
    let load = |draft: &Draft| append::checked(Path::new("new.yaml"), &new_file(&draft.item(2)), &written.known);
    if load(draft).is_err() {
        let all = std::mem::take(&mut draft.canaries);
        for canary in all {
            draft.canaries.push(canary);
            if load(draft).is_err()
                && let Some((proposal, _)) = draft.canaries.pop()
            {
                draft.doubts.push(format!("`serin check` refuses a canary that asks '{}': left out", proposal.query));
            }
        }
    }
    let loaded = load(draft).map_err(|faults| anyhow::anyhow!("the proposal is not right yet:\n{faults}"))?;
    loaded.fleet.monitors.first().cloned().context("the proposal holds no monitor")
}

/// What the person reads above the monitor: what it is, what it costs, what to look at.
fn finish(draft: &mut Draft, explored: &Explored, written: &WrittenReference, cost: &Cost) -> anyhow::Result<()> {
    let seen = &explored.seen;
    draft.calls_per_day = Some(declared(draft, written)?.calls_per_day());
    draft.facts.push(format!("Found by `serin init` with {}.", counted(cost.total.requests, "request", "requests")));
    if let (Some(era), Some(transport), Some(server)) = (seen.era, seen.transport, &seen.server) {
        let tools = seen.tools.as_ref().map_or(0, |tools| tools.tools.len());
        draft.facts.push(format!(
            "{} {}: MCP {} ({}) over {}, {}.",
            server.name,
            server.version,
            server.protocol,
            era.slug(),
            transport.slug(),
            counted(tools, "tool", "tools")
        ));
    }
    draft.doubts.splice(0..0, explored.gaps.iter().chain(&explored.guesses).cloned());
    for line in draft.facts.iter_mut().chain(&mut draft.doubts) {
        *line = written.masked(line);
    }
    if written.betrays(&draft.item(0)) {
        bail!("the server repeats a secret of ours in how it is called; nothing is written down");
    }
    Ok(())
}

/// What was found, to standard error: standard output holds the YAML alone.
fn report(draft: &Draft, explored: &Explored, written: &WrittenReference, cost: &Cost) {
    for fact in draft.facts.iter().chain(&draft.calls()) {
        anstream::eprintln!("  {}", scalar::comment(fact));
    }
    if let Some(search) = &explored.search {
        let count = |kind| draft.canaries.iter().filter(|(proposal, _)| proposal.kind == kind).count();
        let kinds = CanaryKind::ALL.map(|kind| format!("{} {}", count(kind), kind.slug()));
        let tool = scalar::comment(search.tool.as_deref().unwrap_or_default());
        anstream::eprintln!("  search tool `{tool}`; canaries that passed each time: {}", kinds.join(", "));
        anstream::eprintln!("  meaning canaries, in words their source does not use, have to be written by a person");
    }
    for doubt in &draft.doubts {
        anstream::eprintln!("  look: {}", scalar::comment(doubt));
    }
    for (name, _) in &written.known {
        anstream::eprintln!("  set the variable {name} where Serin runs; its value was not written down");
    }
    let Footprint { sessions_opened, sessions_closed, .. } = cost.total;
    anstream::eprintln!(
        "  {} sent, {} opened and {sessions_closed} closed",
        counted(cost.total.requests, "request", "requests"),
        counted(sessions_opened, "session", "sessions")
    );
}

/// What all probes together cost the server.
#[derive(Debug)]
struct Cost {
    total: Footprint,
}

impl Cost {
    fn add(&mut self, part: &Footprint) {
        self.total.requests += part.requests;
        self.total.sessions_opened += part.sessions_opened;
        self.total.sessions_closed += part.sessions_closed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::init::confirming::keep_right;
    use crate::domain::outcome::AskVerdict;
    use crate::domain::quality::propose::Proposal;
    use crate::domain::reason::FailureReason;

    fn draft(canaries: &[(&str, CanaryKind)]) -> Draft {
        let proposed = |(query, kind): &(&str, CanaryKind)| {
            let (query, source) = ((*query).to_owned(), "a.md".to_owned());
            (Proposal { query, kind: *kind, source, contains: Vec::new() }, None)
        };
        let url = "http://127.0.0.1:1/mcp".to_owned();
        Draft { id: "m".to_owned(), url, canaries: canaries.iter().map(proposed).collect(), ..Draft::default() }
    }

    fn queries(canaries: &[Proposed]) -> Vec<&str> {
        canaries.iter().map(|(proposal, _)| &*proposal.query).collect()
    }

    #[test]
    fn what_was_not_asked_again_stays_and_what_was_answered_otherwise_does_not() {
        let mut draft = draft(&["right", "wrong", "failed", "late"].map(|query| (query, CanaryKind::Keyword)));
        let verdicts = [
            AskVerdict::Right { rank: Some(1) },
            AskVerdict::Wrong { reason: FailureReason::EmptyResults, rank: None, seen: String::new() },
            AskVerdict::Failed { reason: FailureReason::RateLimited },
            AskVerdict::NotAsked,
        ];
        keep_right(&mut draft, &verdicts.iter().enumerate().collect::<Vec<_>>());
        assert_eq!(queries(&draft.canaries), ["right", "late"]);
        let said = draft.doubts.join("\n");
        assert!(said.contains("'wrong' was not answered as before: left out"), "{said}");
        assert!(said.contains("'failed' got no answer (rate_limited): left out"), "{said}");
        assert!(said.contains("'late' was not asked again") && !said.contains("'right'"), "{said}");
        keep_right(&mut draft, &[(0, &verdicts[0]), (1, &verdicts[3])]);
        assert_eq!((draft.canaries.len(), draft.doubts.len()), (2, 3), "nothing is said twice");
    }

    #[test]
    fn all_was_found_out_only_with_a_search_whose_answer_is_known() {
        type Row<'r> = (&'r [String], &'r [CanaryKind], usize, bool, &'r str);
        let gap = ["a gap".to_owned()];
        let rows: [Row<'_>; 4] = [
            (&[], &[CanaryKind::Keyword], 5, true, "one that is asked"),
            (&[], &[CanaryKind::Negative], 5, false, "nonsense alone"),
            (&[], &[], 0, true, "none was wanted"),
            (&gap, &[CanaryKind::Keyword], 5, false, "a gap"),
        ];
        for (gaps, kinds, wanted, expected, sentence) in rows {
            let canaries: Vec<_> = kinds.iter().map(|kind| ("a", *kind)).collect();
            assert_eq!(is_whole(gaps, &draft(&canaries), wanted), expected, "{sentence}");
        }
    }

    #[test]
    fn a_canary_that_may_not_be_written_is_left_out_and_that_is_said() {
        let mut written = WrittenReference::default();
        let mut ours = draft(&[("fine", CanaryKind::Keyword), ("with a \u{7}", CanaryKind::Keyword)]);
        let monitor = declared(&mut ours, &written).unwrap();
        assert_eq!((monitor.canaries.len(), queries(&ours.canaries)), (1, vec!["fine"]));
        assert!(ours.doubts.len() == 1 && ours.doubts[0].contains("refuses"), "{:?}", ours.doubts);

        written.known.push(("TOKEN".to_owned(), "verysecret".to_owned()));
        let all = draft(&[("fine", CanaryKind::Keyword), ("VerySecret", CanaryKind::Mixed)]).canaries;
        let (kept, doubt) = without_secrets(&all, &written);
        assert_eq!(queries(&kept), ["fine"]);
        assert_eq!(doubt.as_deref(), Some("1 canary left out, for repeating a secret of ours"));
        assert_eq!(without_secrets(&kept, &written).1, None);
    }
}
