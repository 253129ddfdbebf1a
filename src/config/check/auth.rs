//! `auth:`: what a probe shows to be let in.

use chrono::{DateTime, NaiveDate, Utc};
use http::HeaderName;

use crate::config::check::addresses::is_loopback;
use crate::config::check::checker::Checker;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::{MapEntry, Node};
use crate::domain::monitor::{Auth, OAuth};
use crate::domain::secret::{Address, Secret};

/// Further headers; each goes out with every request.
const HEADERS_MAX: usize = 16;
/// Headers that the probe writes itself, or that would change what it says.
const OURS: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "last-event-id",
    "proxy-authorization",
    "serin-probe",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];
/// Parts of a header's name whose value is a secret.
const SECRET_WORDS: &[&str] = &["token", "secret", "password", "key", "apikey", "authorization", "cookie", "auth"];
const YES_OR_NO: [(&str, bool); 2] = [("true", true), ("false", false)];

/// Reads a monitor's `auth:`. `url` is its address, to warn where a credential would travel in the clear.
pub(in crate::config) fn auth(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, url: Option<&Address>) -> Auth {
    let Some(fields) = checker.fields(format_args!("'auth' of {what}"), node, "monitors.auth") else {
        return Auth::default();
    };
    let bearer = fields.get("bearer").and_then(|entry| bearer(checker, what, entry));
    let headers = fields.get("headers").map(|entry| headers(checker, what, entry, "the probe")).unwrap_or_default();
    let oauth = fields.get("oauth").and_then(|entry| oauth(checker, what, entry));
    let ways = ["bearer", "oauth"].into_iter().filter_map(|key| fields.get(key));
    let header =
        |entry: &&MapEntry<'_>| headers.iter().any(|(name, _)| name == "authorization") && entry.key == "headers";
    let ways: Vec<&MapEntry<'_>> = ways.chain(fields.get("headers").filter(header)).collect();
    if let [first, second, ..] = ways[..] {
        let message =
            format!("{what} gives its Authorization twice, by {} and {}", quoted(&first.key), quoted(&second.key));
        checker
            .report(Diagnostic::new(second.place, message).note(first.place, "first here").help("keep one of the two"));
    }
    let shows = bearer.is_some() || oauth.is_some() || !headers.is_empty();
    let expires_at = fields.get("expires").and_then(|entry| timestamp(checker, what, entry));
    let strangers = fields.get("refuses_strangers");
    let refuses = strangers.and_then(|entry| checker.choice("'refuses_strangers'", &entry.value, &YES_OR_NO));
    let refuses = refuses.unwrap_or_default();
    if let Some(entry) = strangers.filter(|_| refuses && !shows) {
        let diagnostic =
            Diagnostic::new(entry.place, format!("{what} shows nothing by which it is told from a stranger"));
        checker.report(diagnostic.help("add `bearer`, `headers` or `oauth`, or leave 'refuses_strangers' out"));
    }
    if fields.get("bearer").is_none() && fields.get("oauth").is_none() && fields.get("headers").is_none() {
        let mend = "such as `bearer: ${env:DOCS_TOKEN}`, `headers` or `oauth`";
        checker.missing(format_args!("'auth' of {what}"), node.place, "bearer", mend);
    }
    in_the_clear(checker, what, &ways, url);
    Auth { bearer, headers, oauth: oauth.map(Box::new), expires_at, refuses_strangers: refuses }
}

fn bearer(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Secret> {
    let secret = checker.secret(format_args!("the bearer token of {what}"), &entry.value)?;
    if !secret.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = format!("the bearer token of {what} holds characters that no header may");
        let mend = "look at where it comes from: spaces, quotes of another alphabet?";
        checker.report(Diagnostic::new(entry.value.place, message).help(mend));
        return None;
    }
    Some(secret)
}

/// Names in lower case, with their values. What is a secret by its name stands outside the file. `writer` is who writes
/// headers of its own.
pub(in crate::config) fn headers(
    checker: &mut Checker<'_>,
    what: &str,
    entry: &MapEntry<'_>,
    writer: &str,
) -> Vec<(String, Secret)> {
    let entries = checker.map(format_args!("'headers' of {what}"), &entry.value).unwrap_or_default();
    if entries.len() > HEADERS_MAX {
        let diagnostic = Diagnostic::new(entry.place, format!("{what} has {} headers", entries.len()));
        checker.report(diagnostic.help(format!("at most {HEADERS_MAX}: each goes out with every request")));
    }
    let mut found: Vec<(String, Secret)> = Vec::new();
    for entry in entries.iter().take(HEADERS_MAX) {
        let name = entry.key.to_ascii_lowercase();
        let diagnostic = if HeaderName::from_bytes(name.as_bytes()).is_err() {
            Some((format!("{} is no name of a header", quoted(&entry.key)), "such as `X-Api-Key`"))
        } else if OURS.contains(&name.as_str()) || ["mcp-", "webhook-"].iter().any(|ours| name.starts_with(ours)) {
            Some((format!("{writer} writes the header {} itself", quoted(&entry.key)), "leave it out"))
        } else if found.iter().any(|(known, _)| *known == name) {
            Some((format!("the header {} is given twice", quoted(&entry.key)), "keep one of the two"))
        } else {
            None
        };
        if let Some((message, mend)) = diagnostic {
            checker.report(Diagnostic::new(entry.place, message).help(mend));
            continue;
        }
        let named = format!("the header {} of {what}", quoted(&entry.key));
        let secret = name.split(['-', '_']).any(|word| SECRET_WORDS.contains(&word));
        let value = if secret {
            checker.secret(&named, &entry.value)
        } else {
            checker.resolved(&named, &entry.value).map(|text| Secret::new(&text.value.unwrap_or_default()))
        };
        let Some(value) = value else { continue };
        if http::HeaderValue::from_str(value.expose()).is_err() {
            let diagnostic = Diagnostic::new(entry.value.place, format!("{named} holds characters that no header may"));
            checker.report(diagnostic.help("look at where it comes from"));
            continue;
        }
        found.push((name, value));
    }
    found
}

fn oauth(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<OAuth> {
    let named = format!("'oauth' of {what}");
    let fields = checker.fields(&named, &entry.value, "monitors.auth.oauth")?;
    let mut needed = |key: &str, mend: &str| {
        let found = fields.get(key);
        if found.is_none() {
            checker.missing(&named, entry.place, key, mend);
        }
        found
    };
    let issuer =
        needed("issuer", "such as `issuer: https://login.example.org/tenant`; the secret goes there and nowhere else");
    let client_id = needed("client_id", "such as `client_id: serin`");
    let secret = needed("client_secret", "such as `client_secret: \"${env:DOCS_CLIENT_SECRET}\"`");
    let issuer = issuer.and_then(|entry| issuer_of(checker, what, entry));
    let client_id = client_id.and_then(|entry| checker.setting(format_args!("the client id of {what}"), &entry.value));
    let secret = secret.and_then(|entry| checker.secret(format_args!("the client secret of {what}"), &entry.value));
    let scope =
        fields.get("scope").and_then(|entry| checker.setting(format_args!("the scope of {what}"), &entry.value));
    Some(OAuth { issuer: issuer?, client_id: client_id?, client_secret: secret?, scope })
}

/// As written: the metadata has to name itself exactly so.
pub(in crate::config) fn issuer_of(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<String> {
    let issuer = checker.link(format_args!("the issuer of {what}"), &entry.value)?;
    let url = url::Url::parse(&issuer).ok()?;
    let safe =
        url.scheme() == "https" || url.host_str().is_some_and(is_loopback) || url.host_str() == Some("unset.invalid");
    let diagnostic = if !safe {
        Some(("the client secret would travel in the clear", "write the issuer with https"))
    } else if url.query().is_some() || url.fragment().is_some() {
        Some(("an issuer has neither `?` nor `#` (RFC 8414)", "write it as its metadata names itself"))
    } else {
        None
    };
    if let Some((message, mend)) = diagnostic {
        checker.report(Diagnostic::new(entry.value.place, message).help(mend));
        return None;
    }
    Some(issuer)
}

/// A moment, or a date, which ends with its last second.
fn timestamp(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<DateTime<Utc>> {
    let text = checker.setting(format_args!("'expires' of {what}"), &entry.value)?;
    let timestamp = DateTime::parse_from_rfc3339(&text).ok().map(|timestamp| timestamp.to_utc());
    let date = || NaiveDate::parse_from_str(&text, "%Y-%m-%d").ok()?.and_hms_opt(23, 59, 59);
    let found = timestamp.or_else(|| Some(date()?.and_utc()));
    if found.is_none() {
        let diagnostic =
            Diagnostic::new(entry.value.place, format!("'expires' of {what} is no moment: {}", quoted(&text)));
        checker.report(diagnostic.help("such as `2026-12-31`, or `2026-12-31T12:00:00Z`"));
    }
    found
}

fn in_the_clear(checker: &mut Checker<'_>, what: &str, ways: &[&MapEntry<'_>], url: Option<&Address>) {
    let open = url.and_then(|url| url::Url::parse(url.resolved.expose()).ok()).is_some_and(|url| {
        url.scheme() == "http" && !url.host_str().is_some_and(is_loopback) && url.host_str() != Some("unset.invalid")
    });
    if let Some(entry) = ways.first().filter(|_| open) {
        let named = if entry.key == "bearer" { "bearer token" } else { "credential" };
        let place: TextSpan = entry.place;
        let diagnostic = Diagnostic::warning(place, format!("the {named} of {what} travels in the clear"));
        checker.report(diagnostic.help("write the address with https"));
    }
}
