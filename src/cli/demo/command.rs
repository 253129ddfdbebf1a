//! `serin demo`: a fleet, faults on schedule, and an inbox that shows what reached a human.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::{self, Options};
use crate::cli::demo::inbox::Inbox;
use crate::cli::demo::smtp_sink::{Manners, SmtpSink};
use crate::cli::demo::theatre;
use crate::cli::run::stop_on_signal;
use serin_reference::lab::options;
use serin_reference::lab::server::{self, LabServer};

/// The demo's servers: name, the variable of its port, and the port that the file names where it is unset.
const SERVERS: [(&str, &str, u16); 4] = [
    ("docs", "SERIN_DEMO_DOCS_PORT", 9101),
    ("policies", "SERIN_DEMO_POLICIES_PORT", 9102),
    ("support", "SERIN_DEMO_SUPPORT_PORT", 9103),
    ("handbook", "SERIN_DEMO_HANDBOOK_PORT", 9104),
];
/// Where the inbox and the SMTP server are tried first, as the file names them.
const INBOX_PORT: u16 = 9190;
const SMTP_PORT: u16 = 9191;
/// The demo's fleet: the file at the top of this repository, so that no checkout is needed, and no fleet of somebody's own
/// that lies where the demo is started is ever taken for it.
const FLEET: &str = include_str!("../../../monitors.yaml");
/// Signs the demo's webhooks; it protects nothing.
const SECRET: &str = "whsec_c2VyaW4tZGVtby1zZWNyZXQtbm90LWZvci11c2U=";
/// Where the pages are tried first; any free port otherwise.
const PAGES_PORT: u16 = 8080;

/// Starts servers, monitor, inbox and pages on this machine, breaks things and shows what happens.
#[derive(Debug, Clone, clap::Args)]
pub struct DemoArgs {
    /// A file that declares another fleet than the demo's own.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Break nothing: watch a healthy fleet.
    #[arg(long)]
    pub calm: bool,
}

/// Runs until SIGINT or SIGTERM.
///
/// # Errors
/// Where a part cannot start.
pub async fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    announce(args.calm);
    let shutdown = stop_on_signal()?;
    let stop = CancellationToken::new();
    let mut servers = Vec::new();
    for (name, _, usual) in SERVERS {
        let server = at_or_near(usual, async |port| {
            let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let options = options::LabOptions { name: name.to_owned(), listen, ..options::LabOptions::default() };
            server::serve(options, stop.clone()).await
        });
        servers.push(server.await.with_context(|| format!("reference server '{name}'"))?);
    }
    let inbox = Inbox::new(Some(SECRET));
    let hooks = at_or_near(INBOX_PORT, async |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await).await?;
    let hooks_at = hooks.local_addr()?;
    let mails = at_or_near(SMTP_PORT, async |port| SmtpSink::bind_port(inbox.clone(), Manners::default(), port).await);
    let mails = mails.await?;
    let mails_at = mails.address()?;
    let receivers =
        [tokio::spawn(serve_inbox(inbox.clone(), hooks, stop.clone())), tokio::spawn(mails.run(stop.clone()))];
    let folder = DemoFolder::new()?;
    let config = args.config.map_or_else(|| folder.fleet(), Ok)?;
    let running = at_or_near(PAGES_PORT, async |port| {
        let env = environment(&servers, hooks_at, mails_at, &folder, port);
        app::start(Options::new(config.clone(), env), shutdown.clone()).await
    });
    let running = running.await?;
    anstream::println!("dashboard  http://{}", running.address);
    if running.has_status_page {
        anstream::println!("status     http://{}/status   (what everybody may see of it)", running.address);
    }
    anstream::println!("inbox      http://{hooks_at}   (what a webhook receiver and a mailbox got)");
    anstream::println!("watching   {} reference servers, a beat every 2 s; Ctrl-C stops\n", running.monitors);
    let show = tokio::spawn(theatre::run(theatre::DemoStage { servers, inbox, calm: args.calm }, shutdown.clone()));
    let ended = running.ended().await;
    shutdown.cancel();
    let servers = show.await?;
    stop.cancel();
    for server in servers {
        server.ended().await;
    }
    for receiver in receivers {
        receiver.await?;
    }
    ended.map(|()| ExitCode::SUCCESS)
}

/// What is about to happen, before anything is waited for.
fn announce(calm: bool) {
    let servers = SERVERS.map(|(name, ..)| name).join(", ");
    anstream::println!(
        "starting four search servers ({servers}), the monitor that watches them, and an inbox for its pages"
    );
    anstream::println!("all on this machine, on loopback; what it keeps is deleted when it ends");
    if !calm {
        anstream::println!("then things break, one after the other, and you see what would have woken you");
    }
    anstream::println!();
}

async fn serve_inbox(inbox: Inbox, listener: TcpListener, stop: CancellationToken) {
    if let Err(error) = inbox.serve(listener, stop).await {
        tracing::error!(%error, "the inbox stopped");
    }
}

/// The variables of the demo's file; anything else comes from the process's own environment.
fn environment(
    servers: &[LabServer],
    hooks: SocketAddr,
    mails: SocketAddr,
    folder: &DemoFolder,
    pages: u16,
) -> app::Environment {
    let mut values: Vec<(String, String)> = SERVERS
        .iter()
        .zip(servers)
        .map(|((_, variable, _), server)| ((*variable).to_owned(), server.address.port().to_string()))
        .collect();
    values.push(("SERIN_DEMO_INBOX_PORT".to_owned(), hooks.port().to_string()));
    values.push(("SERIN_DEMO_SMTP_PORT".to_owned(), mails.port().to_string()));
    values.push(("SERIN_DEMO_SECRET".to_owned(), SECRET.to_owned()));
    values.push(("SERIN_DEMO_DATABASE".to_owned(), folder.0.join("serin.db").display().to_string()));
    if std::env::var_os("SERIN_DEMO_PORT").is_none() {
        values.push(("SERIN_DEMO_PORT".to_owned(), pages.to_string()));
    }
    Arc::new(move |name: &str| {
        let ours = values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        ours.or_else(|| std::env::var(name).ok())
    })
}

/// At the usual port, or at any other where that is taken. With the usual ones, `serin probe ID` beside the demo finds its
/// servers through the file's defaults. Nobody asks first whether it is free: another may have it a moment later.
async fn at_or_near<T, E>(usual: u16, start: impl AsyncFn(u16) -> Result<T, E>) -> anyhow::Result<T>
where
    E: Into<anyhow::Error>,
{
    match start(usual).await {
        Err(error) => {
            let error = error.into();
            let is_taken = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
            if is_taken.map(io::Error::kind).any(|kind| kind == io::ErrorKind::AddrInUse) {
                start(any_port().await?).await.map_err(Into::into)
            } else {
                Err(error)
            }
        }
        Ok(started) => Ok(started),
    }
}

/// A port that the system gives nobody else soon; the file wants to know it beforehand.
async fn any_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?.port())
}

/// A folder for the demo's database that goes with the demo.
#[derive(Debug)]
struct DemoFolder(PathBuf);

impl DemoFolder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("serin-demo-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }

    /// The demo's own file, written here.
    fn fleet(&self) -> anyhow::Result<PathBuf> {
        let path = self.0.join("monitors.yaml");
        std::fs::write(&path, FLEET).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "the demo's folder stays behind");
        }
    }
}
