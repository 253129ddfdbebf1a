//! Every state that telling can get into, beside a model of it that is written apart: `spec` says what people are promised,
//! `world` lets things happen to the real decisions and to the model alike and compares what is said, and here all that can
//! happen is tried in every state, breadth first, until no new state is found.

use std::collections::{HashSet, VecDeque};

use serin::domain::signal::Signal;

use crate::model::world::{Happens, Scope, Seen, Stand, World};

mod spec;
mod world;

/// A sentence, what happens in it, and how many states there are at least: fewer would be a model that shrank unseen.
struct Row {
    sentence: &'static str,
    scope: Scope,
    states: usize,
}

/// Tries everything in every state; how many states and steps that were.
fn explore(scope: Scope) -> (usize, usize) {
    let first = World::new(scope);
    let (mut known, mut waiting) = (HashSet::from([first.key()]), VecDeque::from([first]));
    let mut steps = 0;
    while let Some(world) = waiting.pop_front() {
        world.clone().ends();
        world.clone().lasts();
        for happens in world.possible() {
            let mut next = world.clone();
            next.happens(happens);
            steps += 1;
            if known.insert(next.key()) {
                waiting.push_back(next);
            }
        }
    }
    (known.len(), steps)
}

#[test]
fn in_every_state_there_is_people_hear_what_they_are_promised() {
    use Happens as H;
    let sees = |looks: &[Seen]| looks.iter().map(|seen| H::Beat(*seen)).collect::<Vec<_>>();
    let people = [H::Take(Signal::Availability), H::GiveBack(Signal::Availability)];
    let outage = [sees(&[Seen::Well, Seen::Down]), vec![H::Time, H::Restart]].concat();
    let quiet = [H::Silence(true), H::Silence(false), H::Window, H::WindowRemoved];
    let parents = [Stand::Up, Stand::Doubted, Stand::Down].map(H::Parent);
    let rows = [
        Row {
            sentence: "an outage beside silences, windows and people",
            scope: Scope::of(&[&outage[..], &quiet, &people].concat()),
            states: 700,
        },
        Row {
            sentence: "an outage beside its parent, a silence and people",
            scope: Scope::of(&[&outage[..], &quiet[..2], &parents, &people].concat()),
            states: 1_800,
        },
        Row {
            sentence: "an outage whose rule is edited between page and ticket, which others hear of",
            scope: Scope::of(&[&outage[..], &[H::Edit], &people].concat()),
            states: 4_500,
        },
        Row {
            sentence: "a refusal that an outage explains, beside a silence and a parent",
            scope: Scope::of(
                &[
                    sees(&[Seen::Well, Seen::Down, Seen::LockedOut]),
                    vec![H::Time, H::Restart],
                    quiet[..2].to_vec(),
                    vec![H::Parent(Stand::Up), H::Parent(Stand::Down)],
                ]
                .concat(),
            ),
            states: 6_500,
        },
    ];
    for row in rows {
        let (states, steps) = explore(row.scope);
        println!("{}: {states} states, {steps} steps", row.sentence);
        assert!(states >= row.states, "{}: only {states} states", row.sentence);
    }
}
