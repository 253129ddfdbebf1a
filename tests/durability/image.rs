//! An empty image: nothing but the binary, a file and one folder that may be written, by a user who is nobody.
//!
//! The binary of the tests is not static, so the libraries that it names lie beside it; there is no shell, no `/tmp`, no
//! `/etc` but its own, and no certificate.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::process::{Serin, run};
use crate::stage::Stage;

/// Makes the folder a root that cannot be written but for its volume, and starts the program there.
const EMPTY_ROOT: &str = "set -e; mount --bind \"$0\" \"$0\"; mount --bind \"$0/state\" \"$0/state\"; \
     mount -o remount,bind,ro \"$0\"; exec chroot --userspec=65532:65532 \"$0\" \"$@\"";

fn inside(root: &Path) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", EMPTY_ROOT])
        .arg(root)
        .arg("/serin")
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// Copies the program and what its loader names, which is nothing for a static one: `SERIN_TEST_IMAGE` says where that is.
async fn furnish(root: &Path) {
    let program = std::env::var("SERIN_TEST_IMAGE").unwrap_or_else(|_| Serin::PROGRAM.to_owned());
    let listed = Command::new("ldd").arg(&program).output().await.expect("ldd is installed");
    let listed = String::from_utf8(listed.stdout).expect("its text");
    for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
        let place = root.join(library.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().expect("its folder")).expect("a folder");
        std::fs::copy(library, place).expect("a copy");
    }
    std::fs::copy(&program, root.join("serin")).expect("a copy");
    std::fs::create_dir_all(root.join("etc/serin")).expect("a folder");
    std::fs::create_dir_all(root.join("state")).expect("a folder");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_the_binary_and_a_volume_is_enough() {
    let (stage, mut file) = Stage::set(1).await;
    let root = tempfile::tempdir().expect("a folder");
    furnish(root.path()).await;
    let tried =
        inside(root.path()).arg("--version").stdout(Stdio::null()).status().await.expect("unshare is installed");
    if !tried.success() {
        println!("skipped: this user may not change the root, or mount");
        return;
    }
    run("chown", &["65532:65532", root.path().join("state").to_str().expect("a path in UTF-8")]).await;
    run("chmod", &["755", root.path().to_str().expect("a path in UTF-8")]).await;
    // A name that only a resolver knows, beside a server that answers by its number.
    file.monitors.push(crate::stage::Watched {
        id: "nameless",
        url: "http://no-such-host.invalid/mcp".to_owned(),
        keys: String::new(),
    });
    let text = stage.text(&file);
    let database =
        text.lines().find(|line| line.contains("database:")).expect("it names its database").trim().to_owned();
    std::fs::write(root.path().join("etc/serin/monitors.yaml"), text.replace(&database, "database: /state/serin.db"))
        .expect("a file");
    let (serin, address) = Serin::start_by(inside(root.path()), Path::new("/etc/serin/monitors.yaml")).await;
    for (id, state, reason) in [("s0", "up", ""), ("nameless", "down", "dns_failure")] {
        let is_so = |page: &str| page.contains(&format!("\"state\":\"{state}\"")) && page.contains(reason);
        stage.shown(address, &format!("/api/v1/monitors/{id}"), &format!("{id} is {state}"), is_so).await;
    }
    let mut asked = inside(root.path());
    asked.args(["status", "--ready", "--config", "/etc/serin/monitors.yaml", "--url", &format!("http://{address}")]);
    asked.env("SERIN_TEST_SECRET", crate::stage::SECRET);
    let ready = asked.output().await.expect("it runs");
    assert!(ready.status.success(), "its health check says so: {ready:?}");
    assert!(String::from_utf8_lossy(&ready.stdout).contains("serin is ready"), "{ready:?}");
    assert!(root.path().join("state/serin.db").exists(), "and what it saw is on the volume\n{}", serin.log());
    serin.stop().await;
}
