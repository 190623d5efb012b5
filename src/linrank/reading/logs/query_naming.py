"""Which of the ways in which responses name their queries is meant: that by which they are judged."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from linrank.errors import DataFormatError, LinrankError
from linrank.reading.logs.gathering import Response
from linrank.reading.logs.responses import NAMED_BY_FILE, WAYS_OF_NAMING

_REMEDY = (
    'Write {"qid": …, "response": {…}} a line, or one file a query, named after it; query_from=… says where the name '
    "is: file, params.q of Solr's header, or a field of the line."
)


def way_of_naming(responses: Sequence[Response], judged: Collection[str], query_from: str | None, source: str) -> str:
    """Of the ways in which all responses are named, the one by which most of them are judged; then the first."""
    ways = [query_from] if query_from is not None else list(WAYS_OF_NAMING)
    common = [way for way in ways if all(way in response.names for response in responses)]
    if not common:
        _refuse_unnamed(responses, ways)
    n_judged = {way: sum(response.names[way] in judged for response in responses) for way in common}
    way = max(common, key=n_judged.__getitem__)
    if not n_judged[way]:
        logged = {response.names[common[0]]: None for response in responses}
        raise LinrankError(
            f"{source}: judges none of the queries of the logs: {some(judged)} against {some(logged)} by "
            f"{in_words(common[0])}. Use judgements of these queries, or say with query_from=… where their names are."
        )
    return way


def in_words(way: str) -> str:
    """How a way of naming is said."""
    return "the file's name" if way == NAMED_BY_FILE else f"{way!r}"


def some(names: Collection[str]) -> str:
    first = [repr(name) for name, _ in zip(names, range(3), strict=False)]
    return ", ".join([*first, "…"] if len(names) > 3 else first)


def _refuse_unnamed(responses: Sequence[Response], ways: list[str]) -> None:
    # The way that most are named by is what the others lack.
    usual = max(ways, key=lambda way: sum(way in response.names for response in responses))
    lacking = next(response for response in responses if usual not in response.names)
    others = any(usual in response.names for response in responses)
    said = (
        f"{in_words(usual)} names the query of others, and is not here" if others else "nothing says which query it is"
    )
    raise DataFormatError(lacking.place.source, lacking.place.line, f"{said}. {_REMEDY}")
