//! What lies between a machine and its database: a proxy that can hold back what flows, in one direction or both, end
//! connections, and let one end of a connection believe that it is still there.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A way in which a link fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// What the machine says is held back.
    ToServer,
    /// What the server says is held back.
    ToMachine,
    /// Both are, as behind a switch that is off.
    Both,
    /// Connections are ended at both ends, and new ones refused.
    Refused,
    /// The machine is told that each connection has ended, and the server is not.
    HalfOpenAtServer,
    /// The server is told that each connection has ended, and the machine is not.
    HalfOpenAtMachine,
}

impl Cut {
    pub(super) const ALL: [Self; 6] =
        [Self::ToServer, Self::ToMachine, Self::Both, Self::Refused, Self::HalfOpenAtServer, Self::HalfOpenAtMachine];

    const fn tears(self) -> bool {
        matches!(self, Self::Refused | Self::HalfOpenAtServer | Self::HalfOpenAtMachine)
    }
}

/// A link, and what is wrong with it.
#[derive(Debug)]
pub(super) struct Link {
    cut: watch::Sender<Option<Cut>>,
    /// `HOST:PORT`, where the machine finds its database.
    pub(super) address: String,
}

type Watched = watch::Receiver<Option<Cut>>;

impl Link {
    /// A link to a server at `HOST:PORT`, as long as the test lasts.
    pub(super) async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (cut, watched) = watch::channel(None);
        tokio::spawn(async move {
            while let Ok((machine, _)) = listener.accept().await {
                if *watched.borrow() != Some(Cut::Refused) {
                    tokio::spawn(carry(machine, server.clone(), watched.clone()));
                }
            }
        });
        Self { cut, address }
    }

    pub(super) fn cut(&self, cut: Cut) {
        self.cut.send_replace(Some(cut));
    }

    pub(super) fn mend(&self) {
        self.cut.send_replace(None);
    }
}

async fn carry(machine: TcpStream, server: String, watched: Watched) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    for end in [&machine, &server] {
        end.set_nodelay(true).unwrap();
    }
    let (mut from_machine, mut to_machine) = machine.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let torn = {
        let held_up = |cut| matches!(cut, Cut::ToServer | Cut::Both);
        let held_down = |cut| matches!(cut, Cut::ToMachine | Cut::Both);
        let up = pump(&mut from_machine, &mut to_server, watched.clone(), held_up);
        let down = pump(&mut from_server, &mut to_machine, watched.clone(), held_down);
        tokio::select! {
            torn = until_torn(watched.clone()) => torn,
            _ = async { tokio::try_join!(up, down) } => return,
        }
    };
    match torn {
        Cut::HalfOpenAtServer => {
            drop((from_machine, to_machine));
            for_ever((from_server, to_server)).await;
        }
        Cut::HalfOpenAtMachine => {
            drop((from_server, to_server));
            for_ever((from_machine, to_machine)).await;
        }
        _ => {}
    }
}

/// Waits until connections that are there are torn.
async fn until_torn(mut watched: Watched) -> Cut {
    watched.mark_unchanged();
    loop {
        if watched.changed().await.is_err() {
            return std::future::pending().await;
        }
        let cut = *watched.borrow_and_update();
        if let Some(cut) = cut.filter(|cut| cut.tears()) {
            return cut;
        }
    }
}

/// Carries what flows one way, until its end, and nothing while it is held back.
async fn pump(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    mut watched: Watched,
    held: impl Fn(Cut) -> bool,
) -> std::io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut bytes).await?;
        let flows = watched.wait_for(|cut| !cut.is_some_and(&held)).await;
        drop(flows.map_err(std::io::Error::other)?);
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&bytes[..read]).await?;
    }
}

/// Keeps an end of a connection that nobody is at any more.
async fn for_ever(_end: (OwnedReadHalf, OwnedWriteHalf)) {
    std::future::pending().await
}
