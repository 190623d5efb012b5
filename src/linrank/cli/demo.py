"""linrank demo: sample data, and the main job on it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from linrank.cli.console import console, verb_parser


def parser() -> ArgumentParser:
    made = verb_parser(
        "demo",
        "Make LETOR-like sample data, describe it, and measure the ranking by its best single feature. Everything is\n"
        "written to a folder, so that the other verbs can be tried on it.",
        "  linrank demo\n  linrank demo --out /tmp/sample --queries 1000",
    )
    made.add_argument("--out", default="demo", metavar="FOLDER", help="where to write (demo)")
    made.add_argument("--queries", type=int, default=300, metavar="N", help="number of queries (300)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed gives the same data (0)")
    return made


def run(arguments: Namespace) -> None:
    from linrank.cli.evaluate import DEFAULT_MEASURES, show_evaluation
    from linrank.cli.info import show_summary
    from linrank.dataset.storage import save_dataset
    from linrank.dataset.synthetic import make_ranking
    from linrank.dataset.text_column import TextColumn
    from linrank.measures import NDCG, evaluate, parse_measures
    from linrank.reading.read import read
    from linrank.reading.scores import write_scores
    from linrank.reading.write_svmlight import write_svmlight

    out = console()
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    made, _ = make_ranking(
        arguments.queries, (10, 60), n_features=46, n_informative=12, noise=0.7, random_state=arguments.seed
    )
    made = replace(made, comments=TextColumn.from_texts(f"docid = D{row + 1}" for row in range(made.n_documents)))
    for name, part in zip(("train", "vali", "test"), made.split(0.6, 0.2, 0.2), strict=True):
        write_svmlight(folder / f"{name}.txt", part)
    train, test = read(folder / "train.txt"), read(folder / "test.txt")
    save_dataset(train, folder / "train.linrank")
    show_summary(str(folder / "train.txt"), train.describe())

    ndcg = NDCG @ 10
    quality = [ndcg.mean(train.features[:, j], train) for j in range(train.n_features)]
    best = max(range(train.n_features), key=quality.__getitem__)
    scores = test.features[:, best]
    scores_file = folder / f"feature-{best + 1}.scores"
    write_scores(scores_file, scores)
    out.print(
        f"\n[bold]Feature {best + 1}[/bold] ranks the training queries best of all {train.n_features}, "
        f"with {ndcg} = {quality[best]:.4f}. On the test queries:"
    )
    evaluation = evaluate(scores, test, parse_measures(DEFAULT_MEASURES))
    show_evaluation(evaluation, test)
    out.print(f"\nTry: linrank evaluate {folder}/test.txt {scores_file} --measures 'ndcg(letor)@10' meanndcg")
