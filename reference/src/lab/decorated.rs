//! A server with the laboratory around each of its parts.

use std::sync::Arc;
use std::time::Instant;

use crate::index::library::Parts;
use crate::lab::preparing::FaultyPreparing;
use crate::lab::reranker::FaultyReranker;
use crate::lab::search::FaultyLayer;
use crate::lab::store::FaultyStore;
use crate::lab::switches::Faults;
use crate::lab::vectors::FaultyVectors;
use crate::rerank::Reranker;
use crate::search::settings::SearchSettings;
use crate::serve::state::Assembly;

/// A library whose parts fail as the switches say; its cold start began at `started`.
pub fn parts(parts: Parts, faults: &Faults, started: Instant) -> Parts {
    Parts {
        store: Arc::new(FaultyStore::new(parts.store, faults.clone(), started)),
        vectors: Arc::new(FaultyVectors::new(parts.vectors, faults.clone())),
        preparing: Arc::new(FaultyPreparing::new(parts.preparing, faults.clone())),
        ..parts
    }
}

/// A server whose parts fail as the switches say.
pub fn assembly(assembly: Assembly, faults: &Faults, started: Instant) -> Assembly {
    let reranker = |inner| Arc::new(FaultyReranker::new(inner, faults.clone())) as Arc<dyn Reranker>;
    Assembly {
        parts: parts(assembly.parts, faults, started),
        settings: SearchSettings { reranker: assembly.settings.reranker.map(reranker), ..assembly.settings },
        layer: Some(Arc::new(FaultyLayer::new(faults.clone(), started))),
    }
}
