"""What a number looks like is no way to learn it: a text made of symbolic values is not looked at.

A symbolic number stands for every number; the text of its formula is the text of none of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import texts

from proofs.source.check import check_source
from proofs.verdict import PROVED, SYNC

CONDITIONS: dict[str, str] = {
    "str": 'str(rows) == "1234"',
    "str from the other side": '"1234" == str(rows)',
    "an f-string": 'f"{rows}" == "1234"',
    "an f-string in pieces": 'f"n={rows}!" == "n=1234!"',
    "an f-string with a format": 'f"{rows:>8}" != "    1234"',
    "an f-string with a width": 'f"{7:>{rows}}" == "    7"',
    "an f-string of a text": 'f"{str(rows)!s}" == "1234"',
    "%": '"%s" % rows == "1234"',
    "% of several": '"%s-%r" % (rows, [rows]) == "1-[1]"',
    "% by number": '"%d" % rows == "1234"',
    "a list": 'str([rows]) == "[1234]"',
    "a list within": 'f"{(1, [rows])}" == "(1, [1234])"',
    "a dictionary": 'str({1: rows}) == "{1: 1234}"',
    "a truth value": 'str(rows == 1234) == "True"',
    "a list of unknown length": 'str(request.all_token_ids) == "[]"',
    "a length": "len(str(rows)) == 4",
    "a key": '{"1234": 1}.get(str(rows))',
    "a new key": "{str(rows): 1}",
    "a member": 'str(rows) in ("1234", "12345")',
    "a member of a set": 'str(rows) in {"1234"}',
    "a piece": '"4" in str(rows)',
    "a piece of another": 'str(rows) in "1234"',
    "its beginning": 'str(rows).startswith("12")',
    "the beginning of another": '"1234".startswith(str(rows))',
    "a character": 'str(rows)[0] == "1"',
    "any character": 'any(c == "4" for c in str(rows))',
    "its truth": "str(rows)",
    "read back": "int(str(rows)) == 1234",
    "the order": 'str(rows) < "2"',
    "the greater one": 'max(str(rows), "2") == "2"',
    "joined": '",".join(["a", str(rows)]) == "a,1234"',
    "joined by it": 'str(rows).join("ab") == "a1234b"',
    "joined by name": 'str.join(",", ["a", str(rows)]) == "a,1"',
    "added": '"n=" + str(rows) == "n=1234"',
    "repeated": 'str(rows) * 2 == "1212"',
    "mapped": 'list(map(str, [rows])) == ["1234"]',
    "the greatest mapped": 'max(map(str, [rows, 1])) == "1234"',
    "any mapped": 'any(x == "1234" for x in map(str, [rows]))',
    "the same text": 'str(rows) is "1234"',
    "the text of an object": 'str(Said(rows)) == "1234"',
    "the text of objects": '",".join(map(str, [Said(rows)])) == "1234"',
}
STATEMENTS: dict[str, str] = {
    "% in place": 'x = "%s"\nx %= rows\nif x == "1234":\n    rows = -rows',
    "unpacked": "x, y = str(rows)",
    "a method kept": 'glue = ",".join\nif glue([str(rows)]) == "1234":\n    rows = -rows',
    "by another name": 'say = str\nif say(rows) == "1234":\n    rows = -rows',
    "what an exception says": "try:\n    raise ValueError(rows)\nexcept ValueError as error:\n"
    '    if str(error) == "1234":\n        rows = -rows',
    "what it was given": "try:\n    raise ValueError(str(rows))\nexcept ValueError as error:\n"
    '    if error.args[0] == "1234":\n        rows = -rows',
    "what C code refuses": 'x = "7"\ntry:\n    x = str.lower(str(rows))\n'
    'except TypeError:\n    pass\nif x == "1234":\n    rows = -rows',
    "what C code refuses, ignored": 'x = "7"\nwith contextlib.suppress(TypeError):\n'
    '    x = str.lower(str(rows))\nif x == "1234":\n    rows = -rows',
}
"""Statements in which a number's looks decide."""

SAID = """
import contextlib


class Said:
    def __init__(self, number):
        self.number = number

    def __str__(self):
        return ",".join(map(str, [self.number]))
"""

HARMLESS: dict[str, str] = {
    "log": 'logger.info("%s rows", rows)\nlogger.debug(f"{rows} rows: {[rows]!r}")',
    "an assertion's message": 'assert rows == rows, f"no {rows}"',
    "an exception's message": "try:\n"
    '    raise ValueError(f"no {rows:>4}" + str(rows) + "%s" % rows)\n'
    "except ValueError as error:\n    logger.info(error)",
    "added up": 'x = "n=" + str(rows) + f"{rows}" + ", ".join(["a", str(rows)])\n'
    "x += x * 2\nlogger.info(x)",
    "handed on": 'said = [str(rows), {"rows": f"{rows}"}]\nlogger.info(said)',
    "its kind": "if not isinstance(str(rows), str) or str(rows) is None:\n    rows = -rows",
    "plain texts": 'x = f"{7!r}-{1:>3}" + "%s" % 7 + str([1]) + ",".join("ab")\n'
    'if x != "7-  17[1]a,b":\n    rows = -rows',
    "an exception of Python's own": 'try:\n    x = "%y" % 1\nexcept ValueError:\n    pass',
    "remainders": "if rows % 2 + 3 % 2 > 2:\n    rows = -rows",
}
"""Statements that make such texts, or others, and look into none."""

LOGGER = "from vllm.logger import init_logger\n\nlogger = init_logger(__name__)\n"


def _here(statements: str) -> str:
    """Statements as they stand where a waiting request is admitted."""
    return statements.replace("\n", "\n            ")


@pytest.mark.parametrize("name", [*CONDITIONS, *STATEMENTS])
def test_whoever_looks_into_a_text_is_undecided(name: str) -> None:
    looks = STATEMENTS.get(name) or f"if {CONDITIONS[name]}:\n    rows = -rows"
    report = check_source(texts(imports=SAID, admit=_here(looks)), name, modes=[SYNC])
    assert report.exit_status == 3, report
    assert not any(finding.verdict == PROVED for finding in report.findings), report


@pytest.mark.parametrize("name", HARMLESS)
def test_whoever_hands_it_on_is_decided(name: str) -> None:
    report = check_source(texts(imports=LOGGER, admit=_here(HARMLESS[name])), name, modes=[SYNC])
    assert {finding.verdict for finding in report.findings} == {PROVED}, report


def test_the_reason_is_told() -> None:
    looks = _here(f"if {CONDITIONS['str']}:\n    rows = -rows")
    report = check_source(texts(admit=looks), "looks", modes=[SYNC])
    reasons = {finding.reason for finding in report.findings}
    assert all("a comparison of a text made of symbolic values" in reason for reason in reasons)
