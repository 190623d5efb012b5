// One query: both orders side by side, and why one document is above another.

const LEVELS = 5;
const ROW = 30;
const SHOWN = 12;

const orderBy = (scores) => scores.map((_, place) => place).sort((a, b) => scores[b] - scores[a]);

// Labels may be any numbers: their place among all labels decides the colour.
function labelLevels(queries) {
  const labels = new Set(Object.values(queries.documents).flatMap((documents) => documents.labels));
  const sorted = [...labels].sort((a, b) => a - b);
  const top = Math.max(1, sorted.length - 1);
  return new Map(sorted.map((label, place) => [label, Math.round(((LEVELS - 1) * place) / top)]));
}

// The pair the rankers disagree on whose labels lie furthest apart; among equals, the one nearest to the top.
function disagreement(documents, among) {
  const { labels, scores_baseline: theirs } = documents;
  let [found, apart] = [null, 0];
  among.forEach((upper, rank) => {
    for (const lower of among.slice(rank + 1)) {
      const gap = Math.abs(labels[upper] - labels[lower]);
      if (theirs[lower] > theirs[upper] && gap > apart) [found, apart] = [[upper, lower], gap];
    }
  });
  return found;
}

// One that is in sight, if there is any.
function tellingPair(documents) {
  const ours = orderBy(documents.scores_ours);
  return disagreement(documents, ours.slice(0, SHOWN)) ?? disagreement(documents, ours) ?? ours.slice(0, 2);
}

function slopes(left, right, rows, levelOf, picked) {
  const height = rows * ROW;
  // A document beyond the last row shown leads out of the picture.
  const y = (rank) => Math.min(rank, rows) * ROW + ROW / 2;
  const place = new Map(right.map((document, rank) => [document, rank]));
  const lines = left
    .map((document, rank) => ({ document, from: y(rank), to: y(place.get(document)) }))
    .filter(({ from, to }) => from < height || to < height);
  return svg(
    "svg",
    { class: "slopes", viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", "aria-hidden": "true", height },
    lines.map(({ document, from, to }) =>
      svg("path", {
        class: `slope level-${levelOf(document)}${picked.includes(document) ? " picked" : ""}`,
        d: `M0,${from} C50,${from} 50,${to} 100,${to}`,
      }),
    ),
  );
}

function contributions(weights, documents, features, upper, lower, total) {
  const rows = weights.map((weight, place) => {
    const column = documents.columns[place];
    return {
      name: features[place],
      value: weight * (column[upper] - column[lower]),
      detail: `${show.number(weight)} \u00D7 (${show.number(column[upper])} ${MINUS} ${show.number(column[lower])})`,
    };
  });
  const sum = rows.reduce((all, row) => all + row.value, 0);
  const size = rows.reduce((all, row) => all + Math.abs(row.value), Math.abs(total));
  const rest = total - sum;
  if (Math.abs(rest) > 1e-3 * size) rows.push({ name: "the rest", value: rest, detail: "not from these features" });
  return rows.filter((row) => row.value !== 0).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

function explanation(ranker, weights, scores, documents, features, pair, nameOf) {
  const [upper, lower] = scores[pair[0]] >= scores[pair[1]] ? pair : [...pair].reverse();
  const total = scores[upper] - scores[lower];
  const says =
    total === 0
      ? ` puts ${nameOf(upper)} and ${nameOf(lower)} level`
      : ` puts ${nameOf(upper)} above ${nameOf(lower)} by ${show.number(total)}`;
  const title = html("h5", {}, html("strong", {}, ranker), says);
  if (weights === null || documents.columns === null) {
    const why = weights === null ? "It is no weighted sum of features" : "The features were not kept";
    return html("div", { class: "why" }, title, remark(`${why}, so this does not come apart by feature.`));
  }
  const rows = contributions(weights, documents, features, upper, lower, total);
  return html(
    "div",
    { class: "why", "data-total": total },
    title,
    barTable(`Weight times difference of each feature, ${ranker}`, rows, show.signedNumber, 10),
    html("p", { class: "sum" }, "adds up to the difference of the scores", html("b", {}, show.signedNumber(total))),
  );
}

function drawDocuments(queries, query, levels) {
  const documents = queries.documents[query];
  const { ids, labels } = documents;
  const nameOf = (document) => (ids === null ? `document ${document + 1}` : ids[document]);
  const levelOf = (document) => levels.get(labels[document]);
  const fold = queries.folds?.[query] ?? 0;
  const { scores_ours: ours, scores_baseline: theirs } = documents;
  const orders = [
    [queries.ours, orderBy(ours), ours, queries.weights_ours?.[fold] ?? null],
    [queries.baseline, orderBy(theirs), theirs, queries.weights_baseline?.[fold] ?? null],
  ];
  let picked = tellingPair(documents);
  let rows = Math.min(SHOWN, labels.length);
  const lists = html("div", { class: "orders" });
  const why = html("div", { class: "whys", "aria-live": "polite" });

  const item = (document, rank, scores) =>
    html(
      "li",
      {},
      html(
        "button",
        {
          type: "button",
          class: "document",
          "data-document": document,
          "aria-pressed": String(picked.includes(document)),
          title: nameOf(document),
          onclick: (event) => pick(document, event.currentTarget.closest("ol")),
        },
        html("span", { class: "rank" }, rank + 1),
        html("span", { class: `grade level-${levelOf(document)}`, title: "label" }, show.number(labels[document])),
        html("span", { class: "id" }, nameOf(document)),
        html("span", { class: "score" }, show.number(scores[document])),
      ),
    );
  const list = ([ranker, order, scores]) => {
    const items = order.slice(0, rows).map((document, rank) => item(document, rank, scores));
    return html("div", {}, html("h5", {}, ranker), html("ol", { "aria-label": `Order by ${ranker}` }, items));
  };
  const draw = () => {
    const [left, right] = orders.map(list);
    lists.replaceChildren(left, slopes(orders[0][1], orders[1][1], rows, levelOf, picked), right);
    why.replaceChildren(
      ...(picked.length < 2
        ? [remark("Choose two documents to see why one is above the other.")]
        : orders.map(([ranker, , scores, weights]) =>
            explanation(ranker, weights, scores, documents, queries.feature_names, picked, nameOf),
          )),
    );
  };
  // A third choice takes the place of the older of the two.
  const pick = (document, within) => {
    const side = [...lists.querySelectorAll("ol")].indexOf(within);
    picked = picked.includes(document) ? picked.filter((other) => other !== document) : [...picked, document].slice(-2);
    draw();
    lists.querySelectorAll("ol")[side].querySelector(`[data-document="${document}"]`).focus();
  };
  const more = html(
    "button",
    {
      type: "button",
      onclick: () => {
        rows = labels.length;
        more.remove();
        draw();
      },
    },
    `Show all ${show.count(labels.length)} documents`,
  );
  draw();
  return html(
    "div",
    { class: "documents" },
    remark("Coloured numbers are labels. Choose two documents to see why one is above the other."),
    lists,
    rows < labels.length && more,
    labels.length > 1 && why,
  );
}
