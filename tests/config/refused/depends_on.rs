//! `depends_on`: monitors that are not there, addresses that are none, circles with every place.

use serin::domain::depends_on::Parent;

use crate::{faults, lines, loaded};

/// Monitors `a`, `b` and `c`, and what each of them depends on.
fn file(depends_on: [&str; 3]) -> String {
    let monitor = |(id, parents): (&str, &str)| {
        let parents = if parents.is_empty() { String::new() } else { format!(", depends_on: {parents}") };
        format!("  - {{ id: {id}, url: \"http://{id}/\"{parents} }}\n")
    };
    let monitors: String = ["a", "b", "c"].into_iter().zip(depends_on).map(monitor).collect();
    format!("version: 1\nmonitors:\n{monitors}")
}

#[test]
fn what_cannot_be_depended_on_is_said_with_its_places() {
    let rows: [(&str, [&str; 3], &[&str], &str); 7] = [
        (
            "a monitor that nobody declares",
            ["", "[vectors]", ""],
            &[
                "4:45 monitor 'b' depends on 'vectors', which no file declares => name another monitor by its id, or an address such as https://db.example.org/health",
            ],
            "",
        ),
        (
            "itself",
            ["", "[b]", ""],
            &[
                "4:45 monitors depend on each other in a circle: b → b => leave one of them out: what is a circle is down together",
            ],
            "",
        ),
        (
            "a circle of three, once",
            ["[c]", "[a]", "[b]"],
            &[
                "4:45 monitors depend on each other in a circle: a → c → b → a => leave one of them out: what is a circle is down together",
            ],
            "'c' is depended on here",
        ),
        (
            "a circle that another leads to",
            ["[b]", "[c]", "[b]"],
            &[
                "5:45 monitors depend on each other in a circle: b → c → b => leave one of them out: what is a circle is down together",
            ],
            "'c' is depended on here",
        ),
        (
            "twice",
            ["", "[a, a]", ""],
            &["4:48 monitor 'b' depends twice on 'a' => leave one out"],
            "named here already",
        ),
        (
            "no list",
            ["", "a", ""],
            &[
                "4:44 'depends_on' of monitor 'b' takes a list, and this is a single value => put it into brackets: `[…]`",
            ],
            "",
        ),
        ("no address", ["", "[\"ftp://db/\"]", ""], &["4:45 "], "http"),
    ];
    for (sentence, depends_on, expected, note) in rows {
        let faults = faults(&file(depends_on));
        let found = lines(&faults);
        assert_eq!(found.len(), expected.len(), "{sentence}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{sentence}: {found}");
        }
        assert!(faults.to_string().contains(note), "{sentence}: {faults}");
    }
}

#[test]
fn ids_and_addresses_are_told_apart() {
    let fleet = &loaded(&file(["", "[a, \"https://db.example.org/health\"]", "[a, b]"])).fleet;
    let parents = &fleet.monitors[1].depends_on;
    assert_eq!(parents[0], Parent::Monitor("a".to_owned()));
    assert!(matches!(&parents[1], Parent::Address(address) if address.shown == "https://db.example.org/health"));
    assert_eq!(fleet.monitors[2].depends_on.len(), 2, "two ways to one are no circle");
}
