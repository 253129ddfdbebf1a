//! Answers, conversations, vectors of texts.

use std::sync::Arc;

use serin_reference::store::cache::NewAnswer;
use serin_reference::store::contract::Store;

use crate::pieces::{Piece, answer, connect, later, now, remembered};
use crate::table::Two;

async fn keep(store: &dyn Store, number: u8, sources: &[&'static str]) {
    let mut held = connect(store).await;
    let generation = held.generation().await.unwrap();
    held.keep_answer(&answer(number, sources, generation), now()).await.unwrap();
}

async fn check_kept(store: &dyn Store, says: &str, expected: &[u8]) {
    let mut held = connect(store).await;
    let mut kept = Vec::new();
    for number in 1..=9 {
        if held.answer(&[number; 32], later(1)).await.unwrap().is_some() {
            kept.push(number);
        }
    }
    assert_eq!(kept, expected, "{says}");
}

pub(crate) async fn answers_are_kept(two: Arc<Two>) {
    let (store, other) = (&*two.one, &*two.other);
    for name in ["a.md", "b.md"] {
        Piece::new(name, "a text").put(store).await.unwrap();
    }
    keep(store, 1, &["a.md", "b.md", "a.md"]).await;
    keep(store, 2, &["b.md"]).await;
    keep(store, 3, &[]).await;
    check_kept(other, "the other server finds them", &[1, 2, 3]).await;
    let changed = |version: &str| Piece::new("a.md", "a text").with(|piece| piece.version = version.to_owned());
    changed("2").put(other).await.unwrap();
    check_kept(store, "a change drops what touches the source", &[2, 3]).await;
    keep(store, 1, &["a.md"]).await;
    changed("3").with(|piece| piece.drops_answers = false).put(store).await.unwrap();
    check_kept(store, "unless a fault forbids it", &[1, 2, 3]).await;
    other.remove("b.md").await.unwrap();
    check_kept(store, "a removal drops what touches the source", &[1, 3]).await;
    Piece::new("c.md", "a text").put(other).await.unwrap();
    check_kept(store, "a new source may answer better than any", &[]).await;
    let mut held = connect(store).await;
    let before = held.generation().await.unwrap() - 1;
    held.keep_answer(&answer(4, &[], before), now()).await.unwrap();
    assert!(held.answer(&[4; 32], now()).await.unwrap().is_none(), "what was found before the change is not kept");
    held.keep_answer(&answer(5, &[], before + 1), now()).await.unwrap();
    assert!(held.answer(&[5; 32], later(3_600)).await.unwrap().is_none(), "its time is over");
    held.keep_answer(&answer(6, &[], before + 1), later(3_600)).await.unwrap();
    assert_eq!(held.figures().await.unwrap().answers, 1, "what is over makes room");
    let newer = NewAnswer { hits: "[1]", ..answer(6, &["a.md"], before + 1) };
    held.keep_answer(&newer, later(10)).await.unwrap();
    let found = held.answer(&[6; 32], later(11)).await.unwrap().unwrap();
    assert_eq!((found.hits.as_str(), found.made_at), ("[1]", later(10)), "the newer stays");
}

pub(crate) async fn conversations_remember(two: Arc<Two>) {
    let (mut one, mut other) = (connect(&*two.one).await, connect(&*two.other).await);
    let first = [remembered("b.md#0", 0.5), remembered("a.md#1", 0.25)];
    one.keep_shown("talk", &first, now(), later(-3_600)).await.unwrap();
    other.keep_shown("talk", &[remembered("a.md#1", 0.75)], later(10), later(-3_600)).await.unwrap();
    one.keep_shown("else", &[remembered("c.md#0", 1.0)], later(20), later(-3_600)).await.unwrap();
    one.keep_shown("else", &[], later(20), later(-3_600)).await.unwrap();
    for (says, conversation, since, expected) in [
        ("the last score stays", "talk", 0, vec![remembered("a.md#1", 0.75), remembered("b.md#0", 0.5)]),
        ("only what is new enough", "talk", 5, vec![remembered("a.md#1", 0.75)]),
        ("another's is its own", "else", 0, vec![remembered("c.md#0", 1.0)]),
        ("nobody's is nothing", "none", 0, vec![]),
    ] {
        assert_eq!(other.shown(conversation, later(since)).await.unwrap(), expected, "{says}");
    }
    other.keep_shown("none", &[], later(30), later(5)).await.unwrap();
    let left = one.shown("talk", later(0)).await.unwrap();
    assert_eq!(left, [remembered("a.md#1", 0.75)], "what is too old is forgotten, whoever comes by");
}

/// The bounds of both stores.
const EMBEDDINGS: usize = 100_000;
const ANSWERS: usize = 2_000;

pub(crate) async fn the_oldest_make_room(two: Arc<Two>) {
    let mut held = connect(&*two.one).await;
    let key = |number: usize| -> [u8; 32] {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_be_bytes());
        key
    };
    held.keep_embedded(&[(key(1), vec![0.5, 0.25]), (key(2), vec![]), (key(1), vec![1.5])], now()).await.unwrap();
    let found = held.embedded(&[key(1), key(2), key(3)]).await.unwrap();
    assert_eq!(
        (found.len(), &found[&key(1)], &found[&key(2)]),
        (2, &vec![1.5], &vec![]),
        "of any width, the last stays"
    );
    let many: Vec<_> = (2..EMBEDDINGS + 2).map(|number| (key(number), vec![number as f32])).collect();
    held.keep_embedded(&many, later(1)).await.unwrap();
    assert_eq!(held.figures().await.unwrap().embeddings, EMBEDDINGS as i64);
    let found = held.embedded(&[key(1), key(2), key(700), key(EMBEDDINGS + 1)]).await.unwrap();
    assert_eq!((found.len(), found.get(&key(1))), (3, None), "the oldest is gone");
    assert_eq!(found[&key(700)], [700.0], "every row has its own stretch");
    let generation = held.generation().await.unwrap();
    for number in 0..ANSWERS + 5 {
        let new = NewAnswer { exact: key(number), expires_at: later(1_000_000), ..answer(0, &["a.md"], generation) };
        held.keep_answer(&new, later(i64::try_from(number).unwrap())).await.unwrap();
    }
    assert_eq!(held.figures().await.unwrap().answers, ANSWERS as i64);
    assert!(held.answer(&key(4), now()).await.unwrap().is_none(), "the oldest are gone");
    assert!(held.answer(&key(5), now()).await.unwrap().is_some(), "and no others");
}
