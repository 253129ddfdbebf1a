// Stays on the demo's fleet page while things break and are mended, and does what somebody does who is woken: follows the
// row to its incident, sees who was notified, acknowledges, sees it recover. Nothing is loaded again by hand, and every
// wait is for a change of the page. Fails with a line for each thing that is wrong. Usage: node demo.mjs PAGES INBOX
import { findings } from "./findings.mjs";
import { fill, launch, open, submit, text } from "./browser.mjs";

const [url, inbox] = process.argv.slice(2);
const ACTS = [["handbook", "embedding_mismatch"], ["docs", "pool_saturated"], ["policies", "latency_elevated"], ["support", "connection_refused"]];
// What a restart is announced to take at most.
const RESTART_MS = 3000;
const browser = await launch("chromium");
const wrong = [];
const must = (fine, words) => { if (!fine) wrong.push(words); };
// A window of its own: a tab that another one covers is hidden, and a hidden page does not follow.
const window = async () => {
  const page = await open(await browser.createBrowserContext(), "chromium");
  page.on("console", (message) => { if (message.type() === "error") wrong.push(`${page.url()}: ${message.text()}`); });
  page.on("pageerror", (error) => wrong.push(`${page.url()}: ${error.message}`));
  return page;
};
// As long as the whole may take: how soon a demo breaks and mends is the machine's affair.
const comes = (page, what, asked, ...args) => page.waitForFunction(what, { polling: "mutation", timeout: 8 * 60_000 }, ...args).catch((error) => { throw new Error(`never comes: ${asked} (${error.message})`); });

// One who only watches: what each row showed, in the order it did, by a page that was loaded once.
const watcher = await window();
await watcher.goto(url + "/");
await watcher.waitForSelector(".lamp.live");
await watcher.evaluate(() => {
  window.story = [];
  const read = () => {
    for (const row of document.querySelectorAll(".row[id]")) {
      const said = [row.id.slice(2), row.classList[1], ...[...row.querySelectorAll("a.why")].map((one) => one.textContent)].join(" ");
      if (window.story.findLast((line) => line.startsWith(row.id.slice(2) + " ")) !== said) window.story.push(said);
    }
  };
  new MutationObserver(read).observe(document.getElementById("list"), { subtree: true, childList: true, attributes: true, characterData: true });
  read();
});
const shown = (id, reason) => comes(watcher, (id, reason) => window.story.some((line) => line.startsWith(id + " ") && line.includes(reason)), `${reason} in the row of ${id}`, id, reason);
// On a machine that does much else a server may be slow besides, which its row then says; whatever else it says is wrong.
const SLOW = "latency_elevated";
const isWell = (id, reason) => comes(watcher, (id, besides) => {
  const why = [...document.querySelectorAll(`#m-${id} a.why`)].map((one) => one.textContent);
  return document.getElementById("m-" + id).classList.contains("up") || why.length > 0 && why.every((one) => one === besides);
}, `${id} is up again`, id, reason === SLOW ? null : SLOW);

// The other one acts. Whoever comes too late has nothing to acknowledge any more, and takes the next.
const person = await window();
const acknowledge = async () => {
  await fill(person, "#take #actor", "Kim");
  await submit(person, "#take button");
  return true;
};
const follow = async (id, reason) => {
  await person.goto(url + "/");
  const link = `#m-${id} a.why`;
  await comes(person, (link, reason) => [...document.querySelectorAll(link)].some((one) => one.textContent === reason), `a link to ${reason}`, link, reason);
  await submit(person, link);
  const incident = new URL(person.url()).pathname;
  must((await text(person, "#why")).includes(reason), `${incident} does not say why`);
  const taken = await acknowledge().catch((error) => error);
  if (taken !== true) {
    if (await person.$("#incident-head.ended") === null) throw taken;
    return false;
  }
  await comes(person, () => document.getElementById("incident-head").textContent.includes("acknowledged by Kim"), "who has it");
  await comes(person, () => document.querySelector("#told .d-sent") !== null, "that a receiver got it");
  await person.waitForSelector("#incident-head.ended").catch(() => { throw new Error(`${incident} never shows that it is over`); });
  must((await text(person, "#incident-head")).includes("recovered"), `${incident} is over, and does not say how`);
  must(await person.$("#act") === null, `${incident} is over, and can still be acknowledged`);
  // Its messages in the ledger, each one brought.
  await submit(person, ".top nav a[href='/deliveries']");
  for (const event of ["incident.opened", "incident.resolved"]) {
    const sent = (incident, event) => [...document.querySelectorAll("tr.d-sent")].some((row) => row.querySelector(`a[href='${incident}']`)?.textContent === event);
    await comes(person, sent, `${event} of ${incident}, sent`, incident, event);
  }
  return true;
};

const followed = async () => {
  for (const [id, reason] of ACTS) if (await follow(id, reason)) return true;
  return false;
};
const watched = async () => {
  for (const [id, reason] of ACTS) await shown(id, reason);
  for (const [id, reason] of ACTS) await isWell(id, reason);
};
try {
  const [hasActed] = await Promise.all([followed(), watched()]);
  must(hasActed, "every incident was over before anybody could acknowledge it");
  const story = await watcher.evaluate(() => window.story); // Gone if the page had been loaded again.
  await comes(watcher, (slow) => document.querySelector(".headline.calm") !== null || [...document.querySelectorAll(".row a.why")].some((one) => one.textContent === slow), "a headline that says that all is well", SLOW);
  for (const [id, reason] of ACTS) {
    const own = story.filter((line) => line.startsWith(id + " "));
    must(own.findIndex((line) => line.includes(reason)) < own.findLastIndex((line) => line === `${id} up` || reason !== SLOW && line.includes(SLOW) && !line.includes(reason)), `${id} went ${own.join(", ")}`);
  }
  // How soon a restart is over is the machine's affair: one that takes longer than it is announced to is an outage.
  const { incidents } = await (await fetch(url + "/api/v1/incidents?monitor=handbook")).json();
  const outages = incidents.filter((one) => one.failure_reason === "connection_refused");
  must(outages.every((one) => new Date(one.opened_at) - new Date(one.since) > RESTART_MS), "a quick restart is told as an outage");
  must(outages.length > 0 || !story.some((line) => line.startsWith("handbook") && line.includes("connection_refused")), "a quick restart is shown as an outage");
  wrong.push(...await findings(await window(), inbox));
} catch (error) {
  console.error(error.stack);
  wrong.push(error.message, ...await watcher.evaluate(() => window.story ?? []).catch(() => []));
}
await browser.close();
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
