// Uses a monitor's page, an incident's and the ledger as people do: reads the chart by pointer and by keys, opens folds by
// link and by click, filters deliveries by click; with and without scripts. Fails with a line for each thing that is wrong.
// Usage: node monitor.mjs URL FOLDER PATHS, the last being addresses of incidents as JSON: slow, failing and wrong.
import { mkdirSync } from "node:fs";
import { launch, open, picture, press, submit, text } from "./browser.mjs";

const [url, folder, paths] = process.argv.slice(2);
const incidents = JSON.parse(paths);
mkdirSync(folder, { recursive: true });
const browser = await launch("chromium");
const wrong = [];
const must = (fine, words) => { if (!fine) wrong.push(words); };
const listened = async (script = true) => {
  const page = await open(browser, "chromium", script);
  page.on("console", (message) => { if (message.type() === "error") wrong.push(`${page.url()}: ${message.text()}`); });
  page.on("pageerror", (error) => wrong.push(`${page.url()}: ${error.message}`));
  return page;
};
const isOpen = (page, fold) => page.$eval(`#fold-${fold}`, (one) => one.open);
// Of a page that is just being drawn again it is what comes then.
const read = async (page) => { await page.waitForSelector(".readout"); return text(page, ".readout"); };

// The chart, by pointer: time, figure and n of the nearest moment; and somewhere else it says something else.
const page = await listened();
await page.goto(url + "/monitors/docs?range=3h");
const hover = async (share) => {
  const [x, y] = await page.$eval(".canvas", (one, share) => {
    one.scrollIntoView({ block: "center", behavior: "instant" });
    const box = one.getBoundingClientRect();
    return [box.x + box.width * share, box.y + box.height / 2];
  }, share);
  await page.mouse.move(x, y);
  return read(page);
};
const [early, late] = [await hover(0.5), await hover(0.97)];
for (const said of [early, late]) must(/\d\d:\d\d UTC · median of .* m?s · n \d+/.test(said), `the pointer reads "${said}"`);
must(early !== late, `everywhere the chart reads "${early}"`);
must(late.includes("p95 of"), `where samples suffice it reads p95: "${late}"`);
// By keys: one step, to the ends, and no further.
await page.focus("#chart-reader");
const at = () => page.$eval("#chart-reader", (one) => [Number(one.ariaValueNow), Number(one.ariaValueMax), one.ariaValueText]);
await page.keyboard.press("End");
const [last, most] = await at(), end = await read(page);
must(last === most && most > 10, `the last of ${most} points is ${last}`);
await page.keyboard.press("ArrowRight");
must((await at())[0] === most, "there is something after the last point");
await page.keyboard.press("ArrowLeft");
const [before, , moment] = await at();
must(before === most - 1 && await read(page) !== end, `a step back reads point ${before}: "${await read(page)}"`);
must((await read(page)).startsWith(moment), `the reader says ${moment}, the line "${await read(page)}"`);
await page.keyboard.press("Home");
must((await at())[0] === 1, `the first point is ${(await at())[0]}`);
// A page that is drawn again goes on at the moment that was read, wherever it now stands, and does not read it out again.
await page.keyboard.press("End");
for (const _ of [1, 2, 3, 4, 5]) await page.keyboard.press("ArrowLeft");
const kept = await read(page);
const redrawn = () => page.evaluate(() => new Promise((done) => {
  document.addEventListener("serin:drawn", () => setTimeout(done), { once: true });
  document.dispatchEvent(new Event("visibilitychange")); // As when somebody comes back to the tab.
}));
await page.evaluate(() => {
  window.said = 0;
  new MutationObserver(() => { window.said += 1; }).observe(document.querySelector(".readout"), { childList: true, characterData: true, subtree: true });
  for (const row of document.querySelectorAll(".points tbody tr")) row.dataset.x = 1000 - row.dataset.x;
});
await redrawn();
must(await read(page) === kept, `drawn again the chart reads "${await read(page)}", not "${kept}"`);
must(await page.evaluate(() => window.said) === 0, "what was read is read out again when the page is drawn again");
// What has become bad opens by itself, what somebody closed does not; what stands in a form stays.
await page.goto(url + "/monitors/legal");
await page.$eval("#fold-probe", (one) => { one.open = false; });
await redrawn();
must(await isOpen(page, "probe"), "what has become bad stays shut");
await page.$eval("#fold-probe > summary", (one) => one.click());
await redrawn();
must(!await isOpen(page, "probe"), "what somebody closed opens by itself");
// A tick in a form of what is drawn anew stays, also when the focus is elsewhere; and the rest of that part is drawn.
await page.goto(url + "/monitors/docs");
await page.evaluate(() => {
  const plain = window.fetch;
  window.fetch = async (...asked) => new Response((await (await plain(...asked)).text()).replace("Recheck now</button>", "Recheck now</button><input type=checkbox>"));
});
await redrawn();
await page.waitForSelector("#head input"); // A look that was under way already brings none.
const isTicked = () => page.$eval("#head input", (one) => one.checked);
await page.$eval("#head input", (one) => { one.focus(); one.click(); document.querySelector("#head h1").textContent = "old"; });
await redrawn();
must(await isTicked() && await text(page, "#head h1") !== "old", "beside a form in use nothing is drawn anew, or its tick is taken away");
await page.evaluate(() => document.activeElement.blur());
await redrawn();
must(await isTicked(), "a tick is taken away when the page is drawn again");
// Nothing tells that a delivery was tried: the ledger looks by itself.
await page.goto(url + "/deliveries");
await page.waitForSelector(".lamp.live");
for (const _ of [1, 2]) await page.waitForResponse((answer) => answer.url().endsWith("/deliveries")).catch(() => wrong.push("the ledger does not look by itself"));
await page.goto(url + "/monitors/docs?range=3h");
await hover(0.5);
await picture(page, `${folder}/chart-read.png`);

// Where the viewer's clock is another one, axis, readout and table follow it, and UTC stands behind them; after a redraw too.
await page.emulateTimezone("Asia/Kolkata");
await page.goto(url + "/monitors/docs?range=3h");
const there = (said) => {
  const [hours, minutes] = /(\d\d):(\d\d)/.exec(said).slice(1).map(Number), all = (hours * 60 + minutes + 330) % 1440;
  return [Math.floor(all / 60), all % 60].map((part) => String(part).padStart(2, "0")).join(":");
};
for (const when of ["at first", "drawn again"]) {
  const said = await hover(0.5), behind = await page.$eval(".readout", (one) => one.title);
  must(/^\d\d:\d\d UTC$/.test(behind) && said.startsWith(`${there(behind)} GMT+5:30 ·`), `${when} the readout says "${said}", and UTC "${behind}"`);
  const axis = await page.$$eval(".xs [data-t]", (all) => all.map((one) => [one.textContent, one.title]));
  must(axis.every(([here, utc]) => here === there(utc)), `${when} the axis says ${axis.join("; ")}`);
  must((await text(page, ".zone-said")) === "times in GMT+5:30", `${when} the chart says "${await text(page, ".zone-said")}"`);
  await redrawn();
}
await page.emulateTimezone("UTC");

// Folds: closed where nothing is wrong, open where something is; a link into one opens it, and so does an address.
must(!await isOpen(page, "footprint"), "what probes cost is open though nothing is wrong with it");
await press(page, ".index a[href='#footprint']");
must(await isOpen(page, "footprint"), "a link does not open its fold");
await press(page, "#fold-footprint > summary");
must(!await isOpen(page, "footprint"), "a click does not close a fold");
await press(page, ".index a[href='#footprint']");
must(await isOpen(page, "footprint"), "the same link does not open its fold a second time");
await page.goto("about:blank");
await page.goto(url + "/monitors/docs#heat");
must(await isOpen(page, "heat"), "an address does not open its fold");
await page.goto(url + "/monitors/legal");
must(await isOpen(page, "probe"), "the probe that failed is folded away");
const said = await text(page, "#probe-said");
must(said.includes("down: connection_refused"), `the fold of the failed probe says "${said}"`);
must((await text(page, "#signals-now")).includes("availability open"), "the open signal is not in plain sight");
const plain = await listened(false);
await plain.goto(url + "/monitors/docs");
must(!await isOpen(plain, "signals"), "the signals are unfolded");
await press(plain, "#fold-signals > summary");
must(await isOpen(plain, "signals"), "without scripts a click opens no fold");
must(await plain.$eval("#chart-reader", (one) => getComputedStyle(one).display) === "none", "without scripts there is a reader that does nothing");
await press(plain, "#chart-table > summary");
must((await text(plain, "#chart-table")).includes("UTC"), "without scripts the chart has no table");

// An incident has its signal's picture.
for (const [which, selector] of [["slow", "#around .chart .shade"], ["failing", "#around .strip"], ["wrong", "#around .trend .shade"], ["wrong", "#around .ranks .shade"]]) {
  await page.goto(url + incidents[which]);
  must(await page.$(selector) !== null, `the incident of what is ${which} lacks ${selector}`);
}

// The ledger, by clicks, with scripts and without.
for (const one of [page, plain]) {
  await one.goto(url + "/deliveries");
  const all = await one.$$eval("#ledger tbody tr", (rows) => rows.length);
  await submit(one, "#states a:nth-child(2)");
  must(one.url().endsWith("/deliveries?state=pending"), `the state's link leads to ${one.url()}`);
  const first = await one.$eval("#ledger tbody td[data-th=monitor] a", (link) => link.textContent);
  await one.$eval("#monitor", (list, value) => { list.value = value; }, first);
  await one.$eval("#kind", (list) => { list.value = "incident.opened"; });
  await submit(one, "form.filter button");
  must(one.url().includes(`monitor=${first}`) && one.url().includes("kind=incident.opened") && one.url().includes("state=pending"), `the filter leads to ${one.url()}`);
  const monitors = await one.$$eval("#ledger tbody td[data-th=monitor]", (cells) => cells.map((cell) => cell.textContent));
  must(monitors.length > 0 && monitors.length <= all && monitors.every((name) => name === first), `of ${first} alone it shows ${monitors}`);
  must(await one.$eval("#monitor", (list) => list.value) === first, "the filter forgets its monitor");
  must((await text(one, "#states a:nth-child(2)")).includes(String(monitors.length)), `the count is not of the filter: "${await text(one, "#states")}"`);
  await one.$eval("#kind", (list) => { list.value = "drill"; });
  await submit(one, "form.filter button");
  must((await text(one, "#ledger")).includes("No delivery matches") && (await text(one, "#states a:nth-child(1)")).includes("0"), `of no drill it shows "${await text(one, "#ledger")}"`);
}
await browser.close();
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
