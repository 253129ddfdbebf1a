//! A monitor that another machine watches, as pages here show it: what was published of it, and what stands in our own file.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::context::Spread;
use crate::domain::monitor::MonitorId;
use crate::domain::monitor_state::{CanaryScore, CanaryWatch};
use crate::domain::observation::Footprint;
use crate::domain::paging::parent::ParentStand;
use crate::domain::quality::replicas::OriginalStand;
use crate::domain::rate_limit::Spent;
use crate::domain::schedule::stale_after;
use crate::domain::server_profile::ServerProfile;
use crate::domain::signal::{Phase, Signal};
use crate::live::glance::{DeclaredGlance, FiguresGlance, SignalGlance};
use crate::live::monitor_view::{CostView, DayView, DeclaredView, LatencyView, MonitorView, RollUp, SignalView};
use crate::live::published::{Followed, SlimStanding, SlimTools};
use crate::live::standing::Standing;

/// Footprints and tokens are counted where they are spent: nobody adds up what two machines tell.
static UNCOUNTED: Spread = Spread::NONE;

impl SlimStanding {
    /// What there is to tell of a monitor.
    pub fn of(standing: &dyn Standing) -> Self {
        let (view, figures) = (standing.view(), standing.figures());
        let as_parent = standing.as_parent(Utc::now());
        Self {
            id: view.id,
            node: String::new(),
            roll_up: view.roll_up,
            since: view.since,
            signals: view.signals,
            as_original: standing.as_original(),
            as_parent: as_parent.map(|stand| (stand.is_down, stand.is_in_doubt)).unwrap_or_default(),
            seen_at: figures.seen_at,
            was_well: standing.was_well(),
            has_worked: standing.has_worked(),
            first_seen: standing.first_seen(),
            canaries: figures.canaries,
            score: Some(view.canary_score),
            look: view.look,
            coverage: figures.coverage,
            p95_ms: view.latency.p95_ms,
            tools: view.tools.as_ref().map(SlimTools::of),
            hold: figures.hold,
            trouble: view.trouble,
        }
    }
}

impl Followed {
    /// What its pages show, of what the database has: signals are as they were published, since nobody judges here.
    pub fn over(&self, kept: MonitorView) -> MonitorView {
        let SlimStanding { since, has_worked, signals, score, look, coverage, p95_ms, hold, trouble, .. } =
            self.published.clone();
        MonitorView {
            roll_up: self.roll_up(),
            since,
            has_worked,
            signals,
            latency: LatencyView { p95_ms, ..kept.latency },
            canary_score: score.unwrap_or(kept.canary_score),
            look,
            day: DayView { coverage: coverage.or(kept.day.coverage), ..kept.day },
            cost: CostView { hold, ..kept.cost },
            trouble,
            ..kept
        }
    }
}

impl Standing for Followed {
    fn id(&self) -> &MonitorId {
        &self.monitor.id
    }

    /// What nobody has published for long is unknown: whoever watched it may be gone.
    fn roll_up(&self) -> RollUp {
        let age = |at: DateTime<Utc>| (Utc::now() - at).to_std().unwrap_or_default();
        let is_stale = self.published.seen_at.is_none_or(|at| age(at) > stale_after(&self.monitor));
        if is_stale && !self.published.roll_up.is_failing() { RollUp::Unknown } else { self.published.roll_up }
    }

    fn declared(&self) -> DeclaredGlance<'_> {
        DeclaredGlance {
            name: &self.monitor.name,
            url: &self.monitor.url.shown,
            labels: &self.monitor.labels,
            stale_after: stale_after(&self.monitor),
        }
    }

    fn signals(&self) -> [Option<SignalGlance<'_>>; Signal::ALL.len()] {
        Signal::ALL
            .map(|signal| self.published.signals.iter().find(|view| view.signal == signal).map(SignalView::glance))
    }

    fn figures(&self) -> FiguresGlance<'_> {
        FiguresGlance {
            seen_at: self.published.seen_at,
            canaries: self.published.canaries,
            coverage: self.published.coverage,
            tools_tokens: None,
            answer_tokens: &UNCOUNTED,
            spent_today: Footprint::default(),
            hold: self.published.hold,
        }
    }

    fn p95_ms(&self) -> Option<f64> {
        self.published.p95_ms.map(|(p95_ms, _)| p95_ms)
    }

    fn p95_limit_ms(&self) -> f64 {
        self.monitor.rules.latency.p95.as_secs_f64() * 1e3
    }

    fn since(&self) -> DateTime<Utc> {
        self.published.since
    }

    fn as_original(&self) -> Option<OriginalStand> {
        self.published.as_original.clone()
    }

    fn followed(&self) -> Option<&Followed> {
        Some(self)
    }

    fn as_parent(&self, _now: DateTime<Utc>) -> Option<ParentStand> {
        let (is_down, is_in_doubt) = self.published.as_parent;
        Some(ParentStand::of(&self.monitor, (is_down, is_in_doubt), self.published.seen_at))
    }

    fn fails_since(&self) -> Option<DateTime<Utc>> {
        let availability = self.published.signals.iter().find(|view| view.signal == Signal::Availability)?;
        (availability.phase != Phase::Quiet).then_some(availability.since)
    }

    fn host(&self) -> String {
        self.monitor.host_and_port()
    }

    fn was_well(&self) -> bool {
        self.published.was_well
    }

    fn has_worked(&self) -> bool {
        self.published.has_worked
    }

    fn first_seen(&self) -> DateTime<Utc> {
        self.published.first_seen
    }

    fn view(&self) -> MonitorView {
        let nothing_spent = Spent { day: 0, beats: 0, footprint: Footprint::default() };
        let (samples, limit_ms) = ((0, self.monitor.rules.latency.min_samples), self.p95_limit_ms());
        self.over(MonitorView {
            id: self.monitor.id.clone(),
            declared: DeclaredView::of(&self.monitor),
            roll_up: self.published.roll_up,
            since: self.published.since,
            has_worked: self.published.has_worked,
            signals: Vec::new(),
            strip: Arc::new([]),
            latency: LatencyView { p95_ms: None, samples, limit_ms },
            canaries: Vec::new(),
            canary_score: CanaryScore::default(),
            canary_watch: CanaryWatch::default(),
            last: None,
            look: None,
            cost: CostView { spent: [nothing_spent; 2], hold: None },
            profile: ServerProfile::default(),
            tools: None,
            answer_tokens: Spread::default(),
            day: DayView {
                coverage: self.published.coverage,
                uptime: None,
                first_seen: self.published.first_seen,
                hours: Vec::new(),
            },
            trouble: None,
        })
    }
}
