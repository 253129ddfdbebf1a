//! `serin.users` and the file that it names: who signs in with a name and a password.

use std::ops::RangeInclusive;

use argon2::password_hash::phc::PasswordHash;
use argon2::{ARGON2ID_IDENT, Params};

use crate::config::check::checker::Checker;
use crate::config::read::diagnostic::{Diagnostic, Text, TextSpan, quoted};
use crate::config::read::node::{MapEntry, Node, Tree};
use crate::config::read::users_file::UsersFile;
use crate::domain::api_key::Role;
use crate::domain::secret::Secret;
use crate::domain::sign_in::{USER_NAME_CHARS_MAX, User};

/// Users of one file; whoever has more has a provider that knows them.
const USERS_MAX: usize = 1_000;
/// KiB that a hash takes: less is soon guessed, and more is asked for by everybody who types a name.
const MEMORY_KIB: RangeInclusive<u32> = 7 * 1024..=256 * 1024;
/// Passes over that memory.
const PASSES_MAX: u32 = 16;
/// Lanes; they are walked one after the other here.
const LANES_MAX: u32 = 8;
/// Bytes of what a password is compared by, and of its salt: less of either is found by trying.
const OUTPUT_BYTES_MIN: usize = 16;
const SALT_BYTES_MIN: usize = 8;

/// The words of roles.
pub(in crate::config) const ROLES: [(&str, Role); 3] =
    [("read", Role::Read), ("act", Role::Act), ("owner", Role::Owner)];

/// The file of users as it was read and taken apart.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct UsersRead<'r, 'a> {
    pub file: &'r UsersFile,
    pub text: Text<'a>,
    /// None where there is nothing in it, or no structure.
    pub tree: Option<&'r Tree<'a>>,
}

/// Reads `users: { file }`, and the users; `read` is the file that was found by it, none where it is not there any more
/// because all this is of the past.
pub(in crate::config) fn users(
    checker: &mut Checker<'_>,
    entry: &MapEntry<'_>,
    read: Option<UsersRead<'_, '_>>,
) -> Vec<User> {
    let Some(fields) = checker.fields("'users'", &entry.value, "serin.users") else { return Vec::new() };
    let Some(file) = fields.get("file") else {
        checker.missing("'users'", entry.place, "file", "such as `file: users.yaml`");
        return Vec::new();
    };
    let named = checker.text("the path of 'users'", &file.value);
    let Some(read) = named.and(read) else { return Vec::new() };
    if let Some(trouble) = &read.file.trouble {
        let mend = "a file readable by the user that Serin runs as; its path starts where this file lies";
        checker.missing_outside(file.value.place, trouble.clone(), mend.to_owned());
        return Vec::new();
    }
    // What has no structure was said so already.
    let is_empty = read.text.text.trim().is_empty();
    let Some(tree) = read.tree else {
        if is_empty {
            nobody(checker, read.text.top());
        }
        return Vec::new();
    };
    listed(checker, &tree.root)
}

fn listed(checker: &mut Checker<'_>, root: &Node<'_>) -> Vec<User> {
    let Some(fields) = checker.fields_among("the file of users", root, "users", &["users"]) else { return Vec::new() };
    let Some(entry) = fields.get("users") else {
        nobody(checker, root.place);
        return Vec::new();
    };
    let items = checker.list("'users'", &entry.value).unwrap_or_default();
    if items.is_empty() {
        nobody(checker, entry.place);
    }
    if let Some(item) = items.get(USERS_MAX) {
        let diagnostic = Diagnostic::new(item.place, format!("more than {USERS_MAX} users in one file"));
        checker.report(diagnostic.help("let a provider say who they are: `serin.oidc`"));
    }
    let mut found: Vec<(User, TextSpan)> = Vec::new();
    for item in items.iter().take(USERS_MAX) {
        let Some(user) = user(checker, item) else { continue };
        // Who is who has to be seen at night.
        if let Some((_, first)) = found.iter().find(|(one, _)| one.name.to_lowercase() == user.name.to_lowercase()) {
            let diagnostic = Diagnostic::new(item.place, format!("two users are called {}", quoted(&user.name)));
            checker.report(diagnostic.note(*first, "the other one").help("give each a name of their own"));
            continue;
        }
        found.push((user, item.place));
    }
    found.into_iter().map(|(user, _)| user).collect()
}

fn nobody(checker: &mut Checker<'_>, place: TextSpan) {
    let mend = "such as `users: [{ name: ada, role: act, password: \"…\" }]`; `serin user hash` prints a line";
    checker.report(Diagnostic::new(place, "the file of users names nobody").help(mend));
}

fn user(checker: &mut Checker<'_>, node: &Node<'_>) -> Option<User> {
    const KEYS: [&str; 3] = ["name", "role", "password"];
    let fields = checker.fields_among("a user", node, "users.users", &KEYS)?;
    for key in KEYS.into_iter().filter(|key| fields.get(key).is_none()) {
        let mend = "`{ name: ada, role: read, act or owner, password: \"…\" }`; `serin user hash` prints a line";
        checker.missing("a user", node.place, key, mend);
    }
    let name = fields.get("name").and_then(|entry| name(checker, &entry.value));
    let role = fields.get("role").and_then(|entry| checker.choice("a user's role", &entry.value, &ROLES));
    let hash = fields.get("password").and_then(|entry| hash(checker, &entry.value));
    Some(User { name: name?, role: role?, hash: hash? })
}

fn name(checker: &mut Checker<'_>, node: &Node<'_>) -> Option<String> {
    let name = checker.text("a user's name", node)?;
    if name.trim() != name || name.chars().count() > USER_NAME_CHARS_MAX {
        let message = format!("{} is no name of a user", quoted(&name));
        let mend = format!("at most {USER_NAME_CHARS_MAX} characters, without blanks around them");
        checker.report(Diagnostic::new(node.place, message).help(mend));
        return None;
    }
    Some(name)
}

/// The hash of a password. It never stands in a message, and least of all where somebody wrote the password itself.
fn hash(checker: &mut Checker<'_>, node: &Node<'_>) -> Option<Secret> {
    checker.found.redactions.push(node.place.start as usize..node.place.end as usize);
    let (text, _) = checker.scalar("a user's password", node)?;
    match no_hash(text) {
        None => Some(Secret::new(text)),
        Some(why) => {
            let diagnostic = Diagnostic::new(node.place, format!("a user's password is {why}"));
            checker.report(diagnostic.help("`serin user hash` reads a password and prints the line to put here"));
            None
        }
    }
}

/// Why a text is no hash that a password may be compared with.
fn no_hash(text: &str) -> Option<&'static str> {
    let Ok(hash) = PasswordHash::new(text) else { return Some("no hash in PHC form, `$argon2id$…`") };
    if hash.algorithm.as_str() != ARGON2ID_IDENT.as_str() {
        return Some("hashed by something else than argon2id");
    }
    let Ok(params) = Params::try_from(&hash) else { return Some("a hash with parameters that argon2id does not have") };
    if !MEMORY_KIB.contains(&params.m_cost()) || params.t_cost() > PASSES_MAX || params.p_cost() > LANES_MAX {
        return Some("hashed with less than 7 MiB or more than 256, more than 16 passes, or more than 8 lanes");
    }
    let long = |bytes: Option<usize>, min| bytes.is_some_and(|bytes| bytes >= min);
    let salt = hash.salt.as_ref().map(|salt| salt.len());
    let output = hash.hash.as_ref().map(|output| output.len());
    if !long(salt, SALT_BYTES_MIN) || !long(output, OUTPUT_BYTES_MIN) {
        return Some("a hash without a salt of 8 bytes, or shorter than 16");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hash_that_costs_something_and_not_too_much_is_taken() {
        let good = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$ExKrOaMRqQvLOE/wE4mDvqVLQR7s8lUXQVYNwIRbUEc";
        let rows = [
            (good.to_owned(), true, "as our own command writes it"),
            ("hunter2".to_owned(), false, "the password itself"),
            (String::new(), false, "nothing"),
            (good.replace("argon2id", "argon2i"), false, "another algorithm"),
            (good.replace("m=19456", "m=64"), false, "next to no memory"),
            (good.replace("m=19456", "m=4194304"), false, "all memory there is"),
            (good.replace("t=2", "t=1000"), false, "a minute a try"),
            (good.replace("p=1", "p=200"), false, "more lanes than anybody has"),
            (good.rsplit_once('$').unwrap().0.to_owned(), false, "nothing to compare with"),
        ];
        for (text, taken, sentence) in rows {
            assert_eq!(no_hash(&text).is_none(), taken, "{sentence}: {:?}", no_hash(&text));
        }
    }
}
