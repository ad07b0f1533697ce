"""What is changed for ``mutants``: every guard, sign, constant and connective, once.

Every comparison, arithmetic sign, constant, connective and branch of the functions in ``TARGETS``
and ``RECORDS``.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spec.invariants import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]

TARGETS: dict[str, tuple[str, ...]] = {
    "model.policies": ("decide",),
    "model.planning": (
        "threshold_in_force",
        "surely_ends_in_flight",
        "capped",
        "running_rows",
        "waiting_rows",
        "mamba_aligned_rows",
        "scheduled_drafts",
    ),
    "model.step": ("commit", "retract"),
    "model.kv_cache": ("allocate_slots", "free", "capacity"),
    "model.scheduler": (
        "urgency",
        "schedule",
        "begin_step",
        "schedule_running",
        "schedule_waiting",
        "try_running",
        "try_waiting",
        "lowest_priority",
        "preempt",
        "finish_load",
        "update_after_schedule",
        "finish",
        "_start_load",
        "_enqueue",
        "_decided",
    ),
    "model.engine": (
        "step",
        "book",
        "book_share",
        "abort",
        "_record_step",
        "_record_pool",
        "request_state",
    ),
    "model.output": (
        "book_counters",
        "roll_back_rejected",
        "append_tokens",
        "propose_drafts",
    ),
}
"""Module → functions whose guards are mutated."""

RECORDS: dict[str, tuple[str, ...]] = {
    "spec.excuses": ("admits_prefill", "waits_for_output", "ends_in_flight"),
    "model.observation": ("decision", "advance", "_must_wait", "_pool_is_short"),
    "model.hindsight": (
        "look_back",
        "withdraw",
        "recount",
        "group_has_prefill",
        "queued",
        "missed",
        "got_rows",
    ),
    "model.output": ("booking", "is_decode"),
    "spec.promises": tuple({entry.claim.__name__: None for entry in CATALOGUE}),
}
"""Module → functions that say what was done and what must hold: a wrong one hides a breach."""

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
SWAPPED = "swapped_"
"""Prefix of a connective put in for another: the module's own names keep their meaning."""
RELATIONS = ("<=", ">=", "==")
"""The relations of a ``Claim``, which are words there."""
SWAPPED_CALLS = {"min": "max", "max": "min", "all_of": "any_of", "any_of": "all_of"}


@dataclass(frozen=True)
class Mutant:
    """One change: where, and what to what."""

    module: str
    function: str
    line: int
    change: str
    source: str

    @property
    def name(self) -> str:
        """How reports and ``EQUIVALENT`` call it: line numbers move, this does not."""
        return f"{self.module}.{self.function}: {self.change}"

    @property
    def is_of_record(self) -> bool:
        """Whether it changes what is said about a step, not what the step does."""
        return self.function in RECORDS.get(self.module, ())


def mutants() -> Iterator[Mutant]:
    """Every mutant, in source order."""
    for module, functions in (*TARGETS.items(), *RECORDS.items()):
        path = ROOT / (module.replace(".", "/") + ".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for scope in (tree, *(n for n in tree.body if isinstance(n, ast.ClassDef))):
            prefix = f"{scope.name}." if isinstance(scope, ast.ClassDef) else ""
            for function in scope.body:
                if isinstance(function, ast.FunctionDef) and function.name in functions:
                    yield from _of_function(module, tree, function, prefix + function.name)


def _of_function(
    module: str, tree: ast.Module, function: ast.FunctionDef, qualified: str
) -> Iterator[Mutant]:
    runs = [*function.args.defaults, *function.body]  # annotations are not run
    nodes = [node for part in runs for node in ast.walk(part) if hasattr(node, "lineno")]
    for node in nodes:
        for change, mutated in _changes(node):
            marked = copy.copy(node)
            before = ast.unparse(_context(function, node)).splitlines()[0]
            _become(node, mutated)
            source = ast.unparse(tree)
            _become(node, marked)
            yield Mutant(module, qualified, node.lineno, f"{change} in `{before}`", source)


def _context(function: ast.FunctionDef, node: ast.AST) -> ast.AST:
    """The smallest statement, condition or named argument the node stands in, for the report."""
    best: ast.AST = node
    for part in ast.walk(function):
        is_part = isinstance(part, (ast.stmt, ast.keyword))
        if is_part and any(child is node for child in ast.walk(part)):
            best = part
    return best.test if isinstance(best, (ast.If, ast.While)) else best


def _become(node: ast.AST, other: ast.AST) -> None:
    node.__class__ = other.__class__
    node.__dict__.clear()
    node.__dict__.update(other.__dict__)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS.get(type(node.ops[0]), ()):
            mutated = copy.copy(node)
            mutated.ops = [other()]
            yield f"{type(node.ops[0]).__name__} -> {other.__name__}", mutated
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        mutated_op = copy.copy(node)
        mutated_op.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield "+ <-> -", mutated_op
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        mutated_op = copy.copy(node)
        mutated_op.op = ast.BitOr() if isinstance(node.op, ast.BitAnd) else ast.BitAnd()
        yield "& <-> |", mutated_op
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
        mutated_aug = copy.copy(node)
        mutated_aug.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield "+= <-> -=", mutated_aug
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        for delta in (1, -1):
            yield f"{node.value} -> {node.value + delta}", ast.Constant(node.value + delta)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{node.value} -> {not node.value}", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and node.value in RELATIONS:
        for relation in RELATIONS:
            if relation != node.value:
                yield f"{node.value} -> {relation}", ast.Constant(relation)
    elif isinstance(node, ast.If):
        mutated_if = copy.copy(node)
        mutated_if.test = ast.Constant(False)
        yield "branch never taken", mutated_if
        mutated_if = copy.copy(node)
        mutated_if.test = ast.Constant(True)
        yield "branch always taken", mutated_if
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in SWAPPED_CALLS
    ):
        mutated_call = copy.copy(node)
        other_name = SWAPPED_CALLS[node.func.id]
        mutated_call.func = ast.Name(SWAPPED + other_name, ast.Load())
        yield f"{node.func.id} -> {other_name}", mutated_call
