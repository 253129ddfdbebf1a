//! Sources that a caller must never see, by patterns of their names.

use crate::domain::wildcards::fits_tail;

/// A pattern of sources' names, known to be one: names between slashes, with `*`, `?` and `**`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePattern(Box<str>);

impl SourcePattern {
    /// Reads one.
    ///
    /// # Errors
    /// Why it is none, and the mend: a pattern that can never match would forbid nothing, and nobody would notice.
    pub fn new(text: &str) -> Result<Self, (&'static str, &'static str)> {
        let pattern = text.strip_prefix("./").unwrap_or(text);
        let is_mixed = |name: &str| name.contains("**") && name != "**";
        match () {
            () if pattern.trim().is_empty() => Err(("is empty", "such as `tenants/b/**`")),
            () if pattern.contains(['[', ']', '{', '}', '\\', '!']) => {
                Err(("holds a character that is none of ours", "`*` and `?` within a name, `**` for folders"))
            }
            () if pattern.contains('#') => {
                Err(("names a fragment, which does not count", "leave out what follows `#`"))
            }
            () if pattern.ends_with('/') => Err(("ends in a slash", "what lies in a folder is `tenants/b/**`")),
            () if pattern.split('/').any(is_mixed) => {
                Err(("has `**` beside other characters", "`**` stands between slashes: `tenants/b/**`"))
            }
            () => Ok(Self(pattern.into())),
        }
    }

    /// As it was written, without `./` in front.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a source is one of these. As with an expected source, the pattern may be the end of its name by whole
    /// parts, and its `#fragment` does not matter; a result that names no source is none.
    pub fn matches(&self, source: &str) -> bool {
        let source = source.split('#').next().unwrap_or(source);
        !source.is_empty() && fits_tail(&self.0, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_forbidden_as_one_is_expected() {
        let rows = [
            ("tenants/b/**", "tenants/b/plan.md", true, "what lies in the folder"),
            ("tenants/b/**", "tenants/b/2026/plan.md", true, "however deep"),
            ("tenants/b/**", "https://h/corpus/tenants/b/plan.md#top", true, "in a longer name, with a fragment"),
            ("tenants/b/**", "tenants/bolt/plan.md", false, "another folder"),
            ("tenants/b/**", "shared/a.md#tenants/b/plan.md", false, "a fragment is no source"),
            ("./plan.md", "b/plan.md", true, "the end of a name"),
            ("*", "", false, "a result without a source"),
            ("*", "#top", false, "or with nothing but a fragment"),
        ];
        for (pattern, source, expected, sentence) in rows {
            assert_eq!(SourcePattern::new(pattern).unwrap().matches(source), expected, "{sentence}");
        }
    }

    #[test]
    fn what_could_never_match_is_no_pattern() {
        for text in ["", " ", "./", "tenants/b/", "tenants/{b,c}/**", "!tenants/a/**", "a.md#top", "tenants**", "b\\x"]
        {
            assert!(SourcePattern::new(text).is_err(), "{text:?}");
        }
    }
}
