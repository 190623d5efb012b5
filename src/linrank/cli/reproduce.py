"""linrank reproduce: the papers' tables on the data you have, ours beside theirs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from linrank.cli.compare import carry_out, processes
from linrank.cli.console import console, verb_parser
from linrank.cli.outputs import check_results_folder
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS
from linrank.files import replacing

_PAPERS = ("ranksvm", "minbatsrank", "egdm", "rsrank", "low-rank")


def parser() -> ArgumentParser:
    made = verb_parser(
        "reproduce",
        "Run the tables and figures of five papers on the data that is in a folder, and print ours beside the printed\n"
        "numbers: by the papers' grids, or wide ones, with the spread over folds, then by our own; and how the\n"
        "protocols differ. Data sets are found by the names their downloads have:\n"
        "OHSUMED, MQ2007, MQ2008, MQ2007-list, MQ2008-list, TD2003 … NP2004 (or Gov/QueryLevelNorm),\n"
        "MSLR-WEB10K, MSLR-WEB30K, ltrc_yahoo, RCV1. Results are kept one by one: a run that was stopped goes on.",
        "  linrank reproduce letor/\n  linrank reproduce letor/ --paper low-rank --data OHSUMED --out low-rank-again",
    )
    made.add_argument("root", metavar="DATA_DIR", help="the folder that holds the data sets' folders")
    made.add_argument(
        "--paper", action="append", choices=_PAPERS, help="only this one; may be given several times (all)"
    )
    made.add_argument(
        "--data", action="append", metavar="NAME", help="only this data set; several times (all there are)"
    )
    made.add_argument("--out", default="reproduction", metavar="FOLDER", help="where results go (reproduction)")
    made.add_argument("--jobs", type=int, metavar="N", help="processes at a time (all)")
    made.add_argument("--no-figures", action="store_true", help="tables only")
    return made


def run(arguments: Namespace) -> None:
    from linrank.experiments.contenders import contender
    from linrank.experiments.results import Results
    from linrank.papers.reproduction import DATA, find_data, plans, summary

    papers = arguments.paper or list(_PAPERS)
    for name in arguments.data or ():
        if name not in DATA:
            raise LinrankError(f"--data {name}: no paper has it; there are {', '.join(DATA)}.")
    out = Path(arguments.out)
    check_results_folder(out, arguments.root, "*/*/comparison.json")
    found = find_data(arguments.root, arguments.data or DATA)
    contenders = {name: contender(name) for name, method in METHODS.items() if method.is_installed}
    results: dict[str, dict[str, Results]] = {}
    for data, folds in found.items():
        results[data] = {}
        for study, plan in plans(data, folds, papers, contenders):
            plan.check()
            of_study = Results(out / data / study.name, plan)
            for name, reason in carry_out(of_study, processes(arguments.jobs)).items():
                console().print(f"{data}, {name} failed: {reason}", style="red")
            complete = of_study.complete()
            if complete:
                held_against = plan.baseline if plan.baseline in complete else complete[0]
                results[data][study.name] = of_study.against(held_against)
    text = summary(papers, results)
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "reproduction.md") as file:
        file.write(text)
    console().print(text)
    if not arguments.no_figures:
        from linrank.papers.figures import draw_figures

        for place in draw_figures(papers, found, results, out / "figures"):
            console().print(f"figure: {place}")
    console().print(f"Tables: {out / 'reproduction.md'}")
