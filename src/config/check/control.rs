//! `serin.control`: the addresses by which Serin tells its own network's end from a server's.

use std::ops::RangeInclusive;

use url::Url;

use crate::config::check::checker::Checker;
use crate::config::check::keys;
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::Diagnostic;
use crate::config::read::node::{Node, NodeValue};
use crate::domain::fleet::Control;
use crate::domain::secret::Address;

/// Two tell our network's end from theirs, a third a bad day of both.
const CONTROL_MAX: usize = 3;
/// The range of HTTP's three digits (RFC 9110 §15).
const STATUS: RangeInclusive<u32> = 100..=599;

/// Addresses that answer while our own network is well.
pub(in crate::config) fn control(checker: &mut Checker<'_>, node: &Node<'_>) -> Vec<Control> {
    let items = checker.list("'control'", node).unwrap_or_default();
    if items.is_empty() || items.len() > CONTROL_MAX {
        let diagnostic = Diagnostic::new(node.place, format!("'control' names {} addresses", items.len()));
        checker.report(
            diagnostic.help(format!("one to {CONTROL_MAX}, of servers that have nothing to do with the monitors")),
        );
    }
    items.iter().take(CONTROL_MAX).filter_map(|item| one(checker, item)).collect()
}

fn one(checker: &mut Checker<'_>, item: &Node<'_>) -> Option<Control> {
    // The schema is asked for with texts alone, and has to name the long form too.
    checker.ask(item.place, || ValueShape::keys(keys::known("serin.control").iter().copied()));
    let control = if matches!(item.value, NodeValue::Map(_)) {
        declared(checker, item)?
    } else {
        Control { address: checker.address("a control address", item)?, status: None, contains: None }
    };
    if control.status.is_none() && control.contains.is_none() && in_the_clear(&control.address) {
        let message = "a gateway or a sign-in page that answers in this control address's place is taken for it, and a \
                       lost network pages for every monitor";
        let mend = "write it with https, or `{ url: …, status: 204 }` with what only its own answer has";
        checker.report(Diagnostic::warning(item.place, message).help(mend));
    }
    Some(control)
}

/// An address, and what its own answer has.
fn declared(checker: &mut Checker<'_>, item: &Node<'_>) -> Option<Control> {
    let fields = checker.fields("a control address", item, "serin.control")?;
    let status = fields.get("status").and_then(|entry| checker.whole("'status'", &entry.value, STATUS));
    let contains = fields.get("contains").and_then(|entry| checker.text("'contains'", &entry.value));
    let Some(url) = fields.get("url") else {
        let mend = "such as `{ url: https://status.example.org/, status: 200 }`";
        checker.missing("a control address", item.place, "url", mend);
        return None;
    };
    let address = checker.address("a control address", &url.value)?;
    Some(Control { address, status: status.and_then(|status| u16::try_from(status).ok()), contains })
}

/// Nobody proves there who it is that answers.
fn in_the_clear(address: &Address) -> bool {
    let url = Url::parse(address.resolved.expose()).ok();
    // A variable that is not set says nothing of the scheme.
    url.is_some_and(|url| url.scheme() == "http" && url.host_str() != Some("unset.invalid"))
}
