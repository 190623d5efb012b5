// Which ranker: a table with the interval of each mean drawn on one scale.

const MARKS = {
  better: ["\u25B2", "significantly better"],
  worse: ["\u25BC", "significantly worse"],
  even: ["\u25CB", "not significantly different"],
};

const REMARKED = "\u2020";

function markOf(row, level) {
  if (row.p_value === null || row.difference === null) return null;
  if (row.p_value > level) return "even";
  return row.difference > 0 ? "better" : "worse";
}

function intervalDrawing(row, main, at, ticks, baseline) {
  const [low, high] = row.interval ?? [row.means[main], row.means[main]];
  return svg(
    "svg",
    { class: `interval${row.recommended ? " recommended" : ""}`, "aria-hidden": "true" },
    ticks.map((value) => svg("line", { class: "grid", x1: at(value), x2: at(value), y1: 0, y2: 24 })),
    baseline && svg("line", { class: "baseline", x1: at(baseline), x2: at(baseline), y1: 0, y2: 24 }),
    svg("line", { class: "whisker", x1: at(low), x2: at(high), y1: 12, y2: 12 }),
    svg("circle", { cx: at(row.means[main]), cy: 12, r: 5 }),
  );
}

// As many digits on every tick, so that they read as one scale.
function intervalAxis(ticks, at) {
  const decimals = Math.max(...ticks.map((value) => (String(value).split(".")[1] ?? "").length));
  return svg(
    "svg",
    { class: "interval-axis", "aria-hidden": "true" },
    ticks.map((value) => [
      svg("text", { x: at(value), y: 11, "text-anchor": "middle" }, withMinus(value.toFixed(decimals))),
      svg("line", { class: "axis", x1: at(value), x2: at(value), y1: 15, y2: 19 }),
    ]),
    svg("line", { class: "axis", x1: "0%", x2: "100%", y1: 19, y2: 19 }),
  );
}

function differenceCell(row, board) {
  if (row.name === board.baseline) return html("td", { role: "cell", class: "number" }, html("small", {}, "baseline"));
  if (row.difference === null) return html("td", { role: "cell", class: "number" }, "\u2013");
  const mark = markOf(row, board.level);
  return html(
    "td",
    { role: "cell", class: "number", "data-label": "difference" },
    html("span", { class: mark ?? "" }, show.signed(row.difference), mark && " " + MARKS[mark][0]),
    mark && html("span", { class: "hidden" }, ` ${MARKS[mark][1]}`),
    row.difference_interval && html("small", {}, show.interval(row.difference_interval, show.signed)),
    mark && html("small", {}, show.chance(row.p_value)),
  );
}

function rankerCell(row) {
  return html(
    "th",
    { scope: "row", role: "rowheader" },
    html("span", { class: "name" }, row.name),
    row.remarks.length > 0 && html("span", { class: "remarked" }, REMARKED),
    row.recommended && html("span", { class: "tag" }, "recommended"),
    row.best_linear && html("span", { class: "tag" }, "best linear"),
    row.uses && html("small", {}, row.uses),
    (row.what || row.settings) &&
      html(
        "details",
        {},
        html("summary", {}, row.what && row.settings ? "method and settings" : row.what ? "method" : "settings"),
        row.what && html("small", {}, row.what),
        row.settings && html("small", {}, row.settings),
      ),
  );
}

function measureCell(row, measure) {
  const value = row.means[measure] ?? null;
  const deviation = row.deviations[measure] ?? null;
  return html(
    "td",
    { role: "cell", class: "number", "data-label": measure },
    value === null ? "\u2013" : show.measure(value),
    deviation !== null && html("small", {}, `\u00B1 ${show.measure(deviation)}`),
  );
}

function drawLeaderboard(place, board) {
  const { main, rows } = board;
  const others = board.measures.filter((measure) => measure !== main);
  const has = (name) => rows.some((row) => row[name] !== null);
  const domain = padded(extent(rows.flatMap((row) => [row.means[main], ...(row.interval ?? [])])));
  // Room at both ends for a number that stands under its tick.
  const at = percent(linearScale(domain, [6, 94]));
  const ticks = [7, 6, 5, 4, 3].map((about) => linearTicks(domain, about)).find((some) => some.length <= 5);
  const baseline = rows.find((row) => row.name === board.baseline)?.means[main];
  const columns = [
    { name: "Ranker", key: (row) => row.name, cell: rankerCell },
    {
      name: main,
      key: (row) => row.means[main],
      descending: true,
      class: "wide",
      under: intervalAxis(ticks, at),
      cell: (row) =>
        html(
          "td",
          { role: "cell", class: "wide", "data-label": main },
          html("span", { class: "main" }, show.measure(row.means[main])),
          row.interval && html("small", {}, show.interval(row.interval)),
          intervalDrawing(row, main, at, ticks, baseline),
        ),
    },
    board.baseline !== null && {
      name: `against ${board.baseline}`,
      key: (row) => row.difference,
      descending: true,
      class: "number",
      cell: (row) => differenceCell(row, board),
    },
    ...others.map((measure) => ({
      name: measure,
      key: (row) => row.means[measure] ?? null,
      descending: true,
      class: "number",
      cell: (row) => measureCell(row, measure),
    })),
    has("n_features") && {
      name: "features",
      key: (row) => row.n_features,
      class: "number",
      cell: (row) =>
        html(
          "td",
          { role: "cell", class: "number", "data-label": "features" },
          row.n_features === null ? "\u2013" : show.count(row.n_features),
          row.n_features_of !== null && html("small", {}, `of ${show.count(row.n_features_of)}`),
          row.model_features !== null && html("small", {}, `model: ${show.count(row.model_features)}`),
        ),
    },
    has("seconds") && {
      name: "training",
      key: (row) => row.seconds,
      class: "number",
      cell: (row) =>
        html(
          "td",
          { role: "cell", class: "number", "data-label": "training" },
          row.seconds === null ? "\u2013" : show.seconds(row.seconds),
        ),
    },
  ].filter(Boolean);
  const order = { column: 1, descending: true };
  const body = html("tbody", { role: "rowgroup" });
  const fill = () =>
    body.replaceChildren(
      ...[...rows]
        .sort(compareBy(columns[order.column].key, order.descending))
        .map((row) =>
          html(
            "tr",
            { role: "row", class: row.recommended ? "recommended" : null, "data-name": row.name },
            columns.map((column) => column.cell(row)),
          ),
        ),
    );
  fill();
  place.append(
    html(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "All rankers" },
      html(
        "table",
        { class: "leaderboard", role: "table", "aria-label": "Rankers" },
        sortingHead(columns, order, fill),
        body,
      ),
    ),
    remark(legendOf(board)),
    ...rows
      .filter((row) => row.remarks.length > 0)
      .map((row) => remark(`${REMARKED} ${row.name}: ${row.remarks.join("; ")}.`)),
  );
}

function legendOf(board) {
  const tested = board.rows.filter((row) => markOf(row, board.level) !== null);
  const parts = [];
  if (board.rows.some((row) => row.interval)) parts.push("Lines are 95 % intervals of the mean over queries.");
  if (board.baseline !== null) parts.push(`The dashed line is the mean of ${board.baseline}.`);
  if (tested.length > 0) {
    const marks = Object.values(MARKS).map(([mark, meaning]) => `${mark} ${meaning}`);
    const many = tested.length > 1 ? `, corrected for ${tested.length} comparisons (Holm)` : "";
    parts.push(`${marks.join(", ")}: at p \u2264 ${board.level} by a randomisation test over the queries${many}.`);
  }
  if (board.rows.some((row) => Object.keys(row.deviations).length > 0)) {
    parts.push("\u00B1 is the standard deviation over folds; features and training times are means over folds.");
  }
  return parts.join(" ");
}
