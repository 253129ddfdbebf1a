//! What of a command line is a secret, and is never written down.
//!
//! Told by names, and by the shape of addresses. Where that is not certain it counts as one: a variable too many costs a
//! line in a shell, and a secret in git has to be changed.

use crate::config::check::reach::sounds_secret;

/// Characters from which on the user of an address is a token and no name.
const USER_CHARS_MIN: usize = 16;
/// The same of a part of a path.
const PATH_PART_CHARS_MIN: usize = 20;

/// An argument of a program that holds a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecretPart<'a> {
    /// What stands before it and is none.
    pub kept: &'a str,
    /// What it is called.
    pub name: &'a str,
    pub secret: &'a str,
}

/// The secret in an argument: what a flag such as `--api-key` takes, a variable or a header with its value, an address or
/// settings with a secret among them, which are taken whole. `before` is the argument before it.
pub(crate) fn secret_part<'a>(before: &'a str, arg: &'a str) -> Option<SecretPart<'a>> {
    let flag = before.trim_start_matches('-');
    let is_taken = before.starts_with('-') && !before.contains('=') && !arg.starts_with('-');
    if is_taken && sounds_secret(flag, arg) {
        return Some(SecretPart { kept: "", name: flag, secret: arg });
    }
    let name = if arg.contains("://") { "URL" } else { "SECRET" };
    let mut whole = SecretPart { kept: "", name, secret: arg };
    let mut from = 0;
    // `--header=Authorization: Bearer x` has a name behind another.
    for (at, sign) in arg.match_indices(['=', ':']) {
        let name = arg[from..at].trim_start_matches('-');
        if name.is_empty() || !name.chars().all(is_of_name) {
            break;
        }
        let secret = arg[at + 1..].trim_start();
        let part = SecretPart { kept: &arg[..arg.len() - secret.len()], name, secret };
        if sounds_secret(name, secret) {
            return Some(part);
        }
        if sign == "=" {
            whole = part;
        }
        from = at + 1;
    }
    holds_secret(whole.secret).then_some(whole)
}

/// Whether a secret stands somewhere in a text: in an address, or with a name such as `Password=x` or `"apiKey": "x"`.
pub(crate) fn holds_secret(text: &str) -> bool {
    logins(text).any(|(user, password)| !password.is_empty() || is_token(user))
        || text.split(|c: char| !is_of_name(c)).any(is_known_token)
        || pairs(text).any(|(name, value)| sounds_secret(name, value))
}

/// Whether the user of an address is a token, as those of code hosts are.
pub(crate) fn is_token(user: &str) -> bool {
    user.chars().count() >= USER_CHARS_MIN
}

/// Whether a word has the shape of a token that some service gives out.
fn is_known_token(word: &str) -> bool {
    const BEGINNINGS: [&str; 14] = [
        "sk-",
        "pk-",
        "sk_live_",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "xoxp-",
        "hf_",
        "npm_",
        "pypi-",
        "AKIA",
    ];
    let has_digit = || word.contains(|c: char| c.is_ascii_digit());
    word.chars().count() >= USER_CHARS_MIN && has_digit() && BEGINNINGS.iter().any(|begins| word.starts_with(begins))
}

/// Parts of an address's path that are tokens: gateways give each of their customers a path of its own.
pub(crate) fn tokens_of_path(path: &str) -> impl Iterator<Item = &str> {
    let is_long = |part: &&str| part.chars().count() >= PATH_PART_CHARS_MIN;
    path.split('/').filter(is_long).filter(|part| part.contains(|c: char| c.is_ascii_digit()))
}

/// User and password of each address in a text. Not by a parser of URLs: it refuses several hosts, as databases have them.
fn logins(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("://").filter_map(move |(at, sign)| {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '/' | '?' | '#');
        let authority = text[at + sign.len()..].split(ends).next()?;
        let (login, _) = authority.rsplit_once('@')?;
        Some(login.split_once(':').unwrap_or((login, "")))
    })
}

/// Names with their values, wherever in a text they stand.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices(['=', ':']).filter_map(move |(at, sign)| {
        let before = text[..at].trim_end();
        let bare = before.trim_end_matches(['"', '\'']);
        // A colon without quotes is one of addresses, times and folders.
        if sign == ":" && bare.len() == before.len() {
            return None;
        }
        let name = bare.rsplit(|c: char| !is_of_name(c)).next()?;
        let value = text[at + 1..].trim_start_matches([' ', '"', '\'']);
        Some((name, value.split([' ', '"', '\'', ';', ',', '&', '}']).next()?))
    })
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::{SecretPart, secret_part, tokens_of_path};

    #[test]
    fn the_secret_of_an_argument_is_found() {
        let settings = "Server=db;Password=s3cret";
        let json = r#"{"apiKey": "s3cret"}"#;
        let rows = [
            ("--api-key", "s3cret", ("", "api-key", "s3cret"), "what a flag takes"),
            ("", "sk-proj-abcdefghij0123", ("", "SECRET", "sk-proj-abcdefghij0123"), "a token by its shape"),
            ("", "--accesskey=s3cret", ("--accesskey=", "accesskey", "s3cret"), "in one word"),
            (
                "",
                "--header=Authorization: Bearer s3cret",
                ("--header=Authorization: ", "Authorization", "Bearer s3cret"),
                "a header",
            ),
            ("run", "--env=API_KEY=s3cret", ("--env=API_KEY=", "API_KEY", "s3cret"), "a variable"),
            ("-e", "DB_PASS=s3cret", ("DB_PASS=", "DB_PASS", "s3cret"), "a variable behind its flag"),
            ("", settings, ("Server=", "Server", "db;Password=s3cret"), "settings"),
            ("", json, ("", "SECRET", json), "JSON"),
            (
                "",
                "--a=mongodb://me:s3cret@h1:1,h2:2/x",
                ("--a=", "a", "mongodb://me:s3cret@h1:1,h2:2/x"),
                "several hosts",
            ),
            ("", "https://ghp_0123456789abcdef@h/x", ("", "URL", "https://ghp_0123456789abcdef@h/x"), "a user alone"),
            ("", "postgres:///db?password=s3cret", ("", "URL", "postgres:///db?password=s3cret"), "no host"),
            ("", "see http://me:s3cret@h/", ("", "URL", "see http://me:s3cret@h/"), "inside a longer text"),
        ];
        for (before, arg, (kept, name, secret), sentence) in rows {
            assert_eq!(secret_part(before, arg), Some(SecretPart { kept, name, secret }), "{sentence}");
        }
    }

    #[test]
    fn what_is_none_stays_as_it_is() {
        let rows = [
            ("--max-tokens", "5"),
            ("--password", "--verbose"),
            ("--token-file", "/run/secrets/token"),
            ("-v", "/run/secrets/token:/run/token"),
            ("", "--public-key=pk-1"),
            ("", "KEYBOARD=us"),
            ("", "git+https://git@example.org/a/b@0123456789abcdef0123456789abcdef01234567"),
            ("", "https://h/mcp?page=2"),
            ("", "@scope/server@1.2.3"),
            ("", r#"{"max_tokens": 5, "auth": null}"#),
        ];
        for (before, arg) in rows {
            assert_eq!(secret_part(before, arg), None, "{before} {arg}");
        }
    }

    #[test]
    fn a_token_is_known_among_the_parts_of_a_path() {
        let tokens = |path| tokens_of_path(path).collect::<Vec<_>>();
        assert_eq!(tokens("/mcp/s/9f8a0123456789abcdef/sse"), ["9f8a0123456789abcdef"]);
        assert!(tokens("/v2/documentation-of-products/mcp").is_empty());
    }
}
