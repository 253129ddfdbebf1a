//! Servers that nobody wrote down: a list in files or over HTTP, whatever becomes of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use parking_lot::Mutex;
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::process::Serin;
use crate::stage::{SECRET, Stage, bounded, messages, received, times};

/// What of the file makes a fleet out of a list; the stage's own monitors follow.
fn discover(from: &str) -> String {
    format!(
        "discover:\n  from:\n    - {{ id: prod, {from}, every: 5s, allow_private: [127.0.0.0/8], \
         monitor: {{ labels: {{ team: docs }} }} }}\nmonitors:\n"
    )
}

/// A list of these servers of the stage.
fn list(stage: &Stage, servers: impl IntoIterator<Item = usize>) -> String {
    let group = |server: usize| {
        let url = stage.servers[server].url("/mcp");
        json!({ "targets": [url], "labels": { "__id__": format!("s{server}"), "env": "test", "discovered": "another" } })
    };
    serde_json::Value::Array(servers.into_iter().map(group).collect()).to_string()
}

/// A server of lists that says what it is told to, with a status.
async fn list_server() -> (String, Arc<Mutex<String>>, Arc<AtomicU16>) {
    let (body, status) = (Arc::new(Mutex::new("[]".to_owned())), Arc::new(AtomicU16::new(200)));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/sd", listener.local_addr().expect("its address"));
    let (said, code) = (Arc::clone(&body), Arc::clone(&status));
    let answer = move || async move {
        let status = StatusCode::from_u16(code.load(Ordering::Relaxed)).expect("a status");
        (status, said.lock().clone())
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/sd", get(answer))).await });
    (url, body, status)
}

async fn serin_discover(stage: &Stage, address: std::net::SocketAddr, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(Serin::PROGRAM);
    command
        .arg("discover")
        .args(arguments)
        .args(["--url", &format!("http://{address}"), "--config"])
        .arg(stage.config());
    let output = bounded("serin discover ends", command.env("NO_COLOR", "1").output()).await.expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_list_names_is_watched_told_of_and_let_go() {
    let (stage, mut file) = Stage::set(3).await;
    file.monitors.truncate(1);
    file.receivers.push("ops");
    let text = stage.text(&file).replace("monitors:\n", &discover("file_sd: [targets/*.json]"));
    std::fs::create_dir(stage.folder.path().join("targets")).expect("a folder");
    let lists = |servers: &[usize]| {
        let path = stage.folder.path().join("targets/a.json");
        std::fs::write(path, list(&stage, servers.iter().copied())).expect("a file");
    };
    lists(&[1]);
    stage.write_text(&text);
    let (serin, address) = Serin::start(&stage.config()).await;
    let is_up = |page: &str| page.contains("\"state\":\"up\"");
    stage.shown(address, "/api/v1/monitors/prod-s1", "the listed server is up", is_up).await;
    let monitor = stage.monitor(address, "prod-s1").await;
    assert_eq!(monitor["labels"], json!({ "team": "docs", "env": "test", "discovered": "prod" }), "{monitor}");

    lists(&[1, 2]);
    stage.shown(address, "/api/v1/monitors/prod-s2", "and so is one that came", is_up).await;

    // What died is dropped by lists, and stays until it is well again.
    stage.refuse(2);
    received(&stage.oncall, "incident.opened", Some("prod-s2")).await;
    lists(&[1]);
    stage
        .shown(address, "/api/v1/discover", "it is gone and watched on", |page| page.contains("\"gone\":[\"prod-s2\"]"))
        .await;
    stage.mend(2);
    received(&stage.oncall, "incident.resolved", Some("prod-s2")).await;
    let is_unknown = |page: &str| page.contains("404") || !page.contains("prod-s2");
    stage.shown(address, "/api/v1/monitors?after=", "and then it goes", is_unknown).await;
    assert_eq!(times(&stage.oncall, "incident.opened"), 1, "{:?}", messages(&stage.oncall));
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_good_list_outlives_errors_and_restarts() {
    let (stage, mut file) = Stage::set(2).await;
    file.monitors.truncate(1);
    let (url, body, status) = list_server().await;
    *body.lock() = list(&stage, [1]);
    let text = stage.text(&file).replace("monitors:\n", &discover(&format!("http_sd: {{ url: {url} }}")));
    stage.write_text(&text);
    let (serin, address) = Serin::start(&stage.config()).await;
    let is_up = |page: &str| page.contains("\"state\":\"up\"");
    stage.shown(address, "/api/v1/monitors/prod-s1", "the listed server is up", is_up).await;
    for (code, said, expected) in
        [(503, "", "answers HTTP 503"), (200, "<html>", "no list of targets"), (200, "[{", "no list")]
    {
        status.store(code, Ordering::Relaxed);
        *body.lock() = said.to_owned();
        stage.shown(address, "/api/v1/discover", expected, |page| page.contains(expected)).await;
        assert!(stage.monitor(address, "prod-s1").await["state"] == "up", "it is watched all the same");
    }
    let (code, said) = serin_discover(&stage, address, &["list"]).await;
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("prod: 1 watched") && said.contains("! it is no list of targets"), "{said}");
    assert!(said.contains("UTC: came prod-s1"), "{said}");
    // The memory is Serin's own: what is done to it is undone, and nothing is forgotten meanwhile.
    let kept = stage.folder.path().join("discovered/prod.yaml");
    let text = std::fs::read_to_string(&kept).expect("the list");
    std::fs::remove_file(&kept).expect("it can be removed");
    bounded("the list is written again", async {
        while !std::fs::read_to_string(&kept).is_ok_and(|now| now == text) {
            assert!(stage.get(address, "/api/v1/monitors/prod-s1").await.0 == 200, "it is watched all the while");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    stage.more_beats("prod-s1", 3).await;
    assert!(stage.get(address, "/api/v1/monitors/prod-s1").await.0 == 200, "and after the file was looked at");
    std::fs::write(&kept, "monitors: []\n").expect("it can be altered");
    stage.more_beats("prod-s1", 12).await;
    assert_eq!(std::fs::read_to_string(&kept).ok().as_deref(), Some(&*text), "what was altered is put right");
    let removed = "SELECT COUNT(*) FROM monitors WHERE removed_at IS NOT NULL";
    assert_eq!(stage.count(removed, &[]).await, 0, "and was never in force");
    serin.kill().await;
    let (serin, address) = Serin::start(&stage.config()).await;
    stage.shown(address, "/api/v1/monitors/prod-s1", "also after a start without a list", is_up).await;
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_cannot_be_kept_is_told_at_once_and_kept_as_soon_as_it_can() {
    let (stage, mut file) = Stage::set(2).await;
    file.monitors.truncate(1);
    let (url, body, status) = list_server().await;
    *body.lock() = list(&stage, [1]);
    let discover =
        discover(&format!("http_sd: {{ url: {url} }}")).replace("discover:\n", "discover:\n  folder: kept\n");
    stage.write_text(&stage.text(&file).replace("monitors:\n", &discover));
    let in_the_way = stage.folder.path().join("kept/prod.yaml.new");
    std::fs::create_dir_all(&in_the_way).expect("a folder where a file should be");
    let (serin, address) = Serin::start(&stage.config()).await;
    let said = serde_json::to_string(&received(&stage.ops, "serin.trouble", None).await).expect("JSON");
    assert!(said.contains("list_unkept") && said.contains("prod: its list cannot be kept in"), "{said}");
    assert!(said.contains("none of it is watched until it can"), "{said}");
    status.store(503, Ordering::Relaxed);
    let has_both = |page: &str| page.contains("cannot be kept") && page.contains("answers HTTP 503");
    stage.shown(address, "/api/v1/discover", "neither hides the other", has_both).await;
    stage.shown(address, "/", "every page says so", |page| page.contains("the page of lists says more")).await;
    act(&stage, &[("a1", "read_list", "prod")]).await;
    stage.counted("a look waits for no disk", 0, "SELECT COUNT(*) FROM actions", &[]).await;
    std::fs::remove_dir(&in_the_way).expect("it goes");
    received(&stage.ops, "serin.trouble_over", None).await;
    let is_unread = |page: &str| !page.contains("cannot be kept") && page.contains("answers HTTP 503");
    stage.shown(address, "/api/v1/discover", "and what remains is said", is_unread).await;
    let is_up = |page: &str| page.contains("\"state\":\"up\"");
    stage.shown(address, "/api/v1/monitors/prod-s1", "what it named is watched", is_up).await;
    serin.stop().await;
}

/// A list of ten servers, all of them watched, that has lost eight at once; with the file, and what the list is answered with.
async fn one_that_lost_many() -> (Stage, String, Arc<AtomicU16>, (Serin, SocketAddr)) {
    let (stage, mut file) = Stage::set(1).await;
    file.rules = "{ availability: { after: 1000 } }";
    let (url, body, list_status) = list_server().await;
    let server = stage.servers[0].url("/mcp");
    let some = |count: usize| {
        let group = |n: usize| json!({ "targets": [server], "labels": { "__id__": format!("n{n}") } });
        serde_json::Value::Array((0..count).map(group).collect()).to_string()
    };
    *body.lock() = some(10);
    let text = stage.text(&file).replace("monitors:\n", &discover(&format!("http_sd: {{ url: {url} }}")));
    stage.write_text(&text);
    let (serin, address) = Serin::start(&stage.config()).await;
    for n in 0..10 {
        let page = format!("/api/v1/monitors/prod-n{n}");
        stage.shown(address, &page, "ten have worked", |page| page.contains("\"state\":\"up\"")).await;
    }
    *body.lock() = some(2);
    let told = received(&stage.ops, "serin.trouble", None).await;
    let said = serde_json::to_string(&told).expect("JSON");
    assert!(said.contains("list_held") && said.contains("8 fewer than before"), "{said}");
    (stage, text, list_status, (serin, address))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_let_go_is_let_go_though_serin_died_before() {
    let (stage, _, list_status, (serin, address)) = one_that_lost_many().await;
    let are_held = |page: &str| page.contains("\"held\":[\"prod-n2\"");
    stage.shown(address, "/api/v1/discover", "eight are held", are_held).await;
    list_status.store(503, Ordering::Relaxed);
    serin.kill().await;

    // What a Serin writes that answers and dies: others, those of a list that is gone, and a look.
    let rows =
        [("a1", "let_go", "prod prod-n0 prod-n99"), ("a2", "let_go", "gone gone-n2"), ("a3", "read_list", "prod")];
    act(&stage, &rows).await;
    let (serin, address) = Serin::start(&stage.config()).await;
    let waiting = "SELECT COUNT(*) FROM actions WHERE applied_at IS NULL";
    stage.counted("nothing is left to do about them", 0, waiting, &[]).await;
    let held = |page: &str| page.contains("\"held\":[\"prod-n2\"") && page.contains("\"gone\":[]");
    stage.shown(address, "/api/v1/discover", "and nobody lets go what they never saw", held).await;
    serin.kill().await;

    act(&stage, &[("a4", "let_go", "prod prod-n2 prod-n3 prod-n4 prod-n5")]).await;
    let (serin, address) = Serin::start(&stage.config()).await;
    let are_gone = |page: &str| page.contains("\"gone\":[\"prod-n2\"") && page.contains("\"held\":[\"prod-n6\"");
    stage.shown(address, "/api/v1/discover", "four are gone, and the others are held on", are_gone).await;
    stage.counted("and it is done", 0, waiting, &[]).await;
    let looks = "SELECT COUNT(*) FROM actions WHERE action = 'read_list'";
    assert_eq!(stage.count(looks, &[]).await, 0, "a look leaves none");
    serin.stop().await;
}

/// Writes what people ask for: id, what, and of what.
async fn act(stage: &Stage, rows: &[(&str, &str, &str)]) {
    let options = SqliteConnectOptions::new().filename(stage.database()).disable_statement_logging();
    let mut writing = options.connect().await.expect("the database opens");
    for (id, action, subject) in rows {
        let insert =
            "INSERT INTO actions (id, at, actor, action, subject) VALUES ($1, unixepoch() * 1000000, 'ada', $2, $3)";
        sqlx::query(insert).bind(id).bind(action).bind(subject).execute(&mut writing).await.expect("it is written");
    }
    writing.close().await.expect("it closes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_loses_many_is_held_until_somebody_lets_them_go() {
    let (stage, text, list_status, (serin, address)) = one_that_lost_many().await;
    let (code, said) = serin_discover(&stage, address, &["list"]).await;
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("8 missing, watched on: prod-n2") && said.contains("`serin discover accept prod`"), "{said}");
    let (status, page) = stage.get(address, "/monitors/prod-n9").await;
    assert_eq!(status, 200, "they are watched meanwhile");
    assert!(page.contains("one of many that the list names no longer"), "and their pages say why: {page}");

    // Nobody reads the list any more: what the file leaves out is not said to be watched on, and a person's word counts.
    list_status.store(503, Ordering::Relaxed);
    stage.write_text(&text.replace("id: prod,", "id: prod, hosts: [\"*.example.org\"],"));
    let is_left_out = |page: &str| page.contains("\"watched\":0") && page.contains("\"held\":[]");
    stage.shown(address, "/api/v1/discover", "none is watched, and none is held", is_left_out).await;
    stage.write_text(&text);
    stage.shown(address, "/api/v1/discover", "and all are", |page| page.contains("\"held\":[\"prod-n2\"")).await;
    stage.shown(address, "/api/v1/discover", "in force", |page| page.contains("\"watched\":10")).await;
    let (code, said) = serin_discover(&stage, address, &["accept", "prod"]).await;
    assert_eq!((code, said.contains("8 monitors of prod let go (prod-n2, prod-n3,")), (0, true), "{said}");
    stage.shown(address, "/api/v1/discover", "they are gone", |page| page.contains("\"gone\":[\"prod-n2\"")).await;
    list_status.store(200, Ordering::Relaxed);
    received(&stage.ops, "serin.trouble_over", None).await;
    stage.shown(address, "/api/v1/monitors?after=", "and then they go", |page| !page.contains("prod-n9")).await;
    let (code, said) = serin_discover(&stage, address, &["accept", "prod"]).await;
    assert_eq!((code, said.contains("nothing of this list is held")), (1, true), "{said}");
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_never_worked_tells_nobody_and_is_told_of_like_any_other_once_it_did() {
    let (stage, mut file) = Stage::set(2).await;
    file.monitors.truncate(1);
    stage.refuse(1);
    std::fs::write(stage.folder.path().join("targets.json"), list(&stage, [1])).expect("a file");
    let text = stage.text(&file).replace("monitors:\n", &discover("file_sd: [targets.json]"));
    stage.write_text(&text);
    let (serin, address) = Serin::start(&stage.config()).await;
    let in_quarantine = |page: &str| page.contains("prod-s1") && page.contains("quarantine");
    stage
        .shown(address, "/api/v1/incidents?state=open", "its incident is open and held", |page| {
            page.contains("prod-s1")
        })
        .await;
    let (_, page) = stage.get(address, "/api/v1/incidents?state=open").await;
    let incidents: serde_json::Value = serde_json::from_str(&page).expect("JSON");
    let id = incidents["incidents"][0]["id"].as_str().expect("an incident").to_owned();
    stage.shown(address, &format!("/api/v1/incidents/{id}"), "by its quarantine", in_quarantine).await;
    stage.more_beats("prod-s1", 5).await;
    assert_eq!(stage.count("SELECT COUNT(*) FROM deliveries", &[]).await, 0, "nobody is told");
    stage.mend(1);
    stage.shown(address, "/api/v1/monitors/prod-s1", "it works", |page| page.contains("\"state\":\"up\"")).await;
    stage.more_beats("prod-s1", 5).await;
    stage.refuse(1);
    received(&stage.oncall, "incident.opened", Some("prod-s1")).await;
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_worked_once_is_no_stranger_when_it_returns() {
    let (stage, mut file) = Stage::set(2).await;
    file.monitors.truncate(1);
    let path = stage.folder.path().join("targets.json");
    std::fs::write(&path, list(&stage, [1])).expect("a file");
    let text = stage.text(&file).replace("monitors:\n", &discover("file_sd: [targets.json]"));
    stage.write_text(&text);
    let (serin, address) = Serin::start(&stage.config()).await;
    let is_up = |page: &str| page.contains("\"state\":\"up\"");
    stage.shown(address, "/api/v1/monitors/prod-s1", "it works", is_up).await;
    stage.more_beats("prod-s1", 3).await;
    // It is off the list for a while, and dead when it is on it again.
    std::fs::write(&path, list(&stage, [])).expect("a file");
    let is_gone = |page: &str| !page.contains("prod-s1");
    stage.shown(address, "/api/v1/monitors?after=", "it goes", is_gone).await;
    stage.refuse(1);
    std::fs::write(&path, list(&stage, [1])).expect("a file");
    received(&stage.oncall, "incident.opened", Some("prod-s1")).await;

    // And so it is under the name of another source.
    stage.write_text(&text.replace("id: prod", "id: live"));
    received(&stage.oncall, "incident.resolved", Some("prod-s1")).await;
    received(&stage.oncall, "incident.opened", Some("live-s1")).await;

    // What is on no list any more goes along with its source.
    std::fs::write(&path, list(&stage, [])).expect("a file");
    stage
        .shown(address, "/api/v1/discover", "it is gone and watched on", |page| page.contains("\"gone\":[\"live-s1\"]"))
        .await;
    stage.write_text(&text.replace("id: prod", "id: next"));
    received(&stage.oncall, "incident.resolved", Some("live-s1")).await;
    received(&stage.oncall, "incident.opened", Some("next-s1")).await;
    // And nothing stays behind that would be taken for the list where the name is used once more.
    let kept = ["prod", "live", "next"].map(|id| stage.folder.path().join(format!("discovered/{id}.yaml")).exists());
    assert_eq!(kept, [false, false, true]);
    assert_eq!(stage.count("SELECT COUNT(*) FROM kept_lists", &[]).await, 1);
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_kept_lists_nothing_is_taken_for_removed() {
    let (mut stage, mut file) = Stage::set(2).await;
    file.monitors.truncate(1);
    file.receivers.push("ops");
    let (url, body, status) = list_server().await;
    *body.lock() = list(&stage, [1]);
    let text = stage.text(&file).replace("monitors:\n", &discover(&format!("http_sd: {{ url: {url} }}")));
    stage.write_text(&text);
    let folder = stage.folder.path().to_owned();
    let kept = |name: &str| folder.join(name).join("prod.yaml");
    let removed = "SELECT COUNT(*) FROM monitors WHERE removed_at IS NOT NULL";
    let (serin, address) = Serin::start(&stage.config()).await;
    let is_up = |page: &str| page.contains("\"state\":\"up\"");
    stage.shown(address, "/api/v1/monitors/prod-s1", "it works", is_up).await;
    stage.more_beats("prod-s1", 3).await;
    stage.refuse(1);
    received(&stage.oncall, "incident.opened", Some("prod-s1")).await;

    // A list that is named another folder, while nobody gives it any more, moves along.
    status.store(503, Ordering::Relaxed);
    stage.write_text(&text.replace("discover:\n", "discover:\n  folder: elsewhere\n"));
    let moved = bounded("the list is in the other folder", async {
        while !kept("elsewhere").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    moved.await;
    stage.shown(address, "/api/v1/discover", "and watched", |page| page.contains("\"watched\":1")).await;
    stage.more_beats("prod-s1", 2).await;
    status.store(200, Ordering::Relaxed);
    *body.lock() = list(&stage, [0, 1]);
    stage.shown(address, "/api/v1/monitors/prod-s0", "another came", is_up).await;
    status.store(503, Ordering::Relaxed);
    serin.stop().await;

    // What nobody kept, and what became of it, the database has, be it new or not.
    for broken in [None, Some("monitors: []\n"), Some("monitors: [\n"), Some("monitors: [{ id: \"\u{fffe}\" }]\n")] {
        std::fs::remove_file(kept("elsewhere")).expect("it is there");
        if let Some(text) = broken {
            std::fs::write(kept("elsewhere"), text).expect("a file");
        }
        let (serin, address) = Serin::start(&stage.config()).await;
        stage.more_beats("prod-s1", 2).await;
        let (_, page) = stage.get(address, "/api/v1/incidents?state=open").await;
        assert!(page.contains("prod-s1"), "its outage goes on: {page}");
        assert_eq!(stage.count(removed, &[]).await, 0, "nothing was taken for removed, with {broken:?}");
        serin.stop().await;
    }

    // While somebody else holds the database, nobody knows whether there is more to be put back.
    std::fs::remove_file(kept("elsewhere")).expect("it is there");
    stage.look_away().await;
    let options = SqliteConnectOptions::new().filename(stage.database()).pragma("locking_mode", "EXCLUSIVE");
    let mut holder = options.connect().await.expect("a connection");
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut holder).await.expect("the lock");
    let serin = Serin::spawn(&stage.config());
    let said = serde_json::to_string(&received(&stage.ops, "serin.trouble", None).await).expect("JSON");
    assert!(said.contains("has not started"), "{said}");
    sqlx::query("ROLLBACK").execute(&mut holder).await.expect("the lock is let go");
    holder.close().await.expect("it closes");
    bounded("it starts", serin.started()).await.expect("its address");
    stage.more_beats("prod-s1", 2).await;
    assert_eq!(stage.count(removed, &[]).await, 0, "nothing was taken for removed");
    serin.stop().await;
    assert_eq!(times(&stage.oncall, "incident.resolved"), 0, "{:?}", messages(&stage.oncall));

    // Of what the file declares no more nothing is kept, also where it was taken out while no Serin ran.
    let whole = std::fs::read_to_string(stage.config()).expect("the file");
    stage.write_text(&whole.replace("id: prod,", "id: other,"));
    let (serin, _) = Serin::start(&stage.config()).await;
    let left = "SELECT COUNT(*) FROM kept_lists WHERE source = 'prod'";
    bounded("the list of prod is forgotten", async {
        while stage.count(left, &[]).await > 0 || kept("elsewhere").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    serin.stop().await;
    stage.write_text(&whole);
    *body.lock() = list(&stage, [1]);
    status.store(200, Ordering::Relaxed);
    let (serin, address) = Serin::start(&stage.config()).await;
    stage.shown(address, "/api/v1/discover", "and listed anew", |page| page.contains("\"watched\":1")).await;
    serin.stop().await;

    // Where it cannot be put back, a start says so instead of giving an all-clear.
    for is_altered in [true, false] {
        if is_altered {
            std::fs::write(kept("elsewhere"), "monitors: []\n").expect("a file");
            std::fs::create_dir(kept("elsewhere").with_extension("yaml.new")).expect("a folder in the way");
        } else {
            std::fs::remove_dir_all(stage.folder.path().join("elsewhere")).expect("it is there");
            std::fs::write(stage.folder.path().join("elsewhere"), "in the way").expect("a file");
        }
        let mut command = Command::new(Serin::PROGRAM);
        let ended = command.arg("run").arg("--config").arg(stage.config()).env("SERIN_TEST_SECRET", SECRET).output();
        let ended = bounded("it refuses to start", ended).await.expect("it runs");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && said.contains("cannot be put back there"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_file_leaves_out_of_a_list_is_not_said_to_be_watched() {
    let (stage, mut file) = Stage::set(2).await;
    file.monitors.truncate(1);
    file.receivers.push("ops");
    let path = stage.folder.path().join("targets.json");
    std::fs::write(&path, list(&stage, [0, 1])).expect("a file");
    let text = stage.text(&file).replace("monitors:\n", &discover("file_sd: [targets.json]"));
    stage.write_text(&text);
    let (serin, address) = Serin::start(&stage.config()).await;
    let is_up = |page: &str| page.contains("\"state\":\"up\"");
    stage.shown(address, "/api/v1/monitors/prod-s0", "it works", is_up).await;
    stage.shown(address, "/api/v1/monitors/prod-s1", "and so does the other", is_up).await;
    let left_out = "id: prod, hosts: [\"*.example.org\"],";
    for (narrowed, why) in [
        (text.replace("id: prod,", left_out), "is none of `hosts`"),
        (text.replace("[127.0.0.0/8], monitor:", "[10.0.0.0/8], monitor:"), "list its network under `allow_private`"),
    ] {
        let was_told = times(&stage.ops, "serin.trouble");
        stage.write_text(&narrowed);
        let is_said = |page: &str| page.contains("\"watched\":0") && page.contains(why);
        stage.shown(address, "/api/v1/discover", "it is counted by what is in force", is_said).await;
        if was_told == 0 {
            let said = serde_json::to_string(&received(&stage.ops, "serin.trouble", None).await).expect("JSON");
            assert!(said.contains("list_unwatched") && said.contains(why), "{said}");
        }
        // And stays so: nobody took it off the list, and nobody has to say something about it but by the file.
        for _ in 0..2 {
            let (code, said) = serin_discover(&stage, address, &["read", "prod"]).await;
            assert!(code == 1 && said.contains("prod: 0 watched") && said.contains("! 2 of what it names"), "{said}");
            let (_, page) = stage.get(address, "/api/v1/discover").await;
            assert!(page.contains("\"refused_count\":2") && page.contains("\"held\":[]"), "{page}");
        }
        stage.write_text(&text);
        received(&stage.ops, "serin.trouble_over", None).await;
        stage.shown(address, "/api/v1/monitors/prod-s1", "and so it is again", is_up).await;
    }
    // What the list drops meanwhile is nobody's loss.
    stage.write_text(&text.replace("id: prod,", left_out));
    let is_left_out = |page: &str| page.contains("\"watched\":0") && page.contains("2 of what it names is left out");
    stage.shown(address, "/api/v1/discover", "once more", is_left_out).await;
    std::fs::write(&path, list(&stage, [])).expect("a file");
    let is_well = |page: &str| page.contains("\"trouble\":null") && page.contains("\"held\":[]");
    stage.shown(address, "/api/v1/discover", "and all is well", is_well).await;
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_address_is_reached_only_where_the_source_allows_it() {
    let (stage, mut file) = Stage::set(2).await;
    file.monitors.truncate(1);
    let url = stage.servers[1].url("/mcp");
    let port = url::Url::parse(&url).expect("a URL").port().expect("its port");
    let targets = json!([{ "targets": [format!("127.0.0.1:{port}"), format!("localhost:{port}")], "labels": { "__scheme__": "http" } }]);
    std::fs::write(stage.folder.path().join("targets.json"), targets.to_string()).expect("a file");
    let list = discover("file_sd: [targets.json]").replace("allow_private: [127.0.0.0/8], ", "");
    stage.write_text(&stage.text(&file).replace("monitors:\n", &list));
    let (serin, address) = Serin::start(&stage.config()).await;
    let refused = |page: &str| page.contains("127.0.0.1 is a loopback address");
    stage.shown(address, "/api/v1/discover", "an address that is written out is not watched", refused).await;
    let id = format!("prod-localhost--{port}");
    let is_down = |page: &str| page.contains("\"state\":\"down\"");
    stage.shown(address, &format!("/api/v1/monitors/{id}"), "a name is judged by what it leads to", is_down).await;
    serin.stop().await;
}

/// A registry of these servers, one a page; what was updated since is what is marked so. Gives the queries it was asked.
async fn registry(
    stage: &Stage,
    count: usize,
) -> (String, Arc<Mutex<Vec<serde_json::Value>>>, Arc<Mutex<Vec<String>>>) {
    let entry = |server: usize| {
        let url = stage.servers[server].url("/mcp");
        json!({
            "server": { "name": format!("org.example/s{server}"), "title": format!("Server {server}"), "version": "1.0.0",
                "remotes": [{ "type": "streamable-http", "url": url }] },
            "_meta": { "io.modelcontextprotocol.registry/official": { "status": "active", "isLatest": true } }
        })
    };
    let entries: Arc<Mutex<Vec<_>>> = Arc::new(Mutex::new((0..count).map(entry).collect()));
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/registry", listener.local_addr().expect("its address"));
    let (of, seen) = (Arc::clone(&entries), Arc::clone(&asked));
    let answer = move |axum::extract::RawQuery(query): axum::extract::RawQuery| async move {
        let query = query.unwrap_or_default();
        let page = query.split('&').find_map(|pair| pair.strip_prefix("cursor=")?.parse::<usize>().ok()).unwrap_or(0);
        seen.lock().push(query);
        let entries = of.lock();
        let next = (page + 1 < entries.len()).then(|| (page + 1).to_string());
        axum::Json(json!({ "servers": entries.get(page..=page), "metadata": { "count": 1, "nextCursor": next } }))
    };
    let routes = Router::new().route("/registry/v0.1/servers", get(answer));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (url, entries, asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registry_is_read_page_by_page_and_then_what_is_new() {
    let (stage, mut file) = Stage::set(3).await;
    file.monitors.truncate(1);
    let (url, entries, asked) = registry(&stage, 3).await;
    let source =
        discover(&format!("registry: {{ url: {url}, search: example }}, hosts: [\"*\"]")).replace("every: 5s, ", "");
    stage.write_text(&stage.text(&file).replace("monitors:\n", &source));
    let (serin, address) = Serin::start(&stage.config()).await;
    let named = |server: usize| format!("\"prod-org.example-s{server}-");
    stage
        .shown(address, "/api/v1/monitors", "all pages are read", |page| (0..3).all(|n| page.contains(&named(n))))
        .await;
    let queries = std::mem::take(&mut *asked.lock());
    let expected =
        ["", "&cursor=1", "&cursor=2"].map(|cursor| format!("limit=100&version=latest&search=example{cursor}"));
    assert_eq!(queries, expected, "one page after the other");

    // An update that names one server says nothing of the others.
    let mut gone = entries.lock()[0].clone();
    gone["_meta"]["io.modelcontextprotocol.registry/official"]["status"] = json!("deleted");
    *entries.lock() = vec![gone];
    let (code, said) = serin_discover(&stage, address, &["read", "prod"]).await;
    assert_eq!(code, 0, "{said}");
    let gone = |page: &str| !page.contains(&named(0)) && page.contains(&named(1)) && page.contains(&named(2));
    stage.shown(address, "/api/v1/monitors", "what was deleted goes, and nothing else", gone).await;
    let queries = asked.lock().clone();
    assert!(queries.len() == 1 && queries[0].contains("&updated_since=20"), "{queries:?}");
    let (code, said) = serin_discover(&stage, address, &["read", "nobody"]).await;
    assert!(code == 1 && said.contains("no source of this id"), "{said}");
    serin.stop().await;
}

/// What answers to `/PATH` as hostile lists do.
async fn hostile_server() -> String {
    use axum::body::Body;
    use axum::response::{IntoResponse as _, Redirect};
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let endless = || async {
        let pieces = std::iter::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1024 * 1024])).take(1024);
        Body::from_stream(futures_util::stream::iter(pieces)).into_response()
    };
    let labels: String = (0..1_000_000).map(|n| format!("\"l{n}\":\"\",")).collect();
    let labels = format!("[{{\"targets\":[\"a.example.org\"],\"labels\":{{{labels}\"z\":\"\"}}}}]");
    let inside = json!([{ "targets": ["10.0.0.7", "169.254.169.254", "[::1]:80", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"] }]);
    let twice = json!([{ "targets": ["a.example.org", "b.example.org"], "labels": { "__id__": "same" } }]);
    let evil = json!([{ "targets": ["a.example.org"], "labels": { "__id__": "x", "note": "a\"]\nreceivers: {}\n# ${env:SERIN_TEST_SECRET}" } }]);
    let circle = json!({ "servers": [], "metadata": { "nextCursor": "again" } });
    let app = Router::new()
        .route("/endless", get(endless))
        .route("/labels", get(move || async move { labels }))
        .route("/inside", get(move || async move { axum::Json(inside) }))
        .route("/twice", get(move || async move { axum::Json(twice) }))
        .route("/evil", get(move || async move { axum::Json(evil) }))
        .route("/loop", get(|| async { Redirect::temporary("/loop") }))
        .route("/v0.1/servers", get(move || async move { axum::Json(circle) }));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_lists_are_refused_and_cost_no_more_than_their_limits() {
    let (stage, mut file) = Stage::set(1).await;
    file.monitors.truncate(1);
    let url = hostile_server().await;
    let rows = [
        ("endless", format!("http_sd: {{ url: {url}/endless }}"), "it is larger than 32 MiB"),
        ("labels", format!("http_sd: {{ url: {url}/labels }}"), "a group with more than 128 labels at line 1 column"),
        ("loop", format!("http_sd: {{ url: {url}/loop }}"), "it answers HTTP 307"),
        (
            "circle",
            format!("registry: {{ url: {url} }}, hosts: [\"*\"]"),
            "page 2: its cursor leads back to a page before it",
        ),
        ("inside", format!("http_sd: {{ url: {url}/inside }}"), "target 6: 127.0.0.1 is a loopback address"),
        ("evil", format!("http_sd: {{ url: {url}/evil }}"), "target 1: a label's value"),
        (
            "twice",
            format!("http_sd: {{ url: {url}/twice }}"),
            "target 2: https://b.example.org/mcp has the id of https://a.example.org/mcp before it",
        ),
    ];
    let sources: String = rows.iter().map(|(id, from, _)| format!("    - {{ id: {id}, {from} }}\n")).collect();
    let text = stage.text(&file).replace("monitors:\n", &format!("discover:\n  from:\n{sources}monitors:\n"));
    stage.write_text(&text);
    let (serin, address) = Serin::start(&stage.config()).await;
    for (id, _, expected) in &rows {
        stage.shown(address, "/api/v1/discover", &format!("{id}: {expected}"), |page| page.contains(expected)).await;
    }
    let (_, page) = stage.get(address, "/api/v1/discover").await;
    let all: serde_json::Value = serde_json::from_str(&page).expect("JSON");
    let watched = |id: &str| {
        all["sources"]
            .as_array()
            .and_then(|all| all.iter().find(|one| one["source"] == id).map(|one| one["watched"].clone()))
    };
    for (id, ..) in rows.iter().filter(|(id, ..)| *id != "twice") {
        assert_eq!(watched(id), Some(json!(0)), "{id}: nothing of it is watched: {page}");
    }
    assert_eq!(
        all["sources"]
            .as_array()
            .map(|all| all.iter().map(|one| one["refused_count"].as_u64().unwrap_or(0)).sum::<u64>()),
        Some(8),
        "six places, a text and an id: {page}"
    );
    let is_up = |page: &str| page.contains("\"state\":\"up\"");
    stage.shown(address, "/api/v1/monitors/s0", "what people wrote is watched all the while", is_up).await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", serin.id())).expect("Linux");
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let peak = peak.expect("its peak");
    assert!(peak < 512 * 1024, "a list of 1 GB takes no more than its limit: {peak} kB");
    serin.stop().await;
}
