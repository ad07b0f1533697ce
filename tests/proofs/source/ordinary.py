"""Ordinary Python that a change of a scheduler may contain, and that decides nothing by itself.

Each text does something with the rows of a waiting request that leaves them as they are, or asks a
question whose answer is known: were it run otherwise than Python runs it, the rows would be
negative.  ``== name`` begins a text, ``-- part`` a part of `mini.text`.
"""

from __future__ import annotations

TEXTS = """
== a partial
-- imports
from functools import partial
up = partial(min, 2)
-- admit
cut = partial(min, rows)
rows = cut(rows)
if up(3) != 2:
    rows = -rows

== a partial with a keyword
-- imports
import functools
def f(a, *, b):
    return a + b
g = functools.partial(f, b=0)
-- admit
rows = g(rows)

== a partial that is kept
-- init
self.cut = partial(self.cap)
-- imports
from functools import partial
-- admit
rows = self.cut(rows)

== a named tuple
-- imports
from typing import NamedTuple
class Plan(NamedTuple):
    rows: int
    padded: bool = False
    def total(self) -> int:
        return self.rows
-- admit
plan = Plan(rows, padded)
rows, padded = plan
rows = plan.total()
rows = plan._replace(rows=rows).rows
plan = Plan(rows=rows)
rows = plan[0]

== named tuples compared
-- imports
from typing import NamedTuple
class Plan(NamedTuple):
    rows: int
    padded: bool = False
-- admit
if Plan(rows) != (rows, False):
    rows = -rows

== a named tuple by its module
-- imports
import typing
class Plan(typing.NamedTuple):
    rows: int
-- admit
rows = Plan(rows).rows

== namedtuple()
-- imports
from collections import namedtuple
Plan = namedtuple('Plan', 'rows padded')
Q = namedtuple('Q', ['a', 'b'], defaults=[1])
-- admit
plan = Plan(rows, padded)
rows = plan.rows if Q(1).b == 1 else -rows
rows = Plan._make([rows, 1]).rows
if plan._asdict()['rows'] != rows:
    rows = -rows

== derived from namedtuple()
-- imports
import collections
class Plan(collections.namedtuple('Plan', 'rows padded')):
    def get(self):
        return self.rows
-- admit
rows = Plan(rows, padded).get()

== dataclass
-- imports
from dataclasses import dataclass, field
@dataclass
class Plan:
    rows: int
    ids: list[int] = field(default_factory=list)
    def total(self):
        return self.rows
-- admit
plan = Plan(rows)
plan.ids.append(rows)
rows = plan.total()
plan.rows = rows
rows = plan.ids[0]

== dataclass opts
-- imports
import dataclasses
from typing import ClassVar
@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    rows: int
    padded: bool = dataclasses.field(default=False)
    N: ClassVar[int] = 3
-- admit
plan = Plan(rows, padded)
rows = plan.rows
if plan != Plan(rows, padded) or Plan.N != 3:
    rows = -rows
rows = dataclasses.replace(plan, rows=rows).rows

== dataclass order kw_only
-- imports
from dataclasses import dataclass, field
@dataclass(order=True, kw_only=True)
class Plan:
    rows: int
    padded: bool = False
    def __post_init__(self):
        self.more = self.rows
@dataclass
class More(Plan):
    x: int = 0
-- admit
plan = max(Plan(rows=rows), Plan(rows=rows - 1))
rows = plan.more
rows = More(0, rows=rows).rows

== dataclass in state
-- imports
from dataclasses import dataclass, field
@dataclass(slots=True)
class Plan:
    limit: int = 3
-- init
self.plan = Plan()
-- admit
if self.plan.limit != 3:
    rows = -rows

== dataclass global const
-- imports
from dataclasses import dataclass
@dataclass(frozen=True)
class Plan:
    limit: int = 1
LIMITS = {'a': Plan(), 'b': Plan(2)}
-- admit
if LIMITS['b'].limit != 2:
    rows = -rows

== dataclass hash key
-- imports
from dataclasses import dataclass
@dataclass(frozen=True)
class Key:
    rid: str
-- admit
d = {Key(request.request_id): rows}
rows = d[Key(request.request_id)]

== slots
-- imports
class Plan:
    __slots__ = ('rows', '_x')
    def __init__(self, rows):
        self.rows = rows
-- init
self.plan = Plan(3)
-- admit
plan = Plan(rows)
rows = plan.rows
if self.plan.rows != 3:
    rows = -rows

== match const
-- admit
kind = 'a' if padded else 'b'
match kind:
    case 'a' | 'c':
        rows = rows
    case 'b':
        rows += 0
    case _:
        rows = -rows

== match enum
-- admit
match self.policy:
    case SchedulingPolicy.FCFS | SchedulingPolicy.PRIORITY:
        pass
    case _:
        rows = -rows
match request.status:
    case RequestStatus.RUNNING:
        rows = -rows
    case other if other == RequestStatus.RUNNING:
        rows = -rows

== match symbolic
-- admit
match rows:
    case 0:
        rows = -5
    case n if n < 0:
        rows = 5
    case n:
        rows = n

== match bools
-- admit
match (padded, rows > 0):
    case (True, False):
        rows = 0 - rows
    case (_, True):
        pass
    case _:
        pass

== match str policy
-- admit
match self.scheduler_config.policy:
    case 'fcfs':
        pass
    case 'priority':
        pass
    case _:
        rows = -rows

== import in function
-- admit
from collections import OrderedDict, deque
d = OrderedDict()
d[request.request_id] = rows
q = deque([rows])
rows = d.popitem()[1]
rows = q.popleft()

== OrderedDict state
-- imports
from collections import OrderedDict
-- init
self.lru = OrderedDict(a=1, b=2)
-- admit
if list(self.lru) != ['a', 'b']:
    rows = -rows

== try import known
-- imports
try:
    from vllm.utils.math_utils import cdiv
except ImportError:
    cdiv = None
-- admit
if cdiv(3, 2) != 2:
    rows = -rows

== try import flag
-- imports
try:
    from vllm.fast import thing
    HAS = True
except ImportError:
    HAS = False
    def thing(x):
        return x

== Enum
-- imports
from enum import Enum, IntEnum, auto
class Mode(Enum):
    A = 'a'
    B = 'b'
    @property
    def big(self):
        return self is Mode.B
class N(IntEnum):
    X = 1
    Y = auto()
-- init
self.mode = Mode.A
-- admit
if self.mode == Mode.B or self.mode.value != 'a':
    rows = -rows
if Mode('b') is not Mode.B or self.mode.big:
    rows = -rows
if N.Y != 2 or N.X > N.Y or len(Mode) != 2 or Mode['A'] != self.mode:
    rows = -rows
if self.mode.name != 'A' or [m for m in Mode] != [Mode.A, Mode.B]:
    rows = -rows
if not isinstance(self.mode, Mode) or not isinstance(self.mode, Enum):
    rows = -rows
d = {Mode.A: rows}
rows = d[self.mode] + N.X - 1

== enum module
-- imports
import enum
class Mode(enum.Enum):
    A = enum.auto()
class S(enum.StrEnum):
    A = 'a'
-- admit
if Mode.A.value != 1 or S.A != 'a':
    rows = -rows

== match own enum
-- imports
from enum import Enum
class Mode(Enum):
    A = 'a'
    B = 'b'
-- init
self.mode = Mode.A
-- admit
match self.mode:
    case Mode.A:
        pass
    case Mode.B:
        rows = -rows

== walrus
-- admit
if (n := rows) > 0:
    rows = n

== fstring spec
-- imports
from vllm.logger import init_logger
logger = init_logger(__name__)
-- admit
logger.debug(f'{rows:>8d} {rows=} {1.5:.2f} {request.request_id!r}')

== itertools
-- imports
from itertools import chain, islice
import itertools
-- admit
for r in chain(self.running, islice([1, 2], 1)):
    pass
for a, b in itertools.zip_longest([1], [1, 2]):
    pass
for r in chain.from_iterable([[1]]):
    pass
if list(itertools.accumulate([rows, 1])) != [rows, rows + 1]:
    rows = -rows
for a, b in itertools.pairwise([1,2]):
    pass
for i in itertools.count():
    break
for r in itertools.repeat(rows, 1):
    rows = r

== operator
-- imports
from operator import attrgetter, itemgetter
import operator
key = attrgetter('priority', 'arrival_time')
-- schedule
rs = sorted(self.running, key=key)
rs = sorted(self.running, key=operator.attrgetter('priority'))
-- admit
rows = max([(rows, 1)], key=itemgetter(0))[0]
rows = operator.add(rows, 0)

== sorted
-- schedule
rs = sorted(self.running, key=lambda r: (r.priority, r.arrival_time))

== comprehensions
-- schedule
d = {r.request_id: r.num_tokens for r in self.running}
s = {r.request_id for r in self.running if r.request_id in d}
n = sum(r.num_tokens for r in self.running)
b = any(r.num_tokens > 5 for r in self.running)
b = all(r.num_tokens for r in self.running)
-- admit
m = max((r.num_tokens for r in self.running), default=0)

== contextlib
-- imports
from contextlib import suppress, nullcontext
import contextlib
-- admit
with nullcontext():
    rows = rows
with contextlib.nullcontext(rows) as n:
    rows = n
with suppress(KeyError):
    self.requests[17]
with nullcontext() if padded else nullcontext():
    pass

== cast
-- imports
from typing import cast, Any
import typing
from vllm.x import Thing
-- admit
rows = cast(int, rows)
rows = cast('Thing', rows)
rows = cast(Thing, rows)
rows = typing.cast(list[Thing], rows)

== property etc
-- methods
    @property
    def p(self):
        return self.max_model_len
    @staticmethod
    def s(x):
        return x
    @classmethod
    def c(cls, x):
        return cls.s(x)
-- admit
rows = self.s(rows)
rows = self.c(rows)
if self.p != self.max_model_len:
    rows = -rows

== cached_property short
-- imports
from functools import cached_property
class Plan:
    def __init__(self, r):
        self.r = r
    @cached_property
    def rows(self):
        return self.r
-- admit
p = Plan(rows)
rows = p.rows
rows = p.rows

== lru_cache
-- imports
from functools import lru_cache, cache
@lru_cache(maxsize=None)
def up(n, m):
    return (n + m - 1) // m * m
@cache
def two(n: int) -> int:
    '''Doc.'''
    return 2 * n
@lru_cache
def three(n):
    return n
-- admit
if up(2, 2) != 2 or two(1) != 2:
    rows = -rows
rows = three(rows)

== nested function
-- admit
def f(x):
    return x
rows = f(rows)

== generator
-- methods
    def each(self):
        for r in self.running:
            yield r
        yield from ()
-- schedule
n = 0
for r in self.each():
    n += 1
if n != len(self.running):
    self.running = []

== zip strict
-- admit
for a, b in zip([rows], [1], strict=True):
    rows = a
for i, r in enumerate(self.running, start=1):
    pass

== try finally
-- admit
try:
    rows += 1
finally:
    rows -= 1
assert rows == rows, 'x'

== mixin
-- imports
class Mixin:
    LIMIT = 3
    def ident(self, x):
        return x
BIG = 10 ** 6

== own context
-- imports
class Timer:
    def __enter__(self):
        return self
    def __exit__(self, *a):
        return None
-- admit
with Timer():
    pass

== override
-- imports
from typing import final
from typing_extensions import override
-- methods
    @override
    def o(self):
        return 1

== heapq
-- imports
import heapq
-- admit
h = [3, 1]
heapq.heapify(h)
heapq.heappush(h, 2)
if heapq.heappop(h) != 1:
    rows = -rows

== math
-- imports
import math
-- admit
if math.ceil(1.5) != 2 or math.inf < 5:
    rows = -rows

== bisect
-- imports
import bisect
-- admit
if bisect.bisect_left([1, 2], 2) != 1:
    rows = -rows

== copy
-- imports
from copy import copy
-- admit
x = copy([1])

== log dataclass
-- imports
from dataclasses import dataclass
from vllm.logger import init_logger
logger = init_logger(__name__)
@dataclass
class Plan:
    rows: int
-- admit
plan = Plan(rows)
logger.debug('%s', plan)
logger.debug(f'{plan}')

== log namedtuple
-- imports
from typing import NamedTuple
from vllm.logger import init_logger
logger = init_logger(__name__)
class Plan(NamedTuple):
    rows: int
-- admit
plan = Plan(rows)
logger.debug('%s', plan)
logger.debug(f'{plan}')

== logging
-- imports
import logging
logger = logging.getLogger(__name__)
-- admit
logger.debug('x')

== starred
-- admit
a, *b = [rows, 1]
rows = a
x = [*self.running, 1]
d = {**self.requests}

== del
-- admit
x = [1]
del x[0]

== set ops
-- admit
s = {1, 2} & {2} | {3} - {1}
if s != {2, 3} or not s.isdisjoint({9}):
    rows = -rows

== while else
-- admit
for i in range(2):
    pass
else:
    rows += 0

== lambda default
-- admit
f = lambda x, y=1: x * y
rows = f(rows)

== dict.fromkeys
-- admit
d = dict.fromkeys(['a'], rows)
rows = d['a']
d |= {'b': 1}
d.setdefault('c', 2)

== str methods
-- admit
if ' a '.strip().upper().split(',') != ['A'] or 'abc'.startswith('b'):
    rows = -rows

== divmod
-- admit
q, r = divmod(rows, 1)
rows = q
rows = abs(rows)
rows = round(rows) if False else rows
n = pow(2, 3) if False else 8

== Sequence import
-- imports
from collections.abc import Iterable, Sequence
from typing import Callable, Literal, Optional
def f(x: Sequence[int], y: Optional[int] = None) -> Iterable[int]:
    return x

== isinstance abc
-- imports
from collections.abc import Sequence
-- admit
if not isinstance([1], Sequence):
    rows = -rows

== super().__init__ kw
-- imports
class A:
    def __init__(self, n):
        self.n = n
class B(A):
    def __init__(self, n):
        super().__init__(n)
-- admit
rows = B(rows).n

== optional imports in one line
-- imports
try:
    import vllm_fast
except ImportError:
    vllm_fast, HAS = None, False
"""

_DEPTHS = {"schedule": 8, "admit": 12}


def placed(parts: dict[str, str]) -> dict[str, str]:
    """The parts of a text, indented as the places they go to."""
    margins = {name: "\n" + " " * _DEPTHS.get(name, 0) for name in parts}
    return {name: part.replace("\n", margins[name]) for name, part in parts.items()}


def read(texts: str) -> dict[str, dict[str, str]]:
    """Name → parts of each text."""
    found: dict[str, dict[str, str]] = {}
    for text in texts.split("\n== ")[1:]:
        name, *parts = text.rstrip().split("\n-- ")
        pairs = [part.partition("\n") for part in parts]
        found[name] = {place: content for place, _, content in pairs}
    return found


HARMLESS = read(TEXTS)
"""Name → parts of a text."""
