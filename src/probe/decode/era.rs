//! Which generation of the protocol a server speaks, from its answer to `server/discover` (MCP.md, "Finding the era").

/// The version this prober speaks in the modern era.
pub const MODERN: &str = "2026-07-28";

/// The version this prober asks for in the legacy era: the newest.
pub const LEGACY: &str = "2025-11-25";

/// JSON-RPC codes of the modern era.
pub const HEADER_MISMATCH: i64 = -32020;
/// A capability the request should have named.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The version is not spoken; `data.supported` says which are.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// An answer to `server/discover`, reduced to what decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Discovered<'a> {
    /// A result with its `supportedVersions`.
    Result(&'a [String]),
    /// A JSON-RPC error and its `data.supported`.
    Error {
        /// The JSON-RPC code.
        code: i64,
        /// The versions it lists.
        supported: &'a [String],
    },
    /// Anything else: another status, HTML, an empty body, silence.
    Other,
}

/// Whether it proves the modern era. Nothing else does: hand-written servers answer a method that they do not know with
/// 500, 403, an empty 200, `{}`, HTML, 202 or null. What it lists never proves that legacy is *not* spoken.
pub fn is_modern(answer: &Discovered<'_>) -> bool {
    match answer {
        Discovered::Result(versions) => speaks_modern(versions),
        Discovered::Error { code: HEADER_MISMATCH | MISSING_CAPABILITY, .. } => true,
        Discovered::Error { code: UNSUPPORTED_VERSION, supported } => speaks_modern(supported),
        Discovered::Error { .. } | Discovered::Other => false,
    }
}

/// Versions are dates, and dates in this form sort as text.
fn speaks_modern(versions: &[String]) -> bool {
    versions.iter().any(|version| {
        let bytes = version.as_bytes();
        bytes.len() == MODERN.len() && bytes[0].is_ascii_digit() && version.as_str() >= MODERN
    })
}

#[cfg(test)]
mod tests {
    use super::{Discovered, is_modern};

    fn check(sentence: &str, answer: &Discovered<'_>, expected: bool) {
        assert_eq!(is_modern(answer), expected, "{sentence}");
    }

    #[test]
    fn only_a_valid_answer_proves_the_modern_era() {
        let list = |versions: &[&str]| versions.iter().map(|version| (*version).to_owned()).collect::<Vec<_>>();
        let (both, later) = (list(&["2025-11-25", "2026-07-28"]), list(&["2027-01-01"]));
        let (legacy, words) = (list(&["2025-11-25"]), list(&["draft-2099", "zzzzzzzzzz"]));
        let error = |code| Discovered::Error { code, supported: &[] };
        let refused = |supported| Discovered::Error { code: -32022, supported };
        check("a result with the modern version", &Discovered::Result(&both), true);
        check("a result with a later version", &Discovered::Result(&later), true);
        check("a result with legacy versions only", &Discovered::Result(&legacy), false);
        check("a result with words for versions", &Discovered::Result(&words), false);
        check("a result without versions", &Discovered::Result(&[]), false);
        check("a header mismatch is modern, and our fault", &error(-32020), true);
        check("a missing capability is modern, and our fault", &error(-32021), true);
        check("unsupported, with a modern version in the list", &refused(&both), true);
        check("unsupported, with legacy versions in the list", &refused(&legacy), false);
        check("unsupported, with nothing in the list", &refused(&[]), false);
        check("an unknown method", &error(-32601), false);
        check("bad parameters", &error(-32602), false);
        check("an internal error", &error(-32603), false);
        check("anything that is no JSON-RPC", &Discovered::Other, false);
    }
}
