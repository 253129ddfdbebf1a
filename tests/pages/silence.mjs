// Has pages stand open while Serin is frozen, while what stands before it forwards nothing any more, and when it is
// gone. Fails with a line for each page that keeps its colours meanwhile, or never gets them back.
// Usage: node silence.mjs FILE, which says where Serin is, its token, and its process.
import { mkdirSync, readFileSync } from "node:fs";
import net from "node:net";
import { fill, launch, open, picture, submit, text } from "./browser.mjs";

const { pages, token, serin, folder } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const wrong = [];
const failed = (words) => { console.error(words); wrong.push(words); };
const must = (fine, words) => { if (!fine) throw new Error(words); };

// Forwards as long as it may; then it takes what comes and gives nothing, as a dead link does.
let forwards = true;
const link = net.createServer((visitor) => {
  const onward = net.connect(Number(new URL(pages).port), "127.0.0.1");
  for (const [from, to] of [[visitor, onward], [onward, visitor]]) {
    from.on("data", (bytes) => { if (forwards) to.write(bytes); });
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
  }
});
await new Promise((done) => link.listen(0, "127.0.0.1", done));
const behind = `http://127.0.0.1:${link.address().port}`;

const signIn = async (page, base, path) => {
  await page.goto(base + path);
  // A browser sends a cookie to every port of a name, so that a second address may be open already.
  if (await page.$("#token") === null) return;
  await fill(page, "#token", token);
  await submit(page, "#by-token button");
};
const lives = (page, when) => page.waitForSelector("html:not(.unheard) .lamp.live").catch(() => { throw new Error(`${when} it never says that it is live`); });
// The colour of what says how a monitor stands, as it is painted: grey has no saturation.
const painted = (page) => page.$eval(".state", (one) => {
  for (let at = one; at; at = at.parentElement) if (getComputedStyle(at).filter.includes("grayscale(1)")) return "grey";
  return "coloured";
});
const shows = (page) => page.evaluate(() => (document.getElementById("unheard")?.getBoundingClientRect().height ?? 0) > 0);
const isGrey = async (page, when, name) => {
  await page.waitForSelector("html.unheard").catch(() => { throw new Error(`${when} it never turns grey`); });
  const said = await text(page, "#unheard");
  must(/^Not heard from Serin since \d\d:\d\d:\d\d UTC, \d+ (s|min) ago\./.test(said.trim()), `${when} it says "${said}"`);
  must(await shows(page), `${when} what it says is not to be seen`);
  must(await painted(page) === "grey", `${when} its signals keep their colours`);
  for (const width of [380, 1280]) {
    await page.setViewport({ width, height: 1000 });
    await picture(page, `${folder}/silence-${name}-${width}.png`);
  }
};
const isAlive = async (page, when) => {
  await lives(page, when);
  must(await painted(page) === "coloured", `${when} its signals stay grey`);
  must(!await shows(page), `${when} it still says that nothing is heard`);
};

mkdirSync(folder, { recursive: true });
for (const name of ["chromium", "firefox"]) {
  const browser = await launch(name);
  for (const path of ["/", "/monitors/docs"]) {
    const where = `${name} on ${path}`, picture = `${name}-${path === "/" ? "fleet" : "monitor"}`;
    // One tab at a time: a page behind another one rests, and says so.
    const page = await open(browser, name);
    try {
      await signIn(page, path === "/" ? pages : behind, path);
      await isAlive(page, "at first");
      const drawn = await text(page, "footer span:last-of-type");
      if (path === "/") process.kill(serin, "SIGSTOP"); else forwards = false;
      await isGrey(page, path === "/" ? "while Serin is frozen" : "while nothing is forwarded", picture);
      if (path === "/") process.kill(serin, "SIGCONT"); else forwards = true;
      await isAlive(page, "when it is heard again");
      must(await text(page, "footer span:last-of-type") !== drawn, "when it is heard again it does not look at the page");
      console.log(`${where}: well`);
    } catch (error) {
      process.kill(serin, "SIGCONT");
      forwards = true;
      failed(`${where}: ${error.message}`);
    }
    await page.close();
  }
  // Without scripts the page is drawn again by the browser, and says at its head when it was.
  const bare = await launch(name, { script: false });
  const page = await open(bare, name, false);
  try {
    await signIn(page, pages, "/");
    const [drawn, y] = await page.$eval(".lamp", (one) => [one.textContent, one.getBoundingClientRect().y]);
    must(/updated \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/.test(drawn) && y < 200, `without scripts the head says "${drawn}"`);
    await page.waitForNavigation();
    must(await text(page, ".lamp") !== drawn, "without scripts the page is not drawn again");
    console.log(`${name} without scripts: well`);
  } catch (error) {
    failed(`${name} without scripts: ${error.message}`);
  }
  await bare.close();
  if (name === "firefox") {
    const page = await open(browser, name);
    try {
      await signIn(page, pages, "/");
      await isAlive(page, "at first");
      process.kill(serin, "SIGKILL");
      await isGrey(page, "when Serin is gone", `${name}-gone`);
    } catch (error) {
      failed(`${name} after the end: ${error.message}`);
    }
  }
  await browser.close();
}
process.exit(wrong.length === 0 ? 0 : 1);
