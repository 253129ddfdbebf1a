//! A file that cannot be read, keys and values that mean nothing, and how faults are shown.

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
