// Clicks what the page of lists offers, in Chromium and Firefox, with and without scripts, as if a list lost others between
// the look and the click, too. Fails with a line for each that does not do what it should. Usage: node lists.mjs URL FOLDER
import { mkdirSync } from "node:fs";
import { launch, open, picture, submit, text } from "./browser.mjs";

const [url, folder] = process.argv.slice(2);
const wrong = [];

const clicks = async (page, where, script) => {
  // A page with scripts draws anew what it shows by itself, so that what was seen longer ago is only clicked without.
  const before = ["#accept-prod", "0123456789abcdef", "others", "prod", "prod lost others meanwhile, and nothing is let go"];
  const rows = [
    ...(script ? [] : [before]),
    ["#accept-prod", null, "accepted", "prod", "What prod names no longer is let go"],
    ["#read-lab", null, "read", "lab", "lab is read now"],
  ];
  for (const [form, seen, word, list, said] of rows) {
    await page.goto(`${url}/lists`);
    if (seen) await page.$eval(`${form} [name=held_mark]`, (one, seen) => { one.value = seen; }, seen);
    await submit(page, `${form} button`);
    if (page.url() !== `${url}/lists?said=${word}&list=${list}`) wrong.push(`${where}: ${form} leads to ${page.url()}`);
    const heard = await text(page, "#said");
    if (!heard.includes(said)) wrong.push(`${where}: after ${form} the page says "${heard}"`);
  }
};

mkdirSync(folder, { recursive: true });
for (const name of ["chromium", "firefox"]) {
  for (const script of [true, false]) {
    const browser = await launch(name, { script });
    const where = `${name} ${script ? "with" : "without"} scripts`;
    const page = await open(browser, name, script);
    await clicks(page, where, script).catch((error) => wrong.push(`${where}: ${error.message}`));
    await picture(page, `${folder}/lists-${name}-${script ? "script" : "plain"}.png`, { fullPage: true });
    await browser.close();
  }
}
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
