//! Packs: what goes in comes out, and how small it is.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use crate::domain::answer::{CacheWord, Turn, Variant};
use crate::domain::latency::code::LatencyCode;
use crate::domain::observation::{BeatKind, Stage};
use crate::domain::outcome::{Judged, Verdict};
use crate::domain::protocol::{Era, Transport};
use crate::domain::reason::FailureReason;
use crate::domain::signal::{Level, Signal};
use crate::store::packed::pack::answer::answer_bytes;
use crate::store::packed::pack::hour::{decode, encode};
use crate::store::packed::pack::numbers::{Meanings, Numbers};
use crate::store::values::change_set::{BeatSeen, SourcesLook, StageTimes};
use crate::store::values::past::{AskShape, BeatShape, PastAnswer, PastAsk, PastBeat};

const CANARIES: [&str; 4] = ["token-life", "err-4417", "dragons", "ключ"];

fn hour() -> DateTime<Utc> {
    DateTime::from_timestamp(1_799_996_400, 0).unwrap()
}

fn numbers() -> (Numbers, Meanings) {
    let canaries = CANARIES.map(Arc::<str>::from);
    let numbers = Numbers { canaries: canaries.iter().cloned().zip(40..).collect(), ..Numbers::default() };
    let meanings = Meanings { canaries: (40..).zip(canaries).collect(), ..Meanings::default() };
    (numbers, meanings)
}

/// A durations' noise, the same on every run: some 20 % around a middle, as of a server on a network.
fn noisy(middle_us: u64, salt: u64) -> Duration {
    let draw = |salt: u64| (salt.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 1000;
    let noise = draw(salt) + draw(salt.wrapping_add(77)) + draw(salt.wrapping_add(191));
    Duration::from_micros(middle_us * (700 + noise * 2 / 5) / 1000)
}

/// All calm; while down the first is elevated and the rest not seen.
fn judged(down: bool) -> [Judged; 8] {
    let mut judged = [if down { Judged::UNKNOWN } else { Judged { level: Level::Calm, reason: None } }; 8];
    if down {
        judged[0] = Judged { level: Level::Elevated, reason: Some(FailureReason::ConnectionRefused) };
    }
    judged
}

fn answer(list: i64) -> PastAnswer {
    PastAnswer { list, scores: vec![0.91, 0.83, 0.8, 0.42, f32::NAN], lengths: vec![812, 640, 990, 77, 0] }
}

/// An hour as it is: a beat a minute, jittered, two canaries in turn, one minute of trouble.
fn usual_hour() -> Vec<PastBeat> {
    (0..60)
        .map(|minute: u64| {
            let down = minute == 17;
            let scheduled_at =
                hour() + TimeDelta::milliseconds((minute * 60_000 + noisy(1_500, minute).as_micros() as u64) as i64);
            let ask = |turn: u64| {
                let place = ((minute * 2 + turn) % 4) as usize;
                PastAsk {
                    canary: Arc::from(CANARIES[place]),
                    shape: AskShape {
                        variant: Variant::Plain,
                        turn: Turn::Scheduled,
                        fresh_connection: false,
                        verdict: "right",
                        reason: None,
                        rank: Some(1),
                        cache: CacheWord::Missed,
                    },
                    elapsed: noisy(42_000 + place as u64 * 9_000, minute * 31 + turn),
                    answer: Some(answer(9_000 + place as i64)),
                    bytes: 4_211 + place as u64,
                    tokens: Some(900),
                    self_reported: None,
                }
            };
            PastBeat {
                scheduled_at,
                started_at: scheduled_at + TimeDelta::milliseconds((minute % 7) as i64),
                shape: BeatShape {
                    kind: BeatKind::Scheduled,
                    era: Some(Era::Modern),
                    transport: Transport::Http,
                    fresh_connection: true,
                    seen: BeatSeen::Seen,
                    verdict: if down { Verdict::Down } else { Verdict::Good },
                    reason: down.then_some(FailureReason::ConnectionRefused),
                    stage: down.then_some(Stage::Connect),
                    config: 12,
                    lock: 3,
                    judged: judged(down),
                    in_maintenance: (10..20).contains(&minute),
                },
                elapsed: noisy(900, minute * 5),
                stages: if down {
                    StageTimes::default()
                } else {
                    StageTimes {
                        connect: Some(noisy(3_000, minute * 3)),
                        handshake: Some(noisy(9_000, minute * 7)),
                        tools: Some(noisy(12_000, minute * 11)),
                        health: None,
                    }
                },
                sources: (minute == 25).then(|| SourcesLook {
                    count: 812,
                    newest: Some(hour() - TimeDelta::seconds(86_400)),
                    knows_newest: true,
                }),
                asks: if down { Vec::new() } else { vec![ask(0), ask(1)] },
            }
        })
        .map(|mut beat| {
            // The whole takes little longer than its parts.
            let StageTimes { connect, handshake, tools, .. } = beat.stages;
            beat.elapsed += [connect, handshake, tools].into_iter().flatten().sum::<Duration>();
            beat.elapsed += beat.asks.iter().map(|ask| ask.elapsed).sum::<Duration>();
            beat
        })
        .collect()
}

/// What a pack keeps of a beat: moments to the hundredth of a second, durations by their step, scores by their first bits.
fn kept(beat: &PastBeat) -> PastBeat {
    let mut beat = beat.clone();
    let step = |time: &mut Duration| *time = LatencyCode::of(*time).duration();
    let StageTimes { connect, handshake, tools, health } = &mut beat.stages;
    [connect, handshake, tools, health].into_iter().flatten().for_each(step);
    step(&mut beat.elapsed);
    beat.asks.iter_mut().for_each(|ask| step(&mut ask.elapsed));
    for timestamp in [&mut beat.scheduled_at, &mut beat.started_at] {
        *timestamp = DateTime::from_timestamp_millis(timestamp.timestamp_millis() / 10 * 10).unwrap();
    }
    if let Some(newest) = beat.sources.as_mut().and_then(|sources| sources.newest.as_mut()) {
        *newest = DateTime::from_timestamp(newest.timestamp().div_euclid(60) * 60, 0).unwrap();
    }
    if beat.sources.is_none() {
        beat.shape.judged[Signal::Freshness as usize] = Judged::UNKNOWN;
    }
    for ask in &mut beat.asks {
        ask.answer = ask
            .answer
            .as_ref()
            .map(|answer| crate::store::packed::pack::answer::answer_from(&answer_bytes(answer).unwrap()).unwrap());
    }
    beat
}

/// By their texts: a score that is none is not equal to itself.
fn assert_alike(given: &[PastBeat], expected: &[PastBeat], sentence: &str) {
    assert_eq!(given.len(), expected.len(), "{sentence}");
    for (given, expected) in given.iter().zip(expected) {
        assert_eq!(format!("{given:?}"), format!("{expected:?}"), "{sentence}");
    }
}

#[test]
fn an_hour_comes_back_as_it_was_and_is_small() {
    let beats = usual_hour();
    let (mut numbers, mut meanings) = numbers();
    let expected: Vec<PastBeat> = beats.iter().map(kept).collect();
    let written_out = encode(hour(), &beats, &numbers).unwrap();
    assert_alike(&decode(hour(), &written_out).unwrap().named(&meanings).unwrap(), &expected, "answers written out");
    for place in 0..4 {
        numbers.answers.insert(answer_bytes(&answer(9_000 + place)).unwrap(), 500 + place);
        meanings.answers.insert(
            500 + place,
            expected
                .iter()
                .flat_map(|beat| &beat.asks)
                .find_map(|ask| ask.answer.clone().filter(|answer| answer.list == 9_000 + place))
                .unwrap(),
        );
    }
    let by_number = encode(hour(), &beats, &numbers).unwrap();
    assert_alike(&decode(hour(), &by_number).unwrap().named(&meanings).unwrap(), &expected, "answers by number");
    assert!(by_number.len() < 470, "an hour of 60 beats and 118 asks takes {} bytes", by_number.len());
    assert!(
        by_number.len() + 60 < written_out.len(),
        "numbers are shorter: {} against {}",
        by_number.len(),
        written_out.len()
    );
}

#[test]
fn scores_are_right_to_three_parts_in_ten_thousand() {
    for score in [0.0_f32, 1.0, -0.25, 0.912_345_6, 30.51, 1e-9, f32::MAX] {
        let kept = crate::store::packed::pack::answer::answer_from(
            &answer_bytes(&PastAnswer { list: 1, scores: vec![score], lengths: vec![] }).unwrap(),
        )
        .unwrap();
        assert!((kept.scores[0] - score).abs() <= score.abs() * 3e-4, "{score} came back as {}", kept.scores[0]);
    }
}

proptest! {
    #[test]
    fn any_hour_comes_back(seed in any::<u64>(), count in 0..40_usize) {
        let mut beats: Vec<PastBeat> = usual_hour().into_iter().take(count).collect();
        for (place, beat) in beats.iter_mut().enumerate() {
            let draw = seed.rotate_left(place as u32).wrapping_mul(place as u64 + 3);
            beat.started_at += TimeDelta::microseconds((draw % 40_000_000) as i64);
            beat.elapsed = Duration::from_micros(draw % 90_000_000);
            beat.stages.health = (draw % 3 == 0).then(|| Duration::from_nanos(draw % 1_000_000_000_000));
            beat.shape.kind = if draw % 5 == 0 { BeatKind::Suspect } else { BeatKind::Scheduled };
            beat.shape.config = (draw % 3) as i64;
            beat.shape.lock = (draw % 2) as i64;
            beat.shape.judged[(draw % 8) as usize] =
                Judged { level: Level::Elevated, reason: (draw % 3 == 0).then_some(FailureReason::SourceStale) };
            beat.sources = (draw % 4 == 0).then(|| SourcesLook {
                count: (draw >> 40) as u32,
                newest: (draw % 8 == 0).then(|| hour() - TimeDelta::seconds((draw % 100_000_000) as i64)),
                knows_newest: draw % 16 == 0,
            });
            for (turn, ask) in beat.asks.iter_mut().enumerate() {
                let draw = draw.rotate_right(turn as u32 + 9);
                ask.canary = Arc::from(CANARIES[(draw % 4) as usize]);
                ask.answer = (draw % 4 != 0).then(|| answer((draw % 1_000_000) as i64));
                ask.bytes = draw >> 20;
                ask.tokens = (draw % 2 == 0).then_some((draw >> 33) as u32);
                ask.shape.cache = CacheWord::ALL[(draw % 3) as usize];
                ask.self_reported = (draw % 5 == 0).then(|| Arc::from("partial: true\ndegraded_scopes: [\"wörter\"]"));
                ask.shape.rank = (draw % 3 == 0).then_some((draw % 77) as u32);
                ask.elapsed = Duration::from_millis(draw % 45_000);
            }
        }
        let (numbers, meanings) = numbers();
        let packed = encode(hour(), &beats, &numbers).unwrap();
        let given = decode(hour(), &packed).unwrap().named(&meanings).unwrap();
        assert_alike(&given, &beats.iter().map(kept).collect::<Vec<_>>(), "whatever the hour was");
    }

    #[test]
    fn damaged_bytes_end_in_an_error_or_in_an_hour(mut place in any::<usize>(), bit in 0..8_u32) {
        let (numbers, meanings) = numbers();
        let mut packed = encode(hour(), &usual_hour(), &numbers).unwrap();
        place %= packed.len();
        packed[place] ^= 1 << bit;
        if let Ok(read) = decode(hour(), &packed) {
            drop(read.named(&meanings));
        }
        drop(decode(hour(), &packed[..place]));
    }
}

/// Twenty beats of the usual hour, as far as a layout before this one kept them. Scores were cut, not rounded.
fn check_old(sentence: &str, layout: &str) -> Vec<PastBeat> {
    let (_, meanings) = numbers();
    let given = decode(hour(), &hex::decode(layout).unwrap()).unwrap().named(&meanings).unwrap();
    let scores = |beats: &[PastBeat]| -> Vec<f32> {
        let answers = beats.iter().flat_map(|beat| &beat.asks).filter_map(|ask| ask.answer.as_ref());
        answers.flat_map(|answer| answer.scores.clone()).collect()
    };
    let bare = |beat: &PastBeat| {
        let mut beat = kept(beat);
        (beat.shape.lock, beat.shape.judged, beat.sources) = (0, [Judged::UNKNOWN; 8], None);
        beat.shape.in_maintenance = false;
        for ask in &mut beat.asks {
            (ask.shape.cache, ask.self_reported) = (CacheWord::Unsaid, None);
            ask.answer.as_mut().unwrap().scores.clear();
        }
        beat
    };
    let usual = &usual_hour()[..20];
    for (given, usual) in scores(&given).iter().zip(scores(usual)) {
        assert!(usual.is_nan() || (given - usual).abs() <= usual * 5e-4, "{sentence}: {usual} came back as {given}");
    }
    let without_scores = |beats: &[PastBeat]| beats.iter().map(bare).collect::<Vec<_>>();
    assert_alike(&without_scores(&given), &without_scores(usual), sentence);
    given
}

#[test]
fn packs_of_older_layouts_are_still_read() {
    let given = check_old("the first layout", FIRST_LAYOUT);
    let late = given[3].started_at - given[3].scheduled_at;
    assert_eq!(late.num_milliseconds(), 3, "its moments were kept to the millisecond");
    check_old("the second layout", SECOND_LAYOUT);
    let (_, meanings) = numbers();
    let given = decode(hour(), &hex::decode(THIRD_LAYOUT).unwrap()).unwrap().named(&meanings).unwrap();
    let unknown = |beat: &PastBeat| {
        let mut beat = kept(beat);
        beat.shape.in_maintenance = false;
        beat
    };
    let usual: Vec<PastBeat> = usual_hour()[..20].iter().map(unknown).collect();
    assert_alike(&given, &usual, "the third layout knows all but maintenance");
}

/// The first twenty beats of [`usual_hour`] in the layout that packs had first.
const FIRST_LAYOUT: &str = "4150017f60001d5df440000803eb50040803eab81403017d660080001d5f0080e043876a4ce6d499cda93180838442c40000\
    033cc041c2216244230190800001ec002f7979f190671662de2891e56e9d891e9c4024801dc4ba329ce0806b726c61387306\
    b67d7ac8001facbcba51b65c7b8ea3000c61a3e236ac9c3fd8361001bffffc00876140a205302a815c0000000007043a0214\
    007f2a000465131fb479faa39fa661f6b83fe0018019680281007be04ea000465331fb479faa39fa661f6b83fe0018019680\
    281007be04ea000465531fb479faa39fa661f6b83fe0018019680281007be04ea000465731fb479faa39fa661f6b83fe0018\
    019680281007be04e81efdfe0000000000050197ae02148b6e1f0af56a5840102568a4d8029ce9d3c5000c74fa54c3a52325\
    1e00a2af4352600020e904def801c2fff0";

/// The same in the layout after that.
const SECOND_LAYOUT: &str = "61500998002ee1f814cad815aec15281e69d894538578301cd2806306c066020e110b1000000cf30107088589108c0642000\
    007b000bde5e7c6419c598b78a24795ba76247a710092007712e8ca738201adc9b184e1cc1ad9f5eb20007eb2f2e946d971e\
    e3a8c0031868f88dab270ff60d84006fffff0021d85028b6c0000000007043a0214007f2a000465131fb479faa39fa661f6b\
    83fe0018019680281007be04ea000465331fb479faa39fa661f6b83fe0018019680281007be04ea000465531fb479faa39fa\
    661f6b83fe0018019680281007be04ea000465731fb479faa39fa661f6b83fe0018019680281007be04e81efdfe000000000\
    0050197ae02148b6e1f0af56a5840102568a4d8029ce9d3c5000c74fa54c3a523251e00a2af4352600020e904def801c2fff";

/// And in the one before maintenance was known.
const THIRD_LAYOUT: &str = "20540266000bb87e0532b6056bb054a079a762514e15e0c0734a018c1b0188020e110b1000000cf33c041c221620000\
    019e6780838442c4884603213921aaa0001e03f78005ef2f3e320ce2cc5bc5123cadd3b123d388049003b89746539c100d6e\
    4d8c270e60d6cfaf590003f597974a36cb8f71d460018c347c46d59387fb06c20037ffff8010ec940a2db0000000001c10e8\
    085001bf2a000465131fb479faa41fa669f6b8bfe0018019680281007be04ea000465331fb479faa41fa669f6b8bfe001801\
    9680281007be04ea000465531fb479faa41fa669f6b8bfe0018019680281007be04ea000465731fb479faa41fa669f6b8bfe\
    0018019680281007be04e81efdfe0000000000050197ae02148b6e1f0af56a5840102568a4d8029ce9d3c5000c74fa54c3a5\
    23251e00a2af4352600020e904def801c2fff5f80";
