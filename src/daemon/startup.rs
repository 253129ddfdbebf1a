//! The begin of a Serin: the database opened and read back, however long the disk or another process keeps us from it.
//!
//! What may pass by itself is waited for, told and shown, since nobody reads the exit code of a program that is started
//! again and again. What waiting mends nothing of (a damaged file, a newer Serin's, another Serin's file) ends the start.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::trouble;
use crate::daemon::resume;
use crate::daemon::runtime::MonitorRuntime;
use crate::daemon::sharing;
use crate::deliver::internal::InternalAlerts;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::database_address::DatabaseAddress;
use crate::domain::fleet::Fleet;
use crate::domain::fleet_files::FileWord;
use crate::domain::fleet_files::FleetFiles;
use crate::domain::lease::Leases;
use crate::live::banner::Banner;
use crate::live::state::{LiveState, STARTING};
use crate::store::OpenError;
use crate::store::Store;
use crate::store::StoreError;
use crate::store::file::restore;
use crate::store::values::lease_turn::LeaseTurn;

/// The pause after the first try; it doubles with each.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest pause: whoever made room does not wait long, and the log of an hour can be read.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Between two looks whether another Serin has ended.
const STANDBY_PAUSE: Duration = Duration::from_secs(1);

/// Who hears of what a start waits for, and when it is given up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting<'a> {
    /// Told of what we wait for.
    pub alerts: &'a InternalAlerts,
    pub live: &'a Arc<LiveState>,
    /// Serin is told to stop.
    pub shutdown: &'a CancellationToken,
}

/// What is to be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    pub database: &'a DatabaseAddress,
    /// Whether a damaged one is put aside and a new one begun.
    pub set_aside_damaged: bool,
    /// The fleet that it is to remember.
    pub fleet: &'a Fleet,
    /// The name by which other machines show this one.
    pub name: &'a str,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// The text that declares it, as it may be shown.
    pub files: &'a FleetFiles,
}

/// What a start needs of the database.
#[derive(Debug)]
pub(crate) struct Started {
    pub store: Store,
    pub runtimes: Vec<MonitorRuntime>,
    /// What of the fleet is watched here.
    pub leases: Leases,
    /// Where the damaged one is kept, where this one began anew.
    pub aside: Option<PathBuf>,
    /// Whether everything was moved until now.
    pub stood_by: bool,
}

impl Start<'_> {
    /// Opens the database and reads it back, as often as it takes; none where Serin was told to stop before.
    ///
    /// # Errors
    /// Where waiting would mend nothing.
    pub(crate) async fn begin(self, waiting: Waiting<'_>) -> anyhow::Result<Option<Started>> {
        let (mut aside, mut stood_by) = (None, false);
        let tried = async || {
            let tried = self.try_once(&mut aside).await;
            stood_by |= matches!(&tried, Err(OpenError::Database { source: StoreError::Taken, .. }));
            tried
        };
        let begun = waiting.until_done(tried).await?;
        Ok(begun.map(|Begun { store, runtimes, turn }| {
            waiting.live.nodes().put(turn.nodes);
            Started { store, runtimes, leases: turn.leases, aside, stood_by }
        }))
    }

    async fn try_once(self, aside: &mut Option<PathBuf>) -> Result<Begun, OpenError> {
        let store = match Store::open(self.database).await {
            Err(OpenError::Damaged { path, what }) if self.set_aside_damaged && aside.is_none() => {
                tracing::error!("{} is damaged ({what})", path.display());
                *aside = Some(restore::set_aside(&path, Utc::now())?);
                Store::open(self.database).await?
            }
            opened => opened?,
        };
        match self.read_back(&store).await {
            Ok((turn, runtimes)) => Ok(Begun { store, runtimes, turn }),
            Err(source) => {
                store.close().await;
                Err(OpenError::of(&self.database.name(), source))
            }
        }
    }

    /// What of the fleet is ours, and how that stands: in this order, since until it is ours others move it on.
    async fn read_back(self, store: &Store) -> Result<(LeaseTurn, Vec<MonitorRuntime>), StoreError> {
        let now = Utc::now();
        store.config_loaded(self.fleet, (self.files, FileWord::Start), now).await?;
        let note = (self.name, &*self.fleet.provenance.declared, self.started_at);
        let mut turn = store.lease_turn(note, &Leases::none()).await?;
        let leases = turn.leases.clone();
        let mut reading = pin!(resume::runtimes(store, self.fleet, &leases, now));
        // Others take for gone who says nothing for as long as it takes to read much.
        let runtimes = loop {
            tokio::select! {
                read = &mut reading => break read?,
                () = tokio::time::sleep(sharing::EVERY) => turn = store.lease_turn(note, &turn.leases).await?,
            }
        };
        Ok((turn, runtimes))
    }
}

/// An open database, what of the fleet is ours, and how that stands.
struct Begun {
    store: Store,
    runtimes: Vec<MonitorRuntime>,
    turn: LeaseTurn,
}

impl Waiting<'_> {
    /// Tries something as often as it takes; none where Serin was told to stop before.
    ///
    /// # Errors
    /// Where waiting would mend nothing.
    pub(crate) async fn until_done<T>(
        self,
        tried: impl AsyncFnMut() -> Result<T, OpenError>,
    ) -> Result<Option<T>, OpenError> {
        tokio::select! {
            () = self.shutdown.cancelled() => Ok(None),
            done = self.try_on(tried) => done.map(Some),
        }
    }

    async fn try_on<T>(self, mut tried: impl AsyncFnMut() -> Result<T, OpenError>) -> Result<T, OpenError> {
        let (mut pause, mut stands_by) = (PAUSE_MIN, false);
        loop {
            let error = match tried().await {
                Ok(done) => {
                    self.over();
                    return Ok(done);
                }
                Err(error) => error,
            };
            let Some(why) = error.passing() else { return Err(error) };
            if why == StoreError::Taken {
                // No trouble while that one works.
                if !std::mem::replace(&mut stands_by, true) {
                    tracing::info!("{why}; this one stands by and begins when that one ends");
                }
                for kind in InternalAlert::OF_WRITING {
                    self.alerts.clear(kind, Utc::now());
                }
                self.live.raise(Banner { kind: STARTING, text: why.to_string(), since: Utc::now() });
                pause = PAUSE_MIN;
                tokio::time::sleep(STANDBY_PAUSE).await;
                continue;
            }
            stands_by = false;
            self.waits(&why, pause, Utc::now());
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Tells, shows and logs that it waits. One stretch is one alert, though a full disk may show as several errors in
    /// turn.
    fn waits(self, why: &StoreError, pause: Duration, now: DateTime<Utc>) {
        let known = self.alerts.open().into_iter().find(|(kind, _)| InternalAlert::OF_WRITING.contains(kind));
        let (kind, since) = known.map_or((trouble(why), now), |(kind, open)| (kind, open.since));
        tracing::warn!("Serin has not started: {why}; it is tried again in {} s", pause.as_secs());
        self.alerts.raise(kind, &format!("Serin has not started and watches nothing: {why}"), now);
        self.live.raise(Banner { kind: STARTING, text: why.to_string(), since });
    }

    fn over(self) {
        for kind in InternalAlert::OF_WRITING {
            self.alerts.clear(kind, Utc::now());
        }
        self.live.lower(STARTING);
    }
}
