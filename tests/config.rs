//! monitors.yaml from outside: what is accepted, what is refused and how that reads, and what is never shown.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use serin::cli::check::{CheckArgs, run};
use serin::config::checker::Unset;
use serin::config::fault::Faults;
use serin::config::source::{ReadError, Source, read};
use serin::config::{Loaded, load};
use serin::domain::fleet::{CanaryKind, Channel, Monitor, Network, SmtpTls};
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::signal::Signal;

/// The file of the design, whole.
const FULL: &str = r##"version: 1
serin:
  listen: 127.0.0.1:8080            # any other bind demands a token
  public_url: https://serin.example.org
  database: serin.db
  token: ${env:SERIN_TOKEN}
  smtp: { host: smtp.example.org, port: 587, tls: starttls, username: serin, password: "${env:SMTP_PASSWORD}", from: serin@example.org }
  internal: [mail]
  allow_private: [10.20.0.0/16]
defaults: { every: 60s, timeout: 10s }
runbooks:
  default: https://runbooks.example.org/mcp#{reason}
  index_empty_or_stale: https://runbooks.example.org/reindex
receivers:
  oncall: { webhook: { url: "${env:ONCALL_URL}", secret: "${env:ONCALL_SECRET}" } }
  mail:   { email: { to: [sre@example.org] } }
routes:
  - { match: { severity: page }, to: [oncall], fallback: mail }
  - { to: [mail] }
monitors:
  - id: docs
    name: Product documentation
    url: https://docs-rag.example.org/mcp
    labels: { team: docs, env: prod }
    auth: { bearer: "${env:DOCS_TOKEN}" }
    health: [ { url: https://docs-rag.example.org/live }, { url: https://docs-rag.example.org/health } ]
    search:
      tool: search_documents
      query: query
      arguments: { top_k: 5 }
      results: /results
      per_beat: 2
    canaries:
      - { id: token-life, query: how long does an unused token live?, expect: [auth/tokens.md], within: 5, kind: meaning }
      - { id: err-4417, query: ERR-4417, expect: [errors/4417.md], kind: keyword }
      - { id: dragons, query: colour of the tax on dragons, kind: negative, max_score: 0.3 }
    rules:
      availability: { after: 3, recover_after: 2, page_after: 45s, severity: page }
      latency: { p95: 800ms, window: 20m, for: 20m, severity: ticket }
      quality: { within: 5, after: 3, severity: page }
      freshness: { older_than: 72h, severity: ticket }
      contract: { breaking: page, compatible: notice, wording: ticket }
"##;

/// Values that must never be seen.
const SECRETS: [(&str, &str); 5] = [
    ("SERIN_TOKEN", "geheim-token"),
    ("SMTP_PASSWORD", "geheim-password"),
    ("ONCALL_URL", "https://hooks.example.org/geheim-path?key=geheim-key"),
    ("ONCALL_SECRET", "whsec_Z2VoZWlt"),
    ("DOCS_TOKEN", "geheim-bearer"),
];

fn secrets(name: &str) -> Option<String> {
    SECRETS.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

fn source(text: impl Into<Vec<u8>>) -> Source {
    Source::new(Path::new("monitors.yaml"), text.into(), None)
}

fn faults(text: &str) -> Faults {
    load(&source(text), &secrets, Unset::Refuse).expect_err("the file is refused")
}

fn loaded(text: &str) -> Loaded {
    load(&source(text), &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"))
}

/// `line:column message => mend`, one a fault.
fn lines(faults: &Faults) -> Vec<String> {
    let line = |fault: &serin::config::fault::PlacedFault| {
        let help = fault.help.as_deref().unwrap_or("");
        format!("{}:{} {} => {help}", fault.line, fault.column, fault.message)
    };
    faults.list().iter().map(line).collect()
}

/// A file with one monitor that is right, and what a row adds to it, indented like its keys.
fn with_monitor(more: &str) -> String {
    let more: String = more.lines().map(|line| format!("    {line}\n")).collect();
    format!("version: 1\nmonitors:\n  - id: docs\n    url: https://docs.example.org/mcp\n{more}")
}

/// A file with one monitor that is right, and whole sections below it, from line 3 on.
fn with_sections(more: &str) -> String {
    format!("version: 1\nmonitors: [{{ id: docs, url: \"https://docs.example.org/mcp\" }}]\n{more}")
}

#[track_caller]
fn check(sentence: &str, text: &str, expected: &[&str]) {
    assert_eq!(lines(&faults(text)), expected, "{sentence}\n{text}");
}

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
        &with_sections("include: other.yaml\n"),
        &["3:1 this version cannot honour 'include' of the file yet => leave it out, so that nobody relies on it"],
    );
    check(
        "nothing like it",
        &with_sections("defaults: { colour: red }\n"),
        &["3:13 'defaults' has no key 'colour' => known here: every, timeout, probe_budget, rules, search"],
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
            "2:12 a monitor has no 'url' => such as `url: https://docs.example.org/mcp`",
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
    let rows: [(&str, &str, &[&str]); 15] = [
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
    let rows: [(&str, &str, &[&str]); 9] = [
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
            "an address that is no network",
            "serin: { allow_private: [10.20.0.7, 10.20.0.1/16, ten] }\n",
            &[
                "3:26 '10.20.0.7' is no network => for one address write `10.20.0.7/32`",
                "3:37 '10.20.0.1/16' is no network => the network is `10.20.0.0/16`",
                "3:51 'ten' is no network => such as `10.20.0.0/16`",
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
fn the_file_of_the_design_loads() {
    let Loaded { settings, fleet, warnings } = loaded(FULL);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.database, Path::new("serin.db"));
    assert_eq!(settings.token.map(|token| token.expose().to_owned()).as_deref(), Some("geheim-token"));
    assert_eq!(fleet.public_url, "https://serin.example.org");
    assert_eq!(fleet.internal, ["mail"]);
    assert_eq!(fleet.allow_private, [Network("10.20.0.0/16".to_owned())]);
    let smtp = fleet.smtp.as_ref().expect("it is declared");
    assert_eq!(
        (&*smtp.host, smtp.port, smtp.tls, &*smtp.from),
        ("smtp.example.org", 587, SmtpTls::StartTls, "serin@example.org")
    );
    assert_eq!(
        smtp.login.as_ref().map(|(user, secret)| (&**user, secret.expose())),
        Some(("serin", "geheim-password"))
    );
    let runbook = |reason| fleet.runbooks.url(reason, &fleet.public_url);
    assert_eq!(runbook(FailureReason::IndexEmptyOrStale), "https://runbooks.example.org/reindex");
    assert_eq!(runbook(FailureReason::Timeout), "https://runbooks.example.org/mcp#timeout");

    let oncall = fleet.receiver("oncall").expect("it is declared");
    let Channel::Webhook { url, secrets } = &oncall.channel else { panic!("it is a webhook") };
    assert_eq!(
        (&*url.shown, url.resolved.expose()),
        ("${env:ONCALL_URL}", "https://hooks.example.org/geheim-path?key=geheim-key")
    );
    assert_eq!(secrets.iter().map(|secret| secret.expose()).collect::<Vec<_>>(), ["whsec_Z2VoZWlt"]);
    assert_eq!(oncall.line, 15);
    assert_eq!(fleet.routes.len(), 2);
    assert_eq!(fleet.routes[0].matches.severity, [Severity::Page]);
    assert_eq!(
        (&*fleet.routes[0].to, fleet.routes[0].fallback.as_deref(), fleet.routes[0].line),
        (&["oncall".to_owned()][..], Some("mail"), 18)
    );
    assert_eq!(fleet.provenance.file, "monitors.yaml");
    assert_eq!(fleet.provenance.hash.len(), 64);
    the_monitor_of_the_design(&fleet.monitors[0]);
}

fn the_monitor_of_the_design(docs: &Monitor) {
    assert_eq!((docs.id.as_str(), &*docs.name, docs.line), ("docs", "Product documentation", 21));
    assert_eq!(
        (&*docs.url.shown, docs.url.resolved.expose()),
        ("https://docs-rag.example.org/mcp", "https://docs-rag.example.org/mcp")
    );
    assert_eq!(docs.bearer.as_ref().map(|bearer| bearer.expose()), Some("geheim-bearer"));
    assert_eq!(
        docs.labels,
        BTreeMap::from([("env".to_owned(), "prod".to_owned()), ("team".to_owned(), "docs".to_owned())])
    );
    assert_eq!(docs.health.len(), 2);
    let seconds = |seconds| Duration::from_secs(seconds);
    assert_eq!((docs.every, docs.timeout, docs.probe_budget), (seconds(60), seconds(10), seconds(45)));
    assert_eq!(docs.search.arguments, BTreeMap::from([("top_k".to_owned(), "5".to_owned())]));
    assert_eq!(
        (docs.search.tool.as_deref(), docs.search.results.as_deref(), docs.search.per_beat),
        (Some("search_documents"), Some("/results"), 2)
    );
    assert_eq!(docs.canaries.len(), 3);
    let [meaning, keyword, negative] = &docs.canaries[..] else { panic!("there are three") };
    assert_eq!((meaning.kind, meaning.within, meaning.line), (CanaryKind::Meaning, 5, 34));
    assert_eq!(
        (keyword.kind, keyword.within, &*keyword.expect),
        (CanaryKind::Keyword, 5, &["errors/4417.md".to_owned()][..])
    );
    assert_eq!((negative.kind, negative.max_score, negative.expect.len()), (CanaryKind::Negative, Some(0.3), 0));
    let rules = &docs.rules;
    assert_eq!(
        (rules.availability.after, rules.availability.page_after, rules.availability.line),
        (3, seconds(45), 38)
    );
    assert_eq!(
        (rules.access.page_after, rules.access.line),
        (Duration::ZERO, 21),
        "an unwritten rule stands on its monitor's line"
    );
    assert_eq!((rules.errors.share, rules.errors.window, rules.errors.min_bad), (0.05, seconds(1800), 3));
    assert_eq!(
        (rules.latency.p95, rules.latency.sustained, rules.latency.severity),
        (Duration::from_millis(800), seconds(1200), Severity::Ticket)
    );
    assert_eq!(rules.freshness.as_ref().map(|rule| rule.older_than), Some(seconds(72 * 3600)));
    assert_eq!((rules.contract.breaking, rules.contract.compatible), (Severity::Page, Severity::Notice));
    // 1,440 beats of opening 2, tools/list 1, searches 2, health 2, closing 1, and 24 source listings.
    assert_eq!(docs.calls_per_day(), 1_440 * 8 + 24);
}

#[test]
fn defaults_lie_beneath_a_monitors_own_words() {
    let text = "version: 1
defaults:
  every: 30s
  timeout: 20s
  search: { per_beat: 8, arguments: { top_k: 3 } }
  rules:
    latency: { p95: 1200ms, severity: page }
    quality: { within: 4 }
    health: { after: 5 }
monitors:
  - { id: plain, url: \"http://h/\" }
  - id: own
    url: http://h/
    every: 5m
    canaries: [{ id: a, query: q, expect: [s] }]
    rules:
      latency: { p95: 1s }
  - { id: quick, url: \"http://h/\", every: 2s }
";
    let fleet = loaded(text).fleet;
    let [plain, own, quick] = &fleet.monitors[..] else { panic!("there are three") };
    assert_eq!(
        (plain.every, plain.rules.latency.p95, plain.rules.latency.line),
        (Duration::from_secs(30), Duration::from_millis(1200), 7)
    );
    assert_eq!(
        (plain.search.per_beat, plain.rules.health.after),
        (0, 5),
        "no canaries, none asked; a rule in defaults is for those that have"
    );
    assert_eq!(
        (own.rules.latency.p95, own.rules.latency.severity, own.rules.latency.line),
        (Duration::from_secs(1), Severity::Page, 17)
    );
    assert_eq!((own.search.per_beat, own.canaries[0].within), (1, 3), "cut to what there is");
    assert_eq!(
        own.rules.latency.window,
        Duration::from_secs(20 * 300),
        "an unwritten window grows to hold its samples"
    );
    assert_eq!(own.rules.errors.window, Duration::from_secs(20 * 300));
    assert_eq!((quick.probe_budget, quick.timeout), (Duration::from_millis(1500), Duration::from_millis(1500)));
}

#[test]
fn routes_match_by_everything() {
    let text = with_sections(
        "receivers: { x: { webhook: { url: \"http://h/\" } } }
routes:
  - { match: { severity: [page, ticket], signal: latency, reason: [cold_start], monitor: docs, labels: { team: a } }, to: [x] }
  - { to: [x] }
",
    );
    let loaded = loaded(&text);
    let matches = &loaded.fleet.routes[0].matches;
    assert_eq!(matches.severity, [Severity::Page, Severity::Ticket]);
    assert_eq!((&*matches.signal, &*matches.reason), (&[Signal::Latency][..], &[FailureReason::ColdStart][..]));
    assert_eq!(matches.monitor, ["docs"]);
    assert!(loaded.warnings[0].contains("no monitor carries the label 'team: a'"), "{:?}", loaded.warnings);
}

#[test]
fn anchors_and_merge_keys_work_and_keep_their_places() {
    let text = "version: 1
x-base: &base
  every: 30s
  rules: { latency: { p95: 300ms } }
monitors:
  - { id: a, url: \"http://a/\", <<: *base }
  - { <<: [*base], id: b, url: \"http://b/\", every: 60s }
";
    let fleet = loaded(text).fleet;
    let [a, b] = &fleet.monitors[..] else { panic!("there are two") };
    assert_eq!((a.every, b.every), (Duration::from_secs(30), Duration::from_secs(60)), "its own key wins");
    assert_eq!((a.rules.latency.line, b.rules.latency.line), (4, 4), "a rule stands where it is written");
    let many: String = (0..100).map(|at| format!("  - {{ id: m{at}, url: \"http://a/\", rules: *r }}\n")).collect();
    let text = format!("version: 1\nx-r: &r {{ latency: {{ p95: 1s }} }}\nmonitors:\n{many}");
    assert_eq!(loaded(&text).fleet.monitors.len(), 100, "one anchor may serve a hundred monitors");
}

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

#[test]
fn variables_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("token");
    std::fs::write(&secret, "geheim-file\n").unwrap();
    let text = with_monitor(&format!("auth: {{ bearer: \"${{file:{}}}\" }}", secret.display()));
    let bearer = loaded(&text).fleet.monitors[0].bearer.clone();
    assert_eq!(
        bearer.map(|bearer| bearer.expose().to_owned()).as_deref(),
        Some("geheim-file"),
        "the line break at the end is no part of it"
    );

    let text = with_sections("serin: { listen: \"127.0.0.1:${env:NO_PORT:-9001}\" }\n")
        .replace("docs.example.org", "${env:NO_HOST:-localhost}");
    let with_defaults = loaded(&text);
    assert_eq!(with_defaults.settings.listen.port(), 9001);
    let url = &with_defaults.fleet.monitors[0].url;
    assert_eq!(
        (&*url.shown, url.resolved.expose()),
        ("https://${env:NO_HOST:-localhost}/mcp", "https://localhost/mcp")
    );

    let text = with_monitor("auth: { bearer: \"${env:NO_TOKEN}\" }\nevery: \"${env:NO_EVERY}\"")
        .replace("docs.example.org", "${env:NO_HOST}");
    let expected = [
        "4:10 the variable NO_HOST is not set => set it, or write a default: `${env:NO_HOST:-…}`",
        "5:21 the variable NO_TOKEN is not set => set it, or write a default: `${env:NO_TOKEN:-…}`",
        "6:12 the variable NO_EVERY is not set => set it, or write a default: `${env:NO_EVERY:-…}`",
    ];
    check("refused where it will run", &text, &expected);
    let warned = load(&source(text), &secrets, Unset::Warn).expect("the rest is right");
    assert_eq!(warned.warnings.len(), 4, "and nobody is told of anything");
    assert!(warned.warnings[1].starts_with("warning: the variable NO_HOST is not set\n --> monitors.yaml:4:10"));
    assert!(warned.fleet.monitors[0].bearer.is_some(), "something stands in");

    check(
        "a file that is not there",
        &with_monitor("auth: { bearer: \"${file:/no/such/file}\" }"),
        &["5:21 the file '/no/such/file' cannot be read: entity not found => create it, readable for this user"],
    );
    check(
        "a reference of another kind",
        &with_monitor("every: \"${EVERY}\""),
        &[
            "5:12 'every' refers to something that cannot be understood => write `${env:NAME}`, `${env:NAME:-default}` or `${file:/path}`; `$${` for the characters themselves",
        ],
    );
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

#[test]
fn a_definition_hash_changes_exactly_when_something_does() {
    let hash = |text: &str| loaded(text).fleet.monitors[0].definition_hash.clone();
    let before = hash(FULL);
    assert_eq!(before, hash(&FULL.replace("receivers:\n", "\n\n# moved\nreceivers:\n")), "it only moved");
    assert_eq!(before, hash(&FULL.replace("sre@example.org", "ops@example.org")), "another section");
    for (from, to, sentence) in [
        ("800ms", "900ms", "a rule"),
        ("ERR-4417", "ERR-4418", "a canary"),
        ("team: docs", "team: web", "a label"),
        ("top_k: 5", "top_k: 6", "an argument"),
        ("${env:DOCS_TOKEN}", "${env:SERIN_TOKEN}", "the credential"),
    ] {
        assert_ne!(before, hash(&FULL.replace(from, to)), "{sentence}");
    }
    let receivers = |text: &str| loaded(text).fleet.receivers[0].definition_hash.clone();
    assert_ne!(
        receivers(FULL),
        receivers(&FULL.replace("${env:ONCALL_SECRET}", "${env:DOCS_TOKEN}")),
        "a rotated secret"
    );
}

#[test]
fn the_demos_file_is_right_as_it_stands() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("monitors.yaml");
    let source = read(&path).expect("it is there");
    for strictness in [Unset::Warn, Unset::Refuse] {
        let loaded = load(&source, &|_| None, strictness).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(loaded.warnings, Vec::<String>::new());
        assert_eq!(loaded.fleet.monitors.len(), 4);
    }
    let port = |name: &str| (name == "SERIN_DEMO_DOCS_PORT").then(|| "4711".to_owned());
    let loaded = load(&source, &port, Unset::Refuse).expect("it is right with another port too");
    assert_eq!(loaded.fleet.monitors[0].url.resolved.expose(), "http://127.0.0.1:4711/mcp");
}

#[test]
fn the_commit_comes_from_the_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("monitors.yaml");
    std::fs::write(&path, FULL).unwrap();
    assert_eq!(read(&path).unwrap().commit, std::env::var("SERIN_COMMIT").ok(), "outside git");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
        let done = Command::new("git").arg("-C").arg(folder.path()).args(identity).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let first = git(&["rev-parse", "HEAD"]);
    assert_eq!(read(&path).unwrap().commit, Some(format!("{first}-dirty")), "not committed yet");
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "second"]);
    let second = git(&["rev-parse", "HEAD"]);
    assert_eq!(read(&path).unwrap().commit.as_deref(), Some(&*second), "committed");
    std::fs::write(&path, format!("{FULL}# edited\n")).unwrap();
    assert_eq!(read(&path).unwrap().commit, Some(format!("{second}-dirty")), "edited since");
}

#[test]
fn a_file_that_is_not_there_says_so() {
    let error = read(Path::new("/no/such/monitors.yaml")).expect_err("there is none");
    assert!(matches!(&error, ReadError::Unreadable { path, .. } if path == "/no/such/monitors.yaml"), "{error}");
}

#[test]
fn the_exit_code_tells() {
    let folder = tempfile::tempdir().unwrap();
    let code = |text: &str, env: bool| {
        let config = folder.path().join("monitors.yaml");
        std::fs::write(&config, text).unwrap();
        format!("{:?}", run(CheckArgs { config, env, json: false }))
    };
    let (right, wrong) = (format!("{:?}", ExitCode::SUCCESS), format!("{:?}", ExitCode::FAILURE));
    let unset = with_monitor("auth: { bearer: \"${env:SERIN_TEST_NEVER_SET}\" }");
    assert_eq!(code(&with_monitor(""), true), right);
    assert_eq!(code(&with_monitor("evry: 1s"), false), wrong);
    assert_eq!(code(&unset, false), right, "a warning only");
    assert_eq!(code(&unset, true), wrong);
    let gone = CheckArgs { config: folder.path().join("gone.yaml"), env: false, json: true };
    assert_eq!(format!("{:?}", run(gone)), wrong);
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

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>()) {
        if let Err(found) = load(&source(bytes), &secrets, Unset::Refuse) {
            assert!(found.count() > 0 && !found.to_string().is_empty());
        }
    }

    #[test]
    fn damaged_files_never_panic_and_show_no_secret(bytes in damaged()) {
        match load(&source(bytes), &secrets, Unset::Refuse) {
            Ok(loaded) => shows_no_secret("loaded", &format!("{loaded:?}")),
            Err(found) => {
                shows_no_secret("refused", &format!("{found}{found:?}{}", found.styled()));
                assert!(found.count() > 0);
            }
        }
    }
}
