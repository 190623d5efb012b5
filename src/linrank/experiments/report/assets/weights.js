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
  const known = rows.some((row) => row.low !== null);
  const intervals = known ? "Thin lines are 95 % bootstrap intervals; a pale bar may as well be zero." : "";
  const explained = {
    scaled: `Scaled weights of ${weights.method}${weights.units && `: ${weights.units}`}. ${intervals}`,
    raw: `What multiplies each feature as it is. Units differ, so only the signs of bars compare. ${intervals}`,
  };
  const said = remark("");
  const table = html("div", { class: "weights" });
  const turn = (kind) => {
    said.textContent = explained[kind];
    const shown = rows.map(kind === "raw" ? raw : scaled);
    table.replaceChildren(barTable(`Weights of ${weights.method}`, shown, show.signedNumber));
  };
  place.append(
    weights.note ? html("p", { class: "absent" }, weights.note) : "",
    hasRaw ? choice("Units of the weights", { scaled: "Scaled", raw: "Raw" }, "scaled", turn) : "",
    said,
    table,
  );
  turn("scaled");
}
