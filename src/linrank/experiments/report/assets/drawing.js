// Elements, numbers and scales. Text only ever becomes text nodes and attributes, so names of users stay names.

const SVG = "http://www.w3.org/2000/svg";

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(2).filter((child) => child != null && child !== false));
  return made;
}

const html = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

const remark = (text) => html("p", { class: "remark" }, text);

const MINUS = "\u2212";
const withMinus = (text) => text.replace(/-/g, MINUS);

const show = {
  measure: (value) => withMinus(Math.abs(value) < 10 ? value.toFixed(4) : value.toPrecision(6)),
  signed: (value) => (value > 0 ? "+" : "") + show.measure(value === 0 ? 0 : value),
  interval: (pair, one = show.measure) => `${one(pair[0])} to ${one(pair[1])}`,
  number(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e6)) return withMinus(value.toExponential(2));
    return withMinus(String(Number(value.toPrecision(4))));
  },
  signedNumber: (value) => (value > 0 ? "+" : "") + show.number(value),
  count: (value) => value.toLocaleString("en", { maximumFractionDigits: 1 }),
  chance: (value) => (value < 0.001 ? "p < 0.001" : `p = ${value.toFixed(3)}`),
  seconds(value) {
    if (value < 0.9995) return `${Number((1000 * value).toPrecision(2))} ms`;
    if (value < 60) return `${Number(value.toPrecision(3))} s`;
    const minutes = Math.round(value / 60);
    return minutes < 120 ? `${minutes} min` : `${Number((value / 3600).toPrecision(3))} h`;
  },
};

const extent = (values) => [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];

function padded([low, high], share = 0.06) {
  const room = (high - low || Math.abs(high) || 1) * share;
  return [low - room, high + room];
}

function linearScale([low, high], [start, end]) {
  const room = high - low || 1;
  return (value) => start + ((value - low) / room) * (end - start);
}

function logScale(domain, range) {
  const inner = linearScale(domain.map(Math.log), range);
  return (value) => inner(Math.log(value));
}

function linearTicks([low, high], about = 5) {
  const rough = (high - low || 1) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((size) => size >= rough * 0.999);
  const ticks = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place++) {
    ticks.push(Number((place * step).toPrecision(12)));
  }
  return ticks;
}

function logTicks([low, high], about = 6) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) powers.push(power);
  const within = (value) => value >= low * 0.999 && value <= high * 1.001;
  const of = (parts) => powers.flatMap((power) => parts.map((part) => Number(`${part}e${power}`))).filter(within);
  const choices = [of([1, 2, 3, 5, 7]), of([1, 2, 5]), of([1, 3]), of([1])];
  const every = Math.ceil(choices[3].length / about);
  return choices.find((ticks) => ticks.length <= about) ?? choices[3].filter((_, place) => place % every === 0);
}

const points = (xs, ys) => xs.map((x, place) => `${x.toFixed(1)},${ys[place].toFixed(1)}`).join(" ");

// Draws at the width there is, and again when that changes: text keeps its size on a phone.
function drawnToWidth(place, draw) {
  let width = 0;
  const redraw = () => {
    const now = Math.round(place.clientWidth) || 640;
    if (now === width) return;
    width = now;
    place.replaceChildren(draw(width));
  };
  new ResizeObserver(redraw).observe(place);
  redraw();
  return () => {
    width = 0;
    redraw();
  };
}

// A frame with ticks and grid lines; `x` and `y` are {scale, ticks, show, label}.
function axes(width, height, margin, x, y) {
  const bottom = height - margin.bottom;
  const middle = (margin.left + width - margin.right) / 2;
  return svg(
    "g",
    { class: "axes" },
    y.ticks.map((value) => [
      svg("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: y.scale(value), y2: y.scale(value) }),
      svg("text", { x: margin.left - 8, y: y.scale(value), dy: "0.32em", "text-anchor": "end" }, y.show(value)),
    ]),
    svg("line", { class: "axis", x1: margin.left, x2: width - margin.right, y1: bottom, y2: bottom }),
    x.ticks.map((value) => [
      svg("line", { class: "axis", x1: x.scale(value), x2: x.scale(value), y1: bottom, y2: bottom + 4 }),
      svg("text", { x: x.scale(value), y: bottom + 17, "text-anchor": "middle" }, x.show(value)),
    ]),
    x.label && svg("text", { class: "label", x: middle, y: height - 4, "text-anchor": "middle" }, x.label),
    y.label && svg("text", { class: "label", x: 0, y: 12 }, y.label),
  );
}

function choice(legend, options, chosen, changed) {
  const group = `choice-${(choice.made = (choice.made ?? 0) + 1)}`;
  return html(
    "fieldset",
    { class: "choice" },
    html("legend", { class: "hidden" }, legend),
    Object.entries(options).map(([value, text]) =>
      html(
        "label",
        {},
        html("input", { type: "radio", name: group, value, checked: value === chosen, onchange: () => changed(value) }),
        html("span", {}, text),
      ),
    ),
  );
}

async function copied(text, button) {
  const says = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages opened from a file may not use the clipboard of some browsers; the old way still works there.
    const field = html("textarea", { class: "hidden" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    button.focus();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = says), 1500);
}
