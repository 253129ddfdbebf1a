//! What may be told once more: to a program that lost what it knew, always; to people, what is not old news.

use crate::domain::paging::delivery::DeliveryState;
use crate::domain::receiver::Channel;

/// Why a delivery is not replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReplayed {
    /// It is still to be brought anyway.
    Pending,
    /// Nobody of this name is declared any more.
    Undeclared,
    /// It is over, and people would be told of it as if it were not.
    OldNews,
}

impl NotReplayed {
    /// The word the API has for it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Undeclared => "undeclared",
            Self::OldNews => "old_news",
        }
    }
}

/// Whether a delivery may be replayed. `channel` is its receiver's, none where it is no longer declared; `is_over` says
/// that its incident ended, or that it never had one; `really` that somebody wants people to be told all the same.
///
/// # Errors
/// Why it is not.
pub fn replayable(
    state: DeliveryState,
    channel: Option<&Channel>,
    is_over: bool,
    really: bool,
) -> Result<(), NotReplayed> {
    let Some(channel) = channel else { return Err(NotReplayed::Undeclared) };
    if matches!(state, DeliveryState::Pending) {
        return Err(NotReplayed::Pending);
    }
    if is_over && !really && !is_machine(channel) {
        return Err(NotReplayed::OldNews);
    }
    Ok(())
}

/// Whether a program reads what comes through a channel, and knows a replay by its header. A pager is a program too, but
/// one that wakes people; and whoever declares a body of their own has it read by a chat or a phone.
fn is_machine(channel: &Channel) -> bool {
    matches!(channel, Channel::Webhook { form, .. } if form.body.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn old_news_is_for_machines() {
        let url = || Address { shown: String::new(), resolved: Secret::new("http://h/") };
        let hook = Channel::Webhook { url: url(), secrets: Vec::new(), form: Box::default() };
        let pager = Channel::PagerDuty { url: url(), routing_key: Secret::new("k") };
        let mail = Channel::Email { to: vec!["sre@example.org".to_owned()] };
        let (sent, dead, pending) = (DeliveryState::Sent, DeliveryState::Dead, DeliveryState::Pending);
        let rows = [
            (dead, Some(&mail), false, false, Ok(()), "what is open is news to whoever missed it"),
            (sent, Some(&hook), true, false, Ok(()), "a program may hear it all again"),
            (dead, Some(&mail), true, false, Err(NotReplayed::OldNews), "people are not told of what is over"),
            (dead, Some(&pager), true, false, Err(NotReplayed::OldNews), "nor woken by it"),
            (dead, Some(&mail), true, true, Ok(()), "unless somebody means it"),
            (pending, Some(&hook), false, true, Err(NotReplayed::Pending), "what waits is brought anyway"),
            (dead, None, false, true, Err(NotReplayed::Undeclared), "who is gone from the file is told nothing"),
        ];
        for (state, channel, is_over, really, expected, sentence) in rows {
            assert_eq!(replayable(state, channel, is_over, really), expected, "{sentence}");
        }
    }
}
