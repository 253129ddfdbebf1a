"""A small search server on the official Python SDK, for Serin's tests: both eras, one collection, keyword search.

Prints `listening on PORT` once it accepts connections; ends with its process.
"""

import socket

import uvicorn
from mcp.server import MCPServer

DOCUMENTS = {
    "auth/tokens.md": "An unused token lives for ninety days and is then revoked.",
    "errors/4417.md": "ERR-4417 means that the upload was larger than the plan allows.",
    "billing/invoices.md": "Invoices are sent on the first working day of each month.",
}

server = MCPServer("third-party-search", version="1.0.0")


@server.tool()
def search_documents(query: str, top_k: int = 5) -> dict:
    """Searches the documents for words of the query."""
    words = {word.strip("?.,").lower() for word in query.split()}
    scored = []
    for source, text in DOCUMENTS.items():
        found = words & {word.strip("?.,").lower() for word in text.split()}
        if found:
            scored.append({"source": source, "text": text, "score": len(found) / len(words)})
    scored.sort(key=lambda hit: -hit["score"])
    return {"results": scored[:top_k], "total_results": len(scored)}


@server.tool()
def list_sources() -> dict:
    """Lists the documents and when each was indexed."""
    return {"sources": [{"source": name, "last_indexed": "2026-11-20T00:00:00Z"} for name in DOCUMENTS]}


if __name__ == "__main__":
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    print(f"listening on {listener.getsockname()[1]}", flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
