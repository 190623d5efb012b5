"""Linear rankers as steps of the pipelines that skl2onnx converts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linrank.errors import LinrankError, MissingDependencyError
from linrank.estimators.catalogue import METHODS
from linrank.estimators.linear_ranker import LinearRanker


def register_onnx_converter() -> None:
    """Tell skl2onnx how every linear ranker is converted, alone or as the last step of a `Pipeline`.

    Call it once, then `skl2onnx.to_onnx(pipeline, X[:1])`. Scores come as one column, as those of any regressor do:
    float64 where the input is, and otherwise float32. A ranker of your own that is a `LinearRanker` is known too, if
    its class is there when this is called.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise MissingDependencyError("skl2onnx", "onnx", "converting a pipeline") from None
    for ranker in _linear_rankers():
        # By its module too: two classes of one name are two converters.
        alias = f"{ranker.__module__}.{ranker.__qualname__}"
        update_registered_converter(ranker, alias, _declare_scores, _add_product)


def _linear_rankers() -> Iterator[type[LinearRanker]]:
    from linrank.estimators import rank_svm_cv  # noqa: F401 - no method of its own, but a class

    for method in METHODS.values():
        if method.is_installed:
            method.load()
    waiting = [LinearRanker]
    while waiting:
        ranker = waiting.pop()
        waiting += ranker.__subclasses__()
        yield ranker


def _declare_scores(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    rows = operator.inputs[0].type
    kind = DoubleTensorType if isinstance(rows, DoubleTensorType) else FloatTensorType
    operator.outputs[0].type = kind([rows.shape[0], 1])


def _add_product(scope: Any, operator: Any, container: Any) -> None:
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType

    rows, scores = operator.inputs[0], operator.outputs[0]
    number = TensorProto.DOUBLE if isinstance(scores.type, DoubleTensorType) else TensorProto.FLOAT
    weights, numbers = (scope.get_unique_variable_name(name) for name in ("weights", "rows"))
    if operator.raw_operator.transform_ is not None:
        raise LinrankError(
            f"{type(operator.raw_operator).__name__} has transforms, which no step of a pipeline has. Export it alone: "
            "linrank.export(ranker, 'onnx')."
        )
    coef = operator.raw_operator.coef_
    container.add_initializer(weights, number, [len(coef), 1], coef.tolist())
    # Whole numbers are no operands of a product with weights.
    container.add_node("Cast", rows.full_name, numbers, to=number, name=scope.get_unique_operator_name("Cast"))
    product = scope.get_unique_operator_name("MatMul")
    container.add_node("MatMul", [numbers, weights], scores.full_name, name=product)
