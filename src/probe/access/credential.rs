//! When the credential that we show ends, as far as that can be known from here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::domain::monitor::Auth;

/// The earliest end of what is shown: what the file says, or the `exp` of a bearer token that is a JWT (RFC 7519 §4.1.4),
/// read and not verified, since it is the server who has to believe it.
pub(crate) fn ends_at(auth: &Auth) -> Option<DateTime<Utc>> {
    let token = auth.bearer.as_ref().and_then(|bearer| token_end(bearer.expose()));
    [auth.expires_at, token].into_iter().flatten().min()
}

fn token_end(token: &str) -> Option<DateTime<Utc>> {
    let mut parts = token.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?).ok()?;
    // RFC 7519 lets it be a fraction.
    let seconds = claims.get("exp")?.as_f64().filter(|seconds| (0.0..253_402_300_800.0).contains(seconds))?;
    DateTime::from_timestamp(seconds as i64, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::Secret;

    fn jwt(claims: &str) -> String {
        format!("{}.{}.c2ln", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#), URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn the_earliest_end_counts() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0);
        let rows = [
            (None, None, None, "nothing is known"),
            (None, at(2_000_000_000), at(2_000_000_000), "the file says it"),
            (Some(jwt(r#"{"exp":1900000000}"#)), None, at(1_900_000_000), "the token says it"),
            (Some(jwt(r#"{"exp":1900000000.9}"#)), at(2_000_000_000), at(1_900_000_000), "the earlier of both"),
            (Some(jwt(r#"{"sub":"x"}"#)), None, None, "a token without an end"),
            (Some(jwt(r#"{"exp":-5}"#)), None, None, "an end that is none"),
            (Some(jwt(r#"{"exp":1e300}"#)), None, None, "beyond all time"),
            (Some("plain-token".to_owned()), None, None, "no JWT at all"),
            (Some("a.b.c".to_owned()), None, None, "nor this"),
        ];
        for (bearer, expires_at, expected, sentence) in rows {
            let bearer = bearer.map(|token| Secret::new(&token));
            assert_eq!(ends_at(&Auth { bearer, expires_at, ..Auth::default() }), expected, "{sentence}");
        }
    }
}
