// Tables that sort, and tables of bars.

const compareText = new Intl.Collator("en", { numeric: true }).compare;

// Missing values stand last, whichever way the rest goes.
function compareBy(key, descending) {
  return (a, b) => {
    const [first, second] = [key(a), key(b)];
    if (first === null || second === null) return (first === null) - (second === null);
    const order = typeof first === "string" ? compareText(first, second) : first - second;
    return descending ? -order : order;
  };
}

// `columns` are {name, key, descending, class}; `order` is {column, descending}, which a click changes.
function sortingHead(columns, order, changed) {
  const cells = columns.map((column, place) =>
    html(
      "th",
      { scope: "col", role: "columnheader", class: column.class },
      html(
        "button",
        {
          type: "button",
          onclick: () => {
            order.descending = order.column === place ? !order.descending : Boolean(column.descending);
            order.column = place;
            mark();
            changed();
          },
        },
        column.name,
      ),
      column.under,
    ),
  );
  const mark = () =>
    cells.forEach((cell, place) =>
      cell.setAttribute("aria-sort", place !== order.column ? "none" : order.descending ? "descending" : "ascending"),
    );
  mark();
  return html("thead", { role: "rowgroup" }, html("tr", { role: "row" }, cells));
}

// Files without names have numbers in their place.
const featureName = (name) => (/^\d+$/.test(name) ? `feature ${name}` : name);

const percent = (scale) => (value) => `${scale(value).toFixed(2)}%`;

// Rows are {name, value, low, high, raw, detail}: a bar from zero, a whisker where there is an interval, and a number,
// which is `raw` where that is given.
function barTable(caption, rows, format, limit = 20) {
  const ends = rows.flatMap((row) => [row.value, row.low ?? row.value, row.high ?? row.value]);
  const at = percent(linearScale(extent([0, ...ends]), [1, 99]));
  const from = (low, high) => ({ x: at(low), width: `${(parseFloat(at(high)) - parseFloat(at(low))).toFixed(2)}%` });
  const line = (row) => {
    const known = row.low != null && row.high != null;
    const doubtful = known && row.low <= 0 && row.high >= 0;
    return html(
      "tr",
      { "data-name": row.name, "data-value": row.raw ?? row.value },
      html("th", { scope: "row", title: row.name }, featureName(row.name), row.detail && html("small", {}, row.detail)),
      html(
        "td",
        { class: "drawn" },
        svg(
          "svg",
          { class: `bar ${row.value < 0 ? "down" : "up"}${doubtful ? " doubtful" : ""}`, "aria-hidden": "true" },
          svg("rect", { y: 4, height: 12, ...from(Math.min(0, row.value), Math.max(0, row.value)) }),
          known && svg("line", { class: "whisker", x1: at(row.low), x2: at(row.high), y1: 10, y2: 10 }),
          svg("line", { class: "zero", x1: at(0), x2: at(0), y1: 0, y2: 20 }),
        ),
      ),
      html(
        "td",
        { class: "number" },
        format(row.raw ?? row.value),
        doubtful && html("span", { class: "hidden" }, " (may be zero)"),
      ),
    );
  };
  const body = html("tbody", {}, rows.slice(0, limit).map(line));
  const table = html("table", { class: "bars" }, html("caption", { class: "hidden" }, caption), body);
  if (rows.length <= limit) return table;
  const more = html(
    "button",
    {
      type: "button",
      onclick: () => {
        body.append(...rows.slice(limit).map(line));
        more.remove();
      },
    },
    `Show all ${show.count(rows.length)}`,
  );
  return html("div", {}, table, more);
}

function numbersTable(summary, head, rows) {
  return html(
    "details",
    { class: "numbers" },
    html("summary", {}, summary),
    html(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": summary },
      html(
        "table",
        { class: "plain" },
        html("thead", {}, html("tr", {}, head.map((name) => html("th", { scope: "col" }, name)))),
        html("tbody", {}, rows.map((row) => html("tr", {}, row.map((cell) => html("td", {}, cell))))),
      ),
    ),
  );
}
