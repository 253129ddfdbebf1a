//! Searches that hang, fail, are swallowed or fused wrongly, on request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;

use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::lab::waits;
use crate::search::question::{CacheUse, Findings, Question, RetrievalError};
use crate::search::retrieval::{Layer, Retrieval};
use crate::search::tuning::Tuning;
use crate::store::contract::Patience;
use crate::store::records::StoreError;
use crate::store::sqlite::memory::dot;
use crate::tenants::asker::{self, Asker};
use crate::text::draw::mix;

/// A hang ends after all, for a server must not keep what nobody waits for.
const HANG_MAX: Duration = Duration::from_secs(120);
/// The fused score that `Fault::EmptyResults` asks for; none reaches it.
const NEVER_REACHED: f64 = 50.0;

/// Answers that `Fault::CacheFalseHit` remembers.
const REMEMBERED_MAX: usize = 500;

/// Stands around every search of a server.
#[derive(Debug)]
pub struct FaultyLayer {
    faults: Faults,
    started: Instant,
    /// What `Fault::CacheFalseHit` remembers.
    near: Mutex<Vec<Remembered>>,
}

/// An answer, by what its question means.
#[derive(Debug, Clone)]
struct Remembered {
    question: Question,
    vector: Arc<[f32]>,
    findings: Findings,
    since: Instant,
}

impl FaultyLayer {
    /// A layer around a server whose cold start began at `started`.
    pub fn new(faults: Faults, started: Instant) -> Self {
        Self { faults, started, near: Mutex::default() }
    }

    fn is_on(&self, fault: Fault) -> bool {
        self.faults.dose(fault).is_some()
    }

    /// A search that gets its connection, and then hangs or fails.
    async fn attempt(&self, retrieval: &Retrieval, question: &Question) -> Result<Findings, RetrievalError> {
        let tuning = self.tuning();
        if self.is_on(Fault::Hang) || self.is_on(Fault::ToolError) {
            let _held = retrieval.library.store().connect(tuning.patience).await?;
            if self.faults.activated(Fault::Hang).is_some() {
                tokio::time::sleep(HANG_MAX).await;
            }
            if self.faults.activated(Fault::ToolError).is_some() {
                return Err(RetrievalError::Failed);
            }
        }
        match self.faults.dose(Fault::CacheFalseHit) {
            Some(dose) if !question.passes_memory => {
                return self.nearest(retrieval, question, &tuning, dose.amount).await;
            }
            Some(_) => {}
            None => self.near.lock().clear(),
        }
        retrieval.search_tuned(question, &tuning).await
    }

    /// What a cache answers that takes nearness of meaning for sameness: to any question that is so near to one it was
    /// asked, under the same settings, that one's answer.
    async fn nearest(
        &self,
        retrieval: &Retrieval,
        question: &Question,
        tuning: &Tuning,
        cosine_min: f64,
    ) -> Result<Findings, RetrievalError> {
        let vector = {
            let mut held = retrieval.library.store().connect(tuning.patience).await?;
            retrieval.embedding(false).question(held.as_mut(), &question.text).await?.0
        };
        let cosine = |known: &Remembered| f64::from(dot(&known.vector, &vector));
        let near = {
            let known = self.near.lock();
            let alike = known
                .iter()
                .filter(|known| Question { text: question.text.clone(), ..known.question.clone() } == *question);
            alike.max_by(|left, right| cosine(left).total_cmp(&cosine(right))).cloned()
        };
        if let Some(near) = near.filter(|near| cosine(near) >= cosine_min) {
            let cache = CacheUse { age: Some(near.since.elapsed()), ..CacheUse::default() };
            return Ok(Findings { cache, ..near.findings });
        }
        let findings = retrieval.search_tuned(question, tuning).await?;
        let new = Remembered { question: question.clone(), vector, findings: findings.clone(), since: Instant::now() };
        let mut known = self.near.lock();
        known.truncate(REMEMBERED_MAX - 1);
        known.insert(0, new);
        Ok(findings)
    }

    /// The settings of one search, wrong where that is asked for.
    fn tuning(&self) -> Tuning {
        let usual = Tuning::default();
        let dose = |fault| self.faults.dose(fault);
        let is_slow = dose(Fault::PoolSaturated).is_some_and(|dose| dose.mode == "slow");
        let shuffled = self.faults.activated(Fault::Shuffled);
        let (ties, anew) = (shuffled.filter(|dose| dose.mode == "ties"), shuffled.filter(|dose| dose.mode != "ties"));
        let empties = self.faults.activated(Fault::EmptyResults).is_some();
        let miss_waits = self.faults.activated(Fault::SlowOnMiss);
        Tuning {
            patience: if is_slow { Patience::Writer } else { usual.patience },
            k: if self.is_on(Fault::RrfSteep) { 1.0 } else { usual.k },
            first_rank: if self.is_on(Fault::RrfZeroBased) { 0 } else { usual.first_rank },
            fused_max: dose(Fault::KCut).map_or(usual.fused_max, |dose| dose.amount as usize),
            fused_min: if empties { NEVER_REACHED } else { usual.fused_min },
            score_added: dose(Fault::ScoresOffset).map_or(usual.score_added, |dose| dose.amount),
            shuffled_by: anew.map(|_| mix(self.started.elapsed().as_nanos() as u64)),
            ties_by: ties.map(|dose| mix(dose.seed)),
            budget_times: dose(Fault::BudgetExceeded).map_or(usual.budget_times, |dose| dose.amount),
            is_keyed_by_model: !self.is_on(Fault::CacheWithoutModel),
            miss_waits: miss_waits.map_or(usual.miss_waits, |dose| Duration::from_secs_f64(dose.amount / 1_000.0)),
        }
    }
}

#[async_trait]
impl Layer for FaultyLayer {
    async fn search(&self, retrieval: &Retrieval, question: &Question) -> Result<Findings, RetrievalError> {
        // On the heap: with all its steps it is larger than whoever waits for it should carry.
        let attempt = Box::pin(self.attempt(retrieval, question));
        let leaks = asker::asking().is_some() && self.faults.activated(Fault::TenantLeak).is_some();
        let outcome = if leaks { Asker(None).answered(attempt).await } else { attempt.await };
        let is_naive = match &outcome {
            Err(RetrievalError::Store(StoreError::Saturated { .. })) => self.is_on(Fault::PoolSaturated),
            _ => false,
        };
        match outcome {
            Err(error) if is_naive || self.is_on(Fault::ErrorAsEmpty) => {
                tracing::warn!(%error, "swallowed, as a naive server does: the caller gets an empty list");
                Ok(Findings::default())
            }
            outcome => outcome,
        }
    }

    fn called(&self) {
        if self.faults.activated(Fault::Panic).is_some() {
            std::panic::panic_any("as requested");
        }
    }

    fn is_warm(&self) -> bool {
        !waits::is_cold(&self.faults, self.started)
    }

    fn gauges(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("faults_active", "Faults that are switched on", self.faults.active().len() as f64)]
    }
}
