//! Where the vectors are: a server, and a collection of it.

use std::time::Duration;

use reqwest::header::HeaderName;

use crate::remote::settings::{ApiKey, RemoteSettings, SettingsError};
use crate::store::records::StoreError;

/// The shortest and the longest name that Chroma gives a collection.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 3..=512;
/// For a whole question. Usually it takes milliseconds; the first one after many vectors came waits until Chroma has
/// put them into its graph.
const ASKED_WITHIN: Duration = Duration::from_secs(5);
/// For the connection of one.
const CONNECTED_WITHIN: Duration = Duration::from_secs(1);
/// For a batch of vectors, which Chroma puts into its graph.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);

/// The header that Chroma Cloud, and a server set up so, reads the token from.
const TOKEN: HeaderName = HeaderName::from_static("x-chroma-token");

/// How the store is to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChromaOptions {
    /// Such as `http://127.0.0.1:8000`.
    pub url: String,
    /// The collection, made where it is missing: 3 to 512 letters, digits and `._-`.
    pub collection: String,
    /// Chroma's tenant, which has to be there.
    pub tenant: String,
    /// The tenant's database, which has to be there.
    pub database: String,
    /// Sent as `Authorization: Bearer`, and as Chroma's own header.
    pub token: Option<ApiKey>,
    /// How long a question may take.
    pub asked_within: Duration,
    /// How long a server that failed three times within a minute is left alone. Searches go by words meanwhile.
    pub cool_down: Duration,
}

impl ChromaOptions {
    /// What Chroma has where nothing is said, five seconds for a question, and ten for a server that failed.
    pub fn new(url: impl Into<String>, collection: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            collection: collection.into(),
            tenant: "default_tenant".to_owned(),
            database: "default_database".to_owned(),
            token: None,
            asked_within: ASKED_WITHIN,
            cool_down: Duration::from_secs(10),
        }
    }

    /// Checks names, which become parts of addresses, and the address.
    ///
    /// # Errors
    /// In words, with the mend.
    pub fn check(&self) -> Result<(), String> {
        for (key, name) in [("collection", &self.collection), ("tenant", &self.tenant), ("database", &self.database)] {
            let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
            let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
            if !is_plain || !NAME_CHARS.contains(&name.len()) || !is_edge(name.bytes().next()) {
                return Err(format!(
                    "`{key}` has 3 to 512 letters, digits and signs of `._-`, and begins with a letter or digit"
                ));
            }
        }
        self.reading().address().map(drop).map_err(|error: SettingsError| error.to_string())
    }

    /// How it is asked.
    pub fn reading(&self) -> RemoteSettings {
        RemoteSettings {
            connect_max: CONNECTED_WITHIN,
            total_max: self.asked_within,
            cool_down: self.cool_down,
            key_header: Some(TOKEN),
            ..RemoteSettings::new(&self.url, self.token.clone())
        }
    }

    /// How it is written to. It has a breaker of its own: a batch that takes too long says nothing of questions.
    pub fn writing(&self) -> RemoteSettings {
        RemoteSettings { total_max: WRITTEN_WITHIN, ..self.reading() }
    }
}

/// A refusal of what was configured.
pub fn refused(why: String) -> StoreError {
    StoreError::Sql(sqlx::Error::Configuration(why.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, change: impl FnOnce(&mut ChromaOptions), expected: Result<(), &str>) {
        let mut options = ChromaOptions::new("http://127.0.0.1:8000", "manuals");
        options.token = Some(ApiKey::new("hunter2"));
        change(&mut options);
        match (options.check(), expected) {
            (Ok(()), Ok(())) => {}
            (Err(why), Err(part)) => assert!(why.contains(part), "{says}: {why}"),
            (found, _) => panic!("{says}: {found:?}"),
        }
        assert!(!format!("{options:?}").contains("hunter2"), "{says}");
    }

    #[test]
    fn names_and_addresses_are_plain() {
        check("as it usually is", |_| {}, Ok(()));
        check("a name that leads elsewhere", |o| o.collection = "../../tenants".to_owned(), Err("`collection`"));
        check("a slash", |o| o.database = "a/b/c".to_owned(), Err("`database`"));
        check("dots alone", |o| o.tenant = "...".to_owned(), Err("`tenant`"));
        check("too short for Chroma", |o| o.collection = "ab".to_owned(), Err("3 to 512"));
        check("a question", |o| o.collection = "abc?x=1".to_owned(), Err("`collection`"));
        check("no address", |o| o.url = "127.0.0.1:8000".to_owned(), Err("address of a server"));
        check("a password in it", |o| o.url = "http://me:pw@127.0.0.1".to_owned(), Err("address of a server"));
    }
}
