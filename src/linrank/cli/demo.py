"""linrank demo: sample data, and the main job on it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from linrank.cli.console import console, table, verb_parser

if TYPE_CHECKING:
    from linrank.arrays import Vector
    from linrank.dataset.ranking_dataset import RankingDataset

_MEASURES = "ndcg@1,3,5,10 map"


def parser() -> ArgumentParser:
    made = verb_parser(
        "demo",
        "Make LETOR-like sample data, describe it, choose C for RankSVM on the validation queries, train it exactly\n"
        "on all pairs, compare it on the test queries with the best single feature, and show quality against number\n"
        "of features. Everything is written to a folder, so that the other verbs can be tried on it.",
        "  linrank demo\n  linrank demo --out /tmp/sample --queries 1000",
    )
    made.add_argument("--out", default="demo", metavar="FOLDER", help="where to write (demo)")
    made.add_argument("--queries", type=int, default=300, metavar="N", help="number of queries, at least 10 (300)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed gives the same data (0)")
    return made


def run(arguments: Namespace) -> None:
    from linrank.cli.info import show_summary
    from linrank.estimators.rank_svm_cv import RankSVMCV
    from linrank.measures import NDCG
    from linrank.reading.read import read
    from linrank.reading.scores import write_scores

    out = console()
    folder = Path(arguments.out)
    _make_data(folder, max(10, arguments.queries), arguments.seed)
    train, vali, test = (read(folder / f"{part}.txt") for part in ("train", "vali", "test"))
    show_summary(str(folder / "train.txt"), train.describe())

    ndcg = NDCG @ 10
    quality = [ndcg.mean(train.features[:, j], train) for j in range(train.n_features)]
    best = max(range(train.n_features), key=quality.__getitem__)
    ranker = RankSVMCV().fit(
        train.features,
        train.labels,
        qid=train.qid,
        eval_set=[(vali.features, vali.labels)],
        eval_qid=[vali.qid],
    )
    ranker.to_model(feature_names=train.names, data_fingerprint=train.fingerprint()).save(folder / "model.json")
    out.print(f"\nRankSVM, C = {ranker.C_:g} of {len(ranker.Cs_)} tried, by NDCG@10 on the validation queries")
    for line in ranker.history_:
        out.print(f"  {line}")
    scores = {f"feature {best + 1} alone": test.features[:, best], "RankSVM": ranker.predict(test.features)}
    write_scores(folder / "best-feature.scores", scores[f"feature {best + 1} alone"])
    write_scores(folder / "ranksvm.scores", scores["RankSVM"])
    _show_leaderboard(scores, test)
    _show_path(train, vali, folder / "features.html")
    out.print(
        f"\nTry:  linrank evaluate {folder}/test.txt {folder}/ranksvm.scores --measures 'ndcg(letor)@10' meanndcg\n"
        f"      linrank tune {folder}/train.txt {folder}/tuned.json --cv 5 --one-se\n"
        f"      linrank predict {folder}/model.json {folder}/test.txt {folder}/run.txt --trec"
    )


def _make_data(folder: Path, n_queries: int, seed: int) -> None:
    from linrank.dataset.storage import save_dataset
    from linrank.dataset.synthetic import make_ranking
    from linrank.dataset.text_column import TextColumn
    from linrank.reading.write_svmlight import write_svmlight

    folder.mkdir(parents=True, exist_ok=True)
    made, _ = make_ranking(n_queries, (10, 60), n_features=46, n_informative=12, noise=0.7, random_state=seed)
    made = replace(made, comments=TextColumn.from_texts(f"docid = D{row + 1}" for row in range(made.n_documents)))
    for name, part in zip(("train", "vali", "test"), made.split(0.6, 0.2, 0.2), strict=True):
        write_svmlight(folder / f"{name}.txt", part)
        save_dataset(part, folder / f"{name}.linrank")


def _show_path(train: RankingDataset, vali: RankingDataset, page: Path) -> None:
    """Quality against number of features, on the validation queries."""
    from linrank.experiments.curve import save_curve, text_curve
    from linrank.experiments.feature_path import feature_path

    path = feature_path(train, None, eval_set=(vali.features, vali.labels), eval_qid=vali.qid)
    chosen = path.select_features(one_se=True)
    console().print(
        f"\nHow many features? {chosen.n_features} of {train.n_features} are within one standard error of the best"
    )
    console().print(text_curve(path, chosen), markup=False)
    save_curve(path, chosen, page)
    console().print(f"The curve, its table and the weights: {page}")


def _show_leaderboard(scores: dict[str, Vector], test: RankingDataset) -> None:
    """The measures of each ranker on the test queries, and whether they differ by more than chance."""
    from linrank.measures import NDCG, evaluate, paired_t_test, parse_measures

    measures = parse_measures(_MEASURES)
    evaluations = {name: evaluate(of_ranker, test, measures) for name, of_ranker in scores.items()}
    board = table("On the test queries", "ranker", *map(str, measures), "95 % interval of ndcg@10")
    ndcg = NDCG @ 10
    for name, evaluation in evaluations.items():
        low, high = evaluation.interval(ndcg)
        means = (f"{evaluation.mean[measure]:.4f}" for measure in measures)
        board.add_row(name, *means, f"{low:.4f} to {high:.4f}")
    console().print(board)
    plain, trained = (evaluation.per_query[ndcg] for evaluation in evaluations.values())
    test_ = paired_t_test(trained, plain)
    console().print(f"RankSVM gains {test_.difference:+.4f} NDCG@10 a query; paired t-test p = {test_.p_value:.1e}")
