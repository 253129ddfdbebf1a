// What is wrong with a page, as axe sees it and as a reader would: in both themes, on a phone and on a desk.
import { readFileSync } from "node:fs";

// Goes in by the browser's own tools, so the page's policy stays as it is.
const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const WIDTHS = [360, 1440];

// A page of its own path that is not there is answered 404, which the browser calls an error of the page.
const isMissing = (message, address) => message.text().includes("404") && message.location().url === address;

/** A line for each thing that is wrong with the page at this address. */
export const findings = async (page, address) => {
  const wrong = [];
  page.on("console", (message) => { if (message.type() === "error" && !isMissing(message, address)) wrong.push(`${address}: ${message.text()}`); });
  page.on("pageerror", (error) => wrong.push(`${address}: ${error.message}`));
  for (const theme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }, { name: "prefers-reduced-motion", value: "reduce" }]);
    for (const width of WIDTHS) {
      await page.setViewport({ width, height: 900 });
      await page.goto(address, { waitUntil: "load" });
      const where = `${address} at ${width} ${theme}`;
      wrong.push(...(await read(page)).map((line) => `${where}: ${line}`));
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) wrong.push(`${where}: scrolls ${over} px sideways`);
    }
  }
  return wrong;
};

const read = async (page) => {
  await page.evaluate(() => { for (const fold of document.querySelectorAll("details")) fold.open = true; });
  await page.evaluate(axe);
  const look = () => page.evaluate(async () => {
    const { violations } = await globalThis.axe.run({ resultTypes: ["violations"] });
    return violations.flatMap(({ id, help, nodes }) => nodes.slice(0, 3).map((node) => `${id} (${help}): ${node.target.join(" ")}: ${node.any.concat(node.all, node.none).map((one) => one.message).join("; ")}`));
  });
  const found = await look();
  if (await page.$("dialog#keys") === null) return found;
  await page.$eval("dialog#keys", (dialog) => dialog.showModal());
  return [...found, ...await look()];
};
