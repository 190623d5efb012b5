"""Solvers that a user may name. Nothing is imported before it is used, so that a help is quick."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linrank.solvers.solver import Solver


def _of(module: str, class_name: str) -> Callable[..., Solver]:
    def make(**settings: Any) -> Solver:
        made: Solver = getattr(import_module(f"linrank.solvers.{module}"), class_name)(**settings)
        return made

    return make


SOLVERS: dict[str, Callable[..., Solver]] = {
    "newton": _of("newton_cg", "NewtonCG"),
    "proximal-newton": _of("proximal_newton", "ProximalNewton"),
    "proximal-gradient": _of("proximal_gradient", "ProximalGradient"),
    "smoothed": _of("smoothed_newton", "SmoothedNewton"),
    "bundle": _of("bundle", "Bundle"),
    "tron": _of("tron", "TRON"),
    "gram": _of("normal_equations", "GramRidge"),
    "cg": _of("ridge_cg", "RidgeCG"),
    "heavy-ball": _of("heavy_ball", "HeavyBall"),
}
"""How each is made, with its settings: those who make it say what it `refuses`."""
