//! The way to a server: headers of the file, private authorities, our own certificate, proxies.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use chrono::{TimeDelta, Utc};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use serin::domain::classify::classify;
use serin::domain::discovery::Discovered;
use serin::domain::fault::FaultKind;
use serin::domain::monitor::{ClientCertificate, Monitor};
use serin::domain::network::Network;
use serin::domain::observation::{Observation, Stage};
use serin::domain::outcome::Verdict;
use serin::domain::reason::FailureReason;
use serin::domain::secret::Secret;
use serin::domain::signal::Signal;
use serin::probe::prober::Prober;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::common::monitors::address;
use crate::fault_server::FaultServer;
use crate::probing::{assignment, first_fault, monitor, probe};
use crate::scripts::{legacy, modern};
use crate::tls::{acceptor, authority, trusting};

/// Writes a file whose time differs from that of any other write.
fn put(folder: &Path, name: &str, text: &str, second: u64) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + second);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
    path
}

async fn with(prober: &Prober, monitor: Monitor) -> Observation {
    prober.run(&assignment(monitor)).await.0
}

#[tokio::test]
async fn headers_of_the_file_are_for_the_servers_own_origin() {
    let (server, elsewhere) = (FaultServer::start(legacy(), None).await, FaultServer::start(legacy(), None).await);
    let mut monitor = monitor(&format!("http://{}/mcp", server.address), 1);
    monitor.auth.headers =
        vec![("x-api-key".to_owned(), Secret::new("key-123456")), ("x-tenant".to_owned(), Secret::new("docs"))];
    let health = |at: SocketAddr| address(&format!("http://{at}/health"));
    monitor.health = vec![health(server.address), health(elsewhere.address)];
    let seen = probe(monitor).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    let heads = server.seen().heads;
    assert!(heads.len() >= 6);
    for head in heads {
        let head = head.to_ascii_lowercase();
        assert!(head.contains("x-api-key: key-123456") && head.contains("x-tenant: docs"), "{head}");
    }
    let other = elsewhere.seen().heads.join("\n").to_ascii_lowercase();
    assert!(other.contains("get /health") && !other.contains("x-api-key") && !other.contains("x-tenant"), "{other}");
    assert!(!format!("{seen:?}").contains("key-123456"));
}

#[tokio::test]
async fn a_private_authority_is_trusted_where_the_file_says_so_and_read_again_when_it_changes() {
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    let server = FaultServer::start(modern(), Some(acceptor(&ours, &["127.0.0.1"], false))).await;
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "ca.pem", &theirs.pem(), 0);
    let prober = Prober::with_roots(rustls::RootCertStore::empty(), 8);
    let mut monitor = monitor(&format!("https://{}/mcp", server.address), 0);
    let untrusted = Some((Stage::Connect, FaultKind::TlsUntrusted));
    assert_eq!(first_fault(&with(&prober, monitor.clone()).await), untrusted, "without it");
    monitor.reach.ca = Some(path.to_string_lossy().into_owned());
    assert_eq!(first_fault(&with(&prober, monitor.clone()).await), untrusted, "another authority");
    put(folder.path(), "ca.pem", &ours.pem(), 1);
    assert_eq!(first_fault(&with(&prober, monitor.clone()).await), None, "the right one, put in its place");
    std::fs::remove_file(&path).unwrap();
    let seen = with(&prober, monitor.clone()).await;
    assert_eq!(first_fault(&seen), Some((Stage::Connect, FaultKind::WayBlocked)), "a file that is gone");
    let outcome = classify(&monitor, &seen);
    assert_eq!((outcome.verdict, outcome.reason()), (Verdict::Unknown, Some(FailureReason::MonitorInternal)));
}

/// A server that asks for a certificate of this authority.
fn strict(issuer: &CertifiedIssuer<'_, KeyPair>) -> TlsAcceptor {
    let roots = trusting(issuer);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, issuer).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn our_own_certificate_is_a_matter_of_access() {
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    let server = FaultServer::start(modern(), Some(strict(&ours))).await;
    let folder = tempfile::tempdir().unwrap();
    let identity = |name: &str, issuer: &CertifiedIssuer<'_, KeyPair>| {
        let (key, mut params) = (KeyPair::generate().unwrap(), CertificateParams::new(Vec::new()).unwrap());
        params.not_after = rcgen::date_time_ymd(2031, 5, 6);
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, issuer).unwrap();
        let file = |path: PathBuf| path.to_string_lossy().into_owned();
        ClientCertificate {
            certificate: file(put(folder.path(), &format!("{name}.pem"), &certificate.pem(), 0)),
            key: file(put(folder.path(), &format!("{name}.key"), &key.serialize_pem(), 0)),
        }
    };
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ours.der().clone()).unwrap();
    let prober = Prober::with_roots(roots, 8);
    let rows = [
        ("none is shown", None, Some(FaultKind::AuthRequired)),
        ("another authority's", Some(identity("theirs", &theirs)), Some(FaultKind::AuthRejected)),
        ("the right one", Some(identity("ours", &ours)), None),
    ];
    for (sentence, identity, expected) in rows {
        let mut monitor = monitor(&format!("https://{}/mcp", server.address), 0);
        let shown = identity.is_some();
        monitor.reach.client_certificate = identity.map(Box::new);
        let seen = with(&prober, monitor.clone()).await;
        assert_eq!(first_fault(&seen).map(|(_, kind)| kind), expected, "{sentence}: {seen:#?}");
        if expected.is_some() {
            let outcome = classify(&monitor, &seen);
            assert_eq!(outcome.findings.first().map(|finding| finding.signal), Some(Signal::Access), "{sentence}");
        }
        let until = seen.credential_until.map(|until| until.date_naive().to_string());
        assert_eq!(until.as_deref(), shown.then_some("2031-05-06"), "{sentence}: its end is watched");
    }
}

/// A proxy that notes whom it was asked for.
struct Relay {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Relay {
    async fn start(login: Option<&'static str>, socks: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let noted = Arc::clone(&noted);
                tokio::spawn(async move {
                    let opened =
                        if socks { socks5(stream, login, &noted).await } else { connect(stream, login, &noted).await };
                    if let Some((mut near, target)) = opened
                        && let Ok(mut far) = TcpStream::connect(target).await
                    {
                        let _ = copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Where a name of the tests leads.
fn here(target: &str) -> String {
    target.replace("far.invalid", "127.0.0.1")
}

async fn connect(
    mut stream: TcpStream,
    login: Option<&str>,
    noted: &Mutex<Vec<String>>,
) -> Option<(TcpStream, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let target = head.strip_prefix("CONNECT ")?.split(' ').next()?.to_owned();
    noted.lock().unwrap().push(target.clone());
    if login.is_some_and(|login| !head.contains(login)) {
        stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await.ok()?;
        return None;
    }
    if target.starts_with("gone.invalid") {
        stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await.ok()?;
        return None;
    }
    stream.write_all(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n").await.ok()?;
    Some((stream, here(&target)))
}

/// RFC 1928 and 1929, as far as a client of ours goes.
async fn socks5(mut stream: TcpStream, login: Option<&str>, noted: &Mutex<Vec<String>>) -> Option<(TcpStream, String)> {
    let mut two = [0; 2];
    stream.read_exact(&mut two).await.ok()?;
    let mut methods = vec![0; two[1].into()];
    stream.read_exact(&mut methods).await.ok()?;
    let method = if login.is_some() { 2 } else { 0 };
    if !methods.contains(&method) {
        stream.write_all(&[5, 0xff]).await.ok()?;
        return None;
    }
    stream.write_all(&[5, method]).await.ok()?;
    if let Some(login) = login {
        stream.read_u8().await.ok()?;
        let mut said = Vec::new();
        for _ in 0..2 {
            let mut part = vec![0; stream.read_u8().await.ok()?.into()];
            stream.read_exact(&mut part).await.ok()?;
            said.push(String::from_utf8(part).ok()?);
        }
        let right = said.join(":") == login;
        stream.write_all(&[1, u8::from(!right)]).await.ok()?;
        if !right {
            return None;
        }
    }
    let mut request = [0; 4];
    stream.read_exact(&mut request).await.ok()?;
    let host = if request[3] == 3 {
        let mut name = vec![0; stream.read_u8().await.ok()?.into()];
        stream.read_exact(&mut name).await.ok()?;
        String::from_utf8(name).ok()?
    } else {
        let mut ip = [0; 4];
        stream.read_exact(&mut ip).await.ok()?;
        std::net::Ipv4Addr::from(ip).to_string()
    };
    let target = format!("{host}:{}", stream.read_u16().await.ok()?);
    noted.lock().unwrap().push(target.clone());
    let code = if host == "gone.invalid" { 4 } else { 0 };
    stream.write_all(&[5, code, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
    (code == 0).then(|| (stream, here(&target)))
}

#[tokio::test]
async fn proxies_lead_to_the_server_and_their_own_trouble_is_ours() {
    let authority = authority("ours");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let prober = Prober::with_roots(roots, 8);
    let plain = FaultServer::start(modern(), None).await.address.port();
    let secured =
        FaultServer::start(modern(), Some(acceptor(&authority, &["far.invalid"], false))).await.address.port();
    let (open, locked) = (Relay::start(None, false).await, Relay::start(Some("dXNlcjpwQHNz"), false).await);
    let (socks, locked_socks) = (Relay::start(None, true).await, Relay::start(Some("user:p@ss"), true).await);
    let dead = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let blocked = Some(FaultKind::WayBlocked);
    let unreachable = Some(FaultKind::Unreachable);
    let rows = [
        ("CONNECT, the name left to the proxy", format!("http://{}", open.address), "http", plain, None),
        ("and TLS within", format!("http://{}", open.address), "https", secured, None),
        ("with its login", format!("http://user:p%40ss@{}", locked.address), "http", plain, None),
        ("without it", format!("http://{}", locked.address), "http", plain, blocked),
        ("SOCKS5, the name left to the proxy", format!("socks5h://{}", socks.address), "http", plain, None),
        ("and TLS within", format!("socks5h://{}", socks.address), "https", secured, None),
        ("with its password", format!("socks5h://user:p%40ss@{}", locked_socks.address), "http", plain, None),
        ("with a wrong one", format!("socks5h://user:no@{}", locked_socks.address), "http", plain, blocked),
        ("a proxy that is not there", format!("http://{dead}"), "http", plain, blocked),
        ("a server that the proxy cannot reach", format!("http://{}", open.address), "gone", plain, unreachable),
        ("nor the other one", format!("socks5h://{}", socks.address), "gone", plain, unreachable),
    ];
    for (sentence, proxy, how, port, expected) in rows {
        let url = match how {
            "gone" => "http://gone.invalid/mcp".to_owned(),
            scheme => format!("{scheme}://far.invalid:{port}/mcp"),
        };
        let mut monitor = monitor(&url, 0);
        monitor.reach.proxy = Some(Box::new(address(&proxy)));
        let seen = with(&prober, monitor.clone()).await;
        assert_eq!(first_fault(&seen).map(|(_, kind)| kind), expected, "{sentence}: {seen:#?}");
        assert!(!format!("{seen:?}").contains("p@ss") && !format!("{seen:?}").contains("p%40ss"), "{sentence}");
        let outcome = classify(&monitor, &seen);
        let judged = match expected {
            None => Verdict::Good,
            Some(FaultKind::WayBlocked) => Verdict::Unknown,
            Some(_) => Verdict::Down,
        };
        assert_eq!(outcome.verdict, judged, "{sentence}: {outcome:#?}");
    }
    assert!(open.asked().iter().all(|target| target.contains(".invalid:")), "{:?}", open.asked());
    assert!(socks.asked().contains(&format!("far.invalid:{plain}")), "{:?}", socks.asked());
    let mut monitor = monitor(&format!("http://localhost:{plain}/mcp"), 0);
    monitor.reach.proxy = Some(Box::new(address(&format!("socks5://{}", socks.address))));
    assert_eq!(first_fault(&with(&prober, monitor).await), None);
    assert!(socks.asked().contains(&format!("127.0.0.1:{plain}")), "socks5 resolves here: {:?}", socks.asked());
}

#[tokio::test]
async fn a_listed_server_is_reached_through_a_proxy_only_where_its_source_may() {
    let (socks, open) = (Relay::start(None, true).await, Relay::start(None, false).await);
    let port = FaultServer::start(modern(), None).await.address.port();
    let by = |scheme: &str, address: SocketAddr| format!("{scheme}://{address}");
    let rows = [
        ("localhost", by("socks5", socks.address), None, true, "a name that is resolved here"),
        ("127.0.0.1", by("socks5h", socks.address), None, true, "an address that is written out"),
        ("127.0.0.1", by("http", open.address), None, true, "to any proxy"),
        ("127.0.0.1", by("http", open.address), Some("127.0.0.0/8"), false, "where its source allows it"),
        ("localhost", by("socks5", socks.address), Some("127.0.0.0/8"), false, "by its name as well"),
    ];
    for (host, proxy, allowed, is_guarded, sentence) in rows {
        let mut monitor = monitor(&format!("http://{host}:{port}/mcp"), 0);
        monitor.reach.proxy = Some(Box::new(address(&proxy)));
        let allow_private = allowed.into_iter().map(|network| Network(network.to_owned())).collect();
        let source = "prod".to_owned();
        monitor.discovered = Some(Box::new(Discovered { source, gone_since: None, allow_private }));
        let asked = socks.asked().len() + open.asked().len();
        let seen = with(&Prober::new(8), monitor).await;
        let fault = first_fault(&seen).map(|(_, kind)| kind);
        assert_eq!(fault, is_guarded.then_some(FaultKind::Guarded), "{sentence}: {seen:#?}");
        assert_eq!(
            socks.asked().len() + open.asked().len() == asked,
            is_guarded,
            "{sentence}: the proxy is told nothing"
        );
    }
}

#[tokio::test]
async fn no_proxy_is_taken_from_the_environment() {
    let server = FaultServer::start(modern(), None).await;
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
    }
    let ran = command.args(["probe", &format!("http://{}/mcp", server.address)]).output().await.unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stdout));
}

#[tokio::test]
async fn a_token_says_itself_when_it_ends() {
    use base64::Engine as _;
    let server = FaultServer::start(modern(), None).await;
    let mut monitor = monitor(&format!("http://{}/mcp", server.address), 0);
    let end = Utc::now() + TimeDelta::hours(40);
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!("{{\"exp\":{}}}", end.timestamp()));
    monitor.auth.bearer = Some(Secret::new(&format!("e30.{claims}.c2ln")));
    let mut assignment = assignment(monitor.clone());
    assignment.started_at = Utc::now();
    let seen = Prober::new(8).run(&assignment).await.0;
    let outcome = classify(&monitor, &seen);
    let told = outcome.findings.first().map(|finding| (finding.reason, finding.summary.as_str()));
    let expected = Some((FailureReason::CredentialExpiring, "the credential that Serin shows ends in 39 hours"));
    assert_eq!((outcome.verdict, told), (Verdict::Good, expected));
}
