//! `examples/enterprise` as it stands: a primary, its synchronous standby and three machines; one machine is killed, then the
//! primary.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Row as _};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::ChildStdout;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// Far beyond what anything takes.
const LONG: Duration = Duration::from_secs(120);

/// What the script started; it ends all of it, whatever becomes of the test.
struct Started {
    script: Child,
    folder: PathBuf,
    ports: Vec<u16>,
    /// Process ids of the machines, by their ports.
    machines: BTreeMap<u16, u32>,
    client: reqwest::Client,
}

impl Drop for Started {
    fn drop(&mut self) {
        signal("TERM", self.script.id());
        self.script.wait().expect("it ends");
    }
}

/// Sends a signal to a process; false where there is none.
fn signal(name: &str, process: u32) -> bool {
    let sent = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).stderr(Stdio::null()).status();
    sent.expect("kill runs").success()
}

/// Ports that are nobody's, below those that the system gives away.
fn free_ports(count: usize) -> Vec<u16> {
    (25_000..32_000).filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).take(count).collect()
}

impl Started {
    async fn start(folder: PathBuf) -> Self {
        let ports = free_ports(5);
        let said: Vec<String> = ports.iter().map(u16::to_string).collect();
        let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/enterprise/start.sh"));
        script.env("SERIN", env!("CARGO_BIN_EXE_serin")).env("FOLDER", &folder).env("PORTS", said.join(" "));
        script.env("SERIN_TOKEN", SECRET).env("SERIN_DB_PASSWORD", SECRET).stdout(Stdio::piped());
        let mut script = script.spawn().expect("it starts");
        let out = ChildStdout::from_std(script.stdout.take().expect("it is read")).expect("it is a pipe");
        let _already = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let mut started = Self { script, folder, ports, machines: BTreeMap::new(), client };
        let mut lines = BufReader::new(out).lines();
        let begun = async {
            while started.machines.len() < 3 {
                let line = lines.next_line().await.expect("it is read").expect("it says where each machine is");
                let machine =
                    line.strip_prefix("serin at http://127.0.0.1:").and_then(|it| it.split_once(" is process "));
                if let Some((port, id)) = machine {
                    started.machines.insert(port.parse().expect("a port"), id.parse().expect("a process id"));
                }
            }
        };
        tokio::time::timeout(LONG, begun).await.expect("it begins");
        started
    }

    /// How many parts of the fleet each machine has that lives, the least first, as the one at this port says.
    async fn parts(&self, port: u16) -> Vec<u64> {
        let status = self.client.get(format!("http://127.0.0.1:{port}/api/v1/status")).bearer_auth(SECRET);
        let Ok(answer) = status.send().await else { return Vec::new() };
        // Until it has begun it says why it has not.
        let status: Value = answer.json().await.unwrap_or_default();
        let living = status["machines"].as_array().into_iter().flatten().filter(|machine| machine["is_gone"] == false);
        let mut parts: Vec<u64> = living.filter_map(|machine| machine["shards"].as_u64()).collect();
        parts.sort_unstable();
        parts
    }

    /// Waits until a machine says that so many share all of the fleet, none of them having more than its part.
    async fn until_shared(&self, port: u16, machines: u64) {
        let mut seen = Vec::new();
        let shared = async {
            loop {
                seen = self.parts(port).await;
                let is_even = seen.iter().all(|parts| *parts <= 256_u64.div_ceil(machines));
                if seen.len() as u64 == machines && seen.iter().sum::<u64>() == 256 && is_even {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let came = tokio::time::timeout(LONG, shared).await;
        assert!(came.is_ok(), "{machines} share it; {port} says {seen:?}");
    }

    /// Has the standby take over from a primary that is killed, and waits until so many machines write there.
    async fn fail_over(&self, standby: u16, machines: i64) {
        let file = std::fs::read_to_string(self.folder.join("primary/postmaster.pid")).expect("it runs");
        let primary = file.lines().next().and_then(|id| id.parse().ok()).expect("a process id");
        assert!(signal("KILL", primary), "it lived");
        let owner = format!("postgres://postgres@localhost:{standby}/serin?host={}", self.folder.display());
        let mut owner = PgConnection::connect(&owner).await.expect("by its socket");
        let promoted = "SELECT pg_promote(), CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";
        let promoted = sqlx::query(promoted).fetch_one(&mut owner).await.expect("it answers");
        assert!(promoted.get::<bool, _>(0), "it takes writes");
        let heard = async {
            loop {
                let count =
                    sqlx::query("SELECT COUNT(*) FROM nodes WHERE seen_at > $1").bind(promoted.get::<i64, _>(1));
                if count.fetch_one(&mut owner).await.expect("it answers").get::<i64, _>(0) == machines {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(LONG, heard).await.expect("they find the server that takes writes");
    }

    /// What a server answers.
    async fn ask(&self, port: u16, sql: &'static str) -> String {
        let ca = self.folder.join("primary/server.crt");
        let how = format!("sslmode=verify-full&sslrootcert={}", ca.display());
        let address = format!("postgres://serin:{SECRET}@127.0.0.1:{port}/serin?{how}");
        let mut connection = PgConnection::connect(&address).await.expect("it answers, and who it is can be checked");
        sqlx::query(sql).fetch_one(&mut connection).await.expect("it answers").try_get(0).expect("a text")
    }
}

#[tokio::test]
async fn the_example_of_three_machines_does_as_it_stands() {
    let around = tempfile::tempdir().expect("a folder");
    // Whom the script has PostgreSQL run as goes through it.
    std::fs::set_permissions(around.path(), PermissionsExt::from_mode(0o755)).expect("it may be gone through");
    let started = Started::start(around.path().join("enterprise")).await;
    let [primary, standby, first, second, third] = started.ports[..] else { panic!("five ports") };
    for port in [first, second, third] {
        started.until_shared(port, 3).await;
    }
    assert_eq!(started.ask(primary, "SHOW synchronous_standby_names").await, "FIRST 1 (db2)");
    assert_eq!(started.ask(primary, "SELECT pg_is_in_recovery()::text").await, "false");
    assert_eq!(started.ask(standby, "SELECT pg_is_in_recovery()::text").await, "true");
    assert!(signal("KILL", started.machines[&first]), "it lived");
    for port in [second, third] {
        started.until_shared(port, 2).await;
    }
    started.fail_over(standby, 2).await;
    for port in [second, third] {
        started.until_shared(port, 2).await;
    }
    let (folder, machines) = (started.folder.clone(), started.machines.clone());
    drop(started);
    let left = machines.values().filter(|id| signal("0", **id)).count();
    assert_eq!(left, 0, "machines are left over");
    assert!(folder.join("standby/PG_VERSION").exists(), "the folder that was named is kept");
    assert!(!folder.join("standby/postmaster.pid").exists(), "its server has ended in order");
}
