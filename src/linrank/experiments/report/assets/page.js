// Puts everything in its place.

const report = JSON.parse(document.getElementById("data").textContent);
const drawers = {
  leaderboard: drawLeaderboard,
  feature_curve: drawCurve,
  weights: drawWeights,
  queries: drawQueries,
  training: drawTraining,
};
for (const [name, draw] of Object.entries(drawers)) {
  if (report[name] !== null) draw(document.getElementById(name), report[name]);
}

// The system's wish holds until the button is pressed, and again once the button agrees with it.
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = document.getElementById("theme");
const root = document.documentElement;
const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
const nameTheme = () => (theme.textContent = isDark() ? "Light" : "Dark");
theme.addEventListener("click", () => {
  const wanted = isDark() ? "light" : "dark";
  if ((wanted === "dark") === dark.matches) delete root.dataset.theme;
  else root.dataset.theme = wanted;
  nameTheme();
});
dark.addEventListener("change", nameTheme);
nameTheme();

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const part of opened) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of opened) part.open = false;
});
