//! A network between Serin and its database that can fail: in one direction, in both, or silently.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Far beyond what anything takes.
const LONG: Duration = Duration::from_secs(60);

/// What the network does just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// It carries everything.
    Whole,
    /// What the database is asked gets lost.
    LosesQuestions,
    /// What it answers gets lost.
    LosesAnswers,
    /// All that is said gets lost, and nobody is told.
    LosesAll,
    /// A commit gets lost, of a connection that makes its first.
    LosesCommits,
    /// It arrives, and its answer gets lost.
    LosesAnswersToCommits,
    /// Each connection ends at once, those that are there and those that come.
    Refuses,
}

impl Network {
    /// Whether it loses what goes a way, once it has heard a commit or before that.
    const fn loses(self, way: Way, is_committing: bool) -> bool {
        match (self, way) {
            (Self::LosesAll, _) | (Self::LosesQuestions, Way::There) | (Self::LosesAnswers, Way::Back) => true,
            (Self::LosesCommits, Way::There) | (Self::LosesAnswersToCommits, Way::Back) => is_committing,
            _ => false,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Way {
    There,
    Back,
}

/// One that listens on loopback.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

struct State {
    network: watch::Sender<Network>,
    /// Connections that lost something end when this changes: what is missing in them would be found there.
    healed: watch::Sender<u32>,
    /// How many connections lost something, or were ended.
    failed: watch::Sender<u32>,
}

impl Proxy {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (healed, failed) = (watch::channel(0).0, watch::channel(0).0);
        let state = Arc::new(State { network: watch::channel(Network::Whole).0, healed, failed });
        let its = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((here, _)) = listener.accept().await {
                tokio::spawn(carry(here, server, Arc::clone(&its)));
            }
        });
        Self { address, state }
    }

    pub(crate) fn is(&self, network: Network) {
        self.state.network.send_replace(network);
    }

    /// From now on it is so, and it waits until a connection has suffered from it.
    pub(crate) async fn fails(&self, network: Network) {
        let mut failed = self.state.failed.subscribe();
        failed.borrow_and_update();
        self.is(network);
        let suffered = failed.changed();
        tokio::time::timeout(LONG, suffered).await.expect("something is under way").expect("it lives");
    }

    /// It carries everything again; whoever lost something is told so.
    pub(crate) fn heal(&self) {
        self.is(Network::Whole);
        self.state.healed.send_modify(|times| *times += 1);
    }

    /// The same, where nobody who lost something is told: they have to find out by themselves.
    pub(crate) fn heal_silently(&self) {
        self.is(Network::Whole);
    }
}

async fn carry(here: TcpStream, server: SocketAddr, state: Arc<State>) {
    if *state.network.borrow() == Network::Refuses {
        return;
    }
    let (mut network, mut healed) = (state.network.subscribe(), state.healed.subscribe());
    let Ok(there) = TcpStream::connect(server).await else { return };
    let ((from_here, to_here), (from_there, to_there)) = (here.into_split(), there.into_split());
    let commits = AtomicBool::new(false);
    tokio::select! {
        () = pass((from_here, to_there), Way::There, &commits, &state) => {}
        () = pass((from_there, to_here), Way::Back, &commits, &state) => {}
        _ = network.wait_for(|network| *network == Network::Refuses) => state.failed.send_modify(|count| *count += 1),
        _ = healed.changed() => {}
    }
}

/// Carries one way until somebody ends it. Once something got lost, nothing that follows arrives.
async fn pass((mut from, mut to): (OwnedReadHalf, OwnedWriteHalf), way: Way, commits: &AtomicBool, state: &State) {
    let (mut bytes, mut has_lost) = ([0; 8_192], false);
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let said = &bytes[..length];
        if matches!(way, Way::There) {
            // A driver says the word once to a connection, and is understood by a number from then on.
            commits.fetch_or(said.windows(6).any(|word| word == b"COMMIT"), Ordering::Relaxed);
        }
        if !has_lost && state.network.borrow().loses(way, commits.load(Ordering::Relaxed)) {
            has_lost = true;
            state.failed.send_modify(|count| *count += 1);
        }
        if !has_lost && to.write_all(said).await.is_err() {
            return;
        }
    }
    if has_lost {
        // Nobody there hears that it ended either.
        std::future::pending::<()>().await;
    }
}
