//! What is worth being written once more where a server that took over lacks it: whatever somebody was told or promised by.
//! Beats that decided nothing are not, nor what is asked for again by itself.

use crate::domain::lease::Lease;
use crate::store::values::change_set::ChangeSet;
use crate::store::values::claims::Attempted;
use crate::store::write::work::Work;

/// Bytes of a record beside its long texts, roughly.
const RECORD_BYTES: usize = 2_000;

impl Work {
    /// The same work, where it has to be known until it is sure to be everywhere.
    pub(in crate::store) fn again(&self) -> Option<Self> {
        Some(match self {
            Self::Record(record) if decides(record) => Self::Record(record.clone()),
            Self::Attempted(attempted) => {
                Self::Attempted(Box::new(Attempted { is_again: true, ..Attempted::clone(attempted) }))
            }
            Self::WakeFallbacks { now } => Self::WakeFallbacks { now: *now },
            Self::Replay { deliveries, actor, now } => {
                Self::Replay { deliveries: deliveries.clone(), actor: actor.clone(), now: *now }
            }
            Self::GiveUp { delivery, now } => Self::GiveUp { delivery: delivery.clone(), now: *now },
            Self::Acknowledge { incident, actor, now } => {
                Self::Acknowledge { incident: incident.clone(), actor: actor.clone(), now: *now }
            }
            Self::GiveBack { incident, actor, now } => {
                Self::GiveBack { incident: incident.clone(), actor: actor.clone(), now: *now }
            }
            Self::AskAction(action) => Self::AskAction(action.clone()),
            Self::Applied { action, now } => Self::Applied { action: action.clone(), now: *now },
            Self::MakeSilence { silence, now } => Self::MakeSilence { silence: silence.clone(), now: *now },
            Self::EndSilence { id, actor, now } => Self::EndSilence { id: id.clone(), actor: actor.clone(), now: *now },
            Self::MakeKey { key, now } => Self::MakeKey { key: key.clone(), now: *now },
            Self::EndKey { id, actor, now } => Self::EndKey { id: id.clone(), actor: actor.clone(), now: *now },
            Self::Audit(line) => Self::Audit(line.clone()),
            Self::BeginDrill(run) => Self::BeginDrill(run.clone()),
            Self::EndDrill(end) => Self::EndDrill(end.clone()),
            Self::Loaded(fleet) => Self::Loaded(Box::new(fleet.again())),
            Self::KeepList(list) => Self::KeepList(list.clone()),
            Self::Record(_)
            | Self::Claim { .. }
            | Self::HandBack { .. }
            | Self::ReckonAnew { .. }
            | Self::LinkKey
            | Self::KnowDrills { .. }
            | Self::ForgetTranscripts { .. }
            | Self::Publish(_)
            | Self::LeaseTurn(_)
            | Self::Chore(_)
            | Self::Touch { .. }
            | Self::LimitPages(_)
            | Self::Hurry
            | Self::Close => return None,
        })
    }

    /// The same work, where another machine may do the like by now: what was decided stands, since that one read it.
    pub(in crate::store) fn handed_over(self) -> Option<Self> {
        match self {
            Self::Record(record) => Some(Self::Record(Box::new(record.handed_over()))),
            _ => None,
        }
    }

    /// Whether one of the same kind that was done before need not be done again.
    pub(in crate::store) const fn replaces_older(&self) -> bool {
        matches!(self, Self::Loaded(_) | Self::KeepList(_))
    }

    /// Whether this is such a one.
    pub(in crate::store) fn replaces(&self, older: &Self) -> bool {
        match (self, older) {
            (Self::Loaded(_), Self::Loaded(_)) => true,
            (Self::KeepList(list), Self::KeepList(older)) => list.is_of_source_of(older),
            _ => false,
        }
    }

    /// What it takes in memory, roughly.
    pub(in crate::store) fn bytes(&self) -> usize {
        match self {
            Self::Record(record) => record_bytes(record),
            Self::Loaded(fleet) => fleet.bytes(),
            Self::KeepList(list) => list.bytes(),
            _ => RECORD_BYTES,
        }
    }
}

/// Work with the leases under which it was done.
pub(in crate::store) type Done = (Work, Vec<Lease>);

/// Whether anything follows from it.
fn decides(record: &ChangeSet) -> bool {
    let ChangeSet { signals, incidents, lapsed, holds, timeline, outbox, tools, listing, applied, marks, .. } = record;
    let are_empty =
        [signals.is_empty(), incidents.is_empty(), lapsed.is_empty(), holds.is_empty(), timeline.is_empty()];
    are_empty.contains(&false)
        || !outbox.is_empty()
        || tools.is_some()
        || listing.is_some()
        || applied.is_some()
        || marks.is_some()
}

fn record_bytes(record: &ChangeSet) -> usize {
    let said: usize = record.outbox.iter().map(|outgoing| outgoing.payload.len() + RECORD_BYTES).sum();
    let sources = record.asks.iter().flat_map(|ask| &ask.sources).map(String::len);
    let texts = record.texts.iter().map(|text| text.begins.len());
    let transcripts = record.transcripts.iter().map(|row| row.text.len());
    let incidents = record.incidents.len() * RECORD_BYTES;
    let listings =
        record.listing.iter().map(|row| &row.listing).chain(record.tools.iter().map(|row| &row.tools.listing));
    // Once as its own text, and once more as what is compared of it.
    let listings = listings.map(|listing| 2 * listing.json.len());
    let detectors = record.signals.iter().filter_map(|row| row.detector.as_ref()).map(Vec::len);
    RECORD_BYTES
        + incidents
        + said
        + sources.chain(texts).chain(listings).chain(transcripts).chain(detectors).sum::<usize>()
}
