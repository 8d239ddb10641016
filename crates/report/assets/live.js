"use strict";
// What moves on a live page: it asks where it came from how far the study is, and puts what changed in its place. Where
// the reader is, what is open and what is chosen stays as it was.
(() => {
  const EACH_MS = 2000;
  const root = document.documentElement;
  const at = location.pathname.replace(/\/$/, "");
  const parse = (text) => new DOMParser().parseFromString(text, "text/html");
  const get = (id) => document.getElementById(id);
  const sent = new Map();
  let updates = 0;

  const remember = (page) => { for (const part of page.querySelectorAll("main > section, .bar nav")) sent.set(part.id || "nav", part.outerHTML); };

  // The newest block, as long as nobody has chosen another.
  const follow = (before) => {
    const phase = get("phase");
    const block = get("block");
    if (!block || !phase) return;
    const has = (list, value) => [...list.options].some((one) => one.value === value);
    if (before && has(phase, before.phase)) phase.value = before.phase;
    if (before && !before.last && has(block, before.block)) block.value = before.block;
    else block.selectedIndex = block.options.length - 1;
    for (const one of before ? before.hidden : []) {
      const button = document.querySelector('#controls [data-stack="' + one + '"]');
      if (button) button.setAttribute("aria-pressed", "false");
    }
  };
  const chosen = () => {
    const phase = get("phase");
    const block = get("block");
    if (!block || !phase) return null;
    const hidden = [...document.querySelectorAll('#controls [aria-pressed="false"]')].map((one) => one.dataset.stack);
    return { phase: phase.value, block: block.value, last: block.selectedIndex === block.options.length - 1, hidden };
  };

  // A part in the place of the old one: what was folded or opened there stays so.
  const replace = (old, fresh) => {
    const open = new Map();
    for (const one of old.querySelectorAll("details")) open.set(one.querySelector("summary").textContent, one.open);
    const part = document.importNode(fresh, true);
    for (const one of part.querySelectorAll("details")) {
      const was = open.get(one.querySelector("summary").textContent);
      if (was !== undefined) one.open = was;
    }
    old.replaceWith(part);
  };

  const put = (page) => {
    const before = chosen();
    const top = scrollY;
    let lines = false;
    const main = document.querySelector("main");
    let last = null;
    for (const fresh of page.querySelectorAll("main > section")) {
      const old = get(fresh.id);
      if (!old) {
        const part = document.importNode(fresh, true);
        if (last) last.after(part); else main.prepend(part);
        lines = lines || fresh.id === "time";
      } else if (sent.get(fresh.id) !== fresh.outerHTML) {
        replace(old, fresh);
        lines = lines || fresh.id === "time";
      }
      last = get(fresh.id);
    }
    for (const old of main.querySelectorAll(":scope > section")) {
      if (!page.getElementById(old.id)) { lines = lines || old.id === "time"; old.remove(); }
    }
    const nav = page.querySelector(".bar nav");
    if (sent.get("nav") !== nav.outerHTML) replace(document.querySelector(".bar nav"), nav);
    remember(page);
    if (lines) { follow(before); dispatchEvent(new Event("assay-changed")); }
    scrollTo({ top, behavior: "instant" });
  };

  // Another program may have the port after the watcher. It does not know the mark that the watcher put into this page.
  const sender = get("now").dataset.sender;
  const ask = async (address) => {
    const answer = await fetch(address, { cache: "no-store" });
    if (!answer.ok) throw new Error("refused");
    const page = parse(await answer.text());
    if (page.getElementById("now")?.dataset.sender !== sender) throw new Error("not the watcher");
    return page;
  };

  let version = get("now").dataset.version;
  // How far the study is. It takes the words that the watcher is lost with it.
  const show = (now) => {
    replace(get("now"), now);
    sent.set("now", now.outerHTML);
  };
  const look = async () => {
    if (document.hidden) return true;
    const now = (await ask(at + "/now")).getElementById("now");
    if (now.dataset.version === version) show(now);
    else {
      const page = await ask(at);
      const made = page.getElementById("now").dataset.version;
      // Where no newer figures can be made the page is an old one, and says of an old moment how far the study is.
      if (made === version) show(now); else put(page);
      version = made;
    }
    updates += 1;
    root.dataset.updates = String(updates);
    const shown = get("now").dataset;
    return !(shown.over === "true" && now.dataset.version === version);
  };

  // The watcher may be gone, or the machine busy: the page says so, stays as it is, and asks on for ten minutes.
  const FAILURES_MAX = 36;
  const lost = () => {
    const now = get("now");
    if (!now || now.querySelector(".lost")) return;
    const words = document.createElement("p");
    words.className = "warn lost";
    words.textContent = "The watcher does not answer: this page shows what was last known. If it has ended, start assay watch again for a new address.";
    now.prepend(words);
    root.dataset.lost = "true";
  };

  let failures = 0;
  const again = () => setTimeout(async () => {
    let goOn = true;
    try { goOn = await look(); failures = 0; delete root.dataset.lost; } catch { failures += 1; }
    if (failures >= 3) lost();
    if (goOn && failures < FAILURES_MAX) again();
    else if (!goOn) root.dataset.over = "true";
  }, EACH_MS * Math.min(failures + 1, 10));

  remember(document);
  follow(null);
  dispatchEvent(new Event("assay-changed"));
  if (get("now").dataset.over === "true") root.dataset.over = "true"; else again();
})();
