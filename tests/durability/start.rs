//! What keeps Serin from starting is said at once, whole, and with an exit code.

use crate::process::Serin;
use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_serin_on_one_database_refuses_to_start() {
    let (stage, _) = Stage::set(1).await;
    let (first, _) = Serin::start(&stage.config()).await;
    let mut second = Serin::spawn(&stage.config());
    let status = second.ended().await;
    assert!(!status.success(), "two Serins on one database would page twice");
    let log = second.log();
    let mend = "is in use by another serin; stop that one, or give this one a `database:` of its own";
    assert!(log.contains("serin.db") && log.contains(mend), "it names the database and the mend: {log}");
    stage.more_beats("s0", 2).await;
    first.kill().await;
    let (third, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 1).await;
    third.stop().await;
}

/// Names under which another Serin means the same database: in a folder beside, and what makes the name there.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("the same name", "../serin.db"),
    ("a symbolic link", "linked.db"),
    ("a hard link", "hard.db"),
    ("another way to it", "../beside/.././serin.db"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_serin_refuses_whatever_name_it_has_for_the_database() {
    let (stage, file) = Stage::set(1).await;
    let (first, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 1).await;
    let beside = stage.folder.path().join("beside");
    std::fs::create_dir(&beside).expect("a folder");
    std::os::unix::fs::symlink("../serin.db", beside.join("linked.db")).expect("a symbolic link");
    std::fs::hard_link(stage.database(), beside.join("hard.db")).expect("a hard link");
    for (sentence, name) in OTHER_NAMES {
        let config = beside.join("monitors.yaml");
        let text = stage.text(&file).replace("database: serin.db", &format!("database: {name}"));
        std::fs::write(&config, text).expect("a file");
        let mut second = Serin::spawn(&config);
        assert_eq!(second.started().await, None, "{sentence}: it runs beside the first:\n{}", second.log());
        assert!(!second.ended().await.success(), "{sentence}");
        assert!(second.log().contains("is in use by another serin"), "{sentence}: {}", second.log());
    }
    stage.more_beats("s0", 2).await;
    assert!(stage.ops.hooks().is_empty(), "the first has no trouble by it: {:?}", crate::stage::messages(&stage.ops));
    first.kill().await;
    for _ in 0..2 {
        let (next, _) = Serin::start(&stage.config()).await;
        stage.more_beats("s0", 1).await;
        next.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_with_faults_is_refused_with_every_place() {
    let (stage, file) = Stage::set(1).await;
    let text = stage.text(&file).replace("every: 1s", "evry: 1s").replace("[oncall]", "[oncal]");
    stage.write_text(&text);
    let mut serin = Serin::spawn(&stage.config());
    let status = serin.ended().await;
    let log = serin.log();
    assert!(!status.success(), "it does not run on a file it cannot use: {log}");
    for wrong in ["evry", "oncal]"] {
        let place = place(&text, wrong);
        assert!(log.contains(&place), "the place of '{wrong}' is {place}:\n{log}");
    }
    assert!(log.contains("did you mean"), "and the mend is named:\n{log}");
    assert!(!stage.database().exists(), "nothing was made before the file was judged");
}

/// `monitors.yaml:LINE:COLUMN` of a word.
fn place(text: &str, word: &str) -> String {
    let at = text.find(word).expect("the word is there");
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = at - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
    format!("monitors.yaml:{line}:{column}")
}
