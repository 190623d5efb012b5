"""linrank compare: methods side by side, folds and all."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrank.cli.console import console, counted, table, verb_parser
from linrank.cli.data_arguments import add_data_options, reading_options
from linrank.cli.methods import SCALINGS
from linrank.cli.outputs import STANDARD, check_results_folder
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS, contender_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from linrank.experiments.comparison import Contender, Job, JobResult
    from linrank.experiments.results import Plan, Results

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
    made.add_argument("--scaling", choices=SCALINGS, default="none", help="of the features, fitted on training (none)")
    made.add_argument(
        "--fewest", action="store_true", help="choose the fewest features within one standard error of the best"
    )
    made.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="METHOD.NAME=V,V,…",
        help="choose a setting among these values instead; may be given several times",
    )
    made.add_argument("--jobs", type=int, metavar="N", help="processes at a time; seconds are cleanest with 1 (all)")
    made.add_argument("--print", choices=_FORMATS, default="terminal", help="in which form (terminal)")
    made.add_argument("--no-report", action="store_true", help="do not write the page report.html")
    made.add_argument("--replay", metavar="RESULTS", help="run the comparison of a results folder again and compare")
    add_data_options(made)
    width = max(map(len, METHODS))
    says = "\n".join(f"  {name:<{width}}  {method.formula}" for name, method in METHODS.items())
    made.epilog = f"{made.epilog}\n\nmethods:\n{says}"
    return made


def run(arguments: Namespace) -> None:
    from linrank.experiments.results import Results

    if arguments.replay:
        replay(arguments.replay, processes(arguments.jobs), arguments.data)
        return
    if arguments.data is None:
        raise LinrankError("name a folder of folds or a file to compare on, or --replay RESULTS.")
    if arguments.data == STANDARD:
        raise LinrankError("a comparison reads its data many times, and - can be read once. Save it to a file first.")
    folder = Path(arguments.out or f"{Path(arguments.data).resolve().name.split('.')[0]}-comparison")
    check_results_folder(folder, arguments.data)
    plan = _plan(arguments)
    plan.check()
    results = Results(folder, plan)
    failures = carry_out(results, processes(arguments.jobs))
    write_tables(results)
    if not arguments.no_report:
        from linrank.experiments.comparison_page import write_comparison_page

        write_comparison_page(results)
    show(results, arguments.print)
    if arguments.print == "terminal":
        console().print(
            f"\nEverything is in {folder}: tables, results{'' if arguments.no_report else ', report.html'}."
        )
    if failures:
        first = next(iter(failures.items()))
        raise LinrankError(f"{counted(len(failures), 'job')} failed, such as {first[0]}: {first[1]}")


def contender(name: str, **settings: Any) -> Contender:
    """A method of the catalogue as a contender, with more fixed settings."""
    from linrank.experiments.comparison import Contender

    method = METHODS[name]
    fixed = {**method.settings, **settings}
    grid = {setting: values for setting, values in method.grid.items() if setting not in settings}
    return Contender(name, method.estimator, fixed, grid, method.formula)


def carry_out(results: Results, n_processes: int) -> dict[str, str]:
    """Run what is not done yet, with a live display on a terminal and a line a job elsewhere."""
    jobs = results.plan.jobs()
    if results.n_done:
        sys.stderr.write(f"{results.n_done} of {len(jobs)} are done already and are kept\n")
    try:
        with _display(results, len(jobs)) as watch:
            return results.run(n_processes, watch)
    except KeyboardInterrupt:
        sys.stderr.write(f"{results.n_done} of {len(jobs)} are done and kept; the same command goes on from there\n")
        raise


def write_tables(results: Results) -> None:
    """Write the leaderboard in every form."""
    import json

    from linrank.experiments import tables
    from linrank.files import replacing

    texts = {
        "leaderboard.md": tables.markdown(results),
        "leaderboard.tex": tables.latex(results),
        "leaderboard.csv": tables.csv_text(results),
        "results.json": json.dumps(tables.record(results), indent=1, ensure_ascii=False) + "\n",
    }
    for name, text in texts.items():
        with replacing(results.folder / name) as file:
            file.write(text)


def show(results: Results, form: str = "terminal") -> None:
    """Print the leaderboard."""
    from linrank.experiments import tables

    if form != "terminal":
        name = {"markdown": "leaderboard.md", "latex": "leaderboard.tex", "csv": "leaderboard.csv"}
        sys.stdout.write((results.folder / name.get(form, "results.json")).read_text(encoding="utf-8"))
        return
    measures = results.plan.protocol.evaluated()
    shown = table(results.plan.title, "method", *measures, "features", "seconds")
    for standing in results.standings():
        cells = (
            f"{standing.means[m]:.4f}{tables.spread_of(standing, m)}{tables.sign_of(standing, m) or ' '}"
            for m in measures
        )
        of = f"{standing.n_features:.3g} of {standing.n_features_of}"
        shown.add_row(standing.method, *cells, of, f"{standing.seconds:.3g}")
    console().print(shown)
    console().print(tables.footnote(results), style="dim")
    for note in results.notes():
        console().print(f"  {note}", style="dim")
    console().print(f"Recommended: {results.recommended()}, the fewest features within one standard error of the best.")


def replay(folder: str, n_processes: int, data: str | None = None) -> None:
    """Run the comparison of a results folder again, perhaps on `data` that has moved; say what is not the same."""
    import tempfile

    from linrank.experiments.results import Results, differences, versions

    before = Results.open(folder)
    plan = before.plan if data is None else _moved(before.plan, data)
    recorded = before.recorded_versions()
    if not before.complete():
        raise LinrankError(f"{folder}: holds no method that was run on every fold with this data. Let it finish first.")
    changed = [f"{name} {recorded.get(name)} → {now}" for name, now in versions().items() if recorded.get(name) != now]
    if changed:
        sys.stderr.write(f"linrank compare: other versions than before: {', '.join(changed)}\n")
    unequal = []
    with tempfile.TemporaryDirectory() as place:
        after = Results(place, plan)
        failures = carry_out(after, n_processes)
        for name in before.complete():
            for old, new in zip(before.of(name), after.of(name), strict=True):
                unequal += [f"{old.fold}/{name}: {field}" for field in differences(old, new)]
    if failures or unequal:
        raise LinrankError(f"not the same: {'; '.join([*failures, *unequal][:5])} ({len(unequal)} in all).")
    n_results = len(before.complete()) * len(before.plan.folds)
    console().print(f"All {n_results} results are the same to the bit.")


def _moved(plan: Plan, data: str) -> Plan:
    """The plan with its data at another place."""
    from dataclasses import replace

    from linrank.experiments.folds import find_folds

    dealt = plan.folds[0].train
    n_folds = dealt.of if dealt.numbers else len(plan.folds)
    folds = find_folds(data, n_folds=n_folds, seed=dealt.seed, **dealt.options)
    return replace(plan, folds=tuple(folds))


def _plan(arguments: Namespace) -> Plan:
    from dataclasses import replace

    from linrank.experiments.comparison import Protocol
    from linrank.experiments.folds import find_folds
    from linrank.experiments.results import Plan
    from linrank.measures import parse_measure, parse_measures

    names = contender_names(arguments.methods)
    if arguments.methods.strip() == _DEFAULT_METHODS:
        names = [name for name in names if METHODS[name].is_installed]
    protocol = Protocol(
        tuple(map(str, parse_measures(" ".join(arguments.measures)))),
        str(parse_measure(arguments.select)),
        arguments.scaling,
        arguments.fewest,
        arguments.seed,
    )
    contenders = {name: contender(name) for name in names}
    for name, setting, values in map(_grid, arguments.grid):
        if name not in contenders:
            raise LinrankError(f"--grid {name}.{setting}: {name} is not among the methods, {', '.join(names)}.")
        contenders[name] = replace(contenders[name], grid={**contenders[name].grid, setting: values})
    folds = find_folds(arguments.data, n_folds=arguments.folds, seed=arguments.seed, **reading_options(arguments))
    baseline = arguments.baseline or ("ranksvm" if "ranksvm" in names else names[0])
    title = Path(arguments.data).resolve().name
    return Plan(tuple(folds), tuple(contenders.values()), protocol, baseline, title)


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
def _display(results: Results, n_jobs: int) -> Iterator[Callable[[Job, JobResult | Exception | None], None]]:
    """Yield what is told of each job that starts or ends."""
    select = results.plan.protocol.select
    running: list[str] = []

    def ended(job: Job, outcome: JobResult | Exception) -> str:
        if isinstance(outcome, Exception):
            return f"{job.name}: failed: {outcome}"
        return f"{job.name}: {select} {outcome.means[select]:.4f}, {outcome.seconds_in_all:.1f} s"

    if not sys.stderr.isatty():

        def tell(job: Job, outcome: JobResult | Exception | None) -> None:
            if outcome is not None:
                sys.stderr.write(f"[{results.n_done}/{n_jobs}] {ended(job, outcome)}\n")

        yield tell
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    bar = Progress(TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    task = bar.add_task("", total=n_jobs, completed=results.n_done)

    def picture() -> Group:
        lines = [f"  running   {name}" for name in running]
        lines += [f"  best yet  {name}  {select} {value:.4f}" for name, value in _best_so_far(results, select)]
        return Group(bar, Text("\n".join(lines)))

    with Live(picture(), console=Console(stderr=True), transient=True, refresh_per_second=4) as live:

        def draw(job: Job, outcome: JobResult | Exception | None) -> None:
            if outcome is None:
                running.append(job.name)
            else:
                running.remove(job.name)
                if isinstance(outcome, Exception):
                    live.console.print(ended(job, outcome))
            bar.update(task, completed=results.n_done)
            live.update(picture())

        yield draw


def _best_so_far(results: Results, select: str) -> list[tuple[str, float]]:
    """The three best methods among those run on as many folds as any."""
    done = {contender.name: results.of(contender.name) for contender in results.plan.contenders}
    most = max(map(len, done.values()))
    means = {
        name: sum(result.means[select] for result in of_method) / most
        for name, of_method in done.items()
        if most and len(of_method) == most
    }
    return sorted(means.items(), key=lambda pair: -pair[1])[:3]
