//! Machines that are killed, stopped and cut off at random: whatever becomes of them, each outage is told once, its end too,
//! and no monitor is left alone for long.
//!
//! The short form runs with every other journey. `SERIN_TEST_KILLED_MONITORS=5000 SERIN_TEST_KILLED_SECONDS=600` is the long
//! one, and `SERIN_TEST_KILLED_SEED` does the same things to the same machines once more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::deeds::{self, Done};
use super::receiver::Incident;
use super::scene::Scene;
use super::servers::{Outage, Unasked};
use crate::databases;

/// Of so many servers one has outages that end before anybody may have noticed.
const BLIPS_OF: usize = 6;
/// A monitor is left alone for no longer than its rhythm and this.
const UNOBSERVED_MAX: Duration = Duration::from_secs(40);
/// Where whoever takes over suffers something in turn, and another takes over from it, it is this for each and
/// [`OVERDUE_WITHIN`] for all: what `docs/databases/postgresql.md` says of one machine.
const REPLACED_WITHIN: Duration = Duration::from_secs(20);
const OVERDUE_WITHIN: Duration = Duration::from_secs(10);

/// How large and how long.
#[derive(Debug)]
struct Figures {
    monitors: usize,
    lasts: Duration,
    every: Duration,
    seed: u64,
}

impl Figures {
    fn read() -> Self {
        let said = |name: &str| std::env::var(format!("SERIN_TEST_KILLED_{name}")).ok()?.parse::<u64>().ok();
        let monitors = usize::try_from(said("MONITORS").unwrap_or(120)).unwrap();
        // Some twenty beats a second, or what a minute makes of more.
        let every = said("EVERY").unwrap_or((monitors as u64 / 20).clamp(6, 60));
        Self {
            monitors,
            lasts: Duration::from_secs(said("SECONDS").unwrap_or(40)),
            every: Duration::from_secs(every),
            seed: said("SEED").unwrap_or_else(rand::random),
        }
    }
}

/// What was done to servers, by their number: outages that lasted until they were told, and those that did not.
#[derive(Debug, Default)]
struct Ledger {
    told: BTreeMap<usize, Vec<Outage>>,
    blips: BTreeMap<usize, usize>,
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_done_to_machines_each_outage_is_told_once() {
    let Some(server) = databases::server().filter(|_| databases::machines() == 1) else { return };
    let figures = Figures::read();
    println!("{figures:?}");
    let scene = Arc::new(Scene::start(&server, figures.monitors, figures.every).await);
    scene.until_shared().await;
    let all_asked = async {
        while scene.servers.asked() < figures.monitors {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    scene.soon("each is watched", all_asked).await;
    let (deeds, ledger) = tokio::join!(
        deeds::done(&scene, figures.lasts, figures.seed),
        outages(&scene, figures.monitors, figures.lasts, figures.seed)
    );
    let quiet = async {
        let open = "SELECT (SELECT COUNT(*) FROM incidents WHERE resolved_at IS NULL) + \
             (SELECT COUNT(*) FROM deliveries WHERE state = 'pending')";
        while scene.number(open).await > 0 {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    scene.soon("no incident is open, and all is told", quiet).await;
    scene.until_shared().await;
    let unasked = scene.servers.unasked();
    for machine in &scene.machines {
        let mut machine = machine.lock().await;
        machine.signal("TERM");
        let ended = scene.soon("it ends in order", machine.ended()).await;
        assert!(ended.success(), "{ended}");
    }
    let mut wrong = told_wrongly(&scene.receiver.incidents(), &ledger, figures.monitors);
    wrong.extend(scene.receiver.changed().iter().map(|id| format!("{id}: came once more with other bytes")));
    let sessions = scene.servers.sessions();
    let too_many = sessions.iter().enumerate().filter(|(_, left)| **left > deeds.kills);
    wrong.extend(too_many.map(|(nth, left)| format!("m{nth}: {left} sessions left by {} kills", deeds.kills)));
    wrong.extend(left_alone(&scene, &deeds, &unasked, figures.every));
    report(&scene, &figures, (&deeds, &ledger), (&unasked, sessions.iter().sum()));
    if !wrong.is_empty() {
        scene.fail(&format!("{} things are wrong with seed {}:\n{}", wrong.len(), figures.seed, wrong.join("\n")));
    }
}

/// For how long a monitor may be left alone, beyond its rhythm, while so many things are done to machines.
fn unobserved_max(deeds: usize) -> Duration {
    UNOBSERVED_MAX.max(OVERDUE_WITHIN + REPLACED_WITHIN * u32::try_from(deeds).unwrap())
}

/// Which monitors were left alone for too long: altogether, or by one machine that had them.
fn left_alone(scene: &Scene, deeds: &Done, unasked: &[Vec<Unasked>], every: Duration) -> Vec<String> {
    let mut wrong = Vec::new();
    for (nth, stretches) in unasked.iter().enumerate() {
        let monitor = format!("m{nth}");
        for stretch in stretches {
            let (lasted, during) = (stretch.lasted(), deeds.during(stretch));
            let in_one_hand = scene.longest_in_one_hand(&monitor, stretch);
            if lasted > every + unobserved_max(during) || in_one_hand > every + UNOBSERVED_MAX {
                wrong.push(format!(
                    "{monitor}: unobserved for {lasted:.1?}, {in_one_hand:.1?} in one hand, over {during} deeds"
                ));
            }
        }
    }
    wrong
}

/// Breaks servers at random until this is over, and mends each; all that was told of is told to have ended by the end.
async fn outages(scene: &Arc<Scene>, monitors: usize, lasts: Duration, seed: u64) -> Ledger {
    let mut random = StdRng::seed_from_u64(!seed);
    let (begun, mut ledger, mut broken) = (Instant::now(), Ledger::default(), JoinSet::new());
    let mut free: Vec<usize> = (0..monitors).collect();
    let at_once = (monitors / 12).max(2);
    // As many as there is time for, however many monitors there are.
    let pause = Duration::from_mins(2).div_f64(monitors as f64).max(Duration::from_millis(400));
    while begun.elapsed() < lasts {
        while let Some(mended) = broken.try_join_next() {
            free.push(mended.unwrap());
        }
        if monitors - free.len() < at_once {
            let nth = free.swap_remove(random.random_range(0..free.len()));
            let outage = *Outage::ALL.choose(&mut random).unwrap();
            let pause = Duration::from_millis(random.random_range(0..6_000));
            if nth.is_multiple_of(BLIPS_OF) {
                *ledger.blips.entry(nth).or_default() += 1;
                broken.spawn(blip(Arc::clone(scene), nth, outage, pause * 2));
            } else {
                let told = ledger.told.entry(nth).or_default();
                told.push(outage);
                broken.spawn(until_told(Arc::clone(scene), (nth, told.len()), outage, pause));
            }
        }
        tokio::time::sleep(pause).await;
    }
    while let Some(mended) = broken.join_next().await {
        mended.unwrap();
    }
    ledger
}

/// Breaks a server until that is told, mends it, and waits until that is told.
async fn until_told(scene: Arc<Scene>, (nth, count): (usize, usize), outage: Outage, pause: Duration) -> usize {
    let monitor = format!("m{nth}");
    scene.servers.put(nth, Some(outage));
    let told = scene.receiver.until(&monitor, "incident.opened", count);
    scene.soon(&format!("{monitor} has an outage, {outage:?}, number {count}"), told).await;
    tokio::time::sleep(pause).await;
    scene.servers.put(nth, None);
    let told = scene.receiver.until(&monitor, "incident.resolved", count);
    scene.soon(&format!("{monitor} has no outage any more, {outage:?}, number {count}"), told).await;
    nth
}

/// Breaks a server for a moment.
async fn blip(scene: Arc<Scene>, nth: usize, outage: Outage, lasts: Duration) -> usize {
    scene.servers.put(nth, Some(outage));
    tokio::time::sleep(lasts).await;
    scene.servers.put(nth, None);
    nth
}

/// What was told and had not happened, or happened and was not told once.
fn told_wrongly(incidents: &BTreeMap<String, Incident>, ledger: &Ledger, monitors: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, incident) in incidents {
        for event in ["incident.opened", "incident.resolved"] {
            if incident.told(event) != 1 {
                wrong.push(format!("{id}: {event} was told {} times: {incident:?}", incident.told(event)));
            }
        }
    }
    for nth in 0..monitors {
        let of: Vec<&Incident> = incidents.values().filter(|one| one.monitor == format!("m{nth}")).collect();
        // In the order of their ids, as they opened.
        let signals: Vec<&str> = of.iter().map(|one| &*one.signal).collect();
        let happened = ledger.told.get(&nth).map(Vec::as_slice).unwrap_or_default();
        let expected: Vec<&str> = happened.iter().map(|outage| outage.signal()).collect();
        let blips = ledger.blips.get(&nth).copied();
        if blips.map_or(signals != expected, |blips| of.len() > blips) {
            let told: Vec<&str> = of.iter().map(|one| &*one.summary).collect();
            wrong.push(format!("m{nth}: it had {happened:?} and {blips:?} blips, and told was {signals:?}: {told:#?}"));
        }
    }
    wrong
}

/// The figures of a run, one a line.
fn report(
    scene: &Scene,
    figures: &Figures,
    (deeds, ledger): (&Done, &Ledger),
    (unasked, sessions): (&[Vec<Unasked>], usize),
) {
    let (messages, repeated) = scene.receiver.counts();
    let all = || unasked.iter().enumerate().flat_map(|(nth, of)| of.iter().map(move |it| (nth, it)));
    let longest = all().map(|(_, it)| it.lasted()).max().unwrap_or_default();
    let with_one = all().filter(|(_, it)| deeds.during(it) < 2).map(|(_, it)| it.lasted()).max().unwrap_or_default();
    let in_one_hand =
        all().map(|(nth, it)| scene.longest_in_one_hand(&format!("m{nth}"), it)).max().unwrap_or_default();
    println!("{figures:?}: {} kills, {} stops, {} cuts", deeds.kills, deeds.stops, deeds.cuts);
    println!("outages told: {}", ledger.told.values().map(Vec::len).sum::<usize>());
    println!("blips: {}; incidents: {}", ledger.blips.values().sum::<usize>(), scene.receiver.incidents().len());
    println!("messages: {messages}; attempts repeated: {repeated}; own trouble: {}", scene.receiver.own());
    println!("longest unobserved: {longest:.1?}; with one deed in it: {with_one:.1?}; in one hand: {in_one_hand:.1?}");
    println!("until others had what was a killed machine's: {}", spread(&deeds.taken_over));
    println!("the same of one that stood still or was cut off: {}", spread(&deeds.taken_from_living));
    println!("sessions left: {sessions}");
}

fn spread(taken: &[Duration]) -> String {
    let mut taken = taken.to_owned();
    taken.sort();
    let (middle, last) = (taken.get(taken.len() / 2), taken.last());
    format!(
        "{} times, median {:.1?}, longest {:.1?}",
        taken.len(),
        middle.unwrap_or(&Duration::ZERO),
        last.unwrap_or(&Duration::ZERO)
    )
}
