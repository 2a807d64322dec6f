// Estimates while one types or slides, and names to complete. Without this script the same page has a button for it.
"use strict";
(() => {
  const policy = document.getElementById("policy"), checked = document.getElementById("checked");
  if (!policy || !checked) return;
  let wait = 0, latest = 0;
  const check = async () => {
    const mine = ++latest, body = new URLSearchParams(new FormData(policy));
    body.set("part", "1");
    const reply = await fetch("/policy", {
      method: "POST", body, credentials: "same-origin", redirect: "error",
    }).catch(() => null);
    if (reply && reply.ok && mine === latest) checked.innerHTML = await reply.text();  // escaped by its template
  };
  policy.elements.text.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(check, 300); });
})();
(() => {
  const form = document.getElementById("question");
  const shown = document.getElementById("estimate");
  if (!form || !shown) return;
  const sql = form.elements.sql, epsilon = form.elements.epsilon, within = form.elements.within;
  const slide = document.getElementById("slide"), exact = document.getElementById("slide-within");
  const most = Number(slide.dataset.largest);
  let wait = 0, latest = 0, usual = 0;

  const estimate = async () => {
    if (!sql.value.trim()) return;
    const mine = ++latest;
    const reply = await fetch("/ask/preview", {
      method: "POST", body: new URLSearchParams(new FormData(form)), credentials: "same-origin", redirect: "error",
    }).catch(() => null);
    if (!reply || !reply.ok || mine !== latest) return;
    shown.innerHTML = await reply.text();  // made by the server's own template, which escapes
    look();
  };
  const look = () => {
    const first = shown.querySelector("[data-within]");
    if (first && !usual) usual = Number(first.dataset.within.replaceAll(",", ""));
  };
  const soon = () => { clearTimeout(wait); wait = setTimeout(estimate, 150); };
  for (const each of [epsilon, form.elements.delta, within]) each.addEventListener("input", soon);
  sql.addEventListener("input", () => { usual = 0; soon(); complete(); });

  if (most > 0) {
    document.getElementById("sliders").hidden = false;
    slide.addEventListener("input", () => {
      epsilon.value = Number((most * 10 ** (slide.value / 50)).toPrecision(2));
      within.value = "";
      soon();
    });
    exact.addEventListener("input", () => {
      if (!(usual > 0)) return;
      within.value = Number((usual * 10 ** (-exact.value / 100)).toPrecision(2));
      epsilon.value = "";
      soon();
    });
  }

  // -- names ------------------------------------------------------------------------------------------
  const quoted = (name) => (/^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
  const insert = (name, from, to) => {
    sql.setRangeText(name, from, to, "end");
    sql.focus();
    usual = 0;
    soon();
  };
  const button = (text, label, does) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.title = label;
    made.addEventListener("click", does);
    return made;
  };
  const words = ["SELECT", "FROM", "WHERE", "GROUP BY", "count(*)", "sum(", "avg(", "median(", "stddev(", "min(", "max("];
  const names = new Set(words);
  for (const each of document.querySelectorAll("[data-insert]")) {
    const name = each.dataset.insert;
    names.add(quoted(name));
    const made = button(each.textContent, "Put it into the question", () => {
      insert(quoted(name), sql.selectionStart, sql.selectionEnd);
    });
    made.className = "insert";
    each.replaceChildren(made);
  }
  for (const each of document.querySelectorAll("[data-name]")) names.add(quoted(each.dataset.name));
  const offered = document.getElementById("completion");
  const begun = () => (/[\w"]+$/.exec(sql.value.slice(0, sql.selectionStart)) || [""])[0];
  function complete() {
    const typed = begun().toLowerCase();
    const found = typed.length < 2 ? [] : [...names].filter(
      (each) => each.toLowerCase().startsWith(typed) && each.toLowerCase() !== typed,
    ).slice(0, 8);
    offered.replaceChildren(...found.map((each) => button(each, "Complete the word (Ctrl+Space takes the first)", () => {
      insert(each, sql.selectionStart - begun().length, sql.selectionStart);
      offered.hidden = true;
    })));
    offered.hidden = !found.length;
  }
  sql.addEventListener("keydown", (pressed) => {
    if (pressed.key === " " && pressed.ctrlKey && !offered.hidden) {
      pressed.preventDefault();
      offered.firstElementChild.click();
    }
  });
  if (shown.textContent.trim()) look();  // an estimate, or a refusal, which stays until something is changed
  else estimate();
})();
