//! A status page that would show everything, nothing, or the same twice.

use crate::{check, loaded, with_sections};

const LABELLED: &str = "version: 1\nmonitors:\n  - { id: docs, url: \"https://docs.example.org/mcp\", labels: { team: docs } }\n  - { id: wiki, url: \"https://wiki.example.org/mcp\" }\n";

#[test]
fn a_status_page_shows_what_was_chosen() {
    let rows: [(&str, &str, &[&str]); 13] = [
        (
            "nothing is chosen",
            "{ title: Search }",
            &[
                "3:1 'status' has no 'show' => name what everybody may see, such as `- { name: Search, match: { monitor: docs } }`",
            ],
        ),
        (
            "an empty choice",
            "{ show: [] }",
            &[
                "3:1 'status' has no 'show' => name what everybody may see, such as `- { name: Search, match: { monitor: docs } }`",
            ],
        ),
        (
            "no name",
            "{ show: [{ match: { monitor: docs } }] }",
            &["3:18 component 1 has no 'name' => the name that everybody may read, such as `name: Product search`"],
        ),
        (
            "nothing behind it",
            "{ show: [{ name: Search }] }",
            &["3:18 component 1 has no 'match' => the monitors behind it, such as `match: { monitor: [docs] }`"],
        ),
        (
            "an empty match",
            "{ show: [{ name: Search, match: {} }] }",
            &[
                "3:34 the match of component 1 would show every monitor to everybody => name monitors, or labels that only those have which everybody may know of",
            ],
        ),
        (
            "a monitor that is misspelled",
            "{ show: [{ name: Search, match: { monitor: doc } }] }",
            &["3:52 component 1 matches unknown monitor 'doc' => did you mean 'docs'?"],
        ),
        (
            "labels that nobody has",
            "{ show: [{ name: Search, match: { labels: { team: docs } } }] }",
            &["3:34 no monitor is behind component 1 => look at the labels: all of them have to be a monitor's"],
        ),
        (
            "the same name twice",
            "{ show: [{ name: Search, match: { monitor: docs } }, { name: search, match: { monitor: docs } }] }",
            &["3:62 two components are called 'Search' => give each a name of its own, or join their monitors in one"],
        ),
        (
            "a key of routes",
            "{ show: [{ name: Search, match: { severity: page } }] }",
            &["3:43 the match of component 1 has no key 'severity' => known here: labels, monitor"],
        ),
        (
            "a script for an address",
            "{ home: \"javascript:alert(1)\", show: [{ name: Search, match: { monitor: docs } }] }",
            &[
                "3:17 'home' is no address of a page: 'javascript:alert(1)' => such as `https://www.example.org`, without a user's name in it",
            ],
        ),
        (
            "a password in an address",
            "{ home: \"https://a:b@example.org\", show: [{ name: Search, match: { monitor: docs } }] }",
            &[
                "3:17 'home' is no address of a page: 'https://a:b@example.org' => such as `https://www.example.org`, without a user's name in it",
            ],
        ),
        (
            "a secret in a name",
            "{ show: [{ name: \"${env:DOCS_TOKEN}\", match: { monitor: docs } }] }",
            &[
                "3:26 'name' is shown on pages and in messages, so that it may not refer to anything => write it out; `$${` stands for the characters `${`",
            ],
        ),
        (
            "a map",
            "{ show: { name: Search } }",
            &["3:17 'show' takes a list, and this is a map => begin each item with a dash: `- name: …`"],
        ),
    ];
    for (sentence, section, expected) in rows {
        check(sentence, &with_sections(&format!("status: {section}\n")), expected);
    }
    let long = "x".repeat(81);
    check(
        "a name that no screen has room for",
        &with_sections(&format!("status: {{ show: [{{ name: {long}, match: {{ monitor: docs }} }}] }}\n")),
        &["3:26 'name' is longer than 80 characters => shorten it"],
    );
    let many = "{ name: N, match: { monitor: docs } }, ".to_owned();
    let many: String = (0..101).map(|n| many.replace('N', &format!("n{n}"))).collect();
    let text = with_sections(&format!("status: {{ show: [{many}] }}\n"));
    let faults = crate::lines(&crate::faults(&text));
    assert!(faults[0].contains("the status page shows more than 100 components"), "{faults:?}");
}

#[test]
fn what_everybody_reads_is_not_where_everybody_acts() {
    let text = |serin: &str| {
        let shown = "status: { show: [{ name: Search, match: { monitor: docs } }] }";
        with_sections(&format!("serin: {{ {serin} }}\n{shown}\n"))
    };
    let fault = "4:1 everybody who reads the status page may see and do everything, since nobody has to sign in => add \
                 `token: ${env:SERIN_TOKEN}`, `users` or `oidc` to `serin`";
    check("behind a proxy anybody comes", &text("public_url: https://serin.example.org"), &[fault]);
    for serin in [
        "public_url: http://localhost:8080",
        "database: serin.db",
        "public_url: https://serin.example.org, token: \"${env:SERIN_TOKEN}\"",
    ] {
        assert!(loaded(&text(serin)).fleet.status_page.is_some(), "{serin}");
    }
}

#[test]
fn a_component_is_made_of_the_monitors_that_fit() {
    let rows: [(&str, &[&str], &str); 3] = [
        ("{ monitor: [wiki, docs] }", &["docs", "wiki"], "by ids, in the order of the file"),
        ("{ labels: { team: docs } }", &["docs"], "by labels"),
        ("{ monitor: [docs, docs] }", &["docs"], "each once"),
    ];
    for (matches, expected, sentence) in rows {
        let text = format!("{LABELLED}status: {{ show: [{{ name: Search, match: {matches} }}] }}\n");
        let page = loaded(&text).fleet.status_page.expect("there is one");
        let behind: Vec<&str> = page.components[0].monitors.iter().map(|id| id.as_str()).collect();
        assert_eq!(behind, expected, "{sentence}");
        assert_eq!((page.title.as_str(), page.home.as_deref()), ("Status", None), "{sentence}");
    }
    assert_eq!(loaded(LABELLED).fleet.status_page, None, "nothing is public where nobody says so");
}
