"""Hostile files: each tries one way out of the checker.  None of them may get anywhere.

``AT_THE_GATE`` must be refused before anything runs.  ``AT_RUN_TIME`` passes the gate (it is
ordinary Python) and must be stopped while it runs.  ``{canary}`` stands for a path no test file
may read or write.
"""

from __future__ import annotations

AT_THE_GATE: dict[str, dict[str, str]] = {
    "imports os": {"imports": "import os"},
    "imports os under another name": {"imports": "import os as itertools"},
    "imports from os": {"imports": "from os import system"},
    "imports a submodule": {"imports": "import os.path"},
    "imports subprocess": {"imports": "import subprocess"},
    "imports sockets": {"imports": "import socket"},
    "imports ctypes": {"imports": "from ctypes import CDLL"},
    "imports importlib inside a method": {"schedule": "import importlib"},
    "imports everything": {"imports": "from vllm.logger import *"},
    "imports the checker": {"imports": "from proofs.symbolic import Context"},
    "imports pickle": {"imports": "import pickle"},
    "calls eval": {"schedule": "eval('1')"},
    "calls exec": {"init": "exec('x = 1')"},
    "opens a file": {"schedule": "open('{canary}', 'w')"},
    "names open without calling it": {"init": "self.o = open"},
    "calls __import__": {"init": "__import__('os').system('touch {canary}')"},
    "reads globals": {"schedule": "globals()"},
    "reads __builtins__": {"schedule": "x = __builtins__"},
    "climbs to object": {"schedule": "().__class__.__base__.__subclasses__()"},
    "reads a function's globals": {"schedule": "self.schedule.__func__.__globals__"},
    "reads a module": {"init": "x = KVCacheManager.__module__"},
    "calls getattr with a computed name": {"schedule": "getattr(self, '__cl' + 'ass__')"},
    "calls getattr for a dunder": {"schedule": "getattr(self, '__class__')"},
    "formats attributes": {"schedule": "'{0.__class__}'.format(self)"},
    "formats with a mapping": {"schedule": "'{x}'.format_map(self.requests)"},
    "walks frames of a generator": {"schedule": "(x for x in ()).gi_frame.f_back"},
    "defines a coroutine": {"methods": "    async def x(self):\n        pass"},
    "yields where what ends it runs at any time": {
        "methods": "    def x(self):\n        try:\n            yield 1\n"
        "        finally:\n            self.running = []"
    },
    "catches everything": {
        "methods": "    def x(self):\n        try:\n            pass\n"
        "        except:\n            pass"
    },
    "catches BaseException": {
        "methods": "    def x(self):\n        try:\n            pass\n"
        "        except BaseException:\n            pass"
    },
    "swallows exceptions in finally": {
        "schedule": "while True:\n            try:\n                pass\n"
        "            finally:\n                continue"
    },
    "uses a metaclass": {"imports": "class X(metaclass=list):\n    pass"},
    "defines __getattr__": {"methods": "    def __getattr__(self, name):\n        return 0"},
    "defines __del__": {"methods": "    def __del__(self):\n        pass"},
    "uses a global": {"methods": "    def x(self):\n        global y"},
    "asks for a type": {"schedule": "type(self)"},
    "sets attributes by name": {"schedule": "setattr(self, 'x', 1)"},
    "contains an enormous number": {"init": "self.x = 10000000000000000000000000"},
    "is nested too deeply": {"init": "x = " + "(" * 120 + "1" + ",)" * 120},
    "is nested very deeply": {"init": "x = " + "-" * 5000 + "1"},
    "contains a null byte": {"init": "x = '\0'"},
    "does not parse": {"init": "x = = 1"},
    "takes a symbolic value apart": {"schedule": "self.max_model_len.pool = 1"},
    "lists what is no name": {"imports": "__all__ = ['__class__']"},
    "makes a slot of its class": {"imports": "class C:\n    __slots__ = ('__class__',)"},
    "computes its slots": {"imports": "N = ['a']\nclass C:\n    __slots__ = N"},
    "makes an enumeration of a module": {
        "imports": "from enum import Enum\nclass M(Enum):\n    A = 1",
        "schedule": "M._convert_('X', 'os', len)",
    },
    "takes an enumeration apart": {
        "imports": "from enum import Enum\nclass M(Enum):\n    A = 1",
        "schedule": "M._value2member_map_.clear()",
    },
    "asks an enumeration by name": {"schedule": "getattr(self, '_member_map_')"},
    "matches keys": {
        "methods": "    def x(self):\n        match self.requests:\n            case {'a': 1}:\n"
        "                pass"
    },
    "matches a dunder": {
        "methods": "    def x(self):\n        match self:\n            case __x:\n"
        "                pass"
    },
    "waits in a with": {
        "methods": "    def x(self):\n        with self:\n            yield 1",
    },
    "closes with every exception": {
        "methods": "    def __exit__(self, *a):\n        try:\n            pass\n"
        "        except:\n            pass"
    },
    "matches attributes": {
        "methods": "    def x(self):\n        match self:\n            case list():\n"
        "                pass"
    },
}

AT_RUN_TIME: dict[str, dict[str, str]] = {
    "loops for ever": {"schedule": "while True:\n            pass"},
    "loops for ever while loading": {"imports": "while True:\n    pass"},
    "loops for ever over caught exceptions": {
        "schedule": "while True:\n            try:\n                x = 1 // 0\n"
        "            except Exception:\n                pass"
    },
    "loops in a comprehension": {
        "schedule": "n = range(2) ; x = [1 for a in n for b in n for c in n for d in n for e in n"
        " for f in n for g in n for h in n for i in n for j in n for k in n for l in n"
        " for m in n for o in n for p in n]"
    },
    "recurses for ever": {
        "methods": "    def x(self):\n        return self.x()",
        "schedule": "self.x()",
    },
    "recurses without a call in the text": {
        "methods": "    def __repr__(self):\n        return repr_of(self)\n",
        "imports": "def repr_of(x):\n    return str(x)\n",
        "schedule": "str(self)",
    },
    "takes all memory": {"schedule": "x = (0,) * 999999999999"},
    "takes all memory in a string": {"schedule": "x = 'x' * 99999999999"},
}

WITHOUT_END: dict[str, dict[str, str]] = {
    "grows a power": {"schedule": "x = 9\n        while x:\n            x = x * x * x * x * x * x"},
    "computes a huge power": {"schedule": "x = 7 ** (7 ** 12)"},
}
"""Files that use up the processor's time in a few operations: nothing is known about them."""

WITHOUT_EFFECT: dict[str, dict[str, str]] = {
    "changes a class it was given": {"schedule": "RequestStatus.is_finished = None"},
    "changes a stub": {"init": "KVCacheManager.allocate_slots = None"},
    "changes a request's arithmetic": {
        "schedule": "self.running[0].num_tokens = 0 if self.running else None"
    },
    "changes the configuration": {"schedule": "self.scheduler_config.max_num_seqs = 0"},
    "looks for the prover": {"schedule": "self.max_model_len.pool.decide"},
    "looks for the prover by name": {"schedule": "getattr(self.max_model_len, 'pool')"},
    "asks the host": {"schedule": "self.kv_cache_manager.host"},
    "calls a stub it does not know": {"schedule": "self.kv_cache_manager.forget_everything()"},
    "hides a gap": {
        "schedule": "try:\n            self.kv_cache_manager.forget()\n"
        "        except Exception:\n            pass"
    },
    "returns what is no number": {
        "methods": "    class Lie:\n        pass\n",
        "admit": "rows = self.Lie()",
    },
}
"""Files that run, and must not be *proved*: what they try has no effect, or is undecided."""

SPEAKING: dict[str, str] = {
    "speaks for ever": "def __str__(self):\n        while True:\n            pass",
    "raises as it speaks": "def __str__(self):\n        return 1 // 0",
    "says a number": "def __str__(self):\n        return 7",
    "has arguments without end": "args = property(lambda self: [0 for i in range(90000)] * 90000)",
}
"""Bodies of exception classes that try to run on when a report asks what they say."""
