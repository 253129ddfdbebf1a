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
    let glob = "without quotes this is an alias, and no anchor above it has that name \
                => a text that begins with `*` needs quotes: `\"*…\"`";
    check(
        "a glob without quotes",
        &with_monitor("canaries: [{ id: c, query: **/chess*, expect: [a] }]"),
        &[&format!("5:32 {glob}")],
    );
    check("a pattern of files", &with_monitor("name: *.md"), &[&format!("5:11 {glob}")]);
    let password = faults(&with_monitor("auth: { bearer: *s3cr.et }")).to_string();
    assert!(!password.contains("s3cr"), "a password is not repeated: {password}");
}

#[test]
fn what_people_mistype_is_named_with_its_mend() {
    let monitor = |more: &str| format!("version: 1\nmonitors:\n- id: docs\n  url: http://localhost:1/mcp\n{more}");
    let canary = |more: &str| monitor(&format!("  canaries:\n  - id: c\n{more}"));
    let rows = [
        ("a tab", "version: 1\nmonitors:\n\t- id: docs\n".to_owned(), "3:1 ", "indent with blanks: YAML takes no tabs"),
        ("a tab further in", monitor("\tname: Docs\n"), "5:1 ", "indent with blanks: YAML takes no tabs"),
        (
            "a tab behind blanks, below an empty line",
            monitor("  name: Docs\n\n  \tevery: 60s\n"),
            "7:3 ",
            "indent with blanks: YAML takes no tabs",
        ),
        (
            "a key too far in",
            monitor("   every: 60s\n"),
            "5:",
            "this line is indented by 3, the one above by 2: keys of one map stand exactly below each other",
        ),
        (
            "a key not far enough in",
            monitor(" every: 60s\n"),
            "5:",
            "this line is indented by 1, the one above by 2: keys of one map stand exactly below each other",
        ),
        (
            "a colon in a question",
            canary("    query: how do I reset: my password\n    expect: [a]\n"),
            "7:",
            "a text with a colon and a blank in it needs quotes: `query: \"…: …\"`",
        ),
        (
            "the same in braces",
            monitor("  canaries: [{ id: c, query: what is this: a test, expect: [a] }]\n"),
            "5:",
            "a text with a colon and a blank in it needs quotes: `query: \"…: …\"`",
        ),
        (
            "no blank behind a colon",
            "version: 1\nmonitors:\n- id: docs\n  url:http://localhost:1/mcp\n".to_owned(),
            "4:",
            "`url:` needs a blank behind its colon",
        ),
        (
            "a quote left open",
            monitor("  name: \"Docs\n  every: 60s\n"),
            "6:",
            "the \" of the line above is never closed",
        ),
        (
            "a quote left open in a list",
            monitor("  health:\n  - \"http://localhost:1/health\n"),
            "7:",
            "the \" of the line above is never closed",
        ),
        (
            "a quote left open in braces",
            monitor("  labels: { team: 'it''s }\n"),
            "5:19",
            "this ' is never closed: put another one where its text ends",
        ),
        (
            "a double quote left open in braces",
            monitor("  labels: { team: \"a \\\" b }\n"),
            "5:19",
            "this \" is never closed: put another one where its text ends",
        ),
        (
            "an escape that there is not",
            monitor("  name: \"C:\\docs\"\n"),
            "5:9",
            "between \" a backslash begins an escape: write two of them, or put the text between '",
        ),
        (
            "a bracket left open",
            monitor("  labels: { team: search\n  every: 60s\n"),
            "6:",
            "the bracket of the line above is not closed",
        ),
        (
            "a text that begins with @",
            monitor("  name: @docs\n"),
            "5:",
            "a text that begins with this character needs quotes around it",
        ),
        (
            "a monitor's key at the margin",
            "version: 1\nmonitors:\n- id: docs\nurl: http://localhost:1/mcp\n".to_owned(),
            "4:1",
            "'url' is a key of 'monitors': is it indented as it should be?",
        ),
        (
            "a canary's key in its monitor",
            canary("    query: a\n    expect: [a]\n  within: 3\n"),
            "9:3",
            "'within' is a key of 'monitors.canaries' and of 'monitors.rules.quality': is it indented as it should be?",
        ),
        ("another program's word for the interval", monitor("  interval: 60s\n"), "5:3", "it is called 'every' here"),
        ("another word for canaries", monitor("  checks: []\n"), "5:3", "it is called 'canaries' here"),
        (
            "another word for the question",
            canary("    question: a\n    query: a\n    expect: [a]\n"),
            "7:5",
            "it is called 'query' here",
        ),
        ("another word for the address", monitor("  endpoint: x\n"), "5:3", "it is called 'url' here"),
        ("a letter left out", monitor("  evry: 60s\n"), "5:3", "did you mean 'every'?"),
        (
            "monitors without a dash",
            "version: 1\nmonitors:\n  id: docs\n  url: http://localhost:1/mcp\n".to_owned(),
            "3:3",
            "begin each item with a dash: `- id: …`",
        ),
    ];
    let mut wrong = Vec::new();
    for (sentence, text, place, mend) in rows {
        let said = lines(&faults(&text));
        let is_said = said.iter().any(|line| line.starts_with(place) && line.ends_with(&format!("=> {mend}")));
        wrong.extend((!is_said).then(|| format!("{sentence}: {said:#?}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_question_is_shown_whatever_words_it_holds_and_a_secret_beside_it_is_not() {
    let shown = |line: &str| faults(&with_monitor(line)).to_string();
    let question = shown("canaries:\n- id: c\n  query: what is the token: of x");
    assert!(question.contains("what is the token: of x"), "{question}");
    for line in ["auth: { bearer: geheim: x }", "canaries: [{ query: a, token: geheim: x }]", "password: geheim: x"] {
        let said = shown(line);
        assert!(!said.contains("geheim"), "{said}");
    }
}

#[test]
fn keys_that_are_not_known() {
    check("misspelled", &with_monitor("evry: 60s"), &["5:5 monitor 'docs' has no key 'evry' => did you mean 'every'?"]);
    check(
        "promised and not built",
        &with_monitor("owner: docs-team"),
        &["5:5 this version cannot honour 'owner' of monitor 'docs' yet => leave it out, so that nobody relies on it"],
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
    let counted = |written: &str| with_monitor(&format!("rules: {{ availability: {{ m_of_n: {written} }} }}"));
    let such_as = "such as `m_of_n: [3, 5]`, for 3 bad beats of the last 5";
    for (written, said, sentence) in [
        ("[4, 3]", format!("5:38 no more than 3 of 3 beats can be bad, and 'm_of_n' wants 4 => {such_as}"), "too many"),
        ("[0, 3]", "5:39 'm_of_n' is out of its range: '0' => between 1 and 60".to_owned(), "none"),
        ("[3, 61]", "5:42 'm_of_n' is out of its range: '61' => between 1 and 60".to_owned(), "of too many"),
        (
            "[1, 1]",
            "5:38 1 beat, one each 1m, never last longer than 'page_after: 45s', so that it never opens => look at more beats, or shorten 'page_after'".to_owned(),
            "too few for the time to a page",
        ),
        ("[3]", format!("5:38 'm_of_n' takes two numbers, and these are 1 => {such_as}"), "of how many"),
        ("[3, 5, 7]", format!("5:38 'm_of_n' takes two numbers, and these are 3 => {such_as}"), "three"),
        (
            "3",
            "5:38 'm_of_n' takes a list, and this is a single value => put it into brackets: `[…]`".to_owned(),
            "one",
        ),
        (
            "[3, 5], after: 3",
            "5:30 'm_of_n' and 'after' both say how many bad beats open it => leave one of them out".to_owned(),
            "both kinds",
        ),
    ] {
        check(sentence, &counted(written), &[&said]);
    }
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
