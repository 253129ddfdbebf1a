//! What a person asks of whoever watches a monitor, or reads a list of them. It is on disk before they are answered, and
//! done once.

use std::borrow::Cow;

use chrono::{DateTime, Utc};

use crate::domain::monitor::MonitorId;

/// Actions that may wait at once; whoever comes later is told to try again.
pub const WAITING_MAX: usize = 64;

/// Something that a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// A UUIDv7.
    pub id: String,
    /// Whose owner does it; empty where it is about a list.
    pub monitor: MonitorId,
    /// Who, as they wrote it: bounded and free of control characters; empty: nobody gave a name.
    pub actor: String,
    /// When, UTC.
    pub at: DateTime<Utc>,
    /// What.
    pub asked: Asked,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Look at the monitor now.
    Recheck,
    /// Accept its tools as they are.
    Accept {
        /// The hash of the list that was looked at: another one is not accepted in its place.
        hash: String,
    },
    /// Somebody took an open incident or gave it back, which its row says already: others are to be told.
    Claimed {
        /// Id of an open incident, a UUIDv7.
        incident: String,
        /// Whether it was taken.
        is_taken: bool,
    },
    /// Read a list now.
    ReadList {
        /// Id of the source.
        source: String,
    },
    /// What a list names no longer is meant to be gone.
    LetGo {
        /// Id of the source.
        source: String,
        /// The ids that were looked at: others are not let go in their place.
        ids: Vec<String>,
    },
}

impl Asked {
    /// The word that stands in the database for it, and what it is about beside the monitor.
    pub fn written(&self) -> (&'static str, Cow<'_, str>) {
        match self {
            Self::Recheck => ("recheck", "".into()),
            Self::Accept { hash } => ("accept", hash.into()),
            Self::Claimed { incident, is_taken: true } => ("acknowledge", incident.into()),
            Self::Claimed { incident, is_taken: false } => ("give_back", incident.into()),
            Self::ReadList { source } => ("read_list", source.into()),
            // No id has a space in it.
            Self::LetGo { source, ids } => ("let_go", format!("{source} {}", ids.join(" ")).into()),
        }
    }

    /// Whether whoever reads lists does it, and not whoever watches a monitor.
    pub const fn is_of_list(&self) -> bool {
        matches!(self, Self::ReadList { .. } | Self::LetGo { .. })
    }

    /// What was written so; none where it is nothing that waits for anybody.
    pub fn of(word: &str, subject: &str) -> Option<Self> {
        let mut words = subject.split_whitespace().map(str::to_owned);
        let (list, ids) = (words.next().unwrap_or_default(), words.collect());
        let all = [
            Self::ReadList { source: subject.to_owned() },
            Self::LetGo { source: list, ids },
            Self::Recheck,
            Self::Accept { hash: subject.to_owned() },
            Self::Claimed { incident: subject.to_owned(), is_taken: true },
            Self::Claimed { incident: subject.to_owned(), is_taken: false },
        ];
        all.into_iter().find(|asked| asked.written().0 == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let (hash, incident) = ("5e1b".to_owned(), "i1".to_owned());
        let rows = [
            Asked::Recheck,
            Asked::Accept { hash },
            Asked::Claimed { incident: incident.clone(), is_taken: true },
            Asked::Claimed { incident, is_taken: false },
            Asked::ReadList { source: "prod".to_owned() },
            Asked::LetGo { source: "prod".to_owned(), ids: ["prod-a".to_owned(), "prod-b".to_owned()].into() },
        ];
        for asked in rows {
            let (word, subject) = asked.written();
            assert_eq!(Asked::of(word, &subject), Some(asked.clone()));
        }
        assert_eq!(Asked::of("replay", "d1"), None);
    }
}
