//! Canaries for a tool that answers with lists of results: questions that bring a source back which others do not.

use std::collections::BTreeSet;

use crate::domain::answer::Hit;
use crate::domain::monitor::CanaryKind;
use crate::domain::quality::canary::rank_of;
use crate::domain::quality::propose::{Proposal, max_score, proposals};
use crate::probe::decode::shape::is_of_one_machine;
use crate::probe::explore::explored::Wish;
use crate::probe::explore::talk::{Heard, Talk};

/// Candidates tried beyond those wanted.
const SPARE_CANDIDATES: usize = 4;

// Why a question gives no canary, as what follows its words.
const NO_SOURCE: &str = "no result that names its source came";
const NOTHING: &str = "nothing was found";
const FAILED: &str = "the search failed";
const ELSEWHERE: &str = "the source did not come back near enough to the top";
const EVERYWHERE: &str = "every other question brings the same source, so that it proves nothing";
const ECHOED: &str = "the question itself came back as a source, as it does with nonsense";
const TOO_MANY: &str = "--canaries asks for no more";

/// Candidates that were tried.
#[derive(Debug, Default)]
struct Tried {
    /// Those whose source came back.
    held: Vec<Proposal>,
    /// Questions that gave none, and why.
    fallen: Vec<(String, &'static str)>,
}

impl Talk<'_, '_> {
    /// Tries the questions that were given and what the passages suggest, nonsense first, and keeps what holds.
    pub(super) async fn by_list(&mut self, wish: &Wish, given: Vec<Proposal>, wanted: usize) {
        let mut nothing: Vec<Heard> = Vec::new();
        for question in wish.unfindable() {
            let answer = self.ask_freely(&question).await;
            nothing.extend(answer.map(|answer| Heard { question, hits: answer.hits }));
        }
        let positive = wanted.saturating_sub(1).max(1);
        let tried = self.tried(wish, given, &nothing, positive).await;
        let (mut kept, fallen) = judged(tried, &self.heard, &nothing);
        // Whoever asked is told of their own questions alone.
        let is_missed = match &wish.asks[..] {
            [] => kept.len() < positive,
            asks => fallen.iter().any(|(query, _)| asks.contains(query)),
        };
        if kept.is_empty() {
            self.found.gaps.push(told(0, positive, &fallen));
        } else if is_missed && !fallen.is_empty() {
            self.found.guesses.push(told(kept.len(), positive, &fallen));
        }
        // Alone it would be right of a server that finds nothing at all.
        if wanted > 1 && !kept.is_empty() {
            // A lone code has no meaning, so that cosines of a right answer to it are as low as those of nonsense.
            let sentences = self.best_of(&kept, CanaryKind::Mixed);
            let right = if sentences.is_empty() { self.best_of(&kept, CanaryKind::Keyword) } else { sentences };
            self.negative(&nothing, &right);
        }
        let sources: BTreeSet<&str> = self.heard.iter().flat_map(|heard| &heard.hits).map(|hit| &*hit.source).collect();
        let finding = self.heard.iter().filter(|heard| !heard.hits.is_empty()).count();
        if let Some(only) = sources.first().filter(|_| sources.len() == 1 && finding > 1 && !kept.is_empty()) {
            let said = format!(
                "every result names {only} as its source, so that a canary by it tells an empty answer and no wrong one; \
                 name another part of a result by `search.fields.source`"
            );
            self.found.guesses.push(said);
        }
        for proposal in &mut kept {
            if let Some(source) = portable(&proposal.source, &sources) {
                proposal.source = source;
            }
        }
        let kept = kept.into_iter().map(|proposal| (proposal, None));
        self.found.canaries.splice(0..0, kept);
    }

    /// Asks candidates until as many hold as are wanted. What was asked already is not asked again.
    async fn tried(&mut self, wish: &Wish, given: Vec<Proposal>, nothing: &[Heard], positive: usize) -> Tried {
        let mut tried = Tried::default();
        let may_ask_words = !wish.states() && !self.takes_statements();
        // Collected before: what candidates bring back is no new material.
        let mut own = if may_ask_words { proposals(&self.passages) } else { Vec::new() };
        own.retain(|proposal| !wish.is_declared(&proposal.query));
        // Sources that no canary expects yet come first.
        own.sort_by_key(|proposal| wish.is_expected(&proposal.source));
        let many = given.len();
        let candidates: Vec<Proposal> =
            given.into_iter().chain(own).take(many.max(positive + SPARE_CANDIDATES)).collect();
        for (nth, proposal) in candidates.into_iter().enumerate() {
            let telling = tried.held.iter().filter(|held| flaw(held, &self.heard, nothing).is_none()).count();
            if telling >= positive && nth >= many {
                break;
            }
            if tried.held.iter().any(|held| held.query.eq_ignore_ascii_case(&proposal.query)) {
                continue;
            }
            let why = if telling >= positive { Some(TOO_MANY) } else { self.untrue(&proposal).await };
            match why {
                Some(why) => tried.fallen.push((proposal.query, why)),
                None => tried.held.push(proposal),
            }
        }
        tried
    }

    /// Why a question does not bring its source back; none where it does.
    async fn untrue(&mut self, proposal: &Proposal) -> Option<&'static str> {
        if proposal.source.is_empty() {
            return Some(NO_SOURCE);
        }
        if !self.heard.iter().any(|heard| heard.question == proposal.query) {
            if let Some(why) = self.spent() {
                return Some(why);
            }
            self.ask(&proposal.query).await;
        }
        let Some(hits) = hits_of(&self.heard, &proposal.query) else { return Some(FAILED) };
        if hits.is_empty() {
            return Some(NOTHING);
        }
        let rank = rank_of(std::slice::from_ref(&proposal.source), hits);
        if rank.is_some_and(|rank| rank <= proposal.within()) { None } else { Some(ELSEWHERE) }
    }

    /// The best scores of right answers to questions of a kind.
    fn best_of(&self, kept: &[Proposal], kind: CanaryKind) -> Vec<f64> {
        let of_kind = kept.iter().filter(|proposal| proposal.kind == kind);
        of_kind.filter_map(|proposal| best(hits_of(&self.heard, &proposal.query)?)).collect()
    }

    /// A canary that asks for what is not there, where the server answers it as it should.
    fn negative(&mut self, nothing: &[Heard], right: &[f64]) {
        let Some(first) = nothing.first() else {
            let said = "no question that finds nothing was answered, so that no negative canary is proposed; name one by --ask-nothing";
            self.found.guesses.push(said.to_owned());
            return;
        };
        let (query, kind) = (first.question.clone(), CanaryKind::Negative);
        let proposal = Proposal { query, kind, source: String::new(), contains: Vec::new() };
        if nothing.iter().all(|heard| heard.hits.is_empty()) {
            self.found.canaries.push((proposal, None));
            return;
        }
        let scores: Vec<f64> = nothing.iter().filter_map(|heard| best(&heard.hits)).collect();
        let scored = first.hits.iter().all(|hit| hit.score.is_some());
        match max_score(&scores, right).filter(|_| scored) {
            Some(limit) => self.found.canaries.push((proposal, Some(limit))),
            None => self.found.guesses.push(
                "nonsense is answered with results that score like right ones, so no negative canary is proposed"
                    .to_owned(),
            ),
        }
    }
}

/// What of the candidates stays, now that all has been heard.
fn judged(tried: Tried, heard: &[Heard], nothing: &[Heard]) -> (Vec<Proposal>, Vec<(String, &'static str)>) {
    let Tried { held, mut fallen } = tried;
    let mut kept = Vec::new();
    for proposal in held {
        match flaw(&proposal, heard, nothing) {
            Some(why) => fallen.push((proposal.query, why)),
            None => kept.push(proposal),
        }
    }
    (kept, fallen)
}

/// Why an answer that brings its source back proves nothing: the server says questions back, or brings the source to each
/// of them. Where nothing else was asked, nothing speaks against it.
fn flaw(proposal: &Proposal, heard: &[Heard], nothing: &[Heard]) -> Option<&'static str> {
    let is_echo = |question: &str, source: &str| source.to_lowercase().contains(&question.to_lowercase());
    let echoes = nothing.iter().any(|heard| heard.hits.iter().any(|hit| is_echo(&heard.question, &hit.source)));
    if echoes && is_echo(&proposal.query, &proposal.source) {
        return Some(ECHOED);
    }
    let expect = std::slice::from_ref(&proposal.source);
    let brings = |other: &Heard| rank_of(expect, &other.hits).is_some_and(|rank| rank <= proposal.within());
    let mut others = heard.iter().filter(|heard| !heard.question.eq_ignore_ascii_case(&proposal.query)).peekable();
    (others.peek().is_some() && others.all(brings)).then_some(EVERYWHERE)
}

/// How many questions became canaries, and why the others did not.
fn told(kept: usize, wanted: usize, fallen: &[(String, &'static str)]) -> String {
    let mut reasons: Vec<&'static str> = Vec::new();
    for why in fallen.iter().map(|(_, why)| *why) {
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    let because = |why: &&'static str| {
        let mut queries = fallen.iter().filter(|(_, other)| other == why).map(|(query, _)| query);
        let first = queries.next().map(String::as_str).unwrap_or_default();
        let more = queries.count();
        let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("'{first}'{tail}: {why}")
    };
    let mut parts: Vec<String> = reasons.iter().map(because).collect();
    if kept == 0 {
        parts.push("canaries have to be written by a person".to_owned());
    }
    format!("{kept} of {wanted} canaries were found; {}", parts.join("; "))
}

fn hits_of<'h>(heard: &'h [Heard], question: &str) -> Option<&'h [Hit]> {
    heard.iter().find(|heard| heard.question == question).map(|heard| &*heard.hits)
}

fn best(hits: &[Hit]) -> Option<f64> {
    hits.iter().filter_map(|hit| hit.score).max_by(f64::total_cmp)
}

/// A source below the folder that all have in common: another machine has the same notes elsewhere. None where it is no
/// path of one machine, or where what is left could be another source.
fn portable(source: &str, all: &BTreeSet<&str>) -> Option<String> {
    let paths = || all.iter().filter(|path| is_of_one_machine(path));
    if !is_of_one_machine(source) || source.contains('#') {
        return None;
    }
    let mut folder = &source[..=source.rfind('/')?];
    while !paths().all(|path| path.starts_with(folder)) {
        folder = &folder[..=folder.trim_end_matches('/').rfind('/')?];
    }
    let tail = &source[folder.len()..];
    let ends = |path: &&&str| path.strip_suffix(tail).is_some_and(|head| head.is_empty() || head.ends_with('/'));
    (!tail.is_empty() && all.iter().filter(ends).count() <= 1).then(|| tail.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(question: &str, sources: &[&str]) -> Heard {
        let hit = |source: &&str| Hit { source: (*source).to_owned(), score: None, chars: 9, excerpt: String::new() };
        Heard { question: question.to_owned(), hits: sources.iter().map(hit).collect() }
    }

    fn proposal(query: &str, source: &str) -> Proposal {
        let kind = if query.contains(' ') { CanaryKind::Mixed } else { CanaryKind::Keyword };
        Proposal { query: query.to_owned(), kind, source: source.to_owned(), contains: Vec::new() }
    }

    #[test]
    fn a_canary_tells_a_right_answer_from_those_to_other_questions() {
        let nonsense = |sources: &[&str]| heard("zorvex", sources);
        type Row<'r> = (Proposal, Vec<Heard>, Heard, Option<&'r str>, &'r str);
        let rows: [Row<'_>; 8] = [
            (proposal("copper", "a"), vec![], nonsense(&["b", "a"]), None, "first here, and second elsewhere"),
            (proposal("copper", "a"), vec![], nonsense(&["a"]), Some(EVERYWHERE), "one source for all"),
            (
                proposal("copper", "a"),
                vec![heard("bees", &["b", "a"])],
                nonsense(&["a"]),
                None,
                "not for every question",
            ),
            (proposal("copper", "a"), vec![], nonsense(&[]), None, "nothing is found where nothing is"),
            (
                proposal("is it copper?", "a"),
                vec![heard("bees", &["b", "a", "c"])],
                nonsense(&["c", "b", "a"]),
                Some(EVERYWHERE),
                "a sentence, near the top for every question",
            ),
            (
                proposal("is it copper?", "a"),
                vec![heard("bees", &["b", "c", "d", "a"])],
                nonsense(&["c", "b", "a"]),
                None,
                "a sentence, deep for another",
            ),
            (proposal("copper", "copper"), vec![], nonsense(&["about zorvex"]), Some(ECHOED), "an echo"),
            (proposal("copper", "copper.md"), vec![], nonsense(&["b.md"]), None, "a name, where nothing is said back"),
        ];
        for (proposal, mut all, nothing, expected, sentence) in rows {
            all.push(heard(&proposal.query, &[&*proposal.source]));
            all.push(Heard { question: nothing.question.clone(), hits: nothing.hits.clone() });
            assert_eq!(flaw(&proposal, &all, &[nothing]), expected, "{sentence}");
        }
        let alone = proposal("copper", "a");
        assert_eq!(flaw(&alone, &[heard("copper", &["a"])], &[]), None, "nothing else was asked");
    }

    #[test]
    fn what_fell_is_said_with_its_reason() {
        let fell = |query: &str, why| (query.to_owned(), why);
        let said = told(2, 4, &[fell("a", ELSEWHERE), fell("b", FAILED), fell("c", ELSEWHERE)]);
        assert_eq!(said, format!("2 of 4 canaries were found; 'a' and 1 more: {ELSEWHERE}; 'b': {FAILED}"));
        assert_eq!(told(0, 4, &[]), "0 of 4 canaries were found; canaries have to be written by a person");
    }

    #[test]
    fn a_path_of_one_machine_is_written_below_what_all_have_in_common() {
        type Row<'r> = (&'r str, &'r [&'r str], Option<&'r str>, &'r str);
        let rows: [Row<'_>; 7] = [
            ("/srv/notes/a.md", &["/srv/notes/b.md"], Some("a.md"), "one folder"),
            ("/srv/notes/x/a.md", &["/srv/notes/y/a.md"], Some("x/a.md"), "two folders"),
            ("file:///home/anna/a.md", &[], Some("a.md"), "an address, alone"),
            ("/srv/a.md", &["/srv/y/a.md"], None, "what is left is another's end"),
            ("notes/a.md", &["notes/b.md"], None, "no path of one machine"),
            ("https://h.example/a", &["https://h.example/b"], None, "an address of all machines"),
            ("/a.md", &["C:\\b.md"], None, "nothing in common"),
        ];
        for (source, others, expected, sentence) in rows {
            let all: BTreeSet<&str> = others.iter().copied().chain([source]).collect();
            assert_eq!(portable(source, &all).as_deref(), expected, "{sentence}");
        }
    }
}
