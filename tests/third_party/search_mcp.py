"""A small search server on the official Python SDK, for Serin's tests: `http` (both eras), `sse` or `stdio`."""

import sys

import documents
from mcp.server import MCPServer

server = MCPServer("third-party-search", version="1.0.0", log_level="ERROR")


@server.tool()
def search_documents(query: str, top_k: int = 5) -> dict:
    """Searches the documents for words of the query."""
    return documents.search(query, top_k)


@server.tool()
def list_sources() -> dict:
    """Lists the documents and when each was indexed."""
    return documents.sources()


if __name__ == "__main__":
    transport = sys.argv[1] if len(sys.argv) > 1 else "http"
    if transport == "stdio":
        server.run()
    else:
        documents.serve(server.sse_app() if transport == "sse" else server.streamable_http_app())
