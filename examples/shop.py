"""A small shop to try a search engine on: products, queries and judgments, all made up by a seed.

    python examples/shop.py [FOLDER]

writes shop/products.json (a list of documents), shop/queries.txt (one a line) and shop/judgments.csv
(query,docid,rating). Ratings depend on how much of the query is in the title and in the text, and on how popular and
how new a product is, with noise: what a ranker should find out.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from pathlib import Path

KINDS = ["tent", "lamp", "boots", "jacket", "stove", "rope", "bottle", "knife", "compass", "backpack"]
TRAITS = ["light", "warm", "red", "folding", "small", "steel", "winter", "quick", "dry", "green"]
N_PRODUCTS, N_QUERIES = 300, 40


def products(rng):
    for number in range(N_PRODUCTS):
        kind, traits = rng.choice(KINDS), rng.sample(TRAITS, 3)
        others = rng.choices(KINDS + TRAITS, k=12)
        yield {
            "id": f"p{number:03d}",
            "title": f"{traits[0]} {traits[1]} {kind}",
            "text": f"{traits[2]} {kind} {' '.join(others)}",
            "popularity": round(rng.paretovariate(1.5), 3),
            "age_days": rng.randrange(1, 1500),
            "price": round(rng.uniform(5, 300), 2),
        }


def rating(rng, words, product):
    """From 0 to 4: words in the title count most, then those in the text, then popularity and age."""
    title, text = product["title"].split(), product["text"].split()
    worth = 1.4 * sum(word in title for word in words) + 0.5 * sum(word in text for word in words)
    worth += 0.35 * min(product["popularity"], 5.0) - 0.0006 * product["age_days"] + rng.gauss(0.0, 0.3)
    return max(0, min(4, round(worth)))


def main(folder):
    rng = random.Random(7)  # noqa: S311 - made up, and the same every time
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    shop = list(products(rng))
    queries = rng.sample([f"{trait} {kind}" for trait in TRAITS for kind in KINDS], N_QUERIES)
    (place / "products.json").write_text(json.dumps(shop, indent=1) + "\n")
    (place / "queries.txt").write_text("\n".join(queries) + "\n")
    with (place / "judgments.csv").open("w", newline="") as file:
        judged = csv.writer(file)
        judged.writerow(("query", "docid", "rating"))
        for query in queries:
            words = query.split()
            found = [product for product in shop if set(words) & set(f"{product['title']} {product['text']}".split())]
            judged.writerows((query, product["id"], rating(rng, words, product)) for product in found)
    print(f"{place}: {len(shop)} products, {len(queries)} queries, their judgments")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "shop")
