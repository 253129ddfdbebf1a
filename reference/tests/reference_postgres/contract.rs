//! Sources in and out.

use std::sync::Arc;

use serin_reference::store::contract::{Connection, Patience, Store};
use serin_reference::store::filter::Filter;
use serin_reference::store::records::{Figures, Origin, Replaced, StoreError, StoredChunk, StoredSource, Volatility};

use crate::pieces::{Piece, connect, drawn, now, worded};
use crate::table::Two;

async fn generation(store: &dyn Store) -> i64 {
    connect(store).await.generation().await.unwrap()
}

pub(crate) async fn a_source_lives(two: Arc<Two>) {
    let (store, other) = (&*two.one, &*two.other);
    let first = generation(store).await;
    assert!(connect(store).await.is_empty().await.unwrap());
    let old = Piece::new("a.md", "an old text");
    let new = Piece::new("a.md", "a new text").with(|piece| piece.version = "2".to_owned());
    for (says, piece, expected, changes) in [
        ("it is new", &old, Replaced::Added, 1),
        ("it is the same", &old, Replaced::Unchanged, 1),
        ("it is another", &new, Replaced::Changed, 2),
        ("that is the same too", &new, Replaced::Unchanged, 2),
    ] {
        assert_eq!(piece.put(store).await.unwrap(), expected, "{says}");
        assert_eq!(generation(other).await, first + changes, "{says}");
    }
    assert_eq!(worded(other, &["old"], &Filter::default(), 5).await, [""; 0], "the old text is gone");
    assert_eq!(worded(other, &["new"], &Filter::default(), 5).await, ["a.md#0"]);
    assert!(store.remove("a.md").await.unwrap());
    assert!(!store.remove("a.md").await.unwrap(), "it is gone already");
    assert_eq!(generation(other).await, first + 3, "what removes nothing changes nothing");
    assert!(connect(other).await.is_empty().await.unwrap());
}

/// What filters and the memory of answers look at is a source's too, not its text alone.
pub(crate) async fn a_fact_is_a_change(two: Arc<Two>) {
    let (store, other) = (&*two.one, &*two.other);
    let mut piece = Piece::new("a.md", "the same text");
    piece.put(store).await.unwrap();
    type Change = (&'static str, fn(&mut Piece));
    let changes: [Change; 6] = [
        ("its kind", |piece| piece.kind = "note".to_owned()),
        ("its collection", |piece| piece.collection = "plant".to_owned()),
        ("its tags", |piece| piece.tags = vec!["hot".to_owned()]),
        ("its day", |piece| piece.dated = Some("2026-03-01")),
        ("no day any more", |piece| piece.dated = None),
        ("how soon it changes", |piece| piece.volatility = Volatility::Live),
    ];
    for (says, change) in changes {
        let before = generation(store).await;
        change(&mut piece);
        assert_eq!(piece.put(store).await.unwrap(), Replaced::Changed, "{says}");
        assert_eq!(piece.put(store).await.unwrap(), Replaced::Unchanged, "{says}, and stays so");
        assert_eq!(generation(other).await, before + 1, "{says}");
        let stored = connect(other).await.sources().await.unwrap().remove(0);
        assert_eq!(stored.source_type, piece.kind, "{says}");
        assert_eq!((stored.collection, stored.tags), (piece.collection.clone(), piece.tags.clone()), "{says}");
        assert_eq!(stored.dated.map(|day| day.to_string()).as_deref(), piece.dated, "{says}");
        assert_eq!(stored.volatility, piece.volatility, "{says}");
    }
}

pub(crate) async fn a_source_comes_back(two: Arc<Two>) {
    let store = &*two.one;
    let piece = Piece::new("b.md", "First words.").with(|piece| {
        piece.collection = "plant".to_owned();
        piece.tags = vec!["hot".to_owned(), "wet".to_owned()];
        piece.dated = Some("2026-02-28");
        let (heading, code) = ("Pump > Start".to_owned(), "Größe: 5 µm, “quoted”; DROP TABLE chunks --".to_owned());
        piece.chunks.push((heading, code, Some(drawn(5, 8))));
        piece.chunks.push((String::new(), "A section that is not searched.".to_owned(), None));
    });
    piece.put(store).await.unwrap();
    Piece::new("B.md", "Capitals come first.").with(|piece| piece.kind = "note".to_owned()).put(store).await.unwrap();
    let mut held = connect(&*two.other).await;
    let sources = held.sources().await.unwrap();
    assert_eq!(sources.iter().map(|source| source.source.as_str()).collect::<Vec<_>>(), ["B.md", "b.md"]);
    assert_eq!(sources[1], expected_source());
    assert_eq!(held.kinds().await.unwrap().into_iter().collect::<Vec<_>>(), ["manual", "note"]);
    let chunk = held.chunk_at("b.md", 1).await.unwrap().unwrap();
    assert_eq!(chunk, StoredChunk { id: chunk.id, ..expected_chunk() });
    assert_eq!(held.chunks(&[chunk.id, i64::MAX]).await.unwrap(), [chunk]);
    assert_eq!(held.chunk_at("b.md", 3).await.unwrap(), None);
    assert!(held.text("b.md").await.unwrap().unwrap().starts_with("First words.\nGröße"));
    assert_eq!(held.text("c.md").await.unwrap(), None);
    let figures = held.figures().await.unwrap();
    let mean_tokens = figures.mean_tokens;
    assert!((3.0..20.0).contains(&mean_tokens), "{mean_tokens} tokens in the mean");
    assert_eq!(figures, Figures { chunks: 3, sources: 2, mean_tokens, answers: 0, embeddings: 0, reachable: 3 });
    let mut tokens = Vec::new();
    for (source, ordinal) in [("b.md", 0), ("b.md", 1), ("b.md", 2), ("B.md", 0)] {
        tokens.extend(held.chunk_at(source, ordinal).await.unwrap().filter(|chunk| chunk.role != "section"));
    }
    let worst = tokens.iter().map(|chunk| chunk.tokens).max();
    assert_eq!((tokens.len(), Some(held.longest().await.unwrap())), (3, worst), "of the chunks that are searched");
    let (source, vector) = held.sample().await.unwrap().unwrap();
    let given = piece.chunks[0].2.clone().unwrap();
    assert!(!two.keeps_bits || vector == given, "to the last bit: {vector:?}, not {given:?}");
    let is_same = vector.iter().zip(&given).all(|(kept, given)| (kept - given).abs() < 1e-6);
    assert!(source == "b.md" && vector.len() == given.len() && is_same, "{source}: {vector:?}, not {given:?}");
    check_cosines(&mut *held, &piece.chunks[0].2.clone().unwrap()).await;
}

async fn check_cosines(held: &mut dyn Connection, vector: &[f32]) {
    let mut ids = Vec::new();
    for ordinal in 0..3 {
        ids.push(held.chunk_at("b.md", ordinal).await.unwrap().unwrap().id);
    }
    let cosines = held.cosines(vector, &ids).await.unwrap();
    assert!((cosines[&ids[0]] - 1.0).abs() < 1e-5, "a vector is near itself: {cosines:?}");
    let expected: f32 = vector.iter().zip(drawn(5, 8)).map(|(a, b)| a * b).sum();
    assert!((cosines[&ids[1]] - expected).abs() < 1e-5, "{cosines:?}, not {expected}");
    assert!(!cosines.contains_key(&ids[2]), "what has no vector has no cosine");
    assert!(held.cosines(vector, &[]).await.unwrap().is_empty());
}

fn expected_source() -> StoredSource {
    StoredSource {
        source: "b.md".to_owned(),
        source_type: "manual".to_owned(),
        collection: "plant".to_owned(),
        tags: vec!["hot".to_owned(), "wet".to_owned()],
        dated: "2026-02-28".parse().ok(),
        volatility: Volatility::Normal,
        origin: Origin::Caller,
        content_hash: "1".to_owned(),
        parser: "test".to_owned(),
        // The section is kept to be shown, and not counted.
        chunk_count: 2,
        indexed_at: now(),
    }
}

fn expected_chunk() -> StoredChunk {
    let content = "Größe: 5 µm, “quoted”; DROP TABLE chunks --";
    StoredChunk {
        source: "b.md".to_owned(),
        source_type: "manual".to_owned(),
        collection: "plant".to_owned(),
        dated: "2026-02-28".parse().ok(),
        role: "passage".to_owned(),
        ordinal: 1,
        section: "Pump > Start".to_owned(),
        content: content.to_owned(),
        char_end: i64::try_from(content.chars().count()).unwrap(),
        tokens: i64::try_from(serin_reference::text::tokens::count(content)).unwrap(),
        ..StoredChunk::default()
    }
}

pub(crate) async fn facts_are_kept(two: Arc<Two>) {
    for (says, value) in [("written", Some("one")), ("overwritten", Some("two")), ("forgotten", None)] {
        two.one.set_fact("embedder", value).await.unwrap();
        assert_eq!(connect(&*two.other).await.fact("embedder").await.unwrap().as_deref(), value, "{says}");
    }
}

pub(crate) async fn a_wipe_leaves_nothing(two: Arc<Two>) {
    let store = &*two.one;
    Piece::new("a.md", "a text").put(store).await.unwrap();
    store.set_fact("embedder", Some("one")).await.unwrap();
    let (id, before) = (first_id(store).await, generation(store).await);
    connect(store).await.keep_embedded(&[([1; 32], vec![1.0])], now()).await.unwrap();
    store.wipe(true).await.unwrap();
    let mut held = connect(&*two.other).await;
    assert_eq!(held.figures().await.unwrap(), Figures::default());
    assert!(held.is_empty().await.unwrap() && held.sample().await.unwrap().is_none());
    assert_eq!(held.longest().await.unwrap(), 0);
    assert_eq!(held.fact("embedder").await.unwrap(), None);
    assert!(held.generation().await.unwrap() > before, "it is a change");
    drop(held);
    Piece::new("a.md", "a text").put(store).await.unwrap();
    assert!(first_id(store).await > id, "who holds the old key must not find another text");
}

async fn first_id(store: &dyn Store) -> i64 {
    connect(store).await.chunk_at("a.md", 0).await.unwrap().unwrap().id
}

pub(crate) async fn a_full_pool_says_so(two: Arc<Two>) {
    let store = &*two.one;
    let mut held = Vec::new();
    for _ in 0..store.pool().max {
        held.push(connect(store).await);
    }
    assert_eq!(store.pool().idle, 0);
    let refused = store.connect(Patience::Search).await.unwrap_err();
    assert!(matches!(refused, StoreError::Saturated { .. }), "{refused}");
    assert!(connect(&*two.other).await.is_empty().await.unwrap(), "the other server has a pool of its own");
    held.pop();
    assert!(store.connect(Patience::Writer).await.unwrap().is_empty().await.unwrap());
    drop(held);
    assert_eq!(store.pool().waiting, 0, "nobody waits any more");
}

pub(crate) async fn two_write_at_once(two: Arc<Two>) {
    const EACH: i64 = 20;
    let before = generation(&*two.one).await;
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..EACH {
        for (store, name) in [(&two.one, "one"), (&two.other, "other")] {
            let store = Arc::clone(store);
            writers.spawn(async move {
                Piece::new(&format!("{name}/{number}.md"), &format!("{name} writes {number}"))
                    .put(&*store)
                    .await
                    .unwrap();
                // And both change the same ones, each to what the other has not written.
                let shared = Piece::new(&format!("shared/{}.md", number % 3), "shared text");
                shared.with(|piece| piece.version = format!("{name} {number}")).put(&*store).await.unwrap();
            });
        }
    }
    while let Some(written) = writers.join_next().await {
        written.unwrap();
    }
    let (mut one, mut other) = (connect(&*two.one).await, connect(&*two.other).await);
    assert_eq!(one.generation().await.unwrap(), before + 4 * EACH, "every change is counted");
    let (mine, theirs) = (one.sources().await.unwrap(), other.sources().await.unwrap());
    assert_eq!(mine, theirs, "both see one index");
    assert_eq!(mine.len() as i64, 2 * EACH + 3);
    let figures = one.figures().await.unwrap();
    assert_eq!((figures.chunks, figures.reachable), (2 * EACH + 3, 2 * EACH + 3), "counts are those of the rows");
    drop((one, other));
    let found = worded(&*two.one, &["writes"], &Filter::default(), 100).await;
    assert_eq!(found.len() as i64, 2 * EACH, "all of them are found");
}
