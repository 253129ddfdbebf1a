//! A Kubernetes volume: every file is a link through `..data`, and an update swaps that one link.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serin::domain::monitor::MonitorId;
use serin::domain::schedule;

use crate::outage::SENT;
use crate::process::Serin;
use crate::stage::{File, Stage, Watched, received, times};

const EVERY: Duration = Duration::from_secs(1);
/// A beat comes up to a twentieth of its interval late (`schedule`).
const LATE_US_MAX: i64 = 50_000;

/// The volume of a ConfigMap as the kubelet keeps it.
struct Volume(PathBuf);

impl Volume {
    /// Brings a version into force: a new folder, one swap of `..data`, then the names people see.
    fn put(&self, version: &str, files: &[(String, String)]) {
        let inside = self.0.join(format!("..{version}"));
        std::fs::create_dir_all(&inside).expect("a folder");
        for (name, text) in files {
            std::fs::write(inside.join(name), text).expect("written");
        }
        let next = self.0.join("..data_tmp");
        symlink(format!("..{version}"), &next).expect("a link");
        std::fs::rename(next, self.0.join("..data")).expect("the swap");
        for (name, _) in files.iter().filter(|(name, _)| !exists(&self.0.join(name))) {
            symlink(Path::new("..data").join(name), self.0.join(name)).expect("a link");
        }
    }

    /// Takes away the links that lead nowhere since the last swap, and the version before it.
    fn sweep(&self, version: &str) {
        for entry in std::fs::read_dir(&self.0).expect("it can be read").flatten() {
            if std::fs::metadata(entry.path()).is_err() {
                std::fs::remove_file(entry.path()).expect("a link");
            }
        }
        std::fs::remove_dir_all(self.0.join(format!("..{version}"))).expect("the old version");
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The first file, which includes one file a team, and each team's monitor.
fn files(stage: &Stage, file: &File, teams: &[&Watched]) -> Vec<(String, String)> {
    let text = stage.text(file);
    let (head, _) = text.split_once("monitors:\n").expect("the stage writes monitors last");
    let head = head.replace("database: serin.db", "database: ../serin.db");
    let mut files = vec![("monitors.yaml".to_owned(), format!("{head}include: team-*.yaml\n"))];
    for Watched { id, url, keys } in teams {
        let keys: String = keys.lines().map(|line| format!("    {line}\n")).collect();
        files.push((format!("team-{id}.yaml"), format!("monitors:\n  - id: {id}\n    url: {url}\n{keys}")));
    }
    files
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swapped_volume_comes_into_force_without_disturbing_what_stayed() {
    let (stage, file) = Stage::set(4).await;
    let [s0, s1, s2, s3] = &file.monitors[..] else { panic!("four monitors") };
    let folder = stage.folder.path().join("config");
    std::fs::create_dir(&folder).expect("a folder");
    let volume = Volume(folder.clone());
    volume.put("one", &files(&stage, &file, &[s0, s1, s2]));
    let (serin, address) = Serin::start(&folder.join("monitors.yaml")).await;
    for id in ["s0", "s1", "s2"] {
        stage.more_beats(id, 3).await;
    }
    stage.refuse(1);
    let opened = received(&stage.oncall, "incident.opened", Some("s1")).await;
    let rule = opened.rule.as_ref().expect("a rule");
    assert_eq!((rule.file.as_str(), rule.line), ("monitors.yaml", 12), "a rule of defaults, for a monitor of a team");
    stage.counted("the page is recorded as sent", 1, SENT, &[]).await;
    let first_seen = "SELECT first_seen FROM monitors WHERE id = $1";
    let baseline = "SELECT COUNT(*) FROM monitor_tools WHERE monitor = $1";
    let before = [stage.count(first_seen, &["s1"]).await, stage.count(baseline, &["s1"]).await];
    let beats = "SELECT COUNT(*) FROM beats WHERE monitor = $1";
    let seen_before = stage.count(beats, &["s1"]).await;

    // s0 stays, s1 changes, s2 goes, s3 comes; nothing tells Serin to look.
    let changed = Watched { keys: "name: Another name\nlabels: { team: one }".to_owned(), ..s1.clone() };
    volume.put("two", &files(&stage, &file, &[s0, &changed, s3]));
    volume.sweep("one");
    serin.logged("the new file is in force").await;
    for id in ["s0", "s1", "s3"] {
        stage.more_beats(id, 3).await;
    }
    let gone = "SELECT COUNT(*) FROM monitors WHERE id = $1 AND removed_at IS NOT NULL";
    stage.counted("a vanished file takes its monitor with it", 1, gone, &["s2"]).await;

    let phase = schedule::phase(&MonitorId::new("s0"), EVERY).as_micros().to_string();
    let off = "SELECT COUNT(*) FROM beats WHERE monitor = $1 AND kind = 'scheduled' \
               AND (scheduled_at - CAST($2 AS INTEGER)) % 1000000 >= CAST($3 AS INTEGER)";
    let moved = stage.count(off, &["s0", &phase, &LATE_US_MAX.to_string()]).await;
    assert_eq!(moved, 0, "every beat of an unchanged monitor falls where it always did");
    let twice = "SELECT COUNT(*) - COUNT(DISTINCT (scheduled_at - CAST($2 AS INTEGER)) / 1000000) FROM beats \
                 WHERE monitor = $1 AND kind = 'scheduled'";
    assert_eq!(stage.count(twice, &["s0", &phase]).await, 0, "and none twice");

    let after = [stage.count(first_seen, &["s1"]).await, stage.count(baseline, &["s1"]).await];
    assert_eq!(before, after, "a changed monitor is the one it was, with its tools");
    assert!(stage.count(beats, &["s1"]).await >= seen_before + 3, "its beats go on from those before");
    assert_eq!(stage.monitor(address, "s1").await["name"], "Another name");
    assert_eq!(times(&stage.oncall, "incident.opened"), 1, "its incident is the same one");
    stage.mend(1);
    let resolved = received(&stage.oncall, "incident.resolved", Some("s1")).await;
    assert_eq!(resolved.incident.map(|one| one.id), opened.incident.map(|one| one.id), "and ends where it ends");
    assert_eq!(times(&stage.ops, "serin.trouble"), 0, "no look during the swap was taken for a bad file");
    serin.stop().await;
}
