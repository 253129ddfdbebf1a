//! Killed at random moments while a window holds one incident, another waits to be escalated, a third comes and goes, and
//! people wait for one message of all: whoever is to hear of something hears of it, once but for repeats of the same bytes,
//! in order, and of its end.
//!
//! `SERIN_TEST_KILLS` asks for more kills than there is time for on each change, `SERIN_TEST_SEED` for their moments.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{SecondsFormat, TimeDelta, Utc};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serin::cli::demo::inbox::{Hook, Inbox, InboxItem};
use serin::deliver::message::Message;

use crate::process::Serin;
use crate::stage::{File, Stage};

/// Kills, where nobody asks for more. Four make a turn: see [`Turn`].
const KILLS: u64 = 8;
/// How long the receiver takes to say yes.
const ANSWERS_AFTER: Duration = Duration::from_millis(250);
/// From the decision to a little past the receiver's answer and the record of it.
const MOMENTS_MS: std::ops::Range<u64> = 0..600;
/// How long the window lasts: until a little after the first kill and the start that follows.
const WINDOW: TimeDelta = TimeDelta::seconds(7);

/// `s0` comes and goes, `s1` fails in a window, `s2` is taken by nobody.
const ROUTES: &str = "[{ to: [oncall], escalate: [{ after: 10s, to: [spare] }], continue: true }, \
                      { to: [people], group: { wait: 2s, interval: 10s } }]";
/// Who reads the messages in a chat.
const PEOPLE: &str = "  people: { slack: { url: '${file:{path}}' } }\n";
const RULES: &str = "{ availability: { after: 1, recover_after: 1, page_after: 0s } }";

const OPENED: &str = "SELECT COUNT(*) FROM incidents";
const TOLD: &str = "SELECT COUNT(*) FROM notifications n JOIN incidents i ON i.id = n.incident \
                    WHERE n.event = $1 AND i.monitor = $2";

/// What was received, however much of it an inbox still keeps.
#[derive(Default)]
struct Received {
    hooks: Vec<(&'static str, Hook)>,
    /// What was posted into the chat.
    people: Vec<String>,
    /// The last of each inbox that was looked at.
    last: BTreeMap<&'static str, u64>,
}

impl Received {
    /// Takes in what came since the last look.
    fn look(&mut self, stage: &Stage) {
        let inboxes: [(&'static str, &Inbox); 3] =
            [("oncall", &stage.oncall), ("spare", &stage.spare), ("people", &stage.chat)];
        for (name, inbox) in inboxes {
            let last = self.last.entry(name).or_default();
            let seen = *last;
            for item in inbox.items().into_iter().filter(|item| item.number > seen) {
                assert_eq!(item.number, *last + 1, "{name}: none fell out unseen");
                *last = item.number;
                match item.what {
                    InboxItem::Webhook(hook) if name == "people" => self.people.push(hook.body),
                    InboxItem::Webhook(hook) => self.hooks.push((name, hook)),
                    _ => {}
                }
            }
        }
    }

    /// What holds at any moment: repeats have the same bytes, and nothing overtakes what was said before it.
    fn check(&self) {
        let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
        let mut last: BTreeMap<(&str, String), (u32, &str)> = BTreeMap::new();
        for (name, hook) in &self.hooks {
            assert_eq!(hook.verified, Some(true), "signed: {hook:?}");
            let known = *first.entry((name, &hook.id)).or_insert(&hook.body);
            assert_eq!(known, hook.body, "{name}: the bytes of {}", hook.id);
            let message = Message::parse(&hook.body).expect("a message");
            let Some(incident) = message.incident else { continue };
            let (number, id) = last.insert((name, incident.id), (message.sequence, &hook.id)).unwrap_or_default();
            assert!(message.sequence >= number, "{name}: {} after {number}: {}", message.sequence, hook.body);
            let is_repeat = message.sequence == number;
            assert!(!is_repeat || id == hook.id, "{name}: said twice by two ids: {id} and {}", hook.id);
        }
    }

    /// Events of each incident as a receiver heard them, repeats left out.
    fn heard(&self, by: &str) -> BTreeMap<String, Vec<String>> {
        let mut seen = BTreeSet::new();
        let mut heard: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (_, hook) in self.hooks.iter().filter(|(name, _)| *name == by) {
            let message = Message::parse(&hook.body).expect("a message");
            if let Some(incident) = message.incident.filter(|_| seen.insert(&hook.id)) {
                heard.entry(incident.id).or_default().push(message.event);
            }
        }
        heard
    }
}

/// The file, with the people in it.
fn text(stage: &Stage, file: &File) -> String {
    let secret = stage.folder.path().join("chat");
    std::fs::write(&secret, format!("http://{}/hook", stage.hook("chat"))).expect("the folder is writable");
    let people = PEOPLE.replace("{path}", &secret.display().to_string());
    stage.text(file).replacen("receivers:\n", &format!("receivers:\n{people}"), 1)
}

/// The four rounds of a turn, each ended by a kill.
enum Turn {
    /// All three fail, `s1` in a window that has just begun.
    Fail,
    /// The window is over, and `s1` is told late; `s0` is well again.
    LetGo,
    /// `s0` fails once more.
    Again,
    /// Nobody took `s2`, so that others hear of it; then all are well.
    Escalate,
}

/// Has something happen, and waits until it is decided what is told of it.
async fn play(stage: &Stage, file: &File, address: std::net::SocketAddr, turn: &Turn) {
    let told = async |event: &str, monitor: &str| stage.count(TOLD, &[event, monitor]).await;
    let until = async |event: &str, monitor: &str, more: i64| {
        stage.counted(&format!("{event} of {monitor} is decided on"), more, TOLD, &[event, monitor]).await;
    };
    match turn {
        Turn::Fail => {
            let moment = |at: chrono::DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Millis, true);
            let (from, to) = (moment(Utc::now()), moment(Utc::now() + WINDOW));
            let window = format!("maintenance:\n  - {{ match: {{ monitor: s1 }}, from: {from}, to: {to} }}\n");
            stage.write_text(&(text(stage, file) + &window));
            let on = |text: &str| text.contains("\"on_until\":\"");
            stage.shown(address, "/api/v1/silences", "the window is in force", on).await;
            let before = stage.count(OPENED, &[]).await;
            (0..3).for_each(|server| stage.refuse(server));
            stage.counted("all three are incidents", before + 3, OPENED, &[]).await;
        }
        Turn::LetGo => {
            let (late, over) = (stage.count(OPENED, &[]).await, told("incident.resolved", "s0").await);
            let turns = late / 4 + 1;
            stage.mend(0);
            until("incident.resolved", "s0", over + 1).await;
            until("incident.opened", "s1", turns).await;
        }
        Turn::Again => {
            let before = told("incident.opened", "s0").await;
            stage.refuse(0);
            until("incident.opened", "s0", before + 1).await;
        }
        Turn::Escalate => {
            let (opened, over) = (told("incident.opened", "s2").await, told("incident.resolved", "s2").await);
            until("incident.escalated", "s2", opened).await;
            (0..3).for_each(|server| stage.mend(server));
            until("incident.resolved", "s2", over + 1).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_telling_is_held_and_escalations_wait_it_loses_nothing() {
    let asked = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let (seed, kills) = (asked("SERIN_TEST_SEED").unwrap_or_else(rand::random), asked("SERIN_TEST_KILLS"));
    println!("SERIN_TEST_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let (stage, mut file) = Stage::with_slow_oncall(3, ANSWERS_AFTER).await;
    (file.routes, file.rules) = (ROUTES, RULES);
    stage.write_text(&text(&stage, &file));
    let (mut serin, mut address) = Serin::start(&stage.config()).await;
    let mut received = Received::default();
    for round in 0..kills.unwrap_or(KILLS).next_multiple_of(4) {
        let turn = [Turn::Fail, Turn::LetGo, Turn::Again, Turn::Escalate].into_iter().nth(round as usize % 4);
        for monitor in ["s0", "s1", "s2"] {
            stage.more_beats(monitor, 1).await;
        }
        play(&stage, &file, address, &turn.expect("one of four")).await;
        tokio::time::sleep(Duration::from_millis(random.random_range(MOMENTS_MS))).await;
        serin.kill().await;
        stage.ages().await;
        received.look(&stage);
        received.check();
        (serin, address) = Serin::start(&stage.config()).await;
    }
    stage.all_is_over().await;
    serin.stop().await;
    received.look(&stage);
    received.check();
    nothing_is_lost(&stage, &received).await;
}

/// Each message to people came, some of them with several in it, and no incident's came in another order than it was said.
async fn people_heard(stage: &Stage, received: &Received) {
    let promised =
        stage.rows("SELECT COALESCE(batch, id), notification, state FROM deliveries WHERE receiver = 'people'").await;
    assert!(promised.iter().all(|(_, _, state)| state == "sent"), "{promised:#?}");
    let messages: BTreeSet<&str> = promised.iter().map(|(message, _, _)| message.as_str()).collect();
    assert!(messages.len() < promised.len(), "some go together: {promised:#?}");
    let bodies: BTreeSet<&str> = received.people.iter().map(String::as_str).collect();
    assert_eq!(bodies.len(), messages.len(), "each message has its bytes: {bodies:#?}");
    let overtaken = "SELECT COUNT(*) FROM deliveries a JOIN deliveries b ON a.incident = b.incident \
                     AND a.receiver = b.receiver AND a.sequence < b.sequence AND a.sent_at > b.sent_at";
    assert_eq!(stage.count(overtaken, &[]).await, 0, "nothing overtakes what was said before it");
}

/// Everybody heard all that was promised, each incident's opening first and its end last; what a window held was told after
/// it, and what nobody took was told to others.
async fn nothing_is_lost(stage: &Stage, received: &Received) {
    let promised = stage.rows("SELECT receiver, notification, state FROM deliveries WHERE receiver <> 'people'").await;
    let got: BTreeSet<(&str, &str)> = received.hooks.iter().map(|(name, hook)| (*name, hook.id.as_str())).collect();
    for (receiver, id, state) in &promised {
        assert_eq!(state, "sent", "the ledger knows of {id} to {receiver}");
        assert!(got.contains(&(receiver.as_str(), id.as_str())), "{id} never came to {receiver}");
    }
    assert_eq!(got.len(), promised.len(), "and nothing came that was not promised");
    people_heard(stage, received).await;
    let incidents = stage.rows("SELECT id, monitor, '' FROM incidents").await;
    let [oncall, spare] = ["oncall", "spare"].map(|name| received.heard(name));
    for (id, monitor, _) in &incidents {
        let heard = oncall.get(id).map(Vec::as_slice).unwrap_or_default();
        let is_whole = matches!(heard, [first, .., last] if first == "incident.opened" && last == "incident.resolved");
        assert!(is_whole, "{monitor} {id}: from its opening to its end: {heard:?}");
        let of = |event: &str| heard.iter().filter(|one| *one == event).count();
        assert_eq!((of("incident.opened"), of("incident.resolved")), (1, 1), "{monitor} {id}: once: {heard:?}");
        if monitor == "s2" {
            let heard = spare.get(id).map(Vec::as_slice).unwrap_or_default();
            assert_eq!(heard, ["incident.escalated", "incident.resolved"], "{monitor} {id}: the lead");
        }
    }
    let early = "SELECT COUNT(*) FROM holds h JOIN notifications n ON n.incident = h.incident \
                 WHERE h.kind = 'window' AND n.at < h.until";
    assert_eq!(stage.count(early, &[]).await, 0, "nothing is said of what a window holds");
    let held = stage.count("SELECT COUNT(DISTINCT incident) FROM holds WHERE kind = 'window'", &[]).await;
    let late = stage.count("SELECT COUNT(*) FROM incidents WHERE monitor = 's1'", &[]).await;
    println!(
        "{} incidents, {held} held by a window, {} promised, {} received",
        incidents.len(),
        promised.len(),
        received.hooks.len()
    );
    assert_eq!(held, late, "each of them opened in its window");
}
