//! Documents that keep their secrets, or are cut badly, on request.

use std::borrow::Cow;
use std::sync::Arc;

use crate::chunk::{Chunk, ChunkSettings, Method};
use crate::index::preparing::Preparing;
use crate::lab::damage::{self, Damage};
use crate::lab::kinds::{Dose, Fault};
use crate::lab::switches::Faults;
use crate::text::draw::{fnv, mix};

/// A preparation behind the switchboard.
#[derive(Debug)]
pub struct FaultyPreparing {
    inner: Arc<dyn Preparing>,
    faults: Faults,
}

impl FaultyPreparing {
    /// A preparation that does badly what the switches say.
    pub fn new(inner: Arc<dyn Preparing>, faults: Faults) -> Self {
        Self { inner, faults }
    }

    fn leaks(&self) -> bool {
        self.faults.dose(Fault::SecretLeaked).is_some()
    }

    /// Faults that act on chunks, with their doses.
    fn damages(&self) -> Vec<(Damage, Dose)> {
        let known = [
            (Fault::ChunksMidSentence, Damage::MidSentence),
            (Fault::ChunksTripled, Damage::Small),
            (Fault::ChunksEmpty, Damage::Emptied),
            (Fault::ChunksDuplicated, Damage::Duplicated),
            (Fault::TextGarbled, Damage::Garbled),
        ];
        known.into_iter().filter_map(|(fault, damage)| Some((damage, self.faults.dose(fault)?))).collect()
    }
}

impl Preparing for FaultyPreparing {
    fn cleaned<'t>(&self, text: &'t str) -> (Cow<'t, str>, usize) {
        if self.leaks() { (Cow::Borrowed(text), 0) } else { self.inner.cleaned(text) }
    }

    /// A text that was kept with its secrets is another, so that whoever sends it again when they are taken
    /// out, or the other way round, is not told that nothing has changed.
    fn cleaned_how(&self) -> &'static str {
        if self.leaks() { "leaked:" } else { self.inner.cleaned_how() }
    }

    fn cut(&self, source: &str, method: Method, text: &str, settings: &ChunkSettings) -> Vec<Chunk> {
        let chunks = self.inner.cut(source, method, text, settings);
        self.damages().into_iter().fold(chunks, |chunks, (damage, dose)| {
            damage::apply(damage, text, chunks, |place| is_damaged(damage, dose, source, place))
        })
    }

    fn cut_how(&self) -> String {
        let damages = self.damages();
        let line = damages.iter().map(|(damage, dose)| format!("{damage:?}:{}:{};", dose.share, dose.seed));
        self.inner.cut_how() + &line.collect::<String>()
    }
}

/// Whether a chunk is damaged: of some faults a share of the sources is, of others a share of the chunks.
fn is_damaged(damage: Damage, dose: Dose, source: &str, place: usize) -> bool {
    let place = match damage {
        Damage::MidSentence | Damage::Small | Damage::Garbled => 0,
        Damage::Emptied | Damage::Duplicated => place as u64,
    };
    dose.applies_to(mix(fnv(source.bytes()) ^ mix(place)))
}
