"""The papers' tables again, on the data that is there: ours beside what they printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from linrank.errors import LinrankError
from linrank.experiments.comparison import JobResult
from linrank.experiments.contenders import Contender
from linrank.experiments.folds import Fold, Part, find_folds
from linrank.experiments.protocol import Protocol
from linrank.experiments.results import Plan, Results
from linrank.experiments.tables import markdown
from linrank.papers.grids import searched, seeded, seeded_names
from linrank.papers.published import PAPERS, PROTOCOL, PublishedResult, published
from linrank.papers.ranks import analysed
from linrank.papers.seeds import seeds_table

# Where each data set's download has its folds, from the folder that holds them all; and how its files begin.
LAYOUTS: dict[str, tuple[tuple[str, str], ...]] = {
    "OHSUMED": (("OHSUMED", ""), ("Ohsumed", "")),
    "MQ2007": (("MQ2007", ""),),
    "MQ2008": (("MQ2008", ""),),
    "MQ2007-list": (("MQ2007-list", ""),),
    "MQ2008-list": (("MQ2008-list", ""),),
    "MSLR-WEB10K": (("MSLR-WEB10K", ""),),
    "MSLR-WEB30K": (("MSLR-WEB30K", ""),),
    "Yahoo-LTRC1": (("Yahoo-LTRC1", "set1."), ("ltrc_yahoo", "set1."), ("Yahoo", "set1.")),
    "Yahoo-LTRC2": (("Yahoo-LTRC2", "set2."), ("ltrc_yahoo", "set2."), ("Yahoo", "set2.")),
    **{
        f"{task.upper()}{year}": (
            (f"{task.upper()}{year}", ""),
            (f"{year}_{task}_dataset", ""),
            (f"Gov/QueryLevelNorm/{year}_{task}_dataset", ""),
        )
        for task in ("td", "hp", "np")
        for year in (2003, 2004)
    },
}
# One query without a validation part: figures are drawn from it, and nothing is chosen on it.
_ONE_QUERY = "RCV1"
DATA = (*LAYOUTS, _ONE_QUERY)
# The features of these are not scaled when they are downloaded, and the paper scales them to 0 … 1.
_SCALED = ("MSLR-WEB10K", "MSLR-WEB30K", "Yahoo-LTRC1", "Yahoo-LTRC2")

_CUTOFFS = range(1, 11)
_SHOWN = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
MEASURES = (
    *(f"ndcg@{k}" for k in _CUTOFFS),
    *(f"ndcg(letor)@{k}" for k in _CUTOFFS),
    "map",
    "mean_ndcg",
    "pairwise_accuracy",
)
# Relevance is a position in a list there, and 2^y is too large a number.
_LISTS = ("MQ2007-list", "MQ2008-list")
_SETTING = re.compile(r"(\w+)=([\d.]+)")
_TREES = re.compile(r"([\d,]+) trees")
# The paper's names where ours is another.
_ALIASES = {"lambdamart": "lightgbm"}
# Where a table varies other settings the rest are our defaults, but for the C that the paper's range begins with.
_HELD = {"reg-ranksvm": {"C": 0.1}}


@dataclass(frozen=True)
class Study:
    """A comparison that stands beside some tables: its folds, what it chooses by, which printed figures it answers.

    Methods are chosen among the papers' grids, or wide ones; `ours` is the study of the same with the catalogue's,
    whose figures stand behind. `also` are methods that are compared for a paper though it prints nothing of them.
    """

    name: str
    select: str
    answers: Callable[[PublishedResult], bool]
    first_fold: bool = False
    fewest: bool = False
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    papers_grids: bool = True
    several_seeds: bool = False
    ours: str | None = None

    def runs(self, result: PublishedResult) -> bool:
        """Whether the method of a printed figure is run here: to answer it, or to stand behind the answer."""
        return self.answers(result) or any(other.ours == self.name and other.answers(result) for other in STUDIES)

    def names(self, result: PublishedResult) -> list[str]:
        """Whose figures answer a printed one: the method's, or those of its seeds, to be averaged."""
        return seeded_names(result.method) if self.several_seeds else [_contender_name(result)]


_SPARSE = (
    "ranksvm",
    "ranksvm-l1",
    "sparserank",
    "fenchelrank",
    "mcprank",
    "minbatsrank",
    "minbatsrank-nonfea",
    "rsrank",
)
_RIVALS = {
    "minbatsrank": (*_SPARSE, "listnet", "adarank", "ranksvm-hinge"),
    "rsrank": ("lambdarank", "adarank", "listnet", "rsrank"),
    "low-rank": ("ranksvm", "ranksvm-hinge", "fac-ranksvm", "reg-ranksvm"),
}


def _of_all_folds(result: PublishedResult) -> bool:
    return result.paper != "ranksvm" and "fold 1" not in result.note


def _of_seeds(result: PublishedResult) -> bool:
    return result.method == "minbatsrank"


def _of_none(result: PublishedResult) -> bool:  # noqa: ARG001
    return False


OURS, FEWEST, SEEDED, SEARCHED = (
    "five folds",
    "five folds, fewest features",
    "five folds, several seeds",
    "five folds, grids of the papers",
)
STUDIES = (
    Study(OURS, "ndcg@10", _of_none, also=_RIVALS, papers_grids=False),
    Study(FEWEST, "ndcg@10", _of_none, fewest=True, also={"minbatsrank": _SPARSE}, papers_grids=False),
    Study(SEEDED, "ndcg@10", lambda result: _of_all_folds(result) and _of_seeds(result), several_seeds=True, ours=OURS),
    Study(
        SEARCHED,
        "ndcg@10",
        lambda result: _of_all_folds(result) and not _of_seeds(result),
        also={paper: tuple(name for name in names if name not in _SPARSE[1:]) for paper, names in _RIVALS.items()},
        ours=OURS,
    ),
    Study("first fold", "map", lambda result: result.paper != "ranksvm" and "fold 1" in result.note, first_fold=True),
    # Lee & Lin choose C for each measure by itself, and report the first fold.
    Study(
        "first fold, by NDCG",
        "mean_ndcg",
        lambda result: result.paper == "ranksvm" and "by NDCG" in result.note,
        first_fold=True,
    ),
    Study(
        "first fold, by pairs",
        "pairwise_accuracy",
        lambda result: result.paper == "ranksvm" and "by NDCG" not in result.note,
        first_fold=True,
    ),
)


@dataclass(frozen=True)
class Beside:
    """A printed figure, and ours: the mean and the standard deviation over folds, or None where we have none.

    `by_our_grid` is the mean with the settings chosen among the catalogue's grid, where that was run too.
    """

    printed: PublishedResult
    ours: float | None
    spread: float | None
    by_our_grid: float | None = None


def find_data(root: str | Path, names: Sequence[str] = DATA) -> dict[str, list[Fold]]:
    """The data sets that are in a folder, with their folds."""
    found = {}
    for name in names:
        for folder, prefix in LAYOUTS.get(name, ()):
            place = Path(root) / folder
            # Yahoo's two sets share a folder, and one of them may be there alone.
            if place.is_dir() and any(place.glob(f"{prefix}*")):
                found[name] = find_folds(place, prefix=prefix)
                break
    if _ONE_QUERY in names and (rcv1 := _rcv1(Path(root) / _ONE_QUERY)) is not None:
        found[_ONE_QUERY] = [rcv1]
    if not found:
        raise LinrankError(
            f"{root}: holds none of the papers' data. Put a download's folder in it, such as OHSUMED or MQ2008 with "
            "Fold1 … Fold5."
        )
    return found


def plans(
    data: str, folds: Sequence[Fold], papers: Sequence[str], contenders: Mapping[str, Contender]
) -> Iterator[tuple[Study, Plan]]:
    """The comparisons that the papers' tables of a data set ask for, with the methods there are."""
    printed = [result for paper in papers for result in published(paper, data) if data != _ONE_QUERY]
    for study in STUDIES:
        answered = [result for result in printed if study.runs(result)]
        wanted = dict.fromkeys(map(_contender_name, answered))
        if data != _ONE_QUERY:
            of_papers = papers if not study.papers_grids else dict.fromkeys(result.paper for result in printed)
            wanted |= dict.fromkeys(method for paper in of_papers for method in study.also.get(paper, ()))
        known = searched(contenders) if study.papers_grids else contenders
        chosen = [made for name in wanted if (made := _contender(name, known)) is not None]
        if study.several_seeds:
            chosen = seeded(known) if answered else []
        if not chosen:
            continue
        measures = ("pairwise_accuracy",) if data in _LISTS else MEASURES
        select = "pairwise_accuracy" if data in _LISTS else study.select
        protocol = Protocol(measures, select, "min-max" if data in _SCALED else "none", study.fewest)
        names = [contender.name for contender in chosen]
        baseline = next((name for name in ("ranksvm", "ranksvm-hinge") if name in names), names[0])
        used = tuple(folds[:1] if study.first_fold else folds)
        yield study, Plan(used, tuple(chosen), protocol, baseline, f"{data}, {study.name}")


def beside(paper: str, data: str, results: Mapping[str, Results]) -> list[Beside]:
    """Every printed figure of a paper on a data set, with ours from the study that answers it."""
    made = []
    for printed in published(paper, data):
        study = next((study for study in STUDIES if study.name in results and study.answers(printed)), None)
        ours = [] if study is None else _our_values(printed, results[study.name], study.names(printed))
        behind = results.get(study.ours or "") if study is not None else None
        catalogues = [] if behind is None else _our_values(printed, behind, [_contender_name(printed)])
        spread = float(np.std(ours, ddof=1)) if len(ours) > 1 else None
        made.append(Beside(printed, _mean(ours), spread, _mean(catalogues)))
    return made


def table_texts(paper: str, rows: Sequence[Beside]) -> Iterator[tuple[str, str]]:
    """For each table of a paper on a data set its heading, and Markdown: printed / by the paper's grid / by ours."""
    tables: dict[str, list[Beside]] = {}
    for row in rows:
        tables.setdefault(row.printed.table, []).append(row)
    for table, cells in tables.items():
        measures = list(dict.fromkeys(cell.printed.measure for cell in cells))
        lines = ["| | " + " | ".join(measures) + " |", "|---|" + "---:|" * len(measures)]
        by_row: dict[str, dict[str, Beside]] = {}
        for cell in cells:
            label = cell.printed.method + (f" ({cell.printed.note})" if cell.printed.note else "")
            by_row.setdefault(label, {})[cell.printed.measure] = cell
        for label, of_row in by_row.items():
            shown = [_cell(of_row[measure]) if measure in of_row else "" for measure in measures]
            lines.append(f"| {label} | " + " | ".join(shown) + " |")
        yield f"{paper}, {table}: {cells[0].printed.data}", "\n".join(lines)


def summary(papers: Sequence[str], found: Mapping[str, Mapping[str, Results]]) -> str:
    """All tables as one Markdown text: our leaderboards, then the papers', printed / ours, and how protocols differ."""
    parts = []
    for data, results in found.items():
        for name in (OURS, FEWEST, SEARCHED):
            if name in results:
                of_study = results[name]
                evaluated = of_study.plan.protocol.evaluated()
                shown = [measure for measure in _SHOWN if measure in evaluated]
                parts += [f"## {data}, {name}", markdown(of_study, shown or evaluated).rstrip()]
    for paper in papers:
        texts = [
            f"### {heading}\n\n{text}"
            for data, results in found.items()
            for heading, text in table_texts(paper, beside(paper, data, results))
        ]
        if paper == "minbatsrank":
            texts += [
                f"### minbatsrank, passes and seeds: {data}\n\n{seeds_table(results[SEEDED])}"
                for data, results in found.items()
                if SEEDED in results
            ]
        if texts:
            parts += [f"## {PAPERS[paper]}", PROTOCOL[paper], *texts]
    return "\n\n".join(parts) + "\n"


def _rcv1(folder: Path) -> Fold | None:
    """Reuters RCV1 as LIBSVM's page has it: rcv1_train.binary and rcv1_test.binary, unpacked, without qid."""
    options = {"one_query": True}
    parts = [Part(str(folder / f"rcv1_{part}.binary"), options=options) for part in ("train", "test")]
    return Fold("RCV1", parts[0], parts[1], parts[1]) if all(Path(part.path).exists() for part in parts) else None


def _cell(cell: Beside) -> str:
    printed = _shown(cell.printed.value)
    if cell.printed.spread is not None:
        printed += f" ± {cell.printed.spread:.3f}"
    if cell.ours is None:
        return f"{printed} / -"
    ours = f"{printed} / **{_shown(cell.ours)}**" + ("" if cell.spread is None else f" ± {cell.spread:.3f}")
    return ours if cell.by_our_grid is None else f"{ours} / {_shown(cell.by_our_grid)}"


def _shown(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1 and value != int(value) else f"{value:.6g}"


def _settings(result: PublishedResult) -> dict[str, float]:
    """What the note says the method was set to, by our names."""
    found = {name: float(value) for name, value in _SETTING.findall(result.note) if name not in ("qid", "C")}
    trees = _TREES.search(result.note)
    if trees:
        found["n_trees"] = float(trees[1].replace(",", ""))
    return {"l1" if name == "g" else name: value for name, value in found.items()}


def _contender_name(result: PublishedResult) -> str:
    """The method, with the settings that the note says."""
    method = _ALIASES.get(result.method, result.method)
    return " ".join([method, *(f"{name}={value:g}" for name, value in _settings(result).items())])


def _contender(name: str, contenders: Mapping[str, Contender]) -> Contender | None:
    method, *settings = name.split()
    if method not in contenders:
        return None
    base = contenders[method]
    if not settings:
        return base
    fixed: dict[str, Any] = {}
    for text in settings:
        setting, _, value = text.partition("=")
        fixed[setting] = int(value) if setting in ("rank", "n_trees") else float(value)
    return replace(base, name=name, settings={**base.settings, **_HELD.get(method, {}), **fixed}, grid={}, widens=())


def _our_values(printed: PublishedResult, results: Results, names: Sequence[str]) -> list[float]:
    """What we have for a printed figure, fold by fold; the mean of several where they answer it together."""
    of_names = [results.of(name) for name in names]
    if any(len(of_one) < len(results.plan.folds) for of_one in of_names):
        return []
    if printed.measure in ("rank", "n_queries"):
        rank = analysed(printed, results.plan, of_names[0][0])
        return [] if rank is None else [rank]
    values = [[_value(printed.measure, result) for result in on_fold] for on_fold in zip(*of_names, strict=True)]
    return [float(np.mean(of_fold)) for of_fold in values if None not in of_fold]  # type: ignore[arg-type]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _value(measure: str, result: JobResult) -> float | None:
    if measure in result.means:
        return result.means[measure]
    if measure == "sparsity":
        return result.n_features / result.n_features_of
    if measure in ("seconds", "n_features", "n_iter"):
        return float(getattr(result, measure))
    return result.chosen.get(measure)
