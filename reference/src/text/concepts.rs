//! The trade of the fictional manuals: what a passage can be about, each thing in three wordings.
//!
//! The generator writes the first wording into a text and asks with the other two; the built-in
//! embedder learns all three as one concept. It stands here, below both, so that they cannot part.
//! Wordings are used exactly as written, so a stem belongs to one concept only.

/// Wordings of one concept: the text's own, then two that only questions use.
pub type Wordings = [&'static str; 3];

/// What a passage is made of: one concept of each slot.
pub const SLOTS: [(&str, [Wordings; CONCEPTS]); 5] =
    [("part", PARTS), ("symptom", SYMPTOMS), ("condition", CONDITIONS), ("place", PLACES), ("remedy", REMEDIES)];
/// Concepts in a slot: a power of two, so that the bits of a number choose them.
pub const CONCEPTS: usize = 16;

const PARTS: [Wordings; CONCEPTS] = [
    ["impeller", "rotor", "propeller"],
    ["gasket", "seal", "grommet"],
    ["hose", "tube", "pipe"],
    ["nozzle", "spout", "spigot"],
    ["axle", "spindle", "shaft"],
    ["filter", "strainer", "sieve"],
    ["motor", "dynamo", "powerplant"],
    ["sensor", "detector", "feeler"],
    ["lamp", "bulb", "lantern"],
    ["keypad", "buttons", "keyboard"],
    ["display", "screen", "panel"],
    ["battery", "accumulator", "cell"],
    ["fan", "blower", "ventilator"],
    ["housing", "casing", "enclosure"],
    ["lever", "handle", "crank"],
    ["belt", "strap", "band"],
];

const SYMPTOMS: [Wordings; CONCEPTS] = [
    ["rattle", "clatter", "jangle"],
    ["leak", "drip", "seepage"],
    ["overheating", "scorching", "swelter"],
    ["vibration", "tremor", "shudder"],
    ["blockage", "clog", "congestion"],
    ["smell", "odour", "stench"],
    ["smoke", "fumes", "vapour"],
    ["flicker", "blink", "twinkle"],
    ["squeal", "screech", "shriek"],
    ["corrosion", "rust", "tarnish"],
    ["crack", "fracture", "rupture"],
    ["bulge", "swelling", "bloat"],
    ["wobble", "sway", "teeter"],
    ["spark", "flash", "arc"],
    ["puncture", "perforation", "pinhole"],
    ["hum", "drone", "whirr"],
];

const CONDITIONS: [Wordings; CONCEPTS] = [
    ["rain", "drizzle", "downpour"],
    ["grit", "sand", "powder"],
    ["humidity", "moisture", "damp"],
    ["altitude", "elevation", "mountain"],
    ["sunshine", "daylight", "glare"],
    ["transport", "freight", "haulage"],
    ["washing", "scrubbing", "rinsing"],
    ["standstill", "idleness", "inactivity"],
    ["lightning", "thunder", "storm"],
    ["summer", "heatwave", "july"],
    ["winter", "snow", "blizzard"],
    ["brine", "saltwater", "seawater"],
    ["stacking", "piling", "heaping"],
    ["welding", "soldering", "brazing"],
    ["lacquering", "varnishing", "enamelling"],
    ["milling", "grinding", "drilling"],
];

const PLACES: [Wordings; CONCEPTS] = [
    ["kitchen", "galley", "cookhouse"],
    ["cellar", "basement", "vault"],
    ["attic", "loft", "garret"],
    ["garage", "carport", "shed"],
    ["barn", "byre", "cowshed"],
    ["ship", "boat", "vessel"],
    ["hospital", "clinic", "infirmary"],
    ["school", "college", "academy"],
    ["tunnel", "underpass", "subway"],
    ["laundry", "washhouse", "launderette"],
    ["greenhouse", "conservatory", "hothouse"],
    ["harbour", "dock", "quay"],
    ["quarry", "mine", "pit"],
    ["theatre", "playhouse", "auditorium"],
    ["brewery", "distillery", "winery"],
    ["airport", "airfield", "aerodrome"],
];

const REMEDIES: [Wordings; CONCEPTS] = [
    ["lubrication", "oiling", "greasing"],
    ["tightening", "fastening", "bracing"],
    ["calibration", "adjustment", "tuning"],
    ["flushing", "sluicing", "swilling"],
    ["deaeration", "bleeding", "venting"],
    ["insulation", "padding", "cladding"],
    ["polishing", "buffing", "burnishing"],
    ["grounding", "earthing", "bonding"],
    ["shimming", "wedging", "packing"],
    ["balancing", "counterweight", "equalising"],
    ["descaling", "decalcifying", "limescale"],
    ["annealing", "tempering", "hardening"],
    ["gluing", "cementing", "sticking"],
    ["trimming", "clipping", "shortening"],
    ["dismantling", "disassembly", "teardown"],
    ["disinfection", "sterilising", "sanitising"],
];

/// Every concept of every slot.
pub fn concepts() -> impl Iterator<Item = &'static Wordings> {
    const ALL: &[(&str, [Wordings; CONCEPTS])] = &SLOTS;
    ALL.iter().flat_map(|(_, concepts)| concepts.iter())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::text::words;

    #[test]
    fn a_stem_belongs_to_one_wording() {
        let mut seen = HashMap::<String, &str>::new();
        for wording in concepts().flatten() {
            let stems = words::content_stems(wording);
            assert_eq!(stems.len(), 1, "{wording} is one word that says something");
            if let Some(other) = seen.insert(stems[0].clone(), wording) {
                panic!("{wording} and {other} have one stem");
            }
        }
        assert_eq!(seen.len(), SLOTS.len() * CONCEPTS * 3);
    }
}
