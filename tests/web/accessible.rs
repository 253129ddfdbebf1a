//! Every page read by axe, in both themes, on a phone and on a desk.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use reqwest::{Method, StatusCode};
use serin::deliver::ack_link::{AckLink, AckLinks};
use serin::domain::fleet::Fleet;
use serin::domain::maintenance::{MaintenanceWindow, Stretch, WindowRuns};
use serin::domain::monitor::MonitorId;
use serin::domain::reason::FailureReason;
use serin::domain::receiver::{Channel, Receiver};
use serin::domain::route::Match;
use serin::live::banner::Banner;
use serin::store::values::change_set::{ChangeSet, TranscriptRow};

use crate::fixture::{self, Running};
use crate::{ask, form, get, lists};

/// The lived-in fleet with everything else that a page can show: receivers, windows, silences, transcripts, a banner.
async fn furnished() -> Running {
    let running = fixture::lived_in().await;
    furnish(&running).await;
    let silence = |monitor| {
        let fields = [("monitor", monitor), ("lasts", "3600"), ("comment", "disks are changed"), ("actor", "Ada")];
        form(ask(&running, Method::POST, "/silences"), &fields).send()
    };
    for monitor in ["legal", "tickets"] {
        assert_eq!(silence(monitor).await.unwrap().status(), StatusCode::SEE_OTHER);
    }
    running
}

/// Declares receivers and windows, keeps a transcript, and raises a banner.
pub(crate) async fn furnish(running: &Running) {
    let now = Utc::now();
    let receiver = |(name, to): (&str, &str)| {
        Arc::new(Receiver {
            name: name.to_owned(),
            channel: Channel::Email { to: vec![to.to_owned()] },
            at_most: None,
            line: 9,
            definition_hash: "h".to_owned(),
        })
    };
    let window = |name: &str, monitor: &str, from: i64, to: i64| MaintenanceWindow {
        name: name.to_owned(),
        matches: Match { monitor: vec![monitor.to_owned()], ..Match::default() },
        runs: WindowRuns::Once(Stretch { from: now + TimeDelta::hours(from), to: now + TimeDelta::hours(to) }),
        line: 4,
    };
    let declared = running.fleet.borrow().clone();
    running.fleet.send_replace(Arc::new(Fleet {
        receivers: [("oncall", "oncall@example.org"), ("mail", "sre@example.org")].map(receiver).to_vec(),
        discovery: lists::declared(),
        maintenance: vec![window("new disks", "sales", -1, 1), window("move", "papers", 24, 26)],
        ..(*declared).clone()
    }));
    lists::stand(&running.listings, now);
    let kept = TranscriptRow {
        monitor: MonitorId::new("support-kb"),
        started_at: now - TimeDelta::minutes(14),
        incident: fixture::incident_id(0),
        reason: FailureReason::WrongResults,
        text: "> POST /mcp\n< 200 OK\n".into(),
        leads_since: None,
    };
    running.store.commit(ChangeSet { transcripts: vec![kept], ..ChangeSet::default() }).await.unwrap();
    running.live.raise(Banner {
        kind: "config",
        text: "error: monitor 'docs' notifies unknown receiver 'oncal'".to_owned(),
        since: now - TimeDelta::minutes(3),
    });
}

/// Every page there is, with the states in which it looks different.
fn pages(running: &Running) -> Vec<String> {
    let take = |nth: usize| {
        let until = (Utc::now() + TimeDelta::days(1)).timestamp();
        let incident = fixture::incident_id(nth);
        AckLinks::new(fixture::KEY).url("", AckLink { incident: &incident, receiver: "oncall", until })
    };
    let incident = |nth: usize, rest: &str| format!("/incidents/{}{rest}", fixture::incident_id(nth));
    let plain = [
        "/",
        "/?q=legal",
        "/?q=nothing-like-it",
        "/?q=state:nonsense",
        "/?state=degraded&group=team",
        "/monitors/support-kb",
        "/monitors/docs?range=30d&heat=35d",
        "/monitors/legal?said=recheck",
        "/monitors/docs/why",
        "/incidents",
        "/incidents?state=open",
        "/deliveries",
        "/deliveries?state=dead",
        "/receivers",
        "/lists",
        "/lists?said=accepted&list=prod",
        "/silences",
        "/runbooks",
        "/runbooks/wrong_results",
        "/nowhere",
        "/status",
    ];
    let of_incidents = [
        incident(0, ""),
        incident(1, ""),
        incident(4, ""),
        incident(31, "?said=taken"),
        incident(0, "/why"),
        incident(0, "/transcripts"),
        incident(2, "/transcripts"),
        take(0),
        take(4),
        take(31),
    ];
    plain.map(str::to_owned).into_iter().chain(of_incidents).map(|path| format!("{}{path}", running.url)).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium and node; run with --ignored"]
async fn no_page_has_anything_that_axe_finds() {
    let (running, closed) = (furnished().await, fixture::serve(Some("let-me-in"), fixture::fleet(&[])).await);
    let silences = get(&running, "/silences").await.1;
    assert!(silences.contains("disks are changed") && silences.contains("new disks"), "{silences}");
    assert!(get(&running, "/receivers").await.1.contains("Send a test"));
    let open = fixture::serve(None, fixture::fleet(&[])).await;
    let mut all = pages(&running);
    all.extend(["/login", "/login?next=/incidents"].map(|path| format!("{}{path}", closed.url)));
    // Nothing was watched yet.
    all.extend(["/", "/incidents", "/deliveries", "/silences"].map(|path| format!("{}{path}", open.url)));
    let run = tokio::process::Command::new("node")
        .args(["axe.mjs", &serde_json::to_string(&all).unwrap()])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status();
    let status = tokio::time::timeout(Duration::from_mins(15), run).await.expect("it ends").unwrap();
    assert!(status.success(), "somebody cannot read a page; see above");
}
