//! How far one gets on the way to a server: name, TCP, TLS, HTTP, one after the other.

use serin::domain::secret::Secret;
use serin::domain::server_profile::ServerProfile;
use serin::probe::prober::Prober;

use crate::fault_server::{FaultServer, status};
use crate::probing::{monitor, now};
use crate::scripts::{modern, say, with};
use crate::tls::{acceptor, authority, trusting};

#[tokio::test]
async fn the_ladder_says_how_far_one_gets() {
    let issuer = authority("ours");
    let prober = Prober::with_roots(trusting(&issuer), 8);
    let plain = FaultServer::start(modern(), None).await;
    let failing = FaultServer::start(
        with(modern(), "tools/list", say(status("500 Internal Server Error", "", "no index"))),
        None,
    )
    .await;
    let other = FaultServer::start(modern(), Some(acceptor(&issuer, &["other.example"], false))).await;
    let good = FaultServer::start(modern(), Some(acceptor(&issuer, &["127.0.0.1"], false))).await;
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let rows = [
        ("a name that means nothing", "http://nowhere.invalid/mcp".to_owned(), "name!"),
        ("a port that is closed", format!("http://{closed}/mcp"), "name tcp!"),
        ("a certificate for another name", format!("https://{}/mcp", other.address), "name tcp tls!"),
        ("tools/list that fails", format!("http://{}/mcp", failing.address), "name tcp unauthenticated list!"),
        ("all is well again", format!("http://{}/mcp", plain.address), "name tcp unauthenticated list"),
        ("over TLS too", format!("https://{}/mcp", good.address), "name tcp tls unauthenticated list"),
    ];
    for (sentence, url, expected) in rows {
        let mut monitor = monitor(&url, 0);
        monitor.auth.bearer = Some(Secret::new("tok-123456"));
        let (tried, _) = prober.diagnose(&monitor, &ServerProfile::default(), now()).await;
        let seen: Vec<String> =
            tried.iter().map(|step| format!("{}{}", step.name, if step.holds { "" } else { "!" })).collect();
        assert_eq!(seen.join(" "), expected, "{sentence}: {tried:#?}");
    }
    let heads = plain.seen().heads;
    let bare = heads.iter().find(|head| head.starts_with("GET ")).expect("a rung without credentials");
    assert!(!bare.to_ascii_lowercase().contains("authorization"), "{bare}");
}
