"""Hybrid search on a real collection: how much should BM25, embeddings and names weigh, and is it worth it?

    pip install --group hybrid && python examples/hybrid_search.py

The collection is the documentation that Python's standard library, NumPy, SciPy and scikit-learn carry with them, some
three thousand pages. A query is the sentence by which a function's authors say what it does; the page that it belongs
to, from which that sentence is taken out, is the relevant document. So relevance is known, and nobody made it up for
this example; what else may be relevant is not, and counts as not.

The legs are BM25 (bm25s), a real embedding model whose weights come with its package (wordllama), and BM25 over names;
the signals are how often other pages mention a name, and how long the page is. What is learnt is run in Qdrant's core,
PostgreSQL with pgvector and DuckDB, which give the same order as Python.
"""

from __future__ import annotations

import importlib
import inspect
import json
import logging
import math
import os
import pkgutil
import re
import sys
import tempfile
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
try:
    import bm25s
    import duckdb
    import qdrant_edge as qdrant
    import wordllama
except ImportError as error:
    sys.exit(f"{error.name} is not installed. Install what this example needs: pip install --group hybrid")
import numpy as np

from linrank import fuse

# Which some of these packages do at length.
logging.disable(logging.CRITICAL)

LIBRARIES = ("numpy", "scipy", "sklearn")
MODULES = """
abc argparse ast asyncio bisect calendar codecs collections concurrent.futures configparser contextlib copy csv
dataclasses datetime decimal difflib dis email.message enum fnmatch fractions functools glob gzip hashlib heapq html
http.client inspect io itertools json locale logging math multiprocessing operator os pathlib pickle platform queue
random re secrets shutil socket sqlite3 statistics string struct subprocess tarfile tempfile textwrap threading time
traceback types typing unittest unittest.mock urllib.parse warnings weakref xml.etree.ElementTree zipfile
""".split()  # noqa: SIM905
DEPTH = 50
N_QUERIES = 400


def modules():
    for name in MODULES:
        yield importlib.import_module(name)
    for library in LIBRARIES:
        parent = importlib.import_module(library)
        yield parent
        for found in pkgutil.iter_modules(parent.__path__):
            if not found.name.startswith("_") and found.name not in (
                "conftest",
                "distutils",
                "f2py",
                "tests",
                "typing",
            ):
                yield importlib.import_module(f"{library}.{found.name}")


def pages():
    """Each page once: its name, the sentence that says what it is about, and the rest."""
    known = {}
    for module in modules():
        for name in sorted(getattr(module, "__all__", None) or dir(module)):
            try:
                thing = None if name.startswith("_") else getattr(module, name, None)
            except ImportError:
                # Something experimental, which must be asked for first.
                continue
            text = inspect.getdoc(thing) if callable(thing) else None
            summary, _, body = (text or "").partition("\n\n")
            if len(body) >= 80:
                known.setdefault(text, (f"{module.__name__}.{name}", " ".join(summary.split()), body))
    return sorted(known.values())


def words_of_name(name):
    return " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name.rpartition(".")[2]))


class Keywords:
    """BM25 over some texts; every word has a number, so that a page is also a sparse vector."""

    def __init__(self, texts):
        self.bm25 = bm25s.BM25()
        self.bm25.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def words(self, query):
        (found,) = bm25s.tokenize([query], stopwords="en", return_ids=False, show_progress=False)
        return sorted({self.bm25.vocab_dict[word] for word in found if word in self.bm25.vocab_dict})

    def scores(self, query):
        made = np.zeros(self.bm25.scores["num_docs"], dtype=np.float32)
        for word in self.words(query):
            entries = slice(self.bm25.scores["indptr"][word], self.bm25.scores["indptr"][word + 1])
            made[self.bm25.scores["indices"][entries]] += self.bm25.scores["data"][entries]
        return made

    def vectors(self):
        """The sparse vector of each page: its words, and what each adds to the score."""
        made = [([], []) for _ in range(self.bm25.scores["num_docs"])]
        for word, (start, stop) in enumerate(pairwise(self.bm25.scores["indptr"])):
            for entry in range(start, stop):
                words, values = made[self.bm25.scores["indices"][entry]]
                words.append(word)
                values.append(float(self.bm25.scores["data"][entry]))
        return made


def first(scores, n=DEPTH):
    """The best pages that have a score at all, by number; ties by number too."""
    order = np.lexsort((np.arange(len(scores)), -scores))[:n]
    return {int(page): float(scores[page]) for page in order if scores[page] > 0}


def signals_of(names, bodies):
    """How often other pages mention a name, and how long a page is; both as logarithms, since both have long tails."""
    short = [name.rpartition(".")[2] for name in names]
    mentions = Counter(word for body in bodies for word in set(re.findall(r"\w+", body)))
    return {
        "mentions": [math.log1p(max(0, mentions[word] - 1)) for word in short],
        "length": [math.log(len(body)) for body in bodies],
    }


def main():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names, summaries, bodies = zip(*pages(), strict=True)
    embed = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True).embed
    vectors = embed(list(bodies), norm=True).astype(np.float32)
    legs = {"bm25": Keywords(list(bodies)), "name": Keywords([words_of_name(name) for name in names])}

    step = len(names) / N_QUERIES
    asked = {summaries[int(place * step)]: None for place in range(N_QUERIES)}
    queries = [query for query in asked if 3 <= len(query.split()) <= 30]
    qrels = {query: {str(page): 1 for page, other in enumerate(summaries) if other == query} for query in queries}
    question = dict(zip(queries, embed(queries, norm=True).astype(np.float32), strict=True))
    runs = {leg: {query: first(keywords.scores(query)) for query in queries} for leg, keywords in legs.items()}
    runs["dense"] = {query: first(vectors @ question[query]) for query in queries}
    signals = signals_of(names, bodies)
    table = {"document": [str(page) for page in range(len(names))], **signals}
    print(f"{len(names):,} pages, {len(queries)} queries; each leg brings {DEPTH} pages\n")

    print("For OpenSearch, which normalises the hits of each leg:\n")
    print(fuse(runs, qrels, "opensearch", depth=DEPTH), "\n")
    fusion = fuse(runs, qrels, "qdrant", depth=DEPTH, signals=table)
    print("For Qdrant, which adds up raw scores, and can add signals:\n")
    print(fusion, "\n")
    fusion.page("hybrid_search.html")
    print("hybrid_search.html: the same as one page to look at\n")
    some = queries[:40]
    by_document = {name: dict(zip(table["document"], values, strict=True)) for name, values in signals.items()}
    ours = fusion.rank({leg: {query: run[query] for query in some} for leg, run in runs.items()}, by_document)
    same_order("Qdrant's core", ours, in_qdrant(fusion, legs, vectors, signals, question, some))

    tables = fuse(runs, qrels, "sql", depth=DEPTH, signals=table, n_resamples=10)
    ours = tables.rank({leg: {query: run[query] for query in some} for leg, run in runs.items()}, by_document)
    same_order("DuckDB", ours, in_duckdb(tables, runs, vectors, signals, question, some))
    same_order("PostgreSQL with pgvector", ours, in_postgresql(tables, runs, vectors, signals, question, some))


def same_order(engine, ours, theirs):
    """Whether the first ten are the same, in the same order but for scores that are equal in float32."""
    for query, found in theirs.items():
        wanted = list(ours[query].items())[: len(found)]
        for (page, score), (other, its) in zip(wanted, found, strict=True):
            close = math.isclose(score, its, rel_tol=1e-5, abs_tol=1e-6)
            assert close, f"{engine}, {query!r}: {page} has {score}, {other} has {its}"
            assert page == other or math.isclose(ours[query][other], score, rel_tol=1e-6), f"{engine}, {query!r}"
    print(f"{engine}: the same order as in Python, for {len(theirs)} queries")


def in_qdrant(fusion, legs, vectors, signals, question, queries):
    """What Qdrant's core answers to the configuration, with the queries put in."""
    asked = json.loads(fusion.configuration.content)
    config = qdrant.EdgeConfig(
        vectors={"dense": qdrant.EdgeVectorParams(size=vectors.shape[1], distance=qdrant.Distance.Dot)},
        sparse_vectors={leg: qdrant.EdgeSparseVectorParams() for leg in legs},
    )
    with tempfile.TemporaryDirectory() as folder:
        shard = qdrant.EdgeShard.create(folder, config)
        sparse = {leg: keywords.vectors() for leg, keywords in legs.items()}
        points = []
        for page, vector in enumerate(vectors.tolist()):
            named = {leg: qdrant.SparseVector(*made[page]) for leg, made in sparse.items() if made[page][0]}
            payload = {name: values[page] for name, values in signals.items()}
            points.append(qdrant.Point(page, {"dense": vector, **named}, payload))
        shard.update(qdrant.UpdateOperation.upsert_points(points))
        made = {}
        for query in queries:
            nearest = []
            for prefetch in asked["prefetch"]:
                leg = prefetch["using"]
                words = [] if leg == "dense" else legs[leg].words(query)
                if leg != "dense" and not words:
                    words = [0]
                given = question[query].tolist() if leg == "dense" else qdrant.SparseVector(words, [1.0] * len(words))
                search = qdrant.Query.Nearest(given, using=leg)
                nearest.append(qdrant.Prefetch(limit=prefetch["limit"], query=search))
            formula = qdrant.Formula(expression(asked["query"]["formula"]), asked["query"]["defaults"])
            request = qdrant.QueryRequest(limit=asked["limit"], query=formula, prefetches=nearest)
            made[query] = [(str(point.id), point.score) for point in shard.query(request)]
        shard.close()
    return made


def expression(part):
    """The formula of the configuration, in the words of Qdrant's core."""
    if isinstance(part, float):
        return qdrant.Expression.Constant(part)
    if isinstance(part, str):
        return qdrant.Expression.Variable(part)
    ((kind, parts),) = part.items()
    make = {"sum": qdrant.Expression.Sum, "mult": qdrant.Expression.Mult}[kind]
    return make([expression(each) for each in parts])


def statement(fusion, dense):
    """The statement of the configuration, its dense leg being a search among the vectors."""
    return fusion.configuration.content.replace(
        f'SELECT "id", score FROM "dense_hits" ORDER BY score DESC LIMIT {DEPTH}', dense
    )


def in_duckdb(fusion, runs, vectors, signals, question, queries):
    with duckdb.connect() as connection:
        width, pages = vectors.shape[1], range(len(vectors))
        connection.execute(f"CREATE TABLE documents (id INTEGER, mentions DOUBLE, length DOUBLE, e FLOAT[{width}])")
        rows = zip(pages, signals["mentions"], signals["length"], vectors.tolist(), strict=True)
        connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?)", list(rows))
        search = (
            f"SELECT id, array_inner_product(e, $1::FLOAT[{width}]) AS score FROM documents "
            f"ORDER BY score DESC, id LIMIT {DEPTH}"
        )
        made = {}
        for query in queries:
            for leg in ("bm25", "name"):
                connection.execute(f'CREATE OR REPLACE TABLE "{leg}_hits" (id INTEGER, score DOUBLE)')
                if runs[leg][query]:
                    connection.executemany(f'INSERT INTO "{leg}_hits" VALUES (?, ?)', list(runs[leg][query].items()))
            found = connection.execute(statement(fusion, search), [question[query].tolist()]).fetchall()
            made[query] = [(str(page), score) for page, score in found]
    return made


def in_postgresql(fusion, runs, vectors, signals, question, queries):
    try:
        import pgserver
        import psycopg
    except ImportError as error:
        print(f"PostgreSQL is left out: {error.name} is not installed")
        return {}
    folder = Path(tempfile.mkdtemp(prefix="linrank-example-"))
    folder.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = pgserver.get_server(folder / "data", cleanup_mode="delete")
    made = {}
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        run = connection.cursor()
        run.execute("CREATE EXTENSION vector")
        run.execute(
            f"CREATE TABLE documents (id integer, mentions float8, length float8, e vector({vectors.shape[1]}))"
        )
        rows = zip(range(len(vectors)), signals["mentions"], signals["length"], map(str, vectors.tolist()), strict=True)
        with run.copy("COPY documents FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        search = f"SELECT id, -(e <#> $1) AS score FROM documents ORDER BY score DESC, id LIMIT {DEPTH}"
        for query in queries:
            for leg in ("bm25", "name"):
                run.execute(f'DROP TABLE IF EXISTS "{leg}_hits"')
                run.execute(f'CREATE TABLE "{leg}_hits" (id integer, score float8)')
                run.executemany(f'INSERT INTO "{leg}_hits" VALUES (%s, %s)', list(runs[leg][query].items()))
            vector = "'" + str(question[query].tolist()) + "'::vector"
            found = run.execute(statement(fusion, search).replace("$1", vector)).fetchall()
            made[query] = [(str(page), score) for page, score in found]
    server.cleanup()
    return made


if __name__ == "__main__":
    main()
