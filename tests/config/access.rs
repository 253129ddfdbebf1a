//! What a monitor shows to be let in, and the way to it.

use serin::config::check::checker::Unset;
use serin::config::load;
use serin::domain::monitor::OAuth;

use crate::{check, loaded, secrets, source, with_monitor};

#[test]
fn headers_oauth_and_dates_are_read() {
    let text = with_monitor(
        "auth:\n  headers: { X-Api-Key: \"${env:DOCS_TOKEN}\", X-Tenant: docs }\n  expires: 2026-12-31\n  refuses_strangers: true",
    );
    let docs = loaded(&text).fleet.monitors[0].auth.clone();
    let headers: Vec<_> = docs.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(headers, [("x-api-key", "geheim-bearer"), ("x-tenant", "docs")]);
    assert_eq!(docs.expires_at.map(|at| at.to_rfc3339()).as_deref(), Some("2026-12-31T23:59:59+00:00"));
    assert!(docs.refuses_strangers && docs.bearer.is_none());
    let text = with_monitor(
        "auth: { oauth: { issuer: \"https://login.example.org/t\", client_id: serin, client_secret: \"${env:DOCS_TOKEN}\", scope: read }, expires: \"2026-12-31T12:00:00Z\" }",
    );
    let auth = loaded(&text).fleet.monitors[0].auth.clone();
    let OAuth { issuer, client_id, client_secret, scope } = *auth.oauth.expect("it is declared");
    assert_eq!((issuer.as_str(), client_id.as_str()), ("https://login.example.org/t", "serin"));
    assert_eq!((client_secret.expose(), scope.as_deref()), ("geheim-bearer", Some("read")));
    let faults = load(&source(with_monitor("auth: { expires: never }")), &secrets, Unset::Refuse).expect_err("no");
    assert!(!faults.to_string().contains("geheim"), "{faults}");
}

#[test]
fn what_is_shown_has_to_make_sense() {
    let rows: [(&str, &str, &[&str]); 11] = [
        (
            "two ways at once",
            "auth: { bearer: \"${env:DOCS_TOKEN}\", headers: { Authorization: \"${env:DOCS_TOKEN}\" } }",
            &["5:42 monitor 'docs' gives its Authorization twice, by 'bearer' and 'headers' => keep one of the two"],
        ),
        (
            "nothing at all",
            "auth: { expires: 2026-12-31 }",
            &[
                "5:11 'auth' of monitor 'docs' has no 'bearer' => such as `bearer: ${env:DOCS_TOKEN}`, `headers` or `oauth`",
            ],
        ),
        (
            "a header of ours",
            "auth: { headers: { Mcp-Session-Id: x } }",
            &["5:24 the probe writes the header 'Mcp-Session-Id' itself => leave it out"],
        ),
        (
            "no header at all",
            "auth: { headers: { \"X Key\": x } }",
            &["5:24 'X Key' is no name of a header => such as `X-Api-Key`"],
        ),
        (
            "one header in two cases",
            "auth: { headers: { X-Tenant: a, x-tenant: b } }",
            &["5:37 the header 'x-tenant' is given twice => keep one of the two"],
        ),
        (
            "a secret in the file",
            "auth: { headers: { X-Api-Key: abcdef } }",
            &[
                "5:35 the header 'X-Api-Key' of monitor 'docs' stands in the file, where everybody with the repository reads it => write `${env:NAME}` or `${file:/run/secrets/x}`, and change the secret",
            ],
        ),
        (
            "no date",
            "auth: { bearer: \"${env:DOCS_TOKEN}\", expires: soon }",
            &[
                "5:51 'expires' of monitor 'docs' is no moment: 'soon' => such as `2026-12-31`, or `2026-12-31T12:00:00Z`",
            ],
        ),
        (
            "an issuer in the clear",
            "auth: { oauth: { issuer: \"http://login.example.org\", client_id: a, client_secret: \"${env:DOCS_TOKEN}\" } }",
            &["5:30 the client secret would travel in the clear => write the issuer with https"],
        ),
        (
            "half an OAuth",
            "auth: { oauth: { client_id: a } }",
            &[
                "5:13 'oauth' of monitor 'docs' has no 'issuer' => such as `issuer: https://login.example.org/tenant`; the secret goes there and nowhere else",
                "5:13 'oauth' of monitor 'docs' has no 'client_secret' => such as `client_secret: \"${env:DOCS_CLIENT_SECRET}\"`",
            ],
        ),
        (
            "a proxy that nobody speaks to",
            "proxy: https://proxy.example.org",
            &[
                "5:12 the proxy of monitor 'docs' is none that a probe speaks => such as `http://proxy.example.org:3128`, `socks5://10.0.0.1:1080`, or `socks5h://…` where the proxy resolves names",
            ],
        ),
        (
            "half a certificate",
            "client_certificate: { certificate: a.pem }",
            &[
                "5:5 'client_certificate' of monitor 'docs' has no 'key' => such as `{ certificate: serin.pem, key: serin.key }`",
            ],
        ),
    ];
    for (sentence, more, expected) in rows {
        check(sentence, &with_monitor(more), expected);
    }
}

#[test]
fn files_of_the_way_are_tried_with_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("monitors.yaml");
    std::fs::write(folder.path().join("ca.pem"), "no certificate\n").expect("it can be written");
    let text = with_monitor("ca: ca.pem");
    let file = |text: &str| serin::config::read::source::ConfigSource::new(&path, text.into(), None);
    let refused = load(&file(&text), &secrets, Unset::Warn).expect_err("it is refused").to_string();
    assert!(refused.contains("ca.pem cannot be used: it holds no certificate"), "{refused}");
    let gone = with_monitor("ca: gone.pem");
    assert!(load(&file(&gone), &secrets, Unset::Refuse).is_err(), "run refuses a file that is not there");
    let warned = load(&file(&gone), &secrets, Unset::Warn).expect("check without --env goes on");
    assert!(warned.warnings.iter().any(|warning| warning.contains("gone.pem cannot be used")), "{:?}", warned.warnings);
    let proxied = loaded(&with_monitor("proxy: \"http://user:${env:DOCS_TOKEN}@proxy.example.org:3128\""));
    let proxy = proxied.fleet.monitors[0].reach.proxy.clone().expect("it is declared");
    assert!(!proxy.shown.contains("geheim") && proxy.resolved.expose().contains("geheim-bearer"), "{}", proxy.shown);
}
