"""linrank warmup: compile every kernel now."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from linrank.cli.console import console, counted, verb_parser


def parser() -> ArgumentParser:
    return verb_parser(
        "warmup",
        "Compile every kernel and keep the machine code, so that no later job waits for it: run it once after an\n"
        "install, or when a container image is built. It runs each part of linrank on a little data.",
        "  linrank warmup",
    )


def run(_: Namespace) -> int:
    started = time.perf_counter()
    from linrank.compiled import compilations
    from linrank.kernel_news import NOT_KEPT, telling
    from linrank.warmup import use_every_kernel

    lost: list[str] = []
    with telling(lost.append, NOT_KEPT):
        use_every_kernel()
    if lost:
        # What is wrong has been said.
        return 1
    compiled = sum(compilations().values())
    seconds = time.perf_counter() - started
    if compiled:
        console().print(f"{counted(compiled, 'kernel')} compiled in {seconds:.1f} s; they load from disk from now on.")
    else:
        console().print(f"Every kernel was compiled already; loaded and run in {seconds:.1f} s.")
    return 0
