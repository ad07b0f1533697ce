"""What hostile files try with what they are lent of the standard library, and with new syntax.

Each passes the gate.  What it does must have no effect, or leave the file undecided: it must not be
proved.  The format is that of `ordinary`.
"""

from __future__ import annotations

from ordinary import read

TEXTS = """
== attrgetter dunder
-- imports
from operator import attrgetter
-- schedule
attrgetter('__class__')(self)

== attrgetter dotted dunder
-- imports
import operator
-- schedule
operator.attrgetter('schedule.__func__')(self)

== attrgetter of prover
-- imports
import operator
-- schedule
operator.attrgetter('pool')(self.max_model_len)

== attrgetter str subclass
-- imports
from operator import attrgetter
class S(str):
    def __contains__(self, x):
        return False
-- schedule
attrgetter(S('__class__'))(self)

== methodcaller
-- imports
from operator import methodcaller
-- schedule
methodcaller('__reduce__')(self)

== partial getattr
-- imports
from functools import partial
-- schedule
partial(getattr, self)('__cl' + 'ass__')

== starmap getattr
-- imports
from itertools import starmap
-- schedule
list(starmap(getattr, [(self, '__cl' + 'ass__')]))

== reduce getattr
-- imports
from functools import reduce
-- schedule
reduce(getattr, ['__cl' + 'ass__'], self)

== reduce format
-- imports
from operator import methodcaller
-- schedule
methodcaller('format', self)('{0.__class__}')

== enum convert by getter
-- imports
from enum import Enum
class Mode(Enum):
    A = 1
    B = 2
from operator import attrgetter
-- schedule
attrgetter('_convert_')(Mode)('X', 'os', len)

== enum functional
-- imports
from enum import Enum
class Base(Enum):
    pass
X = Base('X', 'a b', module='builtins')

== enum functional enum
-- imports
from enum import Enum
X = Enum('X', 'a b')

== enum base changed
-- imports
from enum import Enum
Enum.x = 1

== enum member state
-- imports
from enum import Enum
class Mode(Enum):
    A = 1
    B = 2
-- schedule
Mode.A.count = 1

== enum class state
-- imports
from enum import Enum
class Mode(Enum):
    A = 1
    B = 2
-- schedule
Mode.count = 1

== enum value list
-- imports
from enum import Enum
class Mode(Enum):
    A = [1]
-- schedule
Mode.A.value.append(1)

== namedtuple names
-- imports
from collections import namedtuple
P = namedtuple('P', ['a=[].append(1)'])

== namedtuple str
-- imports
from collections import namedtuple
class S(str):
    def __str__(self):
        return self
P = namedtuple(S('P'), ['a'])

== namedtuple module
-- imports
from collections import namedtuple
P = namedtuple('P', ['a'], module='builtins')

== namedtuple defaults state
-- imports
from collections import namedtuple
P = namedtuple('P', ['a'], defaults=[[]])
-- schedule
P().a.append(1)

== namedtuple field defaults
-- imports
from collections import namedtuple
P = namedtuple('P', ['a'], defaults=[1])
-- schedule
P._field_defaults['a'] = 2

== namedtuple hang
-- imports
from collections import namedtuple
P = namedtuple('P', ['a'])
-- schedule
P._replace.x = 2

== cached func
-- imports
from functools import cached_property
class C:
    @cached_property
    def x(self):
        return 1
-- schedule
C.x.func = None

== cached state
-- imports
from functools import cached_property
class C:
    @cached_property
    def x(self):
        return 1
c = C()
-- schedule
c.x

== cached closure
-- imports
from functools import cached_property
def make():
    n = []
    class C:
        @cached_property
        def x(self):
            n.append(1)
            return len(n)
    return C
C = make()
-- admit
if C().x > 1:
    rows = -rows

== lru state
-- imports
from functools import lru_cache
N = []
@lru_cache
def f(x):
    return len(N)
-- admit
if f(1):
    rows = -rows

== lru closure
-- imports
from functools import lru_cache
def make():
    n = []
    def f(x):
        n.append(x)
        return len(n)
    return lru_cache(f)
f = make()
-- admit
if f(1) > 1:
    rows = -rows

== lru other function same name
-- imports
from functools import lru_cache
N = []
class A:
    def f(self, x):
        return x
@lru_cache
def f(x):
    N.append(1)
    return len(N)
-- admit
if f(1) > 1:
    rows = -rows

== partial keywords
-- imports
from functools import partial
P = partial(dict, a=0)
-- schedule
P.keywords['a'] += 1

== partial attribute
-- imports
from functools import partial
P = partial(dict, a=0)
-- schedule
P.n = 1

== partial in class
-- imports
from functools import partial
class C:
    f = partial(int, 3)
-- admit
if C().f() != 3:
    rows = -rows

== factory closure
-- imports
from dataclasses import dataclass, field
def make():
    n = [0]
    def f():
        n[0] += 1
        return n[0]
    return f
@dataclass
class P:
    x: int = field(default_factory=make())
-- schedule
P()

== default deleted
-- imports
from dataclasses import dataclass
class O:
    n = 0
@dataclass(slots=True)
class P:
    x: int = O()
-- schedule
P().x.n = 1

== dataclass init attr
-- imports
from dataclasses import dataclass
@dataclass
class P:
    x: int = 0
-- schedule
P.__init__.n = 1

== frozen by merge
-- imports
from dataclasses import dataclass
@dataclass(frozen=True)
class P:
    x: int = 0
-- admit
p = P()
if rows > 5:
    p.x = 1

== slot state
-- imports
class P:
    __slots__ = ('n',)
    def __init__(self):
        self.n = 0
Q = P()
-- schedule
Q.n += 1

== slot state in scheduler
-- imports
class P:
    __slots__ = ('n',)
    def __init__(self):
        self.n = 0
-- init
self.q = P()
-- schedule
self.q.n += 1

== slot state added
-- imports
class P:
    __slots__ = ('n',)
Q = P()
-- schedule
Q.n = 1

== slot state deleted
-- imports
class P:
    __slots__ = ('n',)
Q = P()
Q.n = 1
-- schedule
del Q.n

== slots of scheduler
-- methods
    __slots__ = ('extra',)

== generator state
-- imports
def g():
    n = 0
    while True:
        n += 1
        yield n
G = g()
-- schedule
next(G)

== generator in scheduler
-- imports
def g():
    n = 0
    while True:
        n += 1
        yield n
-- init
self.g = g()
-- schedule
next(self.g)

== count state
-- imports
from itertools import count
G = count()
-- schedule
next(G)

== cast hang
-- imports
import typing
-- schedule
typing.cast.n = 1

== wraps hang
-- imports
import functools
-- schedule
functools.wraps.n = 1

== itertools set
-- imports
import itertools
-- schedule
itertools.chain = 1

== odict order
-- imports
from collections import OrderedDict
-- init
self.lru = OrderedDict(a=1, b=2)
-- schedule
self.lru.move_to_end('a')

== odict global
-- imports
from collections import OrderedDict
L = OrderedDict(a=1, b=2)
-- schedule
L.move_to_end('a')

== exit swallows
-- imports
class T:
    def __enter__(self):
        return self
    def __exit__(self, *a):
        return True
-- schedule
while True:
    with T():
        while True:
            pass

== exit swallows gap
-- imports
class T:
    def __enter__(self):
        return self
    def __exit__(self, *a):
        return True
-- schedule
with T():
    self.kv_cache_manager.forget()

== exit traceback
-- imports
class T:
    def __enter__(self):
        return self
    def __exit__(self, k, e, tb):
        return tb.x
-- schedule
with T():
    self.requests[17]

== copy self
-- imports
from copy import copy
-- schedule
copy(self)

== heap merged
-- imports
import heapq
-- schedule
heapq.heapify(self.waiting)

== nullcontext set
-- imports
from contextlib import nullcontext
nullcontext.x = 1

== optional used
-- imports
try:
    from vllm.fast import FLAG
except ImportError:
    FLAG = False
-- schedule
if FLAG:
    self.running = []

== optional acts
-- imports
N = []
try:
    import vllm.fast
    N.append(1)
except ImportError:
    pass
-- schedule
if N:
    self.running = []

== own ClassVar
-- imports
from dataclasses import dataclass
class ClassVar:
    pass
@dataclass
class P:
    n: ClassVar = 0
    x: int = 5
-- admit
if P(3).x != 3:
    rows = -rows

== InitVar
-- imports
from dataclasses import dataclass, InitVar
@dataclass
class P:
    n: InitVar[int] = 0
-- admit
P(3)

== KW_ONLY
-- imports
from dataclasses import dataclass, KW_ONLY
@dataclass
class P:
    _: KW_ONLY
    n: int = 0
-- admit
P(3)

== conditional field
-- imports
from dataclasses import dataclass
@dataclass
class P:
    a: int = 1
    if len([]):
        b: int = 0
-- admit
P(3)
"""
BORROWED = read(TEXTS)
"""Name → parts of a text."""
