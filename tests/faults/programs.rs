//! Servers that are programs: started, kept, restarted, stopped, and every fault they have of their own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::Utc;
use serin::domain::classify::reason_of;
use serin::domain::fault::FaultKind;
use serin::domain::monitor::{Monitor, Program};
use serin::domain::observation::{Observation, Stage};
use serin::domain::protocol::{Era, Transport};
use serin::domain::reason::FailureReason;
use serin::domain::secret::Secret;
use serin::domain::server_profile::{Caution, ServerProfile};
use serin::probe::assignment::{Assignment, Further};
use serin::probe::prober::Prober;

use crate::common::monitors::{address, assignment, canary};
use crate::harvest::harvesting;
use crate::probing::first_fault;

/// Starting a shell and a few seds takes a while on a machine under load.
const PATIENT: Duration = Duration::from_secs(20);
/// For rows that wait for it.
const SHORT: Duration = Duration::from_millis(1500);

/// A monitor of the script in a mode, and the file that it logs to.
struct Scene {
    folder: tempfile::TempDir,
    monitor: Monitor,
}

impl Scene {
    fn new(mode: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/program.sh");
        let args = [script.to_str().expect("text"), mode].map(Secret::new).to_vec();
        let log = folder.path().join("log");
        let env = vec![
            ("LOG".to_owned(), Secret::new(log.to_str().expect("text"))),
            ("TOKEN".to_owned(), Secret::new("tok-123456")),
        ];
        let shown = format!("stdio: sh {} {mode}", script.display());
        let mut monitor = Monitor::undeclared("m", address(&shown));
        monitor.reach.program = Some(Box::new(Program { command: "sh".to_owned(), args, env, keep: false }));
        monitor.reach.transport = Some(Transport::Stdio);
        monitor.canaries = vec![canary("c")];
        monitor.search.per_beat = 1;
        (monitor.timeout, monitor.probe_budget) = (PATIENT, PATIENT * 3);
        Self { folder, monitor }
    }

    fn program(&mut self) -> &mut Program {
        self.monitor.reach.program.as_mut().expect("it is one")
    }

    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Process ids that the script logged under a word.
    fn logged(&self, word: &str) -> Vec<PathBuf> {
        let log = self.log();
        let ids = log.iter().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
        ids.map(|id| Path::new("/proc").join(id)).collect()
    }

    /// Waits until nothing that the script started is left; whoever is not waited for yet is a zombie and counts as gone.
    async fn assert_no_orphan(&self, sentence: &str) {
        let everybody = self.logged("start").into_iter().chain(self.logged("child"));
        for process in everybody {
            let alive = || {
                let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
                !stat.is_empty() && !stat.contains(") Z ")
            };
            for _ in 0..2_000 {
                if !alive() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert!(!alive(), "{sentence}: {} is left", process.display());
        }
    }

    fn assignment(&self, profile: ServerProfile) -> Assignment {
        Assignment { profile, ..assignment(self.monitor.clone(), Utc::now()) }
    }

    async fn probe(&self, prober: &Prober, profile: ServerProfile) -> (Observation, ServerProfile) {
        prober.run(&self.assignment(profile)).await
    }
}

fn notes(seen: &Observation) -> String {
    seen.steps.iter().flat_map(|step| step.notes.clone()).collect::<Vec<_>>().join(" / ")
}

#[tokio::test]
async fn a_program_is_started_asked_and_stopped() {
    for (mode, era) in [("well", Era::Legacy), ("modern", Era::Modern)] {
        let stage = Scene::new(mode);
        let prober = Prober::new(1);
        let (seen, profile) = stage.probe(&prober, ServerProfile::default()).await;
        assert_eq!(first_fault(&seen), None, "{mode}: {seen:#?}");
        assert_eq!((seen.era, seen.transport), (Some(era), Some(Transport::Stdio)), "{mode}");
        assert!(seen.asks[0].result.as_ref().is_some_and(|result| result.as_ref().unwrap().hits[0].source == "a.md"));
        assert_eq!((profile.era, profile.transport, profile.discover), (seen.era, seen.transport, Caution::Harmless));
        assert_eq!(stage.log().last().map(String::as_str), Some("input closed"), "{mode}: it was let end by itself");
        stage.assert_no_orphan(mode).await;
        let (seen, again) = stage.probe(&prober, profile.clone()).await;
        assert_eq!((first_fault(&seen), again), (None, profile), "{mode}: nothing new was learnt");
        let discovered = stage.log().iter().filter(|line| *line == "server/discover").count();
        assert_eq!(discovered, if era == Era::Modern { 2 } else { 1 }, "{mode}: the older era is remembered");
    }
}

#[tokio::test]
async fn a_program_finds_the_trace_in_meta() {
    let stage = Scene::new("well");
    let seen = crate::probing::recorded(&Prober::new(4), &stage.assignment(ServerProfile::default())).await;
    let text = seen.transcript.clone().expect("it is recorded");
    let named = format!(r#""_meta":{{"traceparent":"00-{:032x}-"#, seen.trace);
    assert!(text.matches(named.as_str()).count() >= 3, "{named} in {text}");
}

#[tokio::test]
async fn a_program_is_asked_by_its_own_words_and_they_are_not_recorded() {
    let stage = Scene::new("well");
    let mut assignment = stage.assignment(ServerProfile::default());
    assignment.further = Further { harvest: Some(harvesting("a.md")), ..Further::NONE };
    let seen = crate::probing::recorded(&Prober::new(1), &assignment).await;
    assert_eq!(seen.harvested.as_ref().map(|harvested| harvested.rank), Some(Some(1)), "{seen:#?}");
    assert_eq!(stage.log().iter().filter(|line| *line == "tools/call").count(), 2, "the canary, and the sentence");
    let text = seen.transcript.expect("it is recorded");
    assert_eq!(text.matches("tools/call").count(), 1, "{text}");
    assert!(!text.contains("alternator"), "{text}");
}

#[tokio::test]
async fn a_fixed_era_is_not_looked_for() {
    let mut stage = Scene::new("well");
    stage.monitor.reach.era = Some(Era::Legacy);
    let (seen, _) = stage.probe(&Prober::new(1), ServerProfile::default()).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    assert!(!stage.log().contains(&"server/discover".to_owned()), "{:?}", stage.log());
    stage.monitor.reach.era = Some(Era::Modern);
    let (seen, _) = stage.probe(&Prober::new(1), ServerProfile::default()).await;
    assert_eq!(first_fault(&seen), Some((Stage::Handshake, FaultKind::RpcError(-32601))), "and not left for another");
}

#[tokio::test]
async fn an_old_program_is_never_sent_discover() {
    let stage = Scene::new("old");
    let prober = Prober::new(1);
    let (seen, profile) = stage.probe(&prober, ServerProfile::default()).await;
    assert_eq!((first_fault(&seen), seen.era), (None, Some(Era::Legacy)), "{seen:#?}");
    let relook = ServerProfile { era_found_at: None, ..profile };
    let (seen, _) = stage.probe(&prober, relook).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    let log = stage.log();
    assert!(!log.contains(&"server/discover".to_owned()), "neither at first nor a day later: {log:?}");
    assert_eq!(stage.logged("start").len(), 2, "a process a beat, and none to look besides: {log:?}");
}

#[tokio::test]
async fn what_discover_does_to_an_old_program_is_remembered() {
    let stage = Scene::new("dies-of-discover");
    let prober = Prober::new(1);
    let (seen, profile) = stage.probe(&prober, ServerProfile::default()).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    assert!(notes(&seen).contains("exit status: 9"), "{}", notes(&seen));
    assert_eq!((profile.era, profile.discover), (Some(Era::Legacy), Caution::Harmful));
    let before = stage.log().len();
    let (seen, again) = stage.probe(&prober, profile.clone()).await;
    assert_eq!((first_fault(&seen), again), (None, profile));
    assert!(!stage.log()[before..].contains(&"server/discover".to_owned()), "{:?}", stage.log());

    let mut stage = Scene::new("stalls-on-discover");
    stage.monitor.timeout = SHORT;
    let (seen, profile) = stage.probe(&prober, ServerProfile::default()).await;
    assert_eq!((first_fault(&seen), profile.discover), (None, Caution::Harmful), "{seen:#?}");
    stage.assert_no_orphan("a stalled program is killed").await;
}

/// What the program does, where it shows, as what, for which reason, and a part of the evidence.
type Row = (&'static str, Stage, FaultKind, FailureReason, &'static str);

#[tokio::test]
async fn faults_of_a_program() {
    use FailureReason as R;
    use FaultKind as F;
    let rows: [Row; 6] = [
        ("mute", Stage::Handshake, F::Silent, R::Timeout, "did not answer in time"),
        ("ends-at-once", Stage::Handshake, F::ProgramEnded, R::ConnectionRefused, "exit status: 3"),
        ("garbage", Stage::Handshake, F::StreamGarbage, R::ProtocolError, "hello"),
        ("endless", Stage::Handshake, F::TooLarge, R::ResponseTooLarge, "longer than"),
        ("ends-in-search", Stage::Search, F::ProgramEnded, R::ConnectionRefused, "it said: out of memory"),
        ("wrong-id", Stage::Tools, F::WrongId, R::ProtocolError, "9999"),
    ];
    for (mode, stage_of, kind, reason, evidence) in rows {
        let mut stage = Scene::new(mode);
        if matches!(mode, "mute" | "garbage" | "wrong-id") {
            stage.monitor.timeout = SHORT;
        }
        let (seen, _) = stage.probe(&Prober::new(1), ServerProfile::default()).await;
        assert_eq!(first_fault(&seen), Some((stage_of, kind)), "{mode}: {seen:#?}");
        let fault = seen.fault(stage_of).unwrap();
        assert!(fault.detail.contains(evidence), "{mode}: {}", fault.detail);
        assert_eq!(reason_of(stage_of, kind).0, reason, "{mode}");
        assert!(!format!("{seen:?}").contains("tok-123456"), "{mode}: {seen:#?}");
        stage.assert_no_orphan(mode).await;
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why() {
    let mut stage = Scene::new("well");
    let plain = stage.folder.path().join("plain");
    std::fs::write(&plain, "not a program").unwrap();
    for (command, evidence) in [("no-such-program-here", "not found"), (plain.to_str().unwrap(), "may not be executed")]
    {
        stage.program().command = command.to_owned();
        let (seen, _) = stage.probe(&Prober::new(1), ServerProfile::default()).await;
        assert_eq!(first_fault(&seen), Some((Stage::Connect, FaultKind::ProgramNotStarted)), "{command}");
        assert!(seen.fault(Stage::Connect).unwrap().detail.contains(evidence), "{seen:#?}");
    }
}

#[tokio::test]
async fn oddities_that_are_no_fault_are_notes() {
    for (mode, expected) in [("banner", "Welcome to the server"), ("asks", ""), ("chatty", "")] {
        let stage = Scene::new(mode);
        let (seen, _) = stage.probe(&Prober::new(1), ServerProfile::default()).await;
        assert_eq!(first_fault(&seen), None, "{mode}: {seen:#?}");
        assert!(notes(&seen).contains(expected), "{mode}: {}", notes(&seen));
    }
}

#[tokio::test]
async fn a_program_ends_with_its_probe_whatever_it_does() {
    for mode in ["lingers", "stubborn", "family"] {
        let stage = Scene::new(mode);
        let (seen, _) = stage.probe(&Prober::new(1), ServerProfile::default()).await;
        assert_eq!(first_fault(&seen), None, "{mode}: {seen:#?}");
        stage.assert_no_orphan(mode).await;
    }
    // A probe that is dropped in the middle leaves nothing behind either.
    let stage = Scene::new("mute");
    let prober = Prober::new(1);
    let assignment = stage.assignment(ServerProfile::default());
    let started = async {
        while stage.log().len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = prober.run(&assignment) => panic!("it never answers"),
        () = started => {}
    }
    stage.assert_no_orphan("a dropped probe").await;
}

#[tokio::test]
async fn a_kept_program_serves_many_beats_and_is_started_again_when_it_died() {
    for mode in ["well", "modern"] {
        let mut stage = Scene::new(mode);
        stage.program().keep = true;
        let prober = Prober::new(1);
        let (mut seen, mut profile) = stage.probe(&prober, ServerProfile::default()).await;
        for _ in 0..3 {
            assert_eq!(first_fault(&seen), None, "{mode}: {seen:#?}");
            (seen, profile) = stage.probe(&prober, profile).await;
        }
        assert!(seen.asks[0].result.as_ref().is_some_and(Result::is_ok), "{mode}: {seen:#?}");
        let starts = stage.logged("start");
        assert_eq!(seen.footprint.connections, 0, "{mode}: one program for all beats");
        // Each era is asked for in a process of its own.
        assert_eq!(starts.len(), 2, "{mode}: but for the one that the first look asked besides");
        let opened = stage.log().iter().filter(|line| *line == "initialize").count();
        assert_eq!(opened, 1, "{mode}: one conversation, too");

        let kept = if mode == "well" { &starts[0] } else { &starts[1] };
        let id = kept.file_name().unwrap().to_str().unwrap().to_owned();
        let killed = tokio::process::Command::new("kill").args(["-9", &id]).status().await.unwrap();
        assert!(killed.success());
        let (seen, profile) = stage.probe(&prober, profile).await;
        assert_eq!(first_fault(&seen), None, "{mode}: {seen:#?}");
        assert!(notes(&seen).contains("had ended") && notes(&seen).contains("signal: 9"), "{mode}: {}", notes(&seen));
        assert_eq!(stage.logged("start").len(), 3, "{mode}");

        stage.monitor.definition_hash = "edited".to_owned();
        let (seen, _) = stage.probe(&prober, profile).await;
        assert_eq!((first_fault(&seen), stage.logged("start").len()), (None, 4), "{mode}: an edit starts it afresh");
        prober.release(&stage.monitor, &ServerProfile::default()).await;
        stage.assert_no_orphan(mode).await;
    }
}

#[tokio::test]
async fn kept_programs_end_with_their_prober() {
    let mut stage = Scene::new("family");
    stage.program().keep = true;
    let prober = Prober::new(1);
    let (seen, profile) = stage.probe(&prober, ServerProfile::default()).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    prober.release_all().await;
    stage.assert_no_orphan("released").await;
    let _ = stage.probe(&prober, profile).await;
    drop(prober);
    stage.assert_no_orphan("dropped").await;
}
