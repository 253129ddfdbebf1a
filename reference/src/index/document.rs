//! A document on its way into the index.

use chrono::NaiveDate;

use crate::chunk::{ChunkSettings, Method};
use crate::store::records::{Origin, Volatility};

/// What is to be indexed. Its date and kind are facts that filters look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'a> {
    /// The name hits will cite; a source indexed again is replaced.
    pub source: &'a str,
    /// Its kind, such as `documentation`, `constraints` or `code`.
    pub source_type: &'a str,
    /// The collection it belongs to; empty is none.
    pub collection: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// The day its content is of.
    pub dated: Option<NaiveDate>,
    /// How soon it is expected to change.
    pub volatility: Volatility,
    /// Who brings it.
    pub origin: Origin,
    /// How it is cut; `None` is as its name suggests.
    pub cutting: Option<Cutting>,
    /// Its text.
    pub text: &'a str,
}

impl<'a> Document<'a> {
    /// A document with nothing said of it but its name, kind and text.
    pub fn plain(source: &'a str, source_type: &'a str, text: &'a str) -> Self {
        Self {
            source,
            source_type,
            collection: "",
            tags: &[],
            dated: None,
            volatility: Volatility::Normal,
            origin: Origin::Caller,
            cutting: None,
            text,
        }
    }
}

/// How documents are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cutting {
    /// Where cuts are made; `None` is by what the source's name says it is.
    pub method: Option<Method>,
    /// How large chunks are.
    pub settings: ChunkSettings,
}

impl Cutting {
    /// It in one word, as the index remembers it.
    pub fn name(&self) -> String {
        let method = self.method.unwrap_or_default();
        let Self { settings, .. } = self;
        let (tokens, overlap) = (settings.tokens_max(), settings.overlap());
        format!("{method}/{tokens}/{overlap}/{}/{}", settings.characters(), settings.character_overlap())
    }

    /// How a source was cut, from what the index remembers: the parser's version, then its name.
    pub fn named(parser: &str) -> Option<Self> {
        let mut parts = parser.split('/').skip(1);
        let method = parts.next()?.parse().ok()?;
        let mut number = || parts.next()?.parse().ok();
        let settings = ChunkSettings::checked(number()?, number()?, number()?, number()?).ok()?;
        Some(Self { method: Some(method), settings })
    }
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    /// Chunks it was cut into, of which all but sections are searched.
    pub chunks: usize,
    /// Tokens of all its chunks.
    pub tokens: usize,
    /// Secrets taken out of it.
    pub redacted: usize,
    /// Whether the very same text was there already.
    pub unchanged: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_remembers_how_it_was_cut() {
        let settings = ChunkSettings::checked(120, 2, 300, 30).unwrap();
        let cutting = Cutting { method: Some(Method::Markdown), settings };
        assert_eq!(Cutting::named(&format!("2/{}/", cutting.name())), Some(cutting));
        assert_eq!(Cutting::named(""), None, "an older index does not");
        assert_eq!(Cutting::named("2/magic/1/1/1/1/"), None);
    }
}
