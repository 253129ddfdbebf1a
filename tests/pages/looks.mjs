// Goes through the pages as somebody who may look and not act: signs in with a key, follows every kind of link that a page
// shows, opens every fold. Fails with a line for each thing that is offered and acts. Usage: node looks.mjs URL KEY
import { fill, launch, open, submit } from "./browser.mjs";

const [url, key] = process.argv.slice(2);
const browser = await launch("chromium");
const page = await open(browser, "chromium");
const wrong = [];
page.on("pageerror", (error) => wrong.push(`${page.url()}: ${error.message}`));
await page.goto(url + "/");
await fill(page, "#token", key);
await submit(page, "#by-token button");

// One of each kind is enough, two where they differ by what became of them.
const KIND_MAX = 3;
const kind = (path) => path.replace(/\?.*/, "?").split("/").map((part, nth) => nth === 2 ? "*" : part).join("/");
const seen = new Map(), waiting = ["/"];
while (waiting.length > 0) {
  const path = waiting.shift(), of = kind(path);
  if ((seen.get(of) ?? new Set()).size >= KIND_MAX || seen.get(of)?.has(path)) continue;
  seen.set(of, (seen.get(of) ?? new Set()).add(path));
  const answer = await page.goto(url + path, { waitUntil: "load" });
  if (answer.status() !== 200) { wrong.push(`${path} is answered ${answer.status()}`); continue; }
  if (!answer.headers()["content-type"].startsWith("text/html")) continue;
  const found = await page.evaluate(() => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
    const asks = (one) => one.closest("form")?.method === "get";
    const acts = [...document.querySelectorAll("main form, main button, main input, main select, main textarea")].filter((one) => isShown(one) && !(one.matches("form") ? one.method === "get" : asks(one)));
    // A heading or a fold that is left with nothing.
    const isEmpty = (one) => isShown(one) && ![...one.children].some((child) => !child.matches("h2, h3, summary, thead") && isShown(child)) && one.children.length > 1;
    const empty = [...document.querySelectorAll("main section, main details, main th, main td")].filter(isEmpty);
    const said = (one) => one.outerHTML.slice(0, 120);
    return { acts: acts.map(said), empty: empty.map(said), links: [...document.querySelectorAll("a[href^='/']")].map((one) => one.getAttribute("href").replace(/#.*/, "")) };
  });
  for (const one of found.acts) wrong.push(`${path} offers ${one}`);
  for (const one of found.empty) wrong.push(`${path} has nothing in ${one}`);
  waiting.push(...found.links);
}
for (const needed of ["/monitors/*", "/incidents/*", "/incidents/*/why", "/silences", "/deliveries", "/receivers", "/runbooks/*"]) {
  if (!seen.has(needed)) wrong.push(`no link leads to ${needed}`);
}
await browser.close();
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
