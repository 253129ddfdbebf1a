// Plays SearXNG, Meilisearch and Elasticsearch on one port of loopback, as their MCP servers ask them. It searches the
// notes of a folder and reads them anew for each search, so that they can be taken away while it runs.
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";

const folder = process.argv[2];

/** Every note that holds these words, in any case. */
async function found(words) {
  const notes = [];
  for (const path of (await readdir(folder)).sort()) {
    const text = await readFile(join(folder, path), "utf8");
    if (words && text.toLowerCase().includes(words.toLowerCase())) {
      notes.push({ id: path.replace(/\.md$/, ""), path, title: text.split("\n")[0].replace("# ", ""), text });
    }
  }
  return notes;
}

/** SearXNG: where JSON is switched on. */
async function searxng({ searchParams }) {
  if (searchParams.get("format") !== "json") {
    return [403, {}];
  }
  const query = searchParams.get("q");
  const results = (await found(query)).map((note) => ({
    url: `https://notes.example.org/${note.id}`,
    title: note.title,
    content: note.text,
    engine: "notes",
    engines: ["notes"],
    category: "general",
    score: 1,
  }));
  const nothing = { answers: [], corrections: [], infoboxes: [], suggestions: [], unresponsive_engines: [] };
  return [200, { query, number_of_results: results.length, results, ...nothing }];
}

/** Meilisearch: a search of one index. */
async function meilisearch({ q, limit = 20, offset = 0 }) {
  const hits = (await found(q)).slice(offset, offset + limit);
  return [200, { hits, query: q, processingTimeMs: 0, limit, offset, estimatedTotalHits: hits.length }];
}

/** Elasticsearch: a `match` on one field. */
async function elasticsearch({ query }) {
  const [wanted] = Object.values(query?.match ?? {});
  const notes = await found(wanted?.query ?? wanted);
  const hits = notes.map(({ id, ...source }) => ({ _index: "notes", _id: id, _score: 1, _source: source }));
  const total = { value: hits.length, relation: "eq" };
  const shards = { total: 1, successful: 1, skipped: 0, failed: 0 };
  const max_score = hits.length ? 1 : null;
  return [200, { took: 1, timed_out: false, _shards: shards, hits: { total, max_score, hits } }];
}

async function body(request) {
  let text = "";
  for await (const chunk of request) {
    text += chunk;
  }
  return JSON.parse(text || "{}");
}

async function answer(request) {
  const url = new URL(request.url, "http://localhost");
  switch (`${request.method} ${url.pathname}`) {
    case "GET /search":
      return searxng(url);
    case "POST /indexes/notes/search":
      return meilisearch(await body(request));
    case "POST /notes/_search":
      return elasticsearch(await body(request));
    default:
      return [404, { message: `nobody asks for ${request.method} ${url.pathname}` }];
  }
}

const server = createServer(async (request, response) => {
  const [status, value] = await answer(request);
  // Elasticsearch answers in the version of its own JSON that was asked for.
  const own = request.headers.accept?.startsWith("application/vnd.elasticsearch+json");
  const type = own ? request.headers.accept : "application/json";
  // Without the second header the client of Elasticsearch takes it for something else.
  response.writeHead(status, { "Content-Type": type, "X-Elastic-Product": "Elasticsearch" });
  response.end(JSON.stringify(value));
});
server.listen(0, "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
