// Keeps an open page fresh. Everything on it is right without this script.
(() => {
  "use strict";
  const main = document.querySelector("main");
  const lamp = document.getElementById("lamp");
  const watch = main.dataset.watch || "";
  const hasTries = document.querySelector("#ledger, #told") !== null; // Nothing tells that a delivery was tried: such a page looks by itself.
  const PAUSE_MS = watch === "fleet" ? 2000 : 1000; // At most one look at the page in this time.
  const QUIET_MS = 10000; // Serin says every 5 s that it is there: two of those missed, and the page looks for itself.
  const UNHEARD_MS = 15000; // Nothing heard for so long, and what the page shows may be out of date.
  const LOOK_MS = 10000; // A look that takes longer is given up, or the page would wait for a frozen server for ever.
  const LEAVING_MS = 10000; // So long after a click that leads elsewhere, the click decides where to.
  const PRESSED_MS = 30000; // A press that takes longer ended where nobody told the page.
  let source = null, timer = 0, busy = false, again = false, lastLook = 0, openedAt = 0, left = -LEAVING_MS, pressed = -PRESSED_MS;
  let eventAt = 0; // When the stream last said something.
  const drawnAt = Date.now();
  let heardAt = drawnAt; // The page was just drawn.
  let owed = false; // Something changed, and the page has not seen it: that Serin is there makes it no truer.

  const say = (state, text) => {
    if (!lamp || lamp.className === "lamp " + state && lamp.querySelector("b").textContent === text) return;
    lamp.className = "lamp " + state; lamp.querySelector("b").textContent = text;
  };

  // As the server draws it (src/domain/wording.rs, coarse): the greatest unit, rounded down, hours up to two days.
  const ago = (seconds) => {
    const ahead = seconds < 0, s = Math.floor(Math.abs(seconds));
    if (s < 1) return "now";
    const said = s < 60 ? s + " s" : s < 3600 ? Math.floor(s / 60) + " min" : s < 172800 ? Math.floor(s / 3600) + " h" : Math.floor(s / 86400) + " d";
    return ahead ? "in " + said : said + " ago";
  };
  // Absolute times in the viewer's zone, with UTC beside: people compare them with their own clock and with a server's log.
  const pad = (n) => String(n).padStart(2, "0");
  const utc = (at) => at.toISOString().slice(0, 19).replace("T", " ") + " UTC";
  const local = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  const zone = (at) => new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? "";
  const inZone = (time) => {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) return;
    const here = local(at) + " " + zone(at), there = utc(at);
    const title = time.matches(".at") || here === there ? there : here + " · " + there;
    if (time.title !== title) time.title = title;
    if (time.matches(".at") && time.textContent !== here) time.textContent = here;
  };
  // A chart's moments, which the server says in UTC: what has a clock is said by the viewer's, days stay as they were cut.
  const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"], MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const inShape = (said, at) => {
    const clock = /\d\d:\d\d(:\d\d)?/.exec(said);
    if (!clock) return said;
    const parts = [/^[A-Z]/.test(said) && WEEKDAYS[at.getDay()], / [A-Z][a-z]{2} /.test(said) && `${at.getDate()} ${MONTHS[at.getMonth()]}`];
    return [...parts, local(at).slice(11, 11 + clock[0].length), said.endsWith("UTC") && zone(at)].filter(Boolean).join(" ");
  };
  const chartsInZone = () => {
    for (const moment of document.querySelectorAll(".xs [data-t], .points tr[data-t] > th")) {
      if (moment.title || !/\d:\d/.test(moment.textContent)) continue;
      const said = moment.textContent, at = new Date((moment.dataset.t ?? moment.parentNode.dataset.t) * 1000);
      moment.title = said.endsWith("UTC") ? said : said + " UTC";
      moment.textContent = inShape(said, at);
    }
    for (const said of document.querySelectorAll(".chart .zone-said")) {
      const first = said.closest(".chart").querySelector(".xs [data-t][title]");
      if (first) said.textContent = `times in ${zone(new Date(first.dataset.t * 1000))}`;
    }
  };
  const tick = () => {
    chartsInZone();
    for (const time of document.querySelectorAll("time[datetime]")) {
      if (!time.dataset.zone || time.dataset.zone !== time.dateTime) { inZone(time); time.dataset.zone = time.dateTime; }
      if (time.matches(".at")) continue;
      const said = ago((Date.now() - Date.parse(time.dateTime)) / 1000);
      // In place, so that a selection across it stays.
      if (time.textContent !== said) { if (time.firstChild) time.firstChild.nodeValue = said; else time.textContent = said; }
    }
  };

  const line = document.getElementById("unheard");
  const page = document.documentElement.classList;
  const heard = () => {
    if (owed) return;
    heardAt = Date.now();
    page.remove("unheard"); line.replaceChildren();
    if (document.hidden || !watch) return;
    if (source && heardAt - eventAt < UNHEARD_MS) say("live", "live"); else say("idle", "looks every 10 s");
  };
  const unheard = () => {
    if (page.contains("unheard")) return;
    const since = new Date(heardAt).toISOString(), time = document.createElement("time");
    time.dateTime = since;
    time.ariaHidden = "true"; // It is counted up each second, and nobody wants that read out.
    line.replaceChildren("Not heard from Serin since " + since.slice(11, 19) + " UTC, ", time, ". What stands here may be out of date; the page keeps trying.");
    page.add("unheard");
    say("lost", "nothing heard");
    tick();
  };

  // What is drawn anew comes into what is open, element by element: selection, focus, hover and scroll stay where nothing
  // changed. What somebody folded, opened, ticked or typed stays so, and times count by themselves.
  const toggled = new WeakSet(), touched = new WeakSet();
  document.addEventListener("click", (event) => { const fold = event.target.closest?.("summary")?.parentNode; if (fold) toggled.add(fold); });
  for (const kind of ["input", "change"]) document.addEventListener(kind, (event) => touched.add(event.target));
  const READING = ".readout, .reader, .cursor, .cursor-at"; // Whoever reads a chart has these as they are.
  const isInUse = (old) => old.nodeName === "FORM" && old.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
  const isAsItWas = (old, fresh) => old.nodeName === "TIME" && fresh.nodeName === "TIME" && old.dateTime === fresh.dateTime
    || old.nodeType === 1 && old.matches(READING) && old.getAttribute("class") === fresh.getAttribute("class");
  const MORPHING = {
    ignoreActiveValue: true,
    callbacks: {
      beforeNodeMorphed: (old, fresh) => !(isAsItWas(old, fresh) || touched.has(old) || isInUse(old)),
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.nodeName === "DETAILS"),
    },
  };
  // What has become bad opens; nothing closes by itself, and what somebody closed stays closed.
  const unfold = (fresh) => {
    for (const { id } of fresh.querySelectorAll("details[open][id]")) {
      const fold = document.getElementById(id);
      if (fold && !fold.open && !toggled.has(fold)) fold.open = true;
    }
  };

  const look = async () => {
    if (busy) { again = true; return; }
    busy = true; owed = true; lastLook = Date.now();
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", signal: AbortSignal.timeout(LOOK_MS) });
      if (answer.redirected && new URL(answer.url).pathname === "/login") {
        // Signing out ends the session before its own answer is here; going elsewhere now would undo the click.
        if (performance.now() - left < LEAVING_MS) again = true; else location.assign(answer.url);
        return;
      }
      if (!answer.ok) return;
      // A button that is drawn again between press and release is another one, and the click is lost.
      if (performance.now() - pressed < PRESSED_MS) { again = true; return; }
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.title = fresh.title;
      for (const part of document.querySelectorAll("[data-live]")) {
        const next = fresh.getElementById(part.id);
        if (next) Idiomorph.morph(part, next, MORPHING);
      }
      // A form is never drawn again under somebody's hands; it goes when there is nothing left to ask for.
      for (const form of document.querySelectorAll("[data-goes][id]")) if (!fresh.getElementById(form.id)) form.remove();
      unfold(fresh);
      chartsInZone();
      document.dispatchEvent(new Event("serin:drawn"));
      owed = false; heard();
      tick();
    } catch { /* The page owes a look now: it tries again, and turns grey before long. */ }
    finally { busy = false; if (again) { again = false; soon(); } }
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, Math.max(100, lastLook + PAUSE_MS - Date.now()));
  };

  const concerns = (change) => change.all || change.fleet || watch === "fleet"
    || watch === "incidents" && change.incidents.length > 0
    || change.monitors.some((id) => watch === "monitor:" + id)
    || change.incidents.some((id) => watch === "incident:" + id) || watch.startsWith("monitor:") && change.incidents.length > 0;

  const close = () => { source?.close(); source = null; clearTimeout(timer); };
  const open = () => {
    if (source || document.hidden || !watch || !lamp) return;
    source = new EventSource("/events");
    openedAt = Date.now();
    source.addEventListener("open", soon);
    source.addEventListener("beat", () => { eventAt = Date.now(); heard(); });
    source.addEventListener("change", (event) => {
      eventAt = Date.now();
      if (concerns(JSON.parse(event.data))) { owed = true; soon(); } else heard();
    });
    source.addEventListener("bye", () => { close(); say("lost", "Serin stopped"); });
    // Refused for good: too many streams are open. The page looks by itself until one is free.
    source.addEventListener("error", () => { say("lost", "no connection"); if (source?.readyState === 2) { close(); look(); } });
  };

  // Every second: whether anything was heard. A stream that stands open and says nothing is opened anew, as is one that
  // ended. A look that has just begun may be all that is missing, as in a tab that somebody comes back to.
  const listen = () => {
    if (document.hidden || !watch || !lamp) return;
    const now = Date.now(), silent = now - heardAt;
    if (silent > QUIET_MS && now - lastLook > QUIET_MS / 2 || hasTries && now - Math.max(lastLook, drawnAt) > QUIET_MS) look();
    if (source && now - Math.max(eventAt, openedAt) > UNHEARD_MS) close();
    if (!source && now - openedAt > QUIET_MS) open();
    if (silent > UNHEARD_MS && !(busy && now - lastLook < PAUSE_MS)) unheard();
  };

  if (watch) document.addEventListener("visibilitychange", () => document.hidden ? (close(), say("idle", "paused")) : (open(), look()));
  addEventListener("pagehide", close);
  addEventListener("pointerdown", () => { pressed = performance.now(); });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(() => { pressed = -PRESSED_MS; }));
  addEventListener("beforeunload", () => { left = performance.now(); });
  setInterval(() => { tick(); listen(); }, 1000);
  tick();
  open();
})();

// A link into a fold opens it. Browsers do so by themselves, the older ones do not.
(() => {
  "use strict";
  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.closest("details.fold:not([open])");
    if (!fold) return;
    fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  // The same link a second time changes no address.
  document.addEventListener("click", (event) => event.target.closest?.("a[href^='#']") && setTimeout(unfold));
  unfold();
})();

// Charts are read point by point: by pointer, by touch, by arrow keys. What is read stands in the chart's own table.
(() => {
  "use strict";
  document.documentElement.classList.add("script"); // Shows what only works with this script.
  let at = null; // The moment read, in seconds: a chart drawn again has it elsewhere, or not any more.
  const rows = (chart) => [...chart.querySelectorAll(".points tbody tr")];
  const nearest = (all, key, value) => all.reduce((best, row, nth) => Math.abs(row.dataset[key] - value) < Math.abs(all[best].dataset[key] - value) ? nth : best, 0);
  const words = (chart, row) => {
    const heads = [...chart.querySelectorAll(".points thead th")].map((one) => one.textContent);
    const cells = [...row.cells].map((cell, nth) => nth === 0 ? cell.textContent : cell.textContent && `${heads[nth]} ${cell.textContent}`);
    return cells.filter(Boolean).join(" · ");
  };
  const show = (chart, all, nth) => {
    const row = all[nth];
    if (!row) return;
    const said = words(chart, row), x = row.dataset.x;
    at = Number(row.dataset.t);
    chart.querySelector(".cursor").setAttribute("d", `M${x} 0V240`);
    for (const [line, cell] of [["p50", 1], ["p95", 3]]) {
      const y = row.cells[cell].dataset.y;
      chart.querySelector(".cursor-at." + line).setAttribute("d", y === undefined ? "" : `M${x} ${y}h0`);
    }
    const reader = chart.querySelector(".reader");
    reader.setAttribute("aria-valuemax", all.length);
    reader.setAttribute("aria-valuenow", nth + 1);
    reader.setAttribute("aria-valuetext", row.cells[0].textContent);
    const line = chart.querySelector(".readout");
    if (line.textContent !== said) line.textContent = said;
    line.title = row.cells[0].title;
  };
  const step = (chart, key) => {
    const all = rows(chart), last = all.length - 1, now = at === null ? last + 1 : nearest(all, "t", at);
    const to = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, PageDown: now - 6, PageUp: now + 6, Home: 0, End: last }[key];
    if (to === undefined || last < 0) return false;
    show(chart, all, Math.min(last, Math.max(0, to)));
    return true;
  };
  const point = (event) => {
    const canvas = event.target.closest?.(".canvas");
    if (!canvas) return;
    const box = canvas.getBoundingClientRect(), chart = canvas.closest(".chart"), all = rows(chart);
    show(chart, all, nearest(all, "x", (event.clientX - box.left) / box.width * 1000));
  };
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.addEventListener("focusin", (event) => {
    if (!event.target.matches(".reader")) return;
    const chart = event.target.closest(".chart"), all = rows(chart);
    show(chart, all, at === null ? all.length - 1 : nearest(all, "t", at));
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches?.(".reader") && !event.ctrlKey && !event.metaKey && !event.altKey && step(event.target.closest(".chart"), event.key)) { event.preventDefault(); event.stopPropagation(); }
  });
  // A page was drawn again: whoever was reading goes on at the same moment.
  document.addEventListener("serin:drawn", () => {
    const chart = document.querySelector(".chart");
    if (!chart) return;
    const all = rows(chart), reader = chart.querySelector(".reader");
    if (at !== null) return show(chart, all, nearest(all, "t", at));
    reader.setAttribute("aria-valuemax", all.length);
    reader.setAttribute("aria-valuenow", all.length);
  });
})();

// Theme: as the system has it, light or dark, kept on this machine. theme.js puts it in force before anything is drawn.
(() => {
  "use strict";
  const button = document.getElementById("theme");
  if (!button) return;
  const root = document.documentElement, NEXT = { system: "light", light: "dark", dark: "system" };
  const say = () => {
    const now = root.dataset.theme || "system";
    button.querySelector("b").textContent = now;
    button.setAttribute("aria-label", `Theme: ${now}; press for ${NEXT[now]}`);
  };
  const set = (theme) => { if (theme === "light" || theme === "dark") root.dataset.theme = theme; else delete root.dataset.theme; say(); };
  button.hidden = false;
  button.addEventListener("click", () => {
    const theme = NEXT[root.dataset.theme || "system"];
    set(theme);
    try { if (theme === "system") localStorage.removeItem("serin-theme"); else localStorage.setItem("serin-theme", theme); } catch { /* It holds for this page. */ }
  });
  // Another tab of the same Serin.
  addEventListener("storage", (event) => { if (event.key === "serin-theme") set(event.newValue); });
  say();
})();

// Keys, never while somebody types.
(() => {
  "use strict";
  const help = document.getElementById("keys"), button = document.getElementById("keys-button");
  const LEADS = { f: "/", i: "/incidents", s: "/silences", d: "/deliveries" };
  const LEAD_MS = 1500; // So long after `g` a letter says where to.
  let leadAt = -LEAD_MS;
  const open = () => { if (!help.open) help.showModal(); };
  if (button) { button.hidden = false; button.addEventListener("click", open); }
  document.getElementById("keys-close")?.addEventListener("click", () => help.close());
  help?.addEventListener("click", (event) => { if (event.target === help) help.close(); });

  const isOpen = (link) => link.checkVisibility ? link.checkVisibility() : link.offsetParent !== null;
  const links = () => {
    const rows = [...document.querySelectorAll("main .row .c-name > a")];
    const others = () => [...document.querySelectorAll("main tbody tr")].map((row) => row.querySelector("a[href]")).filter(Boolean);
    return (rows.length ? rows : others()).filter(isOpen);
  };
  const move = (by) => {
    const all = links(), here = document.activeElement;
    const at = all.findIndex((link) => link === here || link.closest(".row, tr").contains(here));
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
    next?.focus();
    next?.closest(".row, tr").scrollIntoView({ block: "nearest" });
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help?.open) return;
    if (event.target.closest?.("input, select, textarea, [contenteditable]")) return;
    const leads = performance.now() - leadAt < LEAD_MS && LEADS[event.key];
    leadAt = -LEAD_MS;
    if (leads) { event.preventDefault(); location.assign(leads); return; }
    const search = document.getElementById("q");
    switch (event.key) {
      case "/": if (search) { event.preventDefault(); search.focus(); search.select(); } break;
      case "?": if (help) { event.preventDefault(); open(); } break;
      case "j": move(1); break;
      case "k": move(-1); break;
      case "g": leadAt = performance.now(); break;
    }
  });
})();
