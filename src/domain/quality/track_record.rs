//! What a monitor's canaries have shown so far, beyond their last answers: blips and hit rates, kept over restarts.

use crate::domain::monitor::CanaryKind;
use crate::domain::quality::blips::BlipRecord;
use crate::domain::quality::erosion::{Erosion, KindAnswers, KindErosion};

/// Right answers after which it is written down anew: an hour at two a minute. Whatever else is news is written at once,
/// so that a crash forgets at most so many right answers.
const WRITTEN_EVERY: u32 = 128;
/// Bytes of the counts of blips, of a kind's name, and of all that is kept of a kind.
const BLIPS_BYTES: usize = 20;
const NAME_BYTES: usize = 12;
const KIND_BYTES: usize = NAME_BYTES + 49;

/// A monitor's track record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrackRecord {
    pub(crate) blips: BlipRecord,
    pub(crate) erosion: Erosion,
}

impl TrackRecord {
    /// Counts right answers in turn of canaries that nobody doubts. After 64 right observations of each kind there is
    /// nothing else about a healthy stretch to be remembered.
    pub fn right(&mut self, answers: u32) {
        self.blips.right(answers);
    }

    /// What a beat makes of it that asked canaries of these kinds in their turn, each known for long, none in doubt, and all
    /// right: so that a healthy year can be lived through without its beats.
    pub fn right_beat(&mut self, asked: &[CanaryKind]) {
        self.blips.right(asked.len() as u32);
        let all_right = |kind: CanaryKind| {
            let asked = asked.iter().filter(|one| **one == kind).count() as u32;
            KindAnswers { right: asked, asked }
        };
        self.erosion.observe_known(all_right);
    }

    /// Whether answers to sentences that are asked back are waited for: too few came yet, or they fell, or may.
    pub fn waits_for_harvested(&self) -> bool {
        let known = self.erosion.kinds().iter().find(|known| known.kind == CanaryKind::Harvested);
        known.is_none_or(KindErosion::waits)
    }

    /// Bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(self.erosion.kinds())
    }

    /// Whether it differs so much from what was written that it is worth writing. `salt` spreads a fleet's hourly writing.
    pub(crate) fn is_news(&self, before: &Self, salt: u32) -> bool {
        let hour = |record: &Self| record.blips.answers.wrapping_add(salt % WRITTEN_EVERY) / WRITTEN_EVERY;
        let unruly = |record: &Self| (record.blips.runs, record.blips.looks);
        let kinds = |record: &Self| record.erosion.kinds().len();
        let stirs = |kind: &KindErosion| {
            let known = before.erosion.kinds().iter().find(|known| known.kind == kind.kind);
            known.is_none_or(|known| known.is_eroded != kind.is_eroded || worth_more(known, kind))
        };
        self != before
            && (hour(self) != hour(before)
                || unruly(self) != unruly(before)
                || kinds(self) != kinds(before)
                || self.erosion.kinds().iter().any(stirs))
    }

    /// As it is kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        let BlipRecord { answers, runs, second, looks, further } = self.blips;
        let mut bytes: Vec<u8> =
            [answers, runs, second, looks, further].into_iter().flat_map(u32::to_le_bytes).collect();
        for kind in self.erosion.kinds() {
            bytes.extend(name(kind.kind));
            bytes.extend(kind.canaries.to_le_bytes());
            bytes.extend([kind.asked, kind.right].into_iter().flat_map(u32::to_le_bytes));
            bytes.extend(kind.capital.into_iter().flat_map(f64::to_le_bytes));
            bytes.extend(kind.recent.to_le_bytes());
            bytes.push(u8::from(kind.is_eroded));
        }
        bytes
    }

    /// As it was kept; none where the bytes are no track record.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (blips, kinds) = bytes.split_at_checked(BLIPS_BYTES)?;
        let mut counts = blips.chunks_exact(4).filter_map(|count| Some(u32::from_le_bytes(count.try_into().ok()?)));
        let mut next = || counts.next();
        let blips = BlipRecord { answers: next()?, runs: next()?, second: next()?, looks: next()?, further: next()? };
        let is_sound = blips.runs <= blips.answers && blips.second <= blips.runs && blips.further <= blips.looks;
        let mut record = Self { blips, ..Self::default() };
        let (kinds, rest) = kinds.as_chunks::<KIND_BYTES>();
        for kind in kinds {
            record.erosion.restore(kind_of(kind)?);
        }
        (is_sound && rest.is_empty()).then_some(record)
    }
}

/// A kind's word, cut or filled up: another order of the kinds in a later version is no other kind.
fn name(kind: CanaryKind) -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    name.iter_mut().zip(kind.slug().bytes()).for_each(|(place, byte)| *place = byte);
    name
}

fn worth_more(before: &KindErosion, now: &KindErosion) -> bool {
    before.capital.iter().zip(now.capital).any(|(before, now)| now > before.max(1.0))
}

fn kind_of(bytes: &[u8; KIND_BYTES]) -> Option<KindErosion> {
    let (named, rest) = bytes.split_at(NAME_BYTES);
    let word = |at: usize| Some(u64::from_le_bytes(rest.get(at..at + 8)?.try_into().ok()?));
    let count = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?));
    let capital = [word(16)?, word(24)?, word(32)?].map(f64::from_bits);
    let kind = KindErosion {
        kind: CanaryKind::ALL.into_iter().find(|kind| name(*kind) == named)?,
        canaries: word(0)?,
        asked: count(8)?,
        right: count(12)?,
        capital,
        recent: word(40)?,
        is_eroded: rest[48] == 1,
    };
    let is_sound = kind.right <= kind.asked && capital.iter().all(|capital| capital.is_finite() && *capital >= 0.0);
    is_sound.then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::quality::erosion::KindAnswers;

    fn learnt() -> TrackRecord {
        let mut record = TrackRecord::default();
        record.right(10_000);
        record.blips.ended(2);
        let answers = KindAnswers { right: 200, asked: 200 };
        for kind in [CanaryKind::Meaning, CanaryKind::Negative] {
            record.erosion.observe(&[], kind, answers, true, 1e3);
            record.erosion.observe(&[], kind, KindAnswers { right: 0, asked: 1 }, true, 1e3);
        }
        record
    }

    #[test]
    fn it_comes_back_as_it_was_kept() {
        for record in [TrackRecord::default(), learnt()] {
            assert_eq!(TrackRecord::from_bytes(&record.to_bytes()), Some(record));
        }
        let kept = learnt().to_bytes();
        assert!(kept.len() <= 4_096, "{} bytes", kept.len());
        let all_kinds = size_of::<TrackRecord>() + CanaryKind::ALL.len() * size_of::<KindErosion>();
        assert!(all_kinds <= 4_096, "{all_kinds} bytes in memory");
        for cut in 1..kept.len() {
            let rest = &kept[..cut];
            let is_whole = (rest.len() >= BLIPS_BYTES) && (rest.len() - BLIPS_BYTES).is_multiple_of(KIND_BYTES);
            assert_eq!(TrackRecord::from_bytes(rest).is_some(), is_whole, "{cut} bytes of it");
        }
        for at in 0..kept.len() {
            let mut damaged = kept.clone();
            damaged[at] = u8::MAX;
            // Whatever comes of it is bounded, and no panic.
            drop(TrackRecord::from_bytes(&damaged));
        }
    }

    #[test]
    fn a_healthy_stretch_may_be_skipped() {
        let (mut lived, mut skipped) = (learnt(), learnt());
        for _ in 0..500 {
            lived.right_beat(&[CanaryKind::Meaning, CanaryKind::Negative]);
        }
        for _ in 0..64 {
            skipped.right_beat(&[CanaryKind::Meaning, CanaryKind::Negative]);
        }
        skipped.right(436 * 2);
        assert_eq!(lived, skipped);
    }

    #[test]
    fn only_news_is_written() {
        let before = learnt();
        let after = |change: fn(&mut TrackRecord)| {
            let mut after = before.clone();
            change(&mut after);
            after.is_news(&before, 0)
        };
        assert!(!after(|_| {}), "nothing");
        assert!(!after(|record| record.right(2)), "a right answer");
        assert!(after(|record| record.right(WRITTEN_EVERY)), "an hour of them");
        assert!(after(|record| record.blips.ended(1)), "a blip");
        let seen = |right| KindAnswers { right, asked: 1 };
        let observe = |record: &mut TrackRecord, right| {
            record.erosion.observe(&[], CanaryKind::Meaning, seen(right), true, 1e3);
        };
        let (mut wrong, mut right) = (before.clone(), before.clone());
        observe(&mut wrong, 0);
        observe(&mut right, 1);
        assert_eq!(
            (wrong.is_news(&before, 0), right.is_news(&before, 0)),
            (true, false),
            "a wrong one, and a right one"
        );
    }
}
