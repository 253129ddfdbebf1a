//! What a provider's claims make of somebody: as whom they act, and what they may.

use serde_json::Value;

use crate::domain::api_key::Role;
use crate::domain::sign_in::{CLAIM_VALUES_MAX, Provider, USER_NAME_CHARS_MAX};

/// Why somebody whom the provider knows is not let in, in words for them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NothingOpened {
    #[error("The provider says nothing that you could act as: {0}.")]
    NoName(String),
    #[error("You are {name} to the provider, and nothing is opened by that: {why}. Ask whoever runs this Serin.")]
    NoRole { name: String, why: String },
}

/// As whom somebody acts, and what they may, by claims that were verified.
pub(crate) fn judged(provider: &Provider, claims: &Value) -> Result<(String, Role), NothingOpened> {
    let named = &provider.name_claim;
    let name = claim(claims, named).and_then(Value::as_str).unwrap_or_default().trim();
    if name.is_empty() || name.chars().count() > USER_NAME_CHARS_MAX || name.chars().any(char::is_control) {
        let why = format!("its claim `{named}` is missing, or no text of at most {USER_NAME_CHARS_MAX} characters");
        return Err(NothingOpened::NoName(why));
    }
    if named == "email" && claims["email_verified"] == false {
        return Err(NothingOpened::NoName("it has not verified your `email`".to_owned()));
    }
    let wanted = &provider.claim;
    let found = claim(claims, wanted);
    let values: Vec<String> = match found {
        Some(Value::String(value)) => vec![value.clone()],
        Some(Value::Array(values)) => {
            values.iter().take(CLAIM_VALUES_MAX).filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let role = provider.role(&values).ok_or_else(|| {
        let why = match found {
            None => format!("it says nothing under the claim `{wanted}`, which is looked at here"),
            Some(_) => format!("no role is given here for any of the {} values of its claim `{wanted}`", values.len()),
        };
        NothingOpened::NoRole { name: name.to_owned(), why }
    })?;
    Ok((name.to_owned(), role))
}

/// A claim by its name, or by a JSON pointer where it stands deeper, such as `/realm_access/roles`.
pub(crate) fn claim<'c>(claims: &'c Value, named: &str) -> Option<&'c Value> {
    let found = if named.starts_with('/') { claims.pointer(named) } else { claims.get(named) };
    found.filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_found_by_its_name_or_deeper_down() {
        let claims =
            serde_json::json!({ "groups": ["a"], "https://x/roles": "b", "realm": { "roles": ["c"] }, "no": null });
        for (named, found) in
            [("groups", true), ("https://x/roles", true), ("/realm/roles", true), ("no", false), ("realm.roles", false)]
        {
            assert_eq!(claim(&claims, named).is_some(), found, "{named}");
        }
    }
}
