//! Which generation of the protocol a server speaks, from its answer to `server/discover` (MCP.md, "Finding the era").

use crate::domain::protocol::Era;

/// The version this prober speaks in the modern era.
pub const MODERN: &str = "2026-07-28";

/// The version this prober asks for in the legacy era: the newest.
pub const LEGACY: &str = "2025-11-25";

/// Legacy versions a server may settle on.
pub const LEGACY_ALL: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY];

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
    /// A JSON-RPC error, its HTTP status and `data.supported`.
    Error {
        /// The HTTP status it came with.
        status: u16,
        /// Its code.
        code: i64,
        /// The versions it lists.
        supported: &'a [String],
    },
    /// Another HTTP status, without a JSON-RPC message.
    Status(u16),
    /// No answer, or one that says nothing: a transport fault, HTML, garbage.
    Fault,
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The server speaks this era; the answer to discover stands, good or bad.
    Is(Era),
    /// Ask `initialize`.
    Initialize,
    /// Nothing is known; report what was seen.
    Unknown,
}

/// The table of MCP.md, step 2. `supportedVersions` never proves that legacy is *not* spoken (step 5): it decides only for modern.
pub fn decide(answer: &Discovered<'_>) -> Decision {
    let status = match answer {
        Discovered::Result(versions) if speaks_modern(versions) => return Decision::Is(Era::Modern),
        Discovered::Result(_) => return Decision::Initialize,
        Discovered::Fault => return Decision::Unknown,
        Discovered::Error { status, .. } | Discovered::Status(status) => *status,
    };
    match status {
        401 | 403 | 429 | 300..=399 | 500.. => return Decision::Unknown,
        _ => {}
    }
    match answer {
        Discovered::Error { code: HEADER_MISMATCH | MISSING_CAPABILITY, .. } => Decision::Is(Era::Modern),
        Discovered::Error { code: UNSUPPORTED_VERSION, supported, .. } if speaks_modern(supported) => {
            Decision::Is(Era::Modern)
        }
        Discovered::Error { .. } => Decision::Initialize,
        _ if (400..500).contains(&status) => Decision::Initialize,
        _ => Decision::Unknown,
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
    use super::{Decision, Discovered, decide};
    use crate::domain::protocol::Era;

    fn error(status: u16, code: i64) -> Discovered<'static> {
        Discovered::Error { status, code, supported: &[] }
    }

    fn check(sentence: &str, answer: &Discovered<'_>, expected: Decision) {
        assert_eq!(decide(answer), expected, "{sentence}");
    }

    #[test]
    fn the_era_follows_from_the_answer_to_discover() {
        let modern = Decision::Is(Era::Modern);
        let list = |versions: &[&str]| versions.iter().map(|version| (*version).to_owned()).collect::<Vec<_>>();
        let (both, later) = (list(&["2025-11-25", "2026-07-28"]), list(&["2027-01-01"]));
        let (legacy, words) = (list(&["2025-11-25"]), list(&["draft-2099", "zzzzzzzzzz"]));
        let refused = |supported| Discovered::Error { status: 400, code: -32022, supported };
        check("a result with the modern version", &Discovered::Result(&both), modern);
        check("a result with a later version", &Discovered::Result(&later), modern);
        check("a result with legacy versions only", &Discovered::Result(&legacy), Decision::Initialize);
        check("a result with words for versions", &Discovered::Result(&words), Decision::Initialize);
        check("a header mismatch is modern, and our fault", &error(400, -32020), modern);
        check("a missing capability is modern, and our fault", &error(400, -32021), modern);
        check("unsupported, with a modern version in the list", &refused(&both), modern);
        check("unsupported, with legacy versions in the list", &refused(&legacy), Decision::Initialize);
        check("unsupported, with nothing in the list", &refused(&[]), Decision::Initialize);
        check("an unknown method in a 200", &error(200, -32601), Decision::Initialize);
        check("an unknown method in a 404", &error(404, -32601), Decision::Initialize);
        check("bad parameters in a 400", &error(400, -32602), Decision::Initialize);
        check("a 400 without JSON-RPC", &Discovered::Status(400), Decision::Initialize);
        check("a 404", &Discovered::Status(404), Decision::Initialize);
        check("a 405", &Discovered::Status(405), Decision::Initialize);
        check("a 422, as rmcp's older servers say it", &Discovered::Status(422), Decision::Initialize);
        check("a 401 says nothing of the era", &Discovered::Status(401), Decision::Unknown);
        check("a 401 with a JSON-RPC body neither", &error(401, -32001), Decision::Unknown);
        check("a 403 says nothing", &Discovered::Status(403), Decision::Unknown);
        check("a 429 says nothing", &Discovered::Status(429), Decision::Unknown);
        check("a redirect elsewhere says nothing", &Discovered::Status(302), Decision::Unknown);
        check("a 500 says nothing", &Discovered::Status(500), Decision::Unknown);
        check("a 503 with a JSON-RPC body says nothing", &error(503, -32603), Decision::Unknown);
        check("a transport fault says nothing", &Discovered::Fault, Decision::Unknown);
    }
}
