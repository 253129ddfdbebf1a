//! How the generated corpus is asked: one question of a kind about one passage, or about nothing in it.

use crate::data::passage;
use crate::data::plan::{ManualPassage, ManualsPlan};
use crate::data::question::{Expected, FULL, JudgedQuestion, NEAR, QuestionKind};
use crate::text::concepts;
use crate::text::words;

/// Codes as people type them.
const CODES: [&str; 3] = ["{code}", "what is {code}", "it shows {code}, what do I do"];
/// Only small words beside the five concepts: whatever else stood here could stand in the text.
const MEANINGS: [&str; 4] = [
    "my {part} has {symptom} after {condition} in the {place}, would {remedy} do?",
    "is {remedy} what a {part} with {symptom} needs, when {condition} has been all over our {place}?",
    "why is there {symptom} about the {part} in the {place} after {condition}, and is it {remedy} I need?",
    "in our {place}, after {condition}, the {part} got {symptom}: how do we do the {remedy}?",
];
/// Three concepts each: two in other words, one as the text has it.
const MIXED: [(&str, [usize; 3]); 4] = [
    ("{product}: {symptom} of the {part} after {condition}", [1, 0, 2]),
    ("our {product} stands in the {place} and the {part} has {symptom}, what now", [3, 0, 1]),
    ("which {remedy} does the {product} need once {condition} caused {symptom}", [4, 2, 1]),
    ("{product} {part}: help, {condition} again, {place} job", [0, 2, 3]),
];
const DATES: [&str; 2] =
    ["since when are the {title} of the {product} valid", "{product} {title}, which firmware and valid from"];

/// What the corpus does not hold, in words it does not have.
const ELSEWHERE: [&str; 32] = [
    "sourdough hydration for rye bread",
    "who painted the mona lisa",
    "rules of offside in football",
    "best chess opening against the sicilian",
    "how tall was the tallest giraffe",
    "conjugation of irregular french verbs",
    "capital of burkina faso",
    "recipe for vegan lasagne",
    "lyrics of an old lullaby",
    "when did the roman empire fall",
    "how many moons has jupiter",
    "knitting pattern for a scarf",
    "symptoms of measles for toddlers",
    "mortgage interest for young families",
    "poem about autumn leaves",
    "breeding season of penguins",
    "biography of marie curie",
    "shoes for a marathon",
    "why do cats purr",
    "translate greetings into japanese",
    "tomatoes on a balcony",
    "visa for travelling to brazil",
    "plot of hamlet",
    "how far away is mars",
    "guitar chords for beginners",
    "wedding speech for a brother",
    "history of the silk road",
    "tax deduction for charity donations",
    "names of dinosaurs with feathers",
    "etiquette at a japanese tea ceremony",
    "election results of the senate",
    "origin of the word serendipity",
];

/// A question of a kind about a passage; `None` where the passage does not carry one.
///
/// `number` counts the questions of the kind, and names this one.
pub fn question(
    plan: &ManualsPlan,
    document: usize,
    passage: &ManualPassage,
    kind: QuestionKind,
    number: usize,
) -> Option<JudgedQuestion> {
    let query = match kind {
        QuestionKind::Keyword => keyword(passage, number)?,
        QuestionKind::Meaning => meaning(plan, document, passage, number)?,
        QuestionKind::Mixed => mixed(plan, document, passage, number)?,
        QuestionKind::Verbatim => (passage.ordinal > 0).then(|| passage::body(passage))?,
        QuestionKind::Negative => return None,
    };
    let mut expected = vec![Expected { source: plan.source(document), grade: FULL }];
    expected.extend(passage.twin.map(|twin| Expected { source: plan.source(twin), grade: NEAR }));
    Some(JudgedQuestion { id: name(kind, number), kind, query, expected })
}

/// Questions about what the corpus does not hold, at most as many as there are topics.
pub fn negatives(count: usize) -> impl Iterator<Item = JudgedQuestion> {
    (0..).zip(ELSEWHERE).take(count).map(|(number, query)| JudgedQuestion {
        id: name(QuestionKind::Negative, number),
        kind: QuestionKind::Negative,
        query: query.to_owned(),
        expected: Vec::new(),
    })
}

fn name(kind: QuestionKind, number: usize) -> String {
    format!("{}-{:04}", kind.name(), number + 1)
}

fn keyword(passage: &ManualPassage, number: usize) -> Option<String> {
    let code = passage.code.as_ref()?;
    Some(CODES[number % CODES.len()].replace("{code}", code))
}

/// All five concepts in other words. A passage with a twin is left out, since nothing tells the two apart.
fn meaning(plan: &ManualsPlan, document: usize, passage: &ManualPassage, number: usize) -> Option<String> {
    if passage.ordinal == 0 || passage.twin.is_some() {
        return None;
    }
    let query =
        fill(MEANINGS[number % MEANINGS.len()], passage, |slot| 1 + (passage.phrases >> (40 + slot)) as usize % 2);
    // It is so by the making of the tables; the promise is worth the look.
    let stems = words::content_stems(&passage::document(plan, document));
    let shares = words::content_stems(&query).iter().any(|stem| stems.contains(stem));
    (!shares).then_some(query)
}

/// The product, and three concepts that tell the passage from the product's others; for an
/// introduction, which each fourth question wants, its date.
fn mixed(plan: &ManualsPlan, document: usize, passage: &ManualPassage, number: usize) -> Option<String> {
    let product = plan.product(document);
    let product = format!("{} {}", product.name, product.model);
    let wants_introduction = number % 4 == 3;
    if (passage.ordinal == 0) != wants_introduction {
        return None;
    }
    if wants_introduction {
        let (_, title) = ManualsPlan::kind(document);
        return Some(DATES[number / 4 % DATES.len()].replace("{product}", &product).replace("{title}", title));
    }
    let (phrase, slots) = MIXED[(number - number / 4) % MIXED.len()];
    if !plan.tells_apart(document, passage, &slots) {
        return None;
    }
    let own = slots[(passage.phrases >> 50) as usize % slots.len()];
    let wording = |slot| if slot == own { 0 } else { 1 + (passage.phrases >> (40 + slot)) as usize % 2 };
    Some(fill(&phrase.replace("{product}", &product), passage, wording))
}

/// Puts a passage's concepts into a question; `wording` says in which of their wordings.
fn fill(phrase: &str, passage: &ManualPassage, wording: impl Fn(usize) -> usize) -> String {
    let mut query = phrase.to_owned();
    for (slot, (name, concepts)) in concepts::SLOTS.iter().enumerate() {
        query = query.replace(&format!("{{{name}}}"), concepts[passage.concepts[slot]][wording(slot)]);
    }
    query
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn what_is_elsewhere_is_not_here() {
        let plan = ManualsPlan::new(5, 4_000).unwrap();
        let mut here: HashSet<String> = (0..plan.documents())
            .flat_map(|document| words::content_stems(&passage::document(&plan, document)))
            .collect();
        here.extend(concepts::concepts().flatten().flat_map(|wording| words::content_stems(wording)));
        for question in negatives(usize::MAX) {
            let shared: Vec<String> =
                words::content_stems(&question.query).into_iter().filter(|stem| here.contains(stem)).collect();
            assert!(shared.is_empty(), "{}: {shared:?}", question.query);
        }
    }
}
