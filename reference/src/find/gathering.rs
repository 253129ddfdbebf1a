//! Candidates: what both arms bring, fused into one list, and read.

use std::collections::HashMap;
use std::time::Instant;

use crate::find::found::Found;
use crate::find::question::RetrievalError;
use crate::find::sought::Sought;
use crate::find::stages::{Stage, Stages};
use crate::find::{arms, fusion};
use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::store::contract::Connection;
use crate::store::filter::Filter;
use crate::store::records::{Place, StoredChunk};

/// Both arms of a server.
#[derive(Debug)]
pub struct Gathering {
    /// How long each takes.
    pub stages: Stages,
    /// What is broken of them.
    pub faults: Faults,
    /// When a cold start began.
    pub started: Instant,
}

impl Gathering {
    /// Both arms for every question, and the vector arm for a passage, fused into one list of candidates.
    ///
    /// # Errors
    /// The store's.
    pub async fn gather(
        &self,
        connection: &mut dyn Connection,
        sought: &Sought,
        filter: &Filter,
        depth: usize,
    ) -> Result<Vec<Found>, RetrievalError> {
        let mut lists = Vec::with_capacity(sought.questions.len() * 2 + 1);
        for (text, vector) in &sought.questions {
            lists.extend(self.both_arms(connection, text, vector, filter, depth).await?);
        }
        if let Some(passage) = &sought.passage {
            let strikes = arms::strikes(connection, &self.faults).await?;
            lists.push(arms::vector(connection, passage, filter, depth, &strikes, &self.faults).await?);
        }
        let mut fused = self.fuse(lists);
        fused.truncate(depth);
        if let Some(dose) = self.faults.dose(Fault::KCut) {
            fused.truncate(dose.amount as usize);
        }
        self.read(connection, &sought.questions[0].1, fused).await
    }

    /// Both arms for one question, the best first.
    ///
    /// # Errors
    /// The store's.
    pub async fn both_arms(
        &self,
        connection: &mut dyn Connection,
        text: &str,
        vector: &[f32],
        filter: &Filter,
        depth: usize,
    ) -> Result<[Vec<Place>; 2], RetrievalError> {
        let strikes = arms::strikes(connection, &self.faults).await?;
        let words = {
            let _timed = self.stages.time(Stage::Keyword);
            arms::keyword(connection, text, filter, depth, &strikes, &self.faults).await?
        };
        let _timed = self.stages.time(Stage::Vector);
        arms::wait(&self.faults, self.started).await;
        let near = arms::vector(connection, vector, filter, depth, &strikes, &self.faults).await?;
        Ok([words, near])
    }

    /// One list of several: keys, the best first, each with the sum of its reciprocal ranks.
    pub fn fuse(&self, lists: Vec<Vec<Place>>) -> Vec<(i64, f64)> {
        let k = if self.faults.dose(Fault::RrfSteep).is_some() { 1.0 } else { fusion::K };
        let first = if self.faults.dose(Fault::RrfZeroBased).is_some() { 0 } else { fusion::FIRST_RANK };
        fusion::merge(lists, k, first).into_iter().map(|(place, score)| (place.id, score)).collect()
    }

    /// The chunks of a fused list, each with its cosine.
    ///
    /// # Errors
    /// The store's.
    pub async fn read(
        &self,
        connection: &mut dyn Connection,
        vector: &[f32],
        fused: Vec<(i64, f64)>,
    ) -> Result<Vec<Found>, RetrievalError> {
        let ids: Vec<i64> = fused.iter().map(|(id, _)| *id).collect();
        let mut rows: HashMap<i64, StoredChunk> =
            connection.chunks(&ids).await?.into_iter().map(|chunk| (chunk.id, chunk)).collect();
        let cosines = connection.cosines(vector, &ids).await?;
        let offset = self.faults.dose(Fault::ScoresOffset).map_or(0.0, |dose| dose.amount);
        let found = fused.into_iter().filter_map(|(id, fused_score)| {
            let cosine = cosines.get(&id).copied().unwrap_or(0.0);
            // Four digits: what is beyond them is noise, and differs between machines.
            let score = ((f64::from(cosine) + offset).clamp(0.0, 1.0) * 10_000.0).round() / 10_000.0;
            Some(Found { chunk: rows.remove(&id)?, score, fused_score, final_score: fused_score, expanded: None })
        });
        Ok(found.collect())
    }
}
