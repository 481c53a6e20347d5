// Starts the interactive tables (DataTables) of a page.
(() => {
  "use strict";
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
})();
