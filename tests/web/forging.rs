//! A provider of OpenID Connect that says whatever a test wants. The real one of `tests/oidc` cannot be made to lie.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Form, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Utc;
use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJwsSigningAlgorithm};
use openidconnect::{JsonWebKeyId, PrivateSigningKey as _};
use parking_lot::Mutex;
use reqwest::{Method, Response, StatusCode, header};
use serde_json::{Value, json};
use serin::domain::api_key::Role;
use serin::domain::secret::Secret;
use serin::domain::sign_in::Provider;
use sha2::{Digest as _, Sha256};

use crate::ask;
use crate::fixture::Running;

const CLIENT: &str = "serin";
const SECRET: &str = "a-secret-of-the-provider";

/// What a code is good for.
struct Issued {
    token: String,
    challenge: String,
}

struct Books {
    issuer: String,
    keys: Vec<Value>,
    codes: HashMap<String, Issued>,
    /// What is told of somebody besides.
    more: Value,
}

/// A key with its id.
pub(crate) struct Key(CoreEdDsaPrivateSigningKey, String);

impl Key {
    pub(crate) fn new(id: &str) -> Self {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        let key =
            CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pair.serialize_pem(), Some(JsonWebKeyId::new(id.into())));
        Self(key.unwrap(), id.to_owned())
    }

    fn public(&self) -> Value {
        serde_json::to_value(self.0.as_verification_key()).unwrap()
    }

    /// A token that says this, whether it is true or not.
    pub(crate) fn signed(&self, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let said = format!("{}.{}", part(&json!({ "alg": "EdDSA", "typ": "JWT", "kid": self.1 })), part(claims));
        let signature = self.0.sign(&CoreJwsSigningAlgorithm::EdDsa, said.as_bytes()).unwrap();
        format!("{said}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Such a provider, on loopback.
pub(crate) struct Forger {
    pub(crate) key: Key,
    books: Arc<Mutex<Books>>,
}

/// Somebody who was sent to the provider.
pub(crate) struct Sent {
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) cookie: String,
    challenge: String,
}

impl Forger {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let key = Key::new("one");
        let (keys, codes) = (vec![key.public()], HashMap::new());
        let books = Arc::new(Mutex::new(Books { issuer, keys, codes, more: Value::Null }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/keys", get(keys_of))
            .route("/token", post(token))
            .route("/me", get(more))
            .with_state(Arc::clone(&books));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { key, books }
    }

    /// As the file declares it.
    pub(crate) fn declared(&self) -> Arc<Provider> {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let roles = [(Role::Read, "everybody"), (Role::Act, "sre"), (Role::Owner, "platform")];
        Arc::new(Provider {
            issuer: self.books.lock().issuer.clone(),
            client_id: CLIENT.to_owned(),
            client_secret: Some(Secret::new(SECRET)),
            scopes: texts(&["openid", "email"]),
            claim: "groups".to_owned(),
            roles: roles.map(|(role, group)| (role, texts(&[group]))).to_vec(),
            name_claim: "email".to_owned(),
            session: Duration::from_secs(3600),
        })
    }

    /// Another key in place of the one that there is.
    pub(crate) fn rotate(&self, key: &Key) {
        self.books.lock().keys = vec![key.public()];
    }

    /// What is told of somebody besides.
    pub(crate) fn tell_besides(&self, more: Value) {
        self.books.lock().more = more;
    }

    /// What is true of somebody in these groups, who comes in this browser.
    pub(crate) fn claims(&self, sent: &Sent, groups: &[&str]) -> Value {
        let (issuer, now) = (self.books.lock().issuer.clone(), Utc::now().timestamp());
        json!({
            "iss": issuer, "aud": CLIENT, "sub": "1", "iat": now, "exp": now + 300, "nonce": sent.nonce,
            "email": "grace@example.org", "groups": groups,
        })
    }

    /// A code for this token.
    pub(crate) fn code(&self, sent: &Sent, token: String) -> String {
        let code = format!("code-{}", sent.state);
        let challenge = sent.challenge.clone();
        self.books.lock().codes.insert(code.clone(), Issued { token, challenge });
        code
    }

    /// The cookie of somebody's new session, who is called as their groups are.
    pub(crate) async fn session(&self, running: &Running, groups: &[&str]) -> String {
        let sent = sent(running, "/").await;
        let mut claims = self.claims(&sent, groups);
        claims["email"] = json!(format!("{}@example.org", groups.join("-")));
        let code = self.code(&sent, self.key.signed(&claims));
        let answer = come_back(running, &sent.state, &code, &sent.cookie).await;
        assert_eq!(answer.status(), StatusCode::OK, "{groups:?}");
        session_of(&answer).unwrap()
    }
}

/// Somebody who begins.
pub(crate) async fn sent(running: &Running, next: &str) -> Sent {
    let answer = ask(running, Method::GET, &queried("/login/oidc", &[("next", next)])).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
    assert!(cookie.contains("; Path=/login/oidc; HttpOnly; SameSite=Lax; Max-Age=600"), "{cookie}");
    let to = url::Url::parse(answer.headers()[header::LOCATION].to_str().unwrap()).unwrap();
    let asked: HashMap<String, String> = to.query_pairs().into_owned().collect();
    assert_eq!((asked["response_type"].as_str(), asked["code_challenge_method"].as_str()), ("code", "S256"));
    assert_eq!(asked["scope"], "openid email");
    assert_eq!(asked["redirect_uri"], "https://serin.example.org/login/oidc/callback");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let of = |name: &str| asked[name].clone();
    Sent { state: of("state"), nonce: of("nonce"), challenge: of("code_challenge"), cookie }
}

/// A browser that comes back from the provider.
pub(crate) async fn come_back(running: &Running, state: &str, code: &str, cookie: &str) -> Response {
    let path = queried("/login/oidc/callback", &[("state", state), ("code", code)]);
    let request = ask(running, Method::GET, &path);
    request.header(header::COOKIE, cookie).header("sec-fetch-site", "cross-site").send().await.unwrap()
}

fn queried(path: &str, pairs: &[(&str, &str)]) -> String {
    format!("{path}?{}", url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
}

/// The cookie of the session that an answer opens.
pub(crate) fn session_of(answer: &Response) -> Option<String> {
    let cookies = answer.headers().get_all(header::SET_COOKIE).iter().map(|line| line.to_str().unwrap());
    let session = cookies.filter_map(|line| line.split(';').next()).find(|pair| pair.starts_with("serin_session="));
    session.map(str::to_owned)
}

async fn metadata(State(books): State<Arc<Mutex<Books>>>) -> Json<Value> {
    let issuer = books.lock().issuer.clone();
    Json(json!({
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/auth"), "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"), "userinfo_endpoint": format!("{issuer}/me"),
        "response_types_supported": ["code"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA"],
    }))
}

async fn keys_of(State(books): State<Arc<Mutex<Books>>>) -> Json<Value> {
    Json(json!({ "keys": books.lock().keys }))
}

/// Checks what a provider checks: the client, that the code is used once, and by whoever began.
async fn token(
    State(books): State<Arc<Mutex<Books>>>,
    headers: HeaderMap,
    Form(asked): Form<HashMap<String, String>>,
) -> Result<Json<Value>, (axum::http::StatusCode, Json<Value>)> {
    let refused = || (axum::http::StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" })));
    let proof = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{CLIENT}:{SECRET}")));
    let is_client = headers.get("authorization").is_some_and(|shown| shown.as_bytes() == proof.as_bytes());
    let issued = books.lock().codes.remove(&asked["code"]).filter(|_| is_client).ok_or_else(refused)?;
    if URL_SAFE_NO_PAD.encode(Sha256::digest(&asked["code_verifier"])) != issued.challenge {
        return Err(refused());
    }
    Ok(Json(json!({ "access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": issued.token })))
}

async fn more(State(books): State<Arc<Mutex<Books>>>) -> Result<Json<Value>, axum::http::StatusCode> {
    let more = books.lock().more.clone();
    if more.is_null() { Err(axum::http::StatusCode::NOT_FOUND) } else { Ok(Json(more)) }
}
