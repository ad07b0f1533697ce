"""What two multiples of the same number know about each other.

Products are opaque to the solver (`definitions`).  The lemma that is missing again and
again in block arithmetic is that multiples of one factor are ordered like their
cofactors and at least one factor apart: ``x < y`` implies ``f*x + f <= f*y``.  It is
stated for each pair of products that meet in one query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from proofs.symbolic.atoms import Atom, Product


def ordering(one: Product, two: Product) -> Iterator[Any]:
    """Facts about a pair of quadratic monomials with a common, positive factor."""
    for factor in dict.fromkeys(one.factors):
        if factor not in two.factors:
            continue
        x, y = _cofactor(one, factor), _cofactor(two, factor)
        if x is None or y is None:
            continue
        f, p, q = factor.term, one.term, two.term
        undefined: Any = f <= 0
        yield undefined | (x.term >= y.term) | (p + f <= q)
        yield undefined | (x.term <= y.term) | (q + f <= p)
        yield (x.term != y.term) | (p == q)


def _cofactor(product: Product, factor: Atom) -> Atom | None:
    if len(product.factors) != 2:
        return None
    left, right = product.factors
    return right if left is factor else left


def shared_factors(products: Iterable[Product]) -> dict[Product, Atom]:
    """For each product the factor it has in common with most others."""
    counts = Counter(factor for product in products for factor in set(product.factors))
    return {
        product: max(product.factors, key=lambda factor: (counts[factor], -factor.index))
        for product in products
    }
