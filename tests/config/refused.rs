//! What is wrong with a file: a sentence, the file, and each fault as `line:column message => mend`.

use serin::config::check::checker::Unset;
use serin::config::load;

use crate::{check, faults, lines, secrets, source, with_monitor, with_sections};

#[test]
fn structure_that_cannot_be_read() {
    check("an empty file", "", &["1:1 the file declares nothing => start with `version: 1` and a list of `monitors`"]);
    check(
        "only a list",
        "- a\n",
        &["1:1 the file takes keys with values, and this is a list => give it keys with values"],
    );
    let broken = faults("version: 1\nmonitors:\n  - id: docs\n   url: x\n");
    assert_eq!(broken.count(), 1, "a syntax error is one fault, for nothing after it can be trusted");
    assert_eq!(broken.list()[0].line, 4, "at its line: {broken}");
    let unquoted = faults(&with_monitor("search: { tool: ${env:X} }"));
    assert!(
        unquoted.to_string().contains("a reference needs quotes"),
        "the commonest slip has its own mend: {unquoted}"
    );
    check(
        "two documents",
        "version: 1\n---\nversion: 1\n",
        &["2:1 a second document starts here => keep one document in a file"],
    );
    let text = b"version: 1\nname: \xff\n".to_vec();
    let refused = load(&source(text), &secrets, Unset::Refuse).expect_err("it is not text");
    assert_eq!(lines(&refused), ["2:7 this is not UTF-8 text => save the file as UTF-8"]);
    check(
        "a tag",
        &with_monitor("name: !secret x"),
        &["5:11 a tag ('!secret') means nothing here => leave the tag out"],
    );
    check(
        "an alias without an anchor",
        &with_monitor("name: *nme"),
        &[
            "5:11 alias 'nme' has no anchor above it => write `&nme` before the value it stands for",
            "5:11 the name of monitor 'docs' has no value => give it a single value, or leave it out",
        ],
    );
}

#[test]
fn keys_that_are_not_known() {
    check("misspelled", &with_monitor("evry: 60s"), &["5:5 monitor 'docs' has no key 'evry' => did you mean 'every'?"]);
    check(
        "promised and not built",
        &with_monitor("depends_on: other"),
        &[
            "5:5 this version cannot honour 'depends_on' of monitor 'docs' yet => leave it out, so that nobody relies on it",
        ],
    );
    check(
        "promised at the top",
        &with_sections("locations: other.yaml\n"),
        &["3:1 this version cannot honour 'locations' of the file yet => leave it out, so that nobody relies on it"],
    );
    check(
        "nothing like it",
        &with_sections("defaults: { colour: red }\n"),
        &[
            "3:13 'defaults' has no key 'colour' => known here: every, timeout, probe_budget, rules, search, caps, transport, era, cross_check, close_sessions, proxy, ca",
        ],
    );
    check(
        "in defaults, where each monitor has its own",
        "version: 1\ndefaults: { search: { fields: { scroe: /s } } }\nmonitors: [{ id: a, url: \"http://a/\", search: { fields: { score: /s } } }]\n",
        &["2:33 'fields' of search has no key 'scroe' => did you mean 'score'?"],
    );
    check(
        "an unknown rule",
        &with_monitor("rules: { latncy: {} }"),
        &["5:14 'rules' of monitor 'docs' has no key 'latncy' => did you mean 'latency'?"],
    );
    check(
        "a key twice",
        &with_monitor("name: a\nname: b"),
        &["6:5 key 'name' is written twice => keep one of the two"],
    );
    check(
        "two merges",
        &with_monitor("labels: { <<: &a { x: y }, <<: *a }"),
        &["5:32 key '<<' is written twice => merge a list: `<<: [*a, *b]`"],
    );
    check(
        "a key without a value",
        &with_monitor("rules:"),
        &["5:10 'rules' of monitor 'docs' has no value => give it keys with values, or leave it out"],
    );
    check(
        "an x- key that nobody refers to",
        &with_sections("x-base: &base { every: 60s }\n"),
        &[
            "3:1 nothing refers to an anchor in 'x-base' => keys starting with `x-` hold `&anchors` for use elsewhere; leave it out",
        ],
    );
}

#[test]
fn version_and_what_has_to_be_there() {
    check(
        "nothing but a key",
        "version: 1\n",
        &["1:1 the file has no 'monitors' => a list with at least one monitor: `- { id: docs, url: … }`"],
    );
    check(
        "another version",
        "version: 2\nmonitors: [{ id: a, url: \"http://a/\" }]\n",
        &[
            "1:10 this Serin reads version 1 of the file, and this is version '2' => write `version: 1`, or run the Serin that the file is for",
        ],
    );
    check(
        "no monitor and no version",
        "monitors: []\n",
        &[
            "1:1 the file has no 'version' => start with `version: 1`",
            "1:11 no monitor is declared => add one: `- { id: docs, url: https://docs.example.org/mcp }`",
        ],
    );
    check(
        "a monitor without anything",
        "version: 1\nmonitors: [{ name: x }]\n",
        &[
            "2:12 a monitor has no 'id' => such as `id: docs`; history follows it",
            "2:12 a monitor has no 'url' => such as `url: https://docs.example.org/mcp`, or `command:` for a program that speaks MCP",
        ],
    );
}

#[test]
fn wrong_types_and_units() {
    check(
        "a duration without a unit",
        &with_monitor("every: 60"),
        &["5:12 'every' takes a duration, and this is '60' => a duration needs its unit: '60s', or '60ms'?"],
    );
    check(
        "a unit in words",
        &with_monitor("every: 5min"),
        &["5:12 'every' takes a duration, and this is '5min' => write '5m'"],
    );
    check(
        "too often",
        &with_monitor("every: 200ms"),
        &["5:12 'every' is out of its range: '200ms' => between 1s and 1d"],
    );
    check(
        "a share without its sign",
        &with_monitor("canaries: [{ id: a, query: q, expect: [s] }]\nrules: { errors: { share: 0.05 } }"),
        &["6:31 'share' takes a share, and this is '0.05' => write `5%`"],
    );
    check(
        "a share of everything",
        &with_monitor("canaries: [{ id: a, query: q, expect: [s] }]\nrules: { errors: { share: 100% } }"),
        &["6:31 'share' can never be exceeded, or always is: '100%' => above 0% and below 100%"],
    );
    check(
        "a number in quotes",
        &with_monitor("rules: { availability: { after: \"3\" } }"),
        &["5:37 'after' takes a number, and quotes make this a text => leave the quotes out"],
    );
    check(
        "no number",
        &with_monitor("rules: { availability: { after: three } }"),
        &["5:37 'after' takes a whole number, and this is 'three' => between 1 and 1000"],
    );
    check(
        "never, and over at once",
        &with_monitor("rules: { availability: { after: 0, recover_after: 0 } }"),
        &[
            "5:37 'after' is out of its range: '0' => between 1 and 1000",
            "5:55 'recover_after' is out of its range: '0' => between 1 and 1000",
        ],
    );
    check(
        "a list where a value belongs",
        &with_monitor("name: [a]"),
        &["5:11 the name of monitor 'docs' takes a single value, and this is a list => give it a single value"],
    );
    check(
        "a value where a list belongs",
        &with_monitor("health: https://docs.example.org/health"),
        &["5:13 'health' of monitor 'docs' takes a list, and this is a single value => put it into brackets: `[…]`"],
    );
    check(
        "a severity nobody knows",
        &with_monitor("rules: { availability: { severity: pgae } }"),
        &["5:40 'severity' cannot be 'pgae' => did you mean 'page'?"],
    );
    check(
        "no JSON pointer",
        &with_monitor("search: { results: data.results }"),
        &["5:24 'results' takes a JSON pointer, and this is 'data.results' => write `/data/results`"],
    );
}

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
                "6:7 canary 'a' expects nothing, so that no answer is right or wrong => add `expect: [ … ]`, or `kind: negative` where nothing may be found",
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
            "a key for later",
            "{ id: a, query: q, expect: [s], forbid: [t] }",
            &[
                "6:39 this version cannot honour 'forbid' of canary 'a' yet => leave it out, so that nobody relies on it",
            ],
        ),
    ];
    for (sentence, canary, expected) in rows {
        let text = with_monitor(&format!("canaries:\n- {canary}\nsearch: {{ arguments: {{ top_k: 5 }} }}"));
        check(sentence, &text, expected);
    }
}

#[test]
fn rules_that_cannot_mean_what_they_say() {
    const TWO: &str = "canaries: [{ id: a, query: q, expect: [s] }, { id: b, query: q, expect: [s] }]\n";
    let rows: [(&str, &str, &[&str]); 18] = [
        (
            "no results wanted",
            "search: { arguments: { top_k: 0 } }",
            &["6:35 a search for 0 results finds nothing => at least 1"],
        ),
        (
            "P95 of ten samples",
            "rules: { latency: { window: 5m } }",
            &["6:33 a window of 5m holds 10 samples at most, and P95 needs 20 => a window of at least 10m"],
        ),
        (
            "a window shorter than the interval",
            "every: 5m\nrules: { latency: { window: 2m, for: 1m } }",
            &[
                "7:33 'window' is shorter than the 5m between two beats => lengthen it, or shorten 'every'",
                "7:42 'for' is shorter than the 5m between two beats => lengthen it, or shorten 'every'",
            ],
        ),
        (
            "5 % of ten searches",
            "rules: { errors: { share: 5%, window: 5m } }",
            &["6:43 5% of the 10 searches that a window of 5m can hold is less than one => a window of at least 10m"],
        ),
        (
            "more bad ones than there are searches",
            "rules: { errors: { window: 1m, min_bad: 3 } }",
            &[
                "6:32 a window of 1m holds 2 searches at most, so that 'min_bad: 3' is never reached => a window of at least 10m",
            ],
        ),
        (
            "a limit that no call reaches",
            "rules: { latency: { p95: 12s } }",
            &["6:30 no call takes 12s: it is given up after 10s => lower 'p95', or raise 'timeout'"],
        ),
        (
            "a budget longer than the interval",
            "probe_budget: 90s",
            &["6:19 a beat may take 90s and the next one starts after 1m => at most as long as 'every'"],
        ),
        (
            "a call longer than the beat",
            "timeout: 50s",
            &[
                "6:14 one call may take 50s, and the whole beat 45s => lower 'timeout', or raise 'probe_budget' (without one it is ¾ of 'every', 45s at most)",
            ],
        ),
        ("none a beat", "search: { per_beat: 0 }", &["6:25 'per_beat' is out of its range: '0' => between 1 and 8"]),
        ("nine a beat", "search: { per_beat: 9 }", &["6:25 'per_beat' is out of its range: '9' => between 1 and 8"]),
        (
            "more a beat than there are",
            "search: { per_beat: 3 }",
            &["6:25 3 canaries a beat are wanted, and there are 2 => at most 2"],
        ),
        (
            "health without an address",
            "rules: { health: { after: 3 } }",
            &[
                "6:14 rule 'health' judges health addresses, and none is declared => leave the rule out, or declare what it needs",
            ],
        ),
        (
            "freshness without an age",
            "rules: { freshness: { severity: page } }",
            &["6:14 rule 'freshness' has no 'older_than' => such as `older_than: 72h`"],
        ),
        (
            "context without a limit",
            "rules: { context: { severity: page } }",
            &["6:14 rule 'context' has no 'tools_tokens' => such as `tools_tokens: 20000`, or `answer_tokens: 8000`"],
        ),
        (
            "a limit of no tokens",
            "rules: { context: { answer_tokens: 0 } }",
            &["6:40 'answer_tokens' is out of its range: '0' => between 1 and 10000000"],
        ),
        (
            "a default rank that is never reached",
            "search: { arguments: { top_k: 3 } }\nrules: { quality: { within: 5 } }",
            &["7:33 rank 5 is never reached: a search asks for 3 results => at most 3, or raise the argument"],
        ),
        (
            "the question among the arguments",
            "search: { query: q, arguments: { q: x } }",
            &[
                "6:38 argument 'q' is the one that takes the canary's question => leave it out, or name another one by `query`",
            ],
        ),
        (
            "a reference among the arguments, which pages show",
            "search: { arguments: { key: \"${env:DOCS_TOKEN}\" } }",
            &[
                "6:33 an argument is shown on pages and in messages, so that it may not refer to anything => write it out; `$${` stands for the characters `${`",
            ],
        ),
    ];
    for (sentence, more, expected) in rows {
        check(sentence, &with_monitor(&format!("{TWO}{more}")), expected);
    }
    check(
        "quality without a canary",
        &with_monitor("rules: { quality: { after: 3 }, errors: { min_bad: 3 } }"),
        &[
            "5:14 rule 'quality' judges canaries, and none is declared => leave the rule out, or declare what it needs",
            "5:37 rule 'errors' judges searches, and no canary is declared => leave the rule out, or declare what it needs",
        ],
    );
}

#[test]
fn receivers_and_routes() {
    const MAIL: &str =
        "serin: { smtp: { host: h, from: a@b.example } }\nreceivers: { mail: { email: { to: [a@b.example] } } }\n";
    let rows: [(&str, String, &[&str]); 13] = [
        (
            "an unknown receiver, and the similar one",
            format!("{MAIL}routes: [{{ to: [mial] }}]\n"),
            &["5:17 route 1 notifies unknown receiver 'mial' => did you mean 'mail'?"],
        ),
        (
            "an unknown fallback",
            format!("{MAIL}routes: [{{ to: [mail], fallback: pager }}]\n"),
            &["5:34 route 1 falls back to unknown receiver 'pager' => declare it under `receivers`"],
        ),
        (
            "a fallback to itself",
            format!("{MAIL}routes: [{{ to: [mail], fallback: mail }}]\n"),
            &["5:34 route 1 falls back to a receiver that it tells anyway => name another receiver"],
        ),
        (
            "an unknown receiver of our own trouble",
            "serin: { internal: [mail] }\n".to_owned(),
            &["3:21 'internal' notifies unknown receiver 'mail' => declare it under `receivers`"],
        ),
        (
            "a route that never matches",
            format!("{MAIL}routes:\n  - {{ to: [mail] }}\n  - {{ match: {{ severity: page }}, to: [mail] }}\n"),
            &["7:5 route 2 can never match: an earlier one catches all of it => put the narrower route first"],
        ),
        (
            "a route to nobody",
            format!("{MAIL}routes: [{{ to: [] }}]\n"),
            &["5:10 route 1 has no 'to' => name at least one receiver, such as `to: [oncall]`"],
        ),
        (
            "an unknown monitor in a route",
            format!("{MAIL}routes: [{{ match: {{ monitor: doc }}, to: [mail] }}]\n"),
            &["5:30 route 1 matches unknown monitor 'doc' => did you mean 'docs'?"],
        ),
        (
            "an unknown reason in a route",
            format!("{MAIL}routes: [{{ match: {{ reason: [empty_result] }}, to: [mail] }}]\n"),
            &["5:30 a failure reason cannot be 'empty_result' => did you mean 'empty_results'?"],
        ),
        (
            "two ways at once",
            "serin: { smtp: { host: h, from: a@b.example } }\nreceivers: { x: { webhook: { url: \"http://h/\" }, email: { to: [a@b.example] } } }\n".to_owned(),
            &["4:50 receiver 'x' is reached in two ways => make two receivers of it, and name both in a route's `to`"],
        ),
        (
            "no way at all",
            "receivers: { x: {} }\n".to_owned(),
            &["3:14 receiver 'x' is reached in no way => give it `webhook: { url: … }` or `email: { to: [ … ] }`"],
        ),
        (
            "mail without a mail server",
            "receivers: { mail: { email: { to: [a@b.example] } } }\n".to_owned(),
            &["3:14 receiver 'mail' is told by mail, and no mail server is named => add `smtp: { host: …, from: … }` under `serin`"],
        ),
        (
            "no mail address",
            "serin: { smtp: { host: h, from: nobody } }\n".to_owned(),
            &["3:33 the sender is no mail address => such as `sre@example.org`"],
        ),
        (
            "one receiver twice",
            "receivers:\n  x: { webhook: { url: \"http://h/\" } }\n  x: { webhook: { url: \"http://i/\" } }\n".to_owned(),
            &["5:3 key 'x' is written twice => keep one of the two"],
        ),
    ];
    for (sentence, more, expected) in rows {
        check(sentence, &with_sections(&more), expected);
    }
}

#[test]
fn what_the_process_needs() {
    let rows: [(&str, &str, &[&str]); 12] = [
        (
            "open to the network without a token",
            "serin: { listen: \"0.0.0.0:80\", public_url: \"http://h\" }\n",
            &[
                "3:18 pages and API would be open to the network without a token => add `token: ${env:SERIN_TOKEN}` beside it, or listen on 127.0.0.1",
            ],
        ),
        (
            "a name to listen on",
            "serin: { listen: \"localhost:80\" }\n",
            &[
                "3:18 'listen' takes an address and a port => such as `127.0.0.1:8080`, or `\"[::1]:8080\"`; names are not looked up",
            ],
        ),
        (
            "links with a query",
            "serin: { public_url: \"https://h/?a\" }\n",
            &[
                "3:22 'public_url' is what links start with, and this has a user, `?` or `#` => such as `https://serin.example.org`",
            ],
        ),
        (
            "mail in the clear over the network",
            "serin: { smtp: { host: mail.example.org, tls: none, from: a@b.example } }\n",
            &[
                "3:47 mail without TLS may only go to this machine => use `starttls` or `tls`, or a host such as 127.0.0.1",
            ],
        ),
        (
            "a user without a password",
            "serin: { smtp: { host: h, username: u, from: a@b.example } }\n",
            &["3:27 'username' of smtp stands without 'password' => add 'password', or leave both out"],
        ),
        (
            "a heartbeat that leads nowhere, and one nobody can hear",
            "serin: { heartbeat: { evry: 60s, every: 1ms, method: put } }\n",
            &[
                "3:10 'heartbeat' has no 'url' => such as `url: \"${env:HEARTBEAT_URL}\"`",
                "3:23 'heartbeat' has no key 'evry' => did you mean 'every'?",
                "3:41 'every' of heartbeat is out of its range: '1ms' => between 1s and 1d",
                "3:54 'method' cannot be 'put' => one of: get, post",
            ],
        ),
        (
            "logs of nothing, in no shape",
            "serin: { log: { level: loud, format: xml, modules: { prob: debug, hyper: trace, store: all } } }\n",
            &[
                "3:24 'level' cannot be 'loud' => one of: off, error, warn, info, debug, trace",
                "3:38 'format' cannot be 'xml' => one of: text, json",
                "3:54 'modules' of log knows no 'prob' => there is no module 'prob'; did you mean 'probe'?",
                "3:67 'modules' of log knows no 'hyper' => there is no module 'hyper': app, cli, config, daemon, deliver, domain, net, probe, rag, store, web",
                "3:88 the level of 'store' cannot be 'all' => one of: off, error, warn, info, debug, trace",
            ],
        ),
        (
            "an address that is no network",
            "serin: { allow_private: [10.20.0.7, 10.20.0.1/16, ten] }\n",
            &[
                "3:26 '10.20.0.7' is no network => for one address write `10.20.0.7/32`",
                "3:37 '10.20.0.1/16' is no network => the network is `10.20.0.0/16`",
                "3:51 'ten' is no network => such as `10.20.0.0/16`",
            ],
        ),
        (
            "a proxy that is no address, and one that is everybody",
            "serin: { trusted_proxies: [10.20.0.7, 10.20.0.1/16, proxy.example.org, 0.0.0.0/0] }\n",
            &[
                "3:39 '10.20.0.1/16' is no address or network of proxies => the network is `10.20.0.0/16`",
                "3:53 'proxy.example.org' is no address or network of proxies => such as `127.0.0.1` or `10.20.0.0/24`; names are not looked up",
                "3:72 '0.0.0.0/0' is no address or network of proxies => the proxies' own addresses: this is everybody's",
            ],
        ),
        (
            "a runbook for a reason that is none",
            "runbooks: { pool_satuarted: \"https://h/\" }\n",
            &["3:13 runbooks know no failure reason 'pool_satuarted' => did you mean 'pool_saturated'?"],
        ),
        (
            "a placeholder that nobody fills",
            "runbooks: { default: \"https://h/{monitor}\" }\n",
            &["3:22 a runbook's address has a placeholder other than `{reason}` => only `{reason}` is put in"],
        ),
        (
            "a secret in the file",
            "serin: { token: hunter2 }\n",
            &[
                "3:17 the token stands in the file, where everybody with the repository reads it => write `${env:NAME}` or `${file:/run/secrets/x}`, and change the secret",
            ],
        ),
    ];
    for (sentence, more, expected) in rows {
        check(sentence, &with_sections(more), expected);
    }
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
fn a_fault_reads_like_this() {
    let text = "version: 1
serin: { smtp: { host: h, from: a@b.example } }
receivers:
  oncall: { webhook: { url: \"https://hooks.example.org/x\" } }
routes:
  - { to: [oncal] }
monitors:
  - { id: docs, url: \"https://docs.example.org/mcp\", every: 60 }
";
    let expected = "error: route 1 notifies unknown receiver 'oncal'
 --> monitors.yaml:6:12
  |
6 |   - { to: [oncal] }
  |            ^^^^^
  |
note: a similar name is declared here
 --> monitors.yaml:4:3
  |
4 |   oncall: { webhook: { url: \"https://hooks.example.org/x\" } }
  |   ------
help: did you mean 'oncall'?

error: 'every' takes a duration, and this is '60'
 --> monitors.yaml:8:61
  |
8 |   - { id: docs, url: \"https://docs.example.org/mcp\", every: 60 }
  |                                                             ^^
  |
  = help: a duration needs its unit: '60s', or '60ms'?";
    let found = faults(text);
    assert_eq!(found.to_string(), expected);
    assert!(found.styled().contains('\u{1b}'), "the styled rendering has colour");
}

#[test]
fn many_faults_are_counted_and_the_first_ones_shown() {
    let monitors: String = (0..500).map(|at| format!("  - {{ id: m{at}, url: x }}\n")).collect();
    let found = faults(&format!("version: 1\nmonitors:\n{monitors}"));
    assert_eq!((found.count(), found.list().len()), (500, 50));
    assert!(found.to_string().ends_with("\n\nand 450 more"));
}

#[test]
fn one_mistake_in_defaults_is_said_once() {
    let monitors: String = (0..50).map(|at| format!("  - {{ id: m{at}, url: \"http://h/\" }}\n")).collect();
    let text = format!("version: 1\ndefaults: {{ every: 60 }}\nmonitors:\n{monitors}");
    assert_eq!(faults(&text).count(), 1);
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

#[test]
fn a_short_token_where_others_can_reach_the_pages() {
    let load_with = |listen: &str, token: &str| {
        let text = with_sections(&format!(
            "serin: {{ token: \"${{env:T}}\", public_url: \"http://h\", listen: \"{listen}\" }}\n"
        ));
        let env = |name: &str| (name == "T").then(|| token.to_owned());
        load(&source(text), &env, Unset::Refuse).map(drop).map_err(|faults| lines(&faults))
    };
    let refused = || {
        Err(vec![
            "3:17 the token is shorter than 16 characters, and others than this machine may try to guess it => make one with `openssl rand -base64 32`, or listen on 127.0.0.1".to_owned(),
        ])
    };
    let rows = [
        ("0.0.0.0:80", "fifteen-chars-x", refused(), "everybody may guess"),
        ("[2001:db8::1]:80", "fünfzehn-zeiche", refused(), "characters count, and not bytes"),
        ("0.0.0.0:80", "sixteen-chars-xy", Ok(()), "long enough"),
        ("127.0.0.1:80", "short", Ok(()), "only this machine"),
        ("[::1]:80", "short", Ok(()), "in its other family"),
    ];
    for (listen, token, expected, sentence) in rows {
        assert_eq!(load_with(listen, token), expected, "{sentence}");
    }
}

#[test]
fn a_password_that_stands_in_a_url() {
    let mend = "put it outside the file, such as `https://${env:USER}:${env:PASSWORD}@…`, and change it";
    let url = |url: &str| format!("version: 1\nmonitors: [{{ id: docs, url: \"{url}\" }}]\n");
    let fault = |at: &str, what: &str| {
        format!("{at} {what} holds a password, which everybody with the repository reads => {mend}")
    };
    let here = fault("2:29", "the address of monitor 'docs'");
    let rows = [
        (url("https://u:hunter2@h.example.org/mcp"), here.clone(), "a monitor's address"),
        (url("https://${env:DOCS_TOKEN}:hunter2@h.example.org/mcp"), here.clone(), "behind a user from outside"),
        (url("https://u:a${env:DOCS_TOKEN}@h.example.org/mcp"), here.clone(), "also a part of one"),
        (url("${env:NOT_SET:-https://u:hunter2@h.example.org/mcp}"), here, "also in a default"),
        (
            with_monitor("proxy: \"http://u:hunter2@proxy.example.org:3128\""),
            fault("5:12", "the proxy of monitor 'docs'"),
            "a proxy",
        ),
        (
            with_sections(
                "receivers: { a: { webhook: { url: \"https://u:hunter2@h.example.org/\", secret: \"${env:ONCALL_SECRET}\" } } }\nroutes: [{ to: [a] }]\n",
            ),
            fault("3:35", "the webhook's address of receiver 'a'"),
            "a receiver",
        ),
    ];
    for (text, expected, sentence) in rows {
        check(sentence, &text, &[&expected]);
    }
    for fine in [
        "https://u:${env:DOCS_TOKEN}@h.example.org/",
        "https://${env:DOCS_TOKEN}@h.example.org/",
        "https://h.example.org/a:b@c",
    ] {
        load(&source(url(fine)), &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{fine}: {faults}"));
    }
}

#[test]
fn a_secret_out_of_something_that_is_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
    assert!(made.success());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&pipe, &link).expect("a link");
    // Nobody writes into the pipe: whoever opens it as a file waits for ever.
    let rows = [
        (pipe.as_path(), "a pipe"),
        (&link, "a link to one"),
        (std::path::Path::new("/dev/zero"), "a device"),
        (folder.path(), "a folder"),
    ];
    for (path, sentence) in rows {
        let text = with_monitor(&format!("auth: {{ bearer: \"${{file:{}}}\" }}", path.display()));
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(lines(&faults(&text))));
        let said = told
            .recv_timeout(std::time::Duration::from_secs(30))
            .unwrap_or_else(|_| panic!("{sentence} is waited for"));
        let expected = format!("the file '{}' cannot be read: it is no regular file", path.display());
        assert!(said.len() == 1 && said[0].contains(&expected), "{sentence}: {said:?}");
    }
}
