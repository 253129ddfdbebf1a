//! Signatures after Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The prefix of a secret that is written in Base64; any other secret is taken as its own bytes.
const SECRET_PREFIX: &str = "whsec_";

/// The value of `webhook-signature`: one `v1,…` for each secret, separated by spaces, so that a
/// receiver who knows the old or the new secret can verify during rotation.
///
/// # Errors
/// [`BadSecret`] where a secret starts with `whsec_` and the rest is not Base64.
pub(crate) fn header<'a>(
    secrets: impl IntoIterator<Item = &'a str>,
    id: &str,
    unix_seconds: i64,
    body: &[u8],
) -> Result<String, BadSecret> {
    let mut signatures = Vec::new();
    for secret in secrets {
        let tag = mac(secret, id, unix_seconds, body)?.finalize().into_bytes();
        signatures.push(format!("v1,{}", BASE64.encode(tag)));
    }
    Ok(signatures.join(" "))
}

/// Whether one of the signatures of a header belongs to this secret, compared in constant time.
pub(crate) fn verifies(secret: &str, id: &str, unix_seconds: i64, body: &[u8], header: &str) -> bool {
    let Ok(mac) = mac(secret, id, unix_seconds, body) else { return false };
    header
        .split(' ')
        .filter_map(|part| part.strip_prefix("v1,"))
        .filter_map(|text| BASE64.decode(text).ok())
        .any(|tag| mac.clone().verify_slice(&tag).is_ok())
}

/// A secret that says it is Base64 and is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a signing secret starts with whsec_, but what follows is not base64")]
pub(crate) struct BadSecret;

fn mac(secret: &str, id: &str, unix_seconds: i64, body: &[u8]) -> Result<Hmac<Sha256>, BadSecret> {
    let key = match secret.strip_prefix(SECRET_PREFIX) {
        Some(text) => BASE64.decode(text).map_err(|_| BadSecret)?,
        None => secret.as_bytes().to_vec(),
    };
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| BadSecret)?;
    mac.update(format!("{id}.{unix_seconds}.").as_bytes());
    mac.update(body);
    Ok(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of the Standard Webhooks specification's own libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn a_signature_is_the_one_of_the_specification() {
        let signed = header([SECRET], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed.as_deref(), Ok("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn both_secrets_verify_during_rotation() {
        let signed = header([SECRET, "plain words"], "m1", 7, b"body").unwrap();
        let rows = [
            (SECRET, "m1", 7, "body", true, "the first secret verifies"),
            ("plain words", "m1", 7, "body", true, "so does the second"),
            ("other", "m1", 7, "body", false, "a stranger's does not"),
            (SECRET, "m2", 7, "body", false, "the id is part of it"),
            (SECRET, "m1", 8, "body", false, "so is the moment"),
            (SECRET, "m1", 7, "bodY", false, "and every byte of the body"),
            ("whsec_%%%", "m1", 7, "body", false, "a broken secret verifies nothing"),
        ];
        for (secret, id, at, body, expected, sentence) in rows {
            assert_eq!(verifies(secret, id, at, body.as_bytes(), &signed), expected, "{sentence}");
        }
    }

    #[test]
    fn a_broken_secret_is_said() {
        assert_eq!(header(["whsec_***"], "m1", 7, b""), Err(BadSecret));
    }
}
