//! How a monitor stands between beats, and what one more beat makes of it.
//!
//! [`MonitorState::weigh`] is the heart of Serin: it takes one judged observation into the windows and streaks, turns each
//! signal's figure into a level, and lets `incident::step` say whether something opened or ended. It changes nothing
//! outside its return value, so a beat that cannot be remembered leaves the old state in force.
//!
//! Read `state` (what is kept), `weigh` (one beat, whole), then its steps: `intake` (samples, answers and tools are taken
//! in), `levels` (what that says of each signal) on `cause`, `hearing`, `track`, `leaks`, `change_rounds`,
//! `replica_rounds`, `near_misses` and `changes`, `decisions` (what opens, changes and ends) on `flaps` (what opens too often) and `thresholds`, `telling` (what holds an open incident, and what is told);
//! `standing` (how a signal stands, for whoever asks).

mod cause;
mod change_rounds;
mod changes;
mod decisions;
mod flaps;
mod hearing;
mod near_misses;
mod intake;
mod leaks;
mod replica_rounds;
mod levels;
mod standing;
mod state;
mod telling;
mod thresholds;
mod track;
mod weigh;

pub(crate) use hearing::CanaryRound;
pub use hearing::CanaryScore;
pub use standing::Standing;
pub use state::{Beat, Decision, MonitorState, TellPolicy};
pub use track::{CanaryWatch, FallWatch, KindWatch};
