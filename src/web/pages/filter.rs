//! What an address's query asks for. Whatever cannot be read is left out: a page is better than an error.

use std::sync::Arc;

use chrono::{DateTime, SecondsFormat};
use url::form_urlencoded;

use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::domain::signal::Signal;
use crate::live::glance::CanariesGlance;
use crate::live::monitor_view::RollUp;
use crate::live::standing::Standing;
use crate::store::read::pages::{IncidentFilter, IncidentPlace};
use crate::web::draw::glyph;
use crate::web::format::Query;
use crate::web::pages::search::Search;
use crate::web::pages::states::{RunningWindows, has_state};

/// Monitors on one page: with them it stays below 300 kB (DESIGN §10).
pub(crate) const MONITORS_PER_PAGE: usize = 100;
/// Characters of one value that are looked at.
const VALUE_CHARS_MAX: usize = 200;
/// Labels asked for at once.
const LABELS_MAX: usize = 8;

/// Which monitors a list wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FleetFilter {
    /// Only in this state of [`crate::web::pages::states::STATES`]; empty: all.
    pub state: String,
    /// Only with all these labels.
    pub labels: Vec<(String, String)>,
    /// Only what this search finds, as it was typed.
    pub q: String,
    /// What comes first.
    pub sort: Sort,
    /// The label whose values the list is grouped by; empty: none.
    pub group: String,
    /// The page asked for, from 1.
    pub page: usize,
}

impl FleetFilter {
    /// Reads a query such as `state=down&label=team:docs&q=search&page=2`.
    pub(crate) fn parse(query: &str) -> Self {
        let mut filter = Self { page: 1, ..Self::default() };
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let value: String = value.chars().filter(|c| !c.is_control()).take(VALUE_CHARS_MAX).collect();
            match &*key {
                "state" => filter.state = value,
                "sort" => filter.sort = Sort::from_slug(&value).unwrap_or_default(),
                "group" => filter.group = value,
                "q" => filter.q = value.trim().to_owned(),
                "page" => filter.page = value.parse().unwrap_or(1).max(1),
                "label" if filter.labels.len() < LABELS_MAX => {
                    filter.labels.extend(value.split_once(':').map(|(key, value)| (key.to_owned(), value.to_owned())));
                }
                _ => {}
            }
        }
        filter
    }

    /// The search, as far as it can be understood in this fleet.
    pub(crate) fn search(&self, all: &[Arc<dyn Standing>]) -> Search {
        Search::parse(&self.q, |key| all.iter().any(|one| one.declared().labels.contains_key(key)))
    }

    /// The monitors wanted, whatever their state: what the counts are taken over.
    pub(crate) fn apply_but_state(
        &self,
        all: &[Arc<dyn Standing>],
        windows: &RunningWindows<'_>,
    ) -> Vec<Arc<dyn Standing>> {
        let search = self.search(all);
        let wanted = |one: &&Arc<dyn Standing>| {
            let labels = one.declared().labels;
            self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
                && search.finds(one, windows.of(&***one).is_some())
        };
        all.iter().filter(wanted).cloned().collect()
    }

    /// Of those the ones in the state that is wanted, in the order that is wanted.
    pub(crate) fn sorted(&self, listed: &[Arc<dyn Standing>], windows: &RunningWindows<'_>) -> Vec<Arc<dyn Standing>> {
        let wanted = |one: &&Arc<dyn Standing>| {
            self.state.is_empty() || has_state(&***one, windows.of(&***one).is_some(), &self.state)
        };
        let mut found: Vec<_> = listed.iter().filter(wanted).cloned().collect();
        self.sort.apply(&mut found);
        found
    }

    /// The same as the API counts: those that wait are up as well, see [`RollUp::settled`].
    pub(crate) fn apply_settled(&self, all: &[Arc<dyn Standing>]) -> Vec<Arc<dyn Standing>> {
        let mut found = self.apply_but_state(all, &RunningWindows::default());
        let is_settled = |roll_up: RollUp| glyph::of_roll_up(roll_up.settled()).name == self.state;
        found.retain(|one| self.state.is_empty() || has_state(&**one, false, &self.state) || is_settled(one.roll_up()));
        self.sort.apply(&mut found);
        found
    }

    /// The page that is shown and how many there are, both from 1.
    pub(crate) fn place(&self, found: usize) -> (usize, usize) {
        let pages = found.div_ceil(MONITORS_PER_PAGE).max(1);
        (self.page.clamp(1, pages), pages)
    }

    /// What stands on the page that is shown.
    pub(crate) fn slice<'a, T>(&self, found: &'a [T]) -> &'a [T] {
        let (page, _) = self.place(found.len());
        let start = (page - 1) * MONITORS_PER_PAGE;
        &found[start.min(found.len())..(start + MONITORS_PER_PAGE).min(found.len())]
    }

    /// The address of the same list with another roll-up, first page.
    pub(crate) fn with_state(&self, state: &str) -> String {
        self.address(state, 1)
    }

    /// The address of another page of the same list.
    pub(crate) fn with_page(&self, page: usize) -> String {
        self.address(&self.state, page)
    }

    /// The address of the same list without one of its labels.
    pub(crate) fn without_label(&self, label: &(String, String)) -> String {
        let mut other = self.clone();
        other.labels.retain(|own| own != label);
        other.address(&other.state, 1)
    }

    /// The address of the same list with one label more.
    pub(crate) fn with_label(&self, key: &str, value: &str) -> String {
        let mut other = self.clone();
        let label = (key.to_owned(), value.to_owned());
        if !other.labels.contains(&label) {
            other.labels.push(label);
        }
        other.address(&other.state, 1)
    }

    /// The address of the same list in another order.
    pub(crate) fn with_sort(&self, sort: Sort) -> String {
        let other = Self { sort, ..self.clone() };
        other.address(&other.state, 1)
    }

    /// The address of the same list, grouped otherwise.
    pub(crate) fn with_group(&self, group: &str) -> String {
        let other = Self { group: group.to_owned(), ..self.clone() };
        other.address(&other.state, 1)
    }

    /// Whether anything but a state is asked for.
    pub(crate) fn searches(&self) -> bool {
        !self.labels.is_empty() || !self.q.is_empty()
    }

    /// Whether anything is asked for.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.state.is_empty() || self.searches()
    }

    fn address(&self, state: &str, page: usize) -> String {
        let labels: Vec<_> = self.labels.iter().map(|(key, value)| format!("{key}:{value}")).collect();
        let page = if page > 1 { page.to_string() } else { String::new() };
        let sort = if self.sort == Sort::Worst { "" } else { self.sort.slug() };
        let mut pairs =
            vec![("state", state), ("q", self.q.as_str()), ("sort", sort), ("group", &self.group), ("page", &page)];
        pairs.extend(labels.iter().map(|label| ("label", label.as_str())));
        let query = Query(&pairs).to_string();
        if query.is_empty() { "/".to_owned() } else { format!("/?{query}") }
    }
}

/// What comes first in a list of monitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sort {
    /// The worst roll-up, then by id.
    #[default]
    Worst,
    Name,
    /// The highest P95 in parts of its limit; those without one last.
    P95,
    /// The greatest share of canaries that are not right.
    Canaries,
    /// What changed last.
    Since,
}

impl Sort {
    pub(crate) const ALL: [Self; 5] = [Self::Worst, Self::Name, Self::P95, Self::Canaries, Self::Since];

    /// The word in addresses.
    pub(crate) const fn slug(self) -> &'static str {
        match self {
            Self::Worst => "worst",
            Self::Name => "name",
            Self::P95 => "p95",
            Self::Canaries => "canaries",
            Self::Since => "since",
        }
    }

    pub(crate) fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.slug() == slug)
    }

    /// Monitors that come with the worst first; those that are equal stay so.
    fn apply(self, found: &mut [Arc<dyn Standing>]) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "shares and parts of a limit, in millionths"
        )]
        let least_last = |share: f64| u64::MAX - (share.clamp(0.0, 1e9) * 1e6) as u64;
        match self {
            Self::Worst => {}
            Self::Name => found.sort_by_cached_key(|one| one.declared().name.to_lowercase()),
            Self::P95 => found.sort_by_cached_key(|one| {
                one.p95_ms().map_or(u64::MAX, |p95_ms| least_last(p95_ms / one.p95_limit_ms().max(1e-3)))
            }),
            Self::Canaries => found.sort_by_cached_key(|one| {
                let CanariesGlance { right, not_right, .. } = one.figures().canaries;
                #[expect(clippy::cast_precision_loss, reason = "canaries of one monitor")]
                let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
                least_last(share(not_right, right + not_right))
            }),
            Self::Since => found.sort_by_cached_key(|one| std::cmp::Reverse(one.since())),
        }
    }
}

/// Which incidents a list wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct IncidentQuery {
    /// `open`, `ended`; empty: both.
    pub state: String,
    /// Only of this monitor; empty: all.
    pub monitor: String,
    /// Only of this signal; empty: all.
    pub signal: String,
    /// Only what follows this one.
    pub after: Option<IncidentPlace>,
    /// Whether it says what to follow, and that cannot be read.
    pub is_lost: bool,
}

impl IncidentQuery {
    /// Reads a query such as `state=open&monitor=docs&signal=quality`.
    pub(crate) fn parse(query: &str) -> Self {
        let mut asked = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let value: String = value.chars().filter(|c| !c.is_control()).take(VALUE_CHARS_MAX).collect();
            match &*key {
                "state" if value == "open" || value == "ended" => asked.state = value,
                "monitor" => asked.monitor = value,
                "signal" if Signal::from_slug(&value).is_some() => asked.signal = value,
                "before" => {
                    asked.after = place(&value);
                    asked.is_lost = asked.after.is_none() && !value.is_empty();
                }
                _ => {}
            }
        }
        asked
    }

    /// As the database wants it.
    pub(crate) fn filter(&self) -> IncidentFilter {
        IncidentFilter {
            monitor: (!self.monitor.is_empty()).then(|| MonitorId::new(&self.monitor)),
            signal: Signal::from_slug(&self.signal),
            open: match self.state.as_str() {
                "open" => Some(true),
                "ended" => Some(false),
                _ => None,
            },
            after: self.after.clone(),
        }
    }

    /// The address of the same list with another state, first page.
    pub(crate) fn with_state(&self, state: &str) -> String {
        self.address(state, None)
    }

    /// The address of the page that follows an incident.
    pub(crate) fn after(&self, state: &str, last: &Incident) -> String {
        self.address(state, Some(last))
    }

    fn address(&self, state: &str, last: Option<&Incident>) -> String {
        let before = last.map(cursor).unwrap_or_default();
        let query =
            Query(&[("state", state), ("monitor", &self.monitor), ("signal", &self.signal), ("before", &before)]);
        let query = query.to_string();
        if query.is_empty() { "/incidents".to_owned() } else { format!("/incidents?{query}") }
    }
}

/// Where a page ended, as an address and `next` say it.
pub(crate) fn cursor(last: &Incident) -> String {
    format!("{},{}", last.opened_at.to_rfc3339_opts(SecondsFormat::Micros, true), last.id)
}

/// A cursor read again; a moment alone is one as well.
fn place(text: &str) -> Option<IncidentPlace> {
    let (moment, id) = text.split_once(',').unwrap_or((text, ""));
    let opened_at = DateTime::parse_from_rfc3339(moment).ok()?.to_utc();
    Some(IncidentPlace { opened_at, id: id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_being_read_again() {
        let filter = FleetFilter::parse("state=down&label=team:docs&label=odd&q=%3Cb%3E&page=0");
        assert_eq!(filter.labels, [("team".to_owned(), "docs".to_owned())], "a label without a value is left out");
        assert_eq!(filter.page, 1, "pages count from one");
        assert_eq!(filter.with_page(3), "/?state=down&q=%3Cb%3E&page=3&label=team%3Adocs");
        assert_eq!(FleetFilter::parse(filter.with_page(3).trim_start_matches("/?")).page, 3);
        assert_eq!(FleetFilter::default().with_state(""), "/");
        let sorted = FleetFilter::parse("sort=p95&group=team&state=slow");
        assert_eq!(sorted.with_page(1), "/?state=slow&sort=p95&group=team");
        assert_eq!(sorted.with_sort(Sort::Worst), "/?state=slow&group=team", "what is usual is not written");
        assert_eq!(sorted.with_group(""), "/?state=slow&sort=p95");
        assert_eq!(sorted.with_label("env", "a b"), "/?state=slow&sort=p95&group=team&label=env%3Aa+b");
        assert_eq!(FleetFilter::parse("sort=nothing").sort, Sort::Worst, "an order that there is not is the usual one");
    }

    #[test]
    fn pages_never_run_past_the_end() {
        let filter = FleetFilter::parse("page=99");
        let rows: Vec<_> = (0..250).collect();
        assert_eq!(filter.place(rows.len()), (3, 3));
        assert_eq!(filter.slice(&rows).len(), 50);
        assert!(filter.slice::<u8>(&[]).is_empty());
    }

    #[test]
    fn an_incidents_query_takes_only_what_it_knows() {
        let asked = IncidentQuery::parse("state=broken&signal=nothing&monitor=docs&before=yesterday");
        assert_eq!(asked, IncidentQuery { monitor: "docs".to_owned(), is_lost: true, ..IncidentQuery::default() });
        assert_eq!(asked.with_state("open"), "/incidents?state=open&monitor=docs");
    }

    #[test]
    fn a_place_that_cannot_be_read_is_no_beginning() {
        let rows = [
            ("state=open", false, "none is the beginning"),
            ("before=", false, "so is an empty one"),
            ("before=2026-11-22T03:10:00.000000Z,0193", false, "one as `next` has it"),
            ("before=2026-11-22T03:10:00%2B00:00", false, "a moment alone"),
            ("before=2026-11-22T03:10:00+00:00", true, "a plus that was sent as it is became a blank"),
            ("before=2026-11-22T03", true, "one that was cut"),
            ("before=null", true, "what a program makes of the end"),
        ];
        for (query, is_lost, sentence) in rows {
            assert_eq!(IncidentQuery::parse(query).is_lost, is_lost, "{sentence}");
        }
    }
}
