"""linrank demo: sample data, and the main job on it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from linrank.cli.compare import carry_out, show, show_answer
from linrank.cli.console import console, verb_parser
from linrank.cli.outputs import MODEL, SCORES, check_files, check_results_folder
from linrank.errors import LinrankError

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.experiments.compare import Comparison

_METHODS = ("single-feature", "ranksvm", "ranksvm-l1", "minbatsrank", "ridge", "listnet")
# It chooses by folds where there is no validation part, as on all queries at the end: few are enough to see it.
_RANKERS = {**{name: name for name in _METHODS}, "best": ("best", {"cv": [3]})}


def parser() -> ArgumentParser:
    made = verb_parser(
        "demo",
        "Make LETOR-like sample data and describe it; train rankers, each with its settings chosen on the validation\n"
        "queries; compare them on the test queries; show quality against number of features; and write a page with\n"
        "all of it. Everything is written to a folder, so that the other verbs can be tried on it.",
        "  linrank demo\n  linrank demo --out /tmp/sample --queries 1000",
    )
    made.add_argument("--out", default="demo", metavar="FOLDER", help="where to write (demo)")
    made.add_argument("--queries", type=int, default=300, metavar="N", help="number of queries, at least 10 (300)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed gives the same data (0)")
    return made


def run(arguments: Namespace) -> None:
    from linrank.cli.info import show_summary
    from linrank.reading.read import read

    out = console()
    folder = Path(arguments.out)
    check_results_folder(folder / "comparison", folder)
    folder.mkdir(parents=True, exist_ok=True)
    check_files([(folder / "model.json", MODEL), (folder / "ranksvm.scores", SCORES)])
    _make_data(folder, max(10, arguments.queries), arguments.seed)
    train, test = (read(folder / f"{part}.txt") for part in ("train", "test"))
    show_summary(str(folder / "train.txt"), train.describe())
    out.print("\nTraining rankers, settings chosen by NDCG@10 on the validation queries")
    comparison = _compare(folder)
    show(comparison)
    comparison.write()
    _write_model(comparison, train, test, folder)
    _show_curve(comparison)
    page = comparison.report()
    show_answer(comparison, page)
    out.print(
        f"\nTry:  linrank evaluate {folder}/test.txt {folder}/ranksvm.scores --measures 'ndcg(letor)@10' meanndcg\n"
        f"      linrank tune {folder}/train.txt {folder}/tuned.json --cv 5 --one-se\n"
        f"      linrank explain {folder}/model.json {folder}/test.txt --qid {test.queries.ids[0]}\n"
        f"      linrank predict {folder}/model.json {folder}/test.txt {folder}/run.txt --trec"
    )


def _compare(folder: Path) -> Comparison:
    """Every ranker on the one fold there is, in this process: the sample is small."""
    from linrank.experiments.compare import Comparison, planned
    from linrank.experiments.protocol import Protocol
    from linrank.experiments.results import Results

    results = Results(folder / "comparison", planned(folder, _RANKERS, Protocol(), title="the sample data"))
    return Comparison(results, carry_out(results, 1))


def _write_model(comparison: Comparison, train: RankingDataset, test: RankingDataset, folder: Path) -> None:
    """Save RankSVM with the settings that were chosen, and its scores."""
    import numpy as np

    from linrank.model import LinearModel
    from linrank.reading.scores import write_scores

    (result,) = comparison.results.of("ranksvm")
    model = LinearModel(
        np.asarray(result.weights),
        train.names,
        method="ranksvm",
        parameters=result.chosen,
        data_fingerprint=train.fingerprint(),
    )
    model.save(folder / "model.json")
    write_scores(folder / "ranksvm.scores", model.predict(test.features))


def _make_data(folder: Path, n_queries: int, seed: int) -> None:
    """Write the data beside the folder's files, and let it take its place only where no other data is."""
    with TemporaryDirectory(dir=folder) as place:
        made = _write_data(Path(place), n_queries, seed)
        for file in made:
            there = folder / file.name
            if there.exists() and there.read_bytes() != file.read_bytes():
                raise LinrankError(
                    f"{there}: is there already, and is other data than this sample. "
                    "Name another folder with --out, so that nothing is lost."
                )
        for file in made:
            if not (folder / file.name).exists():
                file.rename(folder / file.name)


def _write_data(folder: Path, n_queries: int, seed: int) -> list[Path]:
    from linrank.dataset.storage import save_dataset
    from linrank.dataset.synthetic import make_ranking
    from linrank.dataset.text_column import TextColumn
    from linrank.reading.write_svmlight import write_svmlight

    made, _ = make_ranking(n_queries, (10, 60), n_features=46, n_informative=12, noise=0.7, random_state=seed)
    made = replace(made, comments=TextColumn.from_texts(f"docid = D{row + 1}" for row in range(made.n_documents)))
    for name, part in zip(("train", "vali", "test"), made.split(0.6, 0.2, 0.2), strict=True):
        write_svmlight(folder / f"{name}.txt", part)
        save_dataset(part, folder / f"{name}.linrank")
    return sorted(folder.iterdir())


def _show_curve(comparison: Comparison) -> None:
    """Quality against number of features, as the page has it."""
    from linrank.experiments.comparison_curve import compared_curve
    from linrank.experiments.curve import text_curve

    curve = compared_curve(comparison)
    console().print(
        "\nQuality against number of features: RankSVM on those that an L1 penalty leaves, on the test queries "
        f"(o: {curve.chosen.n_features} features)"
    )
    console().print(text_curve(curve.path, curve.chosen), markup=False)
