//! `serin.oidc`: the provider of OpenID Connect that says who somebody is, and what its groups may do here.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::auth::issuer_of;
use crate::config::check::checker::{Checker, Fields};
use crate::config::check::users::ROLES;
use crate::config::read::diagnostic::Diagnostic;
use crate::config::read::node::MapEntry;
use crate::domain::api_key::Role;
use crate::domain::sign_in::Provider;

/// What the provider is asked for where the file says nothing.
const SCOPES_DEFAULT: [&str; 3] = ["openid", "email", "profile"];
/// The claim that says what somebody may do, where the file says nothing.
const CLAIM_DEFAULT: &str = "groups";
/// The claim that somebody acts as: what most providers keep unique.
const NAME_CLAIM_DEFAULT: &str = "email";
/// How long a session lasts, where the file says nothing: a working day.
const SESSION_DEFAULT: Duration = Duration::from_secs(8 * 3600);
/// Whoever leaves is out after this at the latest.
const SESSION: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(7 * 24 * 3600);
/// Items of one list.
const ITEMS_MAX: usize = 100;

/// Reads `oidc: { issuer, client_id, client_secret, scopes, claim, roles, name_claim, session }`.
pub(in crate::config) fn oidc(checker: &mut Checker<'_>, entry: &MapEntry<'_>, is_public: bool) -> Option<Provider> {
    const WHAT: &str = "'oidc'";
    let fields = checker.fields(WHAT, &entry.value, "serin.oidc")?;
    if !is_public {
        let message = "'oidc' needs to know under which address a browser comes back";
        let mend = "add `public_url: https://…` to `serin`, and tell the provider `<public_url>/login/oidc/callback`";
        checker.report(Diagnostic::new(entry.place, message).help(mend));
    }
    let mut needed = |key: &str, mend: &str| {
        let found = fields.get(key);
        if found.is_none() {
            checker.missing(WHAT, entry.place, key, mend);
        }
        found
    };
    let issuer = needed("issuer", "such as `issuer: https://login.example.org/realms/ops`");
    let client_id = needed("client_id", "such as `client_id: serin`");
    let roles_mend = "who may what by the claim, such as `roles: { act: [sre], read: [\"*\"] }`";
    let written = needed("roles", roles_mend);
    let issuer = issuer.and_then(|entry| issuer_of(checker, WHAT, entry));
    let client_id = client_id.and_then(|entry| checker.setting("the client id of 'oidc'", &entry.value));
    let client_secret =
        fields.get("client_secret").and_then(|entry| checker.secret("the client secret of 'oidc'", &entry.value));
    let mut scopes = fields
        .get("scopes")
        .map_or_else(|| SCOPES_DEFAULT.map(str::to_owned).to_vec(), |entry| texts(checker, "scopes", entry));
    if !scopes.iter().any(|scope| scope == SCOPES_DEFAULT[0]) {
        scopes.insert(0, SCOPES_DEFAULT[0].to_owned());
    }
    let roles = written.map(|entry| roles(checker, entry, roles_mend)).unwrap_or_default();
    let role_claim = claim(checker, &fields, "claim", CLAIM_DEFAULT);
    let name_claim = claim(checker, &fields, "name_claim", NAME_CLAIM_DEFAULT);
    let session =
        fields.get("session").and_then(|entry| checker.duration("'session' of 'oidc'", &entry.value, SESSION));
    Some(Provider {
        issuer: issuer?,
        client_id: client_id?,
        client_secret,
        scopes,
        claim: role_claim,
        roles,
        name_claim,
        session: session.unwrap_or(SESSION_DEFAULT),
    })
}

fn claim(checker: &mut Checker<'_>, fields: &Fields<'_, '_>, key: &str, otherwise: &str) -> String {
    let written = fields.get(key).and_then(|entry| checker.text(format_args!("'{key}' of 'oidc'"), &entry.value));
    written.unwrap_or_else(|| otherwise.to_owned())
}

fn roles(checker: &mut Checker<'_>, entry: &MapEntry<'_>, mend: &str) -> Vec<(Role, Vec<String>)> {
    let Some(fields) = checker.fields("'roles' of 'oidc'", &entry.value, "serin.oidc.roles") else {
        return Vec::new();
    };
    let errors = checker.found.errors();
    let given = ROLES.iter().filter_map(|(word, role)| Some((*role, texts(checker, word, fields.get(word)?))));
    let given: Vec<_> = given.collect();
    if given.iter().all(|(_, values)| values.is_empty()) && checker.found.errors() == errors {
        checker.report(Diagnostic::new(entry.place, "'roles' of 'oidc' lets nobody in").help(mend));
    }
    given
}

/// A list of texts.
fn texts(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Vec<String> {
    let items = checker.list(format_args!("'{what}' of 'oidc'"), &entry.value).unwrap_or_default();
    if let Some(item) = items.get(ITEMS_MAX) {
        let message = format!("'{what}' of 'oidc' has more than {ITEMS_MAX} items");
        checker.report(Diagnostic::new(item.place, message).help("let the provider put them into one group"));
    }
    items
        .iter()
        .take(ITEMS_MAX)
        .filter_map(|item| checker.text(format_args!("an item of '{what}' of 'oidc'"), item))
        .collect()
}
