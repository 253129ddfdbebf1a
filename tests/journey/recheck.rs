//! A fix is confirmed at once: somebody asks for a look, by command, API or page.

use serde_json::Value;
use serin_reference::lab::kinds::{Dose, Fault};
use tokio::process::Command;

use crate::stage::{Stage, reference, signal};

/// Runs `serin recheck` against the stage's Serin: exit code and what it says.
async fn recheck(stage: &Stage, id: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["recheck", id, "--url", &stage.pages]);
    let ran = stage.soon("serin recheck ends", command.output()).await.unwrap();
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (ran.status.code(), said)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_is_confirmed_without_waiting_for_the_schedule() {
    let server = reference().await;
    // A beat an hour: nothing in here comes from the schedule.
    let monitors = format!(
        "  - id: docs\n    url: {}\n    every: 1h\n    rules: {{ availability: {{ after: 1, page_after: 0s }} }}\n",
        server.mcp_url()
    );
    let stage = Stage::start(&monitors).await;
    stage.until("it is there", "docs", |_| true).await;
    let (code, said) = recheck(&stage, "docs").await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("docs: good in ") && said.contains("the monitor is up"), "{said}");

    server.faults().on(Fault::Refused, Dose::of(Fault::Refused));
    server.faults().settled().await;
    let (code, said) = recheck(&stage, "docs").await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("connection refused (127.0.0.1:") && said.contains("availability open"), "{said}");

    server.faults().all_off();
    server.faults().settled().await;
    let (code, said) = recheck(&stage, "docs").await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the monitor is recovering") && said.contains("1 of 2 good beats"), "{said}");

    // The second look by the form, as a browser without a script sends it: the page it leads to tells what came of it.
    let form = stage.client.post(format!("{}/monitors/docs/recheck", stage.pages));
    let own = form.header("content-type", "application/x-www-form-urlencoded").body("incident=");
    let landed = own.send().await.unwrap();
    let path = format!("{}?{}", landed.url().path(), landed.url().query().unwrap_or_default());
    stage.until("the second good beat ends it", "docs", |body| body["state"] == "up").await;
    let page = stage.page(&path).await;
    assert!(page.contains("Rechecked: good in ") && page.contains("The monitor is up."), "{page}");

    let answer =
        stage.client.post(format!("{}/api/v1/monitors/docs/recheck?wait=60", stage.pages)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let body: Value = answer.json().await.unwrap();
    assert_eq!((&body["recheck"]["verdict"], &body["monitor"]["state"]), (&"good".into(), &"up".into()), "{body}");
    assert_eq!(signal(&body["monitor"], "availability")["phase"], "quiet");

    let (code, said) = recheck(&stage, "nobody").await;
    assert_eq!(code, Some(1));
    assert!(said.contains("there is no monitor with this id"), "{said}");
}
