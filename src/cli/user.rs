//! `serin user hash`: the line of somebody who signs in with a name and a password. Nothing is contacted and nothing is
//! written.

use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use argon2::Argon2;
use argon2::password_hash::PasswordHasher as _;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use serde_json::json;

use crate::domain::sign_in::{PASSWORD_BYTES_MAX, USER_NAME_CHARS_MAX};

/// Shorter ones are guessed, however slowly they are compared.
const PASSWORD_CHARS_MIN: usize = 12;

/// Ctrl-C, as the terminal gives it to whoever asks for it.
const GIVEN_UP: char = '\u{3}';

/// Users of Serin's pages, who are named in the file of `serin.users`.
#[derive(Debug, clap::Args)]
pub(crate) struct UserArgs {
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, clap::Subcommand)]
enum UserCommand {
    /// Reads a password, from the terminal or from stdin, and prints the line to put into the file of users.
    Hash(HashArgs),
}

#[derive(Debug, clap::Args)]
struct HashArgs {
    /// What they type to sign in, and act as.
    #[arg(value_name = "NAME")]
    name: String,
    /// `read` looks at everything; `act` also acknowledges, silences, accepts, rechecks, replays; `owner` also makes keys
    /// and reads the audit log.
    #[arg(long, value_name = "ROLE", default_value = "read", value_parser = ["read", "act", "owner"])]
    role: String,
}

/// Does what is asked for.
///
/// # Errors
/// Where no password comes, or one that is too short or too long.
pub(crate) fn run(args: UserArgs) -> anyhow::Result<ExitCode> {
    let UserCommand::Hash(HashArgs { name, role }) = args.command;
    let chars = name.chars().count();
    ensure!(name.trim() == name && (1..=USER_NAME_CHARS_MAX).contains(&chars), "a name has 1 to 64 characters");
    let password = if std::io::stdin().is_terminal() { typed()? } else { piped()? };
    ensure!(password.chars().count() >= PASSWORD_CHARS_MIN, "a password has at least {PASSWORD_CHARS_MIN} characters");
    ensure!(password.len() <= PASSWORD_BYTES_MAX, "a password has at most {PASSWORD_BYTES_MAX} bytes");
    let hash = Argon2::default().hash_password(password.as_bytes()).context("the password cannot be hashed")?;
    // JSON texts are YAML texts.
    anstream::println!("  - {{ name: {}, role: {role}, password: {} }}", json!(name), json!(hash.to_string()));
    Ok(ExitCode::SUCCESS)
}

/// The first line of stdin.
fn piped() -> anyhow::Result<String> {
    let mut line = String::new();
    let bytes_max = PASSWORD_BYTES_MAX as u64 + 2;
    std::io::stdin().lock().take(bytes_max).read_line(&mut line).context("stdin cannot be read")?;
    Ok(without_break(&line).to_owned())
}

/// What somebody types twice, unseen.
fn typed() -> anyhow::Result<String> {
    let (first, again) = (unseen("Password: ")?, unseen("Again: ")?);
    ensure!(first == again, "these are two passwords");
    Ok(first)
}

fn unseen(asked: &str) -> anyhow::Result<String> {
    let quiet = Quiet::new().context("the terminal cannot be kept from showing what is typed")?;
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{asked}")?;
    stderr.flush()?;
    let line = ended_line().context("the terminal cannot be read")?;
    drop(quiet);
    writeln!(stderr)?;
    ensure!(!line.contains(GIVEN_UP), "given up");
    Ok(without_break(&line).to_owned())
}

/// A line of the terminal, ended by Enter, Ctrl-C or the terminal's end.
fn ended_line() -> std::io::Result<String> {
    let (mut stdin, mut line) = (std::io::stdin().lock(), Vec::new());
    while line.len() <= PASSWORD_BYTES_MAX && !line.ends_with(b"\n") && !line.ends_with(&[GIVEN_UP as u8]) {
        let read = stdin.fill_buf()?.to_vec();
        if read.is_empty() {
            break;
        }
        stdin.consume(read.len());
        line.extend(read);
    }
    String::from_utf8(line).map_err(|_| std::io::ErrorKind::InvalidData.into())
}

fn without_break(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

/// The terminal shows nothing of what is typed, until this is dropped. Ctrl-C ends the line instead of the process, which would
/// leave the terminal as it is.
struct Quiet(Termios);

impl Quiet {
    fn new() -> rustix::io::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VEOL] = GIVEN_UP as u8;
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.0);
    }
}
