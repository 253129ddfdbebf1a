//! Monitors: whom they look at, how they reach it, and what they ask.

use crate::{check, faults, lines, with_monitor, with_sections};

#[test]
fn identities_and_addresses() {
    check(
        "an id with a capital and a space",
        "version: 1\nmonitors: [{ id: My Docs, url: \"http://a/\" }]\n",
        &[
            "2:18 monitor 'My Docs' has a shape that ids may not have => lowercase letters, digits, `.`, `_` and `-`, a letter or digit first, at most 64: such as 'my-docs'",
        ],
    );
    check(
        "one id twice",
        "version: 1\nmonitors:\n  - { id: a, url: \"http://a/\" }\n  - { id: a, url: \"http://b/\" }\n",
        &["4:11 monitor 'a' is declared twice => give each monitor its own id"],
    );
    check(
        "one canary twice",
        &with_monitor("canaries:\n  - { id: a, query: q, expect: [s] }\n  - { id: a, query: r, expect: [s] }"),
        &["7:9 canary 'a' is declared twice in monitor 'docs' => give each its own id"],
    );
    for (url, expected) in [
        ("docs.example.org/mcp", "the address of monitor 'a' is no URL"),
        ("ftp://docs.example.org/", "the address of monitor 'a' is neither http nor https"),
        ("http://h/mcp#top", "the address of monitor 'a' has a fragment, which is never sent"),
        ("\"http://h/\\tmcp\"", "the address of monitor 'a' is no URL"),
        ("http://h:0/", "the address of monitor 'a' is no URL"),
    ] {
        let text = format!("version: 1\nmonitors:\n  - id: a\n    url: {url}\n");
        let found = faults(&text);
        assert_eq!((found.count(), &*found.list()[0].message), (1, expected), "{url}");
    }
    check(
        "a reference where pages would show it",
        &with_monitor("name: \"${env:DOCS_TOKEN}\""),
        &[
            "5:11 the name of monitor 'docs' is shown on pages and in messages, so that it may not refer to anything => write it out; `$${` stands for the characters `${`",
        ],
    );
}

#[test]
fn canaries_that_contradict_themselves() {
    let rows: [(&str, &str, &[&str]); 5] = [
        (
            "expects nothing",
            "{ id: a, query: q }",
            &[
                "6:7 canary 'a' expects nothing, so that no answer is right or wrong => add `expect: [ … ]`, `contains: [ … ]` where the tool answers with text, `kind: negative` where nothing may be found, or `forbid: [ … ]` for sources that may never be",
            ],
        ),
        (
            "negative and expects something",
            "{ id: a, query: q, kind: negative, expect: [s] }",
            &[
                "6:42 canary 'a' is negative: nothing may be found, and 'expect' says otherwise => leave 'expect' out, or change 'kind'",
            ],
        ),
        (
            "a score that nothing looks at",
            "{ id: a, query: q, expect: [s], max_score: 0.3 }",
            &[
                "6:39 'max_score' of canary 'a' holds for negative canaries only => leave 'max_score' out, or change 'kind'",
            ],
        ),
        (
            "a rank beyond what is asked for",
            "{ id: a, query: q, expect: [s], within: 6 }",
            &["6:47 rank 6 is never reached: a search asks for 5 results => at most 5, or raise the argument"],
        ),
        (
            "a golden set with keys of its own",
            "{ file: none.jsonl, within: 2 }",
            &[
                "6:15 cannot read none.jsonl: No such file or directory (os error 2) => a file beside this one, readable by the user that Serin runs as; its path starts here",
                "6:27 'within' stands beside 'file' => write it into the lines of that file, or begin another item",
            ],
        ),
    ];
    for (sentence, canary, expected) in rows {
        let text = with_monitor(&format!("canaries:\n- {canary}\nsearch: {{ arguments: {{ top_k: 5 }} }}"));
        check(sentence, &text, expected);
    }
}

#[test]
fn wordings_that_say_nothing_of_their_own() {
    let many = "{ id: a, query: q, expect: [a.md], also: [a, b, c, d, e, f, g, h, i] }";
    let rows: [(&str, &str, &[&str]); 7] = [
        (
            "no list",
            "{ id: a, query: q, expect: [a.md], also: w }",
            &["6:48 'also' of canary 'a' takes a list, and this is a single value => put it into brackets: `[…]`"],
        ),
        (
            "an empty list",
            "{ id: a, query: q, expect: [a.md], also: [] }",
            &["6:48 'also' of canary 'a' names 0 wordings => one to 8"],
        ),
        ("too many", many, &["6:48 'also' of canary 'a' names 9 wordings => one to 8"]),
        (
            "nothing",
            "{ id: a, query: q, expect: [a.md], also: [' '] }",
            &["6:49 a wording is empty => give it a text, or leave it out"],
        ),
        (
            "the question itself",
            "{ id: a, query: q, expect: [a.md], also: [w, q] }",
            &[
                "6:52 canary 'a' asks 'q' twice => a cache knows what was asked before: leave it out, or say it in other words",
            ],
        ),
        (
            "one twice",
            "{ id: a, query: q, expect: [a.md], also: [w, w] }",
            &[
                "6:52 canary 'a' asks 'w' twice => a cache knows what was asked before: leave it out, or say it in other words",
            ],
        ),
        (
            "what the answer is known by",
            "{ id: a, query: q, contains: [copper], also: [is copper old] }",
            &[
                "6:53 a wording of canary 'a' itself holds “copper”, and servers repeat it => say it in words that only the question has",
            ],
        ),
    ];
    for (sentence, canary, expected) in rows {
        check(
            sentence,
            &with_monitor(&format!("canaries:\n- {canary}\nsearch: {{ arguments: {{ top_k: 5 }} }}")),
            expected,
        );
    }
}

#[test]
fn pairs_that_are_none() {
    let rows: [(&str, &str, &[&str]); 6] = [
        (
            "one that is not there",
            "pair: of",
            &["6:49 canary 'on' pairs with 'of', which monitor 'docs' does not have => did you mean 'off'?"],
        ),
        (
            "one of another monitor, or of none",
            "pair: elsewhere",
            &[
                "6:49 canary 'on' pairs with 'elsewhere', which monitor 'docs' does not have => name another canary of the same monitor by its id",
            ],
        ),
        (
            "itself",
            "pair: on",
            &["6:49 canary 'on' pairs with itself => name the one that asks nearly the same and gets another answer"],
        ),
        (
            "the same question",
            "pair: same",
            &["6:49 canary 'on' pairs with 'same', which asks the same => pair two questions that look alike"],
        ),
        ("no id at all", "pair: [off]", &["6:49 'pair' of canary 'on' takes a single value"]),
        ("of all searches", "within: 5 }\nsearch: { pair: off", &["7:"]),
    ];
    for (sentence, pair, expected) in rows {
        let others = "- { id: off, query: Q off, expect: [s] }\n- { id: same, query: q ON, expect: [s] }";
        let text = with_monitor(&format!("canaries:\n- {{ id: on, query: q on, expect: [s], {pair} }}\n{others}"));
        let text = if pair.contains("search") {
            with_monitor(&format!("canaries:\n- {{ id: on, query: q on, expect: [s], {pair} }}"))
        } else {
            text
        };
        let seen = lines(&faults(&text));
        let fits = seen.len() == expected.len() && seen.iter().zip(expected).all(|(seen, part)| seen.starts_with(part));
        assert!(fits, "{sentence}: {seen:#?}");
    }
}

#[test]
fn sources_that_nothing_can_be_told_from() {
    let many = format!("{{ id: a, query: q, forbid: [{}] }}", ["b/**"; 51].join(", "));
    let rows: [(&str, &str, &[&str]); 8] = [
        (
            "no list",
            "{ id: a, query: q, forbid: b/** }",
            &["6:34 'forbid' of canary 'a' takes a list, and this is a single value => put it into brackets: `[…]`"],
        ),
        (
            "an empty list",
            "{ id: a, query: q, forbid: [] }",
            &["6:34 'forbid' of canary 'a' names 0 patterns => one to 50"],
        ),
        ("too many", &many, &["6:34 'forbid' of canary 'a' names 51 patterns => one to 50"]),
        (
            "something that is no text",
            "{ id: a, query: q, forbid: [{ glob: b }] }",
            &["6:35 a forbidden source takes a single value, and this is a map => give it a single value"],
        ),
        (
            "alternatives, which are none of ours",
            "{ id: a, query: q, forbid: ['tenants/{b,c}/**'] }",
            &[
                "6:35 the pattern 'tenants/{b,c}/**' holds a character that is none of ours => `*` and `?` within a name, `**` for folders",
            ],
        ),
        (
            "a folder, which no source is",
            "{ id: a, query: q, forbid: [tenants/b/] }",
            &["6:35 the pattern 'tenants/b/' ends in a slash => what lies in a folder is `tenants/b/**`"],
        ),
        (
            "what the same canary expects",
            "{ id: a, query: q, expect: [a.md, tenants/b/x.md], forbid: [tenants/b/**] }",
            &[
                "6:67 canary 'a' expects 'tenants/b/x.md' and forbids it => leave one of both out: no answer could be right",
            ],
        ),
        ("for all searches", "{ id: a, query: q, expect: [s] }\nsearch: { forbid: [b/**] }", &["7:15 "]),
    ];
    for (sentence, canary, expected) in rows {
        let text = with_monitor(&format!("canaries:\n- {canary}"));
        let seen = lines(&faults(&text));
        let fits = seen.len() == expected.len() && seen.iter().zip(expected).all(|(seen, part)| seen.starts_with(part));
        assert!(fits, "{sentence}: {seen:#?}");
    }
}

#[test]
fn words_that_prove_nothing() {
    let rows: [(&str, &str, &[&str]); 8] = [
        (
            "words of the question",
            "{ id: a, query: Which copper valve leaks?, contains: [COPPER valve] }",
            &[
                "6:61 the question of canary 'a' itself holds “COPPER valve”, and servers repeat it => name what only the right answer says",
            ],
        ),
        (
            "a pattern that the question matches",
            "{ id: a, query: valve INV-204, contains: [{ pattern: 'INV-\\d+' }] }",
            &[
                "6:49 the question of canary 'a' itself holds /INV-\\d+/, and servers repeat it => name what only the right answer says",
            ],
        ),
        (
            "a pattern that matches anything",
            "{ id: a, query: q, contains: ['b'], not_contains: [{ pattern: x* }] }",
            &[
                "6:58 the pattern of 'not_contains' matches any text, even none => name what stands in the answers that are meant, and in no others",
            ],
        ),
        ("a broken pattern", "{ id: a, query: q, contains: [{ pattern: '(' }] }", &["6:48 'pattern' is no pattern: "]),
        (
            "no words",
            "{ id: a, query: q, contains: [] }",
            &["6:36 'contains' of canary 'a' names 0 texts => one to 20"],
        ),
        (
            "words that are no list",
            "{ id: a, query: q, contains: boiler }",
            &["6:36 'contains' of canary 'a' takes a list, and this is a single value => put it into brackets: `[…]`"],
        ),
        (
            "what may not be there alone",
            "{ id: a, query: q, not_contains: [boiler] }",
            &["6:7 canary 'a' expects nothing, so that no answer is right or wrong => "],
        ),
        (
            "an odd key",
            "{ id: a, query: q, contains: [{ regex: x }] }",
            &[
                "6:37 a map of words has no 'pattern' => or write the words themselves as a text",
                "6:39 words of an answer has no key 'regex' => ",
            ],
        ),
    ];
    for (sentence, canary, expected) in rows {
        let text = with_monitor(&format!("canaries:\n- {canary}"));
        let seen = lines(&faults(&text));
        let fits = seen.len() == expected.len() && seen.iter().zip(expected).all(|(seen, part)| seen.starts_with(part));
        assert!(fits, "{sentence}: {seen:#?}");
    }
}

#[test]
fn columns_and_signs_that_contradict_themselves() {
    let rows: [(&str, &str, &[&str]); 6] = [
        (
            "columns and a list",
            "{ results: /rows, columns: { source: /ids/0 } }",
            &["5:15 'columns' stands instead of 'results' => leave one of them out"],
        ),
        (
            "columns and fields of a result",
            "{ columns: { source: /ids/0 }, fields: { source: /id, total: /n } }",
            &["5:54 'columns' stands instead of 'source' => leave one of them out"],
        ),
        (
            "columns of nothing",
            "{ columns: { score: /distances/0 } }",
            &[
                "5:24 'columns' of search names neither 'source' nor 'content' => such as `columns: { source: /ids/0, content: /documents/0 }`",
            ],
        ),
        (
            "a sign in every answer",
            "{ error: '(no|)', empty: nothing }",
            &[
                "5:22 the pattern of 'error' matches any text, even none => name what stands in the answers that are meant, and in no others",
            ],
        ),
        (
            "a sign in every answer that says something",
            "{ empty: '\\w' }",
            &[
                "5:22 the pattern of 'empty' matches any answer => name what stands in the answers that are meant, and in no others",
            ],
        ),
        (
            "one sign of two things",
            "{ error: '^No', empty: '^No' }",
            &[
                "5:36 'empty' of search is the same pattern as 'error' => an answer that both match is an error: name what only the other says",
            ],
        ),
    ];
    for (sentence, search, expected) in rows {
        check(sentence, &with_monitor(&format!("search: {search}")), expected);
    }
    check(
        "there are no answers to take sentences from",
        &with_monitor("search: { harvest: true }"),
        &["5:24 there are no canaries, and so no answers to take sentences from => declare canaries, or leave it out"],
    );
}

#[test]
fn a_probe_identity_that_proves_nothing() {
    let rows: [(&str, &str, &[&str]); 3] = [
        (
            "without its secret",
            "serin: { probe_identity: { key: ops-1 } }\n",
            &[
                "3:10 'probe_identity' has no 'secret' => such as `{ key: ops-1, secret: \"${env:SERIN_PROBE_SECRET}\" }`",
            ],
        ),
        (
            "a secret in the file",
            "serin: { probe_identity: { key: ops-1, secret: abcdefghijklmnopqrstuvwxyz } }\n",
            &[
                "3:48 the secret of 'probe_identity' stands in the file, where everybody with the repository reads it => write `${env:NAME}` or `${file:/run/secrets/x}`, and change the secret",
            ],
        ),
        (
            "a secret that can be guessed",
            "serin: { probe_identity: { key: ops-1, secret: \"${env:SERIN_TOKEN}\" } }\n",
            &[
                "3:48 the secret of 'probe_identity' is shorter than 16 bytes => make one with `openssl rand -base64 32`",
            ],
        ),
    ];
    for (sentence, more, expected) in rows {
        check(sentence, &with_sections(more), expected);
    }
}

#[test]
fn control_addresses_are_few() {
    check(
        "none at all",
        &with_sections("serin: { control: [] }\n"),
        &["3:19 'control' names 0 addresses => one to 3, of servers that have nothing to do with the monitors"],
    );
}

#[test]
fn control_addresses_that_say_too_little_or_too_much() {
    let rows: [(&str, &str, &[&str]); 3] = [
        (
            "no address",
            "{ status: 204 }",
            &["3:20 a control address has no 'url' => such as `{ url: https://status.example.org/, status: 200 }`"],
        ),
        (
            "no status of HTTP",
            "{ url: \"https://a/\", status: 99 }",
            &["3:49 'status' is out of its range: '99' => between 100 and 599"],
        ),
        (
            "a key that there is not",
            "{ url: \"https://a/\", state: 204 }",
            &["3:41 a control address has no key 'state' => known here: url, status, contains"],
        ),
    ];
    for (sentence, item, expected) in rows {
        check(sentence, &with_sections(&format!("serin: {{ control: [{item}] }}\n")), expected);
    }
}

#[test]
fn caps_that_do_not_fit() {
    let rows: [(&str, &str, &[&str]); 4] = [
        (
            "less than one beat an hour",
            "caps: { requests_per_day: 50 }",
            &[
                "5:31 monitor 'docs' sends 4 requests a beat, and 50 a day are less than one beat an hour => at least 96, or fewer canaries a beat (`search.per_beat`)",
            ],
        ),
        (
            "a size without its unit",
            "caps: { bytes_per_day: 500 }",
            &[
                "5:28 'bytes_per_day' takes a size, and this is '500' => a whole number with kB, MB or GB, such as `500MB`",
            ],
        ),
        (
            "nothing at all",
            "caps: { bytes_per_day: 0MB }",
            &[
                "5:28 'bytes_per_day' takes a size, and this is '0MB' => a whole number with kB, MB or GB, such as `500MB`",
            ],
        ),
        (
            "another key",
            "caps: { calls: 5 }",
            &["5:13 'caps' of monitor 'docs' has no key 'calls' => known here: requests_per_day, bytes_per_day"],
        ),
    ];
    for (sentence, more, expected) in rows {
        check(sentence, &with_monitor(more), expected);
    }
}

#[test]
fn how_a_server_is_reached() {
    let with_program = |line: &str| {
        with_monitor(line).replace("    url: https://docs.example.org/mcp\n", "    command: docs-server\n")
    };
    assert!(with_program("every: 60s").contains("command: docs-server"), "the file of the tests has changed");
    check(
        "two ways at once",
        &with_monitor("command: docs-server"),
        &[
            "5:5 monitor 'docs' has both 'url' and 'command' => a server is reached in one way: leave one of the two out",
        ],
    );
    check(
        "a program's key beside an address",
        &with_monitor("keep: true"),
        &[
            "5:5 'keep' of monitor 'docs' belongs to a program => leave it out, or write `command:` in the place of `url:`",
        ],
    );
    check(
        "stdio to an address",
        &with_monitor("transport: stdio"),
        &[
            "5:5 monitor 'docs' has an address, and stdio takes a program => write `command:` in the place of `url:`, or leave 'transport' out",
        ],
    );
    check(
        "a transport that there is not",
        &with_monitor("transport: websocket"),
        &["5:16 the transport of monitor 'docs' cannot be 'websocket' => one of: http, sse, stdio"],
    );
    check(
        "an era that sse has not",
        &with_monitor("transport: sse\nera: modern"),
        &["6:5 monitor 'docs' cannot be modern over sse, which only the older era has => leave one of the two out"],
    );
    check(
        "a check of both eras, and one of them fixed",
        &with_monitor("era: legacy\ncross_check: true"),
        &[
            "6:5 'cross_check' of monitor 'docs' asks both eras, and the file fixes one => leave out 'cross_check', or 'era' and 'transport'",
        ],
    );
    check(
        "HTTP to a program",
        &with_program("transport: http"),
        &["5:5 monitor 'docs' is a program, which is spoken to over stdio => leave 'transport' out"],
    );
    check(
        "a bearer for a program",
        &with_program("auth: { bearer: \"${env:DOCS_TOKEN}\" }"),
        &[
            "5:5 monitor 'docs' is a program, which takes no 'auth' => give it its credentials by `env: { NAME: \"${env:NAME}\" }`",
        ],
    );
    check(
        "a secret in the open",
        &with_program("env: { API_TOKEN: abc }"),
        &[
            "5:23 the variable API_TOKEN of monitor 'docs' stands in the file, where everybody with the repository reads it => write `${env:NAME}` or `${file:/run/secrets/x}`, and change the secret",
        ],
    );
    check(
        "a variable that can have no such name",
        &with_program("env: { 2ND: b }"),
        &["5:12 '2ND' is no name of a variable => letters, digits and `_`, a letter first"],
    );
    check(
        "a command for a shell",
        &with_program("every: 60s").replace("command: docs-server", "command: node server.js"),
        &[
            "4:14 the command of monitor 'docs' holds a blank, and no shell reads it => write the program alone, and `args: [a, b]` beside it",
        ],
    );
}
