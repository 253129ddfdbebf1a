//! What is done to machines: they are killed, stopped and cut off from their database, at random.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::link::Cut;
use super::machine::Machine;
use super::scene::{MACHINES, Scene};
use super::servers::Unasked;

/// Seconds that a machine stands still, or its link is cut.
const LASTS: std::ops::Range<u64> = 3..30;

/// One thing that is done to one machine.
#[derive(Debug, Clone, Copy)]
enum Deed {
    /// It is killed, and started again after so long.
    Kill(Duration),
    /// It stands still for so long.
    Stop(Duration),
    Cut(Cut, Duration),
}

impl Deed {
    fn random(random: &mut StdRng) -> Self {
        let lasts = Duration::from_secs(random.random_range(LASTS));
        match random.random_range(0..10) {
            0..4 => Self::Kill(Duration::from_millis(random.random_range(0..5_000))),
            4..7 => Self::Stop(lasts),
            _ => Self::Cut(*Cut::ALL.choose(random).unwrap(), lasts),
        }
    }
}

/// What was done, and how long it took until others had all that was a machine's.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) kills: usize,
    pub(super) stops: usize,
    pub(super) cuts: usize,
    /// After a machine was killed.
    pub(super) taken_over: Vec<Duration>,
    /// After one stood still or was cut off for long enough.
    pub(super) taken_from_living: Vec<Duration>,
    /// When each began.
    pub(super) began: Vec<Instant>,
}

impl Done {
    /// How much began while a server was asked nothing.
    pub(super) fn during(&self, unasked: &Unasked) -> usize {
        self.began.iter().filter(|at| (unasked.from..unasked.until).contains(*at)).count()
    }
}

/// Does something to a machine now and then, until this is over and all of them are back. Of three there is always one that
/// is left in peace.
pub(super) async fn done(scene: &Arc<Scene>, lasts: Duration, seed: u64) -> Done {
    let mut random = StdRng::seed_from_u64(seed);
    let (begun, victims) = (Instant::now(), Arc::new(Semaphore::new(MACHINES - 1)));
    let (mut deeds, mut done) = (JoinSet::new(), Done::default());
    while begun.elapsed() < lasts {
        let turn = Arc::clone(&victims).acquire_owned().await.unwrap();
        let free: Vec<_> = scene.machines.iter().filter_map(|it| Arc::clone(it).try_lock_owned().ok()).collect();
        let nth = random.random_range(0..free.len());
        let machine = free.into_iter().nth(nth).unwrap();
        let deed = Deed::random(&mut random);
        println!("{:>4} s: machine {}: {deed:?}", begun.elapsed().as_secs(), machine.nth);
        match deed {
            Deed::Kill(_) => done.kills += 1,
            Deed::Stop(_) => done.stops += 1,
            Deed::Cut(..) => done.cuts += 1,
        }
        done.began.push(Instant::now());
        deeds.spawn(suffer(Arc::clone(scene), machine, deed, turn));
        tokio::time::sleep(Duration::from_millis(random.random_range(500..5_000))).await;
    }
    while let Some(taken) = deeds.join_next().await {
        match taken.unwrap() {
            (Deed::Kill(_), taken) => done.taken_over.extend(taken),
            (_, taken) => done.taken_from_living.extend(taken),
        }
    }
    done
}

/// Does it, and waits until the machine has a part of the fleet again. Gives how long it took until it had none.
async fn suffer(
    scene: Arc<Scene>,
    mut machine: OwnedMutexGuard<Machine>,
    deed: Deed,
    _turn: OwnedSemaphorePermit,
) -> (Deed, Option<Duration>) {
    let id = scene.id(&machine).await;
    let (begun, had_some) = (Instant::now(), scene.has_some(&id));
    let left = async {
        scene.until(&id, false).await;
        begun.elapsed()
    };
    let mut back = id.clone();
    let taken = match deed {
        Deed::Kill(pause) => {
            machine.signal("KILL");
            let returns = async {
                machine.ended().await;
                tokio::time::sleep(pause).await;
                machine.again().await;
                scene.id(&machine).await
            };
            let left = scene.soon("others have what was a dead machine's", left);
            let (taken, id) = tokio::join!(left, returns);
            back = id;
            Some(taken)
        }
        Deed::Stop(lasts) => {
            machine.signal("STOP");
            let taken = within(lasts, left).await;
            machine.signal("CONT");
            taken
        }
        Deed::Cut(cut, lasts) => {
            machine.link.cut(cut);
            let taken = within(lasts, left).await;
            machine.link.mend();
            taken
        }
    };
    let what = format!("machine {} is back after {deed:?}", machine.nth);
    scene.soon(&what, scene.until(&back, true)).await;
    (deed, taken.filter(|_| had_some))
}

/// Waits for all of this time; what came of it until then.
async fn within<T>(lasts: Duration, waiting: impl Future<Output = T>) -> Option<T> {
    let over = tokio::time::sleep(lasts);
    tokio::pin!(over);
    let came = tokio::select! {
        came = waiting => Some(came),
        () = &mut over => return None,
    };
    over.await;
    came
}
