//! Values that lead somewhere: what is connected to, and what people follow. The file lies in git, so that no password may
//! stand in them.

use std::fmt::Display;
use std::net::IpAddr;

use url::Url;

use crate::config::check::checker::Checker;
use crate::config::check::scalars::Resolved;
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Diagnostic, TextSpan};
use crate::config::read::node::Node;
use crate::config::read::reference::{ReferencePart, holds_password, parts, redacted};
use crate::config::read::shown_address::shown_address;
use crate::domain::secret::{Address, Secret};

/// What browsers and proxies carry at most.
const URL_BYTES_MAX: usize = 2_048;

/// Stands in for an address whose variable is not set; `.invalid` never resolves (RFC 2606).
pub(in crate::config) const STAND_IN_URL: &str = "http://unset.invalid/";

impl Checker<'_> {
    /// A place to connect to: http or https, without a fragment. Never none without a fault.
    pub(in crate::config) fn address(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<Address> {
        self.ask(node.place, || ValueShape::Address);
        let Resolved { written, value } = self.resolved(what, node)?;
        let shown = redacted(&written);
        self.no_password(what, node.place, &written)?;
        let Some(value) = value else { return Some(Address { shown, resolved: Secret::new(STAND_IN_URL) }) };
        self.url(what, node.place, &value, false)?;
        Some(Address { shown, resolved: Secret::new(&value) })
    }

    /// A monitored server's address: as [`Self::address`], and shown as a person would copy it.
    pub(in crate::config) fn server_address(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<Address> {
        let address = self.address(what, node)?;
        let (written, _) = self.scalar(what, node)?;
        let resolved = address.resolved.expose();
        if resolved == STAND_IN_URL {
            return Some(address);
        }
        Some(Address { shown: shown_address(written, resolved), resolved: address.resolved })
    }

    /// A place to connect to of which whoever knows it may use it: a reference and nothing else, since the file lies in
    /// git. So what may be shown of it is the reference.
    pub(in crate::config) fn secret_address(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<Address> {
        self.ask(node.place, || ValueShape::Secret);
        let (text, _) = self.scalar(what, node)?;
        let is_whole = parts(text).is_ok_and(|parts| {
            matches!(parts[..], [ReferencePart::Env { default: None, .. } | ReferencePart::File { .. }])
        });
        if is_whole || (text.starts_with("${") && parts(text).is_err()) {
            return self.address(what, node);
        }
        self.found.redactions.push(node.place.start as usize..node.place.end as usize);
        let message =
            format!("{what} is a secret, and stands in the file, where everybody with the repository reads it");
        let mend =
            "write `${env:NAME}` or `${file:/run/secrets/x}` and nothing else, and have the service give a new one";
        self.report(Diagnostic::new(node.place, message).help(mend));
        None
    }

    /// A URL that people follow, which may have a fragment.
    pub(in crate::config) fn link(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<String> {
        self.ask(node.place, || ValueShape::Address);
        let (written, _) = self.scalar(what, node)?;
        self.no_password(what, node.place, written)?;
        let value = self.setting(what, node)?;
        self.url(what, node.place, &value, true)?;
        Some(value)
    }

    /// A URL without a password that is written out in the file, since the file lies in git.
    pub(in crate::config) fn no_password(
        &mut self,
        what: impl Display + Copy,
        place: TextSpan,
        written: &str,
    ) -> Option<()> {
        if !holds_password(written) {
            return Some(());
        }
        let message = format!("{what} holds a password, which everybody with the repository reads");
        let mend = "put it outside the file, such as `https://${env:USER}:${env:PASSWORD}@…`, and change it";
        self.report(Diagnostic::new(place, message).help(mend));
        None
    }

    /// The message names no part of the value: it may have been resolved from a secret.
    fn url(&mut self, what: impl Display + Copy, place: TextSpan, value: &str, fragment: bool) -> Option<Url> {
        const MEND: &str = "write a whole address, such as `https://docs.example.org/mcp`";
        // The parser takes white space out in silence, so it is looked for first.
        let plain = !value.chars().any(|c| c.is_whitespace() || c.is_control()) && value.len() <= URL_BYTES_MAX;
        let url = Url::parse(value).ok().filter(|url| plain && url.has_host() && url.port() != Some(0));
        let diagnostic = match url {
            None => Diagnostic::new(place, format!("{what} is no URL")).help(MEND),
            Some(url) if !matches!(url.scheme(), "http" | "https") => {
                Diagnostic::new(place, format!("{what} is neither http nor https")).help(MEND)
            }
            Some(url) if !fragment && url.fragment().is_some() => {
                Diagnostic::new(place, format!("{what} has a fragment, which is never sent")).help("leave `#…` out")
            }
            Some(url) => return Some(url),
        };
        self.report(diagnostic);
        None
    }
}

/// Whether a host is this machine without asking a name server.
pub(in crate::config) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
