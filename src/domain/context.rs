//! What tools and answers take of a model's context: how it spreads, and when it is too much.

use crate::domain::monitor::Canary;
use crate::domain::observation::Stage;
use crate::domain::outcome::{Evidence, Finding};
use crate::domain::reason::FailureReason;
use crate::domain::rules::ContextRule;
use crate::domain::signal::Signal;

/// Canaries that a finding names.
const NAMED_MAX: usize = 8;

/// Upper bounds of a histogram's buckets, in tokens; what is above the last is one more bucket.
///
/// From a short answer to what fills a small model's whole context.
pub const BOUNDS: [u32; 9] = [125, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];

/// Figures of tokens, counted into buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spread {
    /// Figures up to each bound, and above the last; each figure counts once.
    pub counts: [u64; BOUNDS.len() + 1],
    /// Their sum, from which the mean is reckoned.
    pub sum: u64,
}

impl Spread {
    /// No figure.
    pub const NONE: Self = Self { counts: [0; BOUNDS.len() + 1], sum: 0 };

    /// Counts one figure into its bucket.
    pub fn push(&mut self, tokens: u32) {
        let bucket = BOUNDS.iter().position(|bound| tokens <= *bound).unwrap_or(BOUNDS.len());
        self.counts[bucket] += 1;
        self.sum += u64::from(tokens);
    }

    /// How many figures there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// What is too much under a rule: the list of tools, and the last answer of each canary where it is known.
pub fn judge<'a>(
    rule: &ContextRule,
    tools: Option<u32>,
    answers: impl Iterator<Item = (&'a Canary, u32)>,
) -> Option<Finding> {
    let mut evidence = Vec::new();
    let mut said = Vec::new();
    if let (Some(tokens), Some(limit)) = (tools, rule.tools_tokens)
        && tokens > limit
    {
        said.push(format!("the list of tools takes {tokens} tokens of a model's context, {limit} are allowed"));
        evidence.push(Evidence::new("tools_tokens", tokens.to_string()));
    }
    if let Some(limit) = rule.answer_tokens {
        let mut heavy: Vec<(&Canary, u32)> = answers.filter(|(_, tokens)| *tokens > limit).collect();
        heavy.sort_by_key(|(canary, tokens)| (std::cmp::Reverse(*tokens), canary.id.clone()));
        if let Some((_, most)) = heavy.first() {
            let (answers, have) = if heavy.len() == 1 { ("answer", "takes") } else { ("answers", "take") };
            said.push(format!("{} {answers} {have} up to {most} tokens, {limit} are allowed", heavy.len()));
        }
        let named = heavy.iter().take(NAMED_MAX);
        evidence.extend(
            named.map(|(canary, tokens)| Evidence::new(&format!("answer_tokens.{}", canary.id), tokens.to_string())),
        );
    }
    (!said.is_empty()).then(|| Finding {
        signal: Signal::Contract,
        reason: FailureReason::ContextCost,
        severity: Some(rule.severity),
        stage: if evidence.first().is_some_and(|first| first.key == "tools_tokens") {
            Stage::Tools
        } else {
            Stage::Search
        },
        summary: said.join("; "),
        evidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::monitor::CanaryKind;
    use crate::domain::reason::Severity;

    fn canary(id: &str) -> Canary {
        Canary {
            id: id.to_owned(),
            query: String::new(),
            kind: CanaryKind::Mixed,
            expect: Vec::new(),
            within: 5,
            max_score: None,
            text: None,
            forbid: Vec::new(),
            also: Vec::new(),
            line: 1,
            definition_hash: String::new(),
        }
    }

    #[test]
    fn too_much_is_said_with_its_figure() {
        let rule = |tools_tokens, answer_tokens| ContextRule {
            tools_tokens,
            answer_tokens,
            severity: Severity::Ticket,
            line: 1,
        };
        let rows = [
            ("under both limits", rule(Some(900), Some(900)), Some(900), 900, None),
            ("the list is over", rule(Some(899), None), Some(900), 900, Some("the list of tools takes 900 tokens")),
            ("a list nobody counted", rule(Some(1), None), None, 0, None),
            ("an answer is over", rule(None, Some(899)), Some(900), 900, Some("1 answer takes up to 900 tokens")),
            ("both are", rule(Some(1), Some(1)), Some(2), 3, Some("1 are allowed; 1 answer")),
        ];
        let canary = canary("a");
        for (sentence, rule, tools, answer, expected) in rows {
            let found = judge(&rule, tools, std::iter::once((&canary, answer)));
            match expected {
                None => assert_eq!(found, None, "{sentence}"),
                Some(part) => {
                    let summary = found.map(|found| found.summary).unwrap_or_default();
                    assert!(summary.contains(part), "{sentence}: {summary}");
                }
            }
        }
    }

    #[test]
    fn every_figure_falls_into_one_bucket() {
        let mut spread = Spread::default();
        for tokens in [0, 125, 126, 32_000, 32_001, u32::MAX] {
            spread.push(tokens);
        }
        assert_eq!(spread.counts, [2, 1, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!((spread.count(), spread.sum), (6, 64_252 + u64::from(u32::MAX)));
    }
}
