//! Who signs in: users out of a file, and a provider of OpenID Connect.

use serin::config::check::checker::Unset;
use serin::config::describe::plan::plan;
use serin::config::load;
use serin::config::read::source::SourceReader;
use serin::domain::api_key::Role;

use crate::included::{check, folder, loaded, source, with, write};
use crate::{check as check_text, secrets, with_sections};

const HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$ExKrOaMRqQvLOE/wE4mDvqVLQR7s8lUXQVYNwIRbUEc";
const FIRST: &str = "version: 1\nmonitors: [{ id: docs, url: \"https://docs.example.org/mcp\" }]\nserin: { listen: \"0.0.0.0:80\", public_url: \"http://h\", users: { file: who/users.yaml } }\n";

fn users(text: &str) -> String {
    text.replace("HASH", HASH)
}

#[test]
fn a_file_names_users_and_is_looked_at_as_the_rest_is() {
    let text = users("users:\n  - { name: ada, role: act, password: \"HASH\" }\n");
    let files = with(FIRST, &[("who/users.yaml", &text)]);
    let before = loaded(&files);
    let ada = before.fleet.sign_in.user("ada").unwrap();
    assert_eq!((ada.role, ada.hash.expose()), (Role::Act, HASH));
    assert!(!format!("{before:?}").contains("argon2id"), "a hash shows itself nowhere");
    let folder = folder(&files);
    let before_source = source(&folder);
    let kept = before_source.files();
    assert!(!format!("{kept:?}").contains("argon2id"), "and is nothing to keep");
    let mut reader = SourceReader::new(&folder.path().join("monitors.yaml"));
    let hash = reader.read().unwrap().hash;
    write(folder.path(), "who/users.yaml", &text.replace("role: act", "role: read"));
    assert_ne!(reader.read().unwrap().hash, hash, "a change of it is one of the whole");
    let before = load(&before_source, &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
    let after = load(&source(&folder), &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(plan(&before, &after).rest, ["serin.users"]);
}

#[test]
fn faults_of_users_name_their_own_place() {
    let line = "`serin user hash` reads a password and prints the line to put here";
    let rows: [(&str, &str, &[&str]); 8] = [
        (
            "nothing in it",
            "",
            &[
                "who/users.yaml:1:1 the file of users names nobody => such as `users: [{ name: ada, role: act, password: \"…\" }]`; `serin user hash` prints a line",
            ],
        ),
        (
            "an empty list",
            "users: []\n",
            &[
                "who/users.yaml:1:1 the file of users names nobody => such as `users: [{ name: ada, role: act, password: \"…\" }]`; `serin user hash` prints a line",
            ],
        ),
        (
            "the password itself",
            "users:\n  - { name: ada, role: act, password: geheim }\n",
            &[&format!("who/users.yaml:2:39 a user's password is no hash in PHC form, `$argon2id$…` => {line}")],
        ),
        (
            "a hash that is soon guessed",
            "users:\n  - { name: ada, role: act, password: \"$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$ExKrOaMRqQvLOE/wE4mDvqVLQR7s8lUXQVYNwIRbUEc\" }\n",
            &[&format!(
                "who/users.yaml:2:39 a user's password is hashed with less than 7 MiB or more than 256, more than 16 passes, or more than 8 lanes => {line}"
            )],
        ),
        (
            "a role that there is not",
            "users:\n  - { name: ada, role: admin, password: \"HASH\" }\n",
            &["who/users.yaml:2:24 a user's role cannot be 'admin' => one of: read, act, owner"],
        ),
        (
            "two of one name",
            "users:\n  - { name: ada, role: act, password: \"HASH\" }\n  - { name: Ada, role: read, password: \"HASH\" }\n",
            &["who/users.yaml:3:5 two users are called 'Ada' => give each a name of their own"],
        ),
        (
            "no role",
            "users:\n  - { name: ada, password: \"HASH\" }\n",
            &[
                "who/users.yaml:2:5 a user has no 'role' => `{ name: ada, role: read, act or owner, password: \"…\" }`; `serin user hash` prints a line",
            ],
        ),
        (
            "a misspelled key",
            "users:\n  - { name: ada, role: act, password: \"HASH\", rol: read }\n",
            &["who/users.yaml:2:140 a user has no key 'rol' => did you mean 'role'?"],
        ),
    ];
    for (sentence, text, expected) in rows {
        check(sentence, &with(FIRST, &[("who/users.yaml", &users(text))]), expected);
    }
}

#[test]
fn a_broken_file_of_users_shows_no_password() {
    for text in [
        "users:\n  - { name: ada, role: act, password: \"geheim\" \"\n",
        "users:\n  - { name: ada, password: 'geheim\n",
    ] {
        let found = load(&source(&folder(&with(FIRST, &[("who/users.yaml", text)]))), &secrets, Unset::Refuse);
        let found = found.expect_err(text);
        assert!(!found.to_string().contains("geheim"), "{found}");
        assert_eq!(found.list()[0].file, "who/users.yaml", "{found}");
    }
}

#[test]
fn a_provider_is_declared_whole() {
    let oidc = "issuer: https://login.example.org, client_id: serin, roles: { read: [\"*\"] }";
    let serin = |more: &str| format!("serin: {{ {more} }}\n");
    let public = "public_url: https://serin.example.org";
    let rows: [(&str, String, &[&str]); 4] = [
        (
            "without an address of our own",
            serin(&format!("oidc: {{ {oidc} }}")),
            &[
                "3:10 'oidc' needs to know under which address a browser comes back => add `public_url: https://…` to `serin`, and tell the provider `<public_url>/login/oidc/callback`",
            ],
        ),
        (
            "in the clear",
            serin(&format!("{public}, oidc: {{ {} }}", oidc.replace("https", "http"))),
            &["3:65 the client secret would travel in the clear => write the issuer with https"],
        ),
        (
            "for nobody",
            serin(&format!("{public}, oidc: {{ {} }}", oidc.replace("[\"*\"]", "[]"))),
            &[
                "3:110 'roles' of 'oidc' lets nobody in => who may what by the claim, such as `roles: { act: [sre], read: [\"*\"] }`",
            ],
        ),
        (
            "without an issuer",
            serin(&format!("{public}, oidc: {{ {} }}", &oidc[35..])),
            &["3:49 'oidc' has no 'issuer' => such as `issuer: https://login.example.org/realms/ops`"],
        ),
    ];
    for (sentence, text, expected) in rows {
        check_text(sentence, &with_sections(&text), expected);
    }
    let fleet = crate::loaded(&with_sections(&serin(&format!("{public}, oidc: {{ {oidc}, scopes: [groups] }}")))).fleet;
    let provider = fleet.sign_in.provider.unwrap();
    assert_eq!(provider.scopes, ["openid", "groups"], "without openid there is no id token");
    assert_eq!((&*provider.claim, &*provider.name_claim, provider.session.as_secs()), ("groups", "email", 8 * 3600));
}
