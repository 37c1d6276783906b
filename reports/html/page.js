"use strict";
// Tables whose head has buttons are sorted by them: by the number in data-v where a cell has one, else by its text.
function keyOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
}
function sortBy(button) {
  const head = button.closest("th"), body = button.closest("table").tBodies[0], column = head.cellIndex;
  const ascending = head.getAttribute("aria-sort") !== "ascending";
  const rows = Array.from(body.rows, (row, at) => ({row, at, key: keyOf(row, column)}));
  rows.sort((a, b) => {
    const order = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : String(a.key).localeCompare(String(b.key), "en", {numeric: true});
    return (ascending ? order : -order) || a.at - b.at;
  });
  body.append(...rows.map((entry) => entry.row));
  for (const other of head.parentNode.cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", other === head ? (ascending ? "ascending" : "descending") : "none");
}
for (const button of document.querySelectorAll("thead button")) button.addEventListener("click", () => sortBy(button));

// Every word of the filter must stand in a row.
for (const input of document.querySelectorAll(".filter input")) {
  input.closest(".filter").hidden = false;
  const table = document.getElementById(input.getAttribute("aria-controls")), count = input.closest(".filter").querySelector("output");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) ++shown;
    }
    count.textContent = words.length ? shown + " of " + table.tBodies[0].rows.length + " rows" : "";
  });
}

// A link to a folded finding opens it.
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details");
  if (folded) { folded.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", openTarget);
openTarget();
