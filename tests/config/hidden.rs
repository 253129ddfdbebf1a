//! What is never shown, and what never makes us fall: secrets, hostile text, bombs and damaged bytes.

use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use serin::config::check::checker::Unset;
use serin::config::load;

use crate::{FULL, faults, loaded, secrets, source, with_monitor, with_sections};

#[test]
fn bombs_do_not_go_off() {
    let mut doubling = "version: 1\nx-a0: &a0 [x, x]\n".to_owned();
    for at in 1..50 {
        doubling.push_str(&format!("x-a{at}: &a{at} [*a{}, *a{}]\n", at - 1, at - 1));
    }
    let bomb =
        format!("{doubling}monitors:\n  - {{ id: a, url: \"http://a/\", search: {{ arguments: {{ q: *a49 }} }} }}\n");
    let found = faults(&bomb);
    assert!(found.to_string().contains("an argument is larger than 16 KiB"), "{found}");
    for text in ["[".repeat(10_000), "a: ".repeat(10_000), "- ".repeat(10_000), format!("&a [{}", "*a,".repeat(10_000))]
    {
        assert!(load(&source(text), &secrets, Unset::Refuse).is_err(), "deep nesting is refused");
    }
    let chain: String = (1..5_000).map(|at| format!("x{at}: &x{at} [*x{}]\n", at - 1)).collect();
    assert!(faults(&format!("x0: &x0 1\n{chain}")).to_string().contains("levels, one inside the other"));
    let keys: String = (0..2_000).map(|at| format!("  k{at}: 1\n")).collect();
    let merges: String = (0..2_000).map(|at| format!("m{at}: {{ <<: *b }}\n")).collect();
    assert!(faults(&format!("b: &b\n{keys}{merges}")).to_string().contains("over the whole file"));
}

/// Nothing of what was resolved or written as a secret may be in the text.
#[track_caller]
fn shows_no_secret(sentence: &str, text: &str) {
    assert!(!text.contains("geheim") && !text.contains("Z2VoZWlt"), "{sentence}: {text}");
}

#[test]
fn secrets_are_never_shown() {
    shows_no_secret("a fleet's Debug", &format!("{:?}", loaded(FULL)));
    let literal = |text: &str| {
        text.replace("${env:SERIN_TOKEN}", "geheim1").replace("${env:ONCALL_URL}", "https://u:geheim2@h/x?k=geheim3")
    };
    let rows = [
        ("a secret in the file", literal(FULL)),
        (
            "a secret on a line with another fault",
            FULL.replace("username: serin, password: \"${env:SMTP_PASSWORD}\"", "usrname: serin, password: geheim"),
        ),
        ("a secret under a misspelled key", with_sections("serin:\n  tokn: geheim\n")),
        (
            "a secret's default",
            with_sections("serin:\n  token: ${env:X:-geheim}\n  listen: { token: \"${env:X:-geheim}\" }\n"),
        ),
        ("a resolved URL that is none", FULL.replace("https://docs-rag.example.org/mcp", "\"${env:DOCS_TOKEN}\"")),
        ("a resolved number that is none", FULL.replace("port: 587", "port: \"${env:DOCS_TOKEN}\"")),
        ("a resolved duration that is none", FULL.replace("page_after: 45s", "page_after: \"${env:DOCS_TOKEN}\"")),
        (
            "a resolved listening address that is none",
            FULL.replace("listen: 127.0.0.1:8080", "listen: \"${env:DOCS_TOKEN}\""),
        ),
        ("a resolved network that is none", FULL.replace("10.20.0.0/16", "\"${env:DOCS_TOKEN}\"")),
        ("broken YAML on the line of a secret", FULL.replace("token: ${env:SERIN_TOKEN}", "token: \"geheim\" \"")),
        (
            "bytes that are no text on the line of a secret",
            FULL.replace("token: ${env:SERIN_TOKEN}", "token: geheim\u{0}"),
        ),
        ("a list where a secret belongs", FULL.replace("secret: \"${env:ONCALL_SECRET}\"", "secrets: geheim")),
    ];
    for (sentence, text) in rows {
        let found = load(&source(text), &secrets, Unset::Refuse).expect_err(sentence);
        shows_no_secret(sentence, &format!("{found}\n{found:?}\n{}", found.warnings.join("\n")));
    }
}

#[test]
fn hostile_text_in_the_file_stays_text() {
    let found = faults(&with_monitor("\"na\\e[31mme\\n\": x"));
    let text = found.to_string();
    assert!(text.contains(r"has no key 'na\u{1b}[31mme\n'"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

/// A valid file with stretches cut out, doubled or overwritten: near enough to get deep into the rules.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<Vec<u8>>().prop_map(|bytes| bytes.into_iter().take(8).collect::<Vec<u8>>()),
        prop::sample::select(vec![
            "&a ", "*a", "<<: *a\n", "{", "}", "[", "]", ": ", "- ", "\n", "\"", "'", "null", "0", "-1", "${", "}",
            "|\n", "🐦", "\u{85}", "\t"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec((0..FULL.len(), 0..40_usize, piece), 1..6).prop_map(|edits| {
        let mut bytes = FULL.as_bytes().to_vec();
        for (at, length, piece) in edits {
            let at = at.min(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, piece);
        }
        bytes
    })
}

/// Whether each reference still stands behind the key of a secret. A cut can put one behind `public_url:`, and what
/// somebody makes the address of a link is in each message.
fn stand_behind_secrets(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let keys = ["token: ", "password: \"", "{ url: \"", "secret: \"", "bearer: \""];
    text.match_indices("${").all(|(at, _)| keys.iter().any(|key| text[..at].ends_with(key)))
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>()) {
        if let Err(found) = load(&source(bytes), &secrets, Unset::Refuse) {
            assert!(found.count() > 0 && !found.to_string().is_empty());
        }
    }

    #[test]
    fn damaged_files_never_panic_and_show_no_secret(bytes in damaged()) {
        let in_place = stand_behind_secrets(&bytes);
        match load(&source(bytes), &secrets, Unset::Refuse) {
            Ok(loaded) if in_place => shows_no_secret("loaded", &format!("{loaded:?}")),
            Ok(_) => {}
            Err(found) => {
                shows_no_secret("refused", &format!("{found}{found:?}{}", found.styled()));
                assert!(found.count() > 0);
            }
        }
    }
}
