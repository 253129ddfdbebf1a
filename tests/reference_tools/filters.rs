//! Which sources may answer, how good a hit must be, and how much the context may hold.

use serde_json::{Value, json};

use crate::served::{Served, hits, sources};

/// Source, kind, collection, tags, day.
type Manual = (&'static str, &'static str, &'static str, &'static [&'static str], Option<&'static str>);

/// Six that say the same.
const MANUALS: &[Manual] = &[
    ("de/anchor.md", "manual", "harbour", &["public", "sea"], Some("2026-01-15")),
    ("de/bollard.md", "manual", "harbour", &["public"], Some("2026-03-01")),
    ("de/crane.md", "note", "yard", &["sea"], Some("2026-03-02")),
    ("en/anchor.md", "manual", "harbour", &["sea"], Some("2026-06-30")),
    ("en/dock.md", "note", "harbour", &["public", "sea"], None),
    ("en/engine.md", "report", "", &[], Some("2026-12-24")),
];

async fn manuals(server: &Served) {
    for (source, kind, collection, tags, date) in MANUALS {
        let text = format!("# {source}\nThe mooring line is checked for wear before each landing, says {source}.");
        let document = json!({"source": source, "source_type": kind, "collection": collection, "tags": tags,
            "date": date, "text": text});
        server.index(document).await;
    }
}

#[tokio::test]
async fn filters_narrow_alone_and_together() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::in_folder(folder.path(), &[]);
    manuals(&server).await;
    let check = async |says: &str, filter: Value, expected: &[&str]| {
        let mut asked = json!({"query": "is the mooring line checked for wear", "top_k": 20});
        asked.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        let found = server.search(asked).await;
        assert_eq!(sources(&found), expected, "{says}: {found}");
    };
    let all = MANUALS.iter().map(|manual| manual.0).collect::<Vec<_>>();
    check("none", json!({}), &all).await;
    check("a folder", json!({"source": "en/"}), &["en/anchor.md", "en/dock.md", "en/engine.md"]).await;
    check("a beginning is no pattern", json!({"source": "%anchor"}), &[]).await;
    check("a collection", json!({"collection": "yard"}), &["de/crane.md"]).await;
    check("a part of a collection's name", json!({"collection": "harb"}), &[]).await;
    check("a tag", json!({"tags": ["public"]}), &["de/anchor.md", "de/bollard.md", "en/dock.md"]).await;
    check("all of the tags", json!({"tags": ["sea", "public"]}), &["de/anchor.md", "en/dock.md"]).await;
    check(
        "one of the kinds",
        json!({"source_types": ["note", "report"]}),
        &["de/crane.md", "en/dock.md", "en/engine.md"],
    )
    .await;
    check(
        "from a day on, that day included",
        json!({"since": "2026-03-02"}),
        &["de/crane.md", "en/anchor.md", "en/engine.md"],
    )
    .await;
    check("up to a day, that day included", json!({"until": "2026-03-01"}), &["de/anchor.md", "de/bollard.md"]).await;
    let spring = json!({"since": "2026-03-01", "until": "2026-06-30"});
    check("between days", spring, &["de/bollard.md", "de/crane.md", "en/anchor.md"]).await;
    check("a day that is over before it begins", json!({"since": "2026-06-30", "until": "2026-03-01"}), &[]).await;
    let together = json!({"source": "de/", "collection": "harbour", "tags": ["public"], "source_types": ["manual"],
        "since": "2026-02-01", "until": "2026-12-31"});
    check("all together", together.clone(), &["de/bollard.md"]).await;
    for (part, other, expected) in [
        ("source", json!("en/"), [].as_slice()),
        ("collection", json!("yard"), &[]),
        ("tags", json!(["sea"]), &[]),
        ("source_types", json!(["note"]), &[]),
        ("since", json!("2026-01-01"), &["de/anchor.md", "de/bollard.md"]),
        ("until", json!("2026-02-28"), &[]),
    ] {
        let mut changed = together.clone();
        changed[part] = other;
        check(&format!("all together, with another {part}"), changed, expected).await;
    }
}

#[tokio::test]
async fn a_source_that_is_indexed_again_has_its_new_facts() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::in_folder(folder.path(), &[]);
    let document = json!({"source": "a.md", "text": "The mooring line is checked for wear.", "tags": ["old"],
        "date": "2026-01-15", "collection": "old", "source_type": "old", "volatility": "live"});
    assert_eq!(server.index(document.clone()).await["unchanged"], false);
    assert_eq!(server.index(document.clone()).await["unchanged"], true);
    let mut now = document;
    for (part, value, filter) in [
        ("tags", json!(["new"]), json!({"tags": ["new"]})),
        ("date", json!("2026-11-21"), json!({"since": "2026-11-21"})),
        ("collection", json!("new"), json!({"collection": "new"})),
        ("source_type", json!("new"), json!({"source_types": ["new"]})),
    ] {
        let mut asked = filter;
        asked["query"] = json!("mooring line");
        assert_eq!(sources(&server.search(asked.clone()).await), [""; 0], "not yet by its {part}");
        now[part] = value;
        assert_eq!(server.index(now.clone()).await["unchanged"], false, "its {part} is another");
        assert_eq!(sources(&server.search(asked).await), ["a.md"], "and it is found by its {part}");
    }
}

#[tokio::test]
async fn a_hit_below_the_bar_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::in_folder(folder.path(), &[]);
    manuals(&server).await;
    server.index(json!({"source": "tea.md", "text": "# Tea\nThe line before the tea counter is long."})).await;
    let ask = async |min_score: f64| {
        let asked = json!({"query": "The mooring line is checked", "top_k": 20, "min_score": min_score});
        let found = server.search(asked).await;
        hits(&found).iter().map(|hit| hit["score"].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let mut scores = ask(0.0).await;
    assert_eq!(scores.len(), MANUALS.len() + 1, "nothing is left out at 0");
    scores.sort_by(f64::total_cmp);
    for bar in [scores[0] + 0.0001, scores[3], 0.999] {
        let above = scores.iter().filter(|score| **score >= bar).count();
        let left = ask(bar).await;
        assert_eq!(left.len(), above, "at {bar} of {scores:?}");
        assert!(left.iter().all(|score| *score >= bar), "{left:?} at {bar}");
    }
}

#[tokio::test]
async fn a_context_keeps_to_its_budget_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::in_folder(folder.path(), &[]);
    for number in 1..=8 {
        let rest =
            "Each strand is felt along its whole length, and whatever is soft is cut out and spliced. ".repeat(5);
        let text = format!("Rope number {number} is checked for wear. {rest}");
        server.index(json!({"source": format!("rope-{number}.md"), "text": text})).await;
    }
    let check = async |budget: u32, truncated: bool| {
        let asked = json!({"query": "which rope is checked for wear", "top_k": 8, "budget_tokens": budget});
        let data = server.search(asked).await["data"].take();
        let used = data["tokens_used"].as_u64().unwrap();
        assert!(used > 0 && used <= u64::from(budget), "{used} of {budget}");
        assert_eq!(data["truncated"], truncated, "at {budget}: {used} are used");
        assert_eq!(data["total_results"], 8, "the hits themselves all come");
        data["context"].as_str().unwrap().matches("[Source: ").count()
    };
    assert_eq!(check(200, true).await, 1);
    assert_eq!(check(600, true).await, 5);
    assert_eq!(check(4_000, false).await, 8);
}
