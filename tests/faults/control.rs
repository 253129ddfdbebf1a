//! Control addresses: whose answer counts as the declared host's own, and whose is that of a gateway in its place.

use std::time::Duration;

use serin::domain::fleet::Control;
use serin::probe::prober::Prober;

use crate::common::monitors::address;
use crate::fault_server::{Act, FaultServer, Script, status};
use crate::tls::{acceptor, authority, trusting};

/// Far beyond what an answer on loopback takes.
const WITHIN: Duration = Duration::from_secs(20);

fn control(url: &str, status: Option<u16>, contains: Option<&str>) -> Control {
    Control { address: address(url), status, contains: contains.map(str::to_owned) }
}

/// Somebody who answers this to everything.
fn always(answer: String) -> Script {
    Script::from([("*", Act::Say(answer))])
}

#[tokio::test]
async fn a_gateway_that_answers_everything_is_not_the_address_that_was_named() {
    let html = "Content-Type: text/html\r\n";
    let start = |answer| FaultServer::start(always(answer), None);
    let own = start(status("204 No Content", "", "").replace("Content-Length: {length}\r\n", "")).await;
    let said = start(status("200 OK", html, "<p>all systems well</p>")).await;
    let portal = start(status("200 OK", html, "<p>please sign in</p>")).await;
    let moved = start(status("302 Found", "Location: http://portal.example/\r\n", "")).await;
    let huge = start(status("200 OK", html, &"x".repeat(5 << 20))).await;
    let text = Some("systems well");
    // Whose answer, what is declared, and what is wrong with it.
    let rows = [
        (&own, None, None, "", "any answer will do where nothing is declared"),
        (&portal, None, None, "", "even a gateway's"),
        (&own, Some(204), None, "", "the declared status"),
        (&portal, Some(204), None, "answers 200 and not 204", "another status"),
        (&moved, Some(200), None, "answers 302 and not 200", "a redirect is not followed"),
        (&said, None, text, "", "the declared text"),
        (&said, Some(200), text, "", "status and text"),
        (&portal, Some(200), text, "without the declared text", "the right status over another page"),
        (&said, Some(204), text, "answers 200 and not 204", "the right text under another status"),
        (&huge, None, text, "larger than", "a body without end is not read to its end"),
    ];
    let prober = Prober::with_roots(rustls::RootCertStore::empty(), 8);
    for (server, status, contains, expected, sentence) in rows {
        let declared = control(&format!("http://{}/up", server.address), status, contains);
        match prober.answers(&declared, WITHIN).await {
            Ok(_) => assert_eq!(expected, "", "{sentence}"),
            Err(fault) => {
                assert!(!expected.is_empty() && fault.detail.contains(expected), "{sentence}: {fault:?}");
            }
        }
    }
}

#[tokio::test]
async fn over_https_only_the_named_host_answers() {
    let issuer = authority("ours");
    let page = || always(status("200 OK", "", "here"));
    let own = FaultServer::start(page(), Some(acceptor(&issuer, &["127.0.0.1"], false))).await;
    let other = FaultServer::start(page(), Some(acceptor(&issuer, &["gateway.example"], false))).await;
    let (known, unknown) =
        (Prober::with_roots(trusting(&issuer), 8), Prober::with_roots(rustls::RootCertStore::empty(), 8));
    let rows = [
        (&known, &own, true, "its own certificate"),
        (&known, &other, false, "a certificate for another name"),
        (&unknown, &own, false, "one that nobody trusts"),
    ];
    for (prober, server, expected, sentence) in rows {
        let declared = control(&format!("https://{}/", server.address), None, None);
        assert_eq!(prober.answers(&declared, WITHIN).await.is_ok(), expected, "{sentence}");
    }
}
