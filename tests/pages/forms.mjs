// Clicks every form in Chromium and Firefox, with and without scripts, on loopback and behind a TLS proxy, and has
// pages of others click in a visitor's name. Fails with a line for each that does not do what it should.
// Usage: node forms.mjs FILE, which says where Serin is, what it is called outside, its token, its incidents and the links of their messages.
import { mkdirSync, readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { fill, launch, open, picture, press, pressSlowly, submit, text } from "./browser.mjs";

const { pages, outside, token, key, certificate, incidents, links, folder } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const listening = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address().port)));
const wrong = [];
const must = (fine, words) => { if (!fine) throw new Error(words); };

// A page with one large button, in a frame or not. What it posts to is somebody else's.
const trap = (target, kind) => {
  const form = (more = "") => `<form method=post action="${target}"${more}><button style="position:fixed;inset:0;width:300px;height:200px">Win a prize</button></form>`;
  const frame = (rights, inner) => `<iframe sandbox="${rights}" style="position:fixed;inset:0;width:300px;height:200px;border:0" srcdoc='${inner}'></iframe>`;
  return "<!doctype html><title>trap</title>" + {
    "plain": form(),
    "sandboxed": frame("allow-forms", form()),
    "sandboxed to the top": frame("allow-forms allow-top-navigation", form(" target=_top")),
  }[kind];
};
const trapped = (answer, asked) => {
  const query = new URL(asked.url, "http://x").searchParams;
  answer.writeHead(200, { "content-type": "text/html", ...(query.has("silent") ? { "referrer-policy": "no-referrer" } : {}) });
  answer.end(trap(query.get("target"), query.get("kind")));
};
const elsewhere = await listening(http.createServer((asked, answer) => trapped(answer, asked)));

// A page that looks again learns that its session is over before the click that ended it is answered: the answer to
// signing out waits for that, where scripts run and the browser still lets them.
let passed = () => {};
const refusedMeanwhile = () => new Promise((done) => { passed = done; setTimeout(done, 5000); });
// Ends TLS before Serin, and has one more page at the same name: what another program behind the same proxy may serve.
const proxy = https.createServer({ key, cert: certificate }, (asked, answer) => {
  if (asked.url.startsWith("/planted?")) return trapped(answer, asked);
  const onward = http.request(pages + asked.url, { method: asked.method, headers: asked.headers }, async (got) => {
    if (asked.url === "/logout") await refusedMeanwhile();
    if (asked.url === "/login?next=%2F") setTimeout(passed, 200);
    answer.writeHead(got.statusCode, got.headers);
    got.pipe(answer);
  });
  onward.on("error", () => answer.destroy());
  answer.on("close", () => onward.destroy());
  asked.pipe(onward);
});
const behind = await listening(proxy);
// Serin's name leads to that proxy, whatever the machine resolves it to; no other name leads anywhere.
const gateway = http.createServer();
gateway.on("connect", (asked, socket) => {
  if (asked.url !== new URL(outside).host + ":443") return socket.destroy();
  const onward = net.connect(behind, "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
  for (const [one, other] of [[socket, onward], [onward, socket]]) one.on("error", () => other.destroy()).pipe(other);
});
const gate = await listening(gateway);

const here = (page) => page.url().replace(/^https?:\/\/[^/]+/, "");
const lands = (page, path, after) => must(here(page) === path, `${after} leads to ${here(page)} and not to ${path}`);
// With scripts the page says it by itself; without, whoever wants to know loads it again.
const says = async (page, script, selector, words) => {
  const seen = async () => (await text(page, selector).catch(() => "")).includes(words);
  for (const end = Date.now() + 60_000; !await seen() && Date.now() < end;) {
    if (script) await new Promise((done) => setTimeout(done, 100)); else await page.reload();
  }
  must(await seen(), `${selector} never says "${words}" but "${await text(page, selector)}"`);
};

// What the library does for it waits for the page's own scripts, which may be off.
const choose = (page, selector, value) => page.$eval(selector, (one, value) => { one.value = value; }, value);

const signIn = async (page, base, path, name) => {
  await page.goto(base + path);
  lands(page, `/login?next=${encodeURIComponent(path)}`, "a page of the fleet");
  await fill(page, "#token", "guess");
  const refused = await submit(page, "#by-token button");
  must(refused.status() === 401 && (await text(page, "main")).includes("This is not the token."), `a wrong token is answered ${refused.status()}: ${await text(page, "body")}`);
  await fill(page, "#token", token);
  await picture(page, `${folder}/form-login-${name}.png`);
  await submit(page, "#by-token button");
  lands(page, path, "signing in");
};

const everyForm = async (page, script, base, name) => {
  const [incident, monitor] = [`/incidents/${incidents[name]}`, `/monitors/${name}`];
  // By the link of a message, signed in nowhere.
  await page.goto(base + links[name]);
  must((await text(page, "main")).includes("Acknowledge?"), `the link's page says "${await text(page, "main")}"`);
  await fill(page, "#actor", `lee of ${name}`);
  await submit(page, "#take button");
  lands(page, links[name], "taking by link");
  must((await text(page, "main")).includes(`Acknowledged by lee of ${name}`), `the link's page says "${await text(page, "main")}"`);
  await picture(page, `${folder}/form-link-${name}.png`, { fullPage: true });

  await signIn(page, base, incident, name);
  must((await text(page, "#incident-head")).includes(`acknowledged by lee of ${name}`), `the head says "${await text(page, "#incident-head")}"`);
  await fill(page, "#giver", `kim of ${name}`);
  await submit(page, "#give-back button");
  lands(page, `${incident}?said=given`, "giving back");
  must((await text(page, "#said")).includes("Un-acknowledged: reminders"), `the page says "${await text(page, "#said")}"`);
  must(await page.$eval("#actor", (one) => one.value) === `kim of ${name}`, "the form does not know who asks");
  await submit(page, "#take button");
  lands(page, `${incident}?said=taken`, "acknowledging");
  await says(page, script, "#incident-head", `acknowledged by kim of ${name}`);
  must((await text(page, "#said")).includes(`Acknowledged by kim of ${name}.`), `the page says "${await text(page, "#said")}"`);
  must(await page.$("#take") === null, "the page still asks who takes what is taken");
  await picture(page, `${folder}/form-taken-${name}.png`, { fullPage: true });

  await submit(page, ".act form[action$='/recheck'] button");
  must(here(page).startsWith(`${incident}?said=recheck&at=`), `looking again from the incident leads to ${here(page)}`);
  await page.goto(base + incident);
  await press(page, "details.silence summary");
  must(await page.$eval("#author", (one) => one.value) === `kim of ${name}`, "the silence's form does not know who asks");
  await choose(page, "#lasts", "resolved");
  await fill(page, "#comment", "known <b>well</b>");
  await submit(page, "#silence button");
  lands(page, `${incident}?said=silenced`, "silencing");
  must((await text(page, "#said")).includes("Silenced: nobody is notified of it"), `the page says "${await text(page, "#said")}"`);
  await says(page, script, "#quiet", `silenced by kim of ${name}: known <b>well</b>`);
  await picture(page, `${folder}/form-silenced-${name}.png`, { fullPage: true });
  await page.goto(base + "/silences");
  const mine = `monitor ${name}; signal contract`;
  must((await text(page, "#holding")).includes(mine), `the page of silences says "${await text(page, "#holding")}"`);
  await fill(page, "#monitor", name);
  await choose(page, "#signal", "latency");
  await fill(page, "#comment", "slow for now");
  await submit(page, "#make button");
  lands(page, "/silences?said=made", "silencing something");
  const row = await page.$eval("#holding tbody", (body, wanted) => 1 + [...body.rows].findIndex((one) => one.textContent.includes(wanted)), `monitor ${name}; signal latency`);
  must(row > 0, `the new silence is not listed: "${await text(page, "#holding")}"`);
  await picture(page, `${folder}/form-silences-${name}.png`, { fullPage: true });
  await submit(page, `#holding tbody tr:nth-child(${row}) button`);
  lands(page, "/silences?said=ended", "ending a silence");
  must((await text(page, "#over")).includes(`ended by kim of ${name}`), `what is over: "${await text(page, "#over")}"`);

  await page.goto(base + incident);
  await press(page, "details.replay summary");
  must(await page.$eval("#replayer", (one) => one.value) === `kim of ${name}`, "the replay's form does not know who asks");
  await submit(page, "#replay button");
  lands(page, `${incident}?said=replayed`, "replaying an incident");
  must((await text(page, "#said")).includes("It is sent once more"), `the page says "${await text(page, "#said")}"`);

  await page.goto(base + "/receivers");
  const inbox = await page.$eval("#receivers tbody", (body) => 1 + [...body.rows].findIndex((one) => one.cells[0].textContent === "inbox"));
  await submit(page, `#receivers tbody tr:nth-child(${inbox}) button`);
  lands(page, "/receivers?said=accepted&receiver=inbox", "testing a receiver");
  must((await text(page, "#said")).includes("inbox accepted the test."), `the page says "${await text(page, "#said")}"`);
  await picture(page, `${folder}/form-receivers-${name}.png`, { fullPage: true });

  await page.goto(base + monitor);
  await submit(page, ".monitor-head button", script ? pressSlowly : press);
  must(here(page).startsWith(`${monitor}?said=recheck&at=`), `looking again leads to ${here(page)}`);
  await says(page, script, "#said", "Rechecked:");
  await picture(page, `${folder}/form-recheck-${name}.png`);

  const offered = await page.$eval("#accepting", (one) => one.value);
  must(offered === `kim of ${name}`, `the name is not offered again, but "${offered}"`);
  await submit(page, "#accept button");
  lands(page, `${monitor}?said=accepted`, "accepting");
  await says(page, script, "#tools", `accepted by kim of ${name}`);
  must(await page.$("#accept") === null, "the page still asks who accepts what is accepted");
  await picture(page, `${folder}/form-accepted-${name}.png`);
};

const leave = async (page, base) => {
  await submit(page, "form.out button");
  lands(page, "/login", "signing out");
  await page.goto(base + "/incidents");
  lands(page, "/login?next=%2Fincidents", "a page after signing out");
};

// What a click on another page brings about: the status of the post that it sends. Each in a tab of its own, since
// where the post leads to may still be under way when its answer is there.
const clicked = async (tab, from, kind, target, silent) => {
  await tab.goto(`${from}?kind=${encodeURIComponent(kind)}&target=${encodeURIComponent(target)}${silent}`);
  const posted = (one) => one.request().method() === "POST" && one.url() === target;
  const [answer] = await Promise.all([tab.waitForResponse(posted), tab.mouse.click(100, 100)]);
  await tab.close();
  return answer.status();
};

const traps = async (tab, base, name) => {
  const target = `${base}/monitors/${name}/recheck`;
  const rows = ["plain", "sandboxed", "sandboxed to the top"].map((kind) => [`http://127.0.0.1:${elsewhere}/`, kind, "", 403]);
  if (base === outside) rows.push(
    [`${outside}/planted`, "sandboxed", "", 403],
    [`${outside}/planted`, "sandboxed to the top", "", 403],
    // One of our own, had a proxy or an extension put its own policy on it.
    [`${outside}/planted`, "plain", "&silent", 303],
  );
  for (const [from, kind, silent, wanted] of rows) {
    const got = await clicked(await tab(), from, kind, target, silent);
    must(got === wanted, `a ${kind} form on ${from} is answered ${got} and not ${wanted}`);
  }
};

mkdirSync(folder, { recursive: true });
for (const browserName of ["chromium", "firefox"]) {
  for (const script of [true, false]) {
    const browser = await launch(browserName, { gate, script });
    for (const [way, base] of [["loopback", pages], ["proxy", outside]]) {
      const name = `${browserName}-${script ? "script" : "plain"}-${way}`;
      const tab = () => open(browser, browserName, script);
      const page = await tab();
      try {
        await everyForm(page, script, base, name);
        await traps(tab, base, name);
        await page.goto(base + "/");
        lands(page, "/", "a visit after the traps");
        await leave(page, base);
        console.log(`${name}: well`);
      } catch (error) {
        wrong.push(`${name}: ${error.message}`);
        await picture(page, `${folder}/form-failed-${name}.png`)?.catch(() => {});
      }
      await page.close();
    }
    await browser.close();
  }
}
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
