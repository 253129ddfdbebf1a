// Keeps an open page fresh. Everything on it is right without this script.
(() => {
  "use strict";
  const main = document.querySelector("main");
  const lamp = document.getElementById("lamp");
  const watch = main.dataset.watch || "";
  const PAUSE_MS = watch === "fleet" ? 2000 : 1000; // At most one look at the page in this time.
  const LEAVING_MS = 10000; // So long after a click that leads elsewhere, the click decides where to.
  let source = null, timer = 0, busy = false, again = false, lastLook = 0, left = -LEAVING_MS;

  const say = (state, text) => { if (lamp) { lamp.className = "lamp " + state; lamp.querySelector("b").textContent = text; } };

  const ago = (seconds) => {
    const ahead = seconds < 0, s = Math.floor(Math.abs(seconds));
    if (s < 1) return "now";
    const said = s < 60 ? s + " s" : s < 3600 ? Math.floor(s / 60) + " min" : s < 172800 ? Math.floor(s / 3600) + " h" : Math.floor(s / 86400) + " d";
    return ahead ? "in " + said : said + " ago";
  };
  const tick = () => {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const said = ago((Date.now() - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== said) time.textContent = said;
    }
  };

  const look = async () => {
    if (busy) { again = true; return; }
    busy = true; lastLook = Date.now();
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (answer.redirected && new URL(answer.url).pathname === "/login") {
        // Signing out ends the session before its own answer is here; going elsewhere now would undo the click.
        if (performance.now() - left < LEAVING_MS) again = true; else location.assign(answer.url);
        return;
      }
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const folds = [...document.querySelectorAll("details[id]")].map((one) => [one.id, one.open]);
      document.title = fresh.title;
      for (const part of document.querySelectorAll("[data-live]")) {
        const next = fresh.getElementById(part.id);
        if (!next || part.contains(document.activeElement) && document.activeElement.matches("input")) continue;
        const focused = part.contains(document.activeElement) && document.activeElement.id;
        part.className = next.className;
        if (part.innerHTML !== next.innerHTML) part.innerHTML = next.innerHTML;
        if (focused) document.getElementById(focused)?.focus();
      }
      // A form is never drawn again under somebody's hands; it goes when there is nothing left to ask for.
      for (const form of document.querySelectorAll("[data-goes]")) if (!fresh.getElementById(form.id)) form.remove();
      for (const [id, open] of folds) document.getElementById(id)?.toggleAttribute("open", open);
      if (!source && !document.hidden) say("idle", "looks every 10 s");
      tick();
    } catch { /* The stream's own lamp says that the server is away. */ }
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
    source.addEventListener("open", () => { say("live", "live"); soon(); });
    source.addEventListener("change", (event) => { if (concerns(JSON.parse(event.data))) soon(); });
    source.addEventListener("bye", () => { close(); say("lost", "Serin stopped"); setTimeout(open, 5000); });
    // Refused for good: too many streams are open. The page looks by itself until one is free.
    source.addEventListener("error", () => { say("lost", "no connection"); if (source?.readyState === 2) { close(); look(); setTimeout(open, 10000); } });
  };

  document.addEventListener("visibilitychange", () => document.hidden ? (close(), say("idle", "paused")) : open());
  addEventListener("pagehide", close);
  addEventListener("beforeunload", () => { left = performance.now(); });
  setInterval(tick, 1000);
  open();
})();
