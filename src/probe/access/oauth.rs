//! A bearer token by OAuth client credentials: from the server's 401 to the declared issuer's token endpoint
//! (RFC 9728, RFC 8414, RFC 6749 §4.4, RFC 8707).
//!
//! A hostile server can name an authorization server of its own. So the issuer stands in the file, its metadata has to
//! name itself exactly so, and the client secret goes to its token endpoint and nowhere else. An address learnt from the
//! wire is reached only where it is public, or on a host that the file names. A token that was got is a bearer like any
//! other from then on; one that was refused is asked for ever more rarely.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Method};
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::domain::fault::Fault;
use crate::domain::secret::Secret;
use crate::probe::access::attempt::{Attempt, Side, TokenAnswer, shown};
use crate::probe::decode::challenge::parameter;
use crate::probe::decode::era::MODERN;
use crate::probe::session::message::{METHOD, PROTOCOL};
use crate::probe::wire::outgoing::Outgoing;
use crate::untrusted_text::readable;

/// A token that does not say how long it lives is taken for this long.
const LIFE_DEFAULT: Duration = Duration::from_secs(300);
/// And one that lives for years is renewed all the same, so that a revocation shows.
const LIFE_MAX: Duration = Duration::from_secs(24 * 3600);
/// The part of its life after which a token is renewed, in per cent.
const RENEW_AT_PERCENT: u32 = 80;

/// A token, and when to get the next.
#[derive(Debug, Clone)]
pub(crate) struct AccessToken {
    pub(crate) secret: Secret,
    pub(crate) renew_at: DateTime<Utc>,
}

impl<'a> Attempt<'a> {
    /// Gets a token.
    ///
    /// # Errors
    /// The fault that kept it from coming: a refusal, the issuer's own, or what the monitored server or our way to it
    /// broke on.
    pub(crate) async fn token(&mut self) -> Result<AccessToken, Fault> {
        let challenge = self.challenge().await?;
        let resource = self.resource(&challenge).await?;
        let issuer = self.issuer().await?;
        self.ask(&challenge, resource.as_ref(), &issuer).await
    }

    /// What the server says to a caller without a token; nothing where it does not refuse.
    async fn challenge(&mut self) -> Result<String, Fault> {
        let trace = self.traceparent();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"traceparent":"{trace}","io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let request = Outgoing::to_nowhere(Method::POST, Bytes::from(body))
            .with(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .with(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"))
            .with(PROTOCOL, HeaderValue::from_static(MODERN))
            .with(METHOD, HeaderValue::from_static("tools/list"));
        let answer = self.send(Side::Server, "oauth: challenge", &self.home.clone(), request).await?;
        let header = answer.headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        Ok(header.filter(|_| answer.status == 401).unwrap_or_default().to_owned())
    }

    /// The protected resource's metadata, where it has any.
    async fn resource(&mut self, challenge: &str) -> Result<Option<Value>, Fault> {
        let named = parameter(challenge, "resource_metadata").and_then(|text| self.home.join(&text).ok());
        let path = self.home.path().trim_end_matches('/').to_owned();
        let usual =
            [format!("/.well-known/oauth-protected-resource{path}"), "/.well-known/oauth-protected-resource".into()];
        let usual = usual.iter().filter_map(|path| self.home.join(path).ok());
        let places: Vec<Url> = if let Some(named) = named { vec![named] } else { usual.collect() };
        let Some(found) = self.first(Side::Server, "oauth: resource metadata", &places).await? else { return Ok(None) };
        let servers = found["authorization_servers"].as_array().cloned().unwrap_or_default();
        if !servers.iter().any(|server| server == self.oauth.issuer.as_str()) {
            let named: Vec<&str> = servers.iter().filter_map(Value::as_str).collect();
            let said = named.join(", ");
            return Err(self.refused(&format!(
                "the server names other authorization servers than the declared issuer {}: {said}",
                self.oauth.issuer
            )));
        }
        let own = found["resource"].as_str().and_then(|text| Url::parse(text).ok());
        let fits = own.is_some_and(|own| {
            own.origin() == self.home.origin() && self.home.path().starts_with(own.path().trim_end_matches('/'))
        });
        if !fits {
            return Err(self.refused(&format!("the server's metadata are of another resource: {}", found["resource"])));
        }
        Ok(Some(found))
    }

    /// The metadata of the declared issuer, which have to name it exactly.
    async fn issuer(&mut self) -> Result<Value, Fault> {
        let issuer = Url::parse(&self.oauth.issuer).map_err(|_| self.refused("the declared issuer is no URL"))?;
        let path = issuer.path().trim_end_matches('/');
        let places = [
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ];
        let places: Vec<Url> = places.iter().filter_map(|path| issuer.join(path).ok()).collect();
        let Some(found) = self.first(Side::Issuer, "oauth: issuer metadata", &places).await? else {
            return Err(self.refused(&format!("the issuer {} has no metadata", self.oauth.issuer)));
        };
        match found["issuer"].as_str() {
            Some(named) if named == self.oauth.issuer => Ok(found),
            named => Err(self.refused(&format!(
                "the issuer in the metadata is {}, the file declares {}",
                named.unwrap_or("missing"),
                self.oauth.issuer
            ))),
        }
    }

    async fn ask(&mut self, challenge: &str, resource: Option<&Value>, issuer: &Value) -> Result<AccessToken, Fault> {
        let endpoint = issuer["token_endpoint"].as_str().and_then(|text| Url::parse(text).ok());
        let Some(endpoint) = endpoint else { return Err(self.refused("the issuer's metadata name no token_endpoint")) };
        let (body, login) = self.form(challenge, resource, issuer)?;
        let request = Outgoing::to_nowhere(Method::POST, Bytes::from(body))
            .with(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .with(ACCEPT, HeaderValue::from_static("application/json"))
            .with_some(login.map(|value| (AUTHORIZATION, value)));
        let answer = self.send(Side::Issuer, "oauth: token", &endpoint, request).await?;
        self.granted(&endpoint, &answer)
    }

    /// The form of a token request, and the login that goes with it where the endpoint takes one in a header.
    fn form(
        &self,
        challenge: &str,
        resource: Option<&Value>,
        issuer: &Value,
    ) -> Result<(String, Option<HeaderValue>), Fault> {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.append_pair("grant_type", "client_credentials");
        body.append_pair("resource", &self.resource_name(resource));
        if let Some(scope) = self.scope(challenge, resource) {
            body.append_pair("scope", &scope);
        }
        let methods = issuer["token_endpoint_auth_methods_supported"].as_array();
        let takes = |method: &str| methods.is_none_or(|all| all.iter().any(|one| one == method));
        let (id, secret) = (&self.oauth.client_id, self.oauth.client_secret.expose());
        if takes("client_secret_basic") {
            return Ok((body.finish(), Some(basic(id, secret))));
        }
        if takes("client_secret_post") {
            body.append_pair("client_id", id).append_pair("client_secret", secret);
            return Ok((body.finish(), None));
        }
        let said = Value::from(methods.cloned().unwrap_or_default());
        Err(self.refused(&format!("the token endpoint takes no client secret, but {said}")))
    }

    fn granted(&self, endpoint: &Url, answer: &TokenAnswer) -> Result<AccessToken, Fault> {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if answer.status != 200 {
            let said = [&body["error"], &body["error_description"]].map(|part| part.as_str().unwrap_or_default());
            let said = if said[0].is_empty() { readable(&answer.body) } else { said.join(" ") };
            let said = format!("answered {}: {}", answer.status, said.trim());
            return Err(match answer.status {
                429 | 500.. => self.issuer_failed(&format!("the token endpoint {} {said}", shown(endpoint))),
                _ => self.refused(&format!("the token endpoint {said}")),
            });
        }
        let bearer = body["token_type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
        let token = body["access_token"]
            .as_str()
            .filter(|token| bearer && !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
        let Some(token) = token else {
            return Err(self.refused("the token endpoint answered 200 without a bearer token"));
        };
        let life = body["expires_in"].as_f64().filter(|seconds| (0.0..1e9).contains(seconds));
        let life = life.map_or(LIFE_DEFAULT, Duration::from_secs_f64).min(LIFE_MAX);
        let renew_at = self.now + TimeDelta::from_std(life * RENEW_AT_PERCENT / 100).unwrap_or_default();
        Ok(AccessToken { secret: Secret::new(token), renew_at })
    }

    /// The name of what is asked for: as its metadata say, else the monitor's address without what identifies a call.
    fn resource_name(&self, resource: Option<&Value>) -> String {
        let named = resource.and_then(|metadata| metadata["resource"].as_str()).map(str::to_owned);
        named.unwrap_or_else(|| {
            let mut home = self.home.clone();
            home.set_query(None);
            home.set_fragment(None);
            let _no_host = home.set_username("").and_then(|()| home.set_password(None));
            home.into()
        })
    }

    fn scope(&self, challenge: &str, resource: Option<&Value>) -> Option<String> {
        let supported = || {
            let list = resource?["scopes_supported"].as_array()?;
            let scopes: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            (!scopes.is_empty()).then(|| scopes.join(" "))
        };
        self.oauth.scope.clone().or_else(|| parameter(challenge, "scope")).or_else(supported)
    }

    /// The first of these places that answers 200 with JSON; none where all of them say that there is nothing.
    async fn first(&mut self, side: Side, label: &str, places: &[Url]) -> Result<Option<Value>, Fault> {
        for place in places {
            let request = Outgoing::to_nowhere(Method::GET, Bytes::new());
            let request = request.with(ACCEPT, HeaderValue::from_static("application/json"));
            let answer = self.send(side, label, place, request).await?;
            match (answer.status, side) {
                (200, _) => {
                    let read = serde_json::from_slice::<Value>(&answer.body).ok().filter(Value::is_object);
                    let said =
                        || self.refused(&format!("{} answers no JSON: {}", shown(place), readable(&answer.body)));
                    return read.map(Some).ok_or_else(said);
                }
                (429, Side::Issuer) | (500.., _) => return Err(self.unable(side, place, answer.status)),
                (400..=499, _) => {}
                (status, _) => return Err(self.refused(&format!("{} answers {status}", shown(place)))),
            }
        }
        Ok(None)
    }
}

/// RFC 6749 §2.3.1: both parts are encoded as in a form before they are joined.
fn basic(id: &str, secret: &str) -> HeaderValue {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let text = format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))));
    let mut value = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("Basic"));
    value.set_sensitive(true);
    value
}
