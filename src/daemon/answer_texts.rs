//! Which texts of answers a beat carries to be kept: those that are not kept yet. A server whose text changes with each
//! answer would fill the disk with them, so a day holds so many and no more; what it has no room for is kept as soon as
//! it comes again on another day.

use chrono::{DateTime, Utc};

use crate::daemon::day_bytes::DayBytes;
use crate::domain::answer::KeptText;
use crate::domain::observation::Observation;
use crate::probe::decode::kept_text::KEPT_BYTES_MAX;

/// Bytes that new texts of a monitor may take in a day, for each of its canaries: eight of the longest that are kept.
const DAY_BYTES_MAX: usize = 8 * KEPT_BYTES_MAX;

/// The texts of a beat that are to be kept, each once; none most of the time.
pub(crate) fn new_texts(
    seen: &Observation,
    (today, canaries): (&mut DayBytes, usize),
    is_kept: impl Fn(&str) -> bool,
    now: DateTime<Utc>,
) -> Vec<KeptText> {
    let mut texts: Vec<KeptText> = Vec::new();
    for text in seen.asks.iter().filter_map(|ask| ask.result.as_ref()?.as_ref().ok()?.kept.as_deref()) {
        let is_new = !is_kept(&text.name) && texts.iter().all(|carried| carried.name != text.name);
        if is_new && today.affords(text.begins.len(), DAY_BYTES_MAX * canaries, now) {
            texts.push(text.clone());
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::answer::{Answer, Ask, Turn, Variant};
    use crate::domain::monitor::MonitorId;
    use crate::domain::observation::BeatKind;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_795_252_443 + seconds, 0).unwrap()
    }

    /// A beat whose answers are texts of these names, each longer than is kept.
    fn beat(names: &[&str]) -> Observation {
        let ask = |name: &&str| {
            let begins = "x".repeat(KEPT_BYTES_MAX).into();
            let text = KeptText { name: (*name).into(), bytes: 20_000, chars: 20_000, begins };
            Ask {
                canary: "c".to_owned(),
                variant: Variant::Plain,
                turn: Turn::Scheduled,
                elapsed: Duration::ZERO,
                fresh_connection: false,
                result: Some(Ok(Answer { text_only: true, kept: Some(Box::new(text)), ..Answer::default() })),
            }
        };
        let mut seen = Observation::blank(MonitorId::new("docs"), BeatKind::Scheduled, at(0), at(0));
        seen.asks = names.iter().map(ask).collect();
        seen
    }

    #[test]
    fn a_text_is_carried_where_it_is_not_kept_yet() {
        let rows: [(&[&str], &[&str], &str); 4] = [
            (&["text:a"], &["text:a"], "a new one"),
            (&["text:kept"], &[], "one that is kept"),
            (&["text:a", "text:kept", "text:a", "text:b"], &["text:a", "text:b"], "each once"),
            (&[], &[], "no answer that is a text"),
        ];
        for (answered, expected, sentence) in rows {
            let today = (&mut DayBytes::default(), 4);
            let texts = new_texts(&beat(answered), today, |name| name == "text:kept", at(0));
            let names: Vec<&str> = texts.iter().map(|text| &*text.name).collect();
            assert_eq!(names, expected, "{sentence}");
        }
    }

    #[test]
    fn a_text_that_changes_with_every_answer_fills_no_disk() {
        let mut today = DayBytes::default();
        let mut is_carried = |nth: i64, seconds: i64| {
            let name = format!("text:{nth}");
            !new_texts(&beat(&[name.as_str()]), (&mut today, 2), |_| false, at(seconds)).is_empty()
        };
        assert_eq!((0..100).filter(|nth| is_carried(*nth, *nth)).count(), 16, "eight for each of two canaries");
        assert!(is_carried(99, 86_400), "the next day has room for what is still answered");
    }
}
