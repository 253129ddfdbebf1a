//! Maintenance windows that would never come, never end, or are not what somebody meant.

use crate::{check, with_sections};

#[test]
fn windows_of_maintenance() {
    let rows: [(&str, &str, &[&str]); 13] = [
        (
            "nothing says when",
            "{ name: x }",
            &[
                "3:16 maintenance window 1 has no 'cron' => such as `cron: \"0 2 * * sun\"` with `for: 2h`, or `from` and `to`",
            ],
        ),
        (
            "no length",
            "{ cron: \"0 2 * * 7\" }",
            &["3:16 maintenance window 1 has no 'for' => how long it lasts, such as `for: 2h`"],
        ),
        (
            "seconds in front",
            "{ cron: \"0 0 2 * * 7\", for: 2h }",
            &[
                "3:24 '0 0 2 * * 7' is no cron expression: Invalid pattern: Pattern must have 5 fields when seconds are disallowed. => five fields: minute, hour, day of the month, month, day of the week (0 or 7 is Sunday)",
            ],
        ),
        (
            "a day that never comes",
            "{ cron: \"0 2 30 2 *\", for: 2h }",
            &["3:24 '0 2 30 2 *' never comes => no month has such a day; the third field is the day of the month"],
        ),
        (
            "too short",
            "{ cron: \"0 2 * * *\", for: 5s }",
            &["3:42 'for' is out of its range: '5s' => between 1m and 7d"],
        ),
        (
            "too long",
            "{ cron: \"0 2 * * *\", for: 8d }",
            &["3:42 'for' is out of its range: '8d' => between 1m and 7d"],
        ),
        (
            "a zone that is misspelled",
            "{ cron: \"0 2 * * *\", for: 1h, zone: Europe/Berlim }",
            &["3:52 no time zone is called 'Europe/Berlim' => did you mean 'Europe/Berlin'?"],
        ),
        (
            "both again and again, and once",
            "{ cron: \"0 2 * * *\", for: 1h, from: 2026-11-27T22:00:00Z }",
            &["3:46 maintenance window 1 runs again and again, and once => make them two windows"],
        ),
        (
            "an end before its beginning",
            "{ from: 2026-11-27T22:00:00Z, to: 2026-11-27T21:00:00Z }",
            &["3:50 maintenance window 1 ends before it begins => `to` comes after `from`"],
        ),
        (
            "no offset from UTC",
            "{ from: 2026-11-27 22:00, to: 2026-11-27T23:00:00Z }",
            &[
                "3:24 'from' is no moment: '2026-11-27 22:00' => with its offset from UTC, such as `2026-11-27T22:00:00+01:00`",
            ],
        ),
        (
            "an end alone",
            "{ to: 2026-11-27T22:00:00Z }",
            &["3:16 maintenance window 1 has no 'from' => such as `2026-11-27T22:00:00+01:00`"],
        ),
        (
            "a length of what runs once",
            "{ from: 2026-11-27T22:00:00Z, to: 2026-11-27T23:00:00Z, for: 1h }",
            &[
                "3:72 maintenance window 1 runs once, and has 'for' => `from` and `to` say it all, each with its offset from UTC",
            ],
        ),
        (
            "an unknown monitor",
            "{ match: { monitor: docz }, cron: \"0 2 * * *\", for: 1h }",
            &["3:36 maintenance window 1 matches unknown monitor 'docz' => did you mean 'docs'?"],
        ),
    ];
    for (sentence, window, expected) in rows {
        check(sentence, &with_sections(&format!("maintenance: [ {window} ]\n")), expected);
    }
}
