"""A forking symbolic executor for ordinary Python over integers and booleans."""

from proofs.symbolic.answers import Answer, Assignment, Proved, Refuted, Undecided, evaluate
from proofs.symbolic.bools import SymBool
from proofs.symbolic.context import Context
from proofs.symbolic.errors import NondeterminismError, Unsupported
from proofs.symbolic.explore import Exploration, Statistics
from proofs.symbolic.ground import Ground, Grounds
from proofs.symbolic.ints import SymInt
from proofs.symbolic.merging import ite, sym_all, sym_any, sym_len, sym_max, sym_min, sym_sum
from proofs.symbolic.path import Path
from proofs.symbolic.seq import SymSeq
from proofs.symbolic.trail import Decision, Gap, Limits, Where
from proofs.symbolic.veiled import Veiled, refused

__all__ = [
    "Answer",
    "Assignment",
    "Context",
    "Decision",
    "Exploration",
    "Gap",
    "Ground",
    "Grounds",
    "Limits",
    "NondeterminismError",
    "Path",
    "Proved",
    "Refuted",
    "Statistics",
    "SymBool",
    "SymInt",
    "SymSeq",
    "Undecided",
    "Unsupported",
    "Veiled",
    "Where",
    "evaluate",
    "ite",
    "refused",
    "sym_all",
    "sym_any",
    "sym_len",
    "sym_max",
    "sym_min",
    "sym_sum",
]
