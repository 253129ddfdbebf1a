// Takes a picture of every page at seven widths in both colour schemes, and fails where one scrolls
// sideways, logs an error or loads something it may not. Usage: node shot.mjs URL FOLDER INCIDENT_PATH
import { mkdirSync } from "node:fs";
import { launch, picture, press, submit } from "./browser.mjs";

const [url, folder, incident] = process.argv.slice(2);
const pages = { fleet: "/", narrow: "/?q=legal", waiting: "/monitors/api-ref", monitor: "/monitors/docs", month: "/monitors/docs?range=30d&heat=35d", quarter: "/monitors/docs?range=90d", week: "/monitors/docs?range=7d", broken: "/monitors/legal", wrong: "/monitors/support-kb", incidents: "/incidents", incident, why: `${incident}/why`, whymonitor: "/monitors/docs/why", deliveries: "/deliveries", lists: "/lists", runbooks: "/runbooks", runbook: "/runbooks/wrong_results", missing: "/nowhere" };
const wanted = process.env.PAGES?.split(",");
const widths = (process.env.WIDTHS || "360,375,390,768,1280,1920,2560").split(",").map(Number);

mkdirSync(folder, { recursive: true });
const browser = await launch("chromium");
const wrong = [];
// Nothing of a page depends on the width that it is loaded at: it is loaded once, and made wider and wider.
for (const scheme of ["light", "dark"]) {
  const context = await browser.createBrowserContext();
  for (const [name, path] of Object.entries(pages)) {
    if (wanted && !wanted.includes(name)) continue;
    const page = await context.newPage();
    let where = `${name} ${scheme}`;
    page.on("console", (message) => { if (message.type() === "error" && name !== "missing") wrong.push(`${where}: ${message.text()}`); });
    page.on("pageerror", (error) => wrong.push(`${where}: ${error.message}`));
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    for (const width of widths) {
      where = `${name} at ${width} ${scheme}`;
      await page.setViewport({ width, height: width < 600 ? 812 : 1000 });
      if (width === widths[0]) await page.goto(url + path, { waitUntil: "load" });
      await page.waitForFunction((width) => window.innerWidth === width, {}, width);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) wrong.push(`${where}: scrolls ${over} px sideways`);
      if (scheme === "light" || [375, 380, 390, 768, 1280, 1920].includes(width)) await picture(page, `${folder}/${name}-${width}-${scheme}.png`, { fullPage: true });
    }
    await page.close();
  }
  await context.close();
}
// The page lives: it says so, and a hidden tab holds no stream.
const page = await browser.newPage();
await page.goto(url + "/");
await page.waitForSelector(".lamp.live").catch(() => wrong.push("the fleet's page never says that it is live"));
// The board of canaries: its figures carry their n, the first lost list is open, and the next opens by key and by click.
await page.goto(url + "/monitors/support-kb#canaries");
const board = await page.$eval("#canaries", (one) => one.textContent);
for (const n of ["n = ", "1 of 3", "at least 6 %", "143 of 200 answers", "E = 12 of 146"]) if (!board.includes(n)) wrong.push(`the board lacks ${n}`);
const isOpen = (nth) => page.$$eval(".moved", (all, nth) => all[nth].open, nth);
if (!await isOpen(0)) wrong.push("the lists of the first lost canary are folded");
if (await isOpen(1)) wrong.push("the lists of the second one are not");
await page.$$eval(".moved summary", (all) => all[1].focus());
await page.keyboard.press("Enter");
if (!await isOpen(1)) wrong.push("lists do not open by key");
await press(page, ".moved[open] summary");
if (await isOpen(0)) wrong.push("lists do not fold by click");
// What somebody asks for in another window shows here, without a reload.
await page.goto(url + "/monitors/docs");
await page.waitForSelector(".lamp.live").catch(() => wrong.push("the monitor's page never says that it is live"));
const other = await (await browser.createBrowserContext()).newPage();
await other.goto(url + "/monitors/docs");
await submit(other, ".monitor-head button");
await page.waitForSelector("h1::-p-text(Looked at again)").catch(() => wrong.push("a change on the board never shows"));
await browser.close();
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
