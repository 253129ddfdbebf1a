//! What a monitor's canaries were answered over a range, for tools: each one's rank over time, and each kind's share of right
//! answers. It is what the board of its page draws.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::monitor::{Canary, CanaryKind, MonitorId};
use crate::domain::quality::answers::Answers;
use crate::web::canary_past::{self, BoardCut, Came, CanaryPast, CanaryTrack};
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// What the address may ask for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RanksQuery {
    range: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RanksBody {
    monitor: String,
    range: &'static str,
    /// From when on every answer is in: the range's start, or later where there were too many.
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    /// Length of what `ranks` counts as one moment.
    column_seconds: u64,
    /// Length of what `shares` counts together.
    slice_seconds: u64,
    /// In the order of the file.
    canaries: Vec<CanaryRanks>,
    kinds: Vec<KindShares>,
}

/// One canary over the range.
#[derive(Debug, Serialize, JsonSchema)]
struct CanaryRanks {
    id: String,
    kind: &'static str,
    within: u32,
    /// Every time it was asked, whyever; a call that brought no answer counts.
    asked: u64,
    right: u64,
    /// The best and the worst rank of its right answers; null where none was right, or no source is expected.
    best_rank: Option<u32>,
    worst_rank: Option<u32>,
    /// Since when all its answers are right, or all are wrong; null where they are so from the range's start.
    turned_at: Option<DateTime<Utc>>,
    /// Moments at which it was asked, the oldest first.
    ranks: Vec<RankAt>,
}

/// The worst answer of one moment.
#[derive(Debug, Serialize, JsonSchema)]
struct RankAt {
    at: DateTime<Utc>,
    /// `right`, `late` (below the rank within which it has to come), `lost` (wrong, and it did not come) or `failed`.
    came: &'static str,
    /// Where the source came; null where it did not, or none is expected.
    rank: Option<u32>,
}

/// One kind of canaries, as the schedule asked them: what was asked again in doubt is not in it.
#[derive(Debug, Serialize, JsonSchema)]
struct KindShares {
    kind: &'static str,
    asked: u64,
    right: u64,
    shares: Vec<ShareAt>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShareAt {
    at: DateTime<Utc>,
    asked: u64,
    right: u64,
}

/// `GET /api/v1/monitors/{id}/canaries`: `range` (30m, 3h, 24h, 7d; without it the shortest one up to a day that holds all of
/// a day's answers).
pub(crate) async fn show(
    State(state): State<WebState>,
    Path(id): Path<String>,
    Query(asked): Query<RanksQuery>,
) -> Result<Json<RanksBody>, Problem> {
    let unknown = || Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "range is one of 30m, 3h, 24h, 7d");
    let range = asked.range.as_deref().map(|word| BoardCut::range(word).ok_or_else(unknown)).transpose()?;
    let fleet = state.fleet_now();
    let monitor = fleet.monitor(&MonitorId::new(&id)).ok_or(Problem::NO_MONITOR)?;
    let past = canary_past::read(&state, &monitor.id, &monitor.canaries, range, Utc::now()).await?;
    Ok(Json(body(&id, &monitor.canaries, &past)))
}

fn body(monitor: &str, canaries: &[Canary], past: &CanaryPast) -> RanksBody {
    let cut = &past.cut;
    let of =
        |canary: &Canary| canary_ranks(canary, past.tracks.get(&*canary.id).unwrap_or(&CanaryTrack::default()), cut);
    RanksBody {
        monitor: monitor.to_owned(),
        range: cut.range.slug(),
        from: past.whole_from,
        to: cut.to,
        column_seconds: cut.column.as_secs(),
        slice_seconds: cut.slice.as_secs(),
        canaries: canaries.iter().map(of).collect(),
        kinds: past.kinds.keys().map(|kind| kind_shares(*kind, past)).collect(),
    }
}

fn canary_ranks(canary: &Canary, track: &CanaryTrack, cut: &BoardCut) -> CanaryRanks {
    let rank_at = |(place, came): (usize, &Option<Came>)| {
        let (came, rank) = match (*came)? {
            Came::Right(rank) => ("right", rank),
            Came::Late(rank) => ("late", Some(rank)),
            Came::Lost => ("lost", None),
            Came::Failed => ("failed", None),
        };
        Some(RankAt { at: cut.start(place, cut.column), came, rank })
    };
    CanaryRanks {
        id: canary.id.clone(),
        kind: canary.kind.slug(),
        within: canary.within,
        asked: track.answers.asked,
        right: track.answers.right,
        best_rank: track.ranks.map(|(best, _)| best),
        worst_rank: track.ranks.map(|(_, worst)| worst),
        turned_at: track.turned_at,
        ranks: track.columns.iter().enumerate().filter_map(rank_at).collect(),
    }
}

fn kind_shares(kind: CanaryKind, past: &CanaryPast) -> KindShares {
    let slices = past.kinds.get(&kind).into_iter().flatten();
    let share = |(place, answers): (&usize, &Answers)| ShareAt {
        at: past.cut.start(*place, past.cut.slice),
        asked: answers.asked,
        right: answers.right,
    };
    let all = past.of_kind(kind);
    KindShares { kind: kind.slug(), asked: all.asked, right: all.right, shares: slices.map(share).collect() }
}
