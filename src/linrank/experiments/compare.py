"""compare: rankers side by side on folds of the data, and what that says."""

from __future__ import annotations

import html
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from linrank.cached import cached_property
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError, MissingDependencyError, naming
from linrank.estimators.base import Ranker
from linrank.experiments import tables
from linrank.experiments.contenders import contenders_of
from linrank.experiments.final import FILE, Trained, described, stored_model, train_on_everything
from linrank.experiments.folds import Fold, Part, dealt_folds, find_folds
from linrank.experiments.protocol import Protocol
from linrank.experiments.results import Plan, Results, differences
from linrank.experiments.running import Watch
from linrank.experiments.standings import Standing
from linrank.measures import parse_measures
from linrank.measures.evaluation import check_measures
from linrank.model import LinearModel
from linrank.reading.read import read

DEFAULT_MEASURES = "ndcg@1,3,5,10 map"


def compare(
    data: Any,
    rankers: str | Sequence[str] | Mapping[str, Any],
    *,
    measures: str | Sequence[str] = DEFAULT_MEASURES,
    select: str = "ndcg@10",
    baseline: str | None = None,
    n_folds: int = 5,
    scaling: str = "auto",
    transform: str = "none",
    fewest: bool = False,
    random_state: int = 0,
    out: str | os.PathLike[str] | None = None,
    title: str | None = None,
    n_processes: int = 1,
    executor: Any = None,
    progress: Watch | None = None,
    **reading: Any,
) -> Comparison:
    """Compare rankers: settings are chosen on validation queries, and differences are tested over all test queries.

    Parameters
    ----------
    data : RankingDataset, DataFrame, path of a file, or of a folder with Fold1, Fold2, … or train, vali and test files
        Queries of one file or table are dealt at random into `n_folds` parts: each fold trains on all but two, chooses
        on one and tests on one.
    rankers : dict of name to ranker, or names of methods
        A ranker is an estimator with fit(X, y, qid=…) and predict(X), such as `RankSVM()`; a name of the catalogue,
        such as "listnet", which brings its grid; or either with a grid of settings to choose among, such as
        `(RankSVM(), {"C": [0.01, 1.0]})`. Names alone, as a list or by commas, are methods of the catalogue.
    measures : what is shown
    select : the measure that settings are chosen by, and that the leaderboard is sorted by
    baseline : what the others are tested against; ranksvm where it is compared, or else the first
    scaling : of the features, fitted on each training part: "auto" leaves features in comparable ranges alone and
        standardises others; "none", "standard", "min-max", "max-abs" or "query"
    transform : each feature through a monotone curve before that, fitted on each training part: "rank-gauss",
        "signed-log", "auto" (rank-gauss where many features have long tails) or "none"
    fewest : choose the fewest features within one standard error of the best, rather than the best
    random_state : of the folds, and of rankers that draw
    out : a folder to keep results in: a comparison that was stopped goes on from there. None: in memory
    title : what the report calls the data
    n_processes : processes at a time
    executor : a `DaskExecutor`, on whose workers the jobs run instead, one ranker on one fold each. They read the data
        by its path, and this process keeps the results, which are the same to the bit
    progress : called with (job, None) when a job starts and (job, its result or its error) when it ends
    **reading : how to read the data, as for `linrank.read`

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from linrank import RankSVM, compare, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> compare(data, {"svm": RankSVM(), "best feature": "single-feature"}, n_folds=3).recommended
    'svm'
    """
    protocol = Protocol.of(measures, select, scaling, fewest, random_state, transform)
    plan = planned(data, rankers, protocol, baseline=baseline, n_folds=n_folds, title=title, **reading)
    results = Results(out, plan)
    failures = results.run(n_processes, progress or _silent, executor)
    refuse_if_nothing_ran(results, failures)
    if failures:
        said = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        warnings.warn(f"rankers that failed are left out. {said}", UserWarning, stacklevel=2)
    return Comparison(results, failures)


def refuse_if_nothing_ran(results: Results, failures: Mapping[str, str]) -> None:
    """Raise what the first ranker failed of, where none ran on every fold: there is nothing to show."""
    if failures and not results.complete():
        first, reason = next(iter(failures.items()))
        raise LinrankError(f"no ranker ran on every fold; {first} failed: {reason}")


def planned(
    data: Any,
    rankers: str | Sequence[str] | Mapping[str, Any],
    protocol: Protocol,
    *,
    baseline: str | None = None,
    n_folds: int = 5,
    title: str | None = None,
    **reading: Any,
) -> Plan:
    """What `compare` is about to do, refused where it cannot work."""
    contenders = contenders_of(rankers)
    if not contenders:
        raise LinrankError("there is nothing to compare. Pass rankers by name, such as {'svm': RankSVM()}.")
    names = [contender.name for contender in contenders]
    if title is None:
        title = Path(data).resolve().name if isinstance(data, str | os.PathLike) else ""
    plan = Plan(
        tuple(_folds(data, n_folds, protocol.seed, reading)),
        contenders,
        protocol,
        baseline or ("ranksvm" if "ranksvm" in names else names[0]),
        title,
    )
    plan.check()
    if all(isinstance(contender.make(), Ranker) for contender in contenders):
        # One of the caller's own may know what to do with missing values; none of ours does.
        for part in {part.path: part for fold in plan.folds for part in fold.parts().values()}.values():
            part.refuse_missing()
    dealt = plan.folds[0].train
    if dealt.numbers:
        # One file, or data in memory, which is read already.
        with naming(dealt.path):
            check_measures(parse_measures(plan.protocol.evaluated()), dealt.undealt().load())
    return plan


def _folds(data: Any, n_folds: int, seed: int, reading: Mapping[str, Any]) -> list[Fold]:
    if isinstance(data, str | os.PathLike):
        return find_folds(Path(data), n_folds=n_folds, seed=seed, **reading)
    if isinstance(data, list | tuple) and all(isinstance(fold, Fold) for fold in data):
        return list(data)
    dataset = data if isinstance(data, RankingDataset) else read(data, **reading)
    return dealt_folds(Part("", data=dataset), n_folds=n_folds, seed=seed)


def _silent(*_: Any) -> None:
    """Tell nobody."""


class Comparison:
    """What `compare` returns: the leaderboard, the ranker to use, and the model that it is.

    Attributes
    ----------
    results : Results
        Every ranker on every fold.
    failures : dict of str to str
        What failed, and why.
    """

    def __init__(self, results: Results, failures: Mapping[str, str] | None = None) -> None:
        self.results = results
        self.failures = dict(failures or {})

    @classmethod
    def open(cls, folder: str | os.PathLike[str], rankers: Mapping[str, Any] | None = None) -> Comparison:
        """Read a results folder. Nothing in it is run; rankers that were compared as objects are passed again to train.

        Parameters
        ----------
        folder : what `out` was
        rankers : the estimators that the folder can only name, by their names
        """
        return cls(Results.open(folder, rankers))

    @property
    def leaderboard(self) -> list[Standing]:
        """One line a ranker, the best first; worked out once."""
        return self.results.standings()

    @property
    def recommended(self) -> str:
        """The ranker with the fewest features among those within one standard error of the best."""
        return self.results.recommended()

    @property
    def recommended_linear(self) -> str | None:
        """The recommended ranker, or the best linear one by the same rule where that is not linear."""
        return self.results.recommended_linear()

    def trained(self, ranker: str | None = None) -> Trained:
        """A ranker, the recommended one unless named, trained on all queries with the settings the folds agree on.

        Those are the settings with the best mean over the folds' validation parts.
        """
        name = ranker or self.recommended
        if name not in self.results.complete():
            raise LinrankError(f"{name!r} was not compared; there are {', '.join(self.results.complete())}.")
        return train_on_everything(self.results, name)

    def recommended_model(self) -> LinearModel:
        """The recommended linear ranker as a model, trained on all queries; trained once."""
        model = self._model
        if model is None:
            raise LinrankError(
                "none of the rankers is a weighted sum of features; see trained() for the ranker itself."
            )
        return model

    @cached_property
    def _model(self) -> LinearModel | None:
        name = self.recommended_linear
        return None if name is None else stored_model(self.results) or self.trained(name).model

    def described(self) -> str:
        """The recommended ranker in a few words: its name, and how many features its model has, or which one."""
        model = self._model if self.recommended == self.recommended_linear else None
        return described(self.recommended, model)

    def write(self) -> None:
        """Write the leaderboard in every form and the recommended model into the results folder."""
        for name, text in {
            "leaderboard.md": self.to_markdown(),
            "leaderboard.tex": self.to_latex(),
            "leaderboard.csv": self.to_csv(),
            "results.json": self.to_json(),
        }.items():
            self.results.write(name, text)
        if self.recommended_linear is not None:
            self.recommended_model().save(self.results.place(FILE))

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the page, report.html in the results folder unless a path is given, and return where it is."""
        from linrank.experiments.comparison_page import comparison_content
        from linrank.experiments.report import write_page

        place = self.results.place("report.html") if path is None else Path(path)
        write_page(place, comparison_content(self))
        return place

    def replay(
        self, data: Any = None, *, n_processes: int = 1, executor: Any = None, progress: Watch | None = None
    ) -> list[str]:
        """Run everything again and return what is not the same to the bit, as `fold/ranker: what`; what failed as well.

        Parameters
        ----------
        data : the data, where it has moved or was passed in memory
        """
        before, plan = self.results, self.results.plan
        if not before.complete():
            raise LinrankError(f"{before.folder}: holds no ranker that was run on every fold. Let it finish first.")
        if data is not None:
            dealt = plan.folds[0].train
            n_folds = dealt.of if dealt.numbers else len(plan.folds)
            plan = replace(plan, folds=tuple(_folds(data, n_folds, dealt.seed, dealt.options)))
        plan.check()
        after = Results(None, plan)
        failures = after.run(n_processes, progress or _silent, executor)
        unequal = [f"{name}: {reason}" for name, reason in failures.items()]
        for name in before.complete():
            for old, new in zip(before.of(name), after.of(name), strict=False):
                unequal += [f"{old.fold}/{name}: {field}" for field in differences(old, new)]
        return unequal

    def to_markdown(self) -> str:
        """The leaderboard as a Markdown table."""
        return tables.markdown(self.results)

    def to_latex(self) -> str:
        """The leaderboard as a LaTeX tabular for booktabs."""
        return tables.latex(self.results)

    def to_csv(self) -> str:
        """The leaderboard with every number there is."""
        return tables.csv_text(self.results)

    def to_json(self) -> str:
        """The leaderboard, the plan, and every fold's choices and values."""
        return json.dumps(tables.record(self.results), indent=1, ensure_ascii=False) + "\n"

    def to_frame(self) -> Any:
        """The leaderboard as a pandas DataFrame, one row a ranker."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("pandas", "pandas", "to_frame") from None
        head, *rows = tables.rows_of_numbers(self.results)
        # (One method has no p: None alone would make a column of objects.)
        numbers = {name: float for name in head if name.endswith(" p")}
        return pd.DataFrame(rows, columns=head).astype(numbers).set_index("method")

    def __repr__(self) -> str:
        plan = self.results.plan
        return (
            f"Comparison({len(self.results.complete())} rankers, {len(plan.folds)} folds, "
            f"recommended: {self.recommended!r})"
        )

    def _repr_html_(self) -> str:
        measures = self.results.plan.protocol.evaluated()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ("ranker", *measures, "features", "seconds"))
        rows = []
        for standing in self.leaderboard:
            cells = [
                f"{standing.means[m]:.4f}{tables.spread_of(standing, m)}{tables.sign_of(standing, m)}" for m in measures
            ]
            cells += [f"{standing.n_features:.3g} of {standing.n_features_of}", f"{standing.seconds:.3g}"]
            name = html.escape(standing.marked)
            shown = f"<b>{name}</b>" if standing.method == self.recommended else name
            rows.append(f"<tr><td>{shown}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
        said = [tables.footnote(self.results), *tables.remark_lines(self.leaderboard)]
        below = "".join(f"<p>{html.escape(line)}</p>" for line in said)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{below}"
