// Filters of the leaderboard: writes the rows of the chosen notion, estimand, family, n and k into the table.
(() => {
  "use strict";
  const source = document.getElementById("board-data");
  if (!source) return;
  const boards = JSON.parse(source.textContent);
  const filters = [...document.querySelectorAll("#board-filters select")];
  const table = document.getElementById("board"), summary = document.getElementById("board-summary");

  const cell = (text, i) => {
    const node = document.createElement(i ? "td" : "th"), [first, ...others] = text.split("_");
    node.append(first, ...others.flatMap(part => ["_", document.createElement("wbr"), part])); // a name may break there
    return node;
  };
  const line = ([mark, ...texts]) => {
    const row = document.createElement("tr"), cells = texts.map(cell);
    cells[0].scope = "row";
    cells[0].className = "left";
    if (mark) {
      const small = document.createElement("small");
      small.textContent = ` ${mark}`;
      cells[0].append(small);
      row.className = mark;
    }
    row.append(...cells);
    return row;
  };
  const show = () => {
    const rows = boards[filters.map(one => one.value).join("|")] || [];
    table.tBodies[0].replaceChildren(...rows.map(line));
    table.querySelectorAll("[aria-sort]").forEach(head => head.removeAttribute("aria-sort"));
    const ranked = rows.filter(([, , rank]) => rank !== "–").length;
    const compared = rows.filter(([mark]) => mark !== "reference" && mark !== "absent").length;
    summary.textContent = rows.length ? `${compared} estimators, ${ranked} of them ranked.`
      : "There is no such leaderboard. Family cannot be combined with n or k, and not every notion has every estimand.";
  };
  // The choice is in the address, so that a link can lead to it, such as #notion=binary&n=200.
  const read = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (!filters.some(one => asked.has(one.name))) return;
    filters.forEach(one => {
      const value = asked.get(one.name) ?? one.options[0].value;
      if ([...one.options].some(option => option.value === value)) one.value = value;
    });
    show();
    document.getElementById("leaderboards").scrollIntoView();
  };
  filters.forEach(one => one.addEventListener("change", () => {
    history.replaceState(null, "", `#${new URLSearchParams(filters.map(f => [f.name, f.value]))}`);
    show();
  }));
  addEventListener("hashchange", read);
  show();
  read();
})();
