"""linrank compare: methods side by side, folds and all."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrank.cli.cluster import add_dask_option, executor_at
from linrank.cli.console import console, counted, table, verb_parser
from linrank.cli.data_arguments import add_data_options, reading_options
from linrank.cli.methods import add_scaling_option, add_transform_option, check_transform
from linrank.cli.outputs import STANDARD, check_results_folder
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS, contender_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from linrank.executors.dask import DaskExecutor
    from linrank.experiments.compare import Comparison
    from linrank.experiments.comparison import Job, JobResult
    from linrank.experiments.results import Plan, Results
    from linrank.experiments.running import Watch

_DEFAULT_METHODS = "single-feature,ranksvm,ranksvm-l1,minbatsrank,ridge,listnet"
_FORMATS = ("terminal", "markdown", "latex", "csv", "json")


def parser() -> ArgumentParser:
    made = verb_parser(
        "compare",
        "Compare rankers as the papers do: settings are chosen on each fold's validation part, the test part is seen\n"
        "once, and differences are tested over all test queries. Results are kept one by one: a comparison that was\n"
        "stopped goes on where it was, and methods can be added later.",
        "  linrank compare MQ2008 --methods all                        # Fold1 … Fold5 with train, vali and test\n"
        "  linrank compare judged.parquet --methods ranksvm,ranksvm-l1,lightgbm --label grade --qid query\n"
        "  linrank compare MQ2008 --measures 'ndcg(letor)@10' map --select map --baseline listnet --print latex\n"
        "  linrank compare MQ2008 --methods ranksvm --grid ranksvm.C=0.01,0.1,1\n"
        "  linrank compare MSLR --dask tcp://10.0.0.1:8786             # each method and fold a job on a cluster\n"
        "  linrank compare --replay MQ2008-comparison                  # again, and to the bit",
    )
    made.add_argument("data", nargs="?", help="a folder of folds, a folder of train, vali and test, or one file")
    made.add_argument(
        "--methods",
        default=_DEFAULT_METHODS,
        metavar="NAMES",
        help=f"by commas; all; or linear, all of that kind ({_DEFAULT_METHODS})",
    )
    made.add_argument(
        "--measures", nargs="+", metavar="MEASURE", default=["ndcg@1,3,5,10 map"], help="(ndcg@1,3,5,10 map)"
    )
    made.add_argument("--select", default="ndcg@10", metavar="MEASURE", help="what settings are chosen by (ndcg@10)")
    made.add_argument("--baseline", metavar="NAME", help="what the others are tested against (ranksvm, or the first)")
    made.add_argument("--out", metavar="FOLDER", help="where results are kept (the data's name with -comparison)")
    made.add_argument("--folds", type=int, default=5, metavar="N", help="of one file, dealt by query (5)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of folds and of methods that draw (0)")
    add_scaling_option(made)
    add_transform_option(made)
    made.add_argument(
        "--fewest", action="store_true", help="choose the fewest features within one standard error of the best"
    )
    made.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="METHOD.NAME=V,V,…",
        help="choose a setting among these values alone; may be given several times",
    )
    made.add_argument("--jobs", type=int, metavar="N", help="processes at a time; seconds are cleanest with 1 (all)")
    add_dask_option(made, "run each method on each fold as a job on")
    made.add_argument("--print", choices=_FORMATS, default="terminal", help="in which form (terminal)")
    made.add_argument("--no-report", action="store_true", help="do not write the page report.html")
    made.add_argument("--replay", metavar="RESULTS", help="run the comparison of a results folder again and compare")
    add_data_options(made)
    width = max(map(len, METHODS))
    says = "\n".join(f"  {name:<{width}}  {method.says}" for name, method in METHODS.items())
    made.epilog = f"{made.epilog}\n\nmethods:\n{says}"
    made.checks.append(_what_is_missing)
    return made


def _what_is_missing(arguments: Namespace) -> str | None:
    if arguments.data is None and not arguments.replay:
        return "name a folder of folds or a file to compare on, or --replay RESULTS"
    return None


def run(arguments: Namespace) -> None:
    from linrank.experiments.compare import Comparison, refuse_if_nothing_ran
    from linrank.experiments.results import Results

    if arguments.dask is not None and arguments.jobs is not None:
        raise LinrankError("--jobs counts processes here, and with --dask workers do the jobs. Leave one of them out.")
    if arguments.replay:
        with executor_at(arguments.dask) as executor:
            replay(arguments.replay, processes(arguments.jobs), arguments.data, executor)
        return
    if arguments.data == STANDARD:
        raise LinrankError("a comparison reads its data many times, and - can be read once. Save it to a file first.")
    folder = Path(arguments.out or f"{Path(arguments.data).resolve().name.split('.')[0]}-comparison")
    check_results_folder(folder, arguments.data)
    plan = _plan(arguments)
    results = Results(folder, plan)
    with executor_at(arguments.dask) as executor:
        failures = carry_out(results, processes(arguments.jobs), executor)
    refuse_if_nothing_ran(results, failures)
    comparison = Comparison(results, failures)
    comparison.write()
    page = None if arguments.no_report else comparison.report()
    show(comparison, arguments.print)
    if arguments.print == "terminal":
        show_answer(comparison, page)
    if failures:
        first = next(iter(failures.items()))
        raise LinrankError(f"{counted(len(failures), 'job')} failed, such as {first[0]}: {first[1]}")


def carry_out(results: Results, n_processes: int, executor: DaskExecutor | None = None) -> dict[str, str]:
    """Run what is not done yet, with a live display on a terminal and a line a job elsewhere."""
    jobs = results.plan.jobs()
    if results.n_done:
        sys.stderr.write(f"{results.n_done} of {len(jobs)} are done already and are kept\n")
    try:
        with _display(results.plan.protocol.select, len(jobs), results.n_done) as watch:
            return results.run(n_processes, watch, executor)
    except KeyboardInterrupt:
        sys.stderr.write(f"{results.n_done} of {len(jobs)} are done and kept; the same command goes on from there\n")
        raise


def show(comparison: Comparison, form: str = "terminal") -> None:
    """Print the leaderboard."""
    from linrank.experiments import tables

    texts = {"markdown": comparison.to_markdown, "latex": comparison.to_latex, "csv": comparison.to_csv}
    if form != "terminal":
        sys.stdout.write(texts.get(form, comparison.to_json)())
        return
    results = comparison.results
    measures = results.plan.protocol.evaluated()
    shown = table(results.plan.title, "method", *measures, "features", "seconds")
    for standing in comparison.leaderboard:
        cells = (
            f"{standing.means[m]:.4f}{tables.spread_of(standing, m)}{tables.sign_of(standing, m) or ' '}"
            for m in measures
        )
        of = f"{standing.n_features:.3g} of {standing.n_features_of}"
        shown.add_row(standing.marked, *cells, of, f"{standing.seconds:.3g}")
    console().print(shown)
    console().print(tables.footnote(results), style="dim")
    for line in tables.remark_lines(comparison.leaderboard):
        console().print(line, markup=False)


def show_answer(comparison: Comparison, page: Path | None) -> None:
    """Print what to use, where it is, and what to do with it next."""
    from linrank.experiments.final import FILE, described

    say = console().print
    say(
        f"\nRecommended: {comparison.recommended}, the fewest features within one standard error of the best.",
        markup=False,
    )
    folder, linear = comparison.results.folder, comparison.recommended_linear
    if linear is None:
        say("None of these rankers is linear, so there is no model file. In Python, Comparison.trained() trains it.")
    else:
        model = comparison.recommended_model()
        if linear != comparison.recommended:
            say(f"The best linear ranker: {linear}. A model file holds linear rankers only.")
        parts = (
            "the validation part" if len(comparison.results.plan.folds) == 1 else "average over the validation parts"
        )
        settings = ", ".join(f"{name} = {_shown(value)}" for name, value in model.training["chosen"].items())
        say(
            f"{folder}/{FILE} is {described(linear, model)}, trained on all {model.training['queries']:,} queries"
            + (f" with {settings}, the best on {parts}." if settings else "."),
            markup=False,
        )
        say(f"\nNext:  linrank show {folder}/{FILE}\n       linrank predict {folder}/{FILE} DATA", markup=False)
    say(f"\nEverything is in {folder}: tables, results{'' if page is None else f', {page.name}'}.", markup=False)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def replay(folder: str, n_processes: int, data: str | None = None, executor: DaskExecutor | None = None) -> None:
    """Run the comparison of a results folder again, perhaps on `data` that has moved; say what is not the same."""
    from linrank.experiments.compare import Comparison
    from linrank.experiments.results import versions

    before = Comparison.open(folder)
    results = before.results
    changed = [
        f"{name} {results.versions.get(name)!r} → {now}"
        for name, now in versions().items()
        if results.versions.get(name) != now
    ]
    if changed:
        sys.stderr.write(f"linrank compare: other versions than before: {', '.join(changed)}\n")
    if data is None:
        say_what_is_read(results)
    with _display(results.plan.protocol.select, len(results.plan.jobs())) as watch:
        unequal = before.replay(data, n_processes=n_processes, executor=executor, progress=watch)
    if unequal:
        raise LinrankError(f"not the same: {'; '.join(unequal[:5])} ({len(unequal)} in all).")
    console().print(f"All {len(results.complete()) * len(results.plan.folds)} results are the same to the bit.")


def say_what_is_read(results: Results) -> None:
    """Name the data that a results folder tells of, since it may come from somebody else."""
    paths = dict.fromkeys(part.path for fold in results.plan.folds for part in fold.parts().values() if part.path)
    if paths:
        first, *rest = paths
        more = f" and {counted(len(rest), 'file')} more" if rest else ""
        sys.stderr.write(f"reading the data that {results.folder} names: {first}{more}\n")


def _plan(arguments: Namespace) -> Plan:
    from linrank.experiments.compare import planned
    from linrank.experiments.protocol import Protocol

    check_transform(arguments)
    names = contender_names(arguments.methods)
    if arguments.methods.strip() == _DEFAULT_METHODS:
        names = [name for name in names if METHODS[name].is_installed]
    grids: dict[str, dict[str, list[Any]]] = {name: {} for name in names}
    for name, setting, values in map(_grid, arguments.grid):
        if name not in grids:
            raise LinrankError(f"--grid {name}.{setting}: {name} is not among the methods, {', '.join(names)}.")
        grids[name][setting] = values
    return planned(
        arguments.data,
        {name: (name, grid) for name, grid in grids.items()},
        Protocol.of(
            arguments.measures,
            arguments.select,
            arguments.scaling,
            arguments.fewest,
            arguments.seed,
            arguments.transform,
        ),
        baseline=arguments.baseline,
        n_folds=arguments.folds,
        **reading_options(arguments),
    )


def _grid(text: str) -> tuple[str, str, list[Any]]:
    """METHOD.NAME=V,V,… with numbers, true and false as such."""
    name, equals, values = text.partition("=")
    method, dot, setting = name.rpartition(".")
    if not (equals and dot and values):
        raise LinrankError(f"--grid {text}: write METHOD.NAME=V,V,… such as ranksvm.C=0.1,1,10.")
    return method, setting, [_value(word) for word in values.split(",")]


def _value(word: str) -> Any:
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def processes(asked: int | None) -> int:
    from linrank.threads import number_of_threads

    return number_of_threads(asked)


@contextmanager
def _display(select: str, n_jobs: int, n_done: int = 0) -> Iterator[Watch]:
    """Yield what is told of each job that starts or ends: a live display on a terminal, a line a job elsewhere."""
    ended: list[JobResult | Exception] = []
    running: list[str] = []

    def outcome_of(job: Job, outcome: JobResult | Exception) -> str:
        if isinstance(outcome, Exception):
            return f"{job.name}: failed: {outcome}"
        return f"{job.name}: {select} {outcome.means[select]:.4f}, {outcome.seconds_in_all:.1f} s"

    if not sys.stderr.isatty():

        def tell(job: Job, outcome: JobResult | Exception | None) -> None:
            if outcome is not None:
                ended.append(outcome)
                sys.stderr.write(f"[{n_done + len(ended)}/{n_jobs}] {outcome_of(job, outcome)}\n")

        yield tell
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    bar = Progress(TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    task = bar.add_task("", total=n_jobs, completed=n_done)

    def picture() -> Group:
        return Group(bar, Text("\n".join(f"  running   {name}" for name in running)))

    with Live(picture(), console=Console(stderr=True), transient=True, refresh_per_second=4) as live:

        def draw(job: Job, outcome: JobResult | Exception | None) -> None:
            if outcome is None:
                running.append(job.name)
            else:
                running.remove(job.name)
                ended.append(outcome)
                live.console.print(outcome_of(job, outcome), markup=False)
            bar.update(task, completed=n_done + len(ended))
            live.update(picture())

        yield draw
