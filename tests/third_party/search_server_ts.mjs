// A small search server on the official TypeScript SDK, for Serin's tests: both eras over HTTP (the older one with
// sessions) and over stdio. Prints `listening on PORT`; GET /sessions answers how many sessions are open.
import { randomUUID } from "node:crypto";
import http from "node:http";
import {
  McpServer,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  isLegacyRequest,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const DOCUMENTS = {
  "auth/tokens.md": "An unused token lives for ninety days and is then revoked.",
  "errors/4417.md": "ERR-4417 means that the upload was larger than the plan allows.",
  "billing/invoices.md": "Invoices are sent on the first working day of each month.",
  "backup/restore.md": "A restore takes the last nightly backup and replays the journal.",
  "oncall/rota.md": "The rota changes on Monday at nine; swaps are agreed in the channel.",
  "limits/rate.md": "Clients may ask sixty times a minute and are told to wait after that.",
};

const words = (text) => new Set(text.toLowerCase().split(/[^a-z0-9-]+/).filter(Boolean));

function build() {
  const server = new McpServer({ name: "third-party-search", version: "1.0.0" });
  server.registerTool(
    "search",
    { description: "Searches the documents for words of the query.", inputSchema: z.object({ query: z.string(), top_k: z.number().int().default(5) }) },
    ({ query, top_k }) => {
      const asked = words(query);
      const results = Object.entries(DOCUMENTS)
        .map(([source, text]) => ({ source, text, score: [...words(text)].filter((word) => asked.has(word)).length / asked.size }))
        .filter((hit) => hit.score > 0)
        .sort((a, b) => b.score - a.score)
        .slice(0, top_k);
      return { content: [{ type: "text", text: JSON.stringify({ results, total_results: results.length }) }] };
    },
  );
  return server;
}

const sessions = new Map();

async function legacy(request) {
  const known = sessions.get(request.headers.get("mcp-session-id"));
  if (known) return known.handleRequest(request);
  if (request.headers.has("mcp-session-id")) return new Response("Session not found", { status: 404 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await build().connect(transport);
  return transport.handleRequest(request);
}

if (process.argv[2] === "stdio") {
  serveStdio(build);
} else {
  const modern = createMcpHandler(build, { legacy: "reject" });
  const server = http.createServer(async (incoming, outgoing) => {
    if (incoming.url === "/sessions") return outgoing.end(String(sessions.size));
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, { method: incoming.method, headers: incoming.headers, body });
    const answer = (await isLegacyRequest(request)) ? await legacy(request) : await modern.fetch(request);
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) outgoing.write(chunk);
    outgoing.end();
  });
  server.listen(0, "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
}
