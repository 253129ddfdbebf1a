//! Where the database is, as its URL says: `postgres://user@host:5432/name?sslmode=verify-full`.
//!
//! What the URL leaves out comes from the environment (`PGHOST`, `PGUSER`, `PGPASSWORD`, `PGSSLMODE`)
//! and from `~/.pgpass`, so a password need not stand in a command line. It never stands in a message.

use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;
use url::Url;

use crate::store::records::StoreError;

/// The longest name PostgreSQL keeps whole, in bytes: NAMEDATALEN - 1.
const NAME_BYTES_MAX: usize = 63;

/// What a URL may say. Anything else is a slip of the pen, and might be a password in the wrong
/// place: sqlx would write it into the log.
const PARAMETERS: &[&str] = &[
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// How to connect, and the place's name for messages: host, port and database, without user or password.
///
/// # Errors
/// `Sql` with a configuration error that names the mend.
pub fn parse(url: &str) -> Result<(PgConnectOptions, String), StoreError> {
    // What the parsers say may hold a piece of the URL, so nothing of it is passed on.
    let parsed = Url::parse(url).map_err(|_| refused("the address is no URL: postgres://user@host:5432/database"))?;
    if !matches!(parsed.scheme(), "postgres" | "postgresql") {
        return Err(refused("the address begins with postgres:// or postgresql://"));
    }
    for (name, _) in parsed.query_pairs() {
        if !PARAMETERS.contains(&&*name) {
            return Err(refused(&format!(
                "the address may not say this after its `?`; it may say {}",
                PARAMETERS.join(", ")
            )));
        }
    }
    let options = PgConnectOptions::from_str(url).map_err(|_| {
        refused("the address has a part that cannot be read: look at its port, sslmode and escaped signs")
    })?;
    let place = match options.get_socket() {
        Some(folder) => folder.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let place = format!("PostgreSQL at {place}/{}", options.get_database().unwrap_or_default());
    Ok((options.application_name("serin reference"), place))
}

/// Whether a schema's name needs no quotes, so that it means the same wherever it is written.
///
/// # Errors
/// `Sql` with a configuration error that names the mend.
pub fn check_schema(name: &str) -> Result<(), StoreError> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let begins_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_plain && begins_well && name.len() <= NAME_BYTES_MAX && !name.starts_with("pg_") {
        return Ok(());
    }
    Err(refused(&format!(
        "the schema's name has small letters, digits and _ only, begins with a letter, not with pg_, and has \
         {NAME_BYTES_MAX} signs at most"
    )))
}

/// A refusal of what was configured.
pub fn refused(why: &str) -> StoreError {
    StoreError::Sql(sqlx::Error::Configuration(why.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, url: &str, expected: Result<&str, &str>) {
        match (parse(url), expected) {
            (Ok((_, place)), Ok(expected)) => assert_eq!(place, format!("PostgreSQL at {expected}"), "{says}"),
            (Err(error), Err(expected)) => {
                let told = format!("{error} {error:?}");
                assert!(told.contains(expected), "{says}: {told}");
                assert!(!told.contains("hunter2"), "{says}: a password in {told}");
            }
            (found, _) => panic!("{says}: {:?}", found.map(|(_, place)| place)),
        }
    }

    #[test]
    fn addresses_are_read_and_passwords_kept() {
        check("a usual one", "postgres://me:hunter2@db.example:6432/rag", Ok("db.example:6432/rag"));
        check("the longer scheme", "postgresql://me@db.example:5432/rag?sslmode=require", Ok("db.example:5432/rag"));
        check("a socket", "postgres://me@%2Frun%2Fpg:5432/rag", Ok("/run/pg/rag"));
        check("no URL", "hunter2", Err("no URL"));
        check("another database", "mysql://me:hunter2@db/rag", Err("postgres://"));
        check("a parameter nobody knows", "postgres://me@db/rag?passwort=hunter2", Err("may not say"));
        check("a mode nobody knows", "postgres://me:hunter2@db/rag?sslmode=hunter2", Err("sslmode"));
        check("a port too large", "postgres://me:hunter2@db:99999/rag", Err("no URL"));
    }

    fn check_name(says: &str, name: &str, is_fit: bool) {
        assert_eq!(check_schema(name).is_ok(), is_fit, "{says}");
    }

    #[test]
    fn schemas_have_plain_names() {
        check_name("a plain one", "serin_reference", true);
        check_name("nothing", "", false);
        check_name("a quote", "a\"; DROP SCHEMA public; --", false);
        check_name("capitals, which would fold", "Serin", false);
        check_name("a digit first", "1serin", false);
        check_name("PostgreSQL's own", "pg_temp", false);
        check_name("too long", &"a".repeat(64), false);
    }
}
