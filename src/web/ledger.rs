//! `/api/v1/deliveries`: what was promised to whom, each try of it, and how that ended.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use url::form_urlencoded;

use crate::domain::paging::delivery::DeliveryState;
use crate::domain::paging::notification::Event;
use crate::store::read::ledger::{DeliveryFilter, DeliveryLine};
use crate::store::read::pages::PAGE_ROWS;
use crate::web::format::Query;
use crate::web::problem::Problem;
use crate::web::receivers::{AttemptBody, attempt_body};
use crate::web::state::WebState;

/// Characters of one value that are looked at.
const VALUE_CHARS_MAX: usize = 200;

/// A page of the ledger; `next` is the `before` of the page after this one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeliveryList {
    deliveries: Vec<LedgerBody>,
    /// How many fit in each state, whatever `state` asks for; of the latest 10,000 that fit.
    counts: DeliveryCounts,
    next: Option<String>,
}

/// Deliveries by state.
#[derive(Debug, Serialize, JsonSchema)]
struct DeliveryCounts {
    pending: u64,
    sent: u64,
    dead: u64,
}

/// A delivery, without its tries.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeliveryBody {
    id: String,
    notification: String,
    event: String,
    receiver: String,
    fallback_of: Option<String>,
    state: String,
    attempts: u32,
    created_at: DateTime<Utc>,
    next_at: Option<DateTime<Utc>>,
    last: Option<String>,
    /// Under which key it waits for others, or waited, to be one message to people; null where it goes alone.
    group_key: Option<String>,
    /// How many other deliveries its message holds, once it was made.
    together_with: u32,
}

/// One delivery and its latest tries, the first made first.
#[derive(Debug, Serialize, JsonSchema)]
struct LedgerBody {
    #[serde(flatten)]
    delivery: DeliveryBody,
    /// Its incident; null where it is about none.
    incident: Option<String>,
    /// The monitor that it is about; null where it is about none.
    monitor: Option<String>,
    tries: Vec<AttemptBody>,
}

/// A delivery as the API shows it.
pub(crate) fn delivery_body(line: DeliveryLine) -> DeliveryBody {
    DeliveryBody {
        id: line.id,
        notification: line.notification,
        event: line.event,
        receiver: line.receiver,
        fallback_of: line.fallback_of,
        state: line.state,
        attempts: line.attempts,
        created_at: line.created_at,
        next_at: line.next_at,
        last: line.last,
        group_key: line.group_key,
        together_with: line.together_with,
    }
}

/// Which deliveries an address asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DeliveryQuery {
    /// Only of this incident; empty: all.
    pub incident: String,
    /// Only to this receiver; empty: all.
    pub receiver: String,
    /// Only about this monitor; empty: all.
    pub monitor: String,
    /// Only of this event, such as `incident.opened`; empty: all.
    pub kind: String,
    /// `pending`, `sent`, `dead`; empty: all.
    pub state: String,
    /// Only what came to be at this moment or later.
    pub from: Option<DateTime<Utc>>,
    /// Only what came to be before this moment.
    pub to: Option<DateTime<Utc>>,
    /// Only what follows the delivery of this id; empty: from the newest.
    pub before: String,
    /// What came of a form of the page, in a word.
    pub said: String,
    /// Whether it names a state, a kind or a moment that cannot be read.
    pub is_lost: bool,
}

impl DeliveryQuery {
    /// Reads a query such as `receiver=oncall&state=dead&from=2026-11-25T09:00:00Z`.
    pub(crate) fn parse(query: &str) -> Self {
        let mut asked = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let value: String = value.chars().filter(|c| !c.is_control()).take(VALUE_CHARS_MAX).collect();
            let value = value.trim().to_owned();
            match &*key {
                _ if value.is_empty() => {}
                "incident" => asked.incident = value,
                "receiver" => asked.receiver = value,
                "monitor" => asked.monitor = value,
                "kind" if Event::from_slug(&value).is_some() => asked.kind = value,
                "before" => asked.before = value,
                "said" => asked.said = value,
                "state" if DeliveryState::from_slug(&value).is_some() => asked.state = value,
                "from" if moment(&value).is_some() => asked.from = moment(&value),
                "to" if moment(&value).is_some() => asked.to = moment(&value),
                "state" | "kind" | "from" | "to" => asked.is_lost = true,
                _ => {}
            }
        }
        asked
    }

    /// As the database wants it.
    pub(crate) fn filter(&self) -> DeliveryFilter {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        DeliveryFilter {
            id: None,
            incident: some(&self.incident),
            notification: None,
            receiver: some(&self.receiver),
            monitor: some(&self.monitor),
            event: Event::from_slug(&self.kind).map(Event::slug),
            state: DeliveryState::from_slug(&self.state),
            from: self.from,
            to: self.to,
            after: some(&self.before),
        }
    }

    /// The same with another state, from the newest.
    pub(crate) fn in_state(&self, state: &str) -> String {
        Self { state: state.to_owned(), ..self.clone() }.after("")
    }

    /// The address of the page that follows a delivery.
    pub(crate) fn after(&self, last: &str) -> String {
        let shown = |at: Option<DateTime<Utc>>| at.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true));
        let (from, to) = (shown(self.from).unwrap_or_default(), shown(self.to).unwrap_or_default());
        let pairs = [
            ("incident", self.incident.as_str()),
            ("receiver", &self.receiver),
            ("monitor", &self.monitor),
            ("kind", &self.kind),
            ("state", &self.state),
            ("from", &from),
            ("to", &to),
            ("before", last),
        ];
        format!("/deliveries?{}", Query(&pairs))
    }
}

/// The `before` of the page after this one; none where this is the last.
pub(crate) fn next(lines: &[DeliveryLine]) -> Option<&str> {
    lines.last().filter(|_| lines.len() >= PAGE_ROWS as usize).map(|line| line.id.as_str())
}

/// A moment with its offset, or as a browser's field has it, which is UTC here.
pub(crate) fn moment(text: &str) -> Option<DateTime<Utc>> {
    let whole = DateTime::parse_from_rfc3339(text).map(|at| at.to_utc());
    let form = if text.len() > "2026-11-25T09:00".len() { "%Y-%m-%dT%H:%M:%S" } else { "%Y-%m-%dT%H:%M" };
    let field = || NaiveDateTime::parse_from_str(text, form).map(|at| at.and_utc());
    whole.or_else(|_| field()).ok()
}

/// `GET /api/v1/deliveries`: `incident`, `receiver`, `monitor`, `kind`, `state`, `from`, `to` and `before` as filters.
pub(crate) async fn list(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
) -> Result<Json<DeliveryList>, Problem> {
    let asked = DeliveryQuery::parse(query.as_deref().unwrap_or_default());
    if asked.is_lost {
        let why = "a state is pending, sent or dead; a kind is an event such as incident.opened; `from` and `to` are moments such as 2026-11-25T09:00:00Z";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, why));
    }
    let lines = state.ask(state.store.deliveries(&asked.filter())).await?;
    let mut tries = state.ask(state.store.attempts(&lines)).await?;
    let [pending, sent, dead] = state.ask(state.store.delivery_counts(&asked.filter())).await?;
    let next = next(&lines).map(str::to_owned);
    let body = |line: DeliveryLine| LedgerBody {
        incident: line.incident.clone(),
        monitor: line.monitor.clone(),
        tries: tries.remove(&line.id).unwrap_or_default().into_iter().map(attempt_body).collect(),
        delivery: delivery_body(line),
    };
    let counts = DeliveryCounts { pending, sent, dead };
    Ok(Json(DeliveryList { deliveries: lines.into_iter().map(body).collect(), counts, next }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_takes_only_what_it_knows() {
        let rows = [
            ("", "", false, "everything"),
            ("receiver=oncall&state=dead", "receiver=oncall&state=dead&before=x", false, "a receiver's given up"),
            (
                "monitor=docs&kind=incident.opened",
                "monitor=docs&kind=incident.opened&before=x",
                false,
                "of one monitor",
            ),
            ("state=lost", "", true, "a state that there is not"),
            ("kind=opened", "", true, "no event"),
            ("from=yesterday", "", true, "no moment"),
            ("from=&to=", "", false, "a form's empty fields"),
            ("from=2026-11-25T09:00", "from=2026-11-25T09%3A00%3A00Z&before=x", false, "a browser's moment is UTC"),
            ("to=2026-11-25T09:00:00%2B01:00", "to=2026-11-25T08%3A00%3A00Z&before=x", false, "one with its offset"),
        ];
        for (query, next, is_lost, sentence) in rows {
            let asked = DeliveryQuery::parse(query);
            assert_eq!(asked.is_lost, is_lost, "{sentence}");
            let next = if next.is_empty() { "before=x" } else { next };
            assert_eq!(asked.after("x"), format!("/deliveries?{next}"), "{sentence}");
        }
    }
}
