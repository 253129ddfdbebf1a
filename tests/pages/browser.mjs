// What the scripts in here share: the browsers as Debian brings them, and a hand that clicks and types.
import { existsSync } from "node:fs";
import puppeteer from "puppeteer-core";

const there = (...paths) => paths.find((path) => path && existsSync(path));
// A machine that does much else is slow to start a browser.
const PATIENCE_MS = 120_000;
// A wait for the page is one call that is answered when it is over: whoever waits longer than that says so there.
const CALL_MS = 600_000;
const common = { headless: true, acceptInsecureCerts: true, timeout: PATIENCE_MS, protocolTimeout: CALL_MS };

const chromium = (gate) => puppeteer.launch({
  ...common,
  executablePath: there(process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-headless-shell"),
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", ...(gate ? [`--proxy-server=127.0.0.1:${gate}`] : [])],
});
const firefox = (gate, script) => puppeteer.launch({
  ...common,
  browser: "firefox",
  executablePath: there(process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"),
  extraPrefsFirefox: {
    "javascript.enabled": script,
    ...(gate ? { "network.proxy.type": 1, "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": gate } : {}),
  },
});

/** Starts a browser with an empty profile. `gate`: the port of a proxy for every name that is not loopback. */
export const launch = (name, { gate, script = true } = {}) => name === "firefox" ? firefox(gate, script) : chromium(gate);

/** An empty page; in Firefox the profile says whether scripts run, in Chromium the page. */
export const open = async (browser, name, script = true) => {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.setViewport({ width: 1280, height: 1000 });
  if (!script && name === "chromium") await page.setJavaScriptEnabled(false);
  return page;
};

/** A picture of the page for somebody to look at; none where nobody will. */
export const picture = (page, path, options) => process.env.PICTURES === "off" ? undefined : page.screenshot({ path, ...options });

export const text = (page, selector) => page.$eval(selector, (one) => one.textContent);

const middle = (page, selector) => page.$eval(selector, (one) => {
  one.scrollIntoView({ block: "center", behavior: "instant" });
  const box = one.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
});

// Brings the mouse there, and waits until the page has it there: what is sent to a page that has only just come, Firefox
// may drop.
const over = async (page, selector) => {
  do {
    await page.mouse.move(1, 1);
    await page.mouse.move(...await middle(page, selector));
  } while (!await page.$eval(selector, (one) => one.matches(":hover")));
};

/** Clicks where a person would. The library's own click waits for the page's scripts, which may be off. */
export const press = async (page, selector) => {
  for (;;) {
    await over(page, selector);
    await page.mouse.down();
    // What comes to the page meanwhile may move it away from under the hand: one that missed lets go elsewhere.
    if (await page.$eval(selector, (one) => one.matches(":active"))) return page.mouse.up();
    await page.mouse.move(1, 1);
    await page.mouse.up();
  }
};

/** The same by somebody who takes so long that the page looks again in between, twice: the first look is then drawn. */
export const pressSlowly = async (page, selector) => {
  const looks = (answer) => answer.url() === page.url();
  await over(page, selector);
  await page.mouse.down();
  for (const _ of [1, 2]) await page.waitForResponse(looks);
  await page.mouse.up();
};

export const fill = async (page, selector, words) => {
  await press(page, selector);
  await page.keyboard.type(words);
  const has = await page.$eval(selector, (one) => one.value);
  if (!has.endsWith(words)) throw new Error(`"${words}" was typed into ${selector}, which has "${has}"`);
};

/** Clicks, and waits for the page that this leads to. */
export const submit = async (page, selector, click = press) => {
  const from = page.url();
  const waited = page.waitForNavigation().catch((error) => { throw new Error(`${selector} on ${from}: ${error.message}`); });
  const [answer] = await Promise.all([waited, click(page, selector)]);
  return answer;
};
