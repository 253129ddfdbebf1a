//! `serin route test`: who is told of what, as CI asks it.

use std::process::Command;

use serde_json::Value;

const FILE: &str = "version: 1
serin: { smtp: { host: h, from: a@b.example } }
receivers:
  log: { email: { to: [log@b.example] } }
  mail: { email: { to: [a@b.example] } }
  oncall: { email: { to: [oncall@b.example] } }
routes:
  - { match: { labels: { team: docs } }, to: [log], continue: true }
  - { match: { severity: page }, to: [oncall], fallback: mail }
  - { match: { reason: latency_elevated }, to: [mail, log], remind: 30m, escalate: [{ after: 15m, to: [oncall] }] }
  - { match: { severity: ticket, reason: schema_drift }, to: [log], group: { by: [team, zone], interval: 10m } }
  - { match: { severity: notice }, to: [mail], digest: { cron: \"0 9 * * mon\", zone: Europe/Berlin } }
maintenance:
  - { name: reindex, match: { signal: availability }, cron: \"0 2 * * 7\", for: 2h, zone: Europe/Berlin }
monitors:
  - { id: docs, url: \"https://a.example.org/mcp\", labels: { team: docs }, canaries: [{ id: a, query: b, expect: [c] }] }
  - { id: wiki, url: \"https://b.example.org/mcp\", rules: { availability: { severity: ticket } } }
";

#[test]
fn ci_learns_who_would_be_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("monitors.yaml");
    std::fs::write(&file, FILE).unwrap();
    let asked = |more: &[&str]| {
        let ran = Command::new(env!("CARGO_BIN_EXE_serin")).args(["route", "test"]).arg(&file).args(more).output();
        let ran = ran.unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        (ran.status.code(), String::from_utf8(said).unwrap())
    };
    let rows: [(&[&str], i32, &str, &str); 14] = [
        (
            &["--monitor", "wiki", "--reason", "schema_drift", "--severity", "ticket"],
            0,
            "ticket  contract schema_drift (wording): log (e-mail, line 11, in one message with team=, zone=, after 30 s and then every 10 min)\n",
            "people are notified of a group in one message",
        ),
        (
            &["--monitor", "wiki", "--severity", "notice", "--at", "2026-11-27T12:00:00Z"],
            0,
            "mail (e-mail, line 12, in the digest of 2026-11-30T08:00:00Z)",
            "and of notices on Monday at nine, as the clock is in Berlin",
        ),
        (
            &["--monitor", "docs", "--reason", "timeout", "--at", "2026-11-29T02:30:00+01:00", "--expect", "oncall"],
            1,
            "page    availability timeout: log (e-mail, line 8), oncall (e-mail, line 9; else mail)  – held back by reindex (line 14) until 2026-11-29 04:00 CET  – without oncall\n",
            "in a window nobody is told before its end",
        ),
        (
            &["--monitor", "docs", "--reason", "timeout", "--at", "2026-11-29T04:00:00+01:00", "--expect", "oncall"],
            0,
            "page    availability timeout: log (e-mail, line 8), oncall (e-mail, line 9; else mail)\n",
            "at its end everybody is",
        ),
        (
            &["--monitor", "docs", "--reason", "timeout", "--at", "tonight"],
            2,
            "with its offset from UTC",
            "a moment that is none",
        ),
        (
            &["--monitor", "docs", "--reason", "timeout"],
            0,
            "page    availability timeout: log (e-mail, line 8), oncall (e-mail, line 9; else mail)\n",
            "two routes, since the first goes on",
        ),
        (
            &["--monitor", "docs", "--reason", "latency_elevated", "--severity", "ticket"],
            0,
            "ticket  latency latency_elevated: log (e-mail, line 8), mail (e-mail, line 10); unless taken: oncall after 15 min (line 10), mail and log again after 30 min (line 10)\n",
            "one that both name is told once",
        ),
        (
            &["--monitor", "wiki", "--reason", "timeout"],
            0,
            "ticket  availability timeout: nobody\n",
            "nobody, and nobody was expected",
        ),
        (
            &["--monitor", "wiki", "--reason", "timeout", "--expect", "oncall"],
            1,
            "ticket  availability timeout: nobody  – without oncall\n",
            "somebody was",
        ),
        (
            &["--monitor", "docs", "--severity", "page", "--expect", "oncall", "--expect", "log"],
            0,
            "line 8",
            "both are",
        ),
        (
            &["--monitor", "docs", "--expect", "onkall"],
            1,
            "error: no receiver 'onkall'; did you mean 'oncall'?\n",
            "a name that is none",
        ),
        (&["--monitor", "dosc"], 1, "error: no monitor 'dosc'; did you mean 'docs'?\n", "nor is that"),
        (
            &["--monitor", "wiki", "--reason", "wrong_results"],
            1,
            "error: monitor 'wiki' cannot have that, as it is declared\n",
            "it asks no canaries",
        ),
        (&["--monitor", "wiki", "--reason", "timeot"], 2, "did you mean 'timeout'?", "a reason that is none"),
    ];
    for (more, code, expected, sentence) in rows {
        let (ended, said) = asked(more);
        let is_whole = expected.ends_with('\n');
        assert!(if is_whole { said == expected } else { said.contains(expected) }, "{sentence}: {said}");
        assert_eq!(ended, Some(code), "{sentence}: {said}");
    }

    let (_, said) = asked(&["--monitor", "docs", "--reason", "timeout", "--expect", "mail", "--json"]);
    let told: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        told["topics"][0]["to"][1],
        serde_json::json!({"receiver": "oncall", "fallback": "mail", "line": 9, "together": null})
    );
    assert_eq!(told["topics"][0]["missing"], serde_json::json!(["mail"]));
    let (_, said) = asked(&["--monitor", "docs", "--reason", "latency_elevated", "--json"]);
    let told: Value = serde_json::from_str(&said).unwrap();
    let step = serde_json::json!({"after_seconds": 900, "event": "escalation", "to": ["oncall"], "line": 10});
    assert_eq!(told["topics"][0]["unless_taken"][0], step);
}
