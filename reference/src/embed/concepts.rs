//! Words for the same thing, as `synonyms.yaml` has them: what a trained model would have learnt, written down for the
//! corpora of the laboratory, and for nobody else's.

use std::collections::HashMap;
use std::sync::LazyLock;

#[cfg(feature = "figures")]
use crate::text::concepts;
use crate::text::words as text;

/// Concepts that a text speaks of, by its stems in their order; a concept comes once per mention.
pub fn of(stems: &[String]) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (at, stem) in stems.iter().enumerate() {
        found.extend(WORDINGS.get(stem.as_str()).into_iter().flatten());
        if let Some(next) = stems.get(at + 1) {
            found.extend(of_phrase(stem, next));
        }
    }
    found
}

/// Concepts that two stems name together and neither names alone.
pub fn of_phrase(stem: &str, next: &str) -> &'static [&'static str] {
    WORDINGS.get(format!("{stem} {next}").as_str()).map_or(&[], Vec::as_slice)
}

static WORDINGS: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut wordings = HashMap::<String, Vec<&'static str>>::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let Some((concept, words)) = line.split_once(':') else { continue };
        for wording in words.split_whitespace() {
            let stems: Vec<String> = wording.split('_').map(text::stem).collect();
            let entry = wordings.entry(stems.join(" ")).or_default();
            if !entry.contains(&concept) {
                entry.push(concept);
            }
        }
    }
    // The manuals' trade is a table of its own, which their generator shares.
    #[cfg(feature = "figures")]
    for concept in concepts::concepts() {
        for wording in concept {
            wordings.entry(text::stem(wording)).or_default().push(concept[0]);
        }
    }
    wordings
});

/// The file that ships with the laboratory's corpora.
const TABLE: &str = include_str!("synonyms.yaml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_words_are_the_same_concept() {
        let of_text = |text: &str| of(&text::content_stems(text));
        assert_eq!(of_text("slow"), of_text("sluggish"));
        assert_eq!(of_text("restarted"), of_text("reboots"));
        assert!(of_text("sourdough").is_empty());
        #[cfg(feature = "figures")]
        assert_eq!(of_text("a rattle of the impeller"), of_text("jangle in the rotor"));
    }

    #[cfg(feature = "figures")]
    #[test]
    fn the_two_tables_do_not_mix() {
        for wording in concepts::concepts().flatten() {
            assert_eq!(of(&text::content_stems(wording)).len(), 1, "{wording} is one concept");
        }
    }
}
