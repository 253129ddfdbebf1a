//! Who signs in by name: users out of a file, and those whom a provider of OpenID Connect knows.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::api_key::Role;
use crate::domain::secret::Secret;

/// Characters of a user's name, wherever it comes from.
pub const USER_NAME_CHARS_MAX: usize = 64;
/// Bytes of a password. The hash takes any number; whoever sends more wants to keep us busy.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// The values of a claim that are looked at; more are a provider's mistake, or everybody's groups.
pub const CLAIM_VALUES_MAX: usize = 10_000;

/// The ways to sign in by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignIn {
    /// Users of the file that is named; none where none is named.
    pub users: Option<Vec<Arc<User>>>,
    /// Who else says who somebody is.
    pub provider: Option<Arc<Provider>>,
}

/// A user out of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// What they type, and what they act as.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// The argon2id hash of the password, in PHC form; it was looked at.
    pub hash: Secret,
}

/// A provider of OpenID Connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// As its metadata names itself.
    pub issuer: String,
    /// What it calls us.
    pub client_id: String,
    /// What we prove that with; none: by PKCE alone.
    pub client_secret: Option<Secret>,
    /// What it is asked for, `openid` among it.
    pub scopes: Vec<String>,
    /// The claim that says what somebody may do.
    pub claim: String,
    /// The values of the claim by the role that they give; `*` fits whoever signs in.
    pub roles: Vec<(Role, Vec<String>)>,
    /// The claim that somebody acts as.
    pub name_claim: String,
    /// How long a session lasts, since the provider cannot be asked again.
    pub session: Duration,
}

impl SignIn {
    /// Whether somebody signs in by name.
    pub fn is_declared(&self) -> bool {
        self.users.is_some() || self.provider.is_some()
    }

    /// The user of this name.
    pub fn user(&self, name: &str) -> Option<&Arc<User>> {
        self.users.iter().flatten().find(|user| user.name == name)
    }
}

impl Provider {
    /// The highest role that one of these values of the claim gives.
    pub fn role(&self, values: &[String]) -> Option<Role> {
        let fits = |wanted: &String| wanted == ANYBODY || values.contains(wanted);
        self.roles.iter().filter(|(_, wanted)| wanted.iter().any(fits)).map(|(role, _)| *role).max()
    }
}

/// The value that whoever signs in has.
const ANYBODY: &str = "*";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_role_that_fits_is_given() {
        let provider = |roles: &[(Role, &[&str])]| Provider {
            issuer: String::new(),
            client_id: String::new(),
            client_secret: None,
            scopes: Vec::new(),
            claim: "groups".to_owned(),
            roles: roles
                .iter()
                .map(|(role, values)| (*role, values.iter().map(|v| (*v).to_owned()).collect()))
                .collect(),
            name_claim: "email".to_owned(),
            session: Duration::from_secs(1),
        };
        let usual = provider(&[(Role::Read, &["*"]), (Role::Act, &["sre", "oncall"]), (Role::Owner, &["platform"])]);
        let strict = provider(&[(Role::Act, &["sre"])]);
        let rows: [(&Provider, &[&str], Option<Role>, &str); 7] = [
            (&usual, &[], Some(Role::Read), "whoever signs in"),
            (&usual, &["oncall"], Some(Role::Act), "any of several values"),
            (&usual, &["platform", "sre"], Some(Role::Owner), "the highest of two"),
            (&usual, &["SRE"], Some(Role::Read), "written otherwise is another value"),
            (&strict, &["sre"], Some(Role::Act), "the one value"),
            (&strict, &["*"], None, "a group of this name is not everybody"),
            (&strict, &[], None, "nobody else"),
        ];
        for (provider, values, role, sentence) in rows {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            assert_eq!(provider.role(&values), role, "{sentence}");
        }
    }
}
