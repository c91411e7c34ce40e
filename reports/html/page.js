/* SPDX-License-Identifier: Apache-2.0
 *
 * What every page does beyond being read: rows chosen by filters, groups that close, the state of both in the
 * address (#observed=varies&case=cpu/gemm/...), commands to copy. Text from a report becomes text nodes and
 * nothing else.
 */
"use strict";

const make = (name, attributes, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
};

const say = (words) => {
  document.getElementById("said").textContent = words;
};

const copyButton = (text, source) => {
  const button = make("button", { type: "button", class: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      say("command copied");
    } catch (refused) {
      getSelection().selectAllChildren(source);
      say("command selected, copy it with the keyboard");
    }
  });
  return button;
};

/* A command as the page's makers wrote it gets its button. */
for (const command of document.querySelectorAll(".command pre")) {
  command.after(copyButton(command.textContent, command));
}

const caseOf = (row) => row.dataset.case ?? row.id.slice("case=".length);

const fragment = () => new URLSearchParams(location.hash.slice(1));

const setFragment = (values) => {
  /* slashes stay readable; what else is escaped stays so */
  const text = new URLSearchParams(values).toString().replaceAll("%2F", "/");
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
};

/* The rows of a table, their facets and the groups that they stand in. */
class Rows {
  constructor(table) {
    this.form = document.querySelector("form.filters");
    this.count = document.getElementById("count");
    this.noun = table.dataset.noun;
    this.rows = [];
    this.groups = [];
    for (const body of table.tBodies) {
      const group = { body, head: null, button: null, open: true, rows: [] };
      for (const row of body.rows) {
        if (row.classList.contains("group")) {
          group.head = row;
        } else {
          group.rows.push(this.record(row, body));
        }
      }
      this.groups.push(group);
      this.rows.push(...group.rows);
    }
    this.groups.filter((group) => group.head).forEach((group) => this.addButton(group));
    this.fillFilters();
    this.form.hidden = false;
  }

  record(row, body) {
    const facets = { ...body.dataset, ...row.dataset };
    const words = `${caseOf(row)} ${row.lastElementChild.textContent}`;
    return { row, facets, words: words.toLowerCase(), detail: null };
  }

  addButton(group) {
    const cell = group.head.cells[0];
    const name = cell.firstChild;
    group.button = make("button", { type: "button", "aria-expanded": "true" });
    name.before(group.button);
    group.button.append(name);
    group.button.addEventListener("click", () => {
      group.open = !group.open;
      this.show();
    });
  }

  /* Each select offers the values that its rows have, with how many have them. */
  fillFilters() {
    for (const select of this.form.querySelectorAll("select")) {
      const counts = new Map();
      for (const record of this.rows) {
        for (const value of (record.facets[select.name] ?? "").split(" ").filter(Boolean)) {
          counts.set(value, (counts.get(value) ?? 0) + 1);
        }
      }
      for (const value of [...counts.keys()].sort()) {
        select.append(new Option(`${value} (${counts.get(value)})`, value));
      }
      select.closest("label").hidden = counts.size === 0;
    }
    this.form.addEventListener("input", () => this.chosen());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("reset", () => setTimeout(() => this.chosen()));
  }

  wanted() {
    return Object.fromEntries([...new FormData(this.form)].filter(([, value]) => value !== ""));
  }

  chosen() {
    setFragment(this.wanted());
    this.filter();
  }

  filter() {
    const { text, ...facets } = this.wanted();
    const needles = (text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const any = needles.length > 0 || Object.keys(facets).length > 0;
    for (const group of this.groups) {
      for (const record of group.rows) {
        record.match =
          Object.entries(facets).every(([name, value]) => (record.facets[name] ?? "").split(" ").includes(value)) &&
          needles.every((needle) => record.words.includes(needle));
      }
      group.open = any || !group.rows.every((record) => record.facets.observed === "skipped");
    }
    /* a report in which nothing ran has nothing better to show */
    if (this.groups.every((group) => !group.open)) {
      this.groups.forEach((group) => { group.open = true; });
    }
    this.show();
  }

  show() {
    let shown = 0, closed = 0;
    for (const { head, button, open, rows } of this.groups) {
      const matching = rows.filter((record) => record.match).length;
      for (const record of rows) {
        record.row.hidden = !record.match || !open;
        if (record.detail) {
          record.detail.hidden = record.row.hidden;
        }
      }
      if (head) {
        head.hidden = matching === 0;
        button.setAttribute("aria-expanded", String(open));
      }
      shown += open ? matching : 0;
      closed += open ? 0 : matching;
    }
    const rest = closed > 0 ? `, ${closed} in closed groups` : "";
    this.count.textContent = `${shown} of ${this.rows.length} ${this.noun} shown${rest}`;
    for (const tile of document.querySelectorAll(".tiles button")) {
      const { facet, value } = tile.dataset;
      tile.setAttribute("aria-pressed", String(this.form.elements[facet].value === value));
    }
  }

  /* What the address asks for; a value that no row has asks for nothing. */
  readFragment() {
    const values = fragment();
    for (const field of this.form.elements) {
      if (field.name) {
        field.value = values.get(field.name) ?? "";
      }
      if (field.selectedIndex === -1) {
        field.value = "";
      }
    }
    this.filter();
  }
}

/* Counts in the summary choose what they count. */
const addTiles = (rows) => {
  for (const tile of document.querySelectorAll(".tiles li[data-facet]")) {
    const { facet, value } = tile.dataset;
    const select = rows.form.elements[facet];
    if (![...select.options].some((option) => option.value === value)) {
      continue;
    }
    const button = make("button", { type: "button", "aria-pressed": "false", "data-facet": facet, "data-value": value });
    button.append(...tile.firstElementChild.childNodes);
    tile.firstElementChild.replaceWith(button);
    button.addEventListener("click", () => {
      select.value = select.value === value ? "" : value;
      rows.chosen();
    });
  }
};

const table = document.querySelector("table[data-noun]");
const rows = table ? new Rows(table) : null;
if (rows) {
  addTiles(rows);
}
