// Works with the fleet's page in Chromium as people do: selects, folds, goes by keys, chooses a theme, on a narrow screen
// too, while the page goes on living. Fails with a line for each thing that is not as it should be.
// Usage: node fleet.mjs URL FOLDER. With ASSETS=folder style and script are taken from there, to try them without a build.
import { mkdirSync, readFileSync } from "node:fs";
import { launch, open, picture, press, text } from "./browser.mjs";

const [url, folder] = process.argv.slice(2);
const wrong = [];
const must = (fine, words) => { if (!fine) wrong.push(words); };
mkdirSync(folder, { recursive: true });
const browser = await launch("chromium");

const visit = async (path, { width = 1440, height = 1000, scheme = "light", script = true } = {}) => {
  const context = await browser.createBrowserContext();
  const page = await open(context, "chromium", script);
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  page.on("console", (message) => { if (message.type() === "error") wrong.push(`${path}: ${message.text()}`); });
  page.on("pageerror", (error) => wrong.push(`${path}: ${error.message}`));
  if (process.env.ASSETS) {
    await page.setRequestInterception(true);
    page.on("request", (asked) => {
      const name = asked.url().match(/assets\/(app|theme)\.[0-9a-f]+\.(css|js)$/);
      if (!name) return asked.continue();
      asked.respond({ contentType: name[2] === "css" ? "text/css" : "text/javascript", body: readFileSync(`${process.env.ASSETS}/${name[1]}.${name[2]}`) });
    });
  }
  await page.goto(url + path, { waitUntil: "load" });
  return page;
};
const changes = (page) => page.$eval("#m-monitor-003 .c-name a", (one) => one.textContent);
/** Waits until the page has been drawn anew twice. */
const drawnAnew = async (page) => {
  for (const _ of [1, 2]) {
    const before = await changes(page);
    await page.waitForFunction((before) => document.querySelector("#m-monitor-003 .c-name a").textContent !== before, {}, before);
  }
};
const focused = (page) => page.evaluate(() => document.activeElement.closest(".row")?.id ?? document.activeElement.id);

// What nothing changed in stays: the selection, the focus, a fold, the place scrolled to, the very element.
{
  const page = await visit("/");
  await page.waitForSelector(".lamp.live").catch(() => wrong.push("the page never says that it is live"));
  await page.evaluate(() => {
    const name = document.querySelector("#m-monitor-050 .c-name a").firstChild;
    getSelection().setBaseAndExtent(name, 0, name, name.length);
    document.querySelector("#labels").open = true;
    window.kept = name.parentNode;
    document.querySelector("#m-monitor-051 .c-name a").focus({ preventScroll: true });
    scrollTo(0, 400);
  });
  const selected = await page.evaluate(() => String(getSelection()));
  await drawnAnew(page);
  must(selected && await page.evaluate(() => String(getSelection())) === selected, "a selection is lost when the page is drawn anew");
  must(await focused(page) === "m-monitor-051", "the focus is lost when the page is drawn anew");
  must(await page.$eval("#labels", (one) => one.open), "a fold closes when the page is drawn anew");
  must(await page.evaluate(() => scrollY) === 400, "the page scrolls when it is drawn anew");
  must(await page.evaluate(() => window.kept.isConnected), "what did not change is another element");
  const [title, at] = await page.$eval("#m-monitor-050 .c-seen time", (one) => [one.title, one.dateTime]);
  must(title.includes(at.slice(11, 19) + " UTC"), `a time does not say UTC: ${title}`);
}

// Folded groups stay as they are.
{
  const page = await visit("/?group=team");
  await page.waitForSelector(".lamp.live");
  await press(page, ".group[open] summary");
  const folded = await page.$$eval(".group:not([open])", (all) => all.map((one) => one.id));
  must(folded.length > 0, "a group does not fold by click");
  await drawnAnew(page);
  must((await page.$$eval(".group:not([open])", (all) => all.map((one) => one.id))).join() === folded.join(), "a folded group opens by itself");
}

// Keys, and never while somebody types.
{
  const page = await visit("/");
  await page.keyboard.press("j");
  const first = await focused(page);
  await page.keyboard.press("j");
  const second = await focused(page);
  await page.keyboard.press("k");
  must(first.startsWith("m-") && second.startsWith("m-") && first !== second && await focused(page) === first, `j and k do not move over rows: ${first}, ${second}`);
  await page.keyboard.press("/");
  must(await focused(page) === "q", "/ does not lead to the search");
  await page.keyboard.type("j?k/");
  must(await page.$eval("#q", (one) => one.value) === "j?k/", "what is typed into the search is taken for keys");
  must(!await page.$eval("#keys", (one) => one.open), "the help opens while somebody types");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  must(await page.$eval("#keys", (one) => one.open), "? shows no help");
  await page.keyboard.press("Escape");
  must(!await page.$eval("#keys", (one) => one.open), "Escape does not close the help");
  await page.keyboard.press("j");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  must(page.url().includes("/monitors/"), `Enter does not open a row: ${page.url()}`);
  await page.keyboard.press("g");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("i")]);
  must(page.url().endsWith("/incidents"), `g i does not lead to incidents: ${page.url()}`);
}

// The theme: by click and by key, kept over a reload, and there before the first drawing.
{
  const page = await visit("/", { scheme: "dark" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await press(page, "#theme");
  const light = await paper();
  must(light !== dark && (await text(page, "#theme")).includes("light"), "the theme does not change by click");
  await page.reload();
  must(await paper() === light, "the theme is forgotten");
  must(await page.evaluate(() => document.documentElement.dataset.theme) === "light", "the theme comes late");
  await page.focus("#theme");
  await page.keyboard.press("Enter");
  must(await paper() === dark, "the theme does not change by key");
  await page.keyboard.press("Enter");
  must(await page.evaluate(() => document.documentElement.dataset.theme) === undefined, "the third press is not the system's");
}

// Without scripts: no switch that does nothing, groups and labels by click, times say UTC.
{
  const page = await visit("/", { script: false });
  must(await page.$eval("#theme", (one) => one.hidden) && await page.$eval("#keys-button", (one) => one.hidden), "a switch shows that does nothing");
  must((await text(page, "#updated")).includes("UTC"), "the time of drawing does not say UTC");
  await Promise.all([page.waitForNavigation(), press(page, ".by .chip")]);
  must(page.url().includes("group="), "groups are not there without scripts");
}

// A hundred monitors on a telephone, and pictures.
for (const scheme of ["light", "dark"]) {
  for (const width of [360, 1280, 1440, 2560]) {
    for (const [name, path] of [["list", "/"], ["groups", "/?group=team"]]) {
      const page = await visit(path, { width, height: width < 600 ? 812 : 1000, scheme });
      const [height, over] = await page.evaluate(() => [document.documentElement.scrollHeight, document.documentElement.scrollWidth - document.documentElement.clientWidth]);
      if (width === 360 && name === "list") { console.log(`100 monitors at 360 px: ${height} px`); must(height < 8000, `a hundred monitors are ${height} px at 360`); }
      must(over <= 0, `${path} at ${width} scrolls ${over} px sideways`);
      await picture(page, `${folder}/fleet-${name}-${width}-${scheme}.png`, { clip: { x: 0, y: 0, width, height: Math.min(height, width < 600 ? 1600 : 1300) } });
      await page.browserContext().close();
    }
  }
}

await browser.close();
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
