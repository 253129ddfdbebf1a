//! Drills that would never come, come too often, or tell nobody.

use crate::{check, with_sections};

const TOLD: &str =
    "receivers: { oncall: { webhook: { url: \"https://h.example.org/\" } } }\nroutes: [{ to: [oncall] }]\n";

#[test]
fn drills() {
    let rows: [(&str, &str, &[&str]); 14] = [
        ("nothing says when", "{ to: [oncall] }", &["3:11 drill 1 has no 'cron' => such as `cron: \"0 10 * * mon\"`"]),
        (
            "seconds in front",
            "{ cron: \"0 0 10 * * 1\" }",
            &[
                "3:19 '0 0 10 * * 1' is no cron expression: Invalid pattern: Pattern must have 5 fields when seconds are disallowed. => five fields: minute, hour, day of the month, month, day of the week (0 or 7 is Sunday)",
            ],
        ),
        (
            "a day that never comes",
            "{ cron: \"0 10 31 4 *\" }",
            &["3:19 '0 10 31 4 *' never comes => no month has such a day; the third field is the day of the month"],
        ),
        (
            "a zone that is misspelled",
            "{ cron: \"0 10 * * 1\", zone: Europe/Berlim }",
            &["3:39 no time zone is called 'Europe/Berlim' => did you mean 'Europe/Berlin'?"],
        ),
        (
            "twice an hour",
            "{ cron: \"0,30 10 * * 1\" }",
            &[
                "3:19 drill 1 comes more often than every hour => it is as loud as a page: name one minute, such as `0 10 * * mon`",
            ],
        ),
        (
            "every minute",
            "{ cron: \"* * * * *\" }",
            &[
                "3:19 drill 1 comes more often than every hour => it is as loud as a page: name one minute, such as `0 10 * * mon`",
            ],
        ),
        (
            "a receiver that is misspelled",
            "{ cron: \"0 10 * * 1\", to: [oncal] }",
            &["3:38 drill 1 tells unknown receiver 'oncal' => did you mean 'oncall'?"],
        ),
        (
            "a receiver named twice",
            "{ cron: \"0 10 * * 1\", to: [oncall, oncall] }",
            &["3:46 receiver 'oncall' is named twice => keep one of the two"],
        ),
        (
            "nobody is named",
            "{ cron: \"0 10 * * 1\", to: [] }",
            &["3:33 drill 1 has no 'to' => name a receiver, or leave `to` out for all that routes can reach"],
        ),
        (
            "too short",
            "{ cron: \"0 10 * * 1\", timeout: 5s }",
            &["3:42 'timeout' is out of its range: '5s' => between 10s and 30m"],
        ),
        (
            "too long",
            "{ cron: \"0 10 * * 1\", timeout: 31m }",
            &["3:42 'timeout' is out of its range: '31m' => between 10s and 30m"],
        ),
        (
            "one drill twice, the receivers in another order",
            "{ cron: \"0 10 * * 1\", to: [oncall] }, { cron: \"0 10 * * 1\", zone: UTC, to: [oncall] }",
            &["3:49 drill 2 tells the same receivers at the same times => keep one of the two"],
        ),
        (
            "a window's key",
            "{ cron: \"0 10 * * 1\", for: 5m }",
            &[
                "3:33 drill 1 has no key 'for' => 'for' is a key of 'maintenance' and of 'monitors.rules.latency': is it indented as it should be?",
            ],
        ),
        (
            "a single one without its brackets",
            "0 10 * * 1",
            &["3:11 drill 1 takes keys with values, and this is a single value => give it keys with values"],
        ),
    ];
    for (sentence, drills, expected) in rows {
        check(sentence, &with_sections(&format!("drills: [ {drills} ]\n{TOLD}")), expected);
    }
}

#[test]
fn drills_where_nobody_could_be_told() {
    check(
        "no route leads anywhere",
        &with_sections("drills: [{ cron: \"0 10 * * 1\" }]\n"),
        &[
            "3:10 drill 1 tells nobody: no route leads to a receiver => declare `routes`, or name receivers, such as `to: [oncall]`",
        ],
    );
}
