//! All tenants of a server, and the tokens they are known by.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use subtle::ConstantTimeEq as _;

use crate::tenants::asker::{Asker, Tenant};

/// Tenants of a server. Each request is compared with all their tokens.
pub const TENANTS_MAX: usize = 1_000;
/// Letters of a token, so that guessing is hopeless.
pub const TOKEN_CHARS_MIN: usize = 16;
/// Letters of a tenant's name.
const NAME_CHARS_MAX: usize = 60;
/// Collections of a tenant: each is a parameter of each search.
const COLLECTIONS_MAX: usize = 1_000;
/// The collection that stands for all.
const ALL: &str = "*";

/// A tenant as somebody wrote it: its token, and its collections.
pub type Written = (String, Vec<String>);

/// Those who are let in.
#[derive(Clone)]
pub struct Roll {
    tenants: Vec<(String, Arc<Tenant>)>,
}

impl std::fmt::Debug for Roll {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the tokens.
        formatter.debug_list().entries(self.tenants.iter().map(|(_, tenant)| tenant)).finish()
    }
}

impl Roll {
    /// The tenants, by name.
    ///
    /// # Errors
    /// What is wrong with one, and the mend.
    pub fn new(written: BTreeMap<String, Written>) -> Result<Self, String> {
        if written.len() > TENANTS_MAX {
            return Err(format!("`tenants` has {} tenants, {TENANTS_MAX} are allowed", written.len()));
        }
        let mut seen = BTreeMap::<String, String>::new();
        let mut tenants = Vec::with_capacity(written.len());
        for (name, (token, collections)) in written {
            let tenant = tenant(&name, &token, collections).map_err(|why| format!("`tenants.{name}`: {why}"))?;
            if let Some(other) = seen.insert(token.clone(), name.clone()) {
                return Err(format!("`tenants.{name}` and `tenants.{other}` have the same token: give each its own"));
            }
            tenants.push((token, Arc::new(tenant)));
        }
        Ok(Self { tenants })
    }

    /// Who brings a token; `None` is nobody. Every token is compared, in constant time each, the operator's too.
    pub fn known(&self, brought: &str, operator: Option<&str>) -> Option<Asker> {
        let is_same = |token: &str| bool::from(token.as_bytes().ct_eq(brought.as_bytes()));
        let mut found = operator.filter(|token| is_same(token)).map(|_| Asker(None));
        for (token, tenant) in &self.tenants {
            if is_same(token) && found.is_none() {
                found = Some(Asker(Some(Arc::clone(tenant))));
            }
        }
        found
    }
}

fn tenant(name: &str, token: &str, collections: Vec<String>) -> Result<Tenant, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(is_plain) {
        return Err(format!("a name has 1 to {NAME_CHARS_MAX} letters, digits and -_."));
    }
    let letters = token.chars().count();
    if letters < TOKEN_CHARS_MIN {
        return Err(format!("its token has {letters} characters, at least {TOKEN_CHARS_MIN} are needed"));
    }
    if !token.chars().all(|c| c.is_ascii_graphic()) {
        return Err("its token has characters that no header carries: use letters, digits and signs".to_owned());
    }
    if collections.is_empty() || collections.len() > COLLECTIONS_MAX {
        return Err(format!("write 1 to {COLLECTIONS_MAX} `collections`, or [\"*\"] for all"));
    }
    let own: BTreeSet<String> = collections.into_iter().collect();
    let collections = (!own.contains(ALL)).then(|| own.into_iter().collect());
    Ok(Tenant { name: name.to_owned(), collections })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roll(written: &[(&str, &str, &[&str])]) -> Result<Roll, String> {
        let one = |(name, token, collections): &(&str, &str, &[&str])| {
            ((*name).to_owned(), ((*token).to_owned(), collections.iter().map(|name| (*name).to_owned()).collect()))
        };
        Roll::new(written.iter().map(one).collect())
    }

    const A: &str = "aaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbb";

    fn check(says: &str, written: &[(&str, &str, &[&str])], part: &str) {
        let why = roll(written).unwrap_err();
        assert!(why.contains(part), "{says}: {why}");
        assert!(!why.contains(A), "{says}: a token is not told: {why}");
    }

    #[test]
    fn tenants_are_taken_or_refused() {
        check("a short token", &[("acme", &A[1..], &["a"])], "`tenants.acme`: its token has 15 characters");
        check("a token twice", &[("acme", A, &["a"]), ("ops", A, &["*"])], "the same token");
        check("no collection", &[("acme", A, &[])], "`collections`");
        check("a name of signs", &[("a b", A, &["a"])], "letters, digits");
        check("a token of two lines", &[("acme", "aaaaaaaa\naaaaaaaa", &["a"])], "no header");
        let names: Vec<(String, String)> = (0..=TENANTS_MAX).map(|n| (format!("t{n}"), format!("{A}{n}"))).collect();
        let many: Vec<(&str, &str, &[&str])> =
            names.iter().map(|(name, token)| (name.as_str(), token.as_str(), &["a"][..])).collect();
        check("too many", &many, "1000 are allowed");
        assert!(roll(&many[1..]).is_ok(), "so many are allowed");
    }

    #[test]
    fn a_token_tells_who_asks() {
        let roll = roll(&[("acme", A, &["a", "shared"]), ("ops", B, &["a", "*"])]).unwrap();
        let who = |token: &str| roll.known(token, Some("operator")).map(|asker| asker.0.map(|own| own.name.clone()));
        assert_eq!(who(A), Some(Some("acme".to_owned())));
        assert_eq!(who(B), Some(Some("ops".to_owned())));
        assert_eq!(who("operator"), Some(None), "the operator's own");
        assert_eq!((who(""), who(&A[1..]), who("aaaaaaaaaaaaaaaab")), (None, None, None));
        assert!(roll.known("", None).is_none(), "no operator's token is no empty token");
        assert!(!format!("{roll:?}").contains(A), "a log has no token");
        let acme = roll.known(A, None).unwrap().0.unwrap();
        assert!(acme.has("a") && acme.has("shared") && !acme.has("b") && !acme.has("") && !acme.has("*"));
    }
}
