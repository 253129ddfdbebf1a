//! A request as it goes out, as often as it has to: what it shares with all others of its probe, and what is its own.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;

/// One header.
pub(crate) type Header = (HeaderName, HeaderValue);

/// A request that is not sent yet, or may be sent again.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(super) method: Method,
    /// Path and query.
    pub(super) uri: Uri,
    /// What every request of a probe carries.
    shared: Arc<[Header]>,
    own: Vec<Header>,
    pub(super) body: Bytes,
}

impl Outgoing {
    pub(crate) fn new(method: Method, uri: Uri, shared: Arc<[Header]>, body: Bytes) -> Self {
        Self { method, uri, shared, own: Vec::with_capacity(OWN_HEADERS), body }
    }

    /// One whose place is said later, and that shares nothing.
    pub(crate) fn to_nowhere(method: Method, body: Bytes) -> Self {
        Self::new(method, Uri::default(), Arc::default(), body)
    }

    /// The same, of another path.
    #[must_use]
    pub(crate) fn at(self, uri: Uri) -> Self {
        Self { uri, ..self }
    }

    /// The same with another header; it is sent in place of a shared one of its name.
    #[must_use]
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.own.push((name, value));
        self
    }

    /// The same with a header that may not be there.
    #[must_use]
    pub(crate) fn with_some(self, header: Option<Header>) -> Self {
        match header {
            Some((name, value)) => self.with(name, value),
            None => self,
        }
    }

    /// The same without the shared headers of these names.
    #[must_use]
    pub(crate) fn without(mut self, names: &[HeaderName]) -> Self {
        self.shared = self.shared.iter().filter(|(name, _)| !names.contains(name)).cloned().collect();
        self
    }

    /// Its headers, in the order in which they are sent.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &Header> {
        let own = |name: &HeaderName| self.own.iter().any(|(other, _)| other == name);
        self.shared.iter().filter(move |(name, _)| !own(name)).chain(&self.own)
    }

    /// In the form in which hyper takes it.
    pub(super) fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        let mut headers = HeaderMap::with_capacity(self.shared.len() + self.own.len() + LENGTH_HEADERS);
        for (name, value) in self.headers() {
            headers.append(name.clone(), value.clone());
        }
        *request.headers_mut() = headers;
        request
    }
}

/// Headers of one call: where it belongs, what it is, what it takes.
const OWN_HEADERS: usize = 6;

/// What hyper adds: the body's length.
const LENGTH_HEADERS: usize = 1;
