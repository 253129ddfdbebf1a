//! What narrows a search: sources by name, kind, collection, tag and date.

use chrono::NaiveDate;

/// Only chunks of sources that fit every part; an empty part fits all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// The source's name begins with this.
    pub source: String,
    /// The source is of this collection.
    pub collection: Option<String>,
    /// The source is of one of these; a question cannot say it, only who asks it.
    pub collections: Option<Vec<String>>,
    /// The source has all of these tags.
    pub tags: Vec<String>,
    /// The source is of one of these kinds.
    pub source_types: Vec<String>,
    /// The source is dated this day or later; a source without a date does not fit.
    pub since: Option<NaiveDate>,
    /// The source is dated this day or earlier; a source without a date does not fit.
    pub until: Option<NaiveDate>,
}

/// What a filter looks at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceFacts {
    /// Its name.
    pub source: String,
    /// Its kind.
    pub source_type: String,
    /// Its collection.
    pub collection: String,
    /// Its tags, sorted.
    pub tags: Vec<String>,
    /// The day its content is of.
    pub dated: Option<NaiveDate>,
}

impl Filter {
    /// Whether a source fits.
    pub fn admits(&self, facts: &SourceFacts) -> bool {
        facts.source.starts_with(&self.source)
            && self.collection.as_ref().is_none_or(|wanted| *wanted == facts.collection)
            && self.collections.as_ref().is_none_or(|own| own.contains(&facts.collection))
            && self.tags.iter().all(|tag| facts.tags.contains(tag))
            && (self.source_types.is_empty() || self.source_types.contains(&facts.source_type))
            && self.since.is_none_or(|day| facts.dated.is_some_and(|dated| dated >= day))
            && self.until.is_none_or(|day| facts.dated.is_some_and(|dated| dated <= day))
    }

    /// Whether everything fits.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(dated: Option<&str>) -> SourceFacts {
        SourceFacts {
            source: "manuals/pump.md".to_owned(),
            source_type: "manual".to_owned(),
            collection: "plant".to_owned(),
            tags: vec!["hot".to_owned(), "wet".to_owned()],
            dated: dated.and_then(|day| day.parse().ok()),
        }
    }

    fn check(says: &str, change: impl Fn(&mut Filter), dated: Option<&str>, expected: bool) {
        let mut filter = Filter::default();
        change(&mut filter);
        assert_eq!(filter.admits(&facts(dated)), expected, "{says}");
    }

    #[test]
    fn sources_fit_or_not() {
        let day = |text: &str| text.parse().ok();
        check("nothing asked fits", |_| {}, None, true);
        check("a beginning of the name", |f| f.source = "manuals/".to_owned(), None, true);
        check("another folder", |f| f.source = "notes/".to_owned(), None, false);
        check("its collection", |f| f.collection = Some("plant".to_owned()), None, true);
        check("another collection", |f| f.collection = Some("office".to_owned()), None, false);
        check("both tags", |f| f.tags = vec!["hot".to_owned(), "wet".to_owned()], None, true);
        check("a tag it lacks", |f| f.tags = vec!["hot".to_owned(), "dry".to_owned()], None, false);
        check("one of the kinds", |f| f.source_types = vec!["note".to_owned(), "manual".to_owned()], None, true);
        check("none of the kinds", |f| f.source_types = vec!["note".to_owned()], None, false);
        check("the very day", |f| f.since = day("2026-03-01"), Some("2026-03-01"), true);
        check("a day too early", |f| f.since = day("2026-03-02"), Some("2026-03-01"), false);
        check("a day too late", |f| f.until = day("2026-02-28"), Some("2026-03-01"), false);
        check("no date where one is asked", |f| f.until = day("2026-02-28"), None, false);
    }
}
