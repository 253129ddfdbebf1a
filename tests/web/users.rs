//! Users out of a file: signing in with a name and a password, and acting under that name and no other.

use std::sync::{Arc, LazyLock};

use argon2::password_hash::PasswordHasher as _;
use argon2::{Algorithm, Argon2, Params, Version};
use chrono::{TimeDelta, Utc};
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};
use serin::domain::api_key::Role;
use serin::domain::fleet::Fleet;
use serin::domain::secret::Secret;
use serin::domain::sign_in::{SignIn, User};

use crate::fixture::{self, Running};
use crate::{ask, form, set_cookie};

pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// As cheap as the file may have it.
fn hashed(password: &str) -> Secret {
    let params = Params::new(7 * 1024, 1, 1, None).unwrap();
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    Secret::new(&argon2.hash_password(password.as_bytes()).unwrap().to_string())
}

fn user(name: &str, role: Role) -> Arc<User> {
    static HASH: LazyLock<Secret> = LazyLock::new(|| hashed(PASSWORD));
    Arc::new(User { name: name.to_owned(), role, hash: HASH.clone() })
}

/// One user of each role.
pub(crate) fn of_each_role() -> SignIn {
    let users = [("rita", Role::Read), ("ada", Role::Act), ("olga", Role::Owner)];
    SignIn { users: Some(users.map(|(name, role)| user(name, role)).to_vec()), provider: None }
}

fn try_to_sign_in(running: &Running, name: &str, password: &str) -> RequestBuilder {
    let request = ask(running, Method::POST, "/login").header("origin", &running.url);
    form(request, &[("name", name), ("password", password), ("next", "/incidents")])
}

/// The cookie of somebody's new session.
pub(crate) async fn session(running: &Running, name: &str) -> String {
    let answer = try_to_sign_in(running, name, PASSWORD).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{name}");
    set_cookie(&answer)
}

async fn served() -> Running {
    fixture::serve(None, Fleet { sign_in: of_each_role(), ..fixture::fleet(&[]) }).await
}

async fn with(running: &Running, method: Method, path: &str, cookie: &str) -> Response {
    let request = ask(running, method, path).header(header::COOKIE, cookie).header("origin", &running.url);
    request.send().await.unwrap()
}

#[tokio::test]
async fn a_name_and_its_password_open_and_nothing_else_does() {
    let running = served().await;
    let front = ask(&running, Method::GET, "/").send().await.unwrap();
    assert_eq!(front.headers()[header::LOCATION], "/login?next=%2F", "without a token everybody signs in all the same");
    let page = ask(&running, Method::GET, "/login").send().await.unwrap().text().await.unwrap();
    assert!(page.contains("name=\"password\"") && !page.contains("name=\"token\""), "only what is declared is offered");
    let long = "x".repeat(2_000);
    let rows = [
        ("ada", PASSWORD, 303, "the right one"),
        (" ada ", PASSWORD, 303, "with blanks that a phone put there"),
        ("ada", "correct horse battery", 401, "another one"),
        ("ada", "", 401, "none"),
        ("ada", &long, 401, "more than anybody's"),
        ("mallory", PASSWORD, 401, "a name that nobody has"),
        ("Ada", PASSWORD, 401, "a name is written as it is"),
    ];
    for (name, password, status, sentence) in rows {
        let answer = try_to_sign_in(&running, name, password).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{sentence}");
        if status == 303 {
            assert_eq!(answer.headers()[header::LOCATION], "/incidents");
            let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
            assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
        } else {
            let text = answer.text().await.unwrap();
            assert!(text.contains("This is no name here, or not its password."), "no word of which: {sentence}");
        }
    }
    let bearer = ask(&running, Method::GET, "/api/v1/monitors").bearer_auth(PASSWORD).send().await.unwrap();
    assert_eq!(bearer.status(), StatusCode::UNAUTHORIZED, "a password is no token");
}

#[tokio::test]
async fn guessing_passwords_is_stopped() {
    let running = served().await;
    let mut tried = Vec::new();
    for _ in 0..11 {
        tried.push(try_to_sign_in(&running, "ada", "guess").send().await.unwrap().status().as_u16());
    }
    assert_eq!(tried, [vec![401; 10], vec![429]].concat());
    let right = try_to_sign_in(&running, "ada", PASSWORD).send().await.unwrap();
    assert_eq!(right.status(), StatusCode::TOO_MANY_REQUESTS, "whoever guesses is not told which one was right");
    assert_eq!(right.headers()[header::RETRY_AFTER], "60");
}

#[tokio::test]
async fn a_session_is_what_the_file_says_now() {
    let running = served().await;
    let cookie = session(&running, "ada").await;
    let declare = |users: Option<Vec<Arc<User>>>| {
        let sign_in = SignIn { users, provider: None };
        running.fleet.send_replace(Arc::new(Fleet { sign_in, ..fixture::fleet(&[]) }));
    };
    let sees = async || {
        let page = with(&running, Method::GET, "/", &cookie).await;
        let status = page.status().as_u16();
        (status, page.text().await.unwrap().contains("<body class=\"looks-only\">"))
    };
    assert_eq!(sees().await, (200, false));
    declare(Some(vec![user("ada", Role::Read)]));
    assert_eq!(sees().await, (200, true), "another role, at once");
    let recheck = with(&running, Method::POST, "/api/v1/monitors/docs/recheck", &cookie).await;
    assert_eq!(recheck.status(), StatusCode::FORBIDDEN);
    let another = Arc::new(User { hash: hashed("another password"), ..User::clone(&user("ada", Role::Act)) });
    declare(Some(vec![another]));
    assert_eq!(sees().await.0, 303, "another password ends what the old one opened");
    declare(Some(vec![user("ada", Role::Act)]));
    assert_eq!(sees().await, (200, false), "the old one again, and it is as it was");
    declare(Some(vec![user("rita", Role::Read)]));
    assert_eq!(sees().await.0, 303, "whoever is taken out is out");
    declare(None);
    let stranger = ask(&running, Method::GET, "/").send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::SEE_OTHER, "what was closed at the start is not opened by a reload");
}

#[tokio::test]
async fn nobody_acts_in_anothers_name() {
    let running = served().await;
    let (ada, olga) = (session(&running, "ada").await, session(&running, "olga").await);
    let until = Utc::now() + TimeDelta::hours(1);
    let wanted = json!({ "match": { "severity": ["notice"] }, "actor": "mallory", "comment": "works", "until": until });
    let request = ask(&running, Method::POST, "/api/v1/silences").header(header::COOKIE, &ada);
    let made = request.header("origin", &running.url).json(&wanted).send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    let made: Value = made.json().await.unwrap();
    assert_eq!(made["author"], "ada", "{made:#}");
    let path = format!("/silences/{}/end", made["id"].as_str().unwrap());
    let request = ask(&running, Method::POST, &path).header(header::COOKIE, &olga).header("origin", &running.url);
    assert_eq!(form(request, &[("actor", "mallory")]).send().await.unwrap().status(), StatusCode::SEE_OTHER);
    let page = with(&running, Method::GET, "/silences", &ada).await.text().await.unwrap();
    assert!(page.contains("name=\"actor\" value=\"ada\" readonly"), "the form says who acts");
    assert!(page.contains("<b class=\"who\">ada</b>"));
    let request = ask(&running, Method::POST, "/api/v1/keys").header(header::COOKIE, &olga);
    let wanted = json!({ "name": "grafana", "role": "read", "seconds": 60, "actor": "mallory" });
    let key: Value = request.header("origin", &running.url).json(&wanted).send().await.unwrap().json().await.unwrap();
    assert_eq!(key["made_by"], "olga", "an owner makes keys, also where there is no token: {key:#}");
    let silences = with(&running, Method::GET, "/api/v1/silences", &ada).await.text().await.unwrap();
    let log = with(&running, Method::GET, "/api/v1/audit", &olga).await.text().await.unwrap();
    assert!(!silences.contains("mallory") && silences.contains("olga"), "{silences}");
    let log: Value = serde_json::from_str(&log).unwrap();
    let told: Vec<String> = log["lines"].as_array().unwrap().iter().rev().map(|line| line["who"].to_string()).collect();
    assert_eq!(told, ["user ada", "user olga", "user ada", "user olga", "user olga"].map(|who| format!("\"{who}\"")));
}
