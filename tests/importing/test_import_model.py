"""Models of other programs are read to the bit, rank as they do there, and what is wrong with a file is said."""

import hashlib
import json
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linrank import DataFormatError, LinearModel, LinrankError, RankingDataset, export, import_model
from linrank.dataset.scaling import ColumnScaling
from linrank.exporting.registry import TARGETS
from linrank.importing.form import Given
from linrank.importing.registry import FORMS

# Targets that write what a form reads; those with numbers in the place of names are told the names.
READ_BACK = {"solr": 1, "elasticsearch": 1, "opensearch": 1, "json": 1, "csv": 1, "ranklib": 1, "liblinear": 0}
AWKWARD = ("title bm25", 'a"g,e', "clicks\\n", "Preis €", "x:y")


def weights(*raw):
    scaling = ColumnScaling("standard", np.ones(len(raw)), np.array([3.0, 0.7, 1.1, 7.0, 0.3])[: len(raw)])
    return LinearModel(scaling.unfold(np.array(raw)), AWKWARD[: len(raw)], scaling, method="ranksvm")


@pytest.fixture
def written(tmp_path):
    def write(content, name="given"):
        place = tmp_path / name
        place.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return place

    return write


def solr(**changes):
    feature = {"name": "age", "norm": {"class": "org.apache.solr.ltr.norm.StandardNormalizer"}}
    feature["norm"]["params"] = {"avg": "42", "std": "4"}
    bounds = {"class": "org.apache.solr.ltr.norm.MinMaxNormalizer", "params": {"min": "10", "max": 5.0}}
    plain = {"name": "title", "norm": {"class": "org.apache.solr.ltr.norm.IdentityNormalizer"}}
    model = {
        "store": "shop",
        "name": "m1",
        "class": "org.apache.solr.ltr.model.LinearModel",
        "features": [feature, {"name": "price", "norm": bounds}, plain],
        "params": {"weights": {"title": 0.5, "age": 2, "price": 1.0}},
    }
    return model | changes


def plugin(kind="model/linear", definition='{"title": 0.3, "age": -2}', norms=None, **beside):
    model = {"type": kind, "definition": definition} | ({} if norms is None else {"feature_normalizers": norms})
    return {"model": {"name": "m1", "model": model, **beside}}


LIBLINEAR = "solver_type L2R_L2LOSS_RANKSVM\nnr_class 2\nnr_feature 3\nbias -1\nw\n0.25 \n0 \n-1.5e-3 \n"
RANKLIB = "## Coordinate Ascent\n## Restart = 5\n\n1:0.3 2:-0.5 4:1.0E-4 # ours\n"


@pytest.mark.parametrize("target", [target for target in READ_BACK if target in TARGETS])
def test_what_was_exported_comes_back_to_the_bit(target, tmp_path):
    model = weights(0.1, -1 / 3, 1e-7, 12345.678, 0.0)
    if READ_BACK[target]:
        made = export(model, target, out=tmp_path / "made")
        back = import_model(tmp_path / "made")
        assert dict(zip(back.feature_names, back.weights, strict=True)) == made.ranking.weight_of
        assert len(back.feature_names) == 4
    else:
        numbered = replace(model, feature_names=("1", "2", "3", "4", "5"))
        export(numbered, target, out=tmp_path / "made")
        back = import_model(tmp_path / "made", names=AWKWARD)
        assert back.feature_names == AWKWARD
        assert back.weights.tolist() == model.raw_weights().tolist()
    assert back.scaling is None
    assert back.missing == 0.0
    assert export(back, "json").ranking.weight_of == export(model, "json").ranking.weight_of


def test_an_imported_model_says_where_it_is_from_and_is_a_model(written, tmp_path):
    model = import_model(written(solr()))
    assert model.method == "imported from solr"
    assert model.training["imported_from"] == str(tmp_path / "given")
    assert (model.training["name"], model.training["store"]) == ("m1", "shop")
    model.save(tmp_path / "model.json")
    again = import_model(tmp_path / "model.json")
    assert again.weights.tolist() == model.weights.tolist()
    assert again.method == "imported from solr"
    with pytest.raises(LinrankError, match="a model of linrank's, which has its names"):
        import_model(tmp_path / "model.json", names={"age": "years"})


@pytest.mark.parametrize(
    "around", [lambda model: model, lambda model: [model], lambda model: {"responseHeader": {}, "models": [model]}]
)
def test_solrs_normalisers_are_folded_into_the_weights(written, around):
    model = import_model(written(around(solr())))
    assert model.feature_names == ("age", "price", "title")
    assert model.weights.tolist() == [0.5, -0.2, 0.5]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"}, "MultipleAdditiveTreesModel, which is not"),
        ({"params": {"weights": {"title": 1, "age": 2}}}, "'price' has no weight, and Solr refuses"),
        ({"params": {"weights": {"title": 1, "age": 2, "price": 1, "x": 3}}}, "'x' has a weight and is not listed"),
        ({"params": {"weights": {"title": "1", "age": 2, "price": 1}}}, "weight of feature 'title' is '1'; it must be"),
        ({"params": {"weights": {"title": True, "age": 2, "price": 1}}}, "weight of feature 'title' is True"),
        ({"params": {"weights": {"title": 10**400, "age": 2, "price": 1}}}, "'title' is beyond all floats"),
        ({"params": None}, "params is not there; it must be an object"),
        ({"features": {"name": "age"}}, "features is an object; it must be a list"),
        ({"features": [{"name": ""}]}, "the name of feature 1 is ''; it must be a text"),
        ({"features": [{"name": "age"}, {"name": "age"}]}, "'age' is listed twice"),
        ({"features": [{"name": "age", "norm": {"class": "my.Norm"}}]}, "'age' is normalised by 'my.Norm'. Only"),
    ],
)
def test_solr_models_that_cannot_be_read_say_why(written, changes, message):
    with pytest.raises(DataFormatError, match=message):
        import_model(written(solr(**changes)))


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("StandardNormalizer", {"std": "0"}, "std of feature 'age' is 0, and Solr refuses it"),
        ("StandardNormalizer", {"std": "1_0"}, "std of feature 'age' is '1_0'; it must be a finite number"),
        ("StandardNormalizer", {"std": "nan"}, "std of feature 'age' is 'nan'"),
        ("StandardNormalizer", {"std": "1e-320"}, "out of the range of numbers"),
        ("MinMaxNormalizer", {"min": "1", "max": 1}, "min and max of feature 'age' are both 1"),
        ("MinMaxNormalizer", {"min": "1"}, "max of feature 'age' is not there"),
    ],
)
def test_solr_normalisers_that_solr_refuses_are_refused(written, kind, params, message):
    norm = {"class": f"org.apache.solr.ltr.norm.{kind}", "params": params}
    model = solr(features=[{"name": "age", "norm": norm}], params={"weights": {"age": 2}})
    with pytest.raises(DataFormatError, match=message):
        import_model(written(model))


def test_several_models_in_one_file_are_named(written):
    with pytest.raises(DataFormatError, match=r"holds 2 models \(m1, m2\). Keep the one"):
        import_model(written({"models": [solr(), solr(name="m2")]}))


@pytest.mark.parametrize(
    "around",
    [
        lambda body: body,
        lambda body: {"_index": ".ltrstore", "found": True, "_source": {"type": "model", **body}},
        lambda body: {"hits": {"total": 1, "hits": [{"_source": {"type": "model", **body}}]}},
    ],
)
@pytest.mark.parametrize("as_text", [True, False])
def test_the_plugins_model_is_read_as_sent_and_as_returned(written, around, as_text):
    definition = {"title": 0.3, "age": -2}
    features = {"name": "set", "features": [{"name": name, "params": []} for name in ("age", "price", "title")]}
    norms = {
        "title": {"standard": {"mean": 5, "standard_deviation": 0.5}},
        "age": {"min_max": {"minimum": 1, "maximum": 5}},
    }
    body = plugin(definition=json.dumps(definition) if as_text else definition, norms=norms, feature_set=features)
    model = import_model(written(around(body)))
    assert model.feature_names == ("age", "price", "title")
    assert model.weights.tolist() == [-0.5, 0.0, 0.6]
    assert model.method == "imported from ltr-plugin"
    without = import_model(written(around(plugin(definition=json.dumps(definition)))))
    assert dict(zip(without.feature_names, without.weights, strict=True)) == definition


def test_ranklibs_numbers_inside_the_plugin_are_places_in_its_feature_set(written):
    features = {"features": [{"name": name} for name in ("age", "price", "title")]}
    body = plugin("model/ranklib", "## Linear Regression\n## Lambda = 1\n0:5 1:0.5 3:2\n", feature_set=features)
    model = import_model(written(body))
    assert (model.feature_names, model.weights.tolist()) == (("age", "price", "title"), [0.5, 0.0, 2.0])
    named = plugin("model/ranklib", "## Coordinate Ascent\ntitle:0.5 age:2\n", feature_set=features)
    assert import_model(written(named)).weights.tolist() == [2.0, 0.0, 0.5]
    with pytest.raises(DataFormatError, match="feature 4 has a weight, and the feature set has 3"):
        import_model(written(plugin("model/ranklib", "## Coordinate Ascent\n4:1\n", feature_set=features)))


@pytest.mark.parametrize("number", ["1" * 5000, "\u0663", "\u0660", "1_0", "+1"])
def test_places_in_a_feature_set_are_in_ordinary_digits(written, number):
    features = {"features": [{"name": name} for name in ("age", "price", "title")]}
    body = plugin("model/ranklib", f"## Coordinate Ascent\n1:2 {number}:0.5\n", feature_set=features)
    with pytest.raises(DataFormatError, match="has a weight and is not in the feature set"):
        import_model(written(body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (plugin("model/xgboost+json", "[]"), r"is a 'model/xgboost\+json', which is not a weighted sum"),
        (plugin("model/ranklib", "## LambdaMART\n"), "a 'LambdaMART' model of RankLib's"),
        (
            plugin(definition='{"a": 1, "a": 2}'),
            "definition: is not JSON that .* trusted: the key 'a' is there twice",
        ),
        (plugin(definition='{"a": NaN}'), "NaN is no number of JSON's"),
        (plugin(definition='{"a": "1"}'), "the weight of feature 'a' is '1'; it must be a finite number"),
        (plugin(definition="{oops"), "definition:1: is not JSON"),
        (plugin(feature_set={"features": [{"name": "age"}]}), "'title' has a weight and is not in the feature set"),
        (plugin(norms={"x": {"standard": {}}}), "'x' is normalised and has no weight"),
        (plugin(norms={"age": {"log": {}}}), "'age' is normalised by 'log'; there are standard and min_max"),
        (plugin(norms={"age": {"standard": {"mean": 1}}}), "standard_deviation of feature 'age' is not there"),
        (plugin(norms={"age": {"min_max": {"minimum": 2, "maximum": 2}}}), "'age' is divided by 0, and the plugin"),
        ({"_source": {"name": "m"}, "found": True}, "model is not there; it must be an object"),
        ({"model": {"name": "m"}}, "model.model is not there"),
    ],
)
def test_plugin_models_that_cannot_be_read_say_why(written, body, message):
    with pytest.raises(DataFormatError, match=message):
        import_model(written(body))


def test_ranklibs_numbers_are_positions_and_those_left_out_weigh_nothing(written):
    model = import_model(written(RANKLIB))
    assert model.feature_names == ("1", "2", "3", "4")
    assert model.weights.tolist() == [0.3, -0.5, 0.0, 1e-4]
    assert model.training["ranklib"] == "Coordinate Ascent"
    rows = np.random.default_rng(0).normal(size=(5, 4))
    assert model.predict(rows) == pytest.approx(0.3 * rows[:, 0] - 0.5 * rows[:, 1] + 1e-4 * rows[:, 3])


def test_names_that_an_export_tells_ranklib_are_read_back(written):
    model = import_model(written("## Coordinate Ascent\n## 1 = title: bm25\n## 3 = age\n1:0.5 2:0.0 3:2\n"))
    assert (model.feature_names, model.weights.tolist()) == (("title: bm25", "age"), [0.5, 2.0])
    with pytest.raises(DataFormatError, match=r"given:3: a feature is named twice: '## 2 = age'"):
        import_model(written("## Coordinate Ascent\n## 1 = age\n## 2 = age\n1:0.5 2:1\n"))
    with pytest.raises(DataFormatError, match="feature 2 has a weight and no line '## 2 = name'"):
        import_model(written("## Coordinate Ascent\n## 1 = 2\n1:0.5 2:1\n"))


def test_the_constant_of_linear_regression_changes_no_order(written):
    model = import_model(written("## Linear Regression\n## Lambda = 1.0E-10\n0:7.5 1:0.25 2:3\n"))
    assert model.weights.tolist() == [0.25, 3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## LambdaMART\n<ensemble>\n", r"given:1: is a 'LambdaMART' model of RankLib's, which is not"),
        ("## Coordinate Ascent\n", "has no line of weights"),
        ("## Coordinate Ascent\n1:0.5 x:2\n", r"given:2: 'x:2' is not feature:weight"),
        ("## Coordinate Ascent\n1:0.5 2\n", "'2' is not feature:weight"),
        ("## Coordinate Ascent\n1:0.5 01:2\n", r"given:2: feature 1 is there twice"),
        ("## Coordinate Ascent\n1:0x10\n", "the weight of feature 1 is '0x10'"),
        ("## Coordinate Ascent\n1:1e999\n", "the weight of feature 1 is '1e999'"),
        ("## Coordinate Ascent\n1:1\n2:1\n", r"given:3: is a second line of weights"),
        ("## Coordinate Ascent\n1:1 4000000000:1\n", "feature 4000000000 has a weight, among 2 in all"),
        (f"## Coordinate Ascent\n1:1 {'9' * 5000}:1\n", "feature 9{40} has a weight, among 2"),
    ],
)
def test_ranklib_files_that_cannot_be_read_say_where(written, text, message):
    with pytest.raises(LinrankError, match=message):
        import_model(written(text))


def test_liblinears_sum_speaks_for_the_label_named_first(written):
    assert import_model(written(LIBLINEAR)).weights.tolist() == [0.25, 0.0, -1.5e-3]
    higher_first = LIBLINEAR.replace("nr_feature", "label 1 0\nnr_feature")
    assert import_model(written(higher_first)).weights.tolist() == [0.25, 0.0, -1.5e-3]
    flipped = import_model(written(LIBLINEAR.replace("nr_feature", "label 0 1\nnr_feature")))
    assert flipped.weights.tolist() == [-0.25, 0.0, 1.5e-3]
    assert not np.signbit(flipped.weights[1])


def test_liblinears_bias_is_no_feature(written):
    model = import_model(written(LIBLINEAR.replace("bias -1", "bias 1") + "17 \n"))
    assert model.weights.tolist() == [0.25, 0.0, -1.5e-3]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nr_class 2", "nr_class 3", "tells 3 classes apart by L2R_L2LOSS_RANKSVM"),
        ("nr_class 2", "nr_class two", "nr_class is 'two'; it must be a whole number"),
        ("L2R_L2LOSS_RANKSVM", "MCSVM_CS", "tells 2 classes apart by MCSVM_CS"),
        ("L2R_L2LOSS_RANKSVM", "ONECLASS_SVM", "finds outliers"),
        ("nr_feature 3", "nr_feature 4", "has 3 lines of weights for 4 features. Restore"),
        ("bias -1", "bias 1", "has 3 lines of weights for 3 features and the bias"),
        ("bias -1\n", "", "has no line 'bias …' above 'w'"),
        ("w\n0.25", "0.25", "given:5: '0.25' is none of solver_type"),
        ("bias -1", "bias -1\nbias -1", "given:5: 'bias' is there twice"),
        ("0.25 \n", "0.25 3\n", "given:6: has 2 numbers where one weight"),
        ("0.25 \n", "inf\n", "given:6: the weight of feature 1 is 'inf'"),
        ("nr_feature", "label 1 1\nnr_feature", "label is '1 1'; two different labels"),
        ("nr_feature", "label\nnr_feature", "label is ''; two different labels"),
    ],
)
def test_liblinear_files_that_cannot_be_read_say_where(written, old, new, message):
    with pytest.raises(DataFormatError, match=message):
        import_model(written(LIBLINEAR.replace(old, new, 1)))


def test_numbers_get_names_from_a_list_from_data_or_one_by_one(written):
    names = ("title", "age", "clicks", "price", "new")
    data = RankingDataset.from_arrays(np.zeros((2, 5)), [0, 1], qid=[1, 1], feature_names=names)
    for called in (names, list(names), data):
        model = import_model(written(RANKLIB), names=called)
        assert (model.feature_names, model.weights.tolist()) == (names, [0.3, -0.5, 0.0, 1e-4, 0.0])
    some = import_model(written(RANKLIB), names={"2": "age"})
    assert some.feature_names == ("1", "age", "3", "4")
    with pytest.raises(LinrankError, match="has 4 features, and 2 names are given"):
        import_model(written(RANKLIB), names=["a", "b"])
    with pytest.raises(LinrankError, match="has no feature '7' to rename; it has 1, 2, 3, 4"):
        import_model(written(RANKLIB), names={"7": "age"})
    with pytest.raises(LinrankError, match="two features would be called 'age'"):
        import_model(written(RANKLIB), names={"2": "age", "1": "age"})
    with pytest.raises(LinrankError, match="has names of its own, such as 'age'"):
        import_model(written(solr()), names=["a", "b", "c"])
    assert import_model(written(solr()), names={"age": "years"}).feature_names == ("years", "price", "title")


def test_weights_of_numbered_features_keep_their_positions(written):
    # As `export --to json` writes a model of svmlight text: without those of weight 0.
    model = import_model(written('{"2": 0.5, "5": 1}'))
    assert model.feature_names == ("1", "2", "3", "4", "5")
    assert model.weights.tolist() == [0.0, 0.5, 0.0, 0.0, 1.0]


def test_the_constant_that_carries_a_shift_is_no_feature(tmp_path):
    export(weights(0.5, 2.0), "solr", shift=3.0, out=tmp_path / "made")
    model = import_model(tmp_path / "made")
    assert model.feature_names == AWKWARD[:2]
    assert model.training["shift"] == 3.0


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (json.dumps(solr()), "solr"),
        (json.dumps(plugin()), "ltr-plugin"),
        (RANKLIB, "ranklib"),
        (LIBLINEAR, "liblinear"),
        ('{"class": 0.5, "models": 1, "model": 2}', "json"),
        ('\ufeff{"a": 1}', "json"),
        ("feature,weight\r\nage,0.5\r\n", "csv"),
    ],
)
def test_a_form_is_known_by_its_content_and_only_one_fits(content, form, written):
    text = Given("given", content.removeprefix("\ufeff"))
    assert [name for name, known in FORMS.items() if known.is_one(text)] == [form]
    assert import_model(written(content)).method == f"imported from {form}"
    assert import_model(written(content), form=form).training["form"] == form


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "[[]]",
        "{}",
        "null",
        '"text"',
        "## ",
        "##",
        "w",
        "solver_type",
        "solver_type X\nw\n",
        "feature,weight",
        "a,b\n",
        'feature,weight\n"a',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"model": {"model": 3}}',
        '{"class": {}, "models": {}}',
        '{"hits": {"hits": [3]}}',
        '{"models": [3]}',
        '{"a": null}',
    ],
    ids=lambda text: text[:20],
)
def test_whatever_is_in_a_file_the_error_is_one_about_the_file(content, form, written):
    for wanted in (form, None):
        with pytest.raises(LinrankError, match=r"given"):
            import_model(written(content), form=wanted)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("feature,weight\nage,1\nage,2\n", r"given:3: feature 'age' is there twice"),
        ("feature,weight\nage\n", r"given:2: has 1 fields"),
        ("feature,weight\nage,one\n", r"given:2: the weight of feature 'age' is 'one'"),
        ('{"age": 1,\n "age": 2}', "'age' is there twice"),
        ('{"age": 1,\n "x": }', "given:2: is not JSON"),
        ('{"age": 1e999}', "'age' is inf; it must be a finite number"),
        ("1 qid:3 1:0.5\n", "is no form of a model that is known here: solr, ltr-plugin"),
    ],
)
def test_plain_weights_that_cannot_be_read_say_where(written, content, message):
    with pytest.raises(LinrankError, match=message):
        import_model(written(content))


def test_what_is_no_text_or_not_there_is_said(tmp_path):
    (tmp_path / "zip").write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(DataFormatError, match="is not text: byte 4 is not UTF-8"):
        import_model(tmp_path / "zip")
    with pytest.raises(DataFormatError, match="cannot be read: No such file"):
        import_model(tmp_path / "nowhere")


def test_a_form_that_is_none_is_refused(written):
    with pytest.raises(LinrankError, match="there is no form 'xml' of a model; there are solr"):
        import_model(written("{}"), form="xml")


@pytest.mark.parametrize(
    "content", [json.dumps(solr()), json.dumps(plugin()), RANKLIB, LIBLINEAR, "feature,weight\na,1\n"]
)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_read_or_refused_and_nothing_else(content, seed, tmp_path):
    rng = random.Random(seed)
    letters = list(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(letters))
        letters[place : place + rng.choice([1, 1, 1, 20])] = rng.choice(
            ["", "9", "{", '"', ":", "-", " ", "\n", "e", "w"]
        )
        letters = letters or ["x"]
    (tmp_path / "damaged").write_text("".join(letters), encoding="utf-8")
    refused = ""
    try:
        model = import_model(tmp_path / "damaged")
    except LinrankError as error:
        refused = str(error)
    assert "damaged" in refused or np.isfinite(model.weights).all()


def test_the_hash_is_that_of_the_file_as_it_is(tmp_path):
    content = b"\xef\xbb\xbffeature,weight\r\nage,1.5\r\n"
    (tmp_path / "given").write_bytes(content)
    model = import_model(tmp_path / "given")
    assert (model.feature_names, model.training["file_sha256"]) == (("age",), hashlib.sha256(content).hexdigest())
