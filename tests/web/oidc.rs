//! Signing in by a provider of OpenID Connect: what opens, and what all does not.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};
use serin::domain::fleet::Fleet;
use serin::domain::sign_in::{Provider, SignIn};

use crate::fixture::{self, Running};
use crate::forging::{Forger, Key, Sent, come_back, sent, session_of};
use crate::{ask, users};

async fn served(provider: Arc<Provider>) -> Running {
    let sign_in = SignIn { provider: Some(provider), ..users::of_each_role() };
    fixture::serve(None, Fleet { sign_in, ..fixture::fleet(&[]) }).await
}

async fn sees(running: &Running, cookie: &str) -> u16 {
    ask(running, Method::GET, "/").header(header::COOKIE, cookie).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_provider_opens_for_as_long_as_it_is_declared_so() {
    let provider = Forger::start().await;
    let running = served(provider.declared()).await;
    let page = ask(&running, Method::GET, "/login?next=/incidents").send().await.unwrap().text().await.unwrap();
    assert!(page.contains("Sign in with 127.0.0.1") && page.contains("/login/oidc?next=%2Fincidents"), "{page}");
    for (next, goes) in [("/incidents?state=open", "/incidents?state=open"), ("//evil.example.net", "/")] {
        let sent = sent(&running, next).await;
        let token = provider.key.signed(&provider.claims(&sent, &["sre", "everybody"]));
        let answer = come_back(&running, &sent.state, &provider.code(&sent, token), &sent.cookie).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let cookies: Vec<_> = answer.headers().get_all(header::SET_COOKIE).iter().cloned().collect();
        let session = cookies.iter().find(|line| line.as_bytes().starts_with(b"serin_session")).unwrap();
        assert!(session.to_str().unwrap().contains("SameSite=Strict; Max-Age=3600"), "{session:?}");
        let cookie = session_of(&answer).unwrap();
        let text = answer.text().await.unwrap();
        assert!(text.contains(&format!("content=\"0; url={goes}\"")), "{text}");
        assert_eq!(sees(&running, &cookie).await, 200);
    }
    let cookie = provider.session(&running, &["sre"]).await;
    let wanted = json!({ "match": { "severity": ["notice"] }, "actor": "mallory", "comment": "works", "seconds": 60 });
    let request = ask(&running, Method::POST, "/api/v1/silences").header(header::COOKIE, &cookie);
    let made: Value = request.header("origin", &running.url).json(&wanted).send().await.unwrap().json().await.unwrap();
    assert_eq!(made["author"], "sre@example.org");
    let other = Arc::new(Provider { claim: "roles".to_owned(), ..Provider::clone(&provider.declared()) });
    let sign_in = SignIn { provider: Some(other), users: None };
    running.fleet.send_replace(Arc::new(Fleet { sign_in, ..fixture::fleet(&[]) }));
    assert_eq!(
        sees(&running, &cookie).await,
        303,
        "what the file says otherwise now has to be said by the provider again"
    );
}

#[tokio::test]
async fn only_the_browser_that_began_comes_back_and_once() {
    let provider = Forger::start().await;
    let running = served(provider.declared()).await;
    let (one, other) = (sent(&running, "/").await, sent(&running, "/").await);
    let token = |sent: &Sent| provider.key.signed(&provider.claims(sent, &["sre"]));
    let code = provider.code(&one, token(&one));
    let refused = "was not begun in this browser, is over, or was used already";
    let rows = [
        ("guessed", one.cookie.as_str(), "a state that nobody was given"),
        ("", &one.cookie, "none"),
        (&one.state, &other.cookie, "another browser with a stolen address"),
        (&one.state, "a=b", "a browser without a cookie"),
        (&other.state, &one.cookie, "the state of another sign-in"),
    ];
    for (state, cookie, sentence) in rows {
        let answer = come_back(&running, state, &code, cookie).await;
        assert_eq!((answer.status(), session_of(&answer)), (StatusCode::UNAUTHORIZED, None), "{sentence}");
        assert!(answer.text().await.unwrap().contains(refused), "{sentence}");
    }
    let answer = come_back(&running, &one.state, &code, &one.cookie).await;
    assert!(session_of(&answer).is_some(), "and none of them kept the right one out");
    let again = provider.code(&one, token(&one));
    let answer = come_back(&running, &one.state, &again, &one.cookie).await;
    assert_eq!((answer.status(), session_of(&answer)), (StatusCode::UNAUTHORIZED, None), "it is good once");
    let path = format!("/login/oidc/callback?state={}&error=access_denied%3Cb%3E", other.state);
    let answer = ask(&running, Method::GET, &path).header(header::COOKIE, &other.cookie).send().await.unwrap();
    assert!(answer.text().await.unwrap().contains("it says `access_deniedb`"));
}

#[tokio::test]
async fn what_a_provider_says_is_believed_only_where_it_is_its_word_for_us() {
    type Lie<'l> = &'l dyn Fn(&Forger, &mut Value) -> Option<String>;
    let provider = Forger::start().await;
    let running = served(provider.declared()).await;
    fn set(name: &'static str, value: Value) -> impl Fn(&Forger, &mut Value) -> Option<String> {
        move |_, claims| {
            claims[name] = value.clone();
            None
        }
    }
    let forged = |_: &Forger, claims: &mut Value| Some(Key::new("one").signed(claims));
    let unknown = |_: &Forger, claims: &mut Value| Some(Key::new("two").signed(claims));
    let unsigned = |_: &Forger, claims: &mut Value| {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        Some(format!("{}.{}.", part(&json!({ "alg": "none" })), part(claims)))
    };
    let changed = |provider: &Forger, claims: &mut Value| {
        let signed = provider.key.signed(claims);
        claims["groups"] = json!(["platform"]);
        let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
        let parts: Vec<&str> = signed.split('.').collect();
        Some(format!("{}.{payload}.{}", parts[0], parts[2]))
    };
    let rows: [(Lie<'_>, u16, &str, &str); 15] = [
        (&set("x", json!(1)), 200, "go on", "nothing wrong"),
        (&set("nonce", json!("other")), 401, "nonce", "of another sign-in"),
        (&set("nonce", Value::Null), 401, "nonce", "of no sign-in at all"),
        (&set("aud", json!("another-client")), 401, "audience", "for somebody else"),
        (&set("aud", json!(["serin", "another-client"])), 401, "audience", "for somebody else too"),
        (&set("iss", json!("https://evil.example.net")), 401, "issuer", "of somebody else"),
        (&set("exp", json!(1_000)), 401, "Expired", "of long ago"),
        (&forged, 401, "Signature", "by a key that only has the same name"),
        (&unknown, 401, "Signature", "by a key that nobody knows"),
        (&unsigned, 401, "cannot be trusted", "by nobody"),
        (&changed, 401, "Signature", "and then somebody changed it"),
        (&set("groups", json!(["sales"])), 403, "of the 1 values of its claim `groups`", "no role"),
        (&set("groups", Value::Null), 403, "it says nothing under the claim `groups`", "no claim"),
        (&set("email", Value::Null), 401, "its claim `email` is missing", "nobody's name"),
        (&set("email_verified", json!(false)), 401, "has not verified your `email`", "anybody may have written that"),
    ];
    for (lie, status, said, sentence) in rows {
        let sent = sent(&running, "/").await;
        let mut claims = provider.claims(&sent, &["sre"]);
        let lied = lie(&provider, &mut claims);
        let token = lied.unwrap_or_else(|| provider.key.signed(&claims));
        let answer = come_back(&running, &sent.state, &provider.code(&sent, token), &sent.cookie).await;
        assert_eq!(answer.status().as_u16(), status, "{sentence}");
        assert_eq!(session_of(&answer).is_some(), status == 200, "{sentence}");
        let text = answer.text().await.unwrap();
        assert!(text.contains(said), "{sentence}: {text}");
    }
}

#[tokio::test]
async fn a_provider_may_change_its_keys_and_tell_of_groups_apart() {
    let provider = Forger::start().await;
    let running = served(provider.declared()).await;
    provider.session(&running, &["sre"]).await;
    let key = Key::new("two");
    provider.rotate(&key);
    let sent = sent(&running, "/").await;
    let mut claims = provider.claims(&sent, &[]);
    claims.as_object_mut().unwrap().remove("groups");
    provider.tell_besides(json!({ "sub": "1", "groups": ["sre"] }));
    let answer = come_back(&running, &sent.state, &provider.code(&sent, key.signed(&claims)), &sent.cookie).await;
    assert_eq!(answer.status(), StatusCode::OK, "by the new key, and by what is told besides");
    provider.tell_besides(json!({ "sub": "2", "groups": ["platform"] }));
    let sent = crate::forging::sent(&running, "/").await;
    let mut claims = provider.claims(&sent, &[]);
    claims.as_object_mut().unwrap().remove("groups");
    let answer = come_back(&running, &sent.state, &provider.code(&sent, key.signed(&claims)), &sent.cookie).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN, "what is told of somebody else opens nothing");
}

#[tokio::test]
async fn while_the_provider_is_away_the_rest_goes_on() {
    let provider =
        Provider { issuer: "http://127.0.0.1:1".to_owned(), ..Provider::clone(&*Forger::start().await.declared()) };
    let running = served(Arc::new(provider)).await;
    let answer = ask(&running, Method::GET, "/login/oidc?next=/incidents").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    let text = answer.text().await.unwrap();
    assert!(text.contains("The provider http://127.0.0.1:1 cannot be asked"), "{text}");
    assert!(text.contains("name=\"password\"") && text.contains("value=\"/incidents\""), "and the other way is there");
    let cookie = users::session(&running, "ada").await;
    assert_eq!(sees(&running, &cookie).await, 200);
}
