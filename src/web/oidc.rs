//! Signing in by a provider of OpenID Connect: the authorization code flow with PKCE, `state` and `nonce`.
//!
//! What was begun is kept here and not in the browser, is good once, for ten minutes, and only for the browser that began
//! it. The provider is asked for its metadata and keys when somebody wants to sign in: while it is away everything else
//! goes on. A token's issuer, audience, times, nonce and signature are looked at by the library, before any claim is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreClientAuthMethod, CoreErrorResponseType,
    CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata,
    CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AccessToken, AdditionalClaims, AuthType, AuthorizationCode, ClaimsVerificationError, Client, ClientId,
    ClientSecret, CsrfToken, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet, IdTokenFields,
    IssuerUrl, Nonce, OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    SignatureVerificationError, StandardErrorResponse, StandardTokenResponse, SubjectIdentifier, TokenResponse as _,
    UserInfoClaims,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::Mutex as TurnMutex;

use crate::domain::api_key::Role;
use crate::domain::sign_in::Provider;
use crate::web::claims::{NothingOpened, claim, judged};
use crate::web::provider_http::ProviderHttp;
use crate::web::sessions::hash;
use crate::web::source::Peer;

/// Where signing in by the provider begins.
pub(crate) const BEGIN: &str = "/login/oidc";
/// Where the provider sends the browser back to.
pub(crate) const CALLBACK: &str = "/login/oidc/callback";
/// The cookie by which the browser that comes back is known to be the one that went.
pub(crate) const COOKIE: &str = "serin_oidc";
/// How long somebody has at the provider.
pub(crate) const BEGUN_MINUTES: i64 = 10;
/// What is begun and not finished at once; the oldest makes room.
const BEGUN_MAX: usize = 1_000;
/// The same from one source; its own oldest makes room, so that whoever only begins pushes nobody else out.
const BEGUN_OF_SOURCE_MAX: usize = 50;
/// A longer address to go on to is not kept.
const NEXT_BYTES_MAX: usize = 2_000;
/// Metadata and keys are asked for again after this, and sooner where a token names a key that is not among them.
const KNOWN_FOR: TimeDelta = TimeDelta::hours(1);
/// They are asked for no more often than this where it did not answer, or where tokens come with unknown keys.
const ASKED_EVERY: TimeDelta = TimeDelta::seconds(10);

/// Everything about signing in by a provider that outlasts a request.
#[derive(Debug, Default)]
pub struct Oidc {
    http: ProviderHttp,
    known: TurnMutex<Option<Known>>,
    begun: Mutex<HashMap<[u8; 32], Begun>>,
}

/// What a provider said of itself when it was asked last.
#[derive(Debug, Clone)]
struct Known {
    of: Arc<Provider>,
    said: Result<Box<CoreProviderMetadata>, String>,
    asked_at: DateTime<Utc>,
    /// When it was last asked before its time, since a token named a key that was not among its keys.
    hurried_at: DateTime<Utc>,
}

/// Somebody who was sent to the provider.
#[derive(Debug)]
struct Begun {
    /// The hash of their browser's cookie.
    browser: [u8; 32],
    by: Arc<Provider>,
    nonce: Nonce,
    verifier: PkceCodeVerifier,
    next: String,
    from: Peer,
    at: DateTime<Utc>,
}

/// Where a browser is sent, and the cookie that it takes along.
#[derive(Debug)]
pub(crate) struct SentAway {
    pub url: String,
    pub cookie: String,
}

/// Who came back.
#[derive(Debug)]
pub(crate) struct CameBack {
    pub name: String,
    pub role: Role,
    pub by: Arc<Provider>,
    pub next: String,
}

/// Why nobody is signed in, in words for whoever wanted to be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("The provider {issuer} cannot be asked: {why}.{} Try again in a moment.", IN_ANOTHER_WAY)]
    Away { issuer: String, why: String },
    #[error("This sign-in was not begun in this browser, is over, or was used already. Begin it again.")]
    NotBegunHere,
    #[error("The provider did not sign you in: it says `{0}`.")]
    Declined(String),
    #[error("What the provider {issuer} says of you cannot be trusted: {why}.")]
    Untrusted { issuer: String, why: String },
    #[error(transparent)]
    NothingOpened(#[from] NothingOpened),
}

const IN_ANOTHER_WAY: &str = " Sign in another way, where there is one.";

/// All claims that are none of the standard ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct OtherClaims(Map<String, Value>);

impl AdditionalClaims for OtherClaims {}

type TokenFields = IdTokenFields<
    OtherClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
type Tokens = StandardTokenResponse<TokenFields, CoreTokenType>;
type ProviderClient = Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl Oidc {
    /// Sends somebody to the provider.
    pub(crate) async fn begin(
        &self,
        provider: &Arc<Provider>,
        public_url: &str,
        (from, next): (IpAddr, &str),
    ) -> Result<SentAway, Refused> {
        let client = self.client(provider, public_url, false).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let scopes = provider.scopes.iter().filter(|scope| *scope != "openid").map(|scope| Scope::new(scope.clone()));
        let (url, state, nonce) = client
            .authorize_url(CoreAuthenticationFlow::AuthorizationCode, CsrfToken::new_random, Nonce::new_random)
            .add_scopes(scopes)
            .set_pkce_challenge(challenge)
            .url();
        let cookie = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>());
        let next = if next.len() > NEXT_BYTES_MAX { "/" } else { next };
        let (by, next, from, at) = (Arc::clone(provider), next.to_owned(), Peer::of(from), Utc::now());
        self.keep(state.secret(), Begun { browser: hash(&cookie), by, nonce, verifier, next, from, at });
        Ok(SentAway { url: url.into(), cookie })
    }

    /// Takes somebody who comes back: what they bring is good once.
    pub(crate) async fn finish(
        &self,
        provider: &Arc<Provider>,
        public_url: &str,
        (state, answer): (&str, Result<String, String>),
        browser: Option<&str>,
    ) -> Result<CameBack, Refused> {
        let begun = browser.and_then(|browser| self.take(state, browser)).filter(|begun| begun.by == *provider);
        let Begun { nonce, verifier, next, .. } = begun.ok_or(Refused::NotBegunHere)?;
        let code = AuthorizationCode::new(answer.map_err(Refused::Declined)?);
        let client = self.client(provider, public_url, false).await?;
        let away = |why: String| Refused::Away { issuer: provider.issuer.clone(), why };
        let untrusted = |why: String| Refused::Untrusted { issuer: provider.issuer.clone(), why };
        let exchange = client.exchange_code(code).map_err(|error| away(error.to_string()))?;
        let tokens: Tokens = exchange.set_pkce_verifier(verifier).request_async(&self.http).await.map_err(|error| {
            tracing::warn!(error = %chain(&error), "a code was not exchanged for a token");
            away(chain(&error))
        })?;
        let token = tokens.id_token().ok_or_else(|| untrusted("it sent no id token".to_owned()))?;
        let verified = match token.claims(&client.id_token_verifier(), &nonce) {
            Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) => {
                // It may have a new one by now.
                let client = self.client(provider, public_url, true).await?;
                token.claims(&client.id_token_verifier(), &nonce)
            }
            verified => verified,
        };
        let verified = verified.map_err(|error| untrusted(chain(&error)))?;
        let mut claims = as_map(verified);
        if claim(&claims, &provider.claim).is_none() || claim(&claims, &provider.name_claim).is_none() {
            let more = self.more(&client, tokens.access_token(), verified.subject()).await;
            if let Some(all) = claims.as_object_mut() {
                for (name, value) in more {
                    all.entry(name).or_insert(value);
                }
            }
        }
        let (name, role) = judged(provider, &claims)?;
        Ok(CameBack { name, role, by: Arc::clone(provider), next })
    }

    /// What the provider tells of somebody besides: many put groups there only. Nothing where it does not.
    async fn more(&self, client: &ProviderClient, token: &AccessToken, of: &SubjectIdentifier) -> Map<String, Value> {
        let Ok(request) = client.user_info(token.clone(), Some(of.clone())) else { return Map::new() };
        let told: Result<UserInfoClaims<OtherClaims, CoreGenderClaim>, _> = request.request_async(&self.http).await;
        match told.map(|told| as_map(&told)) {
            Ok(Value::Object(claims)) => claims,
            Ok(_) => Map::new(),
            Err(error) => {
                tracing::warn!(error = %chain(&error), "the provider says nothing more of somebody");
                Map::new()
            }
        }
    }

    /// A client of the provider, with the keys that it has; `in_a_hurry`: those that it has now.
    async fn client(
        &self,
        provider: &Arc<Provider>,
        public_url: &str,
        in_a_hurry: bool,
    ) -> Result<ProviderClient, Refused> {
        let away = |why| Refused::Away { issuer: provider.issuer.clone(), why };
        let mut known = self.known.lock().await;
        let now = Utc::now();
        let before = known.as_ref().filter(|known| known.of == *provider);
        let is_good = |known: &&Known| {
            let hurries = in_a_hurry && now - known.hurried_at >= ASKED_EVERY;
            !hurries && now - known.asked_at < if known.said.is_ok() { KNOWN_FOR } else { ASKED_EVERY }
        };
        let said = match before.filter(is_good) {
            Some(known) => known.said.clone(),
            None => {
                let hurried_at = before.map_or(DateTime::UNIX_EPOCH, |known| known.hurried_at);
                let issuer = IssuerUrl::new(provider.issuer.clone()).map_err(|error| away(error.to_string()))?;
                let said = CoreProviderMetadata::discover_async(issuer, &self.http).await;
                let said = said.map(Box::new).map_err(|error| chain(&error));
                let hurried_at = if in_a_hurry { now } else { hurried_at };
                *known = Some(Known { of: Arc::clone(provider), said: said.clone(), asked_at: Utc::now(), hurried_at });
                said
            }
        };
        drop(known);
        let metadata = said.map_err(&away)?;
        let back = RedirectUrl::new(format!("{public_url}{CALLBACK}")).map_err(|error| away(error.to_string()))?;
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes_basic = methods.is_none_or(|methods| methods.contains(&CoreClientAuthMethod::ClientSecretBasic));
        let secret = provider.client_secret.as_ref().map(|secret| ClientSecret::new(secret.expose().to_owned()));
        let client_id = ClientId::new(provider.client_id.clone());
        let client = ProviderClient::from_provider_metadata(*metadata, client_id, secret).set_redirect_uri(back);
        Ok(if takes_basic { client } else { client.set_auth_type(AuthType::RequestBody) })
    }

    fn keep(&self, state: &str, begun: Begun) {
        let mut all = self.begun.lock();
        all.retain(|_, other| begun.at - other.at < TimeDelta::minutes(BEGUN_MINUTES));
        let of_source = |other: &Begun| other.from == begun.from;
        if all.values().filter(|other| of_source(other)).count() >= BEGUN_OF_SOURCE_MAX {
            drop_oldest(&mut all, of_source);
        }
        if all.len() >= BEGUN_MAX {
            drop_oldest(&mut all, |_| true);
        }
        all.insert(hash(state), begun);
    }

    /// What was begun in this browser under this state, and is not over; it is not there any more afterwards.
    fn take(&self, state: &str, browser: &str) -> Option<Begun> {
        let mut all = self.begun.lock();
        // Whoever comes with another browser's state does not end its sign-in by that.
        all.get(&hash(state)).filter(|begun| begun.browser == hash(browser))?;
        let begun = all.remove(&hash(state))?;
        (Utc::now() - begun.at < TimeDelta::minutes(BEGUN_MINUTES)).then_some(begun)
    }
}

fn drop_oldest(all: &mut HashMap<[u8; 32], Begun>, of: impl Fn(&Begun) -> bool) {
    let oldest = all.iter().filter(|(_, begun)| of(begun)).min_by_key(|(_, begun)| begun.at);
    if let Some(oldest) = oldest.map(|(key, _)| *key) {
        all.remove(&oldest);
    }
}

fn as_map(claims: &impl Serialize) -> Value {
    serde_json::to_value(claims).unwrap_or_default()
}

/// What went wrong, to the bottom of it, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut deeper = error.source();
    while let Some(error) = deeper {
        let more = error.to_string();
        if !said.contains(&more) {
            said = format!("{said}: {more}");
        }
        deeper = error.source();
    }
    let said: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    said.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(from: [u8; 4], at: DateTime<Utc>) -> Begun {
        let by = Arc::new(Provider {
            issuer: "https://login.example.org".to_owned(),
            client_id: "serin".to_owned(),
            client_secret: None,
            scopes: Vec::new(),
            claim: "groups".to_owned(),
            roles: Vec::new(),
            name_claim: "email".to_owned(),
            session: std::time::Duration::from_secs(1),
        });
        let (nonce, verifier) = (Nonce::new(String::new()), PkceCodeVerifier::new(String::new()));
        Begun { browser: hash("b"), by, nonce, verifier, next: "/".to_owned(), from: Peer::of(from.into()), at }
    }

    #[test]
    fn what_was_begun_is_bounded_and_ends() {
        let (oidc, now) = (Oidc::default(), Utc::now());
        oidc.keep("neighbour", begun([192, 0, 2, 7], now - TimeDelta::minutes(5)));
        oidc.keep("old", begun([192, 0, 2, 8], now - TimeDelta::minutes(BEGUN_MINUTES)));
        assert!(oidc.take("old", "b").is_none(), "nobody has that long");
        for nth in 0..=BEGUN_OF_SOURCE_MAX {
            let at = now - TimeDelta::minutes(1) + TimeDelta::milliseconds(i64::try_from(nth).unwrap());
            oidc.keep(&nth.to_string(), begun([127, 0, 0, 1], at));
        }
        assert!(oidc.take("0", "b").is_none(), "its own oldest made room");
        assert!(oidc.take("1", "another").is_none() && oidc.take("1", "b").is_some(), "in the browser that began it");
        assert!(oidc.take("neighbour", "b").is_some(), "and nobody else's");
        for nth in 0..=BEGUN_MAX {
            let [_, _, high, low] = u32::try_from(nth).unwrap().to_be_bytes();
            oidc.keep(&format!("n{nth}"), begun([10, 0, high, low], now));
        }
        assert_eq!(oidc.begun.lock().len(), BEGUN_MAX);
    }
}
