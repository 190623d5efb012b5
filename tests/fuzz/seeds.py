"""What the fuzzer begins with: a few small sound files of each kind, all made here."""

import gzip
import io
import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse

from linrank import LinearModel, MinBatSRank, RankingDataset, compare, make_ranking
from linrank.dataset.feature_products import FeatureProducts
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.scaling import ColumnScaling
from linrank.dataset.signed_log import SignedLog
from linrank.dataset.storage import save_dataset
from linrank.executors.round_log import encoded
from linrank.reading.write_svmlight import write_svmlight
from log_writing import FORMS as LOGS

JUDGED = {"q1": {"d1": 1.0, "d2": 0.0}, "q2": {"d1": 2.0, "d3": 0.0}}
ABOUT = {"data": "x"}
# Where the fuzzer's input ends one record of a log of rounds and begins the next.
BETWEEN = b"\xffNEXT\xff"
MODEL_FIELDS = (
    *("linrank_version", "method", "objective", "parameters", "training", "data_fingerprint", "feature_names"),
    *("weights", "scaling", "missing", "trained_at", "products"),
)

_FEATURES = np.array([[0, 0.5, 0], [1, 0, -2.25], [0, 0, 0], [3, 1e-3, 0], [0, 7, 0], [1, 1, 1]])
_LABELS = [0, 1, 2, 0, 1, 1]


def texts() -> list[bytes]:
    plain = b"2 qid:1 1:0.5 3:-1e-3 # docid = a\n0 qid:1 2:1\n1 qid:b 1:NULL 2:3.25\n"
    many = b"".join(b"%d qid:%d 1:%d.%03d 7:1e%d\n" % (n % 3, n // 3, n, n * 7, n - 9) for n in range(18))
    import zstandard

    return [plain, many, b"\xef\xbb\xbf" + plain, gzip.compress(plain, mtime=0), zstandard.compress(plain)]


def groups() -> list[bytes]:
    return [b"2\n1\n", b"3\n", b"\xef\xbb\xbf1\r\n1\r\n1\r\n"]


def write_data(folder: Path) -> None:
    (folder / "data").write_bytes(b"1 1:1\n0 1:2\n1 1:3\n")


def _saved(save, name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / name
        save(place)
        return place.read_bytes()


def stored() -> list[bytes]:
    """With everything that a file may hold, its queries one after the other or mixed."""
    return [*stored_in_order(), _stored("abbaab")]


def stored_in_order() -> list[bytes]:
    objects = np.array([1, 1, "b", "b", 0.5, 0.5], dtype=object)
    dense = RankingDataset.from_arrays(_FEATURES.astype(np.float32), _LABELS, qid=objects, document_weights=_LABELS)
    return [_stored("aaabbb"), _saved(lambda place: save_dataset(dense, place), "x")]


def _stored(qid: str) -> bytes:
    return _saved(lambda place: save_dataset(stored_data(qid), place), "x")


def stored_data(qid: str) -> RankingDataset:
    return RankingDataset.from_arrays(
        sparse.csr_array(_FEATURES), _LABELS, qid=list(qid), feature_names=list("xyz"),
        comments=[f"docid = d{row}" for row in range(6)], query_weights=[1, 2],
    )  # fmt: skip


def models() -> list[bytes]:
    names = ("age", "title bm25")
    scaling = ColumnScaling("standard", np.array([1.0, -2.0]), np.array([0.5, 3.0]))
    curves = FeatureShapes.of("rank-gauss", [([0.0, 2.5], [-1.0, 1.0]), ([3.0], [0.0])])
    made = [
        LinearModel(np.array([0.25, -1e-7]), names, trained_at="2026-11-16T11:40:00Z", missing="query_min"),
        LinearModel(np.array([2.0, 0.0]), names, scaling, "ranksvm", "f", {"C": 1.0}, {"pairs": 3}, "sha256:0"),
        LinearModel(np.ones(2), names, curves),
        LinearModel(np.ones(2), names, curves, products=FeatureProducts(np.array([0.5]), np.array([[0, 1]]), curves)),
        LinearModel(np.ones(2), names, SignedLog(np.array([1.0, 0.5]), np.array([2.0, 1.0]))),
    ]
    return [_saved(model.save, "x") for model in made]


@cache
def results_folder() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_svmlight(folder / "judged.txt", make_ranking(9, 4, n_features=2, n_informative=2)[0])
        out = folder / "results"
        rankers = {"ranksvm": ("ranksvm", {"C": [0.1, 1.0]}), "one": "single-feature"}
        compare(folder / "judged.txt", rankers, measures="ndcg@10", n_folds=3, out=out).write()
        plan = json.loads((out / "comparison.json").read_text())
        plan["versions"] = {"linrank": "0"}
        for fold in plan["folds"]:
            for part in ("train", "vali", "test"):
                fold[part]["path"] = "judged.txt"
        jobs = {str(place.relative_to(out)): place.read_bytes() for place in sorted(out.glob("Fold*/*.*"))}
        others = {place.name: place.read_bytes() for place in (folder / "judged.txt", out / "recommended.json")}
        return {"comparison.json": json.dumps(plan).encode(), **others, **jobs}


def logs() -> list[bytes]:
    made = []
    for document, response in LOGS.values():
        answers = [
            {"qid": "q1", **response([document("d1", {"a": 1.5, "b": 0.0}), document("d2", {"a": None, "b": 2.0})])},
            {"qid": "q2", **response([document("d3", {"a": -3e-5, "b": 1.0})])},
        ]
        made.append("".join(json.dumps(answer) + "\n" for answer in answers).encode())
    made.append(json.dumps(answers[0], indent=1).encode())
    return made


def judgments() -> list[bytes]:
    return [
        b"query,docid,rating\nstar wars,11,3.0\nrambo,7555,.5\n",
        b'Query;Doc_ID;Grade\r\n"star ""x""";11;3\r\n',
        b"q1 0 d1 2\nq1 0 d2 0\n",
    ]


def judgments_json() -> list[bytes]:
    group = {"queries": [{"placeholders": {"$query": "q"}}], "relevant_documents": {"3": ["11"], "d": {"gain": 0.5}}}
    rows = [{"query": "q", "docid": "d", "rating": 1}, {"query": "q", "docid": 2, "rating": "0.5"}]
    values = [{"q1": {"d1": 1.0}}, rows, {"id_field": "id", "topics": [{"query_groups": [group]}]}]
    return [json.dumps(value).encode() for value in values]


def qrels() -> list[bytes]:
    plain = b"q1 0 d1 2\nq1 0 d2 0\r\n\nq2 0 d1 -1.5e0\n"
    return [plain, gzip.compress(plain, mtime=0)]


def runs() -> list[bytes]:
    plain = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 -1e-3 tag\nq2 Q0 d1 1 7 tag\n"
    return [plain, gzip.compress(plain, mtime=0)]


def hits() -> list[bytes]:
    return [
        b"query,document,leg,score\nq1,d1,bm25,2.5\nq1,d2,dense,-1e-3\nq2,d1,bm25,7\n",
        b'Qid,Docid,Run,Score\r\n1,"a,b",x,1\r\n\r\n2,c,x,0.5\r\n',
    ]


def signals() -> list[bytes]:
    return [b"document,clicks,Clicks\na,2.5,-1e-3\nb,0,7\nc,1,1\n", b"id,age\r\n\r\na,1\r\n"]


def classes() -> list[bytes]:
    numbers = "".join(f"q{number},{number}.5\n" for number in range(8)).encode()
    return [b"query,kind\nq1,long\nq2,\nq1,long\n", b"qid,Kind\n" + numbers]


def hits_in_parquet() -> list[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    made = []
    for ids in (["q1", "q1", "q2"], [1, 2, 2]):
        table = {"query": ids, "document": ["a", "b", "a"], "leg": ["x", "y", "x"], "score": [2.5, -1e-3, 7.0]}
        held = io.BytesIO()
        parquet.write_table(pa.table(table), held, compression="none", store_schema=False)
        made.append(held.getvalue())
    return made


def responses() -> list[bytes]:
    elastic = b'{"qid": "q1", "response": {"hits": {"hits": [{"_id": "a", "_score": 2.5}, {"_id": "b", "_score": 1}]}}}'
    return [
        elastic + b'\n{"query": 2, "response": {"hits": {"hits": []}}}\n',
        b'{"qid": 7, "result": {"points": [{"id": 3, "score": 0.25}]}}\n',
    ]


def scores() -> list[bytes]:
    return [b"1.0\n-2.5e-3\ninf\n", b"0\r\n1"]


def csv_tables() -> list[bytes]:
    plain = b"label,qid,a,b\n1,q1,0.5,true\n0,q1,,false\n2,q2,1e3,true\n"
    return [plain, b'label,qid,"a,x"\n1,1,"2"\n0,1,nan\n', b"\xef\xbb\xbflabel,qid,a\r\n1,7,1\r\n"]


def _arrow_tables() -> list[object]:
    import pyarrow as pa

    words = pa.array(["q1", "q1", "q2", "q2"])
    numbers = pa.array([0.5, None, 2.0, -1.0])
    label = pa.array([0, 1, 2, 0])
    kinds = {
        "whole": pa.array([1, None, 3, 4], pa.int16()),
        "flag": pa.array([True, False, None, True]),
        "half": pa.array(np.array([1, 2, 3, 4], np.float16)),
        "price": pa.array([1, 2, None, 4], pa.decimal128(9, 2)),
        "nothing": pa.nulls(4),
        "coded": pa.array([1.5, 2.5, 1.5, None]).dictionary_encode(),
    }
    # As pandas notes which column was the index of a frame.
    note = {b"pandas": b'{"index_columns": ["whole", {"kind": "range"}]}'}
    return [
        pa.table({"label": label, "qid": words, "a": numbers}),
        pa.table({"label": label, "qid": words, "whole": label, "a": numbers}).replace_schema_metadata(note),
        pa.table({"label": label, "qid": words.dictionary_encode(), **kinds}),
    ]


def parquet_tables() -> list[bytes]:
    from pyarrow import parquet

    made = []
    for compression in ("none", "snappy"):
        for table in _arrow_tables():
            held = io.BytesIO()
            parquet.write_table(table, held, compression=compression, store_schema=False)
            made.append(held.getvalue())
    return made


def arrow_tables() -> list[bytes]:
    import pyarrow as pa

    made = []
    for compression in (None, "lz4", "zstd"):
        for table in _arrow_tables():
            held = io.BytesIO()
            options = pa.ipc.IpcWriteOptions(compression=compression)
            with pa.ipc.new_file(held, table.schema, options=options) as writer:
                writer.write_table(table)
            made.append(held.getvalue())
    return made


def bounds() -> list[bytes]:
    return [b"a +\nb 0 1e3\n# remark\nc d * 2.5\n", b"a -\n"]


def costs() -> list[bytes]:
    return [b"a 1.5\nb 2\n", b"\nb 1e-3\n"]


def states() -> list[bytes]:
    ranker = MinBatSRank(random_state=0).fit(np.eye(2), [0, 1], qid=[1, 1])
    named = MinBatSRank(batch_pairs=2, random_state=0).fit(stored_data("aaabbb"))
    return [_saved(ranker.save_state, "x"), _saved(named.save_state, "x")]


def rounds() -> list[bytes]:
    told = [["sum", 1.5], ["sums", [np.arange(3.0), {"n": 2}, ("x", None, True)]]]
    records = [json.dumps(ABOUT, sort_keys=True).encode(), *map(encoded, told)]
    return [b"linrank rounds 1\n" + b"".join(BETWEEN + record for record in records)]


def foreign_models(form: str) -> list[bytes]:
    norms = "org.apache.solr.ltr.norm"
    features = [
        {"name": "age", "norm": {"class": f"{norms}.StandardNormalizer", "params": {"avg": "42", "std": "4"}}},
        {"name": "price", "norm": {"class": f"{norms}.MinMaxNormalizer", "params": {"min": "10", "max": 5.0}}},
    ]
    solr = {
        "store": "shop", "name": "m", "class": "org.apache.solr.ltr.model.LinearModel", "features": features,
        "params": {"weights": {"age": 2, "price": 1.0}},
    }  # fmt: skip
    scaled = {"age": {"standard": {"mean": 1.0, "standard_deviation": 2.0}}}
    linear = {"type": "model/linear", "definition": '{"age": 2, "b": -1e-3}', "feature_normalizers": scaled}
    ranklib = {"type": "model/ranklib", "definition": "## Linear Regression\n0:1 1:0.5 2:1"}
    held = {
        "solr": [solr, {"models": [solr]}],
        "ltr-plugin": [{"model": {"name": "m", "model": linear}}, {"model": {"name": "m", "model": ranklib}}],
        "json": [{"age": 0.5, "2": -3}],
    }
    texts = {
        "ranklib": [b"## Coordinate Ascent\n## 1 = age\n## 2 = b\n\n1:0.3 2:-0.5 # ours\n"],
        "liblinear": [
            b"solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias 1\nw\n0.25 \n0 \n1e-3 \n"
        ],
        "csv": [b'feature,weight\nage,0.5\n"a,b",-1e-3\n'],
    }
    return texts[form] if form in texts else [json.dumps(value).encode() for value in held[form]]
