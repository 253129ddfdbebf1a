//! What a connection is asked, and what it is not.

use std::time::Duration;

use http::{Method, Uri};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use url::Url;

use super::*;
use crate::domain::observation::Stage;

#[tokio::test]
async fn nothing_is_asked_once_the_time_for_it_is_over() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("its address"));
    let target = Target::of(&Url::parse(&url).expect("an address")).expect("one that is spoken");
    let (connector, scrub) = (Connector::new(1), Scrub::new([]));
    let (mut wire, mut clock) = (Wire::new(&connector, target, &scrub), StepClock::start(Stage::Connect, ""));
    wire.connect(&mut clock, Instant::now() + Duration::from_secs(3600)).await.expect("it listens");
    let request = Outgoing::new(Method::POST, Uri::from_static("/"), Arc::default(), Bytes::from_static(b"{}"));
    let sent = wire.send(request, &mut clock, Instant::now()).await;
    let Err(fault) = sent else { panic!("nobody waits for the answer") };
    assert_eq!((fault.kind, wire.footprint.requests), (FaultKind::Silent, 0), "{}", fault.detail);
    wire.hang_up();
    let (mut stream, _) = listener.accept().await.expect("the connection stood");
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await.expect("its end");
    assert_eq!(String::from_utf8_lossy(&heard), "", "a server that is asked may open a session");
}
