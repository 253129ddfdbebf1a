//! What the writer can be asked, what it answers, and how long each may wait for others to share its commit.

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::oneshot;

use crate::domain::action::Action;
use crate::domain::api_key::ApiKey;
use crate::domain::audit::AuditLine;
use crate::domain::contract::FIRST_STABLE;
use crate::domain::lease::Lease;
use crate::domain::observation::BeatKind;
use crate::domain::outcome::Verdict;
use crate::domain::paging::silence::Silence;
use crate::live::published::SlimStanding;
use crate::store::sql::transaction::Durability;
use crate::store::values::change_set::{BeatSeen, ChangeSet};
use crate::store::values::claims::{Attempted, Claim, Claiming};
use crate::store::values::drill_rows::{DrillEnd, DrillOutcome, DrillRun};
use crate::store::values::error::StoreError;
use crate::store::values::lease_turn::{LeaseTurn, NodeNote};
use crate::store::write::config_files::KeptList;
use crate::store::write::config_history::FleetNote;
use crate::store::write::maintenance::Maintenance;

/// What the writer can be asked to do.
#[derive(Debug)]
pub(in crate::store) enum Work {
    Record(Box<ChangeSet>),
    Claim {
        now: DateTime<Utc>,
        claiming: Box<Claiming>,
    },
    Attempted(Box<Attempted>),
    HandBack {
        deliveries: Vec<String>,
        lease: String,
    },
    WakeFallbacks {
        now: DateTime<Utc>,
    },
    ReckonAnew {
        now: DateTime<Utc>,
    },
    Replay {
        deliveries: Vec<String>,
        actor: String,
        now: DateTime<Utc>,
    },
    GiveUp {
        delivery: String,
        now: DateTime<Utc>,
    },
    Acknowledge {
        incident: String,
        actor: String,
        now: DateTime<Utc>,
    },
    GiveBack {
        incident: String,
        actor: String,
        now: DateTime<Utc>,
    },
    AskAction(Box<Action>),
    Applied {
        action: String,
        now: DateTime<Utc>,
    },
    LinkKey,
    MakeSilence {
        silence: Box<Silence>,
        now: DateTime<Utc>,
    },
    EndSilence {
        id: String,
        actor: String,
        now: DateTime<Utc>,
    },
    MakeKey {
        key: Box<ApiKey>,
        now: DateTime<Utc>,
    },
    EndKey {
        id: String,
        actor: String,
        now: DateTime<Utc>,
    },
    Audit(Box<AuditLine>),
    KnowDrills {
        ids: Vec<String>,
        now: DateTime<Utc>,
    },
    BeginDrill(Box<DrillRun>),
    EndDrill(Box<DrillEnd>),
    ForgetTranscripts {
        now: DateTime<Utc>,
        kept: TimeDelta,
    },
    /// How monitors stand, for other machines.
    Publish(Vec<SlimStanding>),
    /// We live, and shards are moved.
    LeaseTurn(Box<NodeNote>),
    Loaded(Box<FleetNote>),
    KeepList(Box<KeptList>),
    Chore(Box<Maintenance>),
    Touch {
        now: DateTime<Utc>,
    },
    LimitPages(u32),
    /// Nothing but that others wait no longer.
    Hurry,
    Close,
}

impl Work {
    /// Whether it may bring something that is to be delivered.
    pub(in crate::store) fn changes_outbox(&self) -> bool {
        match self {
            Self::Record(record) => !record.outbox.is_empty(),
            Self::Replay { .. } | Self::WakeFallbacks { .. } | Self::BeginDrill(_) | Self::EndDrill(_) => true,
            _ => false,
        }
    }

    /// Whether it is done as far as leases still count; all else is done under all of its leases or not at all.
    pub(in crate::store) const fn does_what_it_may(&self) -> bool {
        matches!(self, Self::Claim { .. } | Self::Publish(_))
    }

    /// Whether whoever watches a monitor has to do something about it.
    pub(in crate::store) const fn asks_somebody(&self) -> bool {
        matches!(self, Self::AskAction(_) | Self::Acknowledge { .. } | Self::GiveBack { .. })
    }
}

/// What it answers once it is on disk.
#[derive(Debug)]
pub(in crate::store) enum CommitAnswer {
    Done,
    Changed(bool),
    Count(u64),
    Claims(Vec<Claim>),
    DrillEnded(Option<DrillOutcome>),
    Key(Vec<u8>),
    Leases(Box<LeaseTurn>),
}

/// Work, by which leases, and whom to answer.
#[derive(Debug)]
pub(in crate::store) struct WriteJob {
    pub(in crate::store) work: Work,
    /// What has to be watched by us still; nothing: whoever asks may.
    pub(in crate::store) under: Vec<Lease>,
    pub(in crate::store) done: oneshot::Sender<Result<CommitAnswer, StoreError>>,
}

/// Who waits for a commit, and so how long it may wait for company.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Patience {
    /// Somebody is told something, or has asked for something.
    None,
    /// Nobody is told anything yet, but the next look at the server may be seconds away.
    Short,
    /// Nobody: the next beat is a whole interval away.
    Long,
}

/// How patient it is.
pub(in crate::store) fn patience(work: &Work) -> Patience {
    let record = match work {
        Work::Record(record) => record,
        Work::Publish(..) => return Patience::Long,
        _ => return Patience::None,
    };
    let Some(beat) = &record.beat else { return Patience::None };
    // A first list that stays the same is accepted by itself, and nobody hears of it.
    let asked_by_somebody = beat.kind == BeatKind::Recheck
        || record.applied.is_some()
        || record.tools.as_ref().is_some_and(|accepted| accepted.accepted_by != FIRST_STABLE);
    let tells =
        !(record.incidents.is_empty() && record.outbox.is_empty() && record.timeline.is_empty()) || asked_by_somebody;
    // One that did not take place shows nothing to look at again.
    let is_calm = beat.verdict == Verdict::Good || matches!(beat.seen, BeatSeen::Missed | BeatSeen::Held);
    match (tells, is_calm && record.signals.is_empty()) {
        (true, _) => Patience::None,
        (false, false) => Patience::Short,
        (false, true) => Patience::Long,
    }
}

/// What its commit waits for: the disk, but for a beat that is patient and changes nothing but its own rows, what they name and
/// what the next one writes whole anyway. Nothing that somebody goes on from may be lost: `names` and `texts` are asked for anew
/// after a connection that broke, as each does where its server crashes.
pub(in crate::store) fn durability(work: &Work) -> Durability {
    let record = match work {
        Work::Record(record) => record,
        // Who publishes and who follows begin anew after a connection that broke.
        Work::Publish(_) => return Durability::Soon,
        _ => return Durability::OnDisk,
    };
    // Each field is named, so that a new one has to be thought about.
    let ChangeSet {
        lease: _,
        handed_over: _,
        beat: _,
        asks: _,
        texts: _,
        spent: _,
        signals,
        incidents,
        lapsed,
        holds,
        timeline,
        outbox,
        tools,
        listing,
        applied,
        marks,
        profile,
        transcripts,
    } = &**record;
    let decided = [
        !signals.is_empty(),
        !incidents.is_empty(),
        !lapsed.is_empty(),
        !holds.is_empty(),
        !timeline.is_empty(),
        !outbox.is_empty(),
        tools.is_some(),
        listing.is_some(),
        applied.is_some(),
        marks.is_some(),
        profile.is_some(),
        !transcripts.is_empty(),
    ];
    match patience(work) == Patience::Long && !decided.contains(&true) {
        true => Durability::Soon,
        false => Durability::OnDisk,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::monitor::MonitorId;
    use crate::domain::observation::ToolsSeen;
    use crate::domain::rate_limit::Spent;
    use crate::domain::reason::FailureReason;
    use crate::domain::server_profile::ServerProfile;
    use crate::domain::signal::{Signal, SignalState};
    use crate::domain::tools::Drift;
    use crate::domain::tools::Listing;
    use crate::store::values::change_set::{
        BeatRow, ListingRow, MarksRow, ServerProfileRow, SignalRow, TimelineRow, ToolsRow, TranscriptRow,
    };

    fn beat(verdict: Verdict, seen: BeatSeen) -> ChangeSet {
        let at = DateTime::UNIX_EPOCH;
        let row = BeatRow { verdict, ..BeatRow::unmade(MonitorId::new("docs"), at, seen, String::new()) };
        ChangeSet { beat: Some(row), ..ChangeSet::default() }
    }

    fn accepted(by: &str) -> Option<ToolsRow> {
        let tools = ToolsSeen { listing: Arc::new(Listing::default()), ..ToolsSeen::default() };
        let (monitor, from) = (MonitorId::new("docs"), DateTime::UNIX_EPOCH);
        Some(ToolsRow { monitor, era: None, tools, from, accepted_by: by.to_owned() })
    }

    #[test]
    fn what_decides_nothing_waits_and_what_somebody_waits_for_does_not() {
        let good = || beat(Verdict::Good, BeatSeen::Seen);
        let at = DateTime::UNIX_EPOCH;
        let signal = SignalRow {
            monitor: MonitorId::new("docs"),
            signal: Signal::Availability,
            subject: String::new(),
            state: SignalState::quiet(at),
            rule_hash: String::new(),
            detector: None,
        };
        let line = TimelineRow {
            incident: "i".to_owned(),
            at,
            kind: "updated".to_owned(),
            actor: "serin".to_owned(),
            text: String::new(),
        };
        let mut asked = good();
        asked.beat.as_mut().unwrap().kind = BeatKind::Recheck;
        let records = [
            (good(), Patience::Long, "nothing happened"),
            (
                ChangeSet { tools: accepted(FIRST_STABLE), ..good() },
                Patience::Long,
                "a first list is accepted by itself",
            ),
            (beat(Verdict::Unknown, BeatSeen::Missed), Patience::Long, "nobody looked"),
            (beat(Verdict::Unknown, BeatSeen::Held), Patience::Long, "nobody was to look"),
            (beat(Verdict::Down, BeatSeen::Seen), Patience::Short, "it is looked at again in seconds"),
            (beat(Verdict::Degraded, BeatSeen::Seen), Patience::Short, "so is a doubt"),
            (beat(Verdict::Unknown, BeatSeen::Internal), Patience::Short, "and our own trouble"),
            (ChangeSet { signals: vec![signal], ..good() }, Patience::Short, "a signal moved"),
            (ChangeSet { timeline: vec![line], ..good() }, Patience::None, "an incident goes on"),
            (ChangeSet { tools: accepted("ada"), ..good() }, Patience::None, "a person accepted the list"),
            (asked, Patience::None, "a person asked for the look"),
            (ChangeSet::default(), Patience::None, "no beat: somebody asked for it"),
        ];
        for (record, expected, sentence) in records {
            assert_eq!(patience(&Work::Record(Box::new(record))), expected, "{sentence}");
        }
        assert_eq!(patience(&Work::Hurry), Patience::None);
        assert_eq!(patience(&Work::Close), Patience::None);
        assert_eq!(patience(&Work::Touch { now: at }), Patience::None, "the proof of a write");
    }
    #[test]
    fn only_a_beat_that_nobody_goes_on_from_may_be_lost_with_a_server() {
        let good = || beat(Verdict::Good, BeatSeen::Seen);
        let at = DateTime::UNIX_EPOCH;
        let docs = || MonitorId::new("docs");
        let profile = ServerProfileRow { monitor: docs(), address: String::new(), profile: ServerProfile::default() };
        let listing = ListingRow {
            monitor: docs(),
            era: None,
            listing: Arc::new(Listing::default()),
            at,
            drift: Drift::default(),
            before: None,
        };
        let transcript = TranscriptRow {
            monitor: docs(),
            started_at: at,
            incident: String::new(),
            reason: FailureReason::ConnectionRefused,
            text: Arc::from(""),
            leads_since: None,
        };
        let records = [
            (good(), Durability::Soon, "a good beat"),
            (beat(Verdict::Unknown, BeatSeen::Missed), Durability::Soon, "one that was not made"),
            (
                ChangeSet { spent: vec![(docs(), Spent::default())], ..good() },
                Durability::Soon,
                "the next one sums up anew",
            ),
            (beat(Verdict::Down, BeatSeen::Seen), Durability::OnDisk, "a failure, whatever follows from it"),
            (ChangeSet { lapsed: vec![("i".to_owned(), at)], ..good() }, Durability::OnDisk, "nobody has it any more"),
            (
                ChangeSet { tools: accepted(FIRST_STABLE), ..good() },
                Durability::OnDisk,
                "what later lists are held against",
            ),
            (ChangeSet { listing: Some(listing), ..good() }, Durability::OnDisk, "a list that was seen"),
            (ChangeSet { marks: Some(MarksRow::default()), ..good() }, Durability::OnDisk, "what tells a restart"),
            (ChangeSet { profile: Some(profile), ..good() }, Durability::OnDisk, "what was learnt"),
            (ChangeSet { transcripts: vec![transcript], ..good() }, Durability::OnDisk, "what was said"),
            (
                ChangeSet { applied: Some(("a".to_owned(), at)), ..good() },
                Durability::OnDisk,
                "what was asked for is done",
            ),
            (ChangeSet::default(), Durability::OnDisk, "no beat"),
        ];
        for (record, expected, sentence) in records {
            assert_eq!(durability(&Work::Record(Box::new(record))), expected, "{sentence}");
        }
        assert_eq!(durability(&Work::Publish(Vec::new())), Durability::Soon, "it is published anew");
        for work in [Work::Touch { now: at }, Work::WakeFallbacks { now: at }, Work::Close] {
            assert_eq!(durability(&work), Durability::OnDisk, "{work:?}");
        }
    }
}
