//! Under systemd, of which the test plays the side that is told: it has begun, it lives, it stops.

use std::os::unix::fs::PermissionsExt as _;

use tokio::net::UnixDatagram;
use tokio::process::Command;

use crate::process::{Serin, run};
use crate::stage::{Stage, bounded};

const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/serin.service");
/// Tenths that `systemd-analyze security` rates it at most, of 100; what speaks to the network is rated 10 at best.
const EXPOSURE_MAX: &str = "15";

/// What was said last but for what was asked for; fails where the socket is silent.
async fn told(socket: &UnixDatagram, wanted: &str) -> Vec<String> {
    let mut said = Vec::new();
    let mut bytes = [0; 4096];
    bounded(&format!("systemd is told {wanted}"), async {
        while !said.last().is_some_and(|last: &String| last.lines().any(|line| line == wanted)) {
            let length = socket.recv(&mut bytes).await.expect("the socket is open");
            said.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
        }
    })
    .await;
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn systemd_is_told_that_it_began_lives_and_stops() {
    let (stage, file) = Stage::set(1).await;
    stage.write(&file);
    let path = stage.folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    let path = path.to_str().expect("a path in UTF-8");
    let asked = [("NOTIFY_SOCKET", path), ("WATCHDOG_USEC", "200000")];
    let mut serin = Serin::spawn_in(&stage.config(), &[], &asked);
    let said = told(&socket, "READY=1").await;
    assert_eq!(said.len(), 1, "nothing is said before it has begun: {said:?}");
    let address = serin.listens().await;
    assert!(said[0].contains(&format!("STATUS=pages at http://{address}")), "and where its pages are: {said:?}");
    for _ in 0..3 {
        told(&socket, "WATCHDOG=1").await;
    }
    serin.signal("TERM").await;
    told(&socket, "STOPPING=1").await;
    assert!(serin.ended().await.success(), "{}", serin.log());
}

#[tokio::test]
#[ignore = "needs systemd-analyze"]
async fn the_unit_is_sound_and_has_little_within_its_reach() {
    run("systemd-analyze", &["security", "--offline=true", &format!("--threshold={EXPOSURE_MAX}"), UNIT]).await;
    // What it starts has to be there to be verified, and is not, on this machine.
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("serin");
    std::fs::write(&program, "").expect("a file");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let text = std::fs::read_to_string(UNIT).expect("the unit");
    let text = text.replace("/usr/local/bin/serin", program.to_str().expect("a path in UTF-8"));
    let unit = folder.path().join("serin.service");
    std::fs::write(&unit, text).expect("a file");
    let seen = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output().await.expect("it runs");
    let said = String::from_utf8_lossy(&seen.stderr);
    let of_ours: Vec<&str> = said.lines().filter(|line| line.contains("serin.service")).collect();
    assert!(of_ours.is_empty(), "systemd knows every line of it: {of_ours:?}");
}
