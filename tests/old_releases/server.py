"""The search server of tests/old_releases on whichever release of the official Python SDK it finds.

    server.py MCP ANYIO [stateless] [lossy] [version=X] [port=N]

MCP and ANYIO are the releases that have to be found; it ends where others are. `version=` is what an author sets as the
version of the own server, so that nothing shows the SDK's. `lossy`: what stands before it answers 503 to the first
`notifications/initialized`. It serves streamable HTTP at /mcp, prints `listening on PORT`, and answers GET /counts with
what was received and answered since it started.
"""

import json
import socket
import sys
from collections import Counter
from importlib.metadata import version

import anyio
import mcp
import uvicorn

try:
    # 2.x
    from mcp.server import MCPServer as Framework
except ImportError:
    from mcp.server.fastmcp import FastMCP as Framework

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


def search_documents(query: str, top_k: int = 5) -> dict:
    """Searches the documents for words of the query."""
    asked = words(query)
    found = [(len(asked & words(text)) / len(asked), source, text) for source, text in DOCUMENTS.items()] if asked else []
    found = sorted((hit for hit in found if hit[0] > 0), key=lambda hit: -hit[0])
    return {"results": [{"source": source, "content": text, "score": score} for score, source, text in found[:top_k]]}


class Counted:
    """What passes to and from the application, which itself notices nothing: no byte is held back or changed."""

    def __init__(self, app):
        self.app = app
        # By JSON-RPC method, or by HTTP method where there is no body.
        self.received: Counter[str] = Counter()
        # The same with the status that was answered.
        self.answered: Counter[str] = Counter()
        # Ids of sessions, as answers announce them and requests end them.
        self.opened: set[str] = set()
        self.deleted: list[str] = []
        # Requests by session and JSON-RPC id. Where a pair comes twice, these SDKs give one request's answer to the
        # other.
        self.asked: Counter[tuple] = Counter()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if scope["path"] == "/counts":
            return await self.tell(send)
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        method, session, body, named = scope["method"], headers.get("mcp-session-id", ""), bytearray(), []

        def received(name):
            named.append(name)
            self.received[name] += 1

        async def listen():
            message = await receive()
            if message["type"] == "http.request" and method == "POST" and not named:
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    name, number = name_and_id(bytes(body))
                    received(name)
                    if session and number is not None:
                        self.asked[session, number] += 1
            return message

        async def tell(message):
            if message["type"] == "http.response.start":
                status = message["status"]
                # A redirect to /mcp/ is followed: counted there.
                if status not in (307, 308):
                    if not named:
                        received(method)
                    if method == "DELETE":
                        self.deleted.append(session)
                self.answered[f"{named[0] if named else method} {status}"] += 1
                self.opened |= {value.decode() for name, value in message["headers"] if name.lower() == b"mcp-session-id"}
            await send(message)

        await self.app(scope, listen, tell)

    async def tell(self, send):
        said = {
            "received": self.received,
            "answered": self.answered,
            "opened": sorted(self.opened),
            "deleted": self.deleted,
            "repeated": sum(times - 1 for times in self.asked.values()),
        }
        body = json.dumps(said).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def name_and_id(body: bytes) -> tuple[str, object]:
    try:
        message = json.loads(body)
        return str(message["method"]), message.get("id")
    except (ValueError, KeyError, TypeError):
        return "not a message", None


class Lossy:
    """A proxy in trouble: the first `notifications/initialized` gets 503 and does not arrive."""

    def __init__(self, app):
        self.app = app
        self.lost = False

    async def __call__(self, scope, receive, send):
        if self.lost or scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        body = b"".join(message.get("body", b"") for message in messages)
        if name_and_id(body)[0] == "notifications/initialized":
            self.lost = True
            await send({"type": "http.response.start", "status": 503, "headers": [(b"content-length", b"0")]})
            return await send({"type": "http.response.body", "body": b""})

        async def again():
            return messages.pop(0) if messages else await receive()

        await self.app(scope, again, send)


def build(stateless: bool, own_version: str | None):
    """The application as the SDK's own framework makes it, under /mcp."""
    if Framework.__name__ == "MCPServer":
        server = Framework("old-search", log_level="ERROR", **({"version": own_version} if own_version else {}))
        server.tool()(search_documents)
        return server.streamable_http_app(stateless_http=stateless)
    server = Framework("old-search", stateless_http=stateless, log_level="ERROR")
    # FastMCP offers authors no argument for it; this is how they set it.
    server._mcp_server.version = own_version
    server.tool()(search_documents)
    return server.streamable_http_app()


def main():
    wanted = {"mcp": sys.argv[1], "anyio": sys.argv[2]}
    flags = dict(argument.partition("=")[::2] for argument in sys.argv[3:])
    found = {name: version(name) for name in wanted}
    print("; ".join(f"{module.__name__} {found[module.__name__]} of {module.__file__}" for module in (mcp, anyio)), flush=True)
    if found != wanted:
        sys.exit(f"these are to be served: {wanted}; run tests/install.sh")
    app = build("stateless" in flags, flags.get("version"))
    app = Counted(Lossy(app) if "lossy" in flags else app)
    listener = socket.socket()
    # What is accepted inherits it. With Nagle a streamed reply on a kept connection takes 40 ms more.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(flags.get("port", "0"))))
    listener.listen(64)
    print(f"listening on {listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
