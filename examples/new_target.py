"""A new target in one file: a function of JavaScript, for linrank.export(model, JavaScript())."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linrank import LinearModel, export
from linrank.exporting.arithmetic import DOUBLE, Arithmetic
from linrank.exporting.engine import Accepts, Target


@dataclass(frozen=True)
class JavaScript(Target):
    """A module of JavaScript with one function, from a document to its score.

    Parameters
    ----------
    function : its name
    """

    name: ClassVar[str] = "javascript"
    title: ClassVar[str] = "JavaScript"
    ending: ClassVar[str] = "ranker.mjs"
    accepts: ClassVar[Accepts] = Accepts()
    arithmetic: ClassVar[Arithmetic] = DOUBLE
    run_by: ClassVar[str] = ""

    function: str = "score"

    def write(self, ranking):
        terms = [f"{weight!r} * document[{json.dumps(name)}]" for name, weight in ranking.weight_of.items()]
        if ranking.shift:
            terms.append(repr(ranking.shift))
        return f"export const {self.function} = (document) =>\n  " + " +\n  ".join(terms) + ";\n"


if __name__ == "__main__":
    print(export(LinearModel(np.array([1.5, -0.25]), ("bm25", "age")), JavaScript()))
