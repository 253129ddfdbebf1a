//! What a round of canaries says of a replica and its original.
//!
//! A round is the time in which the indexes of *both* answered each canary that both ask, so that an answer is compared
//! with none that is older than the round: while one of them is indexed anew a round or two may differ, and three in a row
//! do not. Only the replica tells. Where the original cannot speak (nothing is known of it, it is in doubt, or what is
//! wrong with it is told already) no round is judged: silence is no difference.

use crate::domain::incident::Incident;
use crate::domain::monitor::Original;
use crate::domain::monitor_state::changes::Found;
use crate::domain::monitor_state::state::{Beat, MonitorState};
use crate::domain::paging::explains::{Condition, explains};
use crate::domain::quality::changes::Judged;
use crate::domain::quality::confirmation::CanaryState;
use crate::domain::quality::replicas::{OriginalList, OriginalStand, Pair, lists_apart};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;

/// So many times as long as it has to take a round may last: calls fail, and caches answer some.
const ROUND_PATIENCE: u32 = 2;

impl MonitorState {
    /// How it stands for its replicas.
    pub fn as_original(&self) -> OriginalStand {
        let list = |(id, known): (&str, &CanaryState)| {
            let look = known.look.as_deref()?;
            let list = OriginalList {
                definition_hash: known.definition_hash.to_string(),
                at: look.at,
                ranking: look.ranking.clone(),
                names: look.names().to_vec(),
            };
            Some((id.to_owned(), list))
        };
        let speaks_at = Severity::ALL.into_iter().filter(|loud| self.may_be_held_against(*loud)).collect();
        OriginalStand { speaks_at, lists: self.canaries.iter().filter_map(list).collect() }
    }

    /// Lists of both in the round that ends with this beat, where one does.
    pub(super) fn judge_replica(&mut self, beat: Beat<'_>) -> Judged<Found> {
        let check = beat.monitor.rules.quality.checks.replicas;
        let Some((original, loud)) = beat.monitor.original().zip(check.rule.severity) else { return Judged::Unknown };
        let there = beat.original.filter(|there| !self.is_any_doubted() && there.speaks_at.contains(&loud));
        let Some(there) = there else {
            self.changes.round_of_both = None;
            return Judged::Unknown;
        };
        let since = *self.changes.round_of_both.get_or_insert(beat.now);
        let pairs = original.shared.keys().filter_map(|id| self.pair(there, original, id));
        let round: Vec<Pair<'_>> = pairs.filter(|pair| pair.here.at > since && pair.there.at > since).collect();
        let lasts = (beat.now - since).to_std().unwrap_or_default();
        if round.len() < original.shared.len() && lasts < original.round.saturating_mul(ROUND_PATIENCE) {
            return Judged::Unknown;
        }
        let judged = match lists_apart(&round, &check) {
            Judged::Unknown => Judged::Unknown,
            Judged::Same => Judged::Same,
            Judged::Other(apart) => {
                let (said, evidence) = (apart.said(&original.id), apart.evidence(&original.id));
                Judged::Other(Found { said, evidence, is_rescaled: false, is_regraded: false })
            }
        };
        self.changes.round_of_both = Some(beat.now);
        judged
    }

    /// What both indexes last answered to a canary, as it is declared at each of them.
    fn pair<'a>(&'a self, there: &'a OriginalStand, original: &'a Original, id: &'a str) -> Option<Pair<'a>> {
        let hash = original.shared.get(id)?;
        let there = there.lists.get(id).filter(|known| known.definition_hash == *hash)?;
        Some(Pair { canary: id, here: self.canaries.get(id)?.look.as_deref()?, there })
    }

    fn may_be_held_against(&self, loud: Severity) -> bool {
        let apart = Condition::new(Signal::Quality, FailureReason::ReplicaDivergence, loud, &[]);
        let tells = |incident: &Incident| {
            incident.signal == Signal::Quality && incident.severity >= loud
                || explains(&Condition::of(incident), &apart)
        };
        !self.is_any_doubted() && !self.incidents().any(tells)
    }
}
