use proptest::prelude::{any, proptest};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Reader, at, read, read_whole};
use crate::domain::search::{Search, SearchFields};
use crate::domain::wanted::{Pattern, TextSigns};

fn search() -> Search {
    Search { per_beat: 2, ..Search::default() }
}

fn seen(result: &Value, search: &Search) -> String {
    let raw = RawValue::from_string(result.to_string()).unwrap();
    match read(&raw, search) {
        Ok(answer) => {
            let hits: Vec<String> = answer
                .hits
                .iter()
                .map(|hit| format!("{}@{}#{}", hit.source, hit.score.unwrap_or(-1.0), hit.excerpt))
                .collect();
            let mut text = hits.join(" ");
            if let Some(total) = answer.total {
                text += &format!(" of {total}");
            }
            for said in answer.self_reported {
                text += &format!(" [{said}]");
            }
            text
        }
        Err(misfit) => format!("{:?}: {}", misfit.kind, misfit.detail),
    }
}

fn structured(value: Value) -> Value {
    json!({"content": [], "structuredContent": value})
}

fn text(value: &str) -> Value {
    json!({"content": [{"type": "text", "text": value}]})
}

fn check(sentence: &str, result: &Value, expected: &str) {
    assert_eq!(seen(result, &search()), expected, "{sentence}");
}

#[test]
fn a_pointer_finds_what_the_standard_one_finds() {
    let value = json!({"a": [{"b": 1}, [2]], "x/y": 3, "m~n": 4, "": 5, "0": 6});
    for pointer in
        ["", "/", "/a", "/a/0/b", "/a/1/0", "/a/00", "/a/+1", "/a/2", "/a/-", "/x~1y", "/m~0n", "/0", "a", "/a/0/b/c"]
    {
        assert_eq!(at(&value, pointer), value.pointer(pointer), "{pointer}");
    }
}

#[test]
fn the_usual_shapes_are_found_by_themselves() {
    let first = json!({"results": [{"text": "one", "source": "a.md", "score": 0.5}], "total_results": 9});
    let second = json!({"results": [{"content": "one", "source": "a.md"}], "total_found": 9});
    let third = json!({"status": "ok", "data": {"results": [{"content": "one", "source": "a.md", "score": 1}], "total_results": 9}});
    check("results[].text", &structured(first.clone()), "a.md@0.5#one of 9");
    check("the same as text", &text(&first.to_string()), "a.md@0.5#one of 9");
    check("results[].content", &structured(second.clone()), "a.md@-1#one of 9");
    check("the same as text", &text(&second.to_string()), "a.md@-1#one of 9");
    check("the envelope", &structured(third.clone()), "a.md@1#one of 9");
    check("the same as text", &text(&third.to_string()), "a.md@1#one of 9");
    let both =
        |value: &Value| json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value});
    check("both, equal", &both(&second), "a.md@-1#one of 9");
    check("both, equal, one hit", &both(&json!({"text": "one", "path": "a"})), "a@-1#one");
    check("a list of texts", &structured(json!({"result": ["one", "two"]})), "@-1#one @-1#two");
    check("a text in a structure", &structured(json!({"result": first.to_string()})), "a.md@0.5#one of 9");
    check(
        "one block an item",
        &json!({"content": [{"type": "text", "text": "{\"text\":\"one\",\"path\":\"a\"}"},
                            {"type": "text", "text": "{\"text\":\"two\",\"path\":\"b\"}"}]}),
        "a@-1#one b@-1#two",
    );
    check(
        "a source in the metadata",
        &structured(json!({"documents": [{"page_content": "x", "metadata": {"source": "m"}}]})),
        "m@-1#x",
    );
    check("a score that is no number", &structured(json!({"results": [{"text": "x", "score": "NaN"}]})), "@-1#x");
    check("an empty list is an answer", &structured(json!({"results": [], "message": "No results"})), "");
    check("a hit without anything", &structured(json!({"results": [null]})), "@-1#");
}

#[test]
fn an_answer_that_is_none_says_why() {
    check(
        "isError",
        &json!({"isError": true, "content": [{"type": "text", "text": "pool\nexhausted"}]}),
        "ToolError: the tool answered isError: pool exhausted",
    );
    check(
        "an envelope of error",
        &structured(
            json!({"status": "error", "error_code": "INDEX_MISSING", "error_message": "index it", "data": {"results": []}}),
        ),
        "ToolError: the answer's envelope says error: INDEX_MISSING: index it",
    );
    check(
        "success: false",
        &text(r#"{"success": false, "message": "no"}"#),
        "ToolError: the answer's envelope says error: no",
    );
    check("bare text", &text("Nothing found."), "AnswerUnreadable: no list of results in the answer: Nothing found.");
    check("no content", &json!({"content": []}), "AnswerUnreadable: no list of results in the answer: ");
    assert!(seen(&json!([1]), &search()).starts_with("BadResult"), "no tools/call result");
}

#[test]
fn what_a_server_admits_is_kept() {
    check("degraded", &structured(json!({"results": [], "degraded": true, "partial": false})), " [degraded: true]");
    check(
        "inside the envelope",
        &structured(json!({"data": {"results": [], "degraded_scopes": ["x"]}})),
        " [degraded_scopes: [\"x\"]]",
    );
    check("truncated is normal life", &structured(json!({"results": [], "truncated": true})), "");
}

#[test]
fn pointers_take_the_place_of_the_usual_names() {
    let mut search = search();
    search.results = Some("/answer/list".to_owned());
    search.fields = SearchFields {
        source: Some("/where/0".to_owned()),
        content: Some("/what".to_owned()),
        score: Some("/how".to_owned()),
        total: Some("/answer/n".to_owned()),
    };
    let answer = json!({"answer": {"list": [{"where": ["a.md"], "what": "one", "how": 2, "source": "wrong"}], "n": 4}});
    assert_eq!(seen(&structured(answer), &search), "a.md@2#one of 4");
    let other = structured(json!({"results": [{"text": "one"}]}));
    assert_eq!(seen(&other, &search), "AnswerUnreadable: no list at /answer/list in the answer: ");
}

#[test]
fn parts_that_stand_side_by_side_become_results() {
    let fields = |source: &str, content: &str, score: &str| SearchFields {
        source: Some(source.to_owned()),
        content: Some(content.to_owned()),
        score: Some(score.to_owned()),
        total: None,
    };
    let by_columns = Search { by_columns: true, fields: fields("/ids/0", "/documents/0", "/distances/0"), ..search() };
    let rows = [
        (
            json!({"ids": [["a", "b"]], "documents": [["one", "two"]], "distances": [[0.1, 0.2]]}),
            "a@0.1#one b@0.2#two",
            "a list each",
        ),
        (json!({"ids": [["a", "b"]], "documents": [["one"]]}), "a@-1#one b@-1#", "one is shorter, one is missing"),
        (json!({"ids": [[]], "documents": [[]]}), "", "nothing found"),
        (
            json!({"other": 1}),
            "AnswerUnreadable: none of the declared columns in the answer: ",
            "no column is where it should be",
        ),
    ];
    for (value, expected, sentence) in rows {
        assert_eq!(seen(&structured(value), &by_columns), expected, "{sentence}");
    }
    let by_place = Search { results: Some("/rows".to_owned()), fields: fields("/0", "/1", "/2"), ..search() };
    let rows = structured(json!({"rows": [["a", "one", 0.5], ["b", "two", 1]]}));
    assert_eq!(seen(&rows, &by_place), "a@0.5#one b@1#two", "rows of bare values");
}

#[test]
fn a_text_tells_an_error_or_that_nothing_was_found_by_the_signs_of_the_file() {
    let pattern = |text: &str| Some(Pattern::new(text).unwrap());
    let signs = TextSigns { error: pattern("^Database error:"), empty: pattern("^No rows") };
    let search = Search { said: Some(Box::new(signs)), ..search() };
    let reader = |needs_no_list| Reader { reads_text: true, needs_no_list };
    let rows = [
        (text("Database error: no such table"), true, "ToolError", "an error told as text"),
        (text("No rows returned"), true, "nothing", "nothing, told as text"),
        (text("No rows returned"), false, "nothing", "nothing, where a list is needed"),
        (text("1. row: Database error: is a chapter"), true, "text", "a text that is neither"),
        (text("1. row"), false, "AnswerUnreadable", "a text, where a list is needed"),
        (
            text(r#"{"results": [{"text": "Database error: a chapter", "source": "a"}]}"#),
            false,
            "1 result",
            "results that speak of errors",
        ),
        (text("[]"), true, "nothing", "an empty list"),
        (json!({"content": []}), true, "nothing", "no content at all"),
        (json!({"content": []}), false, "AnswerUnreadable", "no content, where a list is needed"),
        (text("\"No rows returned\""), true, "nothing", "the same as a text of JSON"),
        (structured(json!({"result": "No rows returned"})), true, "nothing", "and as a tool's result"),
        (
            json!({"content": [{"type": "resource", "resource": {"uri": "a://b", "text": "[1. row]"}}]}),
            true,
            "text",
            "a resource has a text",
        ),
        (json!({"content": [{"type": "image", "data": "AA=="}]}), true, "AnswerUnreadable", "an image is no nothing"),
        (json!({"content": [{"type": "text", "text": " "}]}), true, "nothing", "blanks are"),
    ];
    for (result, needs_no_list, expected, sentence) in rows {
        let raw = RawValue::from_string(result.to_string()).unwrap();
        let seen = match read_whole(&raw, &search, reader(needs_no_list)).1 {
            Err(misfit) => format!("{:?}", misfit.kind),
            Ok(answer) if answer.text_only => "text".to_owned(),
            Ok(answer) if answer.hits.is_empty() => "nothing".to_owned(),
            Ok(answer) => format!("{} result", answer.hits.len()),
        };
        assert_eq!(seen, expected, "{sentence}");
    }
}

#[test]
fn what_stands_beside_a_text_speaks_of_the_answer() {
    let reader = Reader { reads_text: true, needs_no_list: true };
    let beside = |mut value: Value| {
        value["result"] = "Boilers are checked each quarter.".into();
        structured(value)
    };
    let rows = [
        (beside(json!({"partial": true, "cached": true})), "partial: true Hit", "both, beside the text"),
        (beside(json!({"meta": {"degraded": "index"}, "cache": "miss"})), "degraded: \"index\" Missed", "one deeper"),
        (beside(json!({})), " Unsaid", "nothing is said"),
        (text(r#"{"fallback": {"host": "b"}, "cached": true}"#), " Unsaid", "a document that is JSON"),
        (
            structured(json!({"result": r#"{"fallback": {"host": "b"}}"#})),
            " Unsaid",
            "the same, as the result of a tool that returns a text",
        ),
    ];
    for (result, expected, sentence) in rows {
        let raw = RawValue::from_string(result.to_string()).unwrap();
        let answer = read_whole(&raw, &search(), reader).1.unwrap();
        assert!(answer.text_only, "{sentence}");
        assert_eq!(format!("{} {:?}", answer.self_reported.join(", "), answer.cache), expected, "{sentence}");
    }
}

#[test]
fn a_text_is_judged_whole_and_as_it_came() {
    let reader = Reader { reads_text: true, needs_no_list: true };
    let python = r#"{"said": "caf\u00e9"}"#;
    let raw = RawValue::from_string(text(python).to_string()).unwrap();
    let answer = read_whole(&raw, &search(), reader).1.unwrap();
    assert_eq!(answer.text.as_deref(), Some(python), "its tokens are counted, and it is known again by its hash");
    let read = r#"{"said": "café"}"#;
    assert_eq!(answer.read.as_deref(), Some(read), "words are looked for in what people read");
    assert_eq!(super::open(&raw).unwrap().read.as_deref(), Some(read));
    let nobody = read_whole(&raw, &search(), Reader { needs_no_list: true, ..Reader::default() }).1.unwrap();
    assert_eq!(nobody.read, None, "where nobody looks, nothing is made of it");
    let two = json!({"content": [{"type": "text", "text": "found:"}, {"type": "text", "text": python}]});
    let two = RawValue::from_string(two.to_string()).unwrap();
    let answer = read_whole(&two, &search(), reader).1.unwrap();
    assert_eq!(answer.read.as_deref(), Some("found:\n{\"said\": \"café\"}"), "each block for itself");
    let blocks: Vec<Value> = (0..300).map(|nth| json!({"type": "text", "text": format!("row {nth}")})).collect();
    let raw = RawValue::from_string(json!({ "content": blocks }).to_string()).unwrap();
    let answer = read_whole(&raw, &search(), reader).1.unwrap();
    assert!(answer.text.as_deref().unwrap().ends_with("\nrow 299"), "a block at the end counts as well");
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(said in any::<String>(), source in any::<String>()) {
        let _ = seen(&text(&said), &search());
        let _ = seen(&structured(json!({"results": [{"text": said, "source": source}]})), &search());
    }
}
