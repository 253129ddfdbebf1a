//! What breaks in the demo, and when: announced, broken, mended, and what reached the inbox told as it comes.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::cli::demo::inbox::{Inbox, InboxItem, Item};
use crate::deliver::message::Message;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::server::LabServer;

#[derive(Debug)]
pub(crate) struct DemoStage {
    /// The reference servers, in the order docs, policies, support, handbook.
    pub servers: Vec<LabServer>,
    pub inbox: Inbox,
    pub calm: bool,
}

enum Act {
    Break(usize, Fault, f64),
    Mend(usize, Fault),
    Crash(usize, u64),
}

/// Seconds since the act before, what happens, and what the visitor is told. Some four minutes in all.
const PLAY: &[(u64, Act, &str)] = &[
    (
        // Every canary of its twelve was answered twice by then, so that it is known how it was.
        30,
        Act::Break(3, Fault::WrongQueryModel, 0.0),
        "handbook is quietly wrong: questions are embedded with another model than its index. It stays up and answers 200. \
         Expect a page: embedding_mismatch. Look at /monitors/handbook: keyword canaries right, meaning canaries lost, and \
         what moved in their lists",
    ),
    (
        35,
        Act::Mend(3, Fault::WrongQueryModel),
        "handbook has its model back. Expect the resolve as its canaries turn right",
    ),
    (
        5,
        Act::Break(0, Fault::PoolSaturated, 0.0),
        "docs goes quietly empty: its pool is exhausted, searches answer 200 with nothing. Expect a page: pool_saturated",
    ),
    (35, Act::Mend(0, Fault::PoolSaturated), "docs is mended. Expect the resolve"),
    (
        12,
        Act::Break(1, Fault::LatencyStep, 900.0),
        "policies goes slow: 900 ms a search. Expect a ticket in some 15 s: latency_elevated",
    ),
    (
        35,
        Act::Mend(1, Fault::LatencyStep),
        "policies is fast again. Its P95 window of 40 s has to empty: the resolve takes a while",
    ),
    (
        10,
        Act::Crash(2, 18),
        "support crashes and comes back in 18 s. Expect a page: connection_refused, then its restart and the resolve",
    ),
    (35, Act::Crash(3, 3), "handbook restarts within 3 s. Expect no page, only a notice: server.restarted"),
];
/// How long the last act takes to show.
const EPILOGUE: Duration = Duration::from_secs(25);

/// Plays until it is over, then waits for shutdown; gives the servers back.
pub(crate) async fn run(stage: DemoStage, shutdown: CancellationToken) -> Vec<LabServer> {
    let DemoStage { servers, inbox, calm } = stage;
    let teller = tokio::spawn(tell(inbox, shutdown.clone()));
    if calm {
        say("nothing will break (--calm)");
        shutdown.cancelled().await;
    } else {
        say("in 30 s the first of five things breaks; the whole show takes about four minutes");
        tokio::select! {
            () = play(&servers) => shutdown.cancelled().await,
            () = shutdown.cancelled() => {}
        }
    }
    if let Err(error) = teller.await {
        tracing::debug!(%error, "the teller broke off");
    }
    servers
}

async fn play(servers: &[LabServer]) {
    for (pause, act, words) in PLAY {
        tokio::time::sleep(Duration::from_secs(*pause)).await;
        say(words);
        match act {
            Act::Break(server, fault, amount) => {
                let dose = Dose::of(*fault);
                servers[*server].faults().on(*fault, if *amount > 0.0 { dose.amount(*amount) } else { dose });
            }
            Act::Mend(server, fault) => servers[*server].faults().off(*fault),
            Act::Crash(server, seconds) => servers[*server].crash(Duration::from_secs(*seconds)).await,
        }
    }
    tokio::time::sleep(EPILOGUE).await;
    say("the show is over; the fleet runs on. Look around, Ctrl-C stops");
}

fn say(words: &str) {
    anstream::println!("{}  {words}", chrono::Utc::now().format("%H:%M:%S"));
}

/// What a message says, with its cause where it is about one.
fn cause_and_summary(message: &Message) -> String {
    message
        .failure_reason
        .as_ref()
        .map_or_else(|| message.summary.clone(), |reason| format!("{reason}: {}", message.summary))
}

/// Tells what reached the inbox, as it comes.
async fn tell(inbox: Inbox, shutdown: CancellationToken) {
    let mut told = 0;
    loop {
        let newer = |items: &[Item]| {
            let newer: Vec<Item> = items.iter().filter(|item| item.number > told).cloned().collect();
            (!newer.is_empty()).then_some(newer)
        };
        let items = tokio::select! {
            items = inbox.wait_for(newer) => items,
            () = shutdown.cancelled() => return,
        };
        for item in items {
            told = item.number;
            match item.what {
                InboxItem::Mail(mail) => say(&format!("   → mail     {}", mail.subject)),
                InboxItem::Webhook(hook) => match Message::parse(&hook.body) {
                    Ok(message) => say(&format!("   → webhook  {}  {}", message.event, cause_and_summary(&message))),
                    Err(error) => say(&format!("   → webhook  that cannot be read: {error}")),
                },
            }
        }
    }
}
