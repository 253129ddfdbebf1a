//! How one monitor stands, undrawn: by whoever watches it here, as another machine published it, or as it is drawn already.

use chrono::{DateTime, Utc};

use crate::domain::monitor::MonitorId;
use crate::domain::paging::parent::ParentStand;
use crate::domain::quality::replicas::OriginalStand;
use crate::domain::signal::Signal;
use crate::live::glance::{DeclaredGlance, FiguresGlance, SignalGlance};
use crate::live::monitor_view::{MonitorView, RollUp};
use crate::live::published::Followed;

/// One monitor as it stands: what lists and metrics read of it, and what its view is drawn of.
pub trait Standing: std::fmt::Debug + Send + Sync {
    /// The id of the file.
    fn id(&self) -> &MonitorId;
    /// The worst of its signals in one word.
    fn roll_up(&self) -> RollUp;
    /// What the file says of it.
    fn declared(&self) -> DeclaredGlance<'_>;
    /// Every signal that is judged on this monitor, in [`Signal::ALL`]'s order.
    fn signals(&self) -> [Option<SignalGlance<'_>>; Signal::ALL.len()];
    /// Its figures.
    fn figures(&self) -> FiguresGlance<'_>;
    /// P95 of its searches in milliseconds over the rule's window; none below its least samples.
    fn p95_ms(&self) -> Option<f64>;
    /// Its limit in milliseconds.
    fn p95_limit_ms(&self) -> f64;
    /// When the roll-up last changed.
    fn since(&self) -> DateTime<Utc>;
    /// What another machine told of it, where that one watches it; none: this one does.
    fn followed(&self) -> Option<&Followed> {
        None
    }
    /// Whether another machine watches it that has said nothing of it yet.
    fn is_unheard_of(&self) -> bool {
        self.followed().is_some_and(|followed| followed.published.node.is_empty())
    }
    /// How it stands for those that depend on it; none where that is not known.
    fn as_parent(&self, _now: DateTime<Utc>) -> Option<ParentStand> {
        None
    }
    /// How it stands for its replicas; none where it has none, or that is not known.
    fn as_original(&self) -> Option<OriginalStand> {
        None
    }
    /// Since when it is down, or about to be; none where it is well.
    fn fails_since(&self) -> Option<DateTime<Utc>> {
        None
    }
    /// The host and port that it is asked at.
    fn host(&self) -> String {
        String::new()
    }
    /// Whether any of its last beats found it able to answer.
    fn was_well(&self) -> bool;
    /// Whether it was ever seen to work.
    fn has_worked(&self) -> bool;
    /// Since when it is known, UTC.
    fn first_seen(&self) -> DateTime<Utc>;
    /// As its pages show it; of one that another machine watches, without what stands in the database alone.
    fn view(&self) -> MonitorView;
}
