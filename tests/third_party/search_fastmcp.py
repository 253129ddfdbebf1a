"""A small search server on fastmcp, for Serin's tests: `http` (both eras), `sse` or `stdio`."""

import sys

import documents
from fastmcp import FastMCP

server = FastMCP("third-party-search", version="1.0.0")


@server.tool
def search_documents(query: str, top_k: int = 5) -> dict:
    """Searches the documents for words of the query."""
    return documents.search(query, top_k)


@server.tool
def list_sources() -> dict:
    """Lists the documents and when each was indexed."""
    return documents.sources()


if __name__ == "__main__":
    transport = sys.argv[1] if len(sys.argv) > 1 else "http"
    if transport == "stdio":
        server.run("stdio", show_banner=False)
    else:
        documents.serve(server.http_app(transport=transport))
