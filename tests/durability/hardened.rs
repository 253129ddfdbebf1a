//! A hardened container: only the volume of the database can be written, not one temporary folder.

use std::net::Ipv4Addr;
use std::path::Path;

use tokio::net::TcpListener;
use tokio::process::Command;

use crate::process::Serin;
use crate::stage::{Stage, messages, received};

/// Monitors; their beats share commits, which are larger than what SQLite takes back from memory.
const MONITORS: usize = 400;
/// A commit fails as soon as it touches some sixteen pages: within the first thousand beats.
const BEATS: i64 = 4_000;

/// Runs a program where every folder in which SQLite would put a temporary file is read-only, the working folder too.
const ONLY_THE_VOLUME: &str = "set -e; mount --bind \"$0\" \"$0\"; for folder in /tmp /var/tmp /usr/tmp; do \
     if [ -d $folder ]; then mount --rbind $folder $folder; mount -o remount,bind,ro $folder; fi; done; \
     cd /tmp; if touch /tmp/serin-test /var/tmp/serin-test 2>/dev/null; then exit 9; fi; exec \"$@\"";

fn hardened(volume: &Path, program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", ONLY_THE_VOLUME]).arg(volume).arg(program);
    command.env_remove("TMPDIR").env_remove("SQLITE_TMPDIR");
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_temporary_folder_every_beat_is_remembered() {
    let (stage, mut file) = Stage::set(1).await;
    let tried = hardened(stage.folder.path(), "true").status().await.expect("unshare is installed");
    if !tried.success() {
        println!("skipped: this user may not mount anything, not even for itself");
        return;
    }
    file.rules = "{ availability: { after: 1000 } }";
    let mut text = stage.text(&file);
    // Nothing listens there: the cheapest beat there is.
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port").local_addr().expect("its address");
    for number in 0..MONITORS {
        text.push_str(&format!("  - {{ id: refused{number}, url: 'http://{closed}/mcp' }}\n"));
    }
    stage.write_text(&text);
    let (serin, address) = Serin::start_by(hardened(stage.folder.path(), Serin::PROGRAM), &stage.config()).await;
    let beats = "SELECT COUNT(*) FROM beats";
    tokio::select! {
        () = stage.counted("beats are remembered", BEATS, beats, &[]) => {}
        trouble = received(&stage.ops, "serin.trouble", None) => panic!("Serin has trouble: {trouble:?}\n{}", serin.log()),
    }
    let unknown = stage.count("SELECT COUNT(*) FROM beats WHERE seen = 'internal'", &[]).await;
    let (_, metrics) = stage.get(address, "/metrics").await;
    let lost = metrics.lines().find(|line| line.starts_with("serin_beats_total{verdict=\"unknown\"}"));
    assert_eq!(unknown, 0, "not one of them is unknown by our fault: {lost:?}\n{}", serin.log());
    assert!(!serin.log().contains("disk I/O error"), "{}", serin.log());
    assert!(stage.ops.hooks().is_empty(), "and Serin has no trouble of its own: {:?}", messages(&stage.ops));
    serin.stop().await;
}
