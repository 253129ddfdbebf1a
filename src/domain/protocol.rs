//! Which protocol a server speaks, and over what: its era and its transport (MCP.md).

/// Versions of the legacy era a server may settle on, in the order of time. They are dates, and sort as text.
pub const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The newest version that releases settle on which die of `server/discover` or of a closed session (MCP.md, "Do no
/// harm").
pub const FRAGILE_UP_TO: &str = "2025-03-26";

/// The legacy version that a text names; none where it names none of them.
pub fn legacy_version(text: &str) -> Option<&'static str> {
    LEGACY_VERSIONS.into_iter().find(|version| *version == text)
}

/// The generation of the protocol (MCP.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: `initialize`, sessions.
    Legacy,
    /// 2026-07-28: `server/discover`, every request describes itself.
    Modern,
}

impl Era {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// The era a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Legacy, Self::Modern].into_iter().find(|era| era.slug() == slug)
    }
}

/// Streamable HTTP, the HTTP+SSE of 2024-11-05, or a program's pipes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// One address, POST, answers as JSON or as a stream; both eras.
    Http,
    /// HTTP+SSE of 2024-11-05: a GET stream that names where to POST.
    Sse,
    /// A program of our own machine, one message a line.
    Stdio,
}

impl Transport {
    /// Every transport there is: where a stored word is looked up.
    pub const ALL: [Self; 3] = [Self::Http, Self::Sse, Self::Stdio];

    /// The word used in YAML, table and page.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Stdio => "stdio",
        }
    }

    /// The transport a word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|transport| transport.slug() == slug)
    }
}
