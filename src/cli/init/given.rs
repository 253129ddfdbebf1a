//! What a person gives on the command line, and how it is written down: secrets only by the name of a variable.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use url::Url;

use crate::cli::init::secrets::{SecretPart, holds_secret, is_token, secret_part, tokens_of_path};
use crate::config::check::reach::{is_secret_variable, sounds_secret};
use crate::domain::monitor::{Monitor, Program};
use crate::domain::protocol::Transport;
use crate::domain::quality::propose::slug;
use crate::domain::secret::{Address, Secret};

/// Characters of an id made from a name.
const ID_CHARS_MAX: usize = 40;

/// Explores a server and proposes a monitor for it, with canaries that it answers: two minutes to the first monitor.
///
/// About 40 requests are sent, 50 for eight canaries, to this server only. Exit code 0: all was found out; 2: the monitor is usable, and what is missing is said; 1: nothing could be proposed or written.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct InitArgs {
    /// Where the server answers MCP; for a program, give its command after `--` instead.
    #[arg(required_unless_present = "program", conflicts_with = "program")]
    pub url: Option<String>,
    /// The program that speaks MCP over stdio, and its arguments: `serin init -- npx -y some-server`.
    #[arg(last = true, value_name = "COMMAND")]
    pub program: Vec<String>,
    /// A variable of the program's environment; may be repeated. One that is secret by its name is not written down.
    #[arg(long = "env", value_name = "NAME=VALUE", requires = "program")]
    pub env: Vec<String>,
    /// The token it asks for. It is not written down: the YAML refers to a variable. `--bearer-env` keeps it out of your shell's history.
    #[arg(long, value_name = "TOKEN", conflicts_with = "bearer_env")]
    pub bearer: Option<String>,
    /// The variable that holds the token.
    #[arg(long, value_name = "NAME")]
    pub bearer_env: Option<String>,
    /// A further header; may be repeated. Its value is not written down either.
    #[arg(long = "header", value_name = "NAME=VALUE")]
    pub headers: Vec<String>,
    /// The monitor's id; without it, made of what the server calls itself.
    #[arg(long)]
    pub id: Option<String>,
    /// The tool that searches, where it is not found.
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// The tool's argument that takes the question, where it is not found; or a JSON pointer such as `/query_texts/0`.
    #[arg(long, value_name = "NAME")]
    pub query: Option<String>,
    /// A question that finds something; may be repeated. Without one, the server's own words are asked.
    #[arg(long = "ask", value_name = "QUESTION")]
    pub asks: Vec<String>,
    /// A question that finds nothing; may be repeated. Without one, nonsense is asked.
    #[arg(long = "ask-nothing", value_name = "QUESTION")]
    pub asks_nothing: Vec<String>,
    /// A further argument of each search; may be repeated. JSON, or a text.
    #[arg(long = "argument", value_name = "NAME=VALUE")]
    pub arguments: Vec<String>,
    /// Put the monitor into this file instead of printing a whole one; a new file is made where there is none.
    #[arg(long, value_name = "FILE")]
    pub append: Option<PathBuf>,
    /// Where the file watches this server already: put the new monitor in the place of that one, under its id unless --id gives another.
    #[arg(long, requires = "append")]
    pub replace: bool,
    /// Canaries to look for, at most 8.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub canaries: usize,
    /// Append without asking.
    #[arg(long)]
    pub yes: bool,
}

/// The server as it is asked, with what its YAML may not hold.
#[derive(Debug)]
pub(crate) struct InitInput {
    server: Server,
    bearer: Option<TokenSource>,
    headers: Vec<(String, Secret)>,
}

#[derive(Debug)]
enum Server {
    Address(Url),
    Program { command: String, args: Vec<String>, env: Vec<(String, Secret)> },
}

#[derive(Debug)]
struct TokenSource {
    value: Secret,
    /// The variable it came from; none where it was given in the clear.
    variable: Option<String>,
}

/// How address and credentials are written, and the variables that have to be set for it.
#[derive(Debug, Default)]
pub(crate) struct WrittenReference {
    /// The address, or a reference where it holds a secret; empty for a program.
    pub url: String,
    /// A program and its arguments.
    pub program: Vec<String>,
    /// Variables of its environment, secrets as references.
    pub env: Vec<(String, String)>,
    /// The bearer token as a reference.
    pub bearer: Option<String>,
    /// Further headers, values as references.
    pub headers: Vec<(String, String)>,
    /// Variables by name, with their values.
    pub known: Vec<(String, String)>,
    /// The parts of the address that may be secrets.
    hidden: Vec<String>,
}

impl WrittenReference {
    /// Whether a text repeats a secret, in whatever case: a server may say our own token back to us.
    pub(crate) fn betrays(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.secrets().any(|secret| text.contains(&secret.to_lowercase()))
    }

    /// A text without our secrets.
    pub(crate) fn masked(&self, text: &str) -> String {
        if self.betrays(text) { "(left out: it repeats a secret of ours)".to_owned() } else { text.to_owned() }
    }

    fn secrets(&self) -> impl Iterator<Item = &str> {
        /// Shorter ones are ordinary words.
        const CHARS_MIN: usize = 6;
        let values = self.known.iter().map(|(_, value)| value).chain(&self.hidden);
        values.map(String::as_str).filter(|value| value.chars().count() >= CHARS_MIN)
    }

    /// Writes an argument of the program down, and what it holds of a secret by the name of a variable.
    fn add_argument(&mut self, id: &str, before: &str, arg: &str) {
        let Some(SecretPart { kept, name, secret }) = secret_part(before, arg) else {
            self.program.push(plain(arg));
            return;
        };
        let name = variable(id, name);
        let numbered = (2..).map(|nth| format!("{name}_{nth}"));
        let is_free = |name: &String| self.known.iter().all(|(known, _)| known != name);
        let free = std::iter::once(name.clone()).chain(numbered).find(is_free);
        let reference = known(&mut self.known, free.unwrap_or(name), secret);
        self.program.push(plain(kept) + &reference);
    }

    /// Writes the address down, or its variable where it holds a secret.
    fn add_address(&mut self, id: &str, url: &Url) {
        let tokens = tokens_of_path(url.path()).chain(Some(url.username()).filter(|user| is_token(user)));
        self.hidden.extend(tokens.chain(url.password()).map(str::to_owned));
        self.hidden.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        self.url = if !self.hidden.is_empty() || !url.username().is_empty() || url.query().is_some() {
            known(&mut self.known, variable(id, "URL"), url.as_str())
        } else {
            plain(url.as_str())
        };
    }
}

impl InitInput {
    /// Reads the arguments; looks variables up, contacts nothing.
    ///
    /// # Errors
    /// What cannot be used, with the mend.
    pub(crate) fn read(args: &InitArgs) -> anyhow::Result<Self> {
        let pair = |what: &str, text: &String| -> anyhow::Result<(String, Secret)> {
            let (name, value) = text.split_once('=').with_context(|| format!("{what} is given as NAME=VALUE"))?;
            Ok((name.to_owned(), Secret::new(value)))
        };
        let server = match (&args.program[..], &args.url) {
            ([command, rest @ ..], _) => {
                let env = args.env.iter().map(|text| pair("a variable", text)).collect::<anyhow::Result<_>>()?;
                Server::Program { command: command.clone(), args: rest.to_vec(), env }
            }
            ([], url) => Server::Address(address(url.as_deref().unwrap_or_default())?),
        };
        let bearer = match (&args.bearer, &args.bearer_env) {
            (Some(token), _) => Some(TokenSource { value: Secret::new(token), variable: None }),
            (None, Some(name)) => {
                let token = std::env::var(name).ok().filter(|token| !token.is_empty());
                let token =
                    token.with_context(|| format!("the variable {name} is not set; it should hold the token"))?;
                Some(TokenSource { value: Secret::new(&token), variable: Some(name.clone()) })
            }
            (None, None) => None,
        };
        let fits = |token: &TokenSource| token.value.expose().bytes().all(|byte| byte.is_ascii_graphic());
        if !bearer.as_ref().is_none_or(fits) {
            bail!("the token holds characters that no header may; was it copied with a blank or a line break?");
        }
        let headers = args.headers.iter().map(|text| pair("a header", text)).collect::<anyhow::Result<Vec<_>>>()?;
        if matches!(server, Server::Program { .. }) && (bearer.is_some() || !headers.is_empty()) {
            bail!("a program takes no token and no headers; give it its credentials by --env NAME=VALUE");
        }
        Ok(Self { server, bearer, headers })
    }

    pub(crate) fn monitor(&self) -> Monitor {
        let (shown, resolved) = match &self.server {
            Server::Address(url) => {
                let path = if tokens_of_path(url.path()).next().is_some() { "/…" } else { url.path() };
                (format!("{}{path}", url.origin().ascii_serialization()), url.as_str().to_owned())
            }
            Server::Program { command, args, .. } => {
                let line = std::iter::once(command).chain(args).cloned().collect::<Vec<_>>().join(" ");
                (line_of(&self.written("new").program), format!("stdio: {line}"))
            }
        };
        let mut monitor = Monitor::undeclared("new", Address { shown, resolved: Secret::new(&resolved) });
        if let Server::Program { command, args, env } = &self.server {
            let args = args.iter().map(|arg| Secret::new(arg)).collect();
            let program = Program { command: command.clone(), args, env: env.clone(), keep: false };
            monitor.reach.program = Some(Box::new(program));
            monitor.reach.transport = Some(Transport::Stdio);
        }
        monitor.auth.bearer = self.bearer.as_ref().map(|token| token.value.clone());
        monitor.auth.headers = self.headers.clone();
        monitor
    }

    /// Whether a monitor of a file watches this server already. An address whose variable is not set equals none.
    pub(crate) fn is_watched_by(&self, monitor: &Monitor) -> bool {
        let bare = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
        match (&self.server, monitor.reach.program.as_deref()) {
            (Server::Address(url), None) => {
                Url::parse(monitor.url.resolved.expose()).is_ok_and(|other| bare(&other) == bare(url))
            }
            (Server::Program { command, args, env }, Some(program)) => {
                let are_same = program.args.iter().map(Secret::expose).eq(args.iter().map(String::as_str));
                // Where Serin runs, and not here, the variables of its secrets are set.
                let are_written_so = monitor.url.shown == line_of(&self.written(monitor.id.as_str()).program);
                let is_there = |(name, value): &(String, Secret)| {
                    let mut there = program.env.iter();
                    there.any(|(other, set)| other == name && (set == value || is_secret(name, value.expose())))
                };
                let env_is_same = env.len() == program.env.len() && env.iter().all(is_there);
                program.command == *command && (are_same || are_written_so) && env_is_same
            }
            _ => false,
        }
    }

    /// An id for it, where nobody chose one: what the server calls itself, else its host.
    pub(crate) fn id(&self, server_name: Option<&str>) -> String {
        let of_host = || match &self.server {
            Server::Address(url) => slug(url.host_str().unwrap_or_default(), ID_CHARS_MAX),
            Server::Program { command, .. } => slug(command.rsplit('/').next().unwrap_or_default(), ID_CHARS_MAX),
        };
        server_name.and_then(|name| slug(name, ID_CHARS_MAX)).or_else(of_host).unwrap_or_else(|| "server".to_owned())
    }

    /// Whether a name repeats a secret, so that an id made of it would.
    pub(crate) fn betrayed(&self, name: &str) -> bool {
        self.written("x").betrays(name)
    }

    /// How it is written under this id.
    pub(crate) fn written(&self, id: &str) -> WrittenReference {
        let mut written = WrittenReference::default();
        match &self.server {
            Server::Address(url) => written.add_address(id, url),
            Server::Program { command, args, env } => {
                written.program.push(plain(command));
                for (arg, before) in args.iter().zip(std::iter::once("").chain(args.iter().map(String::as_str))) {
                    written.add_argument(id, before, arg);
                }
                for (name, value) in env {
                    let value = if is_secret(name, value.expose()) {
                        known(&mut written.known, name.clone(), value.expose())
                    } else {
                        plain(value.expose())
                    };
                    written.env.push((name.clone(), value));
                }
            }
        }
        if let Some(token) = &self.bearer {
            let name = token.variable.clone().unwrap_or_else(|| variable(id, "TOKEN"));
            written.bearer = Some(known(&mut written.known, name, token.value.expose()));
        }
        for (name, value) in &self.headers {
            let reference = known(&mut written.known, variable(id, name), value.expose());
            written.headers.push((name.clone(), reference));
        }
        written
    }
}

/// Whether a variable's value is not written down: `serin check` would refuse it, or it may be a secret.
fn is_secret(name: &str, value: &str) -> bool {
    is_secret_variable(name) || sounds_secret(name, value) || holds_secret(value)
}

/// A program with its arguments on one line, as the checker shows it.
fn line_of(program: &[String]) -> String {
    program.iter().fold("stdio:".to_owned(), |line, part| {
        if part.contains(char::is_whitespace) { format!("{line} {part:?}") } else { format!("{line} {part}") }
    })
}

/// A text as it is, where the file would take it for a reference.
fn plain(text: &str) -> String {
    text.replace("${", "$${")
}

fn address(text: &str) -> anyhow::Result<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.context("this is no address of a server; write it whole, such as https://docs.example.org/mcp, or give a program after `--`")
}

/// Arguments given as NAME=VALUE: JSON where it is JSON, else a text.
///
/// # Errors
/// Where there is no `=`, and where one may be a secret: arguments stand in the file and on pages.
pub(crate) fn arguments(given: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let one = |text: &String| -> anyhow::Result<(String, String)> {
        let (name, value) = text.split_once('=').context("an argument is given as NAME=VALUE")?;
        if sounds_secret(name, value) {
            bail!(
                "the argument '{name}' sounds like a secret, and arguments stand in the file and on pages; give the server \
                 its secrets by --bearer-env, --header or --env, and write this one in by hand if it is none"
            );
        }
        let json = serde_json::from_str::<serde_json::Value>(value).unwrap_or_else(|_| value.into());
        Ok((name.to_owned(), json.to_string()))
    };
    given.iter().map(one).collect()
}

fn known(known: &mut Vec<(String, String)>, name: String, value: &str) -> String {
    let reference = format!("${{env:{name}}}");
    known.push((name, value.to_owned()));
    reference
}

/// A variable's name: `DOCS_RAG_TOKEN` for `docs-rag`.
fn variable(id: &str, what: &str) -> String {
    let text = format!("{id}_{what}");
    let name: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("MCP_{name}") } else { name }
}

#[cfg(test)]
mod tests;
