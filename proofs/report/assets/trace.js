"use strict";
(() => {
  const panels = [...document.querySelectorAll("section.step")];
  if (panels.length === 0) return;
  const numbers = panels.map((panel) => panel.dataset.step);
  const broken = panels.findIndex((panel) => panel.classList.contains("broken"));
  const controls = document.querySelector(".controls");
  const position = document.querySelector(".position");
  const live = document.querySelector("[role=status]");
  const button = (name) => controls.querySelector(`[data-go=${name}]`);
  let current = 0;

  const show = (index, speak) => {
    current = Math.min(Math.max(index, 0), panels.length - 1);
    const number = numbers[current];
    panels.forEach((panel, at) => panel.classList.toggle("current", at === current));
    for (const row of document.querySelectorAll("tr[data-step]")) {
      if (row.dataset.step === number) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    }
    position.textContent = `Step ${number} (${current + 1} of ${panels.length})`;
    button("back").disabled = current === 0;
    button("forward").disabled = current === panels.length - 1;
    button("broken").setAttribute("aria-pressed", String(current === broken));
    if (speak) {
      live.textContent = `${position.textContent}. ${panels[current].dataset.said}`;
      history.replaceState(null, "", `#step-${number}`);
    }
  };

  const moves = {
    back: () => show(current - 1, true),
    forward: () => show(current + 1, true),
    first: () => show(0, true),
    last: () => show(panels.length - 1, true),
    broken: () => show(broken, true),
  };
  const keys = {
    ArrowLeft: "back", ArrowRight: "forward", h: "back", l: "forward",
    Home: "first", End: "last", b: "broken",
  };
  controls.addEventListener("click", (event) => {
    const name = event.target.closest("button")?.dataset.go;
    if (name) moves[name]();
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable], .scroll")) return;
    const name = keys[event.key];
    if (name) {
      event.preventDefault();
      moves[name]();
    }
  });
  const fromAddress = () => numbers.indexOf(location.hash.replace("#step-", ""));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("tr[data-step]");
    if (!link) return;
    event.preventDefault();
    show(numbers.indexOf(link.dataset.step), true);
  });
  addEventListener("hashchange", () => {
    if (fromAddress() >= 0) show(fromAddress(), true);
  });

  const copy = document.querySelector("[data-copy]");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(document.querySelector("#command").textContent);
        live.textContent = copy.textContent = "Copied";
      } catch {
        live.textContent = "The browser does not allow copying; select the command instead.";
      }
    });
  }

  document.documentElement.classList.add("js");
  controls.hidden = false;
  show(fromAddress() >= 0 ? fromAddress() : 0, false);
})();
