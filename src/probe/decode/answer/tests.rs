use proptest::prelude::{any, proptest};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{at, read};
use crate::domain::monitor::{Search, SearchFields};

fn search() -> Search {
    Search {
        tool: None,
        query: "query".to_owned(),
        arguments: std::collections::BTreeMap::new(),
        results: None,
        fields: SearchFields::default(),
        per_beat: 2,
    }
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

proptest! {
    #[test]
    fn arbitrary_text_never_panics(said in any::<String>(), source in any::<String>()) {
        let _ = seen(&text(&said), &search());
        let _ = seen(&structured(json!({"results": [{"text": said, "source": source}]})), &search());
    }
}
