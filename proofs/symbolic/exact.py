"""The true meaning of products, for the second question after a spurious model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofs.symbolic.atoms import Product, Valuation
from proofs.symbolic.backend import Ast
from proofs.symbolic.lowering import Lowering
from proofs.symbolic.multiples import shared_factors


def pinned(lowering: Lowering, products: Sequence[Product], at: Valuation) -> list[Ast]:
    """One factor of each product fixed at its value: linear, true, but not general.

    Products with a common factor are pinned there, which leaves the others free.
    """
    z3, facts = lowering.z3, []
    shared = shared_factors(products)
    for product in products:
        quadratic = len(product.factors) == 2
        factor = shared[product] if quadratic else product.left
        cofactor = product.left if quadratic and factor is product.right else product.right
        scaled: Any = cofactor.term * at[factor]
        facts.append(z3.equal(lowering.term(factor.term), z3.numeral(at[factor])))
        facts.append(z3.equal(lowering.constant(product), lowering.term(scaled)))
    return facts


def multiplied(lowering: Lowering, products: Sequence[Product]) -> list[Ast]:
    """Each product equal to the product of its factors: exact, but nonlinear."""
    z3, term = lowering.z3, lowering.term
    return [
        z3.equal(lowering.constant(p), z3.times(term(p.left.term), term(p.right.term)))
        for p in products
    ]
