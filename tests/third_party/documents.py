"""What the Python search servers of Serin's tests know, how they search it, and how they are served."""

import gc
import socket

import uvicorn

DOCUMENTS = {
    "auth/tokens.md": "An unused token lives for ninety days and is then revoked.",
    "errors/4417.md": "ERR-4417 means that the upload was larger than the plan allows.",
    "billing/invoices.md": "Invoices are sent on the first working day of each month.",
    "backup/restore.md": "A restore takes the last nightly backup and replays the journal.",
    "oncall/rota.md": "The rota changes on Monday at nine; swaps are agreed in the channel.",
    "limits/rate.md": "Clients may ask sixty times a minute and are told to wait after that.",
}


def words(text: str) -> set[str]:
    return {word.strip("?.,;").lower() for word in text.split()}


def search(query: str, top_k: int) -> dict:
    asked = words(query)
    scored = []
    for source, text in DOCUMENTS.items():
        found = asked & words(text)
        if found:
            scored.append({"source": source, "text": text, "score": len(found) / len(asked)})
    scored.sort(key=lambda hit: -hit["score"])
    return {"results": scored[:top_k], "total_results": len(scored)}


def sources() -> dict:
    return {"sources": [{"source": name, "last_indexed": "2026-11-20T00:00:00Z"} for name in DOCUMENTS]}


def open_sessions() -> int:
    """Sessions that the SDK's own tables hold: of streamable HTTP, and of HTTP+SSE."""
    tables = {"StreamableHTTPSessionManager": "_server_instances", "FastMCPStreamableHTTPSessionManager": "_server_instances", "SseServerTransport": "_read_stream_writers"}
    return sum(len(getattr(thing, tables[type(thing).__name__])) for thing in gc.get_objects() if type(thing).__name__ in tables)


def serve(app) -> None:
    """Serves on a free port, prints `listening on PORT`; GET /sessions answers how many sessions are open."""

    async def with_count(scope, receive, send):
        if scope["type"] == "http" and scope["path"] == "/sessions":
            text = str(open_sessions()).encode()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(text)).encode())]})
            await send({"type": "http.response.body", "body": text})
        else:
            await app(scope, receive, send)

    listener = socket.socket()
    # What is accepted inherits it. With Nagle a streamed reply on a kept connection takes 40 ms more.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    print(f"listening on {listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(with_count, log_level="warning")).run(sockets=[listener])
