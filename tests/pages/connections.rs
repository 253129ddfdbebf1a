//! Connections to the pages: how long each may take, how many there may be, and who makes room.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serin::domain::fleet::Fleet;
use serin::live::state::LiveChange;
use serin::web::connections::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::fixture::{self, Running};

/// Past this something hangs; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);
/// A limit that is never reached.
const NEVER: Duration = Duration::from_secs(3_600);
/// A limit that is reached at once.
const SOON: Duration = Duration::from_millis(300);

const LIMITLESS: Limits = Limits {
    head: NEVER,
    idle: NEVER,
    write_stall: NEVER,
    connections: 64,
    streams: 32,
    per_peer: 64,
    trusted_proxies: Vec::new(),
};

/// A visitor's one connection.
struct Visitor(TcpStream);

impl Visitor {
    async fn comes(running: &Running, from: [u8; 4]) -> Self {
        let to: SocketAddr = running.url.trim_start_matches("http://").parse().unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((IpAddr::V4(Ipv4Addr::from(from)), 0).into()).unwrap();
        Self(bounded("it is connected", socket.connect(to)).await.unwrap())
    }

    async fn says(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    async fn asks(&mut self, method: &str, path: &str) {
        self.says(&format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n")).await;
    }

    /// Reads until a text has come.
    async fn hears(&mut self, text: &str) -> String {
        let mut heard = Vec::new();
        let hearing = async {
            while !String::from_utf8_lossy(&heard).contains(text) {
                let byte = self.0.read_u8().await.unwrap_or_else(|error| {
                    panic!("{error} before '{text}', after: {}", String::from_utf8_lossy(&heard))
                });
                heard.push(byte);
            }
        };
        bounded(text, hearing).await;
        String::from_utf8_lossy(&heard).into_owned()
    }

    async fn is_answered(&mut self) {
        self.asks("GET", "/healthz").await;
        assert!(self.hears("ok\n").await.starts_with("HTTP/1.1 200"));
    }

    /// Waits until the other side has ended it.
    async fn is_closed(&mut self) {
        let mut rest = Vec::new();
        let _reset_or_ended = bounded("the connection is closed", self.0.read_to_end(&mut rest)).await;
    }
}

async fn bounded<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("this did not happen: {what}"))
}

async fn within(limits: Limits) -> Running {
    fixture::serve_within(None, Fleet::default(), limits).await
}

const LOCAL: [u8; 4] = [127, 0, 0, 1];

#[tokio::test]
async fn a_head_that_trickles_in_is_given_up_and_a_quiet_browser_is_not() {
    let running = within(Limits { head: SOON, ..LIMITLESS }).await;
    let mut browser = Visitor::comes(&running, LOCAL).await;
    browser.is_answered().await;
    let mut silent = Visitor::comes(&running, LOCAL).await;
    let mut again = Visitor::comes(&running, LOCAL).await;
    again.is_answered().await;
    let (mut reader, mut writer) = again.0.into_split();
    writer.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let trickle = async {
        while writer.write_all(b"x: y\r\n").await.is_ok() {
            tokio::time::sleep(SOON / 10).await;
        }
    };
    let mut rest = Vec::new();
    let given_up = async { tokio::join!(trickle, reader.read_to_end(&mut rest)) };
    let _reset_or_ended = bounded("a head without end is given up", given_up).await;
    silent.is_closed().await;
    browser.is_answered().await;
}

#[tokio::test]
async fn a_quiet_connection_ends_and_an_event_stream_goes_on() {
    let running = within(Limits { idle: SOON, head: NEVER, write_stall: SOON, ..LIMITLESS }).await;
    let mut stream = Visitor::comes(&running, LOCAL).await;
    stream.asks("GET", "/events").await;
    stream.hears("\r\n\r\n").await;
    let mut browser = Visitor::comes(&running, LOCAL).await;
    browser.is_answered().await;
    browser.is_closed().await;
    running.live.tell(LiveChange::Fleet);
    stream.hears("event: change").await;
}

#[tokio::test]
async fn whoever_takes_nothing_of_an_answer_is_gone() {
    let running = within(Limits { write_stall: SOON, ..LIMITLESS }).await;
    let mut deaf = Visitor::comes(&running, LOCAL).await;
    let asking = async {
        let ask = b"GET /assets/app.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
        while deaf.0.write_all(ask).await.is_ok() {}
    };
    bounded("its connection is closed, though it asks on", asking).await;
}

#[tokio::test]
async fn a_peer_at_its_cap_loses_its_longest_idle_connection() {
    let running = within(Limits { per_peer: 4, ..LIMITLESS }).await;
    let mut visitors = Vec::new();
    for _ in 0..4 {
        let mut visitor = Visitor::comes(&running, LOCAL).await;
        visitor.is_answered().await;
        visitors.push(visitor);
    }
    visitors[0].is_answered().await;
    let mut other = Visitor::comes(&running, [127, 0, 0, 2]).await;
    other.is_answered().await;
    let mut newcomer = Visitor::comes(&running, LOCAL).await;
    newcomer.is_answered().await;
    visitors.remove(1).is_closed().await;
    for stays in visitors.iter_mut().chain([&mut other, &mut newcomer]) {
        stays.is_answered().await;
    }
}

#[tokio::test]
async fn a_peer_whose_connections_are_all_busy_is_served_on_one_more() {
    let running = within(Limits { per_peer: 2, ..LIMITLESS }).await;
    fixture_monitor(&running);
    let mut busy = Vec::new();
    for _ in 0..2 {
        let mut visitor = Visitor::comes(&running, LOCAL).await;
        visitor.asks("POST", RECHECK).await;
        busy.push(visitor);
        are_being_answered(&running, busy.len()).await;
    }
    let mut newcomer = Visitor::comes(&running, LOCAL).await;
    newcomer.is_answered().await;
    busy[0].is_closed().await;
}

#[tokio::test]
async fn a_proxy_that_is_trusted_has_no_cap_of_its_own() {
    let trusted_proxies = vec!["127.0.0.2/32".parse().unwrap()];
    let running = within(Limits { per_peer: 2, trusted_proxies, ..LIMITLESS }).await;
    let mut visitors = Vec::new();
    for _ in 0..8 {
        let mut visitor = Visitor::comes(&running, [127, 0, 0, 2]).await;
        visitor.is_answered().await;
        visitors.push(visitor);
    }
    for visitor in &mut visitors {
        visitor.is_answered().await;
    }
}

/// A look that somebody waits for, and that nobody makes here.
const RECHECK: &str = "/api/v1/monitors/support-kb/recheck?wait=2";

/// Waits until so many have asked for a look.
async fn are_being_answered(running: &Running, count: usize) {
    let asked = async {
        while running.store.waiting_actions().await.unwrap().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    bounded("their requests are there", asked).await;
}

fn fixture_monitor(running: &Running) {
    running.live.put(fixture::view(0, chrono::Utc::now()));
}

#[tokio::test]
async fn when_places_run_out_whoever_holds_most_makes_room_and_no_answer_is_given_up() {
    let running = within(Limits { connections: 8, streams: 2, ..LIMITLESS }).await;
    fixture_monitor(&running);
    let mut person = Visitor::comes(&running, [127, 0, 0, 9]).await;
    person.is_answered().await;
    let mut crowd = Vec::new();
    for number in 0..40 {
        crowd.push(Visitor::comes(&running, [127, 0, 0, 2 + number % 2]).await);
    }
    let mut newcomer = Visitor::comes(&running, [127, 0, 0, 8]).await;
    newcomer.is_answered().await;
    person.is_answered().await;
    crowd[0].is_closed().await;
    drop((crowd, newcomer, person));

    let mut waiting = Vec::new();
    for number in 0..6 {
        let mut visitor = Visitor::comes(&running, [127, 0, 0, 2 + number]).await;
        visitor.asks("POST", RECHECK).await;
        waiting.push(visitor);
        are_being_answered(&running, waiting.len()).await;
    }
    let mut newcomer = Visitor::comes(&running, [127, 0, 0, 8]).await;
    newcomer.asks("GET", "/healthz").await;
    for visitor in &mut waiting {
        let heard = visitor.hears("\r\n\r\n").await;
        assert!(heard.starts_with("HTTP/1.1 202"), "it is answered, however many come: {heard}");
    }
    newcomer.hears("ok\n").await;
}

#[tokio::test]
async fn a_peer_has_a_share_of_event_streams_and_its_pages_can_be_read() {
    let running = within(Limits { per_peer: 4, streams: 3, ..LIMITLESS }).await;
    let mut open = Vec::new();
    let rows = [
        (LOCAL, "200", "a stream"),
        (LOCAL, "200", "as many as half of a peer's connections"),
        (LOCAL, "503", "and no more"),
        ([127, 0, 0, 2], "200", "another peer's"),
        ([127, 0, 0, 3], "503", "but no more than there are for all"),
    ];
    for (from, status, sentence) in rows {
        let mut visitor = Visitor::comes(&running, from).await;
        visitor.asks("GET", "/events").await;
        let head = visitor.hears("\r\n\r\n").await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{sentence}: {head}");
        assert_eq!(head.contains("retry-after"), status == "503", "{sentence}: {head}");
        open.push(visitor);
    }
    let mut page = Visitor::comes(&running, LOCAL).await;
    page.asks("GET", "/").await;
    assert!(page.hears("</html>").await.starts_with("HTTP/1.1 200"), "the page can be read");
    running.live.tell(LiveChange::Fleet);
    for number in [0, 1, 3] {
        open[number].hears("event: change").await;
    }
}

#[tokio::test]
async fn a_stop_ends_who_waits_and_answers_who_asked() {
    let running = within(LIMITLESS).await;
    fixture_monitor(&running);
    let mut idle = Visitor::comes(&running, LOCAL).await;
    idle.is_answered().await;
    let mut asked = Visitor::comes(&running, LOCAL).await;
    asked.asks("POST", RECHECK).await;
    are_being_answered(&running, 1).await;
    running.shutdown.cancel();
    idle.is_closed().await;
    assert!(asked.hears("\r\n\r\n").await.starts_with("HTTP/1.1 202"), "what was asked is answered");
    bounded("the pages end", running.server).await.unwrap();
}
