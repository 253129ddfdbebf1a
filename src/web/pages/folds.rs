//! The parts of a monitor's page that are folded: what stands in the line of each, so that a fold hides nothing bad.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::domain::outcome::Verdict;
use crate::domain::wording::counted;
use crate::live::monitor_view::MonitorView;
use crate::web::draw::heat::Heat;
use crate::web::pages::footprint::FootprintPart;
use crate::web::pages::signals::SignalLine;
use crate::web::pages::tools::ToolsPart;
use crate::web::pages::uptime::UptimeCell;

/// The line of one fold.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "part/fold.html")]
pub(crate) struct Fold {
    /// The anchor of what is folded.
    pub id: &'static str,
    pub title: &'static str,
    /// What is inside, in a few words; the bad first.
    pub said: String,
    /// Whether something inside asks for attention: it opens unfolded then.
    pub bad: bool,
}

impl HtmlSafe for Fold {}

/// All of them, in their order on the page.
#[derive(Debug)]
pub(crate) struct Folds {
    pub signals: Fold,
    pub uptime: Fold,
    pub heat: Fold,
    pub probe: Fold,
    pub tools: Fold,
    pub beats: Fold,
    pub footprint: Fold,
}

impl Folds {
    /// Each, for the index of the page.
    pub(crate) fn each(&self) -> [&Fold; 7] {
        [&self.signals, &self.uptime, &self.heat, &self.probe, &self.tools, &self.beats, &self.footprint]
    }
}

pub(crate) fn signals(lines: &[SignalLine]) -> Fold {
    let loud: Vec<&SignalLine> = lines.iter().filter(|line| line.is_loud()).collect();
    let said = match loud.len() {
        0 => format!("all {} quiet", lines.len()),
        n => format!("{} not quiet, {} quiet", n, lines.len() - n),
    };
    // They stand above the fold in any case.
    Fold { id: "signals", title: "Signals and rules", said, bad: false }
}

pub(crate) fn uptime(cells: &[UptimeCell]) -> Fold {
    let said: Vec<String> = cells.iter().take(2).map(|cell| format!("{} {}", cell.name, cell.value)).collect();
    let said = if said.is_empty() { "kept in the database".to_owned() } else { said.join(" · ") };
    Fold { id: "uptime", title: "Uptime", said, bad: false }
}

pub(crate) fn heat(heat: Option<&Heat>) -> Fold {
    let over = heat.map_or(0, |heat| heat.cells.iter().filter(|cell| cell.class == "over").count());
    let said = match (heat, over) {
        (None, _) => "nothing measured".to_owned(),
        (Some(_), 0) => "no hour over the limit".to_owned(),
        (Some(_), n) => format!("{} over the limit", counted(n, "hour", "hours")),
    };
    Fold { id: "heat", title: "Durations by hour", said, bad: false }
}

pub(crate) fn probe(view: &MonitorView) -> Fold {
    let (title, id) = ("Last probe", "probe");
    let Some(look) = &view.look else { return Fold { id, title, said: "no probe yet".to_owned(), bad: false } };
    let verdict = look.verdict;
    let said = match look.reason {
        Some(first) if look.findings > 1 => {
            format!("{}: {} and {} more", verdict.slug(), first.slug(), look.findings - 1)
        }
        Some(first) => format!("{}: {}", verdict.slug(), first.slug()),
        None => verdict.slug().to_owned(),
    };
    Fold { id, title, said, bad: !matches!(verdict, Verdict::Good | Verdict::Unknown) || look.findings > 0 }
}

pub(crate) fn tools(tools: &ToolsPart) -> Fold {
    let (title, id) = ("Tools", "tools");
    let Some(now) = &tools.now else {
        return Fold { id, title, said: "no list seen since Serin started".to_owned(), bad: false };
    };
    let mut said = Vec::new();
    said.extend(now.differs.as_ref().map(|differs| format!("changed and not accepted: {}", differs.count)));
    if !now.instructions.is_empty() {
        said.push(counted(now.instructions.len(), "text reads", "texts read") + " like instructions");
    }
    if !now.calls.is_empty() {
        said.push(now.calls.clone());
    }
    let bad = !said.is_empty();
    if !bad {
        said.push(format!("{} listed, as accepted", now.names.len() + now.more));
    }
    Fold { id, title, said: said.join(" · "), bad }
}

/// `verdicts`: of the beats listed, as stored.
pub(crate) fn beats<'a>(verdicts: impl Iterator<Item = &'a str>) -> Fold {
    let (mut all, mut good) = (0_usize, 0_usize);
    for verdict in verdicts {
        all += 1;
        good += usize::from(verdict == Verdict::Good.slug());
    }
    let said = match all {
        0 => "none yet".to_owned(),
        _ if good == all => format!("{all} of {all} good"),
        _ => format!("{good} of the last {all} good"),
    };
    Fold { id: "beats", title: "Latest beats", said, bad: false }
}

pub(crate) fn footprint(part: &FootprintPart) -> Fold {
    let today = part.rows.iter().find(|row| row.name == "requests").map(|row| format!("{} requests today", row.today));
    let mut said: Vec<String> = Vec::new();
    if !part.cautions.is_empty() {
        said.push(format!("probes hurt it once: {}", counted(part.cautions.len(), "caution", "cautions")));
    }
    let bad = !said.is_empty();
    said.extend(today);
    Fold { id: "footprint", title: "Probe cost", said: said.join(" · "), bad }
}
