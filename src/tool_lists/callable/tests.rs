use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::find;

fn tool(name: &str, properties: Value, required: Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties, "required": required}})
}

fn check(sentence: &str, tools: &[Value], expected: Result<&str, &str>) {
    let seen = find(tools, None, None, &BTreeMap::new()).map(|call| {
        let arguments: Vec<String> = call.arguments.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{}({}){}", call.tool, &call.query[1..], arguments.concat())
    });
    match expected {
        Ok(call) => assert_eq!(seen.as_deref(), Ok(call), "{sentence}"),
        Err(part) => assert!(seen.as_ref().is_err_and(|why| why.contains(part)), "{sentence}: {seen:?}"),
    }
}

#[test]
fn a_strangers_search_is_found_by_its_schema() {
    let text = json!({"type": "string"});
    let query = json!({"query": text});
    check(
        "a usual name",
        &[tool("echo", json!({"text": text}), json!([])), tool("search", query.clone(), json!(["query"]))],
        Ok("search(query)"),
    );
    check(
        "another word for the question",
        &[tool("search_docs", json!({"question": text}), json!([]))],
        Ok("search_docs(question)"),
    );
    check(
        "a strange word that is the only text required",
        &[tool("search", json!({"thing": text, "lang": text}), json!(["thing"]))],
        Ok("search(thing)"),
    );
    check(
        "a list of questions",
        &[tool("chroma_query", json!({"query_texts": {"type": "array", "items": text}}), json!(["query_texts"]))],
        Ok("chroma_query(query_texts/0)"),
    );
    check(
        "the number of results is set",
        &[tool("search", json!({"query": text, "top_k": {"type": "integer", "maximum": 3}}), json!([]))],
        Ok("search(query) top_k=3"),
    );
    check(
        "a default, a choice and a least value",
        &[tool(
            "search",
            json!({"query": text, "a": {"default": "x"}, "b": {"enum": ["p", "q"]}, "c": {"type": "integer", "minimum": 2}}),
            json!(["query", "a", "b", "c"]),
        )],
        Ok(r#"search(query) a="x" b="p" c=2"#),
    );
    check(
        "what cannot be guessed is named",
        &[tool("search", json!({"query": text, "collection": text}), json!(["query", "collection"]))],
        Err("cannot be guessed: `collection`; give them with --argument"),
    );
    check(
        "a name that says so",
        &[tool("kbSearchV2", query.clone(), json!([])), tool("echo", query.clone(), json!([]))],
        Ok("kbSearchV2(query)"),
    );
    check(
        "research is no search",
        &[tool("simulate-research", query.clone(), json!([]))],
        Err("no search tool found among `simulate-research`"),
    );
    check(
        "a query about a topic is none",
        &[tool("simulate-research-query", json!({"topic": text}), json!(["topic"]))],
        Err("no search tool found"),
    );
    check(
        "two are none",
        &[tool("a_search", query.clone(), json!([])), tool("b_search", query.clone(), json!([]))],
        Err("choose with --tool"),
    );
    check(
        "a database is not tried out",
        &[tool("query", json!({"sql": text}), json!(["sql"]))],
        Err("no search tool found"),
    );
    check("no tools", &[], Err("lists no tools"));
    let mut writes = tool("search", query, json!([]));
    writes["annotations"] = json!({"readOnlyHint": false});
    check("one that says it changes something is not tried", &[writes], Err("no search tool found"));
    check(
        "a default nobody could write down",
        &[tool("search", json!({"query": text, "a": {"default": "x\ny"}}), json!(["a"]))],
        Err("`a`"),
    );
}

#[test]
fn what_a_person_says_goes_first() {
    let tools =
        [tool("lookup", json!({"what": {"type": "string"}, "where": {"type": "string"}}), json!(["what", "where"]))];
    let given = BTreeMap::from([("where".to_owned(), "\"docs\"".to_owned())]);
    let seen = find(&tools, Some("lookup"), Some("what"), &given).unwrap();
    assert_eq!((&*seen.query, seen.arguments), ("/what", given));
    assert!(find(&tools, Some("gone"), None, &BTreeMap::new()).is_err_and(|why| why.contains("no tool `gone`")));
}
