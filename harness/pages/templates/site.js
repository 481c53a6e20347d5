// Starts the interactive tables (DataTables) and charts (Vega) of a page.
(() => {
  "use strict";
  const dark = matchMedia("(prefers-color-scheme: dark)");

  if (window.DataTable) {
    window.DataTableParts.set_or_remove_dark_class();
    document.querySelectorAll("table.interactive").forEach(table => {
      const given = JSON.parse(table.dataset.options || "{}");
      delete table.dataset.options;
      const around = table.closest(".around");
      new DataTable(table, { pageLength: 25, lengthMenu: [10, 25, 100, { label: "all", value: -1 }], order: [], autoWidth: false,
        language: { columnControl: { dropdown: "Filter" } }, ...given });
      if (around) { // scroll only the table sideways, not its controls
        const inner = table.parentElement;
        ["tabindex", "role", "aria-label"].forEach(name => { inner.setAttribute(name, around.getAttribute(name)); around.removeAttribute(name); });
        around.classList.remove("scroll");
        inner.classList.add("scroll");
      }
    });
  }

  if (window.vegaEmbed) {
    const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const theme = () => {
      const [ink, soft, line] = ["--ink", "--soft", "--line"].map(colour);
      const words = { labelColor: soft, titleColor: ink };
      return {
        background: "transparent", font: "system-ui, sans-serif",
        axis: { ...words, gridColor: line, domainColor: soft, tickColor: soft, labelFontSize: 12, titleFontSize: 12 },
        legend: { ...words, labelFontSize: 12, titleFontSize: 12 }, header: words, title: { color: ink }, view: { stroke: line },
        text: { color: ink }, rule: { color: soft },
      };
    };
    const views = window.charts = new Map(); // scripts of a page use it to pass data to a chart
    const draw = id => {
      const source = document.querySelector(`script[data-chart="${id}"]`);
      if (views.has(id)) views.get(id).finalize();
      vegaEmbed(document.getElementById(id), JSON.parse(source.textContent), {
        config: theme(), renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false },
      }).then(made => {
        views.set(id, made);
        document.dispatchEvent(new CustomEvent("chart", { detail: { id, view: made.view } }));
      });
    };
    const every = () => document.querySelectorAll("script[data-chart]").forEach(one => draw(one.dataset.chart));
    every();
    dark.addEventListener("change", every);
  }
})();
