//! Our own trouble is never the target's: a locked database and a full disk give unknown, one alert, and heal.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::time::Instant;

use crate::process::{Serin, run};
use crate::stage::{Stage, messages, received, times};

/// How long it lasts at least; issue 2 says so.
const LASTS: Duration = Duration::from_secs(30);
/// Bytes that a file may have while the disk is full: below what any of the database's files has.
pub(crate) const FULL_BYTES: &str = "--fsize=4096:unlimited";

/// What is done to the database.
enum Trouble {
    /// Another process holds it.
    Locked(Option<SqliteConnection>),
    /// No file of Serin's can be written past a few bytes.
    Full,
    /// The disk that holds the database, a small one, is filled to its last byte.
    Disk(SmallDisk),
}

/// A file system of its own, in memory, over the stage's folder; it goes with its value.
pub(crate) struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Its size: room for the tables and some minutes of beats.
    const BYTES: &str = "size=8m";

    /// None where this user may not mount.
    pub(crate) fn over(folder: &Path) -> Option<Self> {
        let mut mount = std::process::Command::new("mount");
        let status = mount.args(["-t", "tmpfs", "-o", Self::BYTES, "serin-test"]).arg(folder).status();
        status.is_ok_and(|status| status.success()).then(|| Self { folder: folder.to_owned() })
    }

    pub(crate) fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }

    /// Writes until not a page is left.
    pub(crate) fn fill(&self) {
        let mut filler = std::fs::File::create(self.filler()).expect("there is room for a name");
        let end = std::iter::repeat_with(|| filler.write_all(&[0; 4096])).find_map(Result::err);
        assert_eq!(end.map(|error| error.kind()), Some(std::io::ErrorKind::StorageFull), "it is full");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a Serin that a failing test leaves behind has its files open for a moment longer.
        let _gone_with_the_machine = std::process::Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}

impl Trouble {
    async fn begin(&mut self, stage: &Stage, serin: &Serin) {
        match self {
            Self::Locked(holder) => {
                let options = SqliteConnectOptions::new().filename(stage.database());
                let options = options.busy_timeout(Duration::from_secs(30)).disable_statement_logging();
                let mut connection = options.connect().await.expect("a second connection");
                sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.expect("the lock");
                *holder = Some(connection);
            }
            Self::Full => run("prlimit", &["--pid", &serin.id().to_string(), FULL_BYTES]).await,
            Self::Disk(disk) => disk.fill(),
        }
    }

    async fn end(&mut self, serin: &Serin) {
        match self {
            Self::Disk(disk) => std::fs::remove_file(disk.filler()).expect("there is room again"),
            Self::Locked(holder) => {
                let mut connection = holder.take().expect("it was begun");
                sqlx::query("ROLLBACK").execute(&mut connection).await.expect("the lock is let go");
                connection.close().await.expect("the connection is closed");
            }
            Self::Full => {
                run("prlimit", &["--pid", &serin.id().to_string(), "--fsize=unlimited:unlimited"]).await;
            }
        }
    }
}

async fn check(sentence: &str, troubles: Vec<Trouble>, kinds: &[&str]) {
    let (stage, _) = Stage::set(2).await;
    suffered(sentence, &stage, troubles, kinds).await;
}

async fn suffered(sentence: &str, stage: &Stage, mut troubles: Vec<Trouble>, kinds: &[&str]) {
    let (serin, address) = Serin::start(&stage.config()).await;
    for id in ["s0", "s1"] {
        stage.more_beats(id, 3).await;
    }
    troubles[0].begin(stage, &serin).await;
    let began = Instant::now();
    // s0 stays healthy; s1 goes down where nobody can remember it.
    stage.refuse(1);
    let told = received(&stage.ops, "serin.trouble", None).await;
    for trouble in &mut troubles[1..] {
        trouble.begin(stage, &serin).await;
    }
    let kind = |key: &str| told.evidence.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    assert!(kind("trouble").is_some_and(|kind| kinds.contains(&&*kind)), "{sentence}: {told:?}");
    for id in ["s0", "s1"] {
        stage
            .shown(address, &format!("/api/v1/monitors/{id}"), &format!("{id} says that its beats are lost"), |text| {
                text.contains("this beat could not be remembered")
            })
            .await;
    }
    let unknown = "serin_beats_total{verdict=\"unknown\"}";
    let seen = |text: &str| text.lines().find_map(|line| line.strip_prefix(unknown)?.trim().parse::<u64>().ok());
    stage.shown(address, "/metrics", "beats count as unknown", |text| seen(text).is_some_and(|seen| seen >= 4)).await;
    while began.elapsed() < LASTS {
        let (status, page) = stage.get(address, "/").await;
        assert_eq!(status, 200, "{sentence}: pages go on");
        assert!(page.contains("/monitors/s0") && page.contains("/monitors/s1"), "{sentence}: with the last state");
        assert!(page.contains("cannot remember what it sees"), "{sentence}: and a banner");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(
        stage.oncall.hooks().is_empty(),
        "{sentence}: nobody is paged for a monitor: {:?}",
        messages(&stage.oncall)
    );
    assert_eq!(times(&stage.ops, "serin.trouble"), 1, "{sentence}: told once: {:?}", messages(&stage.ops));

    for trouble in &mut troubles {
        trouble.end(&serin).await;
    }
    received(&stage.ops, "serin.trouble_over", None).await;
    for id in ["s0", "s1"] {
        stage.more_beats(id, 2).await;
    }
    stage.shown(address, "/", "the banner is gone", |page| !page.contains("cannot remember what it sees")).await;
    // What is still broken is paged now that it can be remembered, and only that.
    received(&stage.oncall, "incident.opened", Some("s1")).await;
    stage.mend(1);
    received(&stage.oncall, "incident.resolved", Some("s1")).await;
    let blamed = stage.count("SELECT COUNT(*) FROM incidents WHERE monitor = $1", &["s0"]).await;
    assert_eq!(blamed, 0, "{sentence}: the healthy server is never blamed");
    assert_eq!(times(&stage.ops, "serin.trouble"), 1, "{sentence}: {:?}", messages(&stage.ops));
    assert_eq!(times(&stage.ops, "serin.trouble_over"), 1, "{sentence}");
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_database_blames_nobody_and_heals() {
    check("the database is locked", vec![Trouble::Locked(None)], &["database_locked"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_blames_nobody_and_heals() {
    // SQLite tells a write that stopped short (full) from one that was refused by a limit (I/O error).
    check("the disk is full", vec![Trouble::Full], &["disk_full", "database_broken"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_troubles_of_the_database_are_told_as_one() {
    let troubles = vec![Trouble::Full, Trouble::Locked(None)];
    check("the disk is full, then somebody looks with a shell", troubles, &["disk_full", "database_broken"]).await;
}

/// No limit on a process and no cap of SQLite's: a file system without a free page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "mounts a small file system, so it runs as root: --include-ignored"]
async fn a_disk_without_a_free_page_blames_nobody_and_heals() {
    let (stage, file) = Stage::set(2).await;
    let Some(disk) = SmallDisk::over(stage.folder.path()) else {
        println!("skipped: this user may not mount a tmpfs; run it as root");
        return;
    };
    stage.write(&file);
    suffered("the disk has no page left", &stage, vec![Trouble::Disk(disk)], &["disk_full"]).await;
}
