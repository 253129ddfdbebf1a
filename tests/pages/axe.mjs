// Reads pages as axe does, on a phone and on a desk in both themes, with every fold and the list of keys open; fails where
// axe finds anything, where the page scrolls sideways, and where it logs an error. Usage: node axe.mjs ADDRESSES, as JSON.
import { launch, open } from "./browser.mjs";
import { findings } from "./findings.mjs";

const addresses = JSON.parse(process.argv[2]);
const browser = await launch("chromium");
const wrong = [];
for (const address of addresses) {
  const page = await open(browser, "chromium");
  wrong.push(...await findings(page, address));
  await page.close();
}
await browser.close();
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
