use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{find, takes_statements};

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
fn what_sounds_as_if_it_changed_something_is_not_tried() {
    let text = json!({"type": "string"});
    let of = |name: &str, argument: &str| tool(name, json!({argument: text}), json!([argument]));
    let refused =
        [("rag_add_document", "text"), ("rag_index", "text"), ("find_and_replace", "query"), ("ask_user", "prompt")];
    for (name, argument) in refused {
        check(name, &[of(name, argument)], Err("no search tool found among"));
        let seen = find(&[of(name, argument)], Some(name), None, &BTreeMap::new());
        assert!(seen.is_err_and(|why| why.contains("never called")), "{name}, named by a person");
    }
    let seen = find(&[of("execute_query", "query")], Some("execute_query"), None, &BTreeMap::new());
    assert!(seen.is_ok_and(|call| call.tool == "execute_query"), "what it executes is the person's to know");
    let files = tool("search_files", json!({"path": text, "pattern": text}), json!(["path", "pattern"]));
    check("a search in words that nobody knows", &[files, of("write_file", "path")], Err("by its name `search_files`"));
    check("a place to search", &[of("search_index", "query")], Ok("search_index(query)"));
    let mut reads = of("query_and_execute", "query");
    reads["annotations"] = json!({"readOnlyHint": true, "destructiveHint": true});
    check("one that says it only reads", &[reads], Ok("query_and_execute(query)"));
    for hints in [json!({"destructiveHint": true}), json!({"readOnlyHint": false, "destructiveHint": false})] {
        let mut writes = of("search", "query");
        writes["annotations"] = hints;
        let seen = find(&[writes], Some("search"), None, &BTreeMap::new());
        assert!(seen.is_err_and(|why| why.contains("never called")), "not even where a person names it");
    }
}

#[test]
fn statements_are_the_last_choice() {
    let text = json!({"type": "string"});
    let mut database = tool("query", json!({"query": text}), json!(["query"]));
    database["description"] = json!("Executes a SQL query.");
    let notes = tool("kb_search", json!({"query": text}), json!(["query"]));
    check("beside a search in words", &[database.clone(), notes], Ok("kb_search(query)"));
    check("alone", &[database], Ok("query(query)"));
    let mut about = tool("search", json!({"query": text}), json!(["query"]));
    about["description"] = json!("Searches the manual of MySQL and what it says of any query.");
    assert!(!takes_statements(&about), "a text about databases");
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
