//! Scripts of servers that do everything right, one of each era.

use crate::fault_server::{Act, Script, json, result, status};

pub(crate) const TOOLS: &str = r#"{"tools":[{"name":"search_documents","inputSchema":{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}},{"name":"list_sources"}]}"#;
pub(crate) const MODERN_TOOLS: &str = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"search_documents","inputSchema":{"properties":{"query":{"type":"string","x-mcp-header":"Question"}}}}]}"#;
pub(crate) const DISCOVERED: &str = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}"#;
pub(crate) const FOUND: &str =
    r#"{"content":[],"structuredContent":{"results":[{"text":"one","source":"a.md","score":0.9}],"total_results":1}}"#;

/// A legacy server that does everything right, with a session.
pub(crate) fn legacy() -> Script {
    let opened = r#"{"jsonrpc":"2.0","id":{id},"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"fake","version":"1"}}}"#;
    Script::from([
        ("server/discover", Act::Say(status("400 Bad Request", "Content-Type: text/plain\r\n", "no session"))),
        ("initialize", Act::Say(status("200 OK", "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", opened))),
        ("notifications/initialized", Act::Say(status("202 Accepted", "", ""))),
        ("tools/list", Act::Say(result(TOOLS))),
        ("tools/call search_documents", Act::Say(result(FOUND))),
        (
            "tools/call list_sources",
            Act::Say(result(r#"{"structuredContent":{"sources":[{"last_indexed":"2026-11-20"}]}}"#)),
        ),
        ("DELETE", Act::Say(status("204 No Content", "", "").replace("Content-Length: {length}\r\n", ""))),
        ("GET /health", Act::Say(json(r#"{"status":"ok","cache_warm":true,"instance_id":"i-1"}"#))),
    ])
}

/// A modern server that does everything right.
pub(crate) fn modern() -> Script {
    let found = FOUND.replacen('{', r#"{"resultType":"complete","#, 1);
    Script::from([
        ("server/discover", Act::Say(result(DISCOVERED))),
        ("tools/list", Act::Say(result(MODERN_TOOLS))),
        ("tools/call search_documents", Act::Say(result(&found))),
    ])
}

pub(crate) fn with(mut script: Script, key: &'static str, act: Act) -> Script {
    script.insert(key, act);
    script
}

pub(crate) fn say(text: String) -> Act {
    Act::Say(text)
}
