//! What becomes of the labels of what is listed: kept, dropped, replaced. The words and their meaning are those of Prometheus
//! (`relabel_config`), so that rules can be taken over.

use std::collections::BTreeMap;

use regex::Regex;

/// Labels by name. Those whose name begins with `__` are there for rules and end with them.
pub type Labels = BTreeMap<String, String>;

/// Characters of a label's value that a rule may make.
const VALUE_CHARS_MAX: usize = 2_000;

/// One rule.
#[derive(Debug, Clone)]
pub struct Relabel {
    /// What it does.
    pub action: Action,
    /// The labels whose values it looks at, put together.
    pub source_labels: Vec<String>,
    /// What stands between them.
    pub separator: String,
    /// What the whole of that has to match.
    pub regex: Regex,
}

/// What a rule does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Leaves out what does not match.
    Keep,
    /// Leaves out what matches.
    Drop,
    /// Sets a label where it matches; an empty value takes it away.
    Replace {
        /// The label that is set.
        target_label: String,
        /// Its value; `$1` stands for the first group.
        replacement: String,
    },
}

impl Relabel {
    /// A pattern that has to match the whole of a text.
    ///
    /// # Errors
    /// Why it is none, or that it is too large.
    pub fn whole(pattern: &str) -> Result<Regex, String> {
        const COMPILED_BYTES_MAX: usize = 256 * 1024;
        let built = regex::RegexBuilder::new(&format!("^(?s:{pattern})$")).size_limit(COMPILED_BYTES_MAX).build();
        built.map_err(|error| error.to_string())
    }
}

impl PartialEq for Relabel {
    fn eq(&self, other: &Self) -> bool {
        (&self.action, &self.source_labels, &self.separator, self.regex.as_str())
            == (&other.action, &other.source_labels, &other.separator, other.regex.as_str())
    }
}

/// The labels after all rules; none where one of them leaves it out.
pub fn relabelled(mut labels: Labels, rules: &[Relabel]) -> Option<Labels> {
    for rule in rules {
        let values: Vec<&str> =
            rule.source_labels.iter().map(|name| labels.get(name).map_or("", String::as_str)).collect();
        let text = values.join(&rule.separator);
        let found = rule.regex.captures(&text);
        match &rule.action {
            Action::Keep if found.is_none() => return None,
            Action::Drop if found.is_some() => return None,
            Action::Replace { target_label, replacement } => {
                let Some(found) = found else { continue };
                let mut value = String::new();
                found.expand(replacement, &mut value);
                if value.is_empty() {
                    labels.remove(target_label);
                } else {
                    labels.insert(target_label.clone(), value.chars().take(VALUE_CHARS_MAX).collect());
                }
            }
            Action::Keep | Action::Drop => {}
        }
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is watched, with a label and its value.
    type Watched = Option<(&'static str, Option<&'static str>)>;

    fn rule(action: Action, source_labels: &[&str], pattern: &str) -> Relabel {
        let source_labels = source_labels.iter().map(|name| (*name).to_owned()).collect();
        Relabel { action, source_labels, separator: ";".to_owned(), regex: Relabel::whole(pattern).unwrap() }
    }

    fn set(label: &str, value: &str) -> Action {
        Action::Replace { target_label: label.to_owned(), replacement: value.to_owned() }
    }

    #[test]
    fn rules_mean_what_they_mean_in_prometheus() {
        let listed = Labels::from([
            ("__address__".to_owned(), "docs:80".to_owned()),
            ("__meta_tags".to_owned(), ",mcp,prod,".to_owned()),
            ("env".to_owned(), "prod".to_owned()),
        ]);
        let rows: [(Relabel, Watched, &str); 9] = [
            (rule(Action::Keep, &["__meta_tags"], ".*,mcp,.*"), Some(("env", Some("prod"))), "what matches is kept"),
            (rule(Action::Keep, &["env"], "pro"), None, "a pattern has to match the whole"),
            (rule(Action::Drop, &["env"], "prod|test"), None, "and so it has to drop"),
            (rule(Action::Drop, &["team"], ".+"), Some(("env", Some("prod"))), "a label that is not there is empty"),
            (
                rule(set("at", "$1-$2"), &["env", "__address__"], "(.*);([^:]+):.*"),
                Some(("at", Some("prod-docs"))),
                "several labels are one text",
            ),
            (rule(set("env", ""), &["env"], ".*"), Some(("env", None)), "an empty value takes a label away"),
            (rule(set("env", "x"), &["env"], "test"), Some(("env", Some("prod"))), "no match, no change"),
            (
                rule(set("a", "${1}b"), &["env"], "(p).*"),
                Some(("a", Some("pb"))),
                "a group's number may stand in braces",
            ),
            (rule(set("a", "$1"), &["env"], "(x)?.*"), Some(("a", None)), "a group that took no part is empty"),
        ];
        for (rule, expected, sentence) in rows {
            let seen = relabelled(listed.clone(), std::slice::from_ref(&rule));
            let seen = seen.as_ref().map(|labels| expected.map(|(name, _)| labels.get(name).map(String::as_str)));
            assert_eq!(seen, expected.map(|(_, value)| Some(value)), "{sentence}");
        }
    }
}
