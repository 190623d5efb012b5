"""Rank profiles as exported to Vespa: names to try, and what is in them."""

import re

RANK_FEATURES = (
    *(
        "bm25(title)",
        "attribute(price)",
        "fieldMatch(title).completeness",
        "freshness(ts)",
        "query(user_age)",
        "nativeRank",
    ),
    *("attribute(tags,red).weight", 'foo("need quote")', "term(0).significance", "closeness(field,embedding)", "now"),
    *("attribute(pos.x)", "my_function", "random.match", "fieldTermMatch(title,0).occurrences", "attribute(count)"),
    *("foo(bar(baz(5.5)))", 'foo("bar(\\"baz\\")")', "elementSimilarity(tags).max", "attributeMatch(a).weight", "_x1"),
)


def names_and_expression(profile):
    """What the profile says of each hit, and its expression."""
    match = re.fullmatch(
        r"rank-profile \S+ inherits \S+ \{\n(?:    inputs \{\n(?:        query.*\n)+    \}\n)?"
        r"    \S+-phase \{\n(?:        rerank-count: \d+\n)?        expression \{\n(.*?)\n        \}\n    \}\n"
        r"    match-features \{\n(.*?)\n    \}\n\}\n",
        profile,
        re.DOTALL,
    )
    return [line.strip() for line in match[2].splitlines()], match[1]
