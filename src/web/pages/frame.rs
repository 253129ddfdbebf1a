//! What all pages share: title, navigation, banners, and the moment they were drawn.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use chrono::{DateTime, SecondsFormat, Utc};

use crate::domain::api_key::Role;
use crate::live::banner::Banner;
use crate::web::admitted::Visit;
use crate::web::assets;
use crate::web::format::{self, Timestamp};
use crate::web::state::WebState;

/// Lines of one banner; a file with more faults is mended from the top anyway.
const BANNER_CHARS_MAX: usize = 8_000;

/// What stands around every page.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub title: String,
    /// Which entry of the navigation is this page's.
    pub here: &'static str,
    /// What a live page wants to hear of; empty: nothing.
    pub watch: String,
    /// Lines across the top.
    pub banners: Vec<BannerLine>,
    pub css: &'static str,
    pub js: &'static str,
    pub theme: &'static str,
    pub morph: &'static str,
    pub icon: &'static str,
    /// When it was drawn, in full, and for machines.
    pub updated: (String, String),
    /// Whether this visitor may see the fleet, and so the navigation.
    pub admitted: bool,
    /// Whether signing out means something.
    pub signed_in: bool,
    /// Who signed in by name, and acts under no other.
    pub name: Option<Arc<str>>,
    /// Whether this visitor may look, and not act: forms that act are left out then.
    pub looks_only: bool,
    /// The file in force, with its commit.
    pub file: String,
    /// Whether the file shows something to everybody, at `/status`.
    pub shows_status: bool,
    /// Whether the file has servers watched that others list.
    pub has_lists: bool,
}

/// One banner, ready to be drawn.
#[derive(Debug, Clone)]
pub(crate) struct BannerLine {
    /// What it is about, in words.
    pub title: String,
    pub text: String,
    pub since: Timestamp,
}

impl Frame {
    pub(crate) fn new(
        state: &WebState,
        visit: Visit,
        now: DateTime<Utc>,
        here: &'static str,
        title: impl Into<String>,
    ) -> Self {
        let fleet = state.fleet_now();
        let provenance = fleet.provenance.clone();
        let commit = provenance.commit.map(|commit| format!(" @ {commit}")).unwrap_or_default();
        let banners = if visit.admitted { state.live.banners() } else { Vec::new() };
        Self {
            title: title.into(),
            here,
            watch: String::new(),
            banners: banners.into_iter().map(|banner| line(banner, now)).collect(),
            css: &assets::STYLE.path,
            js: &assets::SCRIPT.path,
            theme: &assets::THEME.path,
            morph: &assets::MORPH.path,
            icon: &assets::ICON.path,
            updated: (format::absolute(now), now.to_rfc3339_opts(SecondsFormat::Secs, true)),
            admitted: visit.admitted,
            signed_in: visit.signed_in,
            name: visit.name,
            looks_only: visit.role == Some(Role::Read),
            file: if visit.admitted { format!("{}{commit}", provenance.file) } else { String::new() },
            has_lists: visit.admitted && !fleet.discovery.sources.is_empty(),
            shows_status: visit.admitted && fleet.status_page.is_some(),
        }
    }

    pub(crate) fn watching(mut self, what: impl Into<String>) -> Self {
        self.watch = what.into();
        self
    }
}

fn line(banner: Banner, now: DateTime<Utc>) -> BannerLine {
    let title = match banner.kind {
        "config" => "The file on disk is not valid; the one before it stays in force".to_owned(),
        "database" => "The database does not answer; pages show the last state from memory".to_owned(),
        "database_moved" => "The database file is not where it was; what is seen from now on may be lost".to_owned(),
        "deliveries" => "Messages do not get through; the page of deliveries says more".to_owned(),
        "lists" => "A list of servers is held, unread, not kept or not watched as a whole; the page of lists says more"
            .to_owned(),
        "uplink" => "Serin's own connection to the network is gone; nothing is held against a monitor".to_owned(),
        other => format::spaced(other),
    };
    let text = banner.text.chars().take(BANNER_CHARS_MAX).collect();
    BannerLine { title, text, since: Timestamp::new(banner.since, now) }
}

pub(crate) fn show(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
