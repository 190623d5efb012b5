// Where it wins and loses: all differences at a glance, and a table that leads to each query.

const PAGE = 15;
const STRIP = { height: 170, left: 48, margin: 8 };

// One path a sign, whatever the number of queries: beyond one a pixel, each pixel shows the query in its middle.
function stripDrawing(differences, width, cursor) {
  const { height, left, margin } = STRIP;
  const domain = extent([0, ...differences]);
  const y = linearScale(domain, [height - margin, margin]);
  const room = width - left;
  const bars = Math.min(differences.length, room);
  const step = room / bars;
  const gap = step > 4 ? 1 : 0;
  const path = (wanted) => {
    let drawn = "";
    for (let bar = 0; bar < bars; bar++) {
      const value = differences[Math.floor(((bar + 0.5) / bars) * differences.length)];
      if (!wanted(value)) continue;
      const [x, zero, top, wide] = [left + bar * step, y(0), y(value), step - gap].map((number) => number.toFixed(1));
      drawn += `M${x},${zero}V${top}h${wide}V${zero}Z`;
    }
    return drawn;
  };
  const at = left + ((cursor + 0.5) / differences.length) * room;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    linearTicks(domain, 4).map((value) => [
      svg("line", { class: value === 0 ? "zero" : "grid", x1: left, x2: width, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 8, y: y(value), dy: "0.32em", "text-anchor": "end" }, show.signedNumber(value)),
    ]),
    svg("path", { class: "up", d: path((value) => value > 0) }),
    svg("path", { class: "down", d: path((value) => value < 0) }),
    svg("line", { class: "cursor", x1: at, x2: at, y1: 0, y2: height }),
  );
}

function drawStrip(queries, differences, open) {
  const sorted = differences.map((_, query) => query).sort((a, b) => differences[b] - differences[a]);
  const values = sorted.map((query) => differences[query]);
  let cursor = 0;
  const says = html("p", { class: "readout" });
  const place = html("div", {
    class: "drawing strip",
    role: "slider",
    tabindex: 0,
    "aria-label": `Queries by difference of ${queries.measure}; Enter opens one`,
    "aria-valuemin": 1,
    "aria-valuemax": sorted.length,
    onpointermove: (event) => under(event),
    onclick: (event) => {
      under(event);
      open(sorted[cursor]);
    },
    onkeydown: (event) => {
      const all = sorted.length;
      const single = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
      const steps = { ...single, PageDown: 10, PageUp: -10, Home: -all, End: all };
      if (event.key === "Enter") open(sorted[cursor]);
      else if (event.key in steps) move(cursor + steps[event.key]);
      else return;
      event.preventDefault();
    },
  });
  const redraw = drawnToWidth(place, (width) => stripDrawing(values, width, cursor));
  const move = (to) => {
    cursor = Math.max(0, Math.min(sorted.length - 1, to));
    const query = sorted[cursor];
    const text =
      `Query ${queries.qids[query]}: ${show.measure(queries.values_ours[query])} against ` +
      `${show.measure(queries.values_baseline[query])}, ${show.signed(differences[query])}`;
    says.textContent = text;
    place.setAttribute("aria-valuenow", cursor + 1);
    place.setAttribute("aria-valuetext", text);
    redraw();
  };
  const under = (event) => {
    const box = place.getBoundingClientRect();
    move(Math.floor(((event.clientX - box.left - STRIP.left) / (box.width - STRIP.left)) * sorted.length));
  };
  move(0);
  return [place, says];
}

function countsOf(queries, differences) {
  const better = differences.filter((value) => value > 0).length;
  const worse = differences.filter((value) => value < 0).length;
  const mean = differences.reduce((all, value) => all + value, 0) / differences.length;
  const part = (mark, name, count) =>
    html("span", { class: name }, `${mark} `, html("b", {}, show.count(count)), ` ${name}`);
  return html(
    "p",
    { class: "counts" },
    part("\u25B2", "better", better),
    part("\u25CB", "even", differences.length - better - worse),
    part("\u25BC", "worse", worse),
    html("span", {}, `${queries.ours} against ${queries.baseline}, on average ${show.signed(mean)} ${queries.measure}`),
  );
}

function sparkCell(value, longest) {
  const width = (50 * Math.abs(value)) / longest;
  return html(
    "td",
    { class: "number" },
    svg(
      "svg",
      { class: `spark ${value < 0 ? "down" : "up"}`, "aria-hidden": "true" },
      svg("rect", { x: `${value < 0 ? 50 - width : 50}%`, width: `${width}%`, y: 3, height: 10 }),
      svg("line", { class: "zero", x1: "50%", x2: "50%", y1: 0, y2: 16 }),
    ),
    show.signed(value),
  );
}

// The rows of the table that are in sight, and the documents of the one that is open.
function queryRows(queries, differences, toggle) {
  const levels = labelLevels(queries);
  const longest = Math.max(...extent(differences).map(Math.abs)) || 1;
  return (query, isOpen) => {
    const name = queries.qids[query];
    const opens = query in queries.documents;
    const button = { type: "button", class: "open", "aria-expanded": String(isOpen), title: name };
    const row = html(
      "tr",
      { "data-query": name, class: opens ? "opens" : null, onclick: () => opens && toggle(query) },
      html(
        "th",
        { scope: "row" },
        opens ? html("button", button, name) : html("span", { title: "its documents are not on this page" }, name),
      ),
      html("td", { class: "number" }, show.measure(queries.values_ours[query])),
      html("td", { class: "number" }, show.measure(queries.values_baseline[query])),
      sparkCell(differences[query], longest),
    );
    if (!isOpen) return [row];
    const detail = html("td", { colspan: row.children.length }, drawDocuments(queries, query, levels));
    return [row, html("tr", { class: "detail" }, detail)];
  };
}

// The table with its search field; `reveal` brings a query into sight, and whatever hides it gives way.
function queryTable(queries, differences) {
  const columns = [
    { name: "query", key: (query) => queries.qids[query] },
    { name: queries.ours, key: (query) => queries.values_ours[query], descending: true, class: "number" },
    { name: queries.baseline, key: (query) => queries.values_baseline[query], descending: true, class: "number" },
    { name: "difference", key: (query) => differences[query], descending: true, class: "number" },
  ];
  const wanted = { all: () => true, better: (value) => value > 0, worse: (value) => value < 0 };
  const order = { column: 3, descending: true };
  const state = { kind: "all", found: [], page: 0, open: null };
  const body = html("tbody");
  const status = html("span", { role: "status" });
  const step = (name, by) => html("button", { type: "button", onclick: () => turn(state.page + by) }, name);
  const [before, after] = [step("\u2039 Previous", -1), step("Next \u203A", 1)];
  const search = html("input", {
    type: "search",
    placeholder: "Search queries",
    "aria-label": "Search queries",
    oninput: () => find(),
  });
  const kind = choice("Queries shown", { all: "All", better: "Better", worse: "Worse" }, "all", (chosen) => {
    state.kind = chosen;
    find();
  });
  const linesOf = queryRows(queries, differences, (query) => open(state.open === query ? null : query, query));

  const draw = () => {
    const first = state.page * PAGE;
    const shown = state.found.slice(first, first + PAGE);
    const lines = new Map(shown.map((query) => [query, linesOf(query, query === state.open)]));
    body.replaceChildren(...[...lines.values()].flat());
    const places = `${show.count(first + 1)}\u2013${show.count(first + shown.length)}`;
    status.textContent = shown.length === 0 ? "No query found" : `${places} of ${show.count(state.found.length)}`;
    before.disabled = state.page === 0;
    after.disabled = first + PAGE >= state.found.length;
    return lines;
  };
  const turn = (page) => {
    state.page = page;
    draw();
  };
  const find = () => {
    const text = search.value.toLowerCase();
    state.found = queries.qids
      .map((_, query) => query)
      .filter((query) => wanted[state.kind](differences[query]) && queries.qids[query].toLowerCase().includes(text))
      .sort(compareBy(columns[order.column].key, order.descending));
    turn(0);
  };
  const open = (query, focused) => {
    state.open = query;
    const [row] = draw().get(focused);
    row.querySelector("button")?.focus();
    row.scrollIntoView({ block: "nearest" });
  };
  const reveal = (query) => {
    if (!state.found.includes(query)) {
      search.value = "";
      state.kind = "all";
      kind.querySelector("input").checked = true;
      find();
    }
    state.page = Math.floor(state.found.indexOf(query) / PAGE);
    open(query in queries.documents ? query : null, query);
  };
  find();
  const table = html("table", { class: "queries", "aria-label": "Queries" }, sortingHead(columns, order, find), body);
  const pager = html("div", { class: "row pager" }, before, status, after);
  return { parts: [html("div", { class: "row" }, search, kind), table, pager], reveal };
}

function drawQueries(place, queries) {
  const differences = queries.values_ours.map((value, query) => value - queries.values_baseline[query]);
  const { parts, reveal } = queryTable(queries, differences);
  place.append(countsOf(queries, differences), ...drawStrip(queries, differences, reveal), ...parts);
  const without = queries.left_out;
  if (without === 0) return;
  const whose = without === 1 ? "one query, which differs" : `${show.count(without)} queries, which differ`;
  place.append(remark(`The documents of ${whose} least, were left out to keep this page small.`));
}
