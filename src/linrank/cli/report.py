"""linrank report: a comparison as one page to send to a colleague, and as pictures for a paper."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from linrank.cli.console import console, verb_parser
from linrank.cli.outputs import PAGE, PICTURE, check_files
from linrank.drawing import require_matplotlib


def parser() -> ArgumentParser:
    made = verb_parser(
        "report",
        "Write the report of a comparison: one HTML file that needs no network, with the leaderboard, quality against\n"
        "number of features, weights, every query's two orders side by side, and why one document is above another.",
        "  linrank report MQ2008-comparison\n"
        "  linrank report MQ2008-comparison --out ranking.html --baseline listnet --pictures figures/",
    )
    made.add_argument("results", metavar="RESULTS", help="the folder that linrank compare wrote")
    made.add_argument("--out", metavar="FILE", help="the page to write (report.html in the folder)")
    made.add_argument("--baseline", metavar="NAME", help="test and show against this method (that of the comparison)")
    made.add_argument("--pictures", metavar="FOLDER", help="write the page's pictures too, as PNG and SVG")
    return made


def run(arguments: Namespace) -> None:
    from linrank.cli.compare import say_what_is_read
    from linrank.experiments.compare import Comparison
    from linrank.experiments.comparison_page import comparison_content
    from linrank.experiments.report import picture_files, save_pictures, write_page

    results = Comparison.open(arguments.results).results
    if arguments.baseline:
        results = results.against(arguments.baseline)
    say_what_is_read(results)
    out = Path(arguments.out) if arguments.out else results.place("report.html")
    check_files([(out, PAGE)])
    if arguments.pictures:
        require_matplotlib()
    content = comparison_content(Comparison(results))
    if arguments.pictures:
        check_files((place, PICTURE) for place in picture_files(content, arguments.pictures) if place.parent.exists())
    write_page(out, content)
    console().print(f"The report: {out} ({out.stat().st_size / 1e6:.1f} MB)", markup=False)
    for part, reason in content.missing.items():
        console().print(f"  without {part}: {reason}", markup=False)
    if arguments.pictures:
        for place in save_pictures(content, arguments.pictures):
            console().print(f"  {place}", markup=False)
