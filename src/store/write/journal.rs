//! What a machine decided of late on a server, in memory: a standby that takes over may lack it.
//!
//! Each transaction that decides something has a number, which the server has too ([`decisions`]). What it does not have
//! after a new connection is written again, in order, before anything else; and one whose commit was not answered is known by
//! its number to be there or not, so that whoever asked for it hears the truth, and nothing is decided twice.
//!
//! [`decisions`]: crate::store::server::decisions

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::domain::lease::Leases;
use crate::store::values::error::StoreError;
use crate::store::write::again::Done;
use crate::store::write::work::CommitAnswer;

/// A standby that is further behind is no standby.
const REMEMBERED_FOR: Duration = Duration::from_mins(15);
/// Works remembered; beyond, the oldest are forgotten.
const WORKS_MAX: usize = 50_000;
/// The same in bytes, as far as they are known.
const BYTES_MAX: usize = 128 << 20;

/// What another machine decided may come this much later: what is about it is tried again meanwhile.
const LATE_FOR: Duration = Duration::from_secs(15);

/// What a transaction answers, work by work.
pub(in crate::store) type Answers = Vec<Result<CommitAnswer, StoreError>>;
/// Whom a work is answered to.
pub(in crate::store) type Asker = oneshot::Sender<Result<CommitAnswer, StoreError>>;

/// What was decided of late, and what is unknown of it.
#[derive(Debug)]
pub(in crate::store) struct Journal {
    /// The oldest first.
    kept: VecDeque<Decided>,
    works: usize,
    bytes: usize,
    /// Of the last transaction that decided something.
    number: i64,
    /// What the running transaction decides.
    running: Option<Decided>,
    doubt: Option<Doubt>,
    /// What was done again and found nothing to do it to, and since when that is so.
    late: (Instant, Vec<Done>),
    /// What this machine has, as it was told last.
    leases: Leases,
}

/// What one transaction decided.
#[derive(Debug)]
struct Decided {
    number: i64,
    at: Instant,
    /// Each with its place among the works of the transaction.
    works: Vec<(usize, Done)>,
}

impl Decided {
    fn again(&self) -> Vec<Done> {
        same(self.works.iter().map(|(_, done)| done))
    }

    /// Counts the works on their own, without those that decided nothing.
    fn number_places(&mut self) {
        self.works.iter_mut().enumerate().for_each(|(nth, (place, _))| *place = nth);
    }

    fn bytes(&self) -> usize {
        self.works.iter().map(|(_, (work, _))| work.bytes()).sum()
    }
}

/// A transaction whose commit was not answered.
#[derive(Debug)]
pub(in crate::store) struct Doubt {
    decided: Decided,
    /// What is true where it is there.
    answers: Answers,
    /// Whoever waits for each of its works.
    askers: Vec<Asker>,
}

impl Journal {
    /// Nothing was decided yet.
    pub(in crate::store) fn new() -> Self {
        Self {
            kept: VecDeque::new(),
            works: 0,
            bytes: 0,
            number: 0,
            running: None,
            doubt: None,
            late: (Instant::now(), Vec::new()),
            leases: Leases::none(),
        }
    }

    /// A transaction begins to do these.
    pub(in crate::store) fn begin(&mut self, works: &[Done]) {
        let decisive =
            works.iter().enumerate().filter_map(|(nth, (work, under))| Some((nth, (work.again()?, under.clone()))));
        let works: Vec<_> = decisive.collect();
        self.running = (!works.is_empty()).then(|| Decided { number: self.number + 1, at: Instant::now(), works });
    }

    /// The number of the running transaction, where it decides something.
    pub(in crate::store) fn running(&self) -> Option<i64> {
        self.running.as_ref().map(|running| running.number)
    }

    /// The running transaction is on disk. What of it was refused, or found nothing to do, is not written again.
    pub(in crate::store) fn committed(&mut self, answers: &Answers) {
        for answer in answers {
            if let Ok(CommitAnswer::Leases(turn)) = answer {
                self.leases = turn.leases.clone();
            }
        }
        let Some(mut running) = self.running.take() else { return };
        let did = |answer: &Result<_, _>| answer.is_ok() && !found_nothing(answer);
        running.works.retain(|(nth, _)| answers.get(*nth).is_none_or(did));
        self.keep(running);
    }

    fn keep(&mut self, decided: Decided) {
        self.number = self.number.max(decided.number);
        if decided.works.is_empty() {
            return;
        }
        self.forget_replaced(&decided);
        self.works += decided.works.len();
        self.bytes += decided.bytes();
        self.kept.push_back(decided);
        let is_over = |oldest: &Decided| oldest.at.elapsed() > REMEMBERED_FOR;
        while self.works > WORKS_MAX || self.bytes > BYTES_MAX || self.kept.front().is_some_and(is_over) {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.works -= oldest.works.len();
            self.bytes -= oldest.bytes();
        }
    }

    /// Of files and lists, which are large and come all day, the last one says it all.
    fn forget_replaced(&mut self, decided: &Decided) {
        for (_, (new, _)) in &decided.works {
            for older in self.kept.iter_mut().filter(|_| new.replaces_older()) {
                let (works, bytes) = (older.works.len(), older.bytes());
                older.works.retain(|(_, (work, _))| !new.replaces(work));
                self.works -= works - older.works.len();
                self.bytes -= bytes - older.bytes();
            }
        }
    }

    /// The running transaction's commit was not answered; where it is there, these are the answers.
    pub(in crate::store) fn unanswered(&mut self, answers: Answers) {
        // What is done again is missing once more, or is not.
        let Some(decided) = self.running.take().filter(|running| !running.works.is_empty()) else { return };
        let mut answers: Vec<_> = answers.into_iter().map(Some).collect();
        let of =
            |(nth, _): &(usize, Done)| answers.get_mut(*nth).and_then(Option::take).unwrap_or(Err(StoreError::Closed));
        let answers = decided.works.iter().map(of).collect();
        self.doubt = Some(Doubt { decided, answers, askers: Vec::new() });
    }

    /// The running transaction has failed. Of those who asked for it these are answered at once; the others wait until it is
    /// known what became of it.
    pub(in crate::store) fn failed(&mut self, askers: Vec<Asker>) -> Vec<Asker> {
        self.running = None;
        let Some(doubt) = self.doubt.as_mut().filter(|doubt| doubt.askers.is_empty()) else { return askers };
        let is_in_doubt = |nth: usize| doubt.decided.works.iter().any(|(place, _)| *place == nth);
        let (waiting, others): (Vec<_>, Vec<_>) =
            askers.into_iter().enumerate().partition(|(nth, _)| is_in_doubt(*nth));
        doubt.askers = waiting.into_iter().map(|(_, asker)| asker).collect();
        others.into_iter().map(|(_, asker)| asker).collect()
    }

    /// Whether anybody waits to hear what became of a commit.
    pub(in crate::store) const fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// What this machine has, as it was told last.
    pub(in crate::store) const fn leases(&self) -> &Leases {
        &self.leases
    }

    /// What a server lacks that has heard of so many, the oldest first, each with its number.
    pub(in crate::store) fn missing(&self, there: i64) -> Vec<(i64, Vec<Done>)> {
        let missing = self.kept.iter().filter(|decided| decided.number > there);
        missing.map(|decided| (decided.number, decided.again())).collect()
    }

    /// A transaction begins to do again what one of this number did, or the last one; nothing of it need be remembered a second
    /// time.
    pub(in crate::store) fn begin_again(&mut self, number: Option<i64>) {
        self.running = Some(Decided { number: number.unwrap_or(self.number), at: Instant::now(), works: Vec::new() });
    }

    /// These were done again, and are tried once more where they found nothing to do it to: what they are about was another
    /// machine's decision, which may not be there again yet. `is_first`: that was the first time.
    pub(in crate::store) fn done_again(&mut self, works: Vec<Done>, answers: &Answers, is_first: bool) {
        if is_first {
            self.late.0 = Instant::now();
        }
        self.late.1.extend(works.into_iter().zip(answers).filter(|(_, it)| found_nothing(it)).map(|(done, _)| done));
    }

    /// They could not be tried.
    pub(in crate::store) fn put_back_late(&mut self, works: &[Done]) {
        self.late.1 = same(works);
    }

    /// What is to be tried once more.
    pub(in crate::store) fn take_late(&mut self) -> Vec<Done> {
        let late = std::mem::take(&mut self.late.1);
        if self.late.0.elapsed() < LATE_FOR { late } else { Vec::new() }
    }

    /// What is in doubt, to be found out now.
    pub(in crate::store) fn take_doubt(&mut self) -> Option<Doubt> {
        self.doubt.take()
    }

    /// It is there after all: those who wait for it hear so.
    pub(in crate::store) fn was_there(&mut self, doubt: Doubt) {
        let Doubt { mut decided, answers, askers } = doubt;
        decided.number_places();
        self.running = Some(decided);
        self.committed(&answers);
        tell(askers, answers);
    }

    /// It is not there, and a transaction begins to do it now: what it does, who waits for it, and what would be true were it
    /// there.
    pub(in crate::store) fn begin_doubted(&mut self, doubt: Doubt) -> (Vec<Done>, Vec<Asker>, Answers) {
        let Doubt { mut decided, askers, answers } = doubt;
        decided.number_places();
        let works = decided.again();
        self.running = Some(decided);
        (works, askers, answers)
    }

    /// That could not be done yet, or it is not known: they go on waiting.
    pub(in crate::store) fn doubt_again(&mut self, askers: Vec<Asker>, answers: Answers) {
        let untold = |decided| Doubt { decided, answers, askers: Vec::new() };
        self.doubt = self.doubt.take().or_else(|| self.running.take().map(untold));
        if let Some(doubt) = &mut self.doubt {
            doubt.askers = askers;
        }
    }
}

/// Whether it was asked for and changed nothing.
fn found_nothing(answer: &Result<CommitAnswer, StoreError>) -> bool {
    matches!(answer, Ok(CommitAnswer::Changed(false)))
}

impl Doubt {
    /// Its number.
    pub(in crate::store) const fn number(&self) -> i64 {
        self.decided.number
    }
}

/// Answers those who wait.
pub(in crate::store) fn tell(askers: Vec<Asker>, answers: Answers) {
    for (asker, answer) in askers.into_iter().zip(answers) {
        // Whoever asked may have gone; what was written stays written.
        drop(asker.send(answer));
    }
}

/// The same works.
pub(in crate::store) fn same<'a>(works: impl IntoIterator<Item = &'a Done>) -> Vec<Done> {
    works.into_iter().filter_map(|(work, under)| Some((work.again()?, under.clone()))).collect()
}

/// The same work under the leases that a machine has by now. Where another has taken over it is under none: it was done before
/// that, and is what that one went on from.
pub(in crate::store) fn under(held: &Leases, (work, under): Done) -> Option<Done> {
    match under.iter().map(|lease| held.of(lease.shard)).collect() {
        Some(under) => Some((work, under)),
        None => Some((work.handed_over()?, Vec::new())),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::store::write::config_files::KeptList;
    use crate::store::write::work::Work;

    #[test]
    fn of_a_list_only_the_last_is_written_again_and_what_it_took_is_free() {
        let now = DateTime::UNIX_EPOCH;
        let list = |source: &str, text: &str| Work::KeepList(Box::new(KeptList::of(source, Some(text), now)));
        let applied = || Work::Applied { action: "a1".to_owned(), now };
        let named = |(work, _): &Done| match work {
            Work::KeepList(list) => format!("list of {} bytes", list.bytes()),
            _ => "action".to_owned(),
        };
        let (short, long) = (list("shop", "one"), list("shop", &"one, two, three ".repeat(9)));
        let (size, other) = (long.bytes(), list("docs", "one"));
        let (long_said, other_said) = (format!("list of {size} bytes"), format!("list of {} bytes", other.bytes()));
        let mut journal = Journal::new();
        for works in [vec![short], vec![applied(), other], vec![long]] {
            let works: Vec<Done> = works.into_iter().map(|work| (work, Vec::new())).collect();
            journal.begin(&works);
            journal.committed(&works.iter().map(|_| Ok(CommitAnswer::Done)).collect());
        }
        let missing: Vec<(i64, Vec<String>)> =
            journal.missing(0).iter().map(|(number, works)| (*number, works.iter().map(named).collect())).collect();
        let expected = [(1, vec![]), (2, vec!["action".to_owned(), other_said]), (3, vec![long_said])];
        assert_eq!(missing, expected, "numbers stay, since a server counts by them");
        let bytes: usize = journal.kept.iter().map(Decided::bytes).sum();
        assert_eq!((journal.works, journal.bytes), (3, bytes));
    }
}
