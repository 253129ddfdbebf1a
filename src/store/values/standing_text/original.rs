//! How an original stands for its replicas that other machines watch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::moment;
use crate::domain::quality::ranking::Ranking;
use crate::domain::quality::replicas::{OriginalList, OriginalStand};
use crate::domain::reason::Severity;
use crate::store::values::error::StoreError;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OriginalText {
    speaks_at: Vec<String>,
    /// By the canary's id: its declaration, when its index answered, and the sources of that by fingerprint and by name.
    lists: BTreeMap<String, (String, i64, Vec<u32>, Vec<String>)>,
}

pub(super) fn written(stand: &OriginalStand) -> OriginalText {
    let list = |(id, list): (&String, &OriginalList)| {
        let sources = list.ranking.sources().to_vec();
        (id.clone(), (list.definition_hash.clone(), list.at.timestamp_micros(), sources, list.names.clone()))
    };
    OriginalText {
        speaks_at: stand.speaks_at.iter().map(|severity| severity.slug().to_owned()).collect(),
        lists: stand.lists.iter().map(list).collect(),
    }
}

pub(super) fn read(text: OriginalText) -> Result<OriginalStand, StoreError> {
    let lists = text.lists.into_iter().map(|(id, (definition_hash, at, sources, names))| {
        Ok((id, OriginalList { definition_hash, at: moment(at)?, ranking: Ranking::of_sources(sources), names }))
    });
    Ok(OriginalStand {
        speaks_at: text.speaks_at.iter().filter_map(|slug| Severity::from_slug(slug)).collect(),
        lists: lists.collect::<Result<_, StoreError>>()?,
    })
}
