//! The text of a document: its introduction and its passages, from templates.
//!
//! Templates speak in the first wordings of `concepts` and in words of no concept, so that a question in
//! the other wordings shares no stem with them. Each passage is one heading and five sentences, which
//! every sensible chunker leaves whole.

use chrono::{Days, NaiveDate};

use crate::data::plan::{ManualPassage, ManualsPlan, Product};
use crate::text::concepts;

/// The phrases of a sentence; `{part}` and the like are filled in.
type Phrases = [&'static str; 4];

const HEADINGS: Phrases =
    ["{Part}: {symptom}", "{Symptom} at the {part}", "{Symptom} after {condition}", "{Part} and {condition}"];
const SIGHTINGS: Phrases = [
    "Signs of {symptom} at the {part} were reported from the {place}.",
    "Units that stand in the {place} may develop {symptom} beside the {part}.",
    "In the {place} the {part} can show {symptom}.",
    "The {part} of the unit in the {place} was found with {symptom}.",
];
const CAUSES: Phrases = [
    "It starts after {condition} and grows while the unit runs.",
    "The cause is {condition}, even when it lasted for minutes.",
    "{Condition} brings it about, most often in the afternoon.",
    "It comes with {condition} and stays after that has ended.",
];
const CURES: Phrases = [
    "{Remedy} by a trained technician settles it.",
    "Only {remedy} settles it for good.",
    "Plan {remedy} for the following visit.",
    "The works recommends {remedy} before the unit runs again.",
];
const MEASURES: Phrases = [
    "Set the retaining screws to {measure} newton centimetres.",
    "Allow a clearance of {measure} micrometres.",
    "Keep the pressure at {measure} kilopascals meanwhile.",
    "Allow a current of {measure} milliamperes and not above.",
];
const CODES: Phrases = [
    "The controller shows {code} for it.",
    "Its error code is {code}.",
    "{Code} is written into the controller's memory.",
    "Look for {code} in the list of errors.",
];
const CLOSINGS: Phrases = [
    "Enter the visit into the booklet of the unit.",
    "Parts for it are kept at the works.",
    "Wear gloves and goggles throughout.",
    "Two technicians finish it within the hour.",
];

/// The day the oldest document may be valid from.
const FIRST_DAY: Option<NaiveDate> = NaiveDate::from_ymd_opt(2019, 1, 7);
/// Days from the oldest document to the newest.
const DAYS: u64 = 2_500;

/// The whole text of a document, Markdown.
pub fn document(plan: &ManualsPlan, document: usize) -> String {
    let product = plan.product(document);
    let (_, title) = ManualsPlan::kind(document);
    let mut text =
        format!("# {} {}: {title}\n\n{}\n", product.name, product.model, introduction(plan, document, &product));
    for ordinal in 1..plan.passages(document) {
        let passage = plan.passage(document, ordinal);
        text += &format!("\n## {}\n\n{}\n", fill(phrase(&HEADINGS, &passage, 0), &passage), body(&passage));
    }
    text
}

/// The text of a passage, as a chunk holds it.
pub fn body(passage: &ManualPassage) -> String {
    let sentences = [&SIGHTINGS, &CAUSES, &CURES, &MEASURES, if passage.code.is_some() { &CODES } else { &CLOSINGS }];
    let filled = (1..).zip(sentences).map(|(place, phrases)| fill(phrase(phrases, passage, place), passage));
    filled.collect::<Vec<_>>().join(" ")
}

/// The day a document is valid from.
pub fn valid_from(plan: &ManualsPlan, document: usize) -> NaiveDate {
    let days = Days::new(plan.draw(document as u64, "valid") % DAYS);
    FIRST_DAY.and_then(|first| first.checked_add_days(days)).unwrap_or_default()
}

fn introduction(plan: &ManualsPlan, document: usize, product: &Product) -> String {
    let (_, title) = ManualsPlan::kind(document);
    let version = plan.draw(document as u64, "version");
    format!(
        "The {} {} is a {}. These {title} are valid from {}. They apply to firmware {}.{}.{}. Earlier editions are \
         withdrawn. Read them before the unit runs.",
        product.name,
        product.model,
        product.family.one,
        valid_from(plan, document),
        1 + version % 9,
        version / 9 % 20,
        version / 180 % 30,
    )
}

/// One of four phrases; two bits of the passage's draw choose it, others for each place.
fn phrase(phrases: &Phrases, passage: &ManualPassage, place: u32) -> &'static str {
    phrases[(passage.phrases >> (2 * place)) as usize % phrases.len()]
}

/// Puts the passage's own words in; a capital name gives a capital word.
fn fill(phrase: &str, passage: &ManualPassage) -> String {
    let mut filled = phrase.to_owned();
    for ((slot, concepts), concept) in concepts::SLOTS.iter().zip(passage.concepts) {
        filled = put(&filled, slot, concepts[concept][0]);
    }
    filled = put(&filled, "measure", &passage.measure.to_string());
    match &passage.code {
        Some(code) => put(&filled, "code", code),
        None => filled,
    }
}

/// Puts a word into the places of a name.
fn put(phrase: &str, name: &str, word: &str) -> String {
    phrase.replace(&format!("{{{name}}}"), word).replace(&format!("{{{}}}", capital(name)), &capital(word))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words;

    #[test]
    fn every_place_is_filled_and_no_question_wording_gets_in() {
        let foreign: std::collections::HashSet<String> = concepts::concepts()
            .flat_map(|wordings| &wordings[1..])
            .flat_map(|wording| words::content_stems(wording))
            .collect();
        let plan = ManualsPlan::new(11, 1_000).unwrap();
        for at in 0..plan.documents() {
            let text = document(&plan, at);
            assert!(!text.contains(['{', '}']), "{text}");
            let stems = words::content_stems(&text);
            assert!(!stems.iter().any(|stem| foreign.contains(stem)), "{text}");
        }
    }

    #[test]
    fn twins_read_alike_but_for_one_number() {
        let plan = ManualsPlan::new(11, 1_000).unwrap();
        let passage = plan.passage(0, 1);
        let twin = plan.passage(passage.twin.unwrap(), 1);
        let (left, right) = (body(&passage), body(&twin));
        let differing: Vec<(&str, &str)> = left.split(' ').zip(right.split(' ')).filter(|(a, b)| a != b).collect();
        assert_eq!(differing, [(passage.measure.to_string().as_str(), twin.measure.to_string().as_str())]);
    }
}
