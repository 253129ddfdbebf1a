//! The heartbeat goes out while Serin is really well, and stays away when only its process lives.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::watch;

use crate::process::Serin;
use crate::stage::{Stage, bounded, received, times};

/// The part of the address by which somebody could pretend to be us.
const SECRET_PATH: &str = "0f8c2a1e-geheim";

/// Somebody outside who counts.
struct Watcher {
    address: SocketAddr,
    heard: watch::Receiver<usize>,
    answers: Arc<AtomicU16>,
    astray: Arc<AtomicUsize>,
}

impl Watcher {
    async fn new() -> Self {
        let (told, heard) = watch::channel(0);
        let (answers, astray) = (Arc::new(AtomicU16::new(200)), Arc::new(AtomicUsize::new(0)));
        let (status, lost) = (Arc::clone(&answers), Arc::clone(&astray));
        let app = Router::new().fallback(move |request: Request| {
            if request.uri().path() == format!("/{SECRET_PATH}") && request.method() == Method::GET {
                told.send_modify(|heard| *heard += 1);
            } else {
                lost.fetch_add(1, Ordering::Relaxed);
            }
            let status = StatusCode::from_u16(status.load(Ordering::Relaxed)).expect("a status");
            async move { (status, [(header::LOCATION, "/elsewhere")]) }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, heard, answers, astray }
    }

    async fn hears(&self, more: usize, what: &str) {
        let mut heard = self.heard.clone();
        let wanted = *heard.borrow_and_update() + more;
        bounded(what, heard.wait_for(|heard| *heard >= wanted)).await.expect("it listens");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_stays_away_when_nothing_can_be_remembered_and_says_when_it_is_lost() {
    let (stage, file) = Stage::set(1).await;
    let watcher = Watcher::new().await;
    let key = format!("  heartbeat: {{ url: 'http://{}/{SECRET_PATH}', every: 1s }}\n", watcher.address);
    stage.write_text(&stage.text(&file).replace("defaults:\n", &format!("{key}defaults:\n")));
    let (serin, address) = Serin::start(&stage.config()).await;
    watcher.hears(3, "three signs of life").await;
    let status = "/api/v1/status";
    stage
        .shown(address, status, "the status tells when", |text| text.contains("\"heartbeat\":{\"taken_at\":\"2"))
        .await;

    let options = SqliteConnectOptions::new().filename(stage.database()).busy_timeout(Duration::from_secs(30));
    let mut holder = options.disable_statement_logging().connect().await.expect("a second connection");
    sqlx::query("BEGIN IMMEDIATE").execute(&mut holder).await.expect("the lock");
    serin.logged("the heartbeat is kept back").await;
    stage.shown(address, status, "the status tells why", |text| text.contains("\"failing\":\"kept back: ")).await;
    let before = *watcher.heard.borrow();
    let unknown = "serin_beats_total{verdict=\"unknown\"}";
    let seen = |text: &str| text.lines().find_map(|line| line.strip_prefix(unknown)?.trim().parse::<u64>().ok());
    stage.shown(address, "/metrics", "beats are lost", |text| seen(text).is_some_and(|seen| seen >= 3)).await;
    assert_eq!(*watcher.heard.borrow(), before, "no sign of life while nothing is remembered, though all answers");
    sqlx::query("ROLLBACK").execute(&mut holder).await.expect("the lock is let go");
    holder.close().await.expect("it closes");
    watcher.hears(2, "signs again").await;
    received(&stage.ops, "serin.trouble_over", None).await;

    watcher.answers.store(307, Ordering::Relaxed);
    let lost = bounded("three lost signs are told", async {
        loop {
            let messages = crate::stage::messages(&stage.ops);
            let found = messages.into_iter().find(|message| message.evidence.0[0].1 == "heartbeat_failed");
            match found {
                Some(message) => break message,
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    });
    let detail = format!("{:?}", lost.await.evidence);
    assert!(detail.contains("307") && !detail.contains(SECRET_PATH), "{detail}");
    assert_eq!(watcher.astray.load(Ordering::Relaxed), 0, "a redirect is not followed");
    watcher.answers.store(200, Ordering::Relaxed);
    bounded("the end is told", async {
        while times(&stage.ops, "serin.trouble_over") < 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(!serin.log().contains(SECRET_PATH), "the address is not in the log:\n{}", serin.log());
    stage.more_beats("s0", 1).await;
    serin.stop().await;
}
