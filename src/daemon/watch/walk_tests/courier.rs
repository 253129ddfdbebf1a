//! Whoever carries out what a walk promises, as the delivery worker does: some tries fail, and at some Serin dies before it
//! can write down what came of them. What arrives is checked as those see it who get it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chrono::{DateTime, TimeDelta, Utc};

use super::{DESK, Dice};
use crate::deliver::message::Message;
use crate::domain::paging::delivery::AttemptEnd;
use crate::store::Store;
use crate::store::values::claims::{Attempted, Claim, Claiming, NextAttempt, TriedDelivery};

/// The first word of an incident, its last, and all between them, by receiver.
type Got = BTreeMap<(String, String), Vec<(u32, String)>>;

/// What arrived so far.
#[derive(Debug, Default)]
pub(super) struct Courier {
    got: Got,
    /// What each message held when it was tried first, by its id.
    held: BTreeMap<String, BTreeSet<String>>,
    /// Messages of several.
    pub(super) grouped: usize,
    /// Messages that came twice, since nobody had written down that they came.
    pub(super) repeated: usize,
}

/// What becomes of a try.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    /// Tried again after so many minutes.
    Fails(i64),
    /// Lost with its process, before it was sent or after.
    Dies {
        arrived: bool,
    },
}

impl Fate {
    fn of(dice: &mut Dice) -> Self {
        match dice.below(12) {
            0 => Self::Dies { arrived: true },
            1 => Self::Dies { arrived: false },
            2 | 3 => Self::Fails(1 + dice.below(9) as i64),
            _ => Self::Arrives,
        }
    }
}

impl Courier {
    /// Tries all that is due.
    pub(super) async fn turn(&mut self, store: &Store, now: DateTime<Utc>, dice: &mut Dice, story: &[String]) {
        for claim in claims(store, now).await {
            self.carry(store, &claim, now, Fate::of(dice), story).await;
        }
    }

    /// Carries out all that is left, a minute after another; how much there was.
    pub(super) async fn rest(&mut self, store: &Store, mut now: DateTime<Utc>, story: &[String]) -> usize {
        let mut carried = 0;
        // The longest that anything waits is an interval of its group behind the one before.
        for _ in 0..60 {
            now += TimeDelta::minutes(1);
            for claim in claims(store, now).await {
                self.carry(store, &claim, now, Fate::Arrives, story).await;
                carried += 1;
            }
        }
        carried
    }

    async fn carry(&mut self, store: &Store, claim: &Claim, now: DateTime<Utc>, fate: Fate, story: &[String]) {
        self.tried(claim, story);
        if matches!(fate, Fate::Arrives | Fate::Dies { arrived: true }) {
            self.arrived(claim, story);
        }
        let (end, next) = match fate {
            Fate::Dies { .. } => return,
            Fate::Arrives => (AttemptEnd::Accepted, NextAttempt::Sent),
            Fate::Fails(minutes) => {
                let why = "503".to_owned();
                (AttemptEnd::Failed { why, retry_after: None }, NextAttempt::Retry(now + TimeDelta::minutes(minutes)))
            }
        };
        let tried = |id: String| TriedDelivery { id, stand_ins: Vec::new() };
        let attempted = Attempted {
            is_again: false,
            deliveries: claim.deliveries().into_iter().map(tried).collect(),
            lease: claim.lease.clone(),
            started_at: now,
            ended_at: now,
            end,
            external_ref: None,
            next,
        };
        store.attempted(attempted).await.unwrap();
    }

    /// Every try of a message holds what its first one held.
    fn tried(&mut self, claim: &Claim, story: &[String]) {
        let notifications = claim.others().iter().map(|other| &other.notification);
        let holds: BTreeSet<String> = std::iter::once(&claim.notification).chain(notifications).cloned().collect();
        assert!(holds.len() == 1 || claim.receiver == DESK, "a program gets each alone: {claim:?} {story:#?}");
        let id = claim
            .together
            .as_ref()
            .map_or_else(|| format!("{} {}", claim.receiver, claim.notification), |together| together.id.clone());
        let first = self.held.entry(id).or_insert_with(|| holds.clone());
        assert_eq!(*first, holds, "a repeat holds what the first try held: {story:#?}");
    }

    fn arrived(&mut self, claim: &Claim, story: &[String]) {
        let payloads = std::iter::once(&claim.payload).chain(claim.others().iter().map(|other| &other.payload));
        let mut messages: Vec<Message> = payloads.map(|one| serde_json::from_str(one).unwrap()).collect();
        messages.sort_by_key(|message| message.sequence);
        self.grouped += usize::from(messages.len() > 1);
        let mut is_repeat = false;
        for message in messages {
            let Some(incident) = message.incident else { continue };
            let event = message.event.trim_start_matches("incident.").to_owned();
            let got = self.got.entry((claim.receiver.clone(), incident.id)).or_default();
            let why = format!("{} got {event} {} after {got:?}\n{story:#?}", claim.receiver, message.sequence);
            match got.last() {
                // It came before, and the process died that knew.
                Some((last, _)) if *last >= message.sequence => {
                    assert!(got.iter().any(|one| one.0 == message.sequence), "nothing is overtaken: {why}");
                    is_repeat = true;
                    continue;
                }
                Some((_, last)) => assert_ne!(last, "resolved", "nothing comes behind an end: {why}"),
                None => assert_ne!(event, "resolved", "what is heard first is that it is open: {why}"),
            }
            got.push((message.sequence, event));
        }
        self.repeated += usize::from(is_repeat);
    }

    /// Whoever was promised something of an incident got all of it, its end last.
    pub(super) fn has_all(&self, incident: &str, said: &[(String, Vec<String>)], story: &[String]) {
        let receivers: HashSet<&String> = said.iter().flat_map(|(_, to)| to).collect();
        for receiver in receivers {
            let promised: Vec<&String> =
                said.iter().filter(|(_, to)| to.contains(receiver)).map(|(event, _)| event).collect();
            let got = self.got.get(&(receiver.clone(), incident.to_owned()));
            let got: Vec<&String> = got.into_iter().flatten().map(|(_, event)| event).collect();
            assert_eq!(got, promised, "what was promised to {receiver} arrived: {incident} {story:#?}");
        }
    }
}

async fn claims(store: &Store, now: DateTime<Utc>) -> Vec<Claim> {
    let people = HashSet::from([DESK.to_owned()]);
    let claiming = Claiming { limit: 100, per_receiver: 100, per_unproven: 100, people, ..Claiming::default() };
    store.claim(now, claiming).await.unwrap()
}
