//! The methods by which a document is split into chunks, and which one suits it.

use std::fmt;
use std::str::FromStr;

/// How a document is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// By headings, then by sentences, four to six a chunk; code blocks whole while they fit.
    #[default]
    Markdown,
    /// By function; what stands between functions makes chunks of its own.
    #[cfg(feature = "chunkers")]
    Code,
    /// Where the words change from one stretch of sentences to the next.
    #[cfg(feature = "chunkers")]
    Topics,
    /// By characters, whatever stands there: the naive alternative.
    #[cfg(feature = "chunkers")]
    Fixed,
    /// As Markdown, each passage within the section it is a part of.
    #[cfg(feature = "chunkers")]
    ParentChild,
}

impl Method {
    /// Every method, in the order of the help.
    #[cfg(feature = "chunkers")]
    pub const ALL: &'static [Self] = &[Self::Markdown, Self::Code, Self::Topics, Self::Fixed, Self::ParentChild];
    /// The only method.
    #[cfg(not(feature = "chunkers"))]
    pub const ALL: &'static [Self] = &[Self::Markdown];

    /// The method that suits a source of this name where none is asked for.
    #[cfg_attr(not(feature = "chunkers"), expect(unused_variables, reason = "all documents are prose"))]
    pub fn of(source: &str) -> Self {
        #[cfg(feature = "chunkers")]
        if crate::chunk::endings::is_code(source) {
            return Self::Code;
        }
        Self::Markdown
    }

    /// Whether chunks are measured in characters, and not in tokens.
    pub const fn counts_characters(self) -> bool {
        #[cfg(feature = "chunkers")]
        return matches!(self, Self::Fixed);
        #[cfg(not(feature = "chunkers"))]
        false
    }

    /// Its name on the command line and in a tool's arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            #[cfg(feature = "chunkers")]
            Self::Code => "code",
            #[cfg(feature = "chunkers")]
            Self::Topics => "topics",
            #[cfg(feature = "chunkers")]
            Self::Fixed => "fixed",
            #[cfg(feature = "chunkers")]
            Self::ParentChild => "parent_child",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|method| method.name() == name).ok_or_else(|| {
            let known = Self::ALL.iter().map(|method| method.name()).collect::<Vec<_>>().join(", ");
            format!("`{name}` is no way to cut a document: say one of {known}")
        })
    }
}
