use super::*;
use crate::domain::monitor::{Canary, CanaryKind};
use crate::domain::secret::{Address, Secret};

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

#[test]
fn beats_keep_their_rhythm_and_never_fall_due_at_once() {
    let every = Duration::from_secs(60);
    let id = MonitorId::new("docs");
    let rhythm = Rhythm::alone(&id, every);
    let grid = rhythm.next_due(7, at(0)) - Duration::from_secs(3);
    let mut now = at(0);
    let mut lates = Vec::new();
    for turn in 0..500 {
        let due = rhythm.next_due(7, now);
        assert!(due > now && due <= now + every + Duration::from_secs(3), "within one interval and its jitter");
        let late = (due - (grid + every * turn)).to_std().unwrap();
        assert!(late < Duration::from_secs(6), "beats do not drift: {late:?} after {turn}");
        lates.push(late);
        now = due;
    }
    let (least, most) = (lates.iter().min().unwrap(), lates.iter().max().unwrap());
    assert!(*most - *least > Duration::from_secs(2), "each is late in its own way: {least:?} to {most:?}");
    let first = rhythm.next_due(7, at(0));
    assert_eq!(rhythm.next_due(7, first - Duration::from_micros(1)), first, "looked up again, it stays");
    let missed = rhythm.next_due(7, first + every * 5 / 2);
    assert!(missed > first + every * 5 / 2, "missed beats are not made up for");
}

#[test]
fn two_serins_on_one_server_do_not_beat_in_step() {
    let id = MonitorId::new("docs");
    let every = Duration::from_secs(60);
    let due = |salt, minute: i64| Rhythm::alone(&id, every).next_due(salt, at(minute * 60));
    let together = (0..100_i64).filter(|minute| due(1, *minute) == due(2, *minute)).count();
    assert!(together < 5, "{together} of 100 beats fell on one moment");
}

#[test]
fn a_fleet_spreads_over_its_interval() {
    let every = Duration::from_secs(60);
    let mut slots = [0_u32; 60];
    for number in 0..6000 {
        let phase = phase(&MonitorId::new(&format!("server-{number}")), every);
        slots[usize::try_from(phase.as_secs()).unwrap()] += 1;
    }
    let (least, most) = (slots.iter().min().unwrap(), slots.iter().max().unwrap());
    assert!(*least > 60 && *most < 150, "100 a second are expected, {least} to {most} came");
}

#[test]
fn suspect_beats_follow_the_first_failure() {
    let dues = suspects(at(0), at(10), Duration::from_secs(45));
    assert_eq!(dues, [at(15), at(20), at(45)]);
    assert_eq!(suspects(at(0), at(0), Duration::ZERO), [at(5), at(10)]);
}

fn monitor(kinds: &[CanaryKind], per_beat: u32) -> Monitor {
    let url = Address { shown: String::new(), resolved: Secret::new("") };
    let mut monitor = Monitor::undeclared("docs", url);
    monitor.search.per_beat = per_beat;
    let canary = |(number, kind): (usize, &CanaryKind)| Canary {
        id: format!("c{number}"),
        query: String::new(),
        kind: *kind,
        expect: Vec::new(),
        within: 3,
        max_score: None,
        text: None,
        forbid: Vec::new(),
        also: Vec::new(),
        line: 1,
        definition_hash: String::new(),
    };
    monitor.canaries = kinds.iter().enumerate().map(canary).collect();
    monitor
}

#[test]
fn the_kinds_take_turns_in_a_round() {
    use CanaryKind::{Keyword, Meaning, Negative};
    let monitor = monitor(&[Meaning, Meaning, Meaning, Keyword, Negative, Keyword], 2);
    assert_eq!(round(&monitor), [3, 0, 4, 5, 1, 2], "each kind once, then each again");
}

/// How far the round is, who is in doubt, what is asked, and why.
type Row<'a> = (usize, &'a [(&'a str, Variant)], [Option<(usize, Turn)>; 3], &'a str);

fn places(asks: &[PlannedAsk]) -> Vec<(usize, Turn)> {
    asks.iter().map(|ask| (ask.canary, ask.turn)).collect()
}

#[test]
fn a_beat_asks_its_share_and_what_is_in_doubt() {
    let kinds = [CanaryKind::Mixed; 12];
    let (two, many) = (monitor(&kinds, 2), monitor(&kinds, 50));
    let (scheduled, again) = (Turn::Scheduled, Turn::ReAsk);
    let rows: [Row<'_>; 5] = [
        (0, &[], [Some((0, scheduled)), Some((1, scheduled)), None], "the first of the round"),
        (11, &[], [Some((11, scheduled)), Some((0, scheduled)), None], "the round has no end"),
        (
            2,
            &[("c9", Variant::Fresh)],
            [Some((9, again)), Some((2, scheduled)), Some((3, scheduled))],
            "what is in doubt comes first",
        ),
        (
            2,
            &[("c3", Variant::Fresh)],
            [Some((3, scheduled)), Some((2, scheduled)), None],
            "a canary whose turn it is anyway is asked once",
        ),
        (
            2,
            &[("gone", Variant::Fresh)],
            [Some((2, scheduled)), Some((3, scheduled)), None],
            "a canary that is gone is not asked",
        ),
    ];
    for (turn, failing, expected, sentence) in rows {
        let expected: Vec<_> = expected.into_iter().flatten().collect();
        let doubt = Doubt { failing, ..Doubt::default() };
        assert_eq!(places(&asks(&two, &round(&two), turn, doubt)), expected, "{sentence}");
    }
    let all: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
    let all: Vec<_> = all.iter().map(|id| (id.as_str(), Variant::Fresh)).collect();
    for monitor in [&two, &many] {
        let asked = asks(monitor, &round(monitor), 4, Doubt { failing: &all, ..Doubt::default() });
        assert_eq!(asked.len(), ASKS_MAX, "however much is in doubt, a beat has its limit");
    }
    let doubt = Doubt { failing: &[("c0", Variant::Fresh)], ..Doubt::default() };
    assert_eq!(asks(&monitor(&[], 2), &[], 0, doubt), [], "no canaries, nothing asked");
}

#[test]
fn a_fault_in_doubt_has_the_others_asked_too() {
    let one = monitor(&[CanaryKind::Mixed; 6], 1);
    let check = |unheard: &[&str], share: usize, spare: usize, expected: &[usize], sentence: &str| {
        let doubt = Doubt { failing: &[("c0", Variant::Fresh)], unheard, share, spare, knows_way: true };
        let asked = asks(&one, &round(&one), 1, doubt);
        let places: Vec<usize> = asked.iter().map(|ask| ask.canary).collect();
        assert_eq!(places, expected, "{sentence}");
        let outside = |ask: &PlannedAsk| ask.canary == 1 || ask.turn == Turn::ReAsk;
        assert!(asked.iter().all(outside), "what the round did not ask is marked: {asked:?}");
    };
    let others = ["c1", "c2", "c3", "c4", "c5"];
    check(&others, 5, 100, &[0, 1, 2, 3, 4, 5], "all of them, what is in doubt first");
    check(&others, 3, 100, &[0, 1, 2, 3], "or a share, to which the round's own counts");
    check(&others, 5, 2, &[0, 1, 2, 3], "as many as the day can spare");
    check(&others, 5, 0, &[0, 1], "and none where it can spare none: the beat goes on as ever");
    check(&["c5", "c0", "gone"], 3, 100, &[0, 1, 5], "what was heard is not asked again");
}

#[test]
fn the_round_asks_the_index_and_now_and_then_its_caches() {
    let three = monitor(&[CanaryKind::Mixed; 3], 2);
    let order = round(&three);
    let asked = |turn| asks(&three, &order, turn, Doubt::default());
    let beats: Vec<PlannedAsk> = (0..15).flat_map(|beat| asked(beat * 2)).collect();
    for canary in 0..3 {
        let of = beats.iter().filter(|ask| ask.canary == canary);
        let plain: Vec<usize> =
            of.enumerate().filter(|(_, ask)| ask.variant == Variant::Plain).map(|(round, _)| round).collect();
        assert_eq!(plain, [4 - canary, 9 - canary], "each in one round of five, and not all in the same");
    }
}

#[test]
fn what_is_to_be_compared_is_asked_both_ways_once() {
    let three = monitor(&[CanaryKind::Mixed; 3], 1);
    let order = round(&three);
    for (turn, canary) in [(0, 0), (0, 2), (4, 1)] {
        let mut asked = asks(&three, &order, turn, Doubt::default());
        let before = asked.len();
        ask_both_ways(&mut asked, canary);
        let of = |variant: Variant| asked.iter().filter(|ask| (ask.canary, ask.variant) == (canary, variant)).count();
        assert_eq!((of(Variant::Plain), of(Variant::Fresh)), (1, 1), "turn {turn}");
        assert!(asked[before..].iter().all(|ask| ask.turn == Turn::ReAsk), "what comes on top is no turn of the round");
    }
}

#[test]
fn what_a_cache_answers_wrongly_is_asked_both_ways() {
    let three = monitor(&[CanaryKind::Mixed; 3], 1);
    let (plain, fresh) = (Variant::Plain, Variant::Fresh);
    let all = ["c1", "c2"];
    type Row<'r> = (&'r [(&'r str, Variant)], bool, &'r [(usize, Variant)], &'r str);
    let rows: [Row<'_>; 4] = [
        (&[("c0", plain)], true, &[(0, plain), (0, fresh), (1, plain), (2, plain)], "and the others in caches too"),
        (&[("c0", plain)], false, &[(0, plain), (1, plain), (2, plain)], "but where no way past them is known"),
        (&[("c0", fresh)], true, &[(0, fresh), (1, fresh), (2, fresh)], "what the index did is asked of it"),
        (
            &[("c0", fresh), ("c1", plain)],
            true,
            &[(0, fresh), (1, plain), (1, fresh), (2, fresh)],
            "each as it was wrong",
        ),
    ];
    for (failing, knows_way, expected, sentence) in rows {
        let doubt = Doubt { failing, knows_way, unheard: &all, share: 2, spare: 9 };
        let asked = asks(&three, &round(&three), 0, doubt);
        let asked: Vec<_> = asked.iter().map(|ask| (ask.canary, ask.variant)).collect();
        assert_eq!(asked, expected, "{sentence}");
    }
}

#[test]
fn other_words_are_asked_beside_the_question_and_seldom_in_its_turn() {
    let mut three = monitor(&[CanaryKind::Mixed; 3], 1);
    three.canaries[0].also = vec!["in other words".to_owned()];
    three.canaries[1].also = vec!["in other words".to_owned()];
    let order = round(&three);
    let (plain, fresh, reworded) = (Variant::Plain, Variant::Fresh, Variant::Reworded);
    let in_turn = |monitor: &Monitor, canary: usize, knows_way: bool| -> Vec<Variant> {
        let doubt = Doubt { knows_way, ..Doubt::default() };
        let beats = (0..15).flat_map(|turn| asks(monitor, &order, turn, doubt));
        beats.filter(|ask| ask.canary == canary).map(|ask| ask.variant).collect()
    };
    assert_eq!(in_turn(&three, 0, false), [plain, plain, plain, plain, reworded], "in one round of five");
    assert_eq!(in_turn(&three, 1, false), [plain, plain, plain, reworded, plain], "each in another one");
    assert_eq!(in_turn(&three, 0, true), [fresh, fresh, fresh, fresh, plain], "not where there is a better way");
    let mut off = three.clone();
    off.search.fresh = Fresh::Off;
    assert!(!in_turn(&off, 0, false).contains(&reworded), "nor where caches are left alone");

    let others = ["c1", "c2"];
    type Row<'r> = (&'r [(&'r str, Variant)], bool, &'r [(usize, Variant)], &'r str);
    let rows: [Row<'_>; 5] = [
        (&[("c0", fresh)], false, &[(0, plain), (0, reworded), (1, fresh), (2, fresh)], "both, for one look"),
        (
            &[("c0", reworded)],
            false,
            &[(0, plain), (0, reworded), (1, reworded), (2, fresh)],
            "what a cache hides is hidden of the others too",
        ),
        (&[("c2", fresh)], false, &[(2, fresh), (0, plain), (1, fresh)], "one that has no other words"),
        (&[("c0", reworded)], true, &[(0, fresh), (1, fresh), (2, fresh)], "a way that came to be known meanwhile"),
        (&[("c0", plain)], true, &[(0, plain), (0, fresh), (1, plain), (2, plain)], "and other words are not needed"),
    ];
    for (failing, knows_way, expected, sentence) in rows {
        let doubt = Doubt { failing, knows_way, unheard: &others, share: 2, spare: 9 };
        let asked: Vec<_> = asks(&three, &order, 0, doubt).iter().map(|ask| (ask.canary, ask.variant)).collect();
        assert_eq!(asked, expected, "{sentence}");
    }

    let mut asked = vec![PlannedAsk::new(0, Turn::Scheduled, reworded), PlannedAsk::new(2, Turn::Scheduled, plain)];
    ask_twice(&mut asked, false);
    let asked: Vec<_> = asked.iter().map(|ask| (ask.canary, ask.variant)).collect();
    assert_eq!(asked, [(0, reworded), (2, plain), (2, plain)], "one question twice is the very question");
}
