//! Signing in by a provider that others wrote: `oidc-provider`, through its own pages, as a browser goes through them.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, Response, StatusCode, header};
use serin::domain::api_key::Role;
use serin::domain::fleet::Fleet;
use serin::domain::secret::Secret;
use serin::domain::sign_in::{Provider, SignIn};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use url::Url;

use crate::fixture::{self, Running};
use crate::forging::{come_back, session_of};
use crate::{ask, client, form, users};

const BACK: &str = "https://serin.example.org/login/oidc/callback";

/// The provider, ended when it is dropped; it sends browsers back there.
async fn started(back: &str) -> ((Child, Lines<BufReader<ChildStdout>>), String) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oidc");
    let mut command = Command::new("node");
    command.arg("provider.mjs").arg(back).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let issuer = said.next_line().await.unwrap().expect("tests/install.sh was run");
    // It says more, and would end where nobody listened.
    ((child, said), issuer)
}

/// As much of a browser as the pages of the provider need.
#[derive(Default)]
struct Browser(BTreeMap<String, String>);

impl Browser {
    async fn send(&mut self, request: reqwest::RequestBuilder) -> Response {
        let cookies: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let answer = request.header(header::COOKIE, cookies.join("; ")).send().await.unwrap();
        for line in answer.headers().get_all(header::SET_COOKIE) {
            let pair = line.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.0.insert(name.to_owned(), value.to_owned());
        }
        answer
    }

    /// Goes on from an address of the provider, filling in its forms as somebody, until it leads back.
    async fn through(&mut self, start: Url, login: &str) -> Url {
        let mut answer = self.send(client().get(start.clone())).await;
        let mut here = start;
        for _step in 0..12 {
            if let Some(to) = answer.headers().get(header::LOCATION) {
                here = here.join(to.to_str().unwrap()).unwrap();
                if here.as_str().starts_with(BACK) {
                    return here;
                }
                answer = self.send(client().get(here.clone())).await;
                continue;
            }
            let page = answer.text().await.unwrap();
            let of = |begin: &str| page.split_once(begin).and_then(|(_, rest)| rest.split('"').next());
            let action = of("action=\"").unwrap_or_else(|| panic!("a page without a form: {page}"));
            here = here.join(action).unwrap();
            let prompt = of("name=\"prompt\" value=\"").unwrap();
            let pairs = [("prompt", prompt), ("login", login), ("password", "any")];
            answer = self.send(form(client().post(here.clone()), &pairs)).await;
        }
        panic!("it leads nowhere; now at {here}");
    }
}

/// Somebody goes to the provider and comes back to Serin.
async fn signed_in(running: &Running, login: &str) -> Response {
    let answer = ask(running, Method::GET, "/login/oidc?next=/incidents").send().await.unwrap();
    let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    let to = Url::parse(answer.headers()[header::LOCATION].to_str().unwrap()).unwrap();
    let back = Browser::default().through(to, login).await;
    let of = |name: &str| back.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    come_back(running, &of("state"), &of("code"), &cookie).await
}

#[tokio::test]
#[ignore = "needs node and what tests/install.sh installs"]
async fn a_real_provider_opens_to_whom_it_should() {
    let (_provider, issuer) = started(BACK).await;
    let sign_in = SignIn { users: None, provider: Some(declared(issuer)) };
    let running = fixture::serve(None, Fleet { sign_in, ..fixture::fleet(&[]) }).await;
    let answer = signed_in(&running, "grace").await;
    let cookie = session_of(&answer);
    let text = answer.text().await.unwrap();
    let cookie = cookie.unwrap_or_else(|| panic!("{text}"));
    let page = ask(&running, Method::GET, "/incidents").header(header::COOKIE, cookie).send().await.unwrap();
    assert!(page.text().await.unwrap().contains("<b class=\"who\">grace@example.org</b>"));
    let answer = signed_in(&running, "heidi").await;
    assert_eq!((answer.status(), session_of(&answer)), (StatusCode::FORBIDDEN, None));
    let text = answer.text().await.unwrap();
    assert!(text.contains("You are heidi@example.org to the provider, and nothing is opened by that"), "{text}");
}

fn declared(issuer: String) -> Arc<Provider> {
    Arc::new(Provider {
        issuer,
        client_id: "serin".to_owned(),
        client_secret: Some(Secret::new("a-secret-of-the-provider")),
        scopes: ["openid", "email", "groups"].map(str::to_owned).to_vec(),
        claim: "groups".to_owned(),
        roles: vec![(Role::Act, vec!["sre".to_owned()])],
        name_claim: "email".to_owned(),
        session: Duration::from_secs(3600),
    })
}

/// The form, the ways that it offers, and where each leads, clicked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium, node and what tests/install.sh installs"]
async fn people_sign_in_in_a_browser() {
    let running = fixture::serve(None, fixture::fleet(&[])).await;
    let (_provider, issuer) = started(&format!("{}/login/oidc/callback", running.url)).await;
    let sign_in = SignIn { provider: Some(declared(issuer)), ..users::of_each_role() };
    let public_url = running.url.clone();
    running.fleet.send_replace(Arc::new(Fleet { sign_in, public_url, ..fixture::fleet(&[]) }));
    let mut node = Command::new("node");
    node.args(["login.mjs", &running.url, users::PASSWORD, "../../target/pages"]);
    node.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages")).kill_on_drop(true);
    let status = tokio::time::timeout(Duration::from_mins(10), node.status()).await.expect("it ends").unwrap();
    assert!(status.success(), "somebody does not get in; see above");
}
