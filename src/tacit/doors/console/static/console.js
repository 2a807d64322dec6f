// Estimates while one types or slides. Without this script the same page has a button for it.
"use strict";
(() => {
  const form = document.getElementById("question");
  const shown = document.getElementById("estimate");
  if (!form || !shown) return;
  const sql = form.elements.sql, epsilon = form.elements.epsilon, within = form.elements.within;
  const slide = document.getElementById("slide");
  const most = Number(slide.dataset.largest);
  let wait = 0, latest = 0;
  const estimate = async () => {
    if (!sql.value.trim()) return;
    const mine = ++latest;
    const reply = await fetch("/ask/preview", {
      method: "POST", body: new URLSearchParams(new FormData(form)), credentials: "same-origin", redirect: "error",
    }).catch(() => null);
    if (!reply || !reply.ok || mine !== latest) return;
    shown.innerHTML = await reply.text();  // made by the server's own template, which escapes
  };
  const soon = () => { clearTimeout(wait); wait = setTimeout(estimate, 250); };
  for (const each of [sql, epsilon, form.elements.delta, within]) each.addEventListener("input", soon);
  if (most > 0) {
    document.getElementById("slider").hidden = false;
    slide.addEventListener("input", () => {
      epsilon.value = Number((most * 10 ** (slide.value / 50)).toPrecision(2));
      within.value = "";
      soon();
    });
  }
  for (const each of document.querySelectorAll("[data-insert]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "insert";
    button.textContent = each.textContent;
    button.title = "Put it into the question";
    button.addEventListener("click", () => {
      const name = /^[a-z_][a-z0-9_]*$/i.test(each.dataset.insert) ? each.dataset.insert : `"${each.dataset.insert}"`;
      sql.setRangeText(name, sql.selectionStart, sql.selectionEnd, "end");
      sql.focus();
      soon();
    });
    each.replaceChildren(button);
  }
})();
