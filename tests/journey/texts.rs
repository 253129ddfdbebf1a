//! A server that answers with text: what is pinned of it, what is told of it, and what another file would have told.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use serin::deliver::message::Message;

use crate::small_server;
use crate::stage::Stage;

/// What it knows, by a word of the question; the rest of each text is what people would read.
const NOTES: [(&str, &str); 4] = [
    (
        "INV-2044",
        "Boiler upkeep: a copper valve is checked each quarter, by two of the harbour's own people. See the handbook.",
    ),
    (
        "BX-1177",
        "Beekeeping: a hive that swarms in May is parted in time, and its queen is marked by then. See the handbook.",
    ),
    (
        "passphrase",
        "Tokens: whoever was idle for a week signs in anew, with a word that nobody used before. See the handbook.",
    ),
    (
        "quay",
        "Harbour dues: a vessel pays by its tonnage, on the day on which it makes fast at the mole. See the handbook.",
    ),
];
const CANARIES: &str = "
      - { id: boilers, query: INV-2044, contains: [copper valve], kind: keyword }
      - { id: bees, query: BX-1177, contains: [hive], kind: keyword }
      - { id: lapse, query: when does my passphrase lapse, contains: [signs in anew], kind: meaning }
      - { id: mooring, query: what does the quay cost, contains: [tonnage], kind: meaning }
      - { id: pans, query: seasoning of pans, kind: negative }
";

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Well,
    /// The first half of each text, and of what it holds as much as anybody looks for.
    CutShort,
    /// Questions in other words bring another note.
    WordsAlone,
    /// It says itself that it is not whole.
    Partial,
}

#[derive(Debug)]
struct Notes {
    url: String,
    way: Arc<Mutex<Way>>,
}

impl Notes {
    async fn start() -> Self {
        let way = Arc::new(Mutex::new(Way::Well));
        let shared = Arc::clone(&way);
        let told = move |question: String| std::future::ready(told(*shared.lock().unwrap(), &question));
        Self { url: small_server::serve(told).await, way }
    }

    fn turn(&self, way: Way) {
        *self.way.lock().unwrap() = way;
    }
}

fn told(way: Way, question: &str) -> Value {
    let found = NOTES.iter().position(|(word, _)| question.contains(word));
    let text = match (found, way) {
        (None, _) => "No notes were found.".to_owned(),
        (Some(nth), Way::WordsAlone) if nth > 1 => {
            NOTES[5 - nth].1.replace("tonnage", "weight").replace("anew", "again")
        }
        (Some(nth), Way::CutShort) => {
            let wanted = ["copper valve", "hive", "signs in anew", "tonnage"][nth];
            format!("… {wanted} … handbook")
        }
        (Some(nth), _) => NOTES[nth].1.to_owned(),
    };
    let content = json!([{"type": "text", "text": text}]);
    match way {
        Way::Partial => json!({"content": content, "structuredContent": {"result": text, "partial": true}}),
        _ => json!({"content": content}),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_with_text_is_pinned_judged_and_tried_again() {
    let server = Notes::start().await;
    let monitors = |canaries: &str| {
        format!(
            "  - id: notes\n    url: {}\n    search: {{ arguments: {{}}, empty: ^No notes were found, per_beat: 5 }}\n    canaries:{canaries}",
            server.url
        )
    };
    let stage = Stage::start(&monitors(CANARIES)).await;
    stage.well("notes").await;
    let config = stage.path("monitors.yaml").display().to_string();
    let (code, said) = stage.runs(&["pin", "notes", "--runs", "3", "--config", &config]).await;
    assert_eq!(code, Some(0), "{said}");
    let length = NOTES[0].1.chars().count();
    for part in [
        format!("boilers  a text of {length} characters, the same each time"),
        "armed: changes of the tools, lengths of texts; relations: same_twice".to_owned(),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
    let lock = std::fs::read_to_string(stage.path("monitors.lock")).unwrap();
    assert!(
        lock.contains("          - [\"text:")
            && lock.contains(&format!("text: {{ shortest: {length}, longest: {length} }}")),
        "{lock}"
    );
    let (code, said) = stage.runs(&["pin", "notes", "--check", "--config", &config]).await;
    assert!(code == Some(0) && said.contains("notes: as pinned"), "{said}");
    stage.look_again();
    let locked = |body: &Value| body["accepted"]["by"] == "monitors.lock";
    stage.until("the lock is in force", "notes/tools", locked).await;

    let opened = async |sentence: &str, reason: &str| {
        let fits =
            |message: &Message| message.event == "incident.opened" && message.failure_reason.as_deref() == Some(reason);
        stage.message(sentence, fits).await
    };
    server.turn(Way::CutShort);
    let short = opened("texts are cut short", "result_malformed").await;
    assert!(short.severity == "page" && short.summary.contains("every text is cut short"), "{short:#?}");
    let (code, said) = stage.runs(&["pin", "notes", "--check", "--config", &config]).await;
    assert!(code == Some(1) && said.contains("boilers: a text of 108 characters before, now of 25"), "{said}");
    server.turn(Way::Well);
    stage.resolved("they are whole again", &short).await;

    server.turn(Way::WordsAlone);
    let lost = opened("questions in other words bring other texts", "vector_arm_down").await;
    assert!(lost.summary.contains("searches bring texts that are not right"), "{lost:#?}");
    server.turn(Way::Well);
    stage.resolved("they bring theirs again", &lost).await;

    server.turn(Way::Partial);
    let partial = opened("it says that it is not whole", "self_reported_degradation").await;
    assert_eq!(partial.severity, "ticket", "{partial:#?}");
    server.turn(Way::Well);
    stage.resolved("it says so no more", &partial).await;

    // What was answered is kept: other words are looked for in it.
    let lenient = CANARIES.replace("[signs in anew]", "[handbook]").replace("[tonnage]", "[handbook]");
    let head = std::fs::read_to_string(&config).unwrap();
    let head = head.split_once("monitors:\n").unwrap().0.to_owned() + "monitors:\n";
    stage.beside("new.yaml", &format!("{head}{}", monitors(&lenient)));
    let (code, said) = stage.runs(&["backtest", "new.yaml", "--config", &config]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("- notes  gone: page, vector_arm_down (quality)"), "what was wrong then is right: {said}");
    let other = ["result_malformed", "Not comparable", "the text is not kept"];
    assert!(other.iter().all(|other| !said.contains(other)), "and all else is what it was: {said}");
}
