// Filters of the leaderboard: passes the rows of the chosen combination to the table (DataTables) and the chart (Vega).
// Numbers are formatted as in harness.common.wording.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("board-data").textContent);
  const filters = ["estimand", "family", "n", "k"].map(name => document.getElementById(`filter-${name}`));
  const summary = document.getElementById("board-summary");

  const digits = (value, count) => Number(value.toPrecision(count)).toString();
  const number = (value, count) => value === null ? "–" : digits(value, count);
  const signed = value => value === null ? "–" : (value > 0 ? "+" : value < 0 ? "−" : "") + digits(Math.abs(value), 2);
  const percent = share => share === null ? "–" : `${Math.round(100 * share)} %`;
  const places = value => value < 10 ? 2 : value < 100 ? 1 : 0;
  // toFixed rounds the binary number, as Python does; toLocaleString alone would round 0.745 to 0.75
  const fixed = value => Number(value.toFixed(places(value))).toLocaleString("en", { minimumFractionDigits: places(value), maximumFractionDigits: places(value) });
  const interval = (value, low, high) => value === null ? "–" : low === null || high === null ? fixed(value) : `${fixed(value)} [${fixed(low)}, ${fixed(high)}]`;
  const seconds = value => value === null ? "–" : value < 0.0995 ? `${digits(1000 * value, 2)} ms`
    : value < 100 ? `${digits(value, 2)} s` : `${Math.round(value).toLocaleString("en")} s`;
  const ranks = r => r.rank === null ? "–" : r.rank_low === null || r.rank_low === r.rank_high ? `${r.rank}` : `${r.rank} (${r.rank_low} to ${r.rank_high})`;
  const lost = r => ["failed", "undefined", "skipped"].filter(name => r[name]).map(name => `, ${r[name].toLocaleString("en")} ${name}`).join("");
  const link = name => { const a = document.createElement("a"); a.href = `../estimators/${encodeURIComponent(name)}.html`; a.textContent = name; return a.outerHTML; };

  const row = entries => {
    const r = Object.fromEntries(data.fields.map((name, i) => [name, entries[i]]));
    return { ...r, kind: data.kinds[r.estimator], estimator: data.estimators[r.estimator], interval: interval(r.regret, r.low, r.high),
      worst_interval: `${r.worst === null ? "–" : fixed(r.worst)} (${data.at[r.worst_at].replaceAll("_", " ")})`, cost: seconds(r.cpu_seconds) };
  };
  const chosen = () => (data.rows[filters.map(one => one.value).join("|")] || []).map(row);

  // an entry without a number comes last in both directions
  const order = DataTable.ext.type.order;
  order["or-none-asc"] = (a, b) => a === null ? (b === null ? 0 : 1) : b === null ? -1 : a - b;
  order["or-none-desc"] = (a, b) => a === null ? (b === null ? 0 : 1) : b === null ? -1 : b - a;
  const column = (by, show) => ({ data: null, type: "or-none", render: (_, what, r) => what === "sort" || what === "type" ? r[by] : show(r) });
  const table = new DataTable("#board", {
    data: chosen(), pageLength: 25, lengthMenu: [10, 25, { label: "all", value: -1 }], order: [[1, "asc"]], autoWidth: false,
    layout: { topStart: ["pageLength", { buttons: [{ extend: "colvis", text: "Columns", columns: ":gt(0)" }] }] },
    columns: [
      { data: "estimator", cellType: "th", className: "left", createdCell: cell => cell.setAttribute("scope", "row"), render: (name, what) => what === "display" ? link(name) : name },
      column("rank", ranks), column("regret", r => r.interval), { ...column("worst", r => r.worst_interval), className: "worst" }, column("rmse", r => number(r.rmse, 3)), column("rmse_calibrated", r => number(r.rmse_calibrated, 3)),
      column("bias", r => signed(r.bias)), column("over", r => percent(r.over)), column("coverage", r => percent(r.coverage)),
      column("cpu_seconds", r => r.cost), { ...column("settings", r => `${r.settings.toLocaleString("en")} (${percent(r.share)})${lost(r)}`), className: "settings" },
    ],
  });

  let view = window.charts.get("cost")?.view ?? null;
  const plot = document.getElementById("cost").closest("figure");
  const draw = rows => {
    plot.hidden = !rows.some(r => r.rank !== null);
    if (view && !plot.hidden) view.data("rows", rows).runAsync();
  };
  document.addEventListener("chart", event => { view = event.detail.view; draw(chosen()); });

  const show = () => {
    const rows = chosen();
    table.clear().rows.add(rows).draw();
    draw(rows);
    const ranked = rows.filter(r => r.rank !== null).length, most = Math.max(0, ...rows.map(r => r.settings));
    summary.textContent = rows.length ? `${rows.length} estimators, ${ranked} of them ranked, over up to ${most.toLocaleString("en")} settings.`
      : "No results. Filters that can be combined: n with k, and n with family; for estimands other than the L1 and the squared error, one filter at a time.";
  };
  const read = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    filters.forEach(one => {
      const value = asked.get(one.name);
      if (value !== null && [...one.options].some(o => o.value === value)) one.value = value;
    });
    show();
  };
  const write = () => {
    history.replaceState(null, "", `#${new URLSearchParams(filters.map(one => [one.name, one.value]))}`);
    show();
  };
  filters.forEach(one => one.addEventListener("change", write));
  document.getElementById("filter-notion").addEventListener("change", event => { location.href = `${event.target.value}.html${location.hash}`; });
  addEventListener("hashchange", read);
  read();
})();
