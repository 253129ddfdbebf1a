//! What a text costs a model's context, in tokens of the `o200k_base` vocabulary.
//!
//! Counting is work, and the work of strangers: a server decides how long its answers are and how often they change. So
//! a text that was counted is remembered by its hash; the counting itself is done by one thread of its own, never on the
//! threads that time probes, within a share of one core; and nobody waits long. What is not counted in time is counted
//! for the next beat, and a figure that is not known is none, never a guess. The vocabulary takes 46 MB while it is
//! loaded, and goes when nothing new was counted for a while.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::oneshot;

use crate::domain::observation::Observation;

/// Bytes of a text that are counted: some 100,000 tokens, more than any limit somebody would set. Of a longer text the
/// figure is a lower bound.
const COUNTED_BYTES_MAX: usize = 512 * 1024;
/// Texts whose figure is remembered, in each of two generations: three canaries of 50,000 monitors. 16 bytes each.
const REMEMBERED_MAX: usize = 150_000;
/// Texts that may wait to be counted.
const WAITING_MAX: usize = 256;
/// How long a beat waits for its figures; what comes later serves the next one.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long a person's single probe waits: there is no next beat, and the vocabulary has to be read first.
const PATIENCE_ONCE: Duration = Duration::from_secs(5);
/// The share of one core that counting may take: at some 30 µs a kilobyte, 1.6 MB of new text a second.
const SHARE: f64 = 0.05;
/// Counting time that may be saved up, so that a fleet that starts is counted at once.
const SAVED_MAX: Duration = Duration::from_secs(10);
/// The thread ends, and the vocabulary with it, after so long without a new text: a fleet whose answers stay does not pay
/// 46 MB for them, and one whose answers change does not read it twice. Reading it takes a fifth of a second, which is
/// counted as counting.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// The allocator gives pages back to the system a second after they were freed, but only when it is called for something
/// else: the end of a thread is. Without this wait a fleet of one keeps 30 MB for nothing.
const GIVEN_BACK_AFTER: Duration = Duration::from_millis(1500);

/// Counts tokens. One for the whole process.
#[derive(Debug)]
pub(crate) struct Tokens {
    known: Arc<Mutex<KnownCounts>>,
    queue: Mutex<Option<SyncSender<CountJob>>>,
    keys: RandomState,
    patience: Duration,
}

#[derive(Debug)]
struct CountJob {
    key: u64,
    text: Box<str>,
    done: oneshot::Sender<Option<u32>>,
}

/// Figures by hash, in two generations, so that the oldest go without a list of who is oldest; and what counting may cost.
#[derive(Debug)]
struct KnownCounts {
    young: HashMap<u64, Option<u32>>,
    old: HashMap<u64, Option<u32>>,
    allowance: Allowance,
}

/// Counting time that is left.
#[derive(Debug)]
struct Allowance {
    saved: f64,
    at: Instant,
}

impl Default for Tokens {
    fn default() -> Self {
        let allowance = Allowance { saved: SAVED_MAX.as_secs_f64(), at: Instant::now() };
        let known = KnownCounts { young: HashMap::new(), old: HashMap::new(), allowance };
        Self {
            known: Arc::new(Mutex::new(known)),
            queue: Mutex::new(None),
            keys: RandomState::new(),
            patience: PATIENCE,
        }
    }
}

impl Tokens {
    /// One that waits for its figures, for a probe that is made once.
    pub(crate) fn patient() -> Self {
        Self { patience: PATIENCE_ONCE, ..Self::default() }
    }

    /// Fills in what a beat's list and answers cost, as far as it is known in time; the texts themselves go.
    pub(crate) async fn weigh(&self, seen: &mut Observation) {
        let until = tokio::time::Instant::now() + self.patience;
        let list = seen.tools.as_mut().filter(|tools| tools.tokens.is_none()).map(|tools| {
            let text = tools.oversize.take();
            self.ask(text.as_deref().unwrap_or(&tools.listing.json))
        });
        let answers: Vec<_> = seen
            .asks
            .iter_mut()
            .chain(seen.altered.as_deref_mut())
            .chain(seen.harvested.as_deref_mut().map(|harvested| &mut harvested.ask))
            .map(|ask| match &mut ask.result {
                // A text that a canary reads is needed once more.
                Some(Ok(answer)) if answer.begins.is_some() => answer.text.as_deref().map(|text| self.ask(text)),
                Some(Ok(answer)) => answer.text.take().map(|text| self.ask(&text)),
                _ => None,
            })
            .collect();
        if let (Some(list), Some(tools)) = (list, &mut seen.tools)
            && let Some(tokens) = list.figure(until).await
        {
            Arc::make_mut(&mut tools.listing).tokens = Some(tokens);
        }
        let asks = seen.asks.iter_mut().chain(seen.altered.as_deref_mut());
        let asks = asks.chain(seen.harvested.as_deref_mut().map(|harvested| &mut harvested.ask));
        for (ask, asked) in asks.zip(answers) {
            if let (Some(Ok(answer)), Some(asked)) = (&mut ask.result, asked) {
                answer.tokens = asked.figure(until).await;
                seen.footprint.tokens += u64::from(answer.tokens.unwrap_or_default());
            }
        }
    }

    /// Looks a text up, or hands it to the thread.
    fn ask(&self, text: &str) -> TokenQuery {
        let text = head(text);
        let key = self.keys.hash_one(text);
        {
            let mut known = self.known.lock();
            if let Some(figure) = known.get(key) {
                return TokenQuery::Known(figure);
            }
            if !known.allowance.is_left(Instant::now()) {
                return TokenQuery::Known(None);
            }
        }
        let (done, answer) = oneshot::channel();
        self.send(CountJob { key, text: text.into(), done });
        TokenQuery::Waiting(answer)
    }

    /// Gives a text to the thread, which is started where there is none. A full queue drops it: nobody waits for that.
    fn send(&self, job: CountJob) {
        let mut queue = self.queue.lock();
        let refused = match queue.as_ref() {
            Some(sender) => sender.try_send(job).err(),
            None => Some(TrySendError::Disconnected(job)),
        };
        if let Some(TrySendError::Disconnected(job)) = refused {
            self.start(&mut queue, job);
        }
    }

    fn start(&self, queue: &mut Option<SyncSender<CountJob>>, first: CountJob) {
        let (sender, jobs) = sync_channel(WAITING_MAX);
        let known = Arc::clone(&self.known);
        let started = std::thread::Builder::new().name("tokens".to_owned()).spawn(move || count_all(jobs, &known));
        match started {
            Ok(_) => {
                drop(sender.try_send(first));
                *queue = Some(sender);
            }
            Err(error) => tracing::warn!(%error, "no thread can be started to count tokens; they stay unknown"),
        }
    }
}

/// A figure, or the wait for one.
enum TokenQuery {
    Known(Option<u32>),
    Waiting(oneshot::Receiver<Option<u32>>),
}

impl TokenQuery {
    async fn figure(self, until: tokio::time::Instant) -> Option<u32> {
        match self {
            Self::Known(figure) => figure,
            Self::Waiting(answer) => tokio::time::timeout_at(until, answer).await.ok()?.ok()?,
        }
    }
}

/// The thread: counts what comes, until nothing has come for a while.
fn count_all(jobs: Receiver<CountJob>, known: &Mutex<KnownCounts>) {
    let began = computed();
    let vocabulary = match tiktoken_rs::o200k_base() {
        Ok(vocabulary) => vocabulary,
        Err(error) => {
            tracing::error!(%error, "the vocabulary cannot be read; tokens stay unknown");
            return;
        }
    };
    known.lock().allowance.saved -= (computed() - began).as_secs_f64();
    while let Ok(job) = jobs.recv_timeout(IDLE_MAX) {
        let began = computed();
        // Whatever a stranger's text does to the vocabulary's patterns, it is one text that stays uncounted.
        let counted = catch_unwind(AssertUnwindSafe(|| vocabulary.encode_ordinary(&job.text).len()));
        let figure = counted.ok().map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let mut known = known.lock();
        known.allowance.saved -= (computed() - began).as_secs_f64();
        known.put(job.key, figure);
        drop(known);
        // The beat may have gone on without it.
        let _heard = job.done.send(figure);
    }
    // A later text starts another thread.
    drop(jobs);
    drop(vocabulary);
    std::thread::sleep(GIVEN_BACK_AFTER);
}

/// How long this thread has computed: where others have the core, counting costs nothing.
fn computed() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

impl KnownCounts {
    fn get(&mut self, key: u64) -> Option<Option<u32>> {
        if let Some(figure) = self.young.get(&key) {
            return Some(*figure);
        }
        let figure = self.old.remove(&key)?;
        self.put(key, figure);
        Some(figure)
    }

    fn put(&mut self, key: u64, figure: Option<u32>) {
        if self.young.len() >= REMEMBERED_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, figure);
    }
}

impl Allowance {
    fn is_left(&mut self, now: Instant) -> bool {
        let earned = now.duration_since(self.at).as_secs_f64() * SHARE;
        self.saved = (self.saved + earned).min(SAVED_MAX.as_secs_f64());
        self.at = now;
        self.saved > 0.0
    }
}

/// As much of a text as is counted, cut between characters.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(COUNTED_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn count(tokens: &Tokens, text: &str) -> Option<u32> {
        let patient = tokio::time::Instant::now() + Duration::from_secs(120);
        tokens.ask(text).figure(patient).await
    }

    #[tokio::test]
    async fn texts_are_counted_exactly_and_once() {
        let tokens = Tokens::default();
        let rows = [("", 0), ("hello world", 2), ("{\"name\":\"search_documents\"}", 6)];
        for (text, expected) in rows {
            assert_eq!(count(&tokens, text).await, Some(expected), "{text}");
        }
        let spent = tokens.known.lock().allowance.saved;
        assert!(matches!(tokens.ask("hello world"), TokenQuery::Known(Some(2))), "the second time it is remembered");
        assert!(tokens.known.lock().allowance.saved >= spent, "and costs nothing");
    }

    #[tokio::test]
    async fn no_text_is_too_much() {
        let tokens = Tokens::default();
        let long = "a ".repeat(COUNTED_BYTES_MAX);
        let figure = count(&tokens, &long).await;
        assert!(figure.is_some_and(|figure| figure >= 200_000), "a lower bound: {figure:?}");
        for text in [" ".repeat(200_000), "\u{301}".repeat(50_000), "検".repeat(50_000)] {
            assert!(count(&tokens, &text).await.is_some(), "{} bytes of one character", text.len());
        }
    }

    #[tokio::test]
    async fn what_costs_too_much_stays_unknown() {
        let tokens = Tokens::default();
        tokens.known.lock().allowance = Allowance { saved: -60.0, at: Instant::now() };
        assert_eq!(count(&tokens, "new").await, None, "unknown, not guessed");
        let later = Instant::now() + Duration::from_secs(60 * 25);
        assert!(tokens.known.lock().allowance.is_left(later), "a while later there is time again");
    }
}
