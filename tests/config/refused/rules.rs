//! Rules.

use crate::{check, with_monitor};

#[test]
fn rules_that_cannot_mean_what_they_say() {
    const TWO: &str = "canaries: [{ id: a, query: q, expect: [s] }, { id: b, query: q, expect: [s] }]\n";
    let rows: [(&str, &str, &[&str]); 23] = [
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
        (
            "sentences of a server that is to be spared",
            "search: { fresh: \"off\", harvest: true }",
            &["6:38 'fresh: off' asks nothing but canaries => leave one of them out"],
        ),
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
            "a number of wrong answers that is none",
            "rules: { quality: { after: sometimes } }",
            &["6:32 'after' takes a whole number, and this is 'sometimes' => between 1 and 1000, or auto"],
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
            "a question that cannot get into a text",
            "search: { query: /body/q, arguments: { body: '{}' } }",
            &[
                "6:22 the question cannot stand at '/body/q': '/body' is a text => leave out what stands in the way, or name another place by `query`",
            ],
        ),
        (
            "a question behind the end of a list",
            "search: { query: [/texts/2, /texts/x, /texts/1], arguments: { texts: [a] } }",
            &[
                "6:23 the question cannot stand at '/texts/2': '/texts' is a list of 1 => leave out what stands in the way, or name another place by `query`",
                "6:33 the question cannot stand at '/texts/x': '/texts' is a list of 1 => leave out what stands in the way, or name another place by `query`",
            ],
        ),
        (
            "one question upon another",
            "search: { query: [/a, /a/b, /c/d, /c] }",
            &[
                "6:27 the question cannot stand at '/a/b': '/a' is the question itself => leave out what stands in the way, or name another place by `query`",
                "6:33 the question cannot stand at '/c/d': another place above it takes the question => leave out what stands in the way, or name another place by `query`",
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
