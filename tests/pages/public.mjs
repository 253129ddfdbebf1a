// Takes a picture of the public page at every width in both colour schemes, without script, and fails where it scrolls
// sideways, logs an error or asks for anything but its style and icon. Usage: node public.mjs URL FOLDER
import { mkdirSync } from "node:fs";
import { launch, picture } from "./browser.mjs";

const [url, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launch("chromium");
const wrong = [];
for (const scheme of ["light", "dark"]) {
  for (const width of [360, 375, 768, 1280, 1920, 2560]) {
    const page = await browser.newPage();
    await page.setJavaScriptEnabled(false);
    await page.setViewport({ width, height: width < 600 ? 812 : 1000 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    const where = `public at ${width} ${scheme}`;
    page.on("console", (message) => { if (message.type() === "error") wrong.push(`${where}: ${message.text()}`); });
    page.on("request", (request) => { if (!/\/(status|assets\/(public|serin)\.[0-9a-f]+\.(css|svg))$/.test(request.url())) wrong.push(`${where}: asks for ${request.url()}`); });
    await page.goto(url + "/status", { waitUntil: "load" });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) wrong.push(`${where}: scrolls ${over} px sideways`);
    if (!await page.$("h1") || !await page.$(".overall")) wrong.push(`${where}: no heading, or no sentence`);
    await picture(page, `${folder}/public-${width}-${scheme}.png`, { fullPage: true });
    await page.close();
  }
}
await browser.close();
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
