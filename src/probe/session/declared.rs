//! What a declaration comes to for its probes: where they go, what each of their requests carries, what may not be shown.
//! Made once and kept for as long as the declaration stands, since none of it changes from beat to beat.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Uri};
use url::Url;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::Monitor;
use crate::domain::secret::Secret;
use crate::net::target::Target;
use crate::probe::decode::{coding, identity};
use crate::probe::session::listing_memory::ListingMemory;
use crate::probe::session::message::{AGENT, path_of};
use crate::probe::wire::egress::proxied;
use crate::probe::wire::outgoing::Header;
use crate::tool_lists::asked::PreparedArguments;
use crate::untrusted_text::Scrub;

/// Stands where a program has no address: its wire is there for health addresses only, and `.invalid` never resolves.
const NO_ADDRESS: &str = "http://program.invalid/";

/// A declaration as its probes use it.
#[derive(Debug)]
pub(crate) struct Declared {
    /// Takes out what is sent and nothing that is kept may show.
    pub(crate) scrub: Arc<Scrub>,
    /// Headers that are for the monitor's own origin and nobody else.
    pub(crate) secret: Arc<[HeaderName]>,
    /// When the credential ends that is shown, where that is known.
    pub(crate) credential_until: Option<DateTime<Utc>>,
    /// What its server listed last.
    pub(crate) listing: Arc<ListingMemory>,
    /// The arguments of its searches.
    pub(crate) search: PreparedArguments,
    way: Result<Way, Fault>,
    headers: Arc<[Header]>,
    credentials_sent: bool,
}

/// Where calls go.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) url: Url,
    /// The URL's path and query, as a request has them.
    pub(crate) path: Uri,
    /// The URL's origin, through the proxy where one is declared.
    pub(crate) target: Target,
}

/// What every request of one probe carries.
#[derive(Debug)]
pub(super) struct OwnHeaders {
    pub(super) all: Arc<[Header]>,
    pub(super) credentials_sent: bool,
}

impl Declared {
    /// What a monitor declares; `scrub` takes its secrets out.
    pub(crate) fn of(monitor: &Monitor, scrub: Arc<Scrub>, listing: Arc<ListingMemory>) -> Self {
        let address = if monitor.reach.program.is_some() { NO_ADDRESS } else { monitor.url.resolved.expose() };
        Self { listing, ..Self::at(Url::parse(address).ok(), monitor, scrub) }
    }

    /// The same, of another address than the monitor's.
    pub(crate) fn at(url: Option<Url>, monitor: &Monitor, scrub: Arc<Scrub>) -> Self {
        let credentials = url.as_ref().and_then(|url| authorization(monitor, url));
        let declared = declared_headers(monitor);
        let credentials_sent = credentials.is_some() || !declared.is_empty();
        let secret = declared.iter().map(|(name, _)| name.clone()).chain([AUTHORIZATION]).collect();
        let way = url.and_then(|url| Some((guarded(Target::of(&url)?, monitor), url)));
        let way = way.ok_or_else(|| bad_address(&scrub));
        let way = way
            .and_then(|(target, url)| Ok(Way { path: path_of(&url), target: proxied(target, monitor, &scrub)?, url }));
        let authority = way.as_ref().ok().and_then(|way| HeaderValue::from_str(way.target.authority()).ok());
        let usual = [
            (USER_AGENT, HeaderValue::from_static(AGENT)),
            (ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED)),
        ];
        let headers = authority.into_iter().map(|host| (HOST, host)).chain(usual);
        let headers = headers.chain(credentials.map(|value| (AUTHORIZATION, value))).chain(declared).collect();
        let search = PreparedArguments::of(&monitor.search);
        Self { scrub, secret, credential_until: None, listing: Arc::default(), search, way, headers, credentials_sent }
    }

    /// Where calls go.
    ///
    /// # Errors
    /// Where the address is none that a probe speaks, or the proxy's is none.
    pub(crate) fn way(&self) -> Result<&Way, Fault> {
        self.way.as_ref().map_err(Clone::clone)
    }

    /// What the requests of a probe carry that started at this moment.
    pub(super) fn headers(&self, monitor: &Monitor, started_at: DateTime<Utc>) -> OwnHeaders {
        let signed = monitor.identity.as_ref().and_then(|known| identity::header(known, &monitor.id, started_at));
        let all = match signed {
            None => Arc::clone(&self.headers),
            Some(signed) => self.headers.iter().cloned().chain([(identity::HEADER, signed)]).collect(),
        };
        OwnHeaders { all, credentials_sent: self.credentials_sent }
    }
}

/// A server that nobody wrote down is reached in public space, or where its source says.
pub(crate) fn guarded(target: Target, monitor: &Monitor) -> Target {
    match &monitor.discovered {
        Some(discovered) => {
            target.guarded(discovered.allow_private.iter().filter_map(|network| network.0.parse().ok()).collect())
        }
        None => target,
    }
}

fn authorization(monitor: &Monitor, url: &Url) -> Option<HeaderValue> {
    let text = match &monitor.auth.bearer {
        Some(bearer) => format!("Bearer {}", bearer.expose()),
        None if !url.username().is_empty() || url.password().is_some() => {
            format!("Basic {}", STANDARD.encode(format!("{}:{}", url.username(), url.password().unwrap_or_default())))
        }
        None => return None,
    };
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Further headers of the file; `config` has checked names and values.
fn declared_headers(monitor: &Monitor) -> Vec<Header> {
    let header = |(name, value): &(String, Secret)| {
        let mut value = HeaderValue::from_str(value.expose()).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
    };
    monitor.auth.headers.iter().filter_map(header).collect()
}

/// A URL that is none, or none that a probe speaks.
pub(crate) fn bad_address(scrub: &Scrub) -> Fault {
    scrub.fault(FaultKind::NameNotResolved, "the address is no http or https URL with a host")
}
