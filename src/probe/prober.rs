//! The probe as the loops and commands hold it: what it shares between monitors, and one run from end to end.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use rustls::RootCertStore;
use tokio::sync::Semaphore;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::Control;
use crate::domain::monitor::{Monitor, OAuth};
use crate::domain::observation::{ConnectivityStep, Footprint, Observation};
use crate::domain::server_profile::ServerProfile;
use crate::net::connect::Connector;
use crate::probe::access::admission;
use crate::probe::access::admission::Admission;
use crate::probe::access::token_cache::TokenCache;
use crate::probe::assignment::Assignment;
use crate::probe::session::caller::ProbeContext;
use crate::probe::session::closing;
use crate::probe::session::declared::Declared;
use crate::probe::session::process_pool::ProcessPool;
use crate::probe::session::unclosed_sessions::UnclosedSessions;
use crate::probe::stages::cross::Differing;
use crate::probe::stages::declarations::{Declarations, made_of};
use crate::probe::stages::search::not_asked;
use crate::probe::stages::{connectivity, reach, steps};
use crate::probe::standstill::Standstill;
use crate::probe::wire::transcript::Transcript;
use crate::tool_lists::interner::ListingInterner;
use crate::tool_lists::tokens::Tokens;

/// Connectivity diagnoses at once. They run beside beats and outside their permits; where a whole fleet fails, these few say
/// enough, and leave files and time to the beats.
const LADDERS_MAX: usize = 64;

/// Probes servers. Cheap to share; holds the TLS session cache.
#[derive(Debug)]
pub struct Prober {
    pub(in crate::probe) connector: Connector,
    pub(in crate::probe) programs: ProcessPool,
    unclosed_sessions: UnclosedSessions,
    differing: Differing,
    tokens: Tokens,
    token_cache: TokenCache,
    interner: ListingInterner,
    declarations: Declarations,
    diagnoses: Semaphore,
    standstill: Arc<Standstill>,
    keeps_passages: bool,
}

impl Prober {
    /// A prober that trusts this machine's roots and whose TLS session cache is sized for so many names.
    pub fn new(names: usize) -> Self {
        Self::through(Connector::new(names))
    }

    /// A prober that trusts these roots only.
    pub fn with_roots(roots: RootCertStore, names: usize) -> Self {
        Self::through(Connector::with_roots(roots, names))
    }

    fn through(connector: Connector) -> Self {
        Self {
            connector,
            programs: ProcessPool::default(),
            unclosed_sessions: UnclosedSessions::default(),
            differing: Differing::default(),
            tokens: Tokens::default(),
            token_cache: TokenCache::default(),
            interner: ListingInterner::default(),
            declarations: Declarations::default(),
            diagnoses: Semaphore::new(LADDERS_MAX),
            standstill: Arc::default(),
            keeps_passages: false,
        }
    }

    /// The same, for a single probe: it waits until tokens are counted.
    #[must_use]
    pub fn once(self) -> Self {
        Self { tokens: Tokens::patient(), ..self }
    }

    /// The same, which keeps the texts of results, for whoever holds canaries against them.
    #[must_use]
    pub fn keeping_passages(self) -> Self {
        Self { keeps_passages: true, ..self }
    }

    /// Runs one probe to its end; never fails, never panics, never outlasts the monitor's budget by more than the closing of its session.
    pub async fn run(&self, assignment: &Assignment) -> (Observation, ServerProfile) {
        let (seen, profile, _) = self.record(assignment).await;
        (seen, profile)
    }

    /// The same, with what was said in it; none where nothing was, since no token was got for it.
    pub async fn record(&self, assignment: &Assignment) -> (Observation, ServerProfile, Option<Transcript>) {
        let under_way = self.standstill.begin();
        let (mut seen, profile, transcript) = match &assignment.monitor.auth.oauth {
            None => self.steps(assignment, &self.declarations.of(&assignment.monitor)).await,
            Some(oauth) => Box::pin(self.admitted(assignment, oauth)).await,
        };
        // An answer that came all the same is one.
        if seen.faults().any(|fault| fault.kind.may_be_our_silence()) {
            seen.steps.extend(under_way.stood_still());
        }
        drop(under_way);
        self.tokens.weigh(&mut seen).await;
        if let Some(tools) = &mut seen.tools {
            self.interner.share(&mut tools.listing);
        }
        (seen, profile, transcript)
    }

    async fn steps(
        &self,
        assignment: &Assignment,
        declared: &Declared,
    ) -> (Observation, ServerProfile, Option<Transcript>) {
        let ran = Box::pin(steps::run(self.means(), &self.programs, &self.differing, (assignment, declared))).await;
        let (seen, profile, transcript) = ran;
        (seen, profile, Some(transcript))
    }

    /// A probe that needs a token first. A kept one that is refused is renewed once.
    async fn admitted(
        &self,
        assignment: &Assignment,
        oauth: &OAuth,
    ) -> (Observation, ServerProfile, Option<Transcript>) {
        let declared = self.declarations.of(&assignment.monitor);
        let scrub = &declared.scrub;
        loop {
            let (own, secret, kept, steps, cost) =
                match admission::admit(&self.connector, &self.token_cache, assignment, oauth, scrub).await {
                    Admission::Refused { fault, steps, cost, trace } => {
                        let asks = not_asked(assignment, 0);
                        let (seen, profile) = admission::outside(assignment, fault, steps, (cost, trace), asks);
                        return (seen, profile, None);
                    }
                    Admission::Token { assignment, secret, kept, steps, cost } => {
                        (assignment, secret, kept, steps, cost)
                    }
                };
            let (mut seen, profile, transcript) =
                self.steps(&own, &made_of(&own.monitor, Arc::clone(&declared.listing))).await;
            let refused = seen.fault_before_search().is_some_and(|(_, fault)| fault.kind == FaultKind::AuthRejected);
            if refused && self.token_cache.forget(&assignment.monitor, &secret) && kept {
                continue;
            }
            seen.steps.splice(0..0, steps);
            seen.footprint = seen.footprint.plus(cost);
            return (seen, profile, transcript);
        }
    }

    pub(in crate::probe) const fn means(&self) -> ProbeContext<'_> {
        ProbeContext {
            connector: &self.connector,
            unclosed_sessions: &self.unclosed_sessions,
            keeps_passages: self.keeps_passages,
        }
    }

    /// Lets go of what is kept for a monitor, stops its program where one is, and closes what sessions no probe could: it
    /// was edited, is gone from the file, or another machine's.
    pub async fn release(&self, monitor: &Monitor, profile: &ServerProfile) {
        if let Some(kept) = self.programs.take(&monitor.id) {
            kept.process.stop().await;
        }
        self.declarations.forget(&monitor.id);
        if self.unclosed_sessions.has(&monitor.id) {
            let declared = made_of(monitor, Arc::default());
            Box::pin(closing::close_left(self.means(), &declared, (monitor, profile))).await;
        }
    }

    /// Stops every program that is kept, all at once; the next probe would start its own again.
    pub async fn release_all(&self) {
        let stops = self.programs.empty().into_iter().map(|kept| kept.process.stop());
        futures_util::future::join_all(stops).await;
    }

    /// How far one gets with a server that just failed, within ten seconds; and what that cost it. Nothing where as many
    /// diagnoses are under way as may be.
    pub async fn diagnose(
        &self,
        monitor: &Monitor,
        profile: &ServerProfile,
        now: DateTime<Utc>,
    ) -> (Vec<ConnectivityStep>, Footprint) {
        let Ok(_place) = self.diagnoses.try_acquire() else { return (Vec::new(), Footprint::default()) };
        Box::pin(connectivity::diagnose(self.means(), monitor, &made_of(monitor, Arc::default()), profile, now)).await
    }

    /// With what status an address answers, and with what the file says that its answer has.
    ///
    /// # Errors
    /// The fault that kept it from answering so within this time.
    pub async fn answers(&self, control: &Control, within: Duration) -> Result<u16, Fault> {
        Box::pin(reach::answers(self.means(), control, within)).await
    }
}
