// How many features: the curve, and the model at the point the slider stands on.

const CURVE = { height: 310, margin: { top: 36, right: 18, bottom: 42, left: 58 } };

function asCsv(weights) {
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const lines = Object.entries(weights).map(([name, value]) => `${quoted(name)},${value}`);
  return ["feature,weight", ...lines, ""].join("\n");
}

const bySize = (weights) => Object.entries(weights).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));

function curveAxis(curve, axis, width) {
  const places = curve.points.map((point) => (axis === "cost" ? point.cost : point.n_features));
  const [low, high] = extent(axis === "cost" || !curve.recommended ? places : [...places, curve.recommended.n_features]);
  const range = [CURVE.margin.left + 8, width - CURVE.margin.right - 8];
  // The first few features matter most: give them room where there are many.
  const wide = low > 0 && high / low > 30;
  const about = width < 480 ? 4 : 8;
  const whole = (value) => axis === "cost" || Number.isInteger(value);
  return {
    places,
    scale: (wide ? logScale : linearScale)([low, high], range),
    ticks: (wide ? logTicks : linearTicks)([low, high], about).filter(whole),
    show: (value) => withMinus(String(value)),
    label: axis === "cost" ? `cost in ${curve.cost_unit}` : "features",
  };
}

function curveDrawing(curve, axis, width, at) {
  const { height, margin } = CURVE;
  const right = width - margin.right;
  const x = curveAxis(curve, axis, width);
  const values = curve.points.flatMap((point) => [point.mean, point.low ?? point.mean, point.high ?? point.mean]);
  const others = [curve.dense, curve.recommended?.mean].filter((value) => value != null);
  const domain = padded(extent([...values, ...others]));
  const scale = linearScale(domain, [height - margin.bottom, margin.top]);
  const y = { scale, ticks: linearTicks(domain, 5), show: (value) => withMinus(String(value)), label: curve.measure };
  const xs = x.places.map(x.scale);
  const ys = (name) => curve.points.map((point) => scale(point[name] ?? point.mean));
  const around = [...ys("high"), ...ys("low").reverse()];
  const banded = curve.points.some((point) => point.low !== null);
  const here = curve.points[at];
  const ring = (place) => svg("circle", { class: "ring", cx: xs[place], cy: scale(curve.points[place].mean), r: 8 });
  const within = curve.one_standard_error;
  const star = axis === "cost" ? null : curve.recommended;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${curve.measure} against ${x.label}` },
    axes(width, height, margin, x, y),
    banded && svg("polygon", { class: "band", points: points([...xs, ...xs.toReversed()], around) }),
    curve.dense !== null &&
      svg("line", { class: "baseline", x1: margin.left, x2: right, y1: scale(curve.dense), y2: scale(curve.dense) }),
    svg("line", { class: "cursor", x1: xs[at], x2: xs[at], y1: margin.top, y2: height - margin.bottom }),
    svg("polyline", { class: "line", points: points(xs, ys("mean")) }),
    xs.map((value, place) => svg("circle", { class: "dot", cx: value, cy: scale(curve.points[place].mean), r: 2.5 })),
    within !== null && ring(within),
    svg("circle", { class: "here", cx: xs[at], cy: scale(here.mean), r: 6 }),
    star && diamond(x.scale(star.n_features), scale(star.mean)),
  );
}

const diamond = (x, y) => svg("path", { class: "star", d: `M${x - 7} ${y}L${x} ${y - 7}L${x + 7} ${y}L${x} ${y + 7}Z` });

// What the signs of the drawing mean, beside it: words inside it would stand on one another.
function curveKey(curve) {
  const key = (drawn, text) =>
    html("span", {}, svg("svg", { class: "key", viewBox: "0 0 24 16", "aria-hidden": "true" }, drawn), text);
  const star = curve.recommended;
  const within = curve.one_standard_error;
  const sized = (point) => `${show.count(point.n_features)} feature${point.n_features === 1 ? "" : "s"}`;
  return html(
    "p",
    { class: "keys" },
    star &&
      key(
        diamond(12, 8),
        `${star.name}, ${star.is_best_linear ? "the best linear ranker" : "recommended"}: ${sized(star)}`,
      ),
    key(svg("circle", { class: "here", cx: 12, cy: 8, r: 6 }), "the model shown below"),
    within !== null &&
      key(
        svg("circle", { class: "ring", cx: 12, cy: 8, r: 7 }),
        `fewest within one standard error of the best: ${sized(curve.points[within])}`,
      ),
    curve.dense !== null &&
      key(
        svg("line", { class: "baseline", x1: 0, x2: 24, y1: 8, y2: 8 }),
        `all features: ${show.measure(curve.dense)}`,
      ),
  );
}

function figuresOf(curve, point) {
  const figure = (name, value, small) =>
    html("div", {}, html("dt", {}, name), html("dd", {}, value, small && html("small", {}, small)));
  return html(
    "dl",
    { class: "figures" },
    figure("features", show.count(point.n_features)),
    curve.cost_unit !== null && point.cost !== null && figure("cost", `${show.number(point.cost)} ${curve.cost_unit}`),
    figure(curve.measure, show.measure(point.mean), point.low === null ? null : show.interval([point.low, point.high])),
    curve.dense && figure("share", `${((100 * point.mean) / curve.dense).toFixed(1)} %`, "of that with all features"),
    Object.entries(point.measures)
      .filter(([name]) => name !== curve.measure)
      .map(([name, value]) => figure(name, show.measure(value))),
  );
}

// Weights compare only once each is brought to the scale of its feature.
function comparedBars(point, { spreads, is_raw: isRaw }) {
  const rows = bySize(point.weights).map(([name, raw]) => ({ name, raw, value: raw * (spreads[name] ?? NaN) }));
  const comparable = rows.every((row) => Number.isFinite(row.value));
  const drawn = comparable
    ? rows.sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    : rows.map((row) => ({ ...row, value: row.raw }));
  const numbers = isRaw
    ? "Numbers are raw weights, which multiply the features as they are."
    : "Numbers are weights of what becomes of the features, not of features as they are.";
  const bars = `Bars are the change of the score for one standard deviation of ${isRaw ? "the feature" : "that"}.`;
  const said = comparable ? `${numbers} ${bars}` : numbers;
  return html("div", {}, barTable("Weights of this model", drawn, show.signedNumber), remark(said));
}

function drawCurve(place, curve) {
  let at = curve.chosen;
  let axis = "features";
  // On the frame, which stays, rather than on the drawing, which a drag replaces.
  const toNearest = (event) => {
    const box = figure.getBoundingClientRect();
    const { places, scale } = curveAxis(curve, axis, box.width);
    const far = places.map((value) => Math.abs(scale(value) - (event.clientX - box.left)));
    move(far.indexOf(Math.min(...far)));
  };
  const figure = html("div", {
    class: "drawing draggable",
    onpointerdown: toNearest,
    onpointermove: (event) => event.buttons === 1 && toNearest(event),
  });
  const model = html("div", { class: "model" });
  const slider = html("input", {
    type: "range",
    id: "size",
    min: 0,
    max: curve.points.length - 1,
    value: at,
    oninput: () => move(Number(slider.value)),
  });
  const redraw = drawnToWidth(figure, (width) => curveDrawing(curve, axis, width, at));
  const move = (to) => {
    at = to;
    const point = curve.points[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", `${point.n_features} features, ${curve.measure} ${show.measure(point.mean)}`);
    redraw();
    model.replaceChildren(figuresOf(curve, point), comparedBars(point, curve));
  };
  const copyButton = (name, written) => {
    const copy = (event) => copied(written(curve.points[at].weights), event.currentTarget);
    return html("button", { type: "button", onclick: copy }, name);
  };
  place.append(
    curve.note ? remark(curve.note) : "",
    curve.cost_unit !== null
      ? choice("Horizontal axis", { features: "By features", cost: "By cost" }, axis, (chosen) => {
          axis = chosen;
          redraw();
        })
      : "",
    figure,
    curveKey(curve),
    html("label", { class: "slider" }, html("span", { class: "hidden" }, "Number of features"), slider),
    html(
      "div",
      { class: "row" },
      html("h3", {}, "The model at this size"),
      html(
        "span",
        { class: "buttons" },
        copyButton("Copy JSON", (weights) => JSON.stringify(weights, null, 1)),
        copyButton("Copy CSV", asCsv),
      ),
    ),
    model,
    numbersTable(
      "The curve in numbers",
      ["features", curve.cost_unit && `cost (${curve.cost_unit})`, curve.measure, "95 % interval"].filter(Boolean),
      curve.points.map((point) =>
        [
          show.count(point.n_features),
          curve.cost_unit && (point.cost === null ? "\u2013" : show.number(point.cost)),
          show.measure(point.mean),
          point.low === null ? "\u2013" : show.interval([point.low, point.high]),
        ].filter(Boolean),
      ),
    ),
  );
  move(at);
}
