//! The way to a monitor's server: `proxy`, `ca` and `client_certificate`. Files are read once here, so that one that
//! cannot be used is a fault of the file and not of the night; probes read them again when they change.

use std::path::PathBuf;

use rustls::RootCertStore;
use url::Url;

use crate::config::check::checker::Checker;
use crate::config::check::layers::Layers;
use crate::config::check::scalars::Resolved;
use crate::config::read::diagnostic::{Diagnostic, TextSpan};
use crate::config::read::node::MapEntry;
use crate::config::read::reference::redacted;
use crate::domain::monitor::{ClientCertificate, Reach};
use crate::domain::secret::{Address, Secret};
use crate::net::proxy::Proxy;
use crate::net::trust::Files;

const PROXY_MEND: &str = "such as `http://proxy.example.org:3128`, `socks5://10.0.0.1:1080`, or `socks5h://…` where the proxy resolves names";

/// Adds what the file says of the way to `reach`. Paths start where the file
/// lies that holds them.
pub(in crate::config) fn network_path(
    checker: &mut Checker<'_>,
    what: &str,
    layers: Layers<'_, '_>,
    reach: &mut Reach,
) {
    let own = |key: &str| layers.own(key);
    if reach.program.is_some() {
        for entry in ["proxy", "ca", "client_certificate"].into_iter().filter_map(own) {
            let diagnostic = Diagnostic::new(entry.place, format!("{what} is a program, to which no network leads"));
            checker.report(diagnostic.help(format!("leave '{}' out", entry.key)));
        }
        return;
    }
    reach.proxy = layers.get("proxy").and_then(|entry| proxy(checker, what, entry)).map(Box::new);
    let ca = layers.get("ca").and_then(|entry| Some((path(checker, what, "ca", entry)?, entry.value.place)));
    let identity = layers.get("client_certificate").and_then(|entry| identity(checker, what, entry));
    let place = ca.as_ref().map(|(_, place)| *place).or(identity.as_ref().map(|(_, place)| *place));
    let files = Files {
        ca: ca.map(|(path, _)| path),
        identity: identity.as_ref().map(|(pair, _)| (PathBuf::from(&pair.certificate), PathBuf::from(&pair.key))),
    };
    reach.ca = files.ca.as_ref().map(|path| path.to_string_lossy().into_owned());
    reach.client_certificate = identity.map(|(pair, _)| Box::new(pair));
    if let Some(place) = place {
        usable(checker, place, &files);
    }
}

/// Without the strictness of `run` a machine may lack the files, as it may lack the secrets.
fn usable(checker: &mut Checker<'_>, place: TextSpan, files: &Files) {
    let Err(error) = files.read(RootCertStore::empty(), 1) else { return };
    let message = error.to_string();
    let mend = "a PEM file, readable by the user that Serin runs as; a key has to be its certificate's";
    if error.path.exists() {
        checker.report(Diagnostic::new(place, message).help(mend));
    } else {
        checker.missing_outside(place, message, mend.to_owned());
    }
}

fn path(checker: &mut Checker<'_>, what: &str, key: &str, entry: &MapEntry<'_>) -> Option<PathBuf> {
    let text = checker.setting(format_args!("the path of '{key}' of {what}"), &entry.value)?;
    if text.is_empty() {
        let diagnostic = Diagnostic::new(entry.value.place, format!("the path of '{key}' of {what} is empty"));
        checker.report(diagnostic.help("such as `ca/internal.pem`"));
        return None;
    }
    Some(checker.folder(entry.value.place).join(text))
}

fn identity(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<(ClientCertificate, TextSpan)> {
    let named = format!("'client_certificate' of {what}");
    let fields = checker.fields(&named, &entry.value, "monitors.client_certificate")?;
    let mut file = |key: &str| match fields.get(key) {
        Some(entry) => path(checker, what, key, entry).map(|path| path.to_string_lossy().into_owned()),
        None => {
            checker.missing(&named, entry.place, key, "such as `{ certificate: serin.pem, key: serin.key }`");
            None
        }
    };
    let (certificate, key) = (file("certificate"), file("key"));
    Some((ClientCertificate { certificate: certificate?, key: key? }, entry.value.place))
}

/// Its login is redacted wherever it is shown.
fn proxy(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Address> {
    let Resolved { written, value } = checker.resolved(format_args!("the proxy of {what}"), &entry.value)?;
    let shown = redacted(&written);
    checker.no_password(format_args!("the proxy of {what}"), entry.value.place, &written)?;
    let value = value?;
    let parsed = Url::parse(&value).ok().filter(|url| Proxy::of(url).is_some() && matches!(url.path(), "" | "/"));
    if parsed.is_none() {
        let diagnostic = Diagnostic::new(entry.value.place, format!("the proxy of {what} is none that a probe speaks"));
        checker.report(diagnostic.help(PROXY_MEND));
        return None;
    }
    Some(Address { shown, resolved: Secret::new(&value) })
}
