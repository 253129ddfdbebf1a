//! What came back from a webhook, as far as it is kept, and what it means.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::{DateTime, Utc};
use reqwest::header::RETRY_AFTER;
use reqwest::{Response, StatusCode, Url};
use serde_json::Value;
use serin_outbound::retry_after::wish;

use crate::deliver::plain;
use crate::domain::paging::delivery::AttemptEnd;
use crate::domain::secret::{Address, Secret};

/// Bytes of an answer that are kept: enough for a receiver's own error message.
const ANSWER_BYTES_MAX: usize = 2048;
/// Bytes of an answer that says in its body what came of a call; the message that it repeats is smaller.
const JSON_BYTES_MAX: usize = 128 * 1024;

/// What came back, as far as it is kept.
pub(super) struct WebhookAnswer {
    status: StatusCode,
    retry_after: Option<String>,
    /// One plain line, free of the receiver's own secrets.
    said: String,
}

impl WebhookAnswer {
    /// Reads the first bytes of the body; a body that stalls or breaks takes nothing from the status.
    pub(super) async fn read(mut response: Response, address: &Address, secrets: &[Secret]) -> Self {
        let status = response.status();
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        // A failure's text helps whoever mends it; nobody needs that of a success, so it is not waited for.
        let bytes = if status.is_success() { Vec::new() } else { first_bytes(&mut response, ANSWER_BYTES_MAX).await };
        let said = masked(&String::from_utf8_lossy(&bytes), address, secrets);
        Self { status, retry_after: header, said: plain::line(&said, ANSWER_BYTES_MAX) }
    }

    pub(super) fn judged(self, now: DateTime<Utc>) -> AttemptEnd {
        let status = self.status;
        let mut why = format!("HTTP {status}");
        if status.is_redirection() {
            why.push_str("; redirects are not followed, put the final address into the file");
        }
        if !self.said.is_empty() {
            why.push_str("; it said: ");
            why.push_str(&self.said);
        }
        match status {
            _ if status.is_success() => AttemptEnd::Accepted,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                AttemptEnd::Failed { why, retry_after: self.retry_after.and_then(|text| wish(&text, now.into())) }
            }
            _ if status.is_server_error() => {
                AttemptEnd::Failed { why, retry_after: self.retry_after.and_then(|text| wish(&text, now.into())) }
            }
            _ => AttemptEnd::Refused { why },
        }
    }
}

/// What arrives of a body in time, bounded.
async fn first_bytes(response: &mut Response, bytes_max: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let until = tokio::time::Instant::now() + BODY_MAX;
    while bytes.len() < bytes_max
        && let Ok(Ok(Some(chunk))) = tokio::time::timeout_at(until, response.chunk()).await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(bytes_max);
    bytes
}

/// Limit on reading the text of a failure, so that a status in hand is not lost to a stalled body.
const BODY_MAX: Duration = Duration::from_secs(2);

/// The body of an answer that is JSON; none where it is not, or is not all there in time.
pub(super) async fn json(mut response: Response) -> Option<Value> {
    serde_json::from_slice(&first_bytes(&mut response, JSON_BYTES_MAX).await).ok()
}

/// A receiver may echo its own address or our secrets; the ledger shows neither.
fn masked(text: &str, address: &Address, secrets: &[Secret]) -> String {
    let mut parts: Vec<String> = secrets.iter().map(|secret| secret.expose().to_owned()).collect();
    // A gateway may answer with the token alone of `Bearer …`, or with what `Basic …` says.
    let words: Vec<String> =
        parts.iter().flat_map(|secret| secret.split_whitespace().skip(1)).map(str::to_owned).collect();
    let said = words.iter().filter_map(|word| String::from_utf8(BASE64.decode(word).ok()?).ok());
    let said: Vec<String> = said.flat_map(|said| said.split(':').map(str::to_owned).collect::<Vec<_>>()).collect();
    parts.extend(words.into_iter().chain(said));
    parts.push(address.resolved.expose().to_owned());
    if let Ok(url) = Url::parse(address.resolved.expose()) {
        parts.extend(
            [url.path(), url.query().unwrap_or(""), url.username(), url.password().unwrap_or("")].map(str::to_owned),
        );
        parts.extend(url.path_segments().into_iter().flatten().map(str::to_owned));
        parts.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    }
    // Shorter than this, a part is no secret, and masking it would garble the text.
    const SECRET_CHARS_MIN: usize = 6;
    parts.retain(|part| part.len() >= SECRET_CHARS_MIN);
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts.iter().fold(text.to_owned(), |text, part| text.replace(part.as_str(), "…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn an_answer_is_understood_by_its_status() {
        let now = at("2026-11-21T09:00:00Z");
        let seconds = |n| Some(Duration::from_secs(n));
        let rows = [
            (200, None, "accepted", None, "any 2xx is a yes"),
            (204, None, "accepted", None, "also without a body"),
            (301, None, "refused", None, "a redirect is not followed"),
            (308, None, "refused", None, "nor is a permanent one"),
            (400, None, "refused", None, "a 4xx will not get better by itself"),
            (404, None, "refused", None, "nor will a missing hook"),
            (410, None, "refused", None, "gone is gone"),
            (408, None, "failed", None, "a timeout may pass"),
            (425, None, "failed", None, "too early may pass"),
            (429, Some("90"), "failed", seconds(90), "the wish to wait is heard, in seconds"),
            (503, Some("Sat, 21 Nov 2026 09:02:00 GMT"), "failed", seconds(120), "or as a date"),
            (503, Some("Saturday, 21-Nov-26 09:02:00 GMT"), "failed", seconds(120), "in the old form"),
            (503, Some("Sat Nov 21 09:02:00 2026"), "failed", seconds(120), "or in C's"),
            (503, Some("Sat, 21 Nov 2026 08:00:00 GMT"), "failed", seconds(0), "a date gone by asks for no wait"),
            (500, Some("soon"), "failed", None, "nonsense is no wish"),
            (500, None, "failed", None, "a 5xx may pass"),
        ];
        for (status, header, expected, wait, sentence) in rows {
            let status = StatusCode::from_u16(status).unwrap();
            let answer = WebhookAnswer { status, retry_after: header.map(str::to_owned), said: String::new() };
            let (word, found) = match answer.judged(now) {
                AttemptEnd::Accepted => ("accepted", None),
                AttemptEnd::Failed { retry_after, .. } => ("failed", retry_after),
                AttemptEnd::Refused { .. } => ("refused", None),
            };
            assert_eq!((word, found), (expected, wait), "{sentence}");
        }
    }

    #[test]
    fn an_echo_does_not_carry_secrets_into_the_ledger() {
        let address = Address {
            shown: String::new(),
            resolved: Secret::new("https://u:hunter22@h.example/T0/B0/tok3n?key=abcdef"),
        };
        let secrets = [Secret::new("whsec_c2VjcmV0")];
        let echo = "no hook at /T0/B0/tok3n with key=abcdef, hunter22 or whsec_c2VjcmV0";
        assert_eq!(masked(echo, &address, &secrets), "no hook at … with …, … or …");
        let shown = [Secret::new("Bearer t0ken-abc"), Secret::new("Basic b3BlcmF0b3I6aHVudGVyMjI5OQ==")];
        let echo = "Bearer token t0ken-abc of operator (hunter2299) is over";
        assert_eq!(masked(echo, &address, &shown), "Bearer token … of … (…) is over", "nor a part of a header");
    }
}
