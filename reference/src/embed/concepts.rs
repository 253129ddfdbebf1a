//! Words for the same thing: what a trained model would have learnt, written down.
//!
//! A line is a concept and its wordings; two words joined by `_` are a phrase. The table holds the
//! trade of this documentation and some everyday words beside it, since people ask in their own.

use std::collections::HashMap;
use std::sync::LazyLock;

#[cfg(feature = "figures")]
use crate::text::concepts;
use crate::text::words as text;

/// Concepts that a text speaks of, by its stems in their order; a concept comes once per mention.
pub fn of(stems: &[String]) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (at, stem) in stems.iter().enumerate() {
        found.extend(WORDINGS.get(stem.as_str()).into_iter().flatten());
        if let Some(next) = stems.get(at + 1) {
            found.extend(of_phrase(stem, next));
        }
    }
    found
}

/// Concepts that two stems name together and neither names alone.
pub fn of_phrase(stem: &str, next: &str) -> &'static [&'static str] {
    WORDINGS.get(format!("{stem} {next}").as_str()).map_or(&[], Vec::as_slice)
}

static WORDINGS: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut wordings = HashMap::<String, Vec<&'static str>>::new();
    for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some((concept, words)) = line.split_once(':') else { continue };
        for wording in words.split_whitespace() {
            let stems: Vec<String> = wording.split('_').map(text::stem).collect();
            let entry = wordings.entry(stems.join(" ")).or_default();
            if !entry.contains(&concept) {
                entry.push(concept);
            }
        }
    }
    // The manuals' trade is a table of its own, which their generator shares.
    #[cfg(feature = "figures")]
    for concept in concepts::concepts() {
        for wording in concept {
            wordings.entry(text::stem(wording)).or_default().push(concept[0]);
        }
    }
    wordings
});

const TABLE: &str = "
slowness: slow latency sluggish lag delay tardy crawl dawdle molasses snail
speed: fast quick rapid swift speedy brisk
coldness: cold warm warming warmup thaw chilly frosty preheat lukewarm
restart: restart reboot relaunch respawn bounce
death: crash die dead death perish collapse killed demise deceased
money: cost price fee expensive bill invoice spend budget pay charge pricey dollar euro cash cheap wallet
credential: token credential password bearer passphrase login passcode
expiry: expire expiry expiration lapse validity
rotation: rotate rotation renew replace swap
emptiness: empty nothing blank void hollow barren
wrongness: wrong incorrect mistaken erroneous bogus
alerting: alert page pager notify notification wake alarm buzz summon ring
night: night midnight asleep sleep nocturnal bedtime dawn
person: human person people engineer operator someone staff colleague teammate
storage: database store storage disk sqlite drive
pooling: pool permit saturated saturation exhausted exhaustion drained
connection: connection link hookup
waiting: queue wait waiting backlog
cutting: chunk chunking piece fragment split segment slice portion carve
prose: sentence paragraph prose wording
heading: heading title caption headline
overlap: overlap overlapping repeated
embedding: embedding vector embed embedder
likeness: similar similarity cosine closeness resemblance alike nearness
model: model weights
mismatch: mismatch incompatible foreign alien swapped
ordering: rank ranking order ordering sort sorted placing
merging: fuse fusion merge combine blend unify mingle marry
lexical: keyword lexical bm25 vocabulary
question: question query ask inquiry
answer: answer reply response
caching: cache cached caching stash memo
age: stale old outdated obsolete aged ancient dusty freshness
deletion: delete remove erase purge discard wipe obliterate
backup: backup restore snapshot copy recovery salvage rescue spare
fullness: full space capacity room
limit: limit cap ceiling maximum bound quota threshold
bigness: large big oversized huge bulky enormous
probing: test check verify probe canary trial
document: document file article manual
tongue: language english german french swedish translation multilingual tongue
health: health healthy wellbeing fitness
timetable: schedule interval periodic timer timetable
network: network socket tcp port wire
encryption: tls certificate encrypt encrypted cipher
permission: permission access authorised forbidden denied authorisation entitled
privacy: privacy personal redact redacted confidential sensitive private intimate
change: change drift modify alter edit amend
contract: schema shape contract signature
beginner: guide tutorial learn novice beginner newcomer
ownership: owner responsible team
silence: silence mute hush
incident: incident outage trouble disaster calamity mishap
mending: fix mend repair remedy cure patch
chance: random randomness seed deterministic reproducible dice luck
togetherness: concurrent parallel simultaneous simultaneously
locking: lock exclusive mutex
upgrade: upgrade version migrate migration release
stopping: stop shutdown halt graceful
logging: log logs logged journal diary
invention: hallucinate hallucination invent invented fabricate fabrication fiction fib lie
table: table row column spreadsheet
source_code: function code snippet program programming
picture: image picture diagram photo drawing
legal: law legal regulation gdpr lawyer court
customer: customer client consumer buyer
escalation: escalate escalation superior boss
holiday: holiday vacation leave absence
weekday: weekend saturday sunday
remote: provider vendor supplier hosted
retrying: retry retries retried reattempt
throttle: throttle throttled rate overload
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_words_are_the_same_concept() {
        let of_text = |text: &str| of(&text::content_stems(text));
        assert_eq!(of_text("slow"), of_text("sluggish"));
        assert_eq!(of_text("restarted"), of_text("reboots"));
        assert!(of_text("sourdough").is_empty());
        #[cfg(feature = "figures")]
        assert_eq!(of_text("a rattle of the impeller"), of_text("jangle in the rotor"));
    }

    #[cfg(feature = "figures")]
    #[test]
    fn the_two_tables_do_not_mix() {
        for wording in concepts::concepts().flatten() {
            assert_eq!(of(&text::content_stems(wording)).len(), 1, "{wording} is one concept");
        }
    }
}
