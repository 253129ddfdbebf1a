//! How a monitor's server is reached: its address or its program, and era and transport where the file fixes them.

use crate::config::check::checker::{Checker, Fields};
use crate::config::check::layers::Layers;
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::{MapEntry, Node};
use crate::config::read::reference::redacted;
use crate::domain::monitor::{Program, Reach};
use crate::domain::protocol::{Era, Transport};
use crate::domain::secret::{Address, Secret};

const PROGRAM_KEYS: [&str; 3] = ["args", "env", "keep"];
const ARGS_MAX: usize = 64;
const ENV_MAX: usize = 64;
/// What a variable's name sounds like when its value is a secret: anywhere in it.
const SECRET_WORDS: [&str; 7] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "APIKEY", "CREDENTIALS"];
/// The same, at its end only: `AUTH_MODE` is none. Files that people have may hold such a value, so these refuse nothing.
const SECRET_LAST_WORDS: [&str; 11] =
    ["AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "CREDENTIAL", "DSN", "JWT", "PASS", "PAT", "PGPASS", "PWD"];
/// How the last word may end, as in `accesskey`; these refuse nothing either.
const SECRET_ENDINGS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY"];
/// Words that end like one and are none.
const NO_SECRETS: [&str; 5] = ["PUBLICKEY", "PUBKEY", "HOTKEY", "MONKEY", "TURKEY"];
/// A name with one of these at its end says where a secret is, and not which.
const PLACES_OF_SECRETS: [&str; 3] = ["ENV", "FILE", "PATH"];
const YES_OR_NO: [(&str, bool); 2] = [("true", true), ("false", false)];

/// Reads where the server is and how it is spoken to; none where that cannot be told.
pub(in crate::config) fn reach(
    checker: &mut Checker<'_>,
    what: &str,
    fields: Fields<'_, '_>,
    layers: Layers<'_, '_>,
) -> Option<(Address, Reach)> {
    let program = fields.get("command").and_then(|entry| program(checker, what, entry, fields));
    let url =
        fields.get("url").and_then(|entry| checker.server_address(format_args!("the address of {what}"), &entry.value));
    match (fields.get("url"), fields.get("command")) {
        (None, None) => {
            let mend = "such as `url: https://docs.example.org/mcp`, or `command:` for a program that speaks MCP";
            checker.missing(what, fields.place, "url", mend);
        }
        (Some(_), Some(command)) => {
            let diagnostic = Diagnostic::new(command.place, format!("{what} has both 'url' and 'command'"));
            checker.report(diagnostic.help("a server is reached in one way: leave one of the two out"));
        }
        (Some(_), None) => {
            for entry in PROGRAM_KEYS.into_iter().filter_map(|key| fields.get(key)) {
                let diagnostic =
                    Diagnostic::new(entry.place, format!("{} of {what} belongs to a program", quoted(&entry.key)));
                checker.report(diagnostic.help("leave it out, or write `command:` in the place of `url:`"));
            }
        }
        (None, Some(_)) => {
            if let Some(auth) = fields.get("auth") {
                let diagnostic = Diagnostic::new(auth.place, format!("{what} is a program, which takes no 'auth'"));
                checker.report(diagnostic.help("give it its credentials by `env: { NAME: \"${env:NAME}\" }`"));
            }
        }
    }
    let mut reach =
        Reach { program: program.as_ref().map(|(program, _)| Box::new(program.clone())), ..Reach::default() };
    protocol(checker, what, fields.get("command").is_some(), layers, &mut reach);
    let address = if fields.get("command").is_some() { program.map(|(_, address)| address) } else { url };
    Some((address?, reach))
}

/// Era, transport and the cross-check, and which of them go together.
fn protocol(checker: &mut Checker<'_>, what: &str, is_program: bool, layers: Layers<'_, '_>, reach: &mut Reach) {
    const TRANSPORTS: [(&str, Transport); 3] =
        [("http", Transport::Http), ("sse", Transport::Sse), ("stdio", Transport::Stdio)];
    const ERAS: [(&str, Era); 2] = [("legacy", Era::Legacy), ("modern", Era::Modern)];
    if let Some(entry) = layers.get("transport") {
        reach.transport = checker.choice(format_args!("the transport of {what}"), &entry.value, &TRANSPORTS);
        // What `defaults` says of addresses is not meant for programs.
        let own = layers.own("transport").is_some();
        match reach.transport {
            Some(Transport::Http | Transport::Sse) if is_program && own => {
                let diagnostic =
                    Diagnostic::new(entry.place, format!("{what} is a program, which is spoken to over stdio"));
                checker.report(diagnostic.help("leave 'transport' out"));
            }
            Some(Transport::Stdio) if !is_program => {
                let diagnostic =
                    Diagnostic::new(entry.place, format!("{what} has an address, and stdio takes a program"));
                checker.report(diagnostic.help("write `command:` in the place of `url:`, or leave 'transport' out"));
            }
            _ => {}
        }
    }
    if is_program {
        reach.transport = Some(Transport::Stdio);
    }
    if let Some(entry) = layers.get("era") {
        reach.era = checker.choice(format_args!("the era of {what}"), &entry.value, &ERAS);
        if (reach.era, reach.transport) == (Some(Era::Modern), Some(Transport::Sse)) {
            let diagnostic =
                Diagnostic::new(entry.place, format!("{what} cannot be modern over sse, which only the older era has"));
            checker.report(diagnostic.help("leave one of the two out"));
        }
    }
    if let Some(entry) = layers.get("close_sessions") {
        reach.close_sessions = flag(checker, &format!("'close_sessions' of {what}"), entry);
    }
    if let Some(entry) = layers.get("cross_check") {
        reach.cross_check = flag(checker, &format!("'cross_check' of {what}"), entry).unwrap_or_default();
        let fixed = reach.era.is_some() || reach.transport == Some(Transport::Sse);
        if reach.cross_check && fixed && layers.own("cross_check").is_some() {
            let diagnostic =
                Diagnostic::new(entry.place, format!("'cross_check' of {what} asks both eras, and the file fixes one"));
            checker.report(diagnostic.help("leave out 'cross_check', or 'era' and 'transport'"));
        }
        reach.cross_check &= !fixed;
    }
}

/// A program, and the line that stands for its address.
fn program(
    checker: &mut Checker<'_>,
    what: &str,
    entry: &MapEntry<'_>,
    fields: Fields<'_, '_>,
) -> Option<(Program, Address)> {
    let command = checker.setting(format_args!("the command of {what}"), &entry.value);
    let args = fields.get("args").map(|entry| args(checker, what, entry)).unwrap_or_default();
    let env = fields.get("env").map(|entry| env(checker, what, &entry.value)).unwrap_or_default();
    let keep = fields.get("keep").and_then(|entry| flag(checker, &format!("'keep' of {what}"), entry));
    let command = command?;
    if command.contains(char::is_whitespace) && !command.contains('/') {
        let diagnostic =
            Diagnostic::new(entry.value.place, format!("the command of {what} holds a blank, and no shell reads it"));
        checker.report(diagnostic.help("write the program alone, and `args: [a, b]` beside it"));
    }
    let written = checker.scalar(format_args!("the command of {what}"), &entry.value).map(|(text, _)| text.to_owned());
    let mut shown = format!("stdio: {}", written.unwrap_or_default());
    for (written, _) in &args {
        shown.push(' ');
        shown.push_str(&if written.contains(char::is_whitespace) { format!("{written:?}") } else { written.clone() });
    }
    let args = args.into_iter().map(|(_, value)| value).collect();
    let program = Program { command, args, env, keep: keep.unwrap_or_default() };
    Some((program, Address { resolved: Secret::new(&shown), shown }))
}

/// Arguments, each as it may be shown and as it is given.
fn args(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Vec<(String, Secret)> {
    let items = checker.list(format_args!("'args' of {what}"), &entry.value).unwrap_or_default();
    if items.len() > ARGS_MAX {
        let diagnostic = Diagnostic::new(entry.place, format!("{what} has {} arguments", items.len()));
        checker.report(diagnostic.help(format!("at most {ARGS_MAX}: put them into a file of the program's own")));
    }
    let named = format!("an argument of {what}");
    let mut found = Vec::new();
    for item in items.iter().take(ARGS_MAX) {
        let Some(resolved) = checker.resolved(&named, item) else { continue };
        let value = resolved.value.unwrap_or_default();
        if value.contains('\0') {
            checker.report(Diagnostic::new(item.place, format!("{named} holds a NUL")).help("leave it out"));
        }
        no_address_with_password(checker, &named, item, &resolved.written);
        found.push((redacted(&resolved.written), Secret::new(&value)));
    }
    found
}

/// Variables of the program's environment. A value that is a secret by its name stands outside the file.
fn env(checker: &mut Checker<'_>, what: &str, node: &Node<'_>) -> Vec<(String, Secret)> {
    let entries = checker.map(format_args!("'env' of {what}"), node).unwrap_or_default();
    if entries.len() > ENV_MAX {
        let diagnostic = Diagnostic::new(node.place, format!("{what} has {} variables", entries.len()));
        checker.report(diagnostic.help(format!("at most {ENV_MAX}: put them into a file of the program's own")));
    }
    let mut found = Vec::new();
    for entry in entries.iter().take(ENV_MAX) {
        let name = &entry.key;
        let shaped = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !shaped {
            let diagnostic = Diagnostic::new(entry.place, format!("{} is no name of a variable", quoted(name)));
            checker.report(diagnostic.help("letters, digits and `_`, a letter first"));
            continue;
        }
        let named = format!("the variable {name} of {what}");
        let value = if is_secret_variable(name) {
            checker.secret(&named, &entry.value)
        } else {
            checker.resolved(&named, &entry.value).map(|resolved| {
                no_address_with_password(checker, &named, &entry.value, &resolved.written);
                Secret::new(&resolved.value.unwrap_or_default())
            })
        };
        found.extend(value.map(|value| (name.to_string(), value)));
    }
    found
}

/// Arguments and variables are often addresses of databases, or hold one among other words.
fn no_address_with_password(checker: &mut Checker<'_>, named: &str, node: &Node<'_>, written: &str) {
    for word in written.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')) {
        if checker.no_password(named, node.place, word).is_none() {
            return;
        }
    }
}

/// Whether a variable's value is a secret by its name, so that the file may not hold it.
pub(crate) fn is_secret_variable(name: &str) -> bool {
    name.to_uppercase().split('_').any(|word| SECRET_WORDS.contains(&word))
}

/// Whether the value of a variable, flag or header may be a secret, by its name: nothing is written down that may be one.
/// Says so of more names than [`is_secret_variable`], and in any spelling.
pub(crate) fn sounds_secret(name: &str, value: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last().map(String::as_str) else { return false };
    // In every shell `PWD` is the folder that one works in.
    let is_folder = last == "PWD" && value.starts_with('/');
    let says_nothing = matches!(value, "" | "true" | "false" | "none" | "null");
    if is_folder || says_nothing || PLACES_OF_SECRETS.contains(&last) {
        return false;
    }
    let ends_so = SECRET_ENDINGS.iter().any(|end| last.ends_with(end)) && !NO_SECRETS.contains(&last);
    ends_so || SECRET_LAST_WORDS.contains(&last) || words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
}

/// The words of a name in capitals, without numbers at their end: `dbPass2` is DB, PASS. A public key is one word.
fn words(name: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_uppercase() && spaced.ends_with(char::is_lowercase) {
            spaced.push(' ');
        }
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    let joined = spaced.to_uppercase().replace("PUBLIC KEY", "PUBLICKEY");
    let words = joined.split_whitespace().map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

pub(in crate::config) fn flag(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<bool> {
    checker.choice(what, &entry.value, &YES_OR_NO)
}

#[cfg(test)]
mod tests {
    use super::{is_secret_variable, sounds_secret};

    #[test]
    fn names_of_secrets_are_known_in_any_spelling_and_few_others() {
        let secret = [
            "API_KEY",
            "accessKeyId",
            "--accesskey",
            "X-Api-Key",
            "authToken",
            "_authToken",
            "TOKEN_2",
            "DB_PASS",
            "dbPass2",
            "PGPASS",
            "passphrase",
            "MYSQL_PWD",
            "GITHUB_PAT",
            "JWT",
            "AUTH",
            "bearer",
            "SENTRY_DSN",
            "CREDENTIAL",
            "Authorization",
            "Set-Cookie",
        ];
        for name in secret {
            assert!(sounds_secret(name, "s3cret"), "{name}");
        }
        let open = [
            ("PUBLIC_KEY", "pk-1"),
            ("publicKey", "pk-1"),
            ("KEYBOARD", "us"),
            ("hotkey", "F1"),
            ("PWD", "/srv/notes"),
            ("max-tokens", "5"),
            ("AUTH_MODE", "oauth"),
            ("auth", "none"),
            ("token-file", "/run/secrets/token"),
            ("AUTHOR", "Anna"),
            ("PATH", "/bin"),
            ("pattern", "*.md"),
            ("COMPASS", "north"),
            ("", "x"),
        ];
        for (name, value) in open {
            assert!(!sounds_secret(name, value), "{name}");
        }
    }

    #[test]
    fn a_file_that_people_have_is_not_refused_for_a_word_that_only_sounds_so() {
        for name in ["DB_PASS", "AUTH", "COOKIE", "ACCESSTOKEN"] {
            assert!(!is_secret_variable(name), "{name}");
        }
        assert!(is_secret_variable("API_TOKEN") && is_secret_variable("openai_key"));
    }
}
