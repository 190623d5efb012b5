// What it weighs: scaled weights compare features with one another, raw ones multiply the features as they are.

function drawWeights(place, weights) {
  const rows = [...weights.rows].sort((a, b) => Math.abs(b.scaled) - Math.abs(a.scaled));
  const scaled = ({ feature, scaled: value, low, high }) => ({ name: feature, value, low, high });
  const hasRaw = rows.every((row) => row.raw !== null);
  const raw = (row) => {
    // The unit is a constant factor, and so is its effect on the interval.
    const unit = row.scaled === 0 ? null : row.raw / row.scaled;
    if (unit === null || row.low === null) return { name: row.feature, value: row.raw };
    const [low, high] = [row.low * unit, row.high * unit].sort((a, b) => a - b);
    return { name: row.feature, value: row.raw, low, high };
  };
  // How much a curve moves scores is no direction.
  const hasShapes = weights.shapes.length > 0;
  const known = rows.some((row) => row.low !== null);
  const intervals = known ? "Thin lines are 95 % bootstrap intervals; a pale bar may as well be zero." : "";
  const explained = {
    scaled: `${hasShapes ? "Features" : "Scaled weights"} of ${weights.method}${weights.units && `: ${weights.units}`}. ${intervals}`,
    raw: `What multiplies each feature as it is. Units differ, so only the signs of bars compare. ${intervals}`,
  };
  const said = remark("");
  const table = html("div", { class: "weights" });
  const turn = (kind) => {
    said.textContent = explained[kind];
    const shown = rows.map(kind === "raw" ? raw : scaled);
    table.replaceChildren(barTable(`Weights of ${weights.method}`, shown, hasShapes ? show.number : show.signedNumber));
  };
  place.append(
    weights.note ? html("p", { class: "absent" }, weights.note) : "",
    hasRaw ? choice("Units of the weights", { scaled: "Scaled", raw: "Raw" }, "scaled", turn) : "",
    said,
    table,
    ...drawShapes(weights.shapes),
    ...drawProducts(weights.products),
  );
  turn("scaled");
}

// What each feature adds to a score, knot by knot: knots are as far apart as documents are many, on one scale of scores.
function drawShapes(shapes) {
  if (shapes.length === 0) return [];
  const [width, height] = [150, 70];
  const y = linearScale(padded(extent(shapes.flatMap((shape) => [...shape.values, 0]))), [height, 0]);
  const drawn = ({ feature, knots, values }) => {
    const x = linearScale([0, Math.max(1, knots.length - 1)], [2, width - 2]);
    const ends = `${show.number(knots[0])} to ${show.number(knots[knots.length - 1])}`;
    const [least, most] = extent(values).map(show.signedNumber);
    const said = `${feature}: adds ${least} to ${most} to a score, for values from ${ends}`;
    const line = svg("polyline", { points: points(values.map((_, place) => x(place)), values.map(y)), class: "shape" });
    const zero = svg("line", { x1: 0, x2: width, y1: y(0), y2: y(0), class: "zero" });
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said }, zero, line);
    return html("figure", {}, picture, html("figcaption", {}, feature, html("small", {}, ends)));
  };
  return [
    remark("What each feature adds to a score, from its least value to its largest; knots are evenly spaced here."),
    html("div", { class: "shapes" }, shapes.map(drawn)),
  ];
}

// What products of two features' lines add beside the curves.
function drawProducts(products) {
  if (products.length === 0) return [];
  const rows = products.map(({ feature, scaled: value }) => ({ name: feature, value }));
  return [
    remark("Products of two features, each along a line: the standard deviation of what a product adds to the score."),
    html("div", { class: "products" }, barTable("Products of two features", rows, show.signedNumber)),
  ];
}
