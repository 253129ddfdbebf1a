//! What is told while the wall clock is set, and by windows around the two changes of a zone's clock: no page is lost, none
//! comes twice, and windows hold between the right instants.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::clock::{Clock, is_off};
use crate::outage::SENT;
use crate::stage::{Stage, bounded, messages, received, times};

const HOUR: i64 = 3_600;

/// An outage in the middle of which somebody sets the clock by so many seconds.
async fn check_step(seconds: i64) {
    let (stage, mut file) = Stage::set(1).await;
    file.routes = "[{ to: [oncall], escalate: [{ after: 10s, to: [spare] }] }]";
    stage.write(&file);
    let clock = Clock::of(&stage);
    let (serin, address) = clock.start(&stage).await;
    stage.more_beats("s0", 2).await;
    stage.refuse(0);
    let opened = received(&stage.oncall, "incident.opened", Some("s0")).await.incident.expect("an incident");
    stage.counted("the page is recorded as sent", 1, SENT, &[]).await;
    clock.step(&format!("{seconds:+}"));
    is_off(&stage, address, seconds).await;
    let escalated = received(&stage.spare, "incident.escalated", Some("s0")).await;
    assert_eq!(escalated.incident.expect("an incident").id, opened.id, "{seconds:+} s: nobody took it, so others hear");
    stage.more_beats("s0", 4).await;
    stage.mend(0);
    for (inbox, first) in [(&stage.oncall, "incident.opened"), (&stage.spare, "incident.escalated")] {
        let resolved = received(inbox, "incident.resolved", Some("s0")).await.incident.expect("an incident");
        assert_eq!(resolved.id, opened.id, "{seconds:+} s");
        let of_incidents = messages(inbox).into_iter().filter(|message| message.incident.is_some());
        let heard: Vec<String> = of_incidents.map(|message| message.event).collect();
        assert_eq!(heard, [first, "incident.resolved"], "{seconds:+} s: each once, and in order");
    }
    assert_eq!(stage.get(address, "/readyz").await.0, 200, "{seconds:+} s: no loop stands still");
    stage.refuse(0);
    let again = bounded(
        "the next outage is told",
        stage.oncall.wait_for(|_| {
            messages(&stage.oncall).into_iter().filter(|message| message.event == "incident.opened").nth(1)
        }),
    );
    assert_ne!(again.await.incident.expect("an incident").id, opened.id, "{seconds:+} s");
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_set_forward_in_an_outage_loses_no_page_and_doubles_none() {
    check_step(HOUR).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_set_back_in_an_outage_loses_no_page_and_doubles_none() {
    check_step(-HOUR).await;
}

/// A night on which the clock of Berlin is changed, and the window of 02:30 in it.
struct Night {
    sentence: &'static str,
    /// The run of the window, UTC.
    from: &'static str,
    to: &'static str,
    /// The start of the run after that, UTC.
    next: &'static str,
}

fn moment(text: &str) -> DateTime<Utc> {
    text.parse().expect("a moment")
}

/// Sets the clock to so many seconds before a moment, and waits until Serin knows.
async fn set_before(clock: &Clock, stage: &Stage, address: Option<std::net::SocketAddr>, at: &str, seconds: i64) {
    let offset = (moment(at) - TimeDelta::seconds(seconds) - Utc::now()).num_seconds();
    clock.step(&format!("{offset:+}"));
    if let Some(address) = address {
        is_off(stage, address, offset).await;
    }
}

async fn window(stage: &Stage, address: std::net::SocketAddr) -> Value {
    let (_, text) = stage.get(address, "/api/v1/silences").await;
    let body: Value = serde_json::from_str(&text).expect("JSON");
    body["maintenance"][0].clone()
}

async fn check_night(night: Night) {
    let Night { sentence, from, to, next } = night;
    let (stage, file) = Stage::set(1).await;
    let window_keys = "{ match: { monitor: s0 }, cron: \"30 2 * * *\", for: 1h, zone: Europe/Berlin }";
    stage.write_text(&format!("{}maintenance:\n  - {window_keys}\n", stage.text(&file)));
    let clock = Clock::of(&stage);
    set_before(&clock, &stage, None, from, 12).await;
    let (serin, address) = clock.start(&stage).await;
    let said = window(&stage, address).await;
    assert_eq!((&said["next"][0]["from"], &said["next"][0]["to"]), (&json!(from), &json!(to)), "{sentence}");
    stage.more_beats("s0", 2).await;
    bounded("the window begins", async {
        while window(&stage, address).await["on_until"] != json!(to) {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(window(&stage, address).await["next"][0]["from"], json!(next), "{sentence}: and not twice");
    stage.refuse(0);
    let held = "SELECT COUNT(*) FROM holds WHERE kind = 'window' AND ended_at IS NULL";
    stage.counted("it is down, and held", 1, held, &[]).await;
    // Almost to the end of it, where the clock of the zone shows the time of its start once more, or has passed it by.
    set_before(&clock, &stage, Some(address), to, 8).await;
    stage.more_beats("s0", 2).await;
    let opened = received(&stage.oncall, "incident.opened", Some("s0")).await;
    let told_at = moment(&opened.at);
    assert!(told_at >= moment(to), "{sentence}: told when it is over, not before: {told_at}");
    let back = opened.evidence.0.iter().find(|(key, _)| key == "held_back_by").map_or("", |(_, value)| value);
    let until = moment(to).to_rfc3339_opts(SecondsFormat::Secs, true);
    assert!(back.contains("maintenance ") && back.contains(&format!("until {until}")), "{sentence}: {back}");
    let incident = opened.incident.expect("an incident");
    let opened_at = moment(&incident.opened_at);
    assert!(moment(from) <= opened_at && opened_at < moment(to), "{sentence}: with its true opening: {opened_at}");
    stage.mend(0);
    let resolved = received(&stage.oncall, "incident.resolved", Some("s0")).await;
    assert_eq!(resolved.incident.expect("an incident").id, incident.id, "{sentence}");
    assert_eq!(times(&stage.oncall, "incident.opened"), 1, "{sentence}: told once");
    assert_eq!(stage.get(address, "/readyz").await.0, 200, "{sentence}: no loop stands still");
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_that_would_start_in_the_hour_that_spring_skips_starts_after_it() {
    check_night(Night {
        sentence: "at 02:00 it is 03:00, so that 02:30 never comes",
        from: "2027-03-28T01:00:00Z",
        to: "2027-03-28T02:00:00Z",
        next: "2027-03-29T00:30:00Z",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_that_starts_in_the_hour_that_autumn_repeats_runs_once() {
    check_night(Night {
        sentence: "at 03:00 it is 02:00, so that 02:30 comes twice",
        from: "2027-10-31T00:30:00Z",
        to: "2027-10-31T01:30:00Z",
        next: "2027-11-01T01:30:00Z",
    })
    .await;
}
