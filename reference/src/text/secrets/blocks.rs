//! Secrets that are more than a word: blocks of keys, manifests of secrets, logins of URLs and of commands.

use std::ops::Range;
use std::sync::LazyLock;

use crate::text::secrets::forms;
use crate::text::secrets::rules::{Expression, from_here};
use crate::text::secrets::values;

/// A block of RFC 7468, or of OpenPGP (RFC 9580, 6.2).
pub(crate) const PRIVATE_KEY_KEYWORD: &str = "-----BEGIN ";
const PRIVATE_KEY: &str = "-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----";
const PRIVATE_KEY_END: &str = "-----END ";
/// The longest block: an RSA key of 16,384 bits has 13 kB.
const PRIVATE_KEY_BYTES_MAX: usize = 16_384;
/// The end line of a block.
const PRIVATE_KEY_END_LINE_BYTES_MAX: usize = 80;
/// `https://the.earth.li/~sgtatham/putty/latest/htmldoc/AppendixC.html`: lines of base64 behind their number.
pub(crate) const PUTTY_KEYWORD: &str = "Private-Lines: ";
const PUTTY: &str = r"Private-Lines: [0-9]{1,3}\r?\n((?:[ \t]{0,20}[A-Za-z0-9+/=]{4,80}\r?\n?){1,200})";
/// RFC 3986, 3.2.1: what stands behind the colon of the user information.
pub(crate) const URL_KEYWORD: &str = "://";
const URL_PASSWORD: &str = r#"://[!$-.0-9;=A-Z_a-z~%]{0,200}:([!#$-.0-9;=:@A-Z_a-z~%\[\]{}*^|+<>]{1,200})@[!-?A-~]"#;
/// `https://curl.se/docs/manpage.html#-u`.
pub(crate) const USER_KEYWORDS: &[&str] = &["-u ", "--user ", "--user="];
const USER: &str = r#"(?:-u|--user)[ =]["']?[!#%&)-9;=?-~]{1,100}:"#;
/// `https://dev.mysql.com/doc/refman/8.4/en/password-security-user.html`, and commands that take it likewise.
pub(crate) const OPTION_KEYWORDS: &[&str] = &[" -p", " -a "];
const OPTION: &str = r" -(?:p ?|a )";
/// Commands with a password behind `-p` or `-a`.
const OPTION_COMMANDS: &[&str] =
    &["mysql", "mariadb", "sshpass", "docker login", "podman login", "redis-cli", "oc login"];
/// What fetches with `-u user:password`.
const USER_COMMANDS: &[&str] = &["curl", "http", "wget"];
/// How far a command may stand from its option, in bytes.
const COMMAND_BYTES_MAX: usize = 200;

struct Expressions {
    private_key: Expression,
    putty: Expression,
    url_password: Expression,
    user: Expression,
    option: Expression,
}

static EXPRESSIONS: LazyLock<Expressions> = LazyLock::new(|| Expressions {
    private_key: from_here(PRIVATE_KEY.to_owned()),
    putty: from_here(PUTTY.to_owned()),
    url_password: from_here(URL_PASSWORD.to_owned()),
    user: from_here(USER.to_owned()),
    option: from_here(OPTION.to_owned()),
});

/// A whole block, or as much of it as is there.
pub(crate) fn private_key(text: &str, start: usize) -> Option<Range<usize>> {
    let head = start + EXPRESSIONS.private_key.find(&text[start..])?.end();
    let limit = text.floor_char_boundary((head + PRIVATE_KEY_BYTES_MAX).min(text.len()));
    let body = &text[head..limit];
    let body = &body[..body.find(PRIVATE_KEY_KEYWORD).unwrap_or(body.len())];
    let end = body.find(PRIVATE_KEY_END);
    let first = body.floor_char_boundary(end.unwrap_or(body.len()).min(PRIVATE_KEY_HEADERS_BYTES_MAX));
    if !holds_key(&body[..first]) {
        return None;
    }
    let end = match end {
        Some(at) => {
            let mark = head + at + PRIVATE_KEY_END.len();
            let line = &text[mark..text.floor_char_boundary((mark + PRIVATE_KEY_END_LINE_BYTES_MAX).min(text.len()))];
            line.find("-----").map_or(mark, |dashes| mark + dashes + "-----".len())
        }
        // The end is missing: everything that can be part of a key goes.
        None => {
            let is_key = |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || "+/=\\,:-".contains(c);
            head + body.find(|c| !is_key(c)).unwrap_or(body.len())
        }
    };
    Some(start..start + text[start..end].trim_end().len())
}

/// Whether a stretch holds a run of base64: examples often have dots instead.
fn holds_key(body: &str) -> bool {
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'+' || *byte == b'/';
    body.as_bytes().split(|byte| !is_key(byte)).any(|run| run.len() >= PRIVATE_KEY_RUN_LEAST)
}

/// Within so many bytes a key begins, behind the headers of its block.
const PRIVATE_KEY_HEADERS_BYTES_MAX: usize = 400;
/// Characters of base64 in a row that a key has; its lines are of 64.
const PRIVATE_KEY_RUN_LEAST: usize = 32;

/// The secret lines of a key of PuTTY.
pub(crate) fn putty(text: &str, start: usize) -> Option<Range<usize>> {
    let lines = EXPRESSIONS.putty.captures(&text[start..])?.get(1)?;
    let end = start + lines.start() + lines.as_str().trim_end().len();
    Some(start + lines.start()..end)
}

/// The password of a URL.
pub(crate) fn url_password(text: &str, start: usize) -> Option<Range<usize>> {
    let password = EXPRESSIONS.url_password.captures(&text[start..])?.get(1)?;
    let (user, value) = (&text[start + URL_KEYWORD.len()..start + password.start() - 1], password.as_str());
    let low = value.to_ascii_lowercase();
    let is_letters = value.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(&byte));
    let is_name = is_letters && (value.contains('_') || low.contains("pass") || low.contains("secret"));
    let is_short = value.len() - 2 * value.matches('%').count() < URL_PASSWORD_LEAST;
    let is_word = forms::is_label(value) || value == user || is_letters && value.len() < URL_LETTERS_LEAST;
    let is_word = is_word || is_name || is_short;
    let is_real = !forms::is_placeholder(value) && !is_word;
    is_real.then_some(start + password.start()..start + password.end())
}

/// Signs that a password of a URL has at least.
const URL_PASSWORD_LEAST: usize = 6;
/// Letters that a password of a URL made of letters alone has at least: words of examples are shorter.
const URL_LETTERS_LEAST: usize = 12;

/// The password of `curl -u user:password`.
pub(crate) fn user_option(text: &str, start: usize) -> Option<Range<usize>> {
    let at = start + EXPRESSIONS.user.find(&text[start..])?.end();
    let is_ours = stands_near(text, start, USER_COMMANDS);
    let quote = text[start..at].chars().find(|c| matches!(c, '"' | '\''));
    is_ours.then(|| values::option(text, at, quote)).flatten()
}

/// The password of `mysql -ppassword`, `sshpass -p password`, `redis-cli -a password`.
pub(crate) fn password_option(text: &str, start: usize) -> Option<Range<usize>> {
    let at = start + EXPRESSIONS.option.find(&text[start..])?.end();
    if !stands_near(text, start, OPTION_COMMANDS) {
        return None;
    }
    let quote = text[at..].chars().next().filter(|c| matches!(c, '"' | '\''));
    values::option(text, at + usize::from(quote.is_some()), quote)
}

/// Whether one of these commands stands before a place on its line, or behind it.
fn stands_near(text: &str, at: usize, commands: &[&str]) -> bool {
    let before = &text[text.ceil_char_boundary(at.saturating_sub(COMMAND_BYTES_MAX))..at];
    let behind = &text[at..text.floor_char_boundary((at + COMMAND_BYTES_MAX).min(text.len()))];
    let before = before.replace("\\\n", "  ");
    let (before, behind) = (before.rsplit('\n').next(), behind.split('\n').next());
    commands.iter().any(|command| [before, behind].iter().flatten().any(|line| line.contains(command)))
}

/// Forty characters of base64 near an access key's identifier: the other half of the pair.
pub(crate) fn aws_secret_behind(text: &str, identifier_end: usize) -> Option<Range<usize>> {
    let limit = text.floor_char_boundary((identifier_end + AWS_PAIR_BYTES_MAX).min(text.len()));
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'/' || byte == b'+';
    let near = &text.as_bytes()[..limit];
    let mut at = identifier_end;
    while at < limit {
        let length = near[at..].iter().take_while(|byte| is_key(**byte)).count();
        let end = at + length;
        // A longer one is cut by the limit, or is something else.
        if length == AWS_SECRET_LENGTH
            && end < text.len().min(limit + 1)
            && !matches!(text.as_bytes().get(end), Some(b'=' | b'-' | b'_'))
        {
            let key = &text[at..end];
            let has = |is: fn(&u8) -> bool| key.bytes().any(|byte| is(&byte));
            let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
            return (is_mixed && !key.contains("//") && forms::entropy(key) >= AWS_ENTROPY_MIN).then_some(at..end);
        }
        at = end + 1;
    }
    None
}

/// How far behind the identifier the secret may begin and end.
const AWS_PAIR_BYTES_MAX: usize = 200;
/// `https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html`
const AWS_SECRET_LENGTH: usize = 40;
/// Bits a sign of such a key.
const AWS_ENTROPY_MIN: f64 = 4.0;
