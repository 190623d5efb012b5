// How training went: one small picture a method, all with the same time axis.

function trainingDrawing(curve, times, width) {
  const height = 150;
  const margin = { top: 8, right: 10, bottom: 26, left: 62 };
  // Time 0 has no place on a logarithmic axis: it stands at the left end.
  const since = (value) => Math.max(value, times[0]);
  const x = logScale(times, [margin.left, width - margin.right]);
  const domain = extent(curve.objective);
  const steep = domain[0] > 0 && domain[1] / domain[0] > 10;
  const room = steep ? domain : padded(domain);
  const y = (steep ? logScale : linearScale)(room, [height - margin.bottom, margin.top]);
  const xs = curve.seconds.map((value) => x(since(value)));
  const ys = curve.objective.map(y);
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Objective of ${curve.name} against time` },
    axes(
      width,
      height,
      margin,
      { scale: x, ticks: logTicks(times, 4), show: show.seconds },
      { scale: y, ticks: (steep ? logTicks : linearTicks)(room, 4), show: show.number },
    ),
    svg("polyline", { class: "line", points: points(xs, ys) }),
    xs.map((value, place) => svg("circle", { class: "dot", cx: value, cy: ys[place], r: 2 })),
    svg("circle", { class: "here", cx: xs.at(-1), cy: ys.at(-1), r: 4 }),
  );
}

function drawTraining(place, training) {
  const seconds = training.curves.flatMap((curve) => curve.seconds).filter((value) => value > 0);
  const latest = seconds.length > 0 ? extent(seconds)[1] : 1;
  const times = [Math.max(seconds.length > 0 ? extent(seconds)[0] : 0.1, latest / 1e5), latest];
  if (times[0] === times[1]) times[0] /= 10;
  const cards = training.curves.filter((curve) => curve.objective.length > 0).map((curve) => {
    const drawing = html("div", { class: "drawing" });
    const card = html(
      "figure",
      { class: "card" },
      html(
        "figcaption",
        {},
        html("strong", {}, curve.name),
        html("small", {}, `${show.number(curve.objective.at(-1))} after ${show.seconds(curve.seconds.at(-1))}`),
        curve.note && html("small", {}, curve.note),
      ),
      drawing,
    );
    return { card, start: () => drawnToWidth(drawing, (width) => trainingDrawing(curve, times, width)) };
  });
  place.append(
    remark(
      "Each method\u2019s own objective, lower is better, against time on one logarithmic axis. " +
        "Objectives of different methods do not compare.",
    ),
    html("div", { class: "cards" }, cards.map(({ card }) => card)),
  );
  cards.forEach(({ start }) => start());
}
