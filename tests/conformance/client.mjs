// What the conformance runner starts as its client: writes the monitors of one scenario and has the real `serin probe`
// look at the runner's server. SERIN names the program; the runner gives the scenario by environment, the server's
// address as the last argument. Ends well where no probe met a fault of the wire; what the answers are worth as search
// results (the runner's tools do not search) is not the question here.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

/** One monitor; `tool` is called once, by one canary whose question is `question`, where there is one. */
const monitor = (tool, args, question = "5 + 3") => ({
  search: { tool, ...(Object.keys(args).length > 0 && { arguments: args }) },
  canaries: [{ id: "asked", query: question, expect: ["anything"] }],
});

/** A tool of the runner's choice; an argument called `query` is the canary's question. */
const declared = ({ name, arguments: { query, ...args } }) => monitor(name, args, query);

/** Where the protected resource says that its tokens come from: what a person looks up before writing `issuer:`. */
async function issuer() {
  const { origin, pathname } = new URL(url);
  const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  return (await answer.json()).authorization_servers[0];
}

/** Tools that clients have to drop; the prober is told to call each of them, and must not. */
const DROPPED = [
  "invalid_empty_header", "invalid_object_header", "invalid_array_header", "invalid_null_header",
  "invalid_number_header", "invalid_duplicate_same_case", "invalid_duplicate_diff_case", "invalid_space_in_name",
  "invalid_colon_in_name", "invalid_non_ascii_name", "invalid_control_char_name",
];

// Where every request is judged by the newer era's rules, the era is declared: a first look begins with `initialize`,
// which is one of the older era.
const modern = (wanted) => wanted.map((one) => ({ ...one, era: "modern" }));

const MONITORS = {
  tools_call: () => [monitor("add_numbers", { a: 5, b: 3 })],
  "request-metadata": () => modern([{}]),
  "http-standard-headers": () => modern([monitor("test_headers", {}), monitor("my-hyphenated-tool", {})]),
  "http-custom-headers": () => context.toolCalls.map(declared),
  "http-invalid-tool-headers": () => [
    monitor("valid_tool", { region: "eu" }),
    ...DROPPED.map((tool) => ({ ...monitor(tool, { value: "x" }), absent: true })),
  ],
  "sse-retry": () => [monitor("test_reconnection", {})],
  "auth/client-credentials-basic": async () => {
    const { client_id, client_secret } = context;
    return [{ auth: { oauth: { issuer: await issuer(), client_id, client_secret: "${env:CONFORMANCE_SECRET}" } } }];
  },
};

const folder = mkdtempSync(join(tmpdir(), "serin-conformance-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const wanted = await (MONITORS[scenario]?.() ?? [{}]);
const monitors = wanted.map(({ absent, ...keys }, nth) => ({ id: `m${nth}`, url, ...keys }));
const file = join(folder, "monitors.yaml");
// JSON is YAML.
writeFileSync(file, JSON.stringify({ version: 1, monitors }, null, 1));

let well = true;
for (const [nth, { absent }] of wanted.entries()) {
  const run = spawnSync(process.env.SERIN, ["probe", `m${nth}`, "--config", file, "--json"], {
    encoding: "utf8",
    env: { ...process.env, CONFORMANCE_SECRET: context.client_secret ?? "" },
  });
  console.log(run.stdout);
  console.error(run.stderr);
  const faults = run.stdout ? JSON.parse(run.stdout).steps.flatMap(({ fault }) => fault ?? []) : [{ kind: "no output" }];
  // An answer that is no list of results is an answer.
  const kinds = faults.map(({ kind }) => kind).filter((kind) => kind !== "answer_unreadable");
  well &&= absent ? kinds.join() === "tool_absent" : kinds.length === 0;
}
process.exitCode = well ? 0 : 1;
