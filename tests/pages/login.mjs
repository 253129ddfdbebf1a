// Signs in in Chromium by name and by a provider, with and without scripts, and fails with a line for each way that does
// not lead to the page that was asked for. Usage: node login.mjs URL PASSWORD FOLDER
import { mkdirSync } from "node:fs";
import { fill, launch, open, picture, submit, text } from "./browser.mjs";

const [url, password, folder] = process.argv.slice(2);
const wrong = [];
const must = (fine, words) => { if (!fine) throw new Error(words); };
const who = (page) => text(page, ".who");

const byName = async (page, where) => {
  await page.goto(`${url}/incidents`);
  must(await page.$("#by-name") && await page.$("#by-provider") && !await page.$("#by-token"), `${where}: it offers other ways than the file`);
  for (const width of [380, 1280]) {
    await page.setViewport({ width, height: 1000 });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth).catch(() => 0);
    must(over <= 0, `${where}: the form scrolls sideways`);
    await picture(page, `${folder}/login-${width}.png`);
  }
  await fill(page, "#name", "ada");
  await fill(page, "#password", "wrong");
  const refused = await submit(page, "#by-name button");
  must(refused.status() === 401 && (await text(page, "[role=alert].bad")).includes("or not its password"), `${where}: a wrong password is not refused in words`);
  await fill(page, "#name", "ada");
  await fill(page, "#password", password);
  await submit(page, "#by-name button");
  must(page.url() === `${url}/incidents` && await who(page) === "ada", `${where}: by name it leads to ${page.url()}`);
  await page.goto(`${url}/silences`);
  must(await page.$eval("#actor", (one) => one.readOnly && one.value === "ada"), `${where}: the form does not say who acts`);
  await submit(page, "form.out button");
};
const byProvider = async (page, where) => {
  await page.goto(`${url}/silences`);
  await submit(page, "#by-provider");
  await fill(page, "input[name=login]", "grace");
  await fill(page, "input[name=password]", "any");
  await submit(page, "button[type=submit]");
  // The last page of the provider leads back by itself, over a page that brings the cookie.
  const [back] = await Promise.all([page.waitForSelector(".who"), submit(page, "button[type=submit]")]);
  must(back && page.url() === `${url}/silences`, `${where}: by the provider it leads to ${page.url()}`);
  must(await who(page) === "grace@example.org", `${where}: it is ${await who(page)}`);
  await submit(page, "form.out button");
  must(await page.$("#by-provider"), `${where}: it does not sign out`);
};

mkdirSync(folder, { recursive: true });
for (const script of [true, false]) {
  const browser = await launch("chromium", { script });
  const page = await open(browser, "chromium", script);
  const where = script ? "with scripts" : "without scripts";
  for (const way of [byName, byProvider]) await way(page, where).catch((error) => wrong.push(`${where}: ${error.message} at ${page.url()}`));
  await browser.close();
}
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
