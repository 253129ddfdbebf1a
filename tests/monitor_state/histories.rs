//! Any history at all keeps the books.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use serin::domain::monitor_state::Decision;
use serin::domain::reason::Severity;
use serin::domain::rules::{FreshnessRule, ShrinksRule};
use serin::domain::signal::Signal;

use crate::leaks::{LEAK_A, WITHOUT_A, tenant};
use crate::{
    EMPTY, EMPTY_AND_SATURATED, HANGS, LOCKED_OUT, Look, OTHER_TOOLS, REFUSED, SATURATED, SEARCH_LOCKED, SLOW,
    SLOW_AND_COLD, STALE, Scene, THROTTLED, TOOL_ERRORS, WELL, WRONG, WRONG_AND_UNHEALTHY, quick_latency, with,
};

/// Two updates of one incident are five minutes apart, but for one that is louder.
fn no_running_commentary(scene: &Scene) -> Result<(), TestCaseError> {
    let mut last: BTreeMap<&str, (i64, Severity)> = BTreeMap::new();
    for (decision, second) in scene.decided.iter().zip(&scene.moments) {
        if let Decision::Updated(incident) = decision {
            let before = last.insert(&incident.id, (*second, incident.severity));
            if let Some((at, severity)) = before {
                prop_assert!(second - at >= 300 || incident.severity > severity, "{incident:?} {at} {second}");
            }
        }
    }
    Ok(())
}

const LOOKS: [Look; 18] = [
    WELL,
    REFUSED,
    HANGS,
    LOCKED_OUT,
    THROTTLED,
    EMPTY,
    WRONG,
    EMPTY_AND_SATURATED,
    SATURATED,
    WRONG_AND_UNHEALTHY,
    SEARCH_LOCKED,
    TOOL_ERRORS,
    SLOW,
    SLOW_AND_COLD,
    OTHER_TOOLS,
    STALE,
    LEAK_A,
    WITHOUT_A,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any history at all: one incident a signal, each end after its opening, sequences without a repeat.
    #[test]
    fn any_sequence_of_beats_keeps_the_books(
        beats in prop::collection::vec((0..LOOKS.len(), 1..5_u32, 0..90_u32), 1..40),
    ) {
        let mut scene = Scene::new(with(|monitor| {
            *monitor = tenant();
            quick_latency(monitor);
            let older_than = Duration::from_secs(3600);
            monitor.rules.freshness = Some(FreshnessRule { older_than, shrinks: ShrinksRule::STANDARD, severity: Severity::Ticket, line: 1 });
        }));
        for (look, times, after) in beats {
            scene.beats(&[(times, after, LOOKS[look])]);
        }
        let mut open: BTreeMap<Signal, (String, u32)> = BTreeMap::new();
        for decision in &scene.decided {
            match decision {
                Decision::Opened { incident, .. } => {
                    let before = open.insert(incident.signal, (incident.id.clone(), incident.sequence));
                    prop_assert_eq!(before, None, "two incidents of {:?}", incident.signal);
                }
                Decision::Told { incident, .. } => {
                    prop_assert_eq!(open.get(&incident.signal).map(|(id, _)| id), Some(&incident.id));
                }
                Decision::Updated(incident)
                | Decision::Flaps(incident)
                | Decision::LookedCloser(incident)
                | Decision::FollowedUp { incident, .. } => {
                    let (id, sequence) = open.get_mut(&incident.signal).unwrap();
                    prop_assert!(*id == incident.id && incident.sequence > *sequence);
                    *sequence = incident.sequence;
                }
                Decision::Resolved(incident) => {
                    let (id, sequence) = open.remove(&incident.signal).unwrap();
                    prop_assert!(id == incident.id && incident.sequence > sequence);
                }
                Decision::Refreshed(_) | Decision::Restarted(_) | Decision::ToolsSettled => {}
            }
        }
        no_running_commentary(&scene)?;
        for signal in Signal::ALL {
            let (phase, incident) = (scene.state.signal(signal).phase, scene.state.incident(signal));
            prop_assert_eq!(phase.has_incident(), incident.is_some(), "{:?}", signal);
            prop_assert_eq!(incident.map(|one| &one.id), open.get(&signal).map(|(id, _)| id));
        }
    }
}
