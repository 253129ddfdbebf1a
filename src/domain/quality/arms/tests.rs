use super::*;

/// So many canaries of a kind that say the same.
fn say(count: usize, kind: CanaryKind, lost: bool) -> Vec<Symptom> {
    let symptom = Symptom {
        kind,
        is_lost: lost,
        is_empty: false,
        is_text: false,
        results: None,
        overlap: None,
        is_recut: None,
        source_elsewhere: None,
    };
    vec![symptom; count]
}

fn kept(count: usize, kind: CanaryKind) -> Vec<Symptom> {
    say(count, kind, false)
}

fn lost(count: usize, kind: CanaryKind) -> Vec<Symptom> {
    say(count, kind, true)
}

/// With lists that overlap so much by rank, and so much as sets.
fn like(mut seen: Vec<Symptom>, rbo: f64, jaccard: f64) -> Vec<Symptom> {
    seen.iter_mut().for_each(|one| one.overlap = Some(Overlap { rbo, jaccard }));
    seen
}

/// With lists of so many results, of one that there was.
fn long(mut seen: Vec<Symptom>, results: f64) -> Vec<Symptom> {
    for one in &mut seen {
        (one.results, one.is_empty) = (Some(results), results == 0.0);
    }
    seen
}

/// Answered with texts, which are as they were or others.
fn texts(seen: Vec<Symptom>, same: bool) -> Vec<Symptom> {
    let alike = if same { 1.0 } else { 0.0 };
    let mut seen = like(seen, alike, alike);
    seen.iter_mut().for_each(|one| one.is_text = true);
    seen
}

/// With the lost sources in somebody else's list, or in nobody's.
fn elsewhere(mut seen: Vec<Symptom>, found: bool) -> Vec<Symptom> {
    seen.iter_mut().filter(|one| one.is_lost).for_each(|one| one.source_elsewhere = Some(found));
    seen
}

fn check(sentence: &str, seen: &[Vec<Symptom>], symptom: FailureReason, expected: Option<&str>) {
    let named = broken(&seen.concat(), symptom, false, false);
    let said = named.map(|named| match named.or_else {
        Some(other) => format!("{} or {}", named.reason, other),
        None => named.reason.to_string(),
    });
    assert_eq!(said.as_deref(), expected, "{sentence}");
}

const KEYWORD: CanaryKind = CanaryKind::Keyword;
const MEANING: CanaryKind = CanaryKind::Meaning;
const MIXED: CanaryKind = CanaryKind::Mixed;
const WRONG: FailureReason = FailureReason::WrongResults;
const EMPTY: FailureReason = FailureReason::EmptyResults;
const ARM: &str = "vector_arm_down or embedding_mismatch";
const MODEL: &str = "embedding_mismatch or vector_arm_down";
const MISSING: &str = "corpus_truncated or index_unreachable_vectors";
const UNREACHED: &str = "index_unreachable_vectors or corpus_truncated";

#[test]
fn a_half_that_is_gone_is_named_by_what_the_other_still_finds() {
    let hybrid = |meaning: Vec<Symptom>, rbo: f64| [like(kept(24, KEYWORD), rbo, 0.5), meaning];
    check("plain RRF, vector arm off: what is kept is what it was", &hybrid(lost(24, MEANING), 0.86), WRONG, Some(ARM));
    check("plain RRF, another model: noise in between", &hybrid(lost(24, MEANING), 0.43), WRONG, Some(MODEL));
    check("with a reranker, off: its first score is what it was", &hybrid(lost(24, MEANING), 0.73), WRONG, Some(ARM));
    check("with a reranker, another model", &hybrid(lost(24, MEANING), 0.27), WRONG, Some(MODEL));
    let but_one = || [lost(7, MEANING), kept(1, MEANING)].concat();
    check("one of eight finds its source in the noise", &hybrid(but_one(), 0.27), WRONG, Some(MODEL));
    check("and one that is not hidden by holes", &hybrid(but_one(), 0.86), WRONG, Some(UNREACHED));
    check(
        "of three, one is no chance",
        &hybrid([lost(2, MEANING), kept(1, MEANING)].concat(), 0.27),
        WRONG,
        Some(UNREACHED),
    );
    check("no list is left", &hybrid(long(lost(24, MEANING), 0.0), 0.4), EMPTY, Some(ARM));
    check("a list is left that is shorter than it was", &hybrid(long(lost(24, MEANING), 0.6), 0.4), WRONG, Some(ARM));
    check("nothing is known of lists", &[kept(2, KEYWORD), lost(3, MEANING)], WRONG, Some(ARM));
    check(
        "vectors that are all zero bring one list",
        &hybrid(lost(24, MEANING), 0.7),
        FailureReason::ConstantResponse,
        Some(ARM),
    );
    check("one canary in other words is too few", &[kept(8, KEYWORD), lost(1, MEANING)], WRONG, None);
    check("nobody asked by words", &[lost(8, MEANING), kept(8, MIXED)], WRONG, None);
    check(
        "answers that are broken have another cause",
        &hybrid(lost(24, MEANING), 0.86),
        FailureReason::ResultMalformed,
        None,
    );

    let (gone, there) = ("keyword_arm_down or corpus_truncated", "keyword_arm_down");
    check("keyword arm off", &[lost(24, KEYWORD), kept(24, MEANING)], WRONG, Some(gone));
    check(
        "in part, since vectors find some",
        &[elsewhere(lost(6, KEYWORD), true), kept(18, KEYWORD), kept(24, MEANING)],
        WRONG,
        Some(there),
    );
    check(
        "nobody finds the two, and few were asked otherwise",
        &[elsewhere(lost(2, KEYWORD), false), kept(6, KEYWORD), kept(4, MEANING)],
        WRONG,
        Some("corpus_truncated or keyword_arm_down"),
    );
    check(
        "nobody finds the two, and all others find theirs",
        &[elsewhere(lost(2, KEYWORD), false), kept(6, KEYWORD), kept(24, MEANING)],
        WRONG,
        Some(gone),
    );
    let by_words = |rbo: f64, jaccard: f64| {
        let others = like([kept(3, KEYWORD), kept(8, MEANING)].concat(), rbo, jaccard);
        [elsewhere(lost(3, KEYWORD), true), others]
    };
    check("what vectors find is what it was", &by_words(1.0, 1.0), WRONG, Some(there));
    check(
        "what vectors find is torn: a source that others still get lost the chunk",
        &by_words(0.8, 0.5),
        WRONG,
        Some("corpus_truncated or keyword_arm_down"),
    );
    check(
        "lists are cut, whoever asks",
        &[lost(3, KEYWORD), kept(21, KEYWORD), long(kept(24, MEANING), 0.2)],
        WRONG,
        None,
    );
    check("one word may be an edited document", &[lost(1, KEYWORD), kept(7, KEYWORD), kept(8, MEANING)], WRONG, None);
}

#[test]
fn what_is_lost_in_part_is_missing_or_not_reached() {
    let in_part = |found| [kept(24, KEYWORD), elsewhere(lost(14, MEANING), found), kept(10, MEANING)];
    check("70 % of vectors unreachable", &in_part(false), WRONG, Some(UNREACHED));
    check("and words still find the sources, by other chunks of theirs", &in_part(true), WRONG, Some(UNREACHED));
    let both = |count: usize, rbo| {
        [
            lost(count, KEYWORD),
            lost(count, MEANING),
            like([kept(24 - count, KEYWORD), kept(24 - count, MEANING), kept(24, MIXED)].concat(), rbo, 0.6),
        ]
    };
    check("corpus −40 %: what is left is what it was", &both(8, 0.77), WRONG, Some(MISSING));
    check("newest 15 % missing", &both(5, 1.0), WRONG, Some(MISSING));
    check("an order drawn anew", &both(15, 0.45), WRONG, None);
    let steady = broken(&both(15, 0.45).concat(), WRONG, false, true).map(|named| named.reason);
    assert_eq!(steady, Some(FailureReason::CorpusTruncated), "no order that is drawn anew, since it would be seen");
    check("every other search fails and says so with nothing", &both(12, 1.0), EMPTY, None);
    check("one of each kind, and the others' lists are what they were", &both(1, 1.0), WRONG, Some(MISSING));
    check("one of each kind, and noise", &both(1, 0.4), WRONG, None);
    let unlike = [lost(8, KEYWORD), kept(8, KEYWORD), lost(8, MEANING), kept(8, MEANING)];
    check("nobody knows what the lists were", &unlike, WRONG, None);
    let own = CanaryKind::Verbatim;
    let among =
        [kept(3, CanaryKind::Keyword), kept(7, CanaryKind::Meaning), lost(1, CanaryKind::Meaning), lost(2, own)];
    check("stored texts do not, and another question lost its source", &among, WRONG, Some(MISSING));
    check("a stored text alone does not find itself", &[kept(1, MIXED), lost(1, own)], WRONG, Some(UNREACHED));
    let held = [kept(1, MIXED), elsewhere(lost(1, own), true), kept(2, own)];
    check("and another question finds its source", &held, WRONG, Some(UNREACHED));
    check("another kind is lost too", &[kept(1, MIXED), lost(1, own), lost(1, MEANING)], WRONG, None);
    check("nobody else was asked", &[lost(1, own), kept(1, CanaryKind::Negative)], WRONG, None);
    check("two edited documents", &[kept(24, KEYWORD), lost(2, MEANING), kept(22, MEANING)], WRONG, None);
}

#[test]
fn one_question_is_lost_and_all_lists_are_torn() {
    let rows = [
        (lost(1, MEANING), 6, 0.45, Some(UNREACHED), "70 % of vectors unreachable, of which one canary shows it"),
        (lost(1, MEANING), 6, 0.75, None, "a reranker that is gone leaves more"),
        (lost(1, MEANING), 6, 1.0, None, "an edited document changes itself"),
        (lost(1, MEANING), 0, 0.45, None, "nobody asked by words"),
        (long(lost(1, MEANING), 0.0), 6, 0.45, None, "nothing at all is found"),
        (lost(1, MIXED), 6, 0.45, None, "vectors are not shown to be it"),
        (lost(1, KEYWORD), 6, 0.45, None, "words are"),
    ];
    for (gone, by_words, jaccard, expected, sentence) in rows {
        let others = like([kept(by_words, KEYWORD), kept(10, MEANING)].concat(), 0.7, jaccard);
        let said =
            torn(&[gone, others].concat()).map(|named| format!("{} or {}", named.reason, named.or_else.unwrap()));
        assert_eq!(said.as_deref(), expected, "{sentence}");
    }
    let few = like([kept(3, KEYWORD), kept(4, MEANING)].concat(), 0.7, 0.4);
    assert_eq!(torn(&[lost(1, MEANING), few].concat()), None, "seven lists say too little");
}

#[test]
fn all_is_lost_and_lists_come_all_the_same() {
    let all = |rbo, jaccard| like([lost(4, KEYWORD), lost(4, MEANING)].concat(), rbo, jaccard);
    check(
        "vectors alone, and another model",
        &[all(0.05, 0.02)],
        WRONG,
        Some("embedding_mismatch or reranker_changed"),
    );
    check("the same results, upside down", &[all(0.4, 0.9)], WRONG, Some("reranker_changed"));
    check("no list at all", &[long(all(0.0, 0.0), 0.0)], EMPTY, None);
    check("one list for all", &[all(0.0, 0.0)], FailureReason::ConstantResponse, None);
}

#[test]
fn of_texts_is_said_what_their_kinds_say_and_no_more() {
    let (gone, other) = (lost(4, MEANING), kept(4, KEYWORD));
    check(
        "the vector arm, and what is kept is what it was",
        &[texts(gone.clone(), false), texts(other.clone(), true)],
        WRONG,
        Some(ARM),
    );
    check(
        "or another text, which is no noise yet",
        &[texts(gone.clone(), false), texts(other, false)],
        WRONG,
        Some(ARM),
    );
    let (gone, other) = (lost(4, KEYWORD), kept(4, MEANING));
    let words = "keyword_arm_down or corpus_truncated";
    check("the keyword arm", &[texts(gone.clone(), false), texts(other, true)], WRONG, Some(words));
    check("all: nobody knows in which order", &[texts([gone, lost(4, MEANING)].concat(), false)], WRONG, None);
    let in_part = |same| {
        let left = [kept(4, KEYWORD), kept(4, MEANING), kept(8, MIXED)].concat();
        [texts(lost(4, KEYWORD), false), texts(lost(4, MEANING), false), texts(left, same)]
    };
    check("some of each, and the others are what they were", &in_part(true), WRONG, Some(MISSING));
    check("some of each, and the others are not", &in_part(false), WRONG, None);
}

#[test]
fn while_answers_turn_right_nothing_is_said_to_be_lost_in_part() {
    let seen = [kept(24, KEYWORD), lost(14, MEANING), kept(10, MEANING)].concat();
    assert_eq!(broken(&seen, WRONG, true, false), None);
    let seen = [kept(24, KEYWORD), lost(24, MEANING)].concat();
    assert!(broken(&seen, WRONG, true, false).is_some(), "what is lost as a whole is");
}

#[test]
fn every_pair_that_is_named_says_how_its_two_are_told_apart() {
    use FailureReason as R;
    for pair in &PAIRS {
        let [one, other] = pair.reasons;
        for (first, second) in [(one, other), (other, one)] {
            let told: Vec<FailureReason> =
                Named::likelier(first, second).known_by().map(|(reason, _)| reason).collect();
            assert_eq!(told, [first, second], "the likelier first");
        }
        for reason in pair.reasons {
            assert!(words(reason) != words(R::WrongResults), "{reason}");
        }
    }
    assert_eq!(Named::surely(R::KeywordArmDown).known_by().count(), 0, "one that is sure needs nothing");
    let said = Named::likelier(R::VectorArmDown, R::EmbeddingMismatch).said();
    assert_eq!(
        said,
        "the vector half of the search brings nothing, or questions are embedded with another model than the index"
    );
}
