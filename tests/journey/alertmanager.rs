//! What Serin tells a real Alertmanager fires as long as the incident is open, and not longer.

use std::process::Stdio;
use std::time::Duration;

use axum::Json;
use axum::routing::post;
use serde_json::Value;
use serin_reference::lab::kinds::{Dose, Fault};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::stage::{Expected, Stage, reference};

const EMPTY: Expected =
    Expected { monitor: "docs", signal: "quality", reason: "empty_results", severity: "page", stage: "search" };
/// How long an alert has to fire: many times the time after which this Alertmanager takes one for resolved.
const FIRES: Duration = Duration::from_secs(30);

/// An Alertmanager that tells everything at once.
struct Alertmanager {
    url: String,
    /// What it told, alert by alert: the incident, and `firing` or `resolved`.
    told: mpsc::UnboundedReceiver<(String, String)>,
    client: reqwest::Client,
    _process: Child,
    _folder: tempfile::TempDir,
}

impl Alertmanager {
    async fn start() -> Self {
        crate::stage::crypto();
        let (tell, told) = mpsc::unbounded_channel();
        let hook = move |Json(body): Json<Value>| async move {
            for alert in body["alerts"].as_array().unwrap() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                drop(tell.send((text(&alert["labels"]["incident"]), text(&alert["status"]))));
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let hooks = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, axum::Router::new().route("/", post(hook))).await });
        let folder = tempfile::tempdir().unwrap();
        let file = format!(
            "global: {{ resolve_timeout: 5s }}\n\
             route: {{ receiver: test, group_by: ['...'], group_wait: 0s, group_interval: 1s }}\n\
             receivers: [{{ name: test, webhook_configs: [{{ url: \"http://{hooks}/\" }}] }}]\n"
        );
        std::fs::write(folder.path().join("alertmanager.yml"), file).unwrap();
        let mut process = Command::new("prometheus-alertmanager")
            .arg(format!("--config.file={}", folder.path().join("alertmanager.yml").display()))
            .arg(format!("--storage.path={}", folder.path().join("data").display()))
            .args(["--web.listen-address=127.0.0.1:0", "--cluster.listen-address="])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("tests/install.sh installs it");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let address = loop {
            let line = lines.next_line().await.unwrap().unwrap_or_else(|| panic!("it ended: {said:?}"));
            if let Some((_, address)) = line.split_once("address=").filter(|_| line.contains("Listening on")) {
                break address.trim().to_owned();
            }
            said.push(line);
        };
        // A full pipe would stop it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { url: format!("http://{address}"), told, client, _process: process, _folder: folder }
    }

    /// The alerts that fire.
    async fn firing(&self) -> Vec<Value> {
        let answer = self.client.get(format!("{}/api/v2/alerts?active=true", self.url)).send().await.unwrap();
        answer.json().await.unwrap()
    }

    /// Waits until the one alert that fires would end later than this.
    async fn ends_after(&self, before: &Value) -> Value {
        loop {
            if let [alert] = &self.firing().await[..]
                && alert["endsAt"].as_str() > before["endsAt"].as_str()
            {
                return alert.clone();
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs prometheus-alertmanager: tests/install.sh"]
async fn an_alert_fires_until_its_incident_ends_also_over_a_restart() {
    let mut alertmanager = Alertmanager::start().await;
    let server = reference().await;
    let monitors = format!(
        "  - id: docs\n    url: {}\n    labels: {{ team: docs }}\n    canaries:\n      \
         - {{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }}\n",
        server.mcp_url()
    );
    let receiver = format!("  prometheus: {{ alertmanager: {{ url: \"{}/\" }} }}\n", alertmanager.url);
    let mut stage = Stage::with(&receiver, "  - { to: [inbox, mail, prometheus] }\n", &monitors).await;
    stage.well("docs").await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let opened = stage.opened("nothing is found", EMPTY).await;
    let id = opened.incident.as_ref().unwrap().id.clone();
    let told = stage.soon("it is told to people", alertmanager.told.recv()).await.unwrap();
    assert_eq!(told, (id.clone(), "firing".to_owned()));
    let first = alertmanager.firing().await.remove(0);
    let labels = &first["labels"];
    assert_eq!((&labels["alertname"], &labels["team"]), (&"SerinQuality".into(), &"docs".into()), "{first:#}");
    assert_eq!(first["annotations"]["runbook_url"], opened.runbook_url, "{first:#}");

    tokio::time::sleep(FIRES).await;
    let later = stage.soon("it is posted again", alertmanager.ends_after(&first)).await;
    assert_eq!(later["labels"], first["labels"]);
    stage.signal("KILL");
    stage.ended().await;
    stage.again().await;
    stage.soon("and by the next process", alertmanager.ends_after(&later)).await;
    assert!(alertmanager.told.try_recv().is_err(), "nothing was said to be over meanwhile");

    server.faults().off(Fault::EmptyResults);
    stage.resolved("it is over", &opened).await;
    let told = stage.soon("its end is told to people", alertmanager.told.recv()).await.unwrap();
    assert_eq!(told, (id, "resolved".to_owned()));
    assert_eq!(alertmanager.firing().await, Vec::<Value>::new(), "nothing fires");
}
