use super::changes;
use serde_json::{Value, json};

fn search(schema: Value) -> Value {
    json!({"name": "search", "inputSchema": schema})
}

fn check(sentence: &str, before: Value, now: Value, expected: &[&str]) {
    let mut found: Vec<String> = changes(&[before], &[now])
        .into_iter()
        .map(|change| format!("{}: {}", change.class.slug(), change.what))
        .collect();
    found.sort();
    assert_eq!(found, expected, "{sentence}");
}

fn arguments(sentence: &str, before: Value, now: Value, expected: &[&str]) {
    check(sentence, search(json!({"properties": before})), search(json!({"properties": now})), expected);
}

fn argument(sentence: &str, before: Value, now: Value, expected: &[&str]) {
    arguments(sentence, json!({"x": before}), json!({"x": now}), expected);
}

#[test]
fn no_line_is_longer_than_a_line() {
    let schema = |kind: &str| search(json!({"properties": {"q": {"type": kind.repeat(100_000)}}}));
    for change in changes(&[schema("a")], &[schema("b\n")]) {
        assert!(
            change.what.chars().count() <= crate::tool_lists::schema_diff::WHAT_CHARS_MAX + 1,
            "{} characters",
            change.what.len()
        );
        assert!(!change.what.contains('\n'), "one line");
    }
}

#[test]
fn tools_come_and_go() {
    let lines = |before: &[&str], now: &[&str]| -> Vec<String> {
        let tools = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
        changes(&tools(before), &tools(now)).iter().map(|one| format!("{} {}", one.class.slug(), one.line())).collect()
    };
    assert_eq!(lines(&["a", "b"], &["b", "a"]), [""; 0], "order is nothing");
    assert_eq!(lines(&["a", "b"], &["b", "c"]), ["breaking a: the tool is gone", "compatible c: the tool is new"]);
}

#[test]
fn arguments_come_go_and_become_required() {
    let text = || json!({"type": "string"});
    arguments(
        "a new optional one",
        json!({}),
        json!({"lang": text()}),
        &["compatible: argument `lang` is new and optional"],
    );
    arguments("one less", json!({"lang": text()}), json!({}), &["breaking: argument `lang` is gone"]);
    let schema = |required: Value| search(json!({"properties": {"q": text()}, "required": required}));
    check("now required", schema(json!([])), schema(json!(["q"])), &["breaking: argument `q` is now required"]);
    check("no longer", schema(json!(["q"])), schema(json!([])), &["compatible: argument `q` is no longer required"]);
    check(
        "new and required at once",
        search(json!({"properties": {}})),
        schema(json!(["q"])),
        &["breaking: argument `q` is new and required"],
    );
    check(
        "required without being described",
        search(json!({"properties": {}})),
        search(json!({"properties": {}, "required": ["q"]})),
        &["breaking: argument `q` is now required"],
    );
    check(
        "what is not listed is refused",
        search(json!({"properties": {}})),
        search(json!({"properties": {}, "additionalProperties": false})),
        &["breaking: arguments that are not listed are now refused"],
    );
    check(
        "and taken again",
        search(json!({"additionalProperties": false})),
        search(json!({})),
        &["compatible: arguments that are not listed are now taken"],
    );
}

#[test]
fn values_are_narrowed_and_widened() {
    let x = |class: &str, what: &str| format!("{class}: argument `x`{what}");
    let rows = [
        (
            json!({"type": "number"}),
            json!({"type": "integer"}),
            x("breaking", " is now of type integer, number before"),
        ),
        (
            json!({"type": "integer"}),
            json!({"type": "number"}),
            x("compatible", " is now of type number, integer before"),
        ),
        (json!({"type": "string"}), json!({"type": "array"}), x("breaking", " is now of type array, string before")),
        (
            json!({"type": "string"}),
            json!({"type": ["string", "null"]}),
            x("compatible", " is now of type string or null, string before"),
        ),
        (json!({}), json!({"type": "string"}), x("breaking", " is now of type string, any before")),
        (json!({"enum": ["a", "b"]}), json!({"enum": ["a"]}), x("breaking", " no longer takes \"b\"")),
        (json!({"enum": ["a"]}), json!({"enum": ["a", "b"]}), x("compatible", " now also takes \"b\"")),
        (json!({}), json!({"enum": ["a", "b"]}), x("breaking", " has to be one of \"a\", \"b\" now")),
        (json!({"const": 1}), json!({}), x("compatible", " is no longer held to a list of values")),
        (json!({"maximum": 50}), json!({"maximum": 20}), x("breaking", ": maximum 50 → 20")),
        (json!({"maximum": 20}), json!({"maximum": 50}), x("compatible", ": maximum 20 → 50")),
        (json!({}), json!({"maxLength": 9}), x("breaking", ": maxLength none → 9")),
        (json!({"minimum": 1}), json!({"minimum": 0}), x("compatible", ": minimum 1 → 0")),
        (json!({}), json!({"pattern": "^a"}), x("breaking", ": pattern none → \"^a\"")),
        (json!({"pattern": "^a"}), json!({"pattern": "^b"}), x("breaking", ": pattern \"^a\" → \"^b\"")),
        (json!({"format": "uri"}), json!({}), x("compatible", ": format \"uri\" → none")),
        (json!({"default": 5}), json!({"default": 10}), x("compatible", ": default 5 → 10")),
        (json!({"description": "a"}), json!({"description": "b"}), x("wording", ": description changed: “a” → “b”")),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"type": "string"}),
            x("breaking", " no longer takes null"),
        ),
        (
            json!({"type": "integer"}),
            json!({"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]}),
            x("breaking", ": maximum none → 9"),
        ),
    ];
    for (before, now, expected) in rows {
        let sentence = format!("{before} → {now}");
        let found =
            changes(&[search(json!({"properties": {"x": before}}))], &[search(json!({"properties": {"x": now}}))]);
        let lines: Vec<String> =
            found.iter().map(|change| format!("{}: {}", change.class.slug(), change.what)).collect();
        assert!(lines.contains(&expected), "{sentence}: {lines:?}");
    }
    argument(
        "5 and 5.0 are one bound",
        json!({"maximum": 5}),
        json!({"maximum": 5.0}),
        &["compatible: something changed that is neither a text nor a schema"],
    );
}

#[test]
fn places_are_named_however_deep() {
    let deep = |maximum: u32| json!({"type": "array", "items": {"properties": {"n": {"maximum": maximum}}}});
    argument("inside a list", deep(9), deep(8), &["breaking: argument `x[].n`: maximum 9 → 8"]);
    let by_reference = |maximum: u32| {
        search(json!({"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"maximum": maximum}}}))
    };
    check("behind a reference", by_reference(9), by_reference(8), &["breaking: argument `x`: maximum 9 → 8"]);
}

#[test]
fn an_answer_breaks_the_other_way_round() {
    let output = |schema: Value| json!({"name": "search", "outputSchema": schema});
    let with = |fields: Value| output(json!({"properties": fields, "required": ["a"]}));
    let (a, b) = (json!({"type": "string"}), json!({"type": ["string", "null"]}));
    check(
        "a field less",
        with(json!({"a": a, "b": a})),
        with(json!({"a": a})),
        &["breaking: output field `b` is gone"],
    );
    check(
        "a field more",
        with(json!({"a": a})),
        with(json!({"a": a, "b": a})),
        &["compatible: output field `b` is new and optional"],
    );
    check(
        "a field that may be null now",
        with(json!({"a": a})),
        with(json!({"a": b})),
        &["breaking: output field `a` is now of type string or null, string before"],
    );
    check(
        "a field that may be missing now",
        with(json!({"a": a})),
        output(json!({"properties": {"a": a}})),
        &["breaking: output field `a` is no longer required"],
    );
    check("no schema any more", with(json!({})), json!({"name": "search"}), &["breaking: the output schema is gone"]);
}

#[test]
fn texts_hints_and_the_rest() {
    let tool = |key: &str, value: Value| json!({"name": "search", key: value});
    let long = |end: &str| json!(format!("Searches all the documents that were ever indexed {end}"));
    check(
        "a description, from where it differs",
        tool("description", long("today")),
        tool("description", long("once")),
        &["wording: description changed: “…ver indexed today” → “…ver indexed once”"],
    );
    check(
        "a hint",
        tool("annotations", json!({"readOnlyHint": true})),
        tool("annotations", json!({"readOnlyHint": false})),
        &["compatible: hint `readOnlyHint`: true → false"],
    );
    check("a vendor's field", tool("vendor", json!(1)), tool("vendor", json!(2)), &["compatible: `vendor` changed"]);
}

#[test]
fn a_list_made_to_unfold_without_end_is_compared_in_bounded_work() {
    let bomb = |leaf: u32| {
        let mut defs = serde_json::Map::new();
        for level in 0..20 {
            let properties: serde_json::Map<String, Value> =
                (0..20).map(|n| (format!("p{n}"), json!({"$ref": format!("#/$defs/d{}", level + 1)}))).collect();
            defs.insert(format!("d{level}"), json!({"properties": properties}));
        }
        defs.insert("d20".to_owned(), json!({"maximum": leaf}));
        search(json!({"$ref": "#/$defs/d0", "$defs": defs}))
    };
    let found = changes(&[bomb(1)], &[bomb(2)]);
    assert!(found.iter().any(|change| change.what.contains("too intricate")), "{found:?}");
}
