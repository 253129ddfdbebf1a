//! The examples, started as they stand: in a network of their own, where nothing of theirs is reached and port 8080 is free.

use std::path::Path;

use tokio::process::Command;

use crate::process::Serin;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
/// A network in which there is nothing but this machine itself.
const ALONE: &str = "ip link set lo up; exec \"$@\"";

fn alone(program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--map-root-user", "sh", "-ec", ALONE, "sh", program]);
    command
}

/// A value for each variable that a file names.
fn variables(text: &str) -> Vec<(String, &'static str)> {
    let named = text.split("${env:").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
    let value = |name: &str| match name {
        name if name.ends_with("_URL") => "https://hooks.example.org/serin",
        name if name.ends_with("_SECRET") => crate::stage::SECRET,
        _ => "a-value-that-is-long-enough",
    };
    named.map(|name| (name.to_owned(), value(name))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_starts_as_it_stands() {
    let tried = alone("true").status().await.expect("unshare is installed");
    if !tried.success() {
        println!("skipped: this user may not have a network of its own");
        return;
    }
    for (name, monitors) in [("solo.yaml", 1), ("team.yaml", 2)] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(name);
        std::fs::copy(Path::new(EXAMPLES).join(name), &file).expect("a copy");
        let text = std::fs::read_to_string(&file).expect("its text");
        let mut command = alone(Serin::PROGRAM);
        command.envs(variables(&text));
        if name == "solo.yaml" {
            command.env_remove("SOLO_SERVER_URL");
        }
        let (serin, address) = Serin::start_by(command, &file).await;
        assert_eq!(address.port(), 8080, "{name} listens where the documentation says");
        assert_eq!(text.matches("\n  - id: ").count(), monitors, "{name}: its monitors");
        serin.logged("probes and connections").await;
        let faults: Vec<String> =
            serin.log().lines().filter(|line| line.contains("ERROR")).map(str::to_owned).collect();
        assert!(faults.is_empty(), "{name} begins without an error of its own: {faults:?}");
        serin.stop().await;
    }
}
