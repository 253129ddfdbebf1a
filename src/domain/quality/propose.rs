//! Canaries proposed for a server that nobody has written any for yet, out of its own material.
//!
//! A proposal is a guess until the server was asked: whoever takes it up asks, keeps what came back
//! as expected, and asks again. What is proposed here is harmless as a question: one line, no
//! references, no control characters, however hostile the text it was taken from.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::answer::SeenPassage;
use crate::domain::monitor::CanaryKind;

/// A question and the source that should answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub query: String,
    pub kind: CanaryKind,
    /// The source it was taken from; empty for a negative canary, and where there is only a text.
    pub source: String,
    /// Words that its answer's text holds, where that is what is judged.
    pub contains: Vec<String>,
}

/// A sentence's source comes within this rank: deeper ones are no safe ground.
const RANK_MAX: u32 = 3;

impl Proposal {
    /// The rank within which an answer has to bring its source. A keyword stands in no other source, so that it comes first.
    pub(crate) fn within(&self) -> u32 {
        if self.kind == CanaryKind::Keyword { 1 } else { RANK_MAX }
    }
}

/// Words that no text can be about, to ask for what is not there.
pub(crate) const NONSENSE: [&str; 2] = ["zorvex quandril mubbletock", "wexlifrant jorbequist plinnaver"];

/// Characters of a word worth asking for; longer ones are hashes or lines without blanks.
const TOKEN_CHARS_MAX: usize = 32;
/// Characters of a source's name that still make a question.
const NAME_CHARS_MAX: usize = 60;
/// Letters below which a word without digits says little.
const WORD_CHARS_MIN: usize = 7;
/// Words of a sentence that can be asked back: shorter ones are headings, longer ones two sentences.
const SENTENCE_WORDS: std::ops::RangeInclusive<usize> = 5..=16;
/// Longest name of a source that is worth writing into a file.
const SOURCE_CHARS_MAX: usize = 200;

/// By these an English sentence states something, so that it can be asked whether it is so.
const VERBS: [&str; 18] = [
    "is", "are", "was", "were", "has", "have", "can", "cannot", "must", "may", "will", "should", "does", "gives",
    "takes", "expires", "needs", "means",
];
/// A sentence that starts with one of these asks already.
const QUESTION_WORDS: [&str; 17] = [
    "who", "what", "which", "when", "where", "why", "how", "do", "does", "did", "is", "are", "was", "can", "could",
    "should", "whose",
];

/// Words that stand in every description of a tool, and in every text.
pub(super) const COMMON: &str = "about above after again against all also and answer answers any anything are arguments back because been \
    before below between both bring but call can content could data does each either every everything find \
    finds first for found from get has have how indexed into its json know known list many more most must name \
    not number often one only other query question result results return returns search should source sources \
    string such text than that the their them then there these they this tool use used what when which with \
    without";

/// Questions for a first look at what a server holds: rare-looking words of its own texts, the likeliest first.
pub(crate) fn openers<'a>(texts: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut words: Vec<(u32, String)> = Vec::new();
    for token in texts.into_iter().flat_map(tokens) {
        let weight = rarity(token);
        if weight > 0 && seen.insert(token.to_lowercase()) {
            words.push((weight, token.to_owned()));
        }
    }
    words.sort_by_key(|(weight, _)| Reverse(*weight));
    words.truncate(most);
    words.into_iter().map(|(_, word)| word).collect()
}

/// Questions out of the names of sources, from all over the list: `billing/late-invoices.md` asks for late invoices.
pub(crate) fn named_openers(names: &[String], most: usize) -> Vec<String> {
    let step = names.len().div_ceil(most.max(1)).max(1);
    let question = |name: &String| {
        let last = name.rsplit(['/', '#', ':', '\\']).find(|part| !part.is_empty())?;
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        let words: Vec<&str> = stem.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let asked = words.join(" ");
        let told = asked.chars().any(char::is_alphabetic) && !looks_like_a_hash(&words.concat());
        (told && asked.chars().count() <= NAME_CHARS_MAX).then_some(asked)
    };
    let mut found: Vec<String> = Vec::new();
    for asked in names.iter().step_by(step).filter_map(question) {
        if !found.contains(&asked) {
            found.push(asked);
        }
    }
    found.truncate(most);
    found
}

/// What the passages suggest asking: keyword and mixed canaries in turn over all sources, the likeliest to hold first.
pub(crate) fn proposals(passages: &[SeenPassage]) -> Vec<Proposal> {
    let by_source = by_source(passages);
    let (mut first, mut mixed, mut second) = (Vec::new(), Vec::new(), Vec::new());
    for (source, texts) in &by_source {
        let others: BTreeSet<String> = by_source
            .iter()
            .filter(|(other, _)| other != source)
            .flat_map(|(_, texts)| texts.iter().flat_map(|text| tokens(text)).map(str::to_lowercase))
            .collect();
        let proposal = |kind, query| Proposal { query, kind, source: (*source).to_owned(), contains: Vec::new() };
        let mut queries = keywords(texts, &others).into_iter().map(|query| proposal(CanaryKind::Keyword, query));
        first.extend(queries.next());
        second.extend(queries.next());
        mixed.extend(texts.iter().find_map(|text| sentence(text)).map(|query| proposal(CanaryKind::Mixed, query)));
    }
    // Two sources' codes, one source's sentence, and so on; second keywords of a source come last.
    let mut turns = Vec::with_capacity(first.len() + mixed.len() + second.len());
    let (mut first, mut mixed) = (first.into_iter(), mixed.into_iter());
    while first.len() + mixed.len() > 0 {
        turns.extend(first.by_ref().take(2));
        turns.extend(mixed.by_ref().take(1));
    }
    turns.extend(second);
    turns
}

/// A limit between the scores of nonsense and those of right answers, where they lie far enough apart to hold.
///
/// In the middle, to two digits. None where nonsense scores like an answer: fused ranks do.
pub(crate) fn max_score(nonsense: &[f64], right: &[f64]) -> Option<f64> {
    /// Nonsense must stay below this share of the least right answer, or the limit would be crossed by chance.
    const APART: f64 = 0.8;
    let top = nonsense.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = right.iter().copied().fold(f64::INFINITY, f64::min);
    if !top.is_finite() || !least.is_finite() || least <= 0.0 || top >= least * APART {
        return None;
    }
    let middle = f64::midpoint(top, least);
    let scale = 10_f64.powf(1.0 - middle.abs().log10().floor());
    let rounded = (middle * scale).round() / scale;
    (rounded > top && rounded < least).then_some(rounded)
}

/// An id made of a text: its words in lowercase letters and digits, joined by `-`, as many as fit; none where nothing is left.
pub(crate) fn slug(text: &str, chars: usize) -> Option<String> {
    let mut slug = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if slug.is_empty() {
            slug = word.chars().take(chars).collect();
        } else if slug.len() + 1 + word.len() <= chars {
            slug = slug + "-" + word;
        } else {
            break;
        }
    }
    (!slug.is_empty()).then(|| slug.to_ascii_lowercase())
}

fn by_source(passages: &[SeenPassage]) -> Vec<(&str, Vec<&str>)> {
    let mut order: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for SeenPassage { source, text } in passages {
        let named = !source.trim().is_empty() && source.chars().count() <= SOURCE_CHARS_MAX;
        if !named || source.chars().any(char::is_control) || source.contains("\\u{") || text.is_empty() {
            continue;
        }
        let at = *places.entry(source).or_insert_with(|| {
            order.push((source, Vec::new()));
            order.len() - 1
        });
        order[at].1.push(text);
    }
    order
}

/// Words that stand in this source's passages and in no other's: a code or an identifier alone, plain words by threes.
fn keywords(texts: &[&str], others: &BTreeSet<String>) -> Vec<String> {
    /// A word of this weight finds its source alone.
    const ALONE: u32 = 60;
    let mut own: Vec<(u32, &str)> = Vec::new();
    for token in texts.iter().flat_map(|text| tokens(text)) {
        let known = own.iter().any(|(_, word)| word.eq_ignore_ascii_case(token));
        let weight = rarity(token);
        if weight > 0 && !known && !others.contains(&token.to_lowercase()) {
            own.push((weight, token));
        }
    }
    own.sort_by_key(|(weight, _)| Reverse(*weight));
    let mut found: Vec<String> =
        own.iter().filter(|(weight, _)| *weight >= ALONE).map(|(_, word)| (*word).to_owned()).collect();
    let plain: Vec<&str> = own.iter().filter(|(weight, _)| *weight < ALONE).map(|(_, word)| *word).collect();
    found.extend(plain.chunks(3).filter(|words| words.len() > 1).map(|words| words.join(" ")));
    found
}

/// How telling a word is as a search: a code above an identifier above a long word; 0 for what is no use.
pub(super) fn rarity(token: &str) -> u32 {
    let letters = token.chars().filter(|c| c.is_alphabetic()).count();
    let digits = token.chars().filter(char::is_ascii_digit).count();
    let length = u32::try_from(token.chars().count()).unwrap_or(u32::MAX);
    let inner_upper = token.chars().skip(1).any(char::is_uppercase) && token.chars().any(char::is_lowercase);
    if letters == 0 || length > TOKEN_CHARS_MAX as u32 || looks_like_a_hash(token) {
        0
    } else if token.contains('.') && digits == 0 {
        // Two sentences without a blank between them, or a file's name: sources have those, and so has whoever cites them.
        0
    } else if COMMON.split(' ').any(|common| common.eq_ignore_ascii_case(token)) {
        0
    } else if digits > 0 && letters > 1 && length > 3 {
        100
    } else if token.contains('_') && length > 5 {
        90
    } else if inner_upper && length > 4 {
        70
    } else if letters >= WORD_CHARS_MIN {
        length
    } else {
        0
    }
}

/// Ids of chunks and sessions: the next index has others.
fn looks_like_a_hash(token: &str) -> bool {
    let bare: Vec<char> = token.chars().filter(|c| *c != '-').collect();
    bare.len() >= 12 && bare.iter().all(char::is_ascii_hexdigit)
}

/// Words with what may stand inside them: `ERR-4417`, `pool_saturated`, `v2.1`. Addresses and references are none.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "(),;\"'`<>[]{}|*#=…".contains(c)).filter_map(|part| {
        if part.contains("://") || part.contains(['$', '\\', '@', '%', '/']) {
            return None;
        }
        let word = part.trim_matches(|c: char| !c.is_alphanumeric());
        let whole = word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        (whole && !word.is_empty()).then_some(word)
    })
}

/// A sentence of the text, asked back as a person would.
fn sentence(text: &str) -> Option<String> {
    sentences(text).into_iter().find_map(question)
}

/// The whole sentences of a text, without what ends them.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | ':' | '。');
    let mut from = 0;
    let mut sentences = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if ends(c) && chars.peek().is_none_or(|(_, next)| next.is_whitespace()) {
            sentences.push(text[from..at].trim());
            from = at + c.len_utf8();
        }
    }
    sentences
}

fn question(sentence: &str) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | ',' | '-' | '\'' | '’' | '.' | '_');
    let words = sentence.split(' ').count();
    let first = sentence.chars().next()?;
    if !SENTENCE_WORDS.contains(&words) || !sentence.chars().all(plain) || !first.is_uppercase() {
        return None;
    }
    let lower: Vec<String> = sentence.split(' ').map(str::to_lowercase).collect();
    let states = lower.iter().any(|word| VERBS.contains(&word.as_str()));
    if !states || QUESTION_WORDS.contains(&lower[0].as_str()) {
        return Some(format!("{sentence}?"));
    }
    let second_is_lower = sentence.chars().nth(1).is_some_and(|c| c.is_lowercase() || c == ' ');
    let opening: String = if second_is_lower { first.to_lowercase().collect() } else { first.to_string() };
    Some(format!("is it true that {opening}{}?", &sentence[first.len_utf8()..]))
}

#[cfg(test)]
mod tests;
