//! The words of packs, by number. A number means the same word in every pack ever made, so none is ever changed.
//! Reasons bring their own number ([`Facts::number`](crate::domain::reason::Facts::number)).

use std::collections::HashMap;
use std::io;
use std::sync::LazyLock;

use crate::domain::reason::FailureReason;
use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged};

/// The first words that a beat or an ask is described with, reasons aside. The first is "none". Reasons count up from here.
const WORDS: &[&str] = &[
    "",
    // kinds of beats
    "scheduled",
    "suspect",
    "recheck",
    "burst",
    "drill",
    // eras and transports
    "legacy",
    "modern",
    "http",
    "sse",
    "stdio",
    // whether anything was seen
    "seen",
    "missed",
    "internal",
    "uplink",
    "held",
    // verdicts of beats and of asks
    "good",
    "degraded",
    "down",
    "unknown",
    "right",
    "wrong",
    "failed",
    "not_asked",
    // stages
    "connect",
    "handshake",
    "tools",
    "search",
    "health",
    // variants and turns (`scheduled` and `not_asked` are above)
    "plain",
    "fresh",
    "re-ask",
];

/// Further words, from the last number that fits downwards.
const FURTHER: &[&str] = &[
    // a variant
    "reworded",
    // turns of an altered question
    "fewer",
    "respelled",
    // what is asked of no canary
    "harvested",
];

/// The words by their numbers; a number that means nothing yet has none.
static BY_NUMBER: LazyLock<[Option<&str>; 1 << BITS]> = LazyLock::new(|| {
    let mut words = [None; 1 << BITS];
    let reasons = FailureReason::ALL.iter().map(|reason| (usize::from(reason.facts().number), reason.slug()));
    for (number, word) in WORDS.iter().copied().enumerate().chain(reasons) {
        words[number] = Some(word);
    }
    for (back, word) in FURTHER.iter().copied().enumerate() {
        words[(1 << BITS) - 1 - back] = Some(word);
    }
    words
});

static NUMBERS: LazyLock<HashMap<&str, u64>> =
    LazyLock::new(|| (0..).zip(BY_NUMBER.iter()).filter_map(|(number, word)| Some(((*word)?, number))).collect());

/// Writes a word by its number. A word that is not in the list is a mistake of ours, which a test holds.
pub(in crate::store) fn write(written: &mut BitWriter, word: &str) -> io::Result<()> {
    let number = NUMBERS.get(word).ok_or_else(|| damaged("a word that packs do not know"))?;
    written.low(BITS, *number)
}

/// Reads a word back as what it stands for.
pub(in crate::store) fn read<T>(read: &mut BitReader<'_>, meaning: impl Fn(&str) -> Option<T>) -> io::Result<T> {
    let number = usize::try_from(read.low(BITS)?).unwrap_or(usize::MAX);
    let word = BY_NUMBER.get(number).copied().flatten().ok_or_else(|| damaged("a word of a newer Serin"))?;
    meaning(word).ok_or_else(|| damaged("a word in a place where it means nothing"))
}

/// Reads a word back that may be none.
pub(in crate::store) fn read_or_none<T>(
    bits: &mut BitReader<'_>,
    meaning: impl Fn(&str) -> Option<T>,
) -> io::Result<Option<T>> {
    read(bits, |word| if word.is_empty() { Some(None) } else { meaning(word).map(Some) })
}

/// Bits of a word's number.
const BITS: u32 = 8;

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn every_word_has_a_number_of_its_own() {
        assert_eq!(
            NUMBERS.len(),
            WORDS.len() + FailureReason::ALL.len() + FURTHER.len(),
            "no number and no word is there twice"
        );
        for reason in FailureReason::ALL {
            assert_eq!(NUMBERS.get(reason.slug()), Some(&u64::from(reason.facts().number)), "{reason}");
        }
    }

    #[test]
    fn numbers_mean_what_they_always_meant() {
        // Packs of 35 days hold these.
        let first: Vec<&str> = BY_NUMBER[..88].iter().map(|word| word.expect("it has a word")).collect();
        assert_eq!(
            hex::encode(Sha256::digest(first.join("\n"))),
            "be36f1074033d23ab5c4202b912c8f32613b6f416dd5dd0fc829d321eeab7387",
            "{first:#?}"
        );
        assert_eq!(NUMBERS.get("reworded"), Some(&255));
    }
}
