#!/usr/bin/env bash
# Has the makers' own types and parsers judge what services get: Slack's blocks by @slack/types, Discord's webhook by
# discord-api-types, Teams' card by the parser of adaptivecards. The bodies are those that tests/deliver.rs was posted.
# Needs node 20 or newer and npm; what it installs lies in target/, at these versions.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo test --locked ${SERIN_TEST_FEATURES:+--features "$SERIN_TEST_FEATURES"} --quiet --test deliver services_of_others
bodies=$PWD/target/tmp/services
folder=target/services-check
mkdir -p "$folder"
cd "$folder"
[ -f package.json ] || echo '{ "private": true, "type": "module" }' >package.json
npm install --no-audit --no-fund --loglevel=error --ignore-scripts \
    @slack/types@3.2.0 discord-api-types@0.38.57 adaptivecards@3.0.6 typescript@5.9.3
{
    echo 'import type { KnownBlock } from "@slack/types";'
    echo 'import type { RESTPostAPIWebhookWithTokenJSONBody } from "discord-api-types/v10";'
    echo 'type Slack = { text: string; blocks: KnownBlock[] };'
    for path in "$bodies"/slack.*.json; do echo "void ($(cat "$path") satisfies Slack);"; done
    for path in "$bodies"/discord.*.json; do
        echo "void ($(cat "$path") satisfies RESTPostAPIWebhookWithTokenJSONBody);"
    done
} >bodies.ts
npx tsc --noEmit --strict --module nodenext --moduleResolution nodenext --skipLibCheck bodies.ts
# Its package says that its bundle is a module of ECMAScript, which it is not.
cp node_modules/adaptivecards/dist/adaptivecards.js adaptivecards.cjs
cat >cards.mjs <<'END'
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
const { AdaptiveCard, SerializationContext, Versions } = createRequire(import.meta.url)("./adaptivecards.cjs");
const [folder] = process.argv.slice(2);
const cards = readdirSync(folder).filter((name) => name.startsWith("teams."));
for (const name of cards) {
    const { content } = JSON.parse(readFileSync(`${folder}/${name}`, "utf8")).attachments[0];
    const card = new AdaptiveCard();
    const context = new SerializationContext(Versions.v1_4);
    card.parse(content, context);
    const found = Array.from({ length: context.eventCount }, (_, n) => context.getEventAt(n).message);
    const said = card.validateProperties().validationEvents.map((event) => event.message);
    const runs = card.getItemAt(0).getItemCount();
    const [is, was] = [JSON.stringify(card.toJSON()), JSON.stringify(content)];
    const texts = (json) => [...json.matchAll(/"text":("(?:[^"\\]|\\.)*")/g)].map((one) => one[1]).join("\n");
    if (found.length + said.length || runs < 5 || texts(is) !== texts(was)) {
        throw new Error(`${name}: ${[...found, ...said]}; ${runs} blocks`);
    }
}
if (!cards.length) throw new Error("no card was written");
console.log(`${cards.length} cards are read as they were meant`);
END
node cards.mjs "$bodies"
