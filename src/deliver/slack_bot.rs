//! Slack by a bot of the team's own, where one incident is one message and its thread.
//!
//! The first message of an incident is kept at how it stands, by `chat.update`. An edit rings nobody, so that what somebody
//! has to hear (it got worse, was escalated, is over) stands in its thread as well. The edit comes first: should the second
//! call fail, the next attempt repeats an edit, which nobody sees, and no message.
//!
//! Slack says `ok: false` with status 200, and why by a word. What has to be remembered is where the first message stands.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::deliver::attempt::Attempt;
use crate::deliver::message::Message;
use crate::deliver::plain;
use crate::deliver::services::slack;
use crate::deliver::webhook::{Post, PostTo, Proof, WebhookClient};
use crate::domain::network::Network;
use crate::domain::paging::delivery::{ATTEMPT_MAX, AttemptEnd};
use crate::domain::reason::Severity;
use crate::domain::secret::{Address, Secret};

/// What Slack says where the first message is gone, or is no longer ours to edit: another one takes its place.
const GONE: &[&str] = &["message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"];
/// What it says where another try may be taken.
const PASSING: &[&str] = &[
    "ratelimited",
    "rate_limited",
    "message_limit_exceeded",
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
    "team_added_to_org",
];
/// Characters kept of its word.
const WORD_MAX: usize = 100;

/// A bot, and the channel that it tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bot<'a> {
    /// Where its methods are.
    pub api: &'a Address,
    pub token: &'a Secret,
    /// The channel's id, as the file has it.
    pub channel: &'a str,
}

/// Where the first message of an incident stands, as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Thread {
    /// The channel as the file had it: another one begins anew.
    told: String,
    /// The channel's id as Slack has it.
    channel: String,
    ts: String,
    /// How loud it was told last.
    severity: String,
    /// Whether the message lists several incidents: it stays as it was, and what follows stands in its thread.
    #[serde(default)]
    lists: bool,
}

/// Why a call came to nothing.
enum Refused {
    /// The message that it is about is gone.
    Gone,
    Ended(AttemptEnd),
}

/// One attempt; `post` is that of the frozen message.
pub(crate) async fn tell(
    hooks: &WebhookClient,
    allow: &[Network],
    bot: Bot<'_>,
    post: Post<'_>,
    known_by: Option<&str>,
) -> Attempt {
    let Ok(message) = Message::parse(post.body) else {
        let why = "the stored message cannot be read as contract version 1".to_owned();
        return Attempt { end: AttemptEnd::Refused { why }, external_ref: None };
    };
    let call = Call { hooks, allow, bot, post };
    let known: Option<Thread> = known_by.and_then(|text| serde_json::from_str(text).ok());
    // A list is no answer to one incident: it begins a thread of its own.
    let fits = |thread: &Thread| thread.told == bot.channel && (thread.lists || message.group.is_none());
    let told = match known.filter(fits) {
        Some(thread) => match call.again(&message, &thread).await {
            Err(Refused::Gone) => call.first(&message).await,
            told => told,
        },
        None => call.first(&message).await,
    };
    match told {
        Ok(thread) => Attempt { end: AttemptEnd::Accepted, external_ref: Some(json!(thread).to_string()) },
        Err(Refused::Ended(end)) => Attempt { end, external_ref: None },
        Err(Refused::Gone) => {
            let why = "Slack says that a message is gone which is only now to come".to_owned();
            Attempt { end: AttemptEnd::Failed { why, retry_after: None }, external_ref: None }
        }
    }
}

/// An attempt has its time, however many calls it makes.
pub(crate) async fn in_time(telling: impl Future<Output = Attempt>) -> Attempt {
    let late = || {
        let why = format!("Slack did not finish within {} s", ATTEMPT_MAX.as_secs());
        Attempt { end: AttemptEnd::Failed { why, retry_after: None }, external_ref: None }
    };
    tokio::time::timeout(ATTEMPT_MAX, telling).await.unwrap_or_else(|_| late())
}

#[derive(Clone, Copy)]
struct Call<'a> {
    hooks: &'a WebhookClient,
    allow: &'a [Network],
    bot: Bot<'a>,
    post: Post<'a>,
}

impl Call<'_> {
    /// Posts the first message of an incident, or one that belongs to none.
    async fn first(&self, message: &Message) -> Result<Thread, Refused> {
        let mut body = written(message);
        body["channel"] = json!(self.bot.channel);
        let answer = self.made("chat.postMessage", &body).await?;
        let text = |key: &str| answer[key].as_str().map(str::to_owned);
        let (Some(channel), Some(ts)) = (text("channel"), text("ts")) else {
            // It is told all the same; what follows is told beside it.
            return Ok(Thread {
                told: String::new(),
                channel: String::new(),
                ts: String::new(),
                severity: String::new(),
                lists: false,
            });
        };
        let lists = message.group.is_some();
        Ok(Thread { told: self.bot.channel.to_owned(), channel, ts, severity: message.severity.clone(), lists })
    }

    /// Edits the first message, and says in its thread what somebody has to hear. What is brought once more is said there too
    /// and edits nothing: the message says what is so by now.
    async fn again(&self, message: &Message, thread: &Thread) -> Result<Thread, Refused> {
        let mut body = written(message);
        body["channel"] = json!(thread.channel);
        let mut edit = body.clone();
        edit["ts"] = json!(thread.ts);
        // An end is seen where the first message is edited; a list of incidents is no place for one of them, nor for the next list.
        let is_kept = self.post.replayed || thread.lists || message.group.is_some();
        if !is_kept {
            self.made("chat.update", &edit).await?;
        }
        let rings = self.post.replayed || rings(message, &thread.severity);
        if is_kept || rings {
            body["thread_ts"] = json!(thread.ts);
            // Slack tells those who follow a thread, and nobody follows one that only a bot wrote in.
            body["reply_broadcast"] =
                json!(rings && (message.event != "incident.resolved" || is_kept && !self.post.replayed));
            self.made("chat.postMessage", &body).await?;
        }
        let severity = if self.post.replayed { thread.severity.clone() } else { message.severity.clone() };
        Ok(Thread { severity, ..thread.clone() })
    }

    /// One call of a method.
    async fn made(&self, method: &'static str, body: &Value) -> Result<Value, Refused> {
        let body = body.to_string();
        let post = Post { body: &body, proof: Proof::Bearer(self.bot.token), to: PostTo::Below(method), ..self.post };
        let answer = self.hooks.call(self.allow, self.bot.api, post).await.map_err(Refused::Ended)?;
        if answer["ok"] == true {
            return Ok(answer);
        }
        let word = plain::line(answer["error"].as_str().unwrap_or("nothing"), WORD_MAX);
        let why = format!("Slack took no {method}; it said: {word}");
        Err(match word.as_str() {
            word if GONE.contains(&word) => Refused::Gone,
            word if PASSING.contains(&word) => Refused::Ended(AttemptEnd::Failed { why, retry_after: None }),
            _ => Refused::Ended(AttemptEnd::Refused { why }),
        })
    }
}

/// What every call says: Slack makes a picture of no address in it.
fn written(message: &Message) -> Value {
    let mut body = slack::body(message);
    body["unfurl_links"] = json!(false);
    body["unfurl_media"] = json!(false);
    body
}

/// Whether somebody has to hear of it, who was told of an incident at this severity.
fn rings(message: &Message, severity: &str) -> bool {
    let rank = |slug: &str| match Severity::from_slug(slug) {
        Some(Severity::Page) => 3,
        Some(Severity::Ticket) => 2,
        Some(Severity::Notice) => 1,
        None => 0,
    };
    match message.event.as_str() {
        "incident.opened" | "incident.reminder" | "incident.escalated" | "incident.resolved" => true,
        _ => rank(&message.severity) > rank(severity),
    }
}

#[cfg(test)]
mod tests;
