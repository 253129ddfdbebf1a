//! `GET /status`: the page that everybody may see, as it stands without script.

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};

use crate::web::assets;
use crate::web::draw::bars::Bars;
use crate::web::format;
use crate::web::public::episode::Episode;
use crate::web::public::snapshot::Snapshot;
use crate::web::public::words::PublicState;

/// How far back the page tells of what is over; the feed goes further.
const SHOWN_FOR: TimeDelta = TimeDelta::days(14);
/// What is over and told of, the latest; a page of more is not read.
const OVER_MAX: usize = 60;

#[derive(Debug, Template)]
#[template(path = "public/status.html")]
struct StatusHtml<'a> {
    title: &'a str,
    home: Option<&'a str>,
    css: &'static str,
    icon: &'static str,
    state: PublicState,
    said: &'a str,
    at: String,
    at_iso: String,
    groups: Vec<Group<'a>>,
    open: Vec<EpisodeLine<'a>>,
    over: Vec<EpisodeLine<'a>>,
    /// How many more there were.
    over_left: usize,
    ahead: Vec<RunLine>,
    is_past_known: bool,
}

/// Components under one heading, which may be empty.
#[derive(Debug)]
struct Group<'a> {
    name: &'a str,
    components: Vec<ComponentLine<'a>>,
}

#[derive(Debug)]
struct ComponentLine<'a> {
    name: &'a str,
    description: &'a str,
    state: PublicState,
    /// 90 days, drawn and in figures.
    past: Option<(Bars, String)>,
    /// Behind the state: how many, or since when; empty where nothing is to be added.
    more: String,
}

#[derive(Debug)]
struct EpisodeLine<'a> {
    name: &'a str,
    state: PublicState,
    said: &'static str,
    more: String,
    from: Moment,
    until: Option<Moment>,
    lasted: String,
}

#[derive(Debug)]
struct RunLine {
    names: String,
    from: Moment,
    to: Moment,
    is_on: bool,
}

/// A moment for people and for machines.
#[derive(Debug)]
struct Moment {
    iso: String,
    shown: String,
}

/// The page.
pub(crate) fn html(snapshot: &Snapshot) -> String {
    let (open, over): (Vec<&Episode>, Vec<&Episode>) =
        snapshot.since(snapshot.at - SHOWN_FOR).partition(|episode| episode.until.is_none());
    let line = |episode: &&Episode| episode_line(snapshot, episode);
    let page = StatusHtml {
        title: &snapshot.page.title,
        home: snapshot.page.home.as_deref(),
        css: &assets::PUBLIC_STYLE.path,
        icon: &assets::ICON.path,
        state: snapshot.overall.0,
        said: &snapshot.overall.1,
        at: format::absolute(snapshot.at),
        at_iso: snapshot.at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        groups: groups(snapshot),
        open: open.iter().map(line).collect(),
        over_left: over.len().saturating_sub(OVER_MAX),
        over: over.iter().take(OVER_MAX).map(line).collect(),
        ahead: snapshot.ahead.iter().map(|run| run_line(snapshot, run)).collect(),
        is_past_known: snapshot.episodes.is_some(),
    };
    page.render().unwrap_or_else(|error| {
        tracing::error!(%error, "the status page could not be written");
        String::new()
    })
}

/// Components in the order of the file, those of one heading where its first one stands.
fn groups(snapshot: &Snapshot) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let each = snapshot.page.components.iter().zip(&snapshot.components).zip(&snapshot.pasts);
    for ((declared, now), past) in each {
        let more = match (now.state, now.affected) {
            (PublicState::Works, _) => String::new(),
            (_, (some, all)) if all > 1 => format!("{some} of {all} affected"),
            (PublicState::Unknown, _) => match now.unknown_since {
                Some(since) => format!("since {}", moment(since).shown),
                None => "not seen yet".to_owned(),
            },
            _ => String::new(),
        };
        let past = past.as_ref().map(|past| (Bars::new(&past.days, past.has_canaries), past.said()));
        let (name, description) = (declared.name.as_str(), declared.description.as_str());
        let line = ComponentLine { name, description, state: now.state, past, more };
        match groups.iter_mut().find(|group| group.name == declared.group) {
            Some(group) => group.components.push(line),
            None => groups.push(Group { name: &declared.group, components: vec![line] }),
        }
    }
    groups
}

fn episode_line<'a>(snapshot: &'a Snapshot, episode: &Episode) -> EpisodeLine<'a> {
    let end = episode.until.unwrap_or(snapshot.at);
    let (some, all) = episode.affected;
    EpisodeLine {
        name: snapshot.name(episode.component),
        state: episode.state,
        said: episode.said,
        more: if all > 1 { format!("{some} of {all} affected") } else { String::new() },
        from: moment(episode.from),
        until: episode.until.map(moment),
        lasted: format::span((end - episode.from).to_std().unwrap_or_default()),
    }
}

fn run_line(snapshot: &Snapshot, run: &crate::web::public::ahead::MaintenanceRun) -> RunLine {
    RunLine {
        names: snapshot.names(&run.components),
        from: moment(run.from),
        to: moment(run.to),
        is_on: run.from <= snapshot.at,
    }
}

/// To the minute, such as `25 Nov 2026, 09:14 UTC`.
fn moment(at: DateTime<Utc>) -> Moment {
    Moment {
        iso: at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        shown: at.format("%-d %b %Y, %H:%M UTC").to_string(),
    }
}
