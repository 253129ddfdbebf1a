// The search server of this folder on an older release of the official TypeScript SDK, as its own example serves it:
// sessions by randomUUID, kept in a map. `server.mjs [port=N]`; prints `listening on PORT`, and GET /counts answers
// what server.py answers there.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const RELEASE = "1.12.0";

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
  const server = new McpServer({ name: "old-search", version: "1.0.0" });
  server.tool(
    "search_documents",
    "Searches the documents for words of the query.",
    { query: z.string(), top_k: z.number().int().default(5) },
    ({ query, top_k }) => {
      const asked = words(query);
      const results = Object.entries(DOCUMENTS)
        .map(([source, content]) => ({ source, content, score: [...words(content)].filter((word) => asked.has(word)).length / asked.size }))
        .filter((hit) => hit.score > 0)
        .sort((a, b) => b.score - a.score)
        .slice(0, top_k);
      return { content: [{ type: "text", text: JSON.stringify({ results }) }] };
    },
  );
  return server;
}

const counts = { received: {}, answered: {}, opened: [], deleted: [], repeated: 0 };
const asked = new Set();
const transports = new Map();

async function serve(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = request.method === "POST" ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
  const name = body?.method ?? request.method;
  const id = request.headers["mcp-session-id"];
  counts.received[name] = (counts.received[name] ?? 0) + 1;
  if (request.method === "DELETE") counts.deleted.push(id ?? "");
  if (id !== undefined && body?.id !== undefined) {
    const pair = `${id} ${JSON.stringify(body.id)}`;
    counts.repeated += asked.has(pair) ? 1 : 0;
    asked.add(pair);
  }
  response.once("finish", () => {
    const key = `${name} ${response.statusCode}`;
    counts.answered[key] = (counts.answered[key] ?? 0) + 1;
  });
  let transport = transports.get(id);
  if (!transport) {
    if (id !== undefined || body?.method !== "initialize") {
      response.writeHead(400, { "content-type": "application/json" });
      const error = { code: -32000, message: "Bad Request: No valid session ID provided" };
      return response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
    }
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) => {
        counts.opened.push(made);
        transports.set(made, transport);
      },
    });
    await build().connect(transport);
  }
  await transport.handleRequest(request, response, body);
  if (request.method === "DELETE") transports.delete(id);
}

const { version: found } = JSON.parse(readFileSync(new URL("node_modules/@modelcontextprotocol/sdk/package.json", import.meta.url)));
console.log(`@modelcontextprotocol/sdk ${found}`);
if (found !== RELEASE) throw new Error(`${RELEASE} is to be served; run tests/install.sh`);
const port = Number(process.argv.slice(2).find((flag) => flag.startsWith("port="))?.slice(5) ?? 0);
const server = http.createServer((request, response) => {
  if (request.url === "/counts") return response.end(JSON.stringify(counts));
  return serve(request, response);
});
server.listen(port, "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
