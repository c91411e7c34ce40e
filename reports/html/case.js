/* SPDX-License-Identifier: Apache-2.0
 *
 * One case of a report, built when it is opened: guarantee, remedies, distinct outputs, where they differ, what
 * each axis showed, the command that measures it again. The data lies in the page as JSON (reports/html/data.c
 * says which member is what) and is read when the first case is opened.
 */
const SVG = "http://www.w3.org/2000/svg";

const draw = (name, attributes, ...children) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};

/* A bar for the eye; what it shows stands beside it in figures. */
const bar = (share) =>
  draw("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { class: "back", width: 100, height: 10 }),
    draw("rect", { width: 100 * share, height: 10 }));

const percent = (share) => {
  const value = 100 * share;
  if (value > 0 && value < 100) {
    return `${value >= 99.5 ? "over 99" : value >= 10 ? value.toFixed(0) : value.toPrecision(2)} %`;
  }
  return `${value.toFixed(0)} %`;
};

const duration = (ns) => {
  const [unit, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, least]) => ns >= least) ?? ["ns", 1];
  return `${(ns / size).toPrecision(3)} ${unit}`;
};

const number = (value) => (Number.isInteger(value) ? String(value) : value.toPrecision(3));

const part = (title, ...content) => make("div", { class: "part" }, make("h3", {}, title), ...content);

const LEVELS = {
  run_to_run: "equal bits from run to run",
  gpu_to_gpu: "equal bits on equal GPUs",
  not_guaranteed: "the documents allow differences",
  unstated: "no statement was found",
};

const STATUS = {
  kept: "kept: nothing here speaks against it",
  broken: "broken: bits moved that must not",
  allows: "differences are allowed",
  none: "nothing to keep or break",
};

const list = (pairs) => {
  const element = make("dl", {});
  for (const [name, value] of pairs.filter(([, value]) => value !== undefined && value !== null && value !== "")) {
    element.append(make("dt", {}, name), make("dd", {}, value));
  }
  return element;
};

const guarantee = ([level, status, source]) =>
  part("Guarantee",
    make("p", {}, `${LEVELS[level] ?? level} (${level})`),
    status ? make("p", {}, STATUS[status] ?? status) : null,
    make("cite", {}, source));

/* One remedy may serve along several axes; then it stands once. */
const remedies = (rows) => {
  const byRemedy = new Map();
  for (const [kind, advice] of rows) {
    byRemedy.set(advice, [...byRemedy.get(advice) ?? [], ["varies", "wrong", "may vary"].includes(kind) ? kind : `sensitive to ${kind}`]);
  }
  return part("What to do", ...[...byRemedy].map(([advice, kinds]) =>
    make("div", { class: "remedy" },
      make("p", {}, `${kinds.join(", ")}: ${advice.text}`),
      list([
        ["setting", advice.setting && make("code", {}, advice.setting)],
        ["API", advice.api && make("code", {}, advice.api)],
        ["since", advice.since],
      ]),
      advice.source ? make("cite", {}, advice.source) : null)));
};

const users = (names) => part("Used by", make("p", {}, names.join(", ")));

const tableOf = (heads, lines) =>
  make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...lines.map((cells) =>
      make("tr", {}, make("th", { scope: "row" }, cells[0]), ...cells.slice(1).map((cell) => make("td", {}, cell))))));

/* The outputs that were told apart, and how many runs gave each of them. */
const classes = (entry) => {
  const total = entry.classes.reduce((sum, [, runs]) => sum + runs, 0);
  const distinct = entry.axes?.repeat?.distinct ?? entry.classes.length;
  const more = distinct > entry.classes.length
    ? make("p", { class: "note" }, `${entry.classes.length} of ${distinct} distinct outputs are listed`) : null;
  return part("Distinct outputs of one seed",
    tableOf(["digest", "runs", "share", "first in run"], entry.classes.map(([digest, runs, first]) =>
      [make("code", {}, digest), String(runs), bar(runs / total), String(first + 1)])),
    more);
};

/* Where in the tensor the first difference is, and how much of it differs. */
const place = (first, share) => {
  const at = Math.min(first, 1);
  return draw("svg", { class: "place", viewBox: "0 0 1000 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { class: "back", y: 4, width: 1000, height: 8 }),
    draw("rect", { class: "part", x: 1000 * at, y: 4, width: 1000 * Math.min(share, 1 - at), height: 8 }),
    draw("rect", { class: "first", x: Math.min(1000 * at, 995), width: 5, height: 16 }));
};

/* The place of an element in a tensor, row-major. */
const coordinates = (index, shape) => {
  const place = [];
  for (const extent of [...shape].reverse()) {
    place.unshift(index % extent);
    index = Math.floor(index / extent);
  }
  return `[${place.join(", ")}]`;
};

/* How many elements are how far apart, by powers of two. */
const histogram = (counts) => {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const lines = counts.map((count, power) => [power === 0 ? "1" : `${2 ** power} to ${2 ** (power + 1) - 1}`, count]);
  const first = counts.findIndex((count) => count > 0);
  return total === 0 ? null : tableOf(["ulp", "elements", "share"],
    lines.slice(first).map(([range, count]) => [range, String(count), bar(count / total)]));
};

const REGIONS = {
  all: "everything",
  element: "one element",
  row: "in one row",
  column: "in one column",
  tail: "from one element to the end",
  tile: "a tile",
  scattered: "scattered",
};

/* What part of the tensor differs, and the box around it. */
const region = (seen) =>
  seen.region && seen.box?.length > 0 && seen.region !== "all"
    ? `${REGIONS[seen.region]}, within ${seen.box.join(" × ")} at [${seen.box_at.join(", ")}]`
    : REGIONS[seen.region];

const special = (seen) => [
  seen.signs ? `${seen.signs} of other sign` : null,
  seen.zeros ? `${seen.zeros} zeros of other sign` : null,
  seen.specials ? `${seen.specials} not finite on one side` : null,
  seen.payloads ? `${seen.payloads} NaN with other bits` : null,
].filter(Boolean).join(", ");

const mismatch = (entry) => {
  const { mismatch: seen, worst = {} } = entry;
  const share = seen.of > 0 && seen.elements !== undefined ? seen.elements / seen.of : null;
  const drawn = share !== null && seen.first_index !== undefined;
  const where = [worst.axis, worst.setting, worst.seed && `seed ${worst.seed}`, worst.set && `set ${worst.set}`];
  return part("Difference",
    drawn ? place(seen.first_index / seen.of, share) : null,
    list([
      ["output", seen.output && make("code", {}, seen.output)],
      ["elements", share === null ? null : `${seen.elements} of ${seen.of} (${percent(share)})`],
      ["first at", seen.first_index === undefined ? null
        : seen.shape?.length > 1 ? `${coordinates(seen.first_index, seen.shape)} of ${seen.shape.join(" × ")}`
        : `element ${seen.first_index}`],
      ["region", region(seen)],
      ["kind", seen.kind === "permutation" ? "the same values in another order" : seen.kind],
      ["among them", special(seen)],
      ["one bit each", seen.flipped && make("code", {}, seen.flipped)],
      ["greatest", [
        seen.max_ulp === undefined ? null : `${seen.max_ulp} ulp`,
        seen.max_abs === undefined ? null : `${number(seen.max_abs)} absolute`,
        seen.max_rel === undefined ? null : `${number(seen.max_rel)} of the norm`,
        seen.error_over_bound === undefined ? null : `${number(seen.error_over_bound)} of the error bound`,
      ].filter(Boolean).join(", ")],
      ["in runs", seen.runs === undefined ? null : String(seen.runs)],
      ["seen at", where.filter(Boolean).join(", ")],
    ]),
    seen.ulp_histogram ? histogram(seen.ulp_histogram) : null,
    drawn
      ? make("p", { class: "note" }, "the strip is the tensor in row-major order: the mark is the first element that differs, the bar from it is as long as all that differ")
      : null);
};

const tally = (axis) => {
  const rate = axis.interval
    ? `rate ${percent(axis.interval[0])} to ${percent(axis.interval[1])}`
    : `rate below ${percent(axis.bound ?? 1)}`;
  return `distinct ${axis.distinct >= 1024 ? "≥ " : ""}${axis.distinct} of ${axis.of}, ` +
    `${axis.seeds_varied} of ${axis.seeds} seeds vary, ${axis.mismatches} of ${axis.comparisons} comparisons differ, ${rate} (95 %)`;
};

const SIGNS = { "!": "≠", "-": "–", ".": "·" };

const settings = (axis) => {
  const element = make("ul", { class: "settings" });
  for (const [setting, letters, chosen] of axis.settings) {
    const shown = [...letters].map((letter) => SIGNS[letter] ?? letter).join("");
    element.append(make("li", {}, make("b", {}, [setting || "base", chosen].filter(Boolean).join(" ")), make("span", { class: "bits" }, shown)));
  }
  return make("div", {}, element, axis.dropped ? make("p", { class: "note" }, axis.dropped) : null);
};

const axes = (entry) => {
  const lines = Object.entries(entry.axes).map(([name, axis]) =>
    [name, axis.state, axis.settings ? settings(axis) : tally(axis)]);
  return part("What each axis showed",
    tableOf(["axis", "state", "settings and seeds"], lines),
    make("p", { class: "note" }, "a letter for each seed, in their order: the same letter at two settings is the same bits; ≠ did not repeat there, – did not run, · repeats, without a digest"));
};

const outputs = (entry) => {
  const lines = entry.outputs.map(([name, dtype, shape, digests, more]) => [
    name, dtype, shape,
    make("div", {},
      ...digests.map(([seed, set, digest]) => make("div", {}, `${seed} ${set} `, make("code", {}, digest))),
      more > 0 ? make("div", { class: "note" }, `and ${more} more in the report`) : null),
  ]);
  return make("div", { class: "part" }, make("details", {},
    make("summary", {}, "Digests of the outputs"),
    tableOf(["output", "type", "shape", "seed, set, first digits of SHA-256"], lines)));
};

const facts = (entry) => {
  const time = entry.time ?? {};
  const line = list([
    ["chose", entry.chosen && make("code", {}, entry.chosen)],
    ["declared", entry.declared],
    ["difference", entry.difference && { selection: "another algorithm was chosen", execution: "the same algorithm gave other bits", order: "another order of summation" }[entry.difference]],
    ["kind of difference", entry.diagnosis && `${entry.diagnosis.kind}: ${entry.diagnosis.reason}`],
    ["first call", entry.first_call_differs ? "only the first call differs" : null],
    ["checked", entry.checked && { full: "bits and values", bits: "bits" }[entry.checked]],
    ["error", entry.error_over_bound === undefined ? null : `${number(entry.error_over_bound)} of its bound`],
    ["retests", entry.retests],
    ["tried again", entry.confirmation && [entry.confirmation.finding,
      ...entry.confirmation.attempts.map((one) => one.shown ? "seen again" : "not seen")].filter(Boolean).join(", ")],
    ["threads", entry.threads],
    ["time", [
      time.first_ns === undefined ? null : `first ${duration(time.first_ns)}`,
      time.min_ns === undefined ? null : `least ${duration(time.min_ns)}`,
      time.mean_ns === undefined ? null : `mean ${duration(time.mean_ns)}`,
    ].filter(Boolean).join(", ")],
    ["variables", entry.environment && make("code", {}, entry.environment)],
    ["kernels", entry.kernels && make("div", {}, ...entry.kernels.map(([where, names]) =>
      make("div", {}, `${where}: `, make("code", {}, names))))],
    ["message", entry.error?.text],
    ["log", entry.error?.log && make("pre", {}, entry.error.log)],
  ].map(([name, value]) => [name, typeof value === "number" ? String(value) : value]));
  return line.childElementCount > 0 ? part("Run", line) : null;
};

const command = (entry) => {
  const text = make("pre", {}, entry.command);
  return part("Measure it again", make("div", { class: "command" }, text, copyButton(entry.command, text)));
};

class Cases {
  constructor(all) {
    this.all = all;
    this.data = null;
    this.columns = document.querySelectorAll("table.map colgroup col").length;
    all.rows.forEach((record, place) => {
      const link = record.row.querySelector("th > a");
      link.setAttribute("aria-expanded", "false");
      link.addEventListener("click", (event) => {
        event.preventDefault();
        this.toggle(record, place);
      });
    });
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  /* The case with its shared parts in place. */
  entry(place, id) {
    this.data ??= JSON.parse(document.getElementById("data").textContent);
    const { shared, cases, before, after } = this.data;
    const entry = { ...cases[place] };
    entry.guarantee = shared[entry.guarantee];
    entry.remedies = entry.remedies?.map(([kind, which]) => [kind, shared[which]]);
    entry.used_by = shared[entry.used_by];
    entry.command = `${before}${entry.word ?? id}${after}`;
    entry.axes = Object.fromEntries(Object.entries(entry.axes ?? {}).map(([name, which]) => [name, shared[which]]));
    return entry;
  }

  build(record, place) {
    const id = caseOf(record.row);
    const entry = this.entry(place, id);
    const verdict = [record.facets.observed, record.facets.guarantee].filter(Boolean).join(" · ");
    return make("div", { class: "case", role: "group", "aria-label": id },
      make("p", { class: "lead" }, make("span", { class: "id" }, id), ` — ${verdict}`,
        entry.note ? make("br", {}) : null, entry.note),
      make("div", { class: "parts" },
        guarantee(entry.guarantee),
        entry.remedies ? remedies(entry.remedies) : null,
        entry.used_by ? users(entry.used_by) : null,
        entry.classes ? classes(entry) : null,
        entry.mismatch ? mismatch(entry) : null,
        facts(entry)),
      Object.keys(entry.axes).length > 0 ? axes(entry) : null,
      entry.outputs ? outputs(entry) : null,
      command(entry));
  }

  open(record, place) {
    if (!record.detail) {
      record.detail = make("tr", { class: "detail" }, make("td", { colspan: this.columns }, this.build(record, place)));
      record.row.after(record.detail);
    }
    record.row.classList.add("open");
    record.row.querySelector("th > a").setAttribute("aria-expanded", "true");
  }

  toggle(record, place) {
    const values = fragment();
    values.delete("case");
    if (record.detail) {
      record.detail.remove();
      record.detail = null;
      record.row.classList.remove("open");
      record.row.querySelector("th > a").setAttribute("aria-expanded", "false");
    } else {
      this.open(record, place);
      values.set("case", caseOf(record.row));
    }
    setFragment(values);
  }

  /* The case that the address names is opened and shown, whatever the filters say. */
  follow() {
    this.all.readFragment();
    const wanted = fragment().get("case");
    const place = wanted === null ? -1 : this.all.rows.findIndex((record) => caseOf(record.row) === wanted);
    if (place === -1) {
      return;
    }
    const record = this.all.rows[place];
    record.match = true;
    this.all.groups.find((group) => group.rows.includes(record)).open = true;
    this.open(record, place);
    this.all.show();
    this.lead(record.row);
    /* while it loads, the browser goes by itself where the address points, and takes the focus along */
    if (document.readyState !== "complete") {
      addEventListener("load", () => setTimeout(() => this.lead(record.row)), { once: true });
    }
  }

  lead(row) {
    row.scrollIntoView({ block: "start" });
    row.querySelector("th > a").focus({ preventScroll: true });
  }
}

if (rows && document.getElementById("data")) {
  new Cases(rows);
} else if (rows) {
  addEventListener("hashchange", () => {
    rows.readFragment();
    document.getElementById("cases").scrollIntoView();
  });
  rows.readFragment();
}
