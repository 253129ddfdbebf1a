//! Names of sources and collections that a question is narrowed by, and nobody has.
//!
//! An empty list says that nothing fits. Under a name that does not exist it would say so of everything, and whoever
//! asks would believe it: that is an error instead, with the names that may have been meant.

use std::collections::BTreeSet;

use async_trait::async_trait;

use crate::search::question::RetrievalError;
use crate::search::step::{Search, Step};
use crate::store::filter::Filter;
use crate::store::records::StoredSource;
use crate::text::cleaning::cleaned;

/// Names given in the place of an unknown one.
const NEAREST: usize = 5;
/// Names it is compared with: a caller waits meanwhile.
const COMPARED_MAX: usize = 10_000;
/// Letters of it that are compared, and said back.
const CHARS_MAX: usize = 100;

/// Refuses a source or a collection that there is none of.
#[derive(Debug)]
pub struct Knowing;

#[async_trait]
impl Step for Knowing {
    /// Only where nothing was found, so that no other search pays for it.
    async fn found(&self, search: &mut Search<'_>) -> Result<(), RetrievalError> {
        let filter = &search.question.filter;
        let is_narrowed = !filter.source.is_empty() || filter.collection.is_some();
        if !is_narrowed || !search.findings.hits.is_empty() {
            return Ok(());
        }
        let sources = search.connection.sources().await?;
        match unknown(filter, &sources) {
            Some(why) => Err(RetrievalError::SourceUnknown(why)),
            None => Ok(()),
        }
    }
}

/// What is wrong with the names of a filter; `None` where there are sources of each.
fn unknown(filter: &Filter, sources: &[StoredSource]) -> Option<String> {
    if let Some(asked) = &filter.collection
        && !sources.iter().any(|source| source.collection == *asked)
    {
        let names: BTreeSet<&str> = sources.iter().map(|source| source.collection.as_str()).collect();
        return Some(told("is of the collection", asked, names.into_iter().filter(|name| !name.is_empty())));
    }
    if filter.source.is_empty() || sources.iter().any(|source| source.source.starts_with(&filter.source)) {
        return None;
    }
    let names = sources.iter().map(|source| source.source.as_str());
    Some(told("has a name that begins with", &filter.source, names))
}

fn told<'a>(what: &str, asked: &str, names: impl Iterator<Item = &'a str>) -> String {
    let asked: String = asked.chars().take(CHARS_MAX).collect();
    let likeness = |name: &'a str| (strsim::jaro_winkler(&asked, name), name);
    let mut ranked: Vec<(f64, &str)> = names.take(COMPARED_MAX).map(likeness).collect();
    // Stable: names that are equally near stay in their order.
    ranked.sort_by(|left, right| right.0.total_cmp(&left.0));
    let nearest: Vec<String> = ranked.iter().take(NEAREST).map(|(_, name)| format!("{name:?}")).collect();
    let nearest = if nearest.is_empty() { "there are none".to_owned() } else { nearest.join(", ") };
    // What callers send may be a secret in the wrong place, and the log has this line too.
    format!("no source {what} {:?}; the nearest names: {nearest}", cleaned(&asked).0)
}

#[cfg(test)]
mod tests {
    use chrono::Utc;

    use super::*;
    use crate::store::records::{Origin, Volatility};

    fn source((name, collection): &(&str, &str)) -> StoredSource {
        StoredSource {
            source: (*name).to_owned(),
            source_type: String::new(),
            collection: (*collection).to_owned(),
            tags: Vec::new(),
            dated: None,
            volatility: Volatility::Normal,
            origin: Origin::Caller,
            content_hash: String::new(),
            parser: String::new(),
            chunk_count: 1,
            indexed_at: Utc::now(),
        }
    }

    const SOURCES: &[(&str, &str)] = &[
        ("docs/pump.md", "plant"),
        ("docs/valve.md", "plant"),
        ("notes/a.md", "office"),
        ("notes/b.md", "office"),
        ("notes/c.md", ""),
        ("notes/d.md", ""),
    ];

    fn said(sources: &[(&str, &str)], name: &str, collection: Option<&str>) -> Option<String> {
        let filter = Filter { source: name.to_owned(), collection: collection.map(str::to_owned), ..Filter::default() };
        unknown(&filter, &sources.iter().map(source).collect::<Vec<_>>())
    }

    fn check(says: &str, name: &str, collection: Option<&str>, expected: Option<&str>) {
        let why = said(SOURCES, name, collection);
        match (&why, expected) {
            (None, None) => {}
            (Some(why), Some(start)) => assert!(why.starts_with(start), "{says}: {why}"),
            _ => panic!("{says}: {why:?}"),
        }
    }

    #[test]
    fn a_name_that_nobody_has_is_told_with_the_nearest() {
        let no_source = "no source has a name that begins with ";
        check("a source that is there", "docs/pump.md", None, None);
        check("a beginning of names", "docs/", None, None);
        check("a collection that is there", "", Some("office"), None);
        check("both are there, in no source together", "docs/", Some("office"), None);
        let slip = format!(r#"{no_source}"docs/pmup.md"; the nearest names: "docs/pump.md", "#);
        check("a slip of the pen", "docs/pmup.md", None, Some(&slip));
        check("a name is no pattern", "*.md", None, Some(no_source));
        check("a line break stays out of the log", "a\nb", None, Some(&format!(r#"{no_source}"a\nb";"#)));
        let nearest = r#"no source is of the collection "plnt"; the nearest names: "plant", "office""#;
        check("a collection, each named once", "", Some("plnt"), Some(nearest));
        check("a known source of no such collection", "docs/", Some("plnt"), Some(nearest));
    }

    #[test]
    fn five_names_are_told_or_that_there_are_none() {
        let many = said(SOURCES, "zzz", None).unwrap();
        assert_eq!(many.matches(".md\"").count(), NEAREST, "{many}");
        let none = said(&[("a.md", "")], "", Some("plant")).unwrap();
        assert!(none.ends_with("there are none"), "{none}");
        let long = said(SOURCES, &"x".repeat(5_000), None).unwrap();
        assert!(long.len() < 300, "a long name is said back in part: {long}");
    }
}
