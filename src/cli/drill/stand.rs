//! Where a shape's servers stand: its documents and its index, made once; each trial gets a server of its own over a copy,
//! so that what one fault leaves behind is met by no other.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use serin_reference::data::asking::Asker;
use serin_reference::data::manuals;
use serin_reference::data::plan::{CHUNKS_MIN, ManualsPlan};
use serin_reference::index::corpus::Corpus;
use serin_reference::index::documentation::SOURCES;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::options::LabOptions;
use serin_reference::lab::server::{self, LabServer};
use serin_reference::project::opened::Project;
use serin_reference::project::place::{FOLDER, ProjectFolder};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::cli::drill::canaries::{MARKS, notice};
use crate::cli::drill::shape::Shape;

/// Of the generator's manuals that serve as notices; documents that come in later are of another.
const NOTICES_SEED: u64 = 2;
/// How often a server that crashed is looked for.
const BACK_LOOK: Duration = Duration::from_millis(20);
/// How long it may take to open its index again, on a machine with much else to do.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// The documents, and an index of them for each of a shape's servers.
#[derive(Debug)]
pub(super) struct Stand {
    pub(super) shape: Shape,
    /// Whether its servers remember answers.
    pub(super) remembers: bool,
    folder: DrillFolder,
    trials: AtomicU32,
}

impl Stand {
    /// Writes the documents down and has them indexed.
    ///
    /// # Errors
    /// What keeps the server from starting, or a file from being written.
    pub(super) async fn make(shape: Shape, remembers: bool) -> anyhow::Result<Self> {
        let stand = Self { shape, remembers, folder: DrillFolder::new()?, trials: AtomicU32::new(0) };
        for (source, text) in SOURCES {
            written(&stand.documents().join(source), text)?;
        }
        let plan = ManualsPlan::new(NOTICES_SEED, CHUNKS_MIN)?;
        for (nth, (mark, manual)) in MARKS.iter().zip(manuals::documents(plan, 0)).enumerate() {
            let text = format!("{} It stands on shelf {mark}.\n", manual.text.trim_end());
            written(&stand.documents().join(notice(nth)), &text)?;
        }
        let whole = stand.folder.0.join("whole");
        ProjectFolder::set_up(&whole, &shape.config(remembers), false)?;
        stand.serve(&whole).await?.stop().await;
        Ok(stand)
    }

    fn documents(&self) -> PathBuf {
        self.folder.0.join("documents")
    }

    /// A server of its own, healthy.
    ///
    /// # Errors
    /// What keeps it from starting.
    pub(super) async fn server(&self) -> anyhow::Result<DrillServer> {
        let name = format!("trial-{}", self.trials.fetch_add(1, Ordering::Relaxed));
        let (from, to) = (self.folder.0.join("whole").join(FOLDER), self.folder.0.join(name));
        copied(&from, &to.join(FOLDER))?;
        let server = self.serve(&to).await?;
        if let Some((fault, dose)) = self.shape.made_by() {
            server.faults().on(fault, dose);
        }
        let asker = Asker::new(&server.mcp_url(), None)?;
        Ok(DrillServer { server, asker, folder: to, written: AtomicU32::new(0) })
    }

    async fn serve(&self, project: &Path) -> anyhow::Result<LabServer> {
        let options = LabOptions {
            project: Some(Project::find(project)?),
            corpus: Corpus::Folder(self.documents()),
            name: "drill".to_owned(),
            ..LabOptions::default()
        };
        Ok(Box::pin(server::serve(options, CancellationToken::new())).await?)
    }
}

/// A server that is broken on request.
#[derive(Debug)]
pub(super) struct DrillServer {
    server: LabServer,
    asker: Asker,
    folder: PathBuf,
    written: AtomicU32,
}

impl DrillServer {
    /// Where it answers MCP, with sessions or without.
    pub(super) fn url(&self, sessions: bool) -> String {
        if sessions { self.server.url("legacy/mcp") } else { self.server.mcp_url() }
    }

    /// Breaks it; it is so when this returns.
    pub(super) async fn on(&self, faults: &[(Fault, Dose)]) {
        for (fault, dose) in faults {
            self.server.faults().on(*fault, *dose);
        }
        self.server.faults().settled().await;
    }

    /// Mends it; it is so when this returns.
    pub(super) async fn off(&self, faults: &[(Fault, Dose)]) {
        for (fault, _) in faults {
            self.server.faults().off(*fault);
        }
        self.server.faults().settled().await;
    }

    /// Puts a document in, or another text in its place.
    ///
    /// # Errors
    /// What kept it out.
    pub(super) async fn index(&self, source: &str, text: &str) -> anyhow::Result<()> {
        self.asker.index(source, text).await.with_context(|| format!("{source} cannot be indexed"))?;
        Ok(())
    }

    /// Has it forget every answer it remembers, as a new source makes it do.
    ///
    /// # Errors
    /// What kept the source out.
    pub(super) async fn forget_answers(&self) -> anyhow::Result<()> {
        let nth = self.written.fetch_add(1, Ordering::Relaxed);
        self.index(&format!("laboratory/run-{nth}.md"), "Nothing to be found.").await
    }

    /// Crashes, and is back at the same address when this returns.
    ///
    /// # Errors
    /// It did not come back.
    pub(super) async fn crash(&self, down_for: Duration) -> anyhow::Result<()> {
        self.server.crash(down_for).await;
        let back = async {
            while TcpStream::connect(self.server.address).await.is_err() {
                tokio::time::sleep(BACK_LOOK).await;
            }
        };
        tokio::time::timeout(BACK_WITHIN, back).await.context("a server did not come back from its crash")
    }

    /// Ends it, and takes its index away.
    pub(super) async fn stop(self) {
        self.server.stop().await;
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::debug!(%error, "an index stays behind until the drill ends");
        }
    }
}

/// A folder that goes with the drill.
#[derive(Debug)]
struct DrillFolder(PathBuf);

impl DrillFolder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("serin-drill-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for DrillFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "the drill's folder stays behind");
        }
    }
}

fn written(path: &Path, text: &str) -> anyhow::Result<()> {
    let write = || std::fs::create_dir_all(path.parent().unwrap_or(path)).and_then(|()| std::fs::write(path, text));
    write().with_context(|| format!("cannot write {}", path.display()))
}

fn copied(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copy = || {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        std::io::Result::Ok(())
    };
    copy().with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}
