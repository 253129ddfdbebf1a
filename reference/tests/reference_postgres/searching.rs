//! Both arms.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use serin_reference::lab::activation::FaultActivation;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::store::FaultyStore;
use serin_reference::lab::switches::Faults;
use serin_reference::store::contract::Store;
use serin_reference::store::filter::Filter;

use crate::pieces::{Piece, connect, drawn, near, unit, worded};
use crate::table::Two;

async fn check_filter(store: &dyn Store, says: &str, change: impl FnOnce(&mut Filter), expected: &[&str]) {
    let mut filter = Filter::default();
    change(&mut filter);
    let expected: BTreeSet<String> = expected.iter().map(|name| format!("{name}#0")).collect();
    let words = worded(store, &["pump"], &filter, 10).await;
    assert_eq!(words.into_iter().collect::<BTreeSet<_>>(), expected, "by words: {says}");
    let meaning = near(store, &ahead(0.0), &filter, 10).await;
    assert_eq!(meaning.into_iter().collect::<BTreeSet<_>>(), expected, "by meaning: {says}");
}

/// A vector that is near every other one of these.
fn ahead(aside: f32) -> Vec<f32> {
    unit(vec![1.0, aside, 0.0, 0.0])
}

fn text(word: &str) -> String {
    word.to_owned()
}

pub(crate) async fn filters_narrow(two: Arc<Two>) {
    let store = &*two.one;
    for (number, (name, kind, collection, tags, dated)) in (1_u8..).zip([
        ("manuals/a.md", "manual", "plant", &["hot", "wet"][..], Some("2026-03-01")),
        ("manuals/b.md", "manual", "office", &["hot"], Some("2026-02-01")),
        ("notes/%_.md", "note", "", &[], None),
        ("Manuals/c.md", "note", "plant", &["wet"], Some("2026-01-01")),
    ]) {
        let piece = Piece::new(name, "the pump runs").with(|piece| {
            (piece.kind, piece.collection, piece.dated) = (kind.to_owned(), collection.to_owned(), dated);
            piece.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
            piece.chunks[0].2 = Some(ahead(f32::from(number) / 10.0));
        });
        piece.put(store).await.unwrap();
    }
    let (a, b, c, d) = ("manuals/a.md", "manuals/b.md", "notes/%_.md", "Manuals/c.md");
    let day = |text: &str| text.parse().ok();
    check_filter(store, "nothing asked", |_| {}, &[a, b, c, d]).await;
    check_filter(store, "a beginning, letter by letter", |f| f.source = text("manuals/"), &[a, b]).await;
    check_filter(store, "no sign is a wild card", |f| f.source = text("notes/%_"), &[c]).await;
    check_filter(store, "nor here", |f| f.source = text("%"), &[]).await;
    check_filter(store, "a collection", |f| f.collection = Some(text("plant")), &[a, d]).await;
    check_filter(store, "no collection is one too", |f| f.collection = Some(String::new()), &[c]).await;
    check_filter(store, "both tags", |f| f.tags = vec![text("wet"), text("hot")], &[a]).await;
    check_filter(store, "one of the kinds", |f| f.source_types = vec![text("note"), text("log")], &[c, d]).await;
    check_filter(store, "since a day", |f| f.since = day("2026-02-01"), &[a, b]).await;
    check_filter(store, "until a day", |f| f.until = day("2026-02-01"), &[b, d]).await;
    let both = |f: &mut Filter| (f.source_types, f.tags) = (vec![text("manual")], vec![text("wet")]);
    check_filter(store, "all parts together", both, &[a]).await;
}

async fn check_words(store: &dyn Store, says: &str, terms: &[&str], depth: usize, expected: &[&str]) {
    assert_eq!(worded(store, terms, &Filter::default(), depth).await, expected, "{says}");
}

/// BM25 counts the chunks that are there, and not those that were.
pub(crate) async fn weights_stay(two: Arc<Two>) {
    let store = &*two.one;
    let write = async |version: &str| {
        for number in 0..20 {
            let text = format!("the {} pump runs on line {number}", if number == 7 { "rusty" } else { "new" });
            let piece = Piece::new(&format!("{number}.md"), &text).with(|piece| piece.version = version.to_owned());
            piece.put(store).await.unwrap();
        }
        connect(store).await.worded(&[text("rusty"), text("pump")], &Filter::default(), 5).await.unwrap()
    };
    let first = write("1").await;
    assert_eq!(first[0].place.source, "7.md");
    for version in ["2", "3", "4"] {
        let again = write(version).await;
        assert!((again[0].score - first[0].score).abs() < 1e-5, "{version}: {first:?}, and later {again:?}");
    }
}

pub(crate) async fn terms_have_holders(two: Arc<Two>) {
    let store = &*two.one;
    for (name, content) in [("a.md", "a pump RAG-1107"), ("b.md", "pumps"), ("c.md", "RAG, valve 1107")] {
        Piece::new(name, content).put(store).await.unwrap();
    }
    let mut held = connect(store).await;
    let found = held.worded(&[text("pump"), text("valve")], &Filter::default(), 5).await.unwrap();
    let id = |name: &str| found.iter().find(|found| found.place.source == name).unwrap().place.id;
    let holding =
        held.holding(&[text("pump"), text("RAG-1107"), text("none")], &[id("a.md"), id("c.md")]).await.unwrap();
    assert_eq!(holding.chunks, 3);
    let counts: Vec<i64> = holding.terms.iter().map(|term| term.chunks).collect();
    assert_eq!(counts, [2, 1, 0], "a form of a word is the word, a code is a phrase");
    let ids: Vec<Vec<i64>> = holding.terms.into_iter().map(|term| term.ids).collect();
    assert_eq!(ids, [vec![id("a.md")], vec![id("a.md")], vec![]], "of those that were asked for");
}

pub(crate) async fn like_terms_are_told(two: Arc<Two>) {
    let mut held = connect(&*two.one).await;
    let terms = ["Pumps", "pump", "seal", "RAG-1107", "RAG", "--", "pump"].map(text);
    for round in 0..2 {
        let looked_for = held.looked_for(&terms).await.unwrap();
        assert_eq!(looked_for.len(), terms.len(), "round {round}: each has its place");
        let likes = |place: usize| looked_for.iter().map(|other| *other == looked_for[place]).collect::<Vec<_>>();
        assert_eq!(likes(0), [true, true, false, false, false, false, true], "forms of a word: {looked_for:?}");
        assert_eq!(likes(3), [false, false, false, true, false, false, false], "a code is a phrase: {looked_for:?}");
        assert_eq!(likes(5), [false, false, false, false, false, true, false], "signs alone are nothing");
    }
    assert_eq!(held.looked_for(&[]).await.unwrap(), Vec::<String>::new(), "and nothing is left of those before");
}

pub(crate) async fn words_need_no_vectors(two: Arc<Two>) {
    let (store, other) = (&*two.one, &*two.other);
    let mut piece = Piece::new("docs/connection-pool.md", "it calls drainAll before the end");
    piece.chunks[0].2 = Some(Vec::new());
    piece.put(store).await.unwrap();
    assert!(!connect(other).await.is_empty().await.unwrap(), "it can be found");
    for (says, term) in
        [("its text", "end"), ("its file", "connection"), ("its folder", "docs"), ("a name's part", "drain")]
    {
        let found = worded(other, &[term], &Filter::default(), 5).await;
        assert_eq!(found, ["docs/connection-pool.md#0"], "by {says}");
    }
    let figures = connect(other).await.figures().await.unwrap();
    assert_eq!((figures.chunks, figures.reachable), (1, 0), "and by no vector");
    let mut later = Piece::new("b.md", "another text");
    later.chunks[0].2 = Some(vec![0.6, 0.8]);
    later.put(store).await.unwrap();
    assert_eq!(near(other, &[0.6, 0.8], &Filter::default(), 5).await, ["b.md#0"], "one that has a vector is near");
    let figures = connect(other).await.figures().await.unwrap();
    assert_eq!((figures.chunks, figures.reachable), (2, 1));
}

pub(crate) async fn words_are_ranked(two: Arc<Two>) {
    let store = &*two.one;
    let filler = "Oil, water, steel, copper, glass, paper, sand, salt, iron, wood.";
    for (name, heading, content) in [
        ("code.md", "", "Error RAG-1107 tells of a broken valve.".to_owned()),
        ("apart.md", "", "The 1107 units came with RAG papers, and a valve.".to_owned()),
        ("turned.md", "", "See 1107 RAG for the list, valve included.".to_owned()),
        ("long.md", "", format!("A turbine. {filler}")),
        ("short.md", "", "A turbine. Oil, water.".to_owned()),
        ("heading.md", "Gasket", "Oil, water, steel, copper.".to_owned()),
        ("body.md", "Oil", "Gasket, water, steel, copper.".to_owned()),
        // The later place is written first.
        ("twin-2.md", "", "Alike compressor text.".to_owned()),
        ("twin-1.md", "", "Alike compressor text.".to_owned()),
        ("often.md", "", "Rotor, rotor, rotor, rotor.".to_owned()),
        ("once.md", "", "Rotor, valve, valve, valve.".to_owned()),
        ("across.md", "Broken", "Pump of a valve.".to_owned()),
    ] {
        let piece = Piece::new(name, &content).with(|piece| piece.chunks[0].0 = heading.to_owned());
        piece.put(store).await.unwrap();
    }
    // Without chunks that lack a word, every word is common, and common words weigh nothing.
    for number in (0..40).rev() {
        Piece::new(&format!("z/{number:02}.md"), &format!("Filler {filler}")).put(store).await.unwrap();
    }
    check_words(store, "a code is a phrase", &["RAG-1107"], 9, &["code.md#0"]).await;
    check_words(store, "its words need no order where they are two", &["RAG", "1107", "list"], 1, &["turned.md#0"])
        .await;
    check_words(store, "no phrase runs from heading into text", &["broken-pump"], 9, &[]).await;
    check_words(store, "a short text is all about its word", &["turbine"], 9, &["short.md#0", "long.md#0"]).await;
    check_words(store, "a heading counts double", &["gasket"], 9, &["heading.md#0", "body.md#0"]).await;
    check_words(
        store,
        "equal ones by place, whatever was written first",
        &["compressor"],
        9,
        &["twin-1.md#0", "twin-2.md#0"],
    )
    .await;
    let alike = ["z/00.md#0", "z/01.md#0", "z/02.md#0"];
    check_words(store, "of forty alike the first places", &["filler"], 3, &alike).await;
    check_words(store, "often is better than once", &["rotor"], 9, &["often.md#0", "once.md#0"]).await;
    check_words(store, "forms of a word meet", &["turbines"], 9, &["short.md#0", "long.md#0"]).await;
    check_words(
        store,
        "a rare word outweighs a common one",
        &["oil", "compressor"],
        2,
        &["twin-1.md#0", "twin-2.md#0"],
    )
    .await;
    check_words(store, "as many as asked", &["compressor"], 1, &["twin-1.md#0"]).await;
    check_words(store, "no term finds nothing", &[], 9, &[]).await;
    check_words(store, "signs alone find nothing", &["--", "\"", "*"], 9, &[]).await;
    check_words(store, "operators are words", &["OR", "compressor", "NOT"], 9, &["twin-1.md#0", "twin-2.md#0"]).await;
    let narrow = Filter { source: "twin-2".to_owned(), ..Filter::default() };
    assert_eq!(worded(store, &["compressor", "oil"], &narrow, 9).await, ["twin-2.md#0"], "a filter narrows");
}

/// Chunks of the large index, and how many numbers their vectors have.
const CHUNKS: u64 = 2_000;
const WIDTH: u64 = 64;

async fn fill(store: &dyn Store) {
    for source in 0..CHUNKS / 100 {
        let piece = Piece::new(&format!("s{source:02}"), "").with(|piece| {
            let numbers = source * 100..source * 100 + 100;
            piece.chunks =
                numbers.map(|number| (String::new(), format!("n{number}"), Some(drawn(number, WIDTH)))).collect();
        });
        piece.put(store).await.unwrap();
    }
}

/// The truth: every vector compared, in numbers of twice the width.
fn exact(vector: &[f32], admits: impl Fn(u64) -> bool, depth: usize) -> Vec<String> {
    let cosine = |number: u64| -> f64 {
        vector.iter().zip(drawn(number, WIDTH)).map(|(a, b)| f64::from(*a) * f64::from(b)).sum()
    };
    let mut all: Vec<(f64, u64)> = (0..CHUNKS).filter(|number| admits(*number)).map(|n| (cosine(n), n)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(depth).map(|(_, number)| format!("s{:02}#{}", number / 100, number % 100)).collect()
}

pub(crate) async fn the_nearest_are_found(two: Arc<Two>) {
    const QUESTIONS: u64 = 50;
    let store = &*two.one;
    fill(store).await;
    let mut hits = 0;
    for question in 0..QUESTIONS {
        let vector = drawn(1_000_000 + question, WIDTH);
        let (found, truth) = (near(store, &vector, &Filter::default(), 10).await, exact(&vector, |_| true, 10));
        assert_eq!(found.len(), 10, "as many as asked");
        assert!(two.is_approximate || found == truth, "a scan is exact: {found:?}, not {truth:?}");
        hits += found.iter().filter(|name| truth.contains(name)).count();
        let narrow = Filter { source: "s07".to_owned(), ..Filter::default() };
        let found = near(store, &vector, &narrow, 10).await;
        assert_eq!(found, exact(&vector, |number| number / 100 == 7, 10), "a narrow filter is exact in both");
    }
    let recall = hits as f64 / (QUESTIONS * 10) as f64;
    println!("recall at 10: {recall:.3}");
    assert!(recall >= 0.95, "recall at 10 is {recall}");
    let whole = near(store, &drawn(1_000_000, WIDTH), &Filter::default(), 3_000).await;
    assert!((900..1_100).contains(&whole.len()), "half of them are beyond a right angle: {}", whole.len());
    // Among a thousand some are so near to each other that their order is a matter of rounding.
    let truth = exact(&drawn(1_000_000, WIDTH), |_| true, whole.len());
    let set = |names: Vec<String>| names.into_iter().collect::<BTreeSet<_>>();
    assert_eq!(set(whole), set(truth), "a deep search is exact in both");
    assert_eq!(near(store, &[1.0; 3], &Filter::default(), 5).await, [""; 0], "another width");
    assert_eq!(near(store, &[0.0; WIDTH as usize], &Filter::default(), 5).await, [""; 0], "no direction");
}

pub(crate) async fn faults_strike(two: Arc<Two>) {
    let store = &*two.one;
    fill(store).await;
    let vector = drawn(1_000_000, WIDTH);
    let faults = Faults::default();
    let faulty = FaultyStore::new(Arc::clone(&two.one), faults.clone(), Instant::now());
    let half = Dose::of(Fault::VectorsUnreachable).share(0.5);
    faults.on(Fault::VectorsUnreachable, half);
    let lost = FaultActivation { unreachable: Some(half), ..FaultActivation::default() };
    let spared = |number: u64| !lost.loses(&format!("s{:02}", number / 100), i64::try_from(number % 100).unwrap());
    let (found, truth) = (near(&faulty, &vector, &Filter::default(), 10).await, exact(&vector, spared, 10));
    let right = found.iter().filter(|name| truth.contains(name)).count();
    assert!(
        found.len() == 10 && right >= if two.is_approximate { 9 } else { 10 },
        "half is lost: {found:?}, not {truth:?}"
    );
    for (says, fault) in [
        ("all are lost", Fault::VectorsUnreachable),
        ("all are zeros", Fault::VectorsZeroed),
        ("all are missing", Fault::CorpusTruncated),
    ] {
        faults.all_off();
        faults.on(fault, Dose::of(fault));
        assert_eq!(near(&faulty, &vector, &Filter::default(), 10).await, [""; 0], "{says}");
    }
    // All are of one moment, so that names decide which are the newest: the last.
    faults.on(Fault::CorpusTruncated, Dose::of(Fault::CorpusTruncated).mode("newest").share(0.95));
    let found = near(&faulty, &vector, &Filter::default(), 10).await;
    assert_eq!(found, exact(&vector, |number| number / 100 == 0, 10), "one source in twenty is left");
}
