// Filters rows or cards by words, sorts tables by a column, and shows a hint where a box can be scrolled.
(() => {
  const listen = (selector, event, action) =>
    document.querySelectorAll(selector).forEach(node => node.addEventListener(event, () => action(node)));

  listen("[data-filter]", "input", box => {
    const words = box.value.toLowerCase().split(/\s+/);
    document.querySelectorAll(box.dataset.filter).forEach(item => {
      const text = `${item.matches(".card") ? item.closest("section").id : ""} ${item.textContent}`.toLowerCase();
      item.hidden = !words.every(word => text.includes(word));
    });
  });

  // Sort by the first number of a text, without signs in front of it such as ≤ or [. Milliseconds become seconds.
  const sortKey = text => {
    const number = parseFloat(text.replace(/^[±≤≥\[\s]+/, "").replace("−", "-").replace(/,(?=\d{3})/g, ""));
    return isNaN(number) ? text : / ms$/.test(text) ? number / 1000 : number;
  };
  listen("th[data-sort] button", "click", button => {
    const head = button.parentElement, body = head.closest("table").tBodies[0];
    const up = head.getAttribute("aria-sort") !== "ascending";
    head.parentElement.querySelectorAll("[aria-sort]").forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = row => sortKey(row.cells[head.cellIndex].textContent.trim());
    [...body.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const order = typeof x === typeof y ? (x > y) - (x < y) : typeof x === "number" ? -1 : 1;
      return up ? order : -order;
    }).forEach(row => body.append(row));
  });

  // The hint is directly before or after the box that can be scrolled.
  const notice = () => document.querySelectorAll(".more").forEach(hint => {
    const before = hint.previousElementSibling;
    const box = before && before.matches(".scroll") ? before : hint.nextElementSibling;
    hint.classList.toggle("on", box.scrollWidth > box.clientWidth + 1);
  });
  notice();
  addEventListener("resize", notice);
})();
