"""What one run has one value for, and reality any: a token, a draft, an id is not looked at.

Whoever asks which it is asks for a value the run made up: the path is undecided.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import line_of, text
from planted import ONE, STEP, TWO, Plant, findings, verdicts

from proofs.source.loader import Text
from proofs.verdict import ASYNC, PROVED, SYNC, UNDECIDED, VIOLATED

LOGGER = "from vllm.logger import init_logger\n\nlogger = init_logger(__name__)\n"
TOKEN_AT = "request.append_output_token_ids(token)"
DRAFTS_AT = "drafts = scheduler_output.scheduled_spec_decode_tokens.get(name)"
PROPOSED_AT = "request.spec_token_ids = [] if request.is_prefill_chunk else tokens"
STEP_AT = "rows = min(self.cap(rows), budget)"


def _mini(at: str, statements: str) -> tuple[Text, ...]:
    """The small scheduler with statements behind the line that holds ``at``."""
    content = text(imports=LOGGER, methods=SAID)
    line = content.splitlines()[line_of(content, at) - 1]
    margin = "\n" + line[: len(line) - len(line.lstrip())]
    added = (line + "\n" + statements).replace("\n", margin)
    return (Text("scheduler.py", content.replace(line, added)),)


def _verdicts(at: str, statements: str, run: tuple[str, ...], mode: str = SYNC) -> set[str]:
    return {finding.verdict for finding in findings(_mini(at, statements), mode, run)}


def _acts(condition: str) -> str:
    return f"if {condition}:\n    request.num_computed_tokens += 1"


TOKENS: dict[str, str] = {
    "which it is": "token == 0",
    "which it is not": "0 != token",
    "its truth": "not token",
    "the order": "token < 2",
    "arithmetic": "token - 1 == 0",
    "a remainder": "token % 2 == 0",
    "a key": "{1: True}.get(token)",
    "an index": "[True, True][token]",
    "a member": "token in (7, 8)",
    "a member of them": "7 in tokens",
    "two of them": "len(tokens) > 1 and tokens[0] == tokens[1]",
    "its text": 'f"{token}" == "1"',
    "its number": "int(token) == 1",
    "the greatest": "max(tokens) == 1",
    "the first of the prompt": "request.all_token_ids[0] == 1",
    "the last of the output": "request.output_token_ids[-1] == 1",
    "whether there is a stop token": "request.sampling_params.eos_token_id",
    "which ends a request": "request.sampling_params.eos_token_id == 2",
}


@pytest.mark.parametrize("name", TOKENS)
def test_whoever_looks_at_a_token_is_undecided(name: str) -> None:
    assert _verdicts(TOKEN_AT, _acts(TOKENS[name]), ONE) == {UNDECIDED}


DRAFTS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a placeholder in flight": (DRAFTS_AT, "drafts and -1 in drafts", ONE),
    "the first in flight": (DRAFTS_AT, "drafts and drafts[0] != -1", ONE),
    "two of them": (DRAFTS_AT, "drafts and drafts[0] is drafts[-1]", ONE),
    "two of them, in lists": (DRAFTS_AT, "drafts and [drafts[0]] == [drafts[-1]]", ONE),
    "a proposed one": (PROPOSED_AT, "tokens and tokens[0] == 0", ONE),
    "a proposed one, by its absence": (PROPOSED_AT, "tokens and 0 not in tokens", ONE),
    "one of a running request": (STEP_AT, "-1 in request.spec_token_ids", STEP),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_whoever_looks_at_a_draft_is_undecided(name: str) -> None:
    at, looks, run = DRAFTS[name]
    assert _verdicts(at, _acts(looks), run) == {UNDECIDED}


def test_the_placeholders_of_overlapping_steps_are_known() -> None:
    looks = Plant(
        "uniform-decode",
        STEP,
        "scheduled_running_reqs.append(request)",
        before="if 0 in request.spec_token_ids:\n    num_new_tokens += 1",
    )
    assert verdicts(looks.texts(), ASYNC, STEP)[looks.invariant] == PROVED


HISTORY: dict[str, str] = {
    "cut": "del request._all_token_ids[1:]",
    "cut by assignment": "request._all_token_ids[:] = []",
    "one replaced": "request._output_token_ids[-1] = 7",
    "one more": "request._all_token_ids.append(token)",
    "more": "request._output_token_ids.extend(tokens)",
    "more, in place": "mine = request._all_token_ids\nmine += tokens",
    "one less": "request._output_token_ids.pop()",
    "emptied": "request._output_token_ids.clear()",
    "the one before the last": "if request.output_token_ids[-2] in (2, request):\n    pass",
    "whether it stops, of an earlier one": "if request.output_token_ids[-len(tokens) - 1] =="
    " request.sampling_params.eos_token_id:\n    pass",
    "the same list": "if request.all_token_ids is request.all_token_ids:\n    pass",
}


@pytest.mark.parametrize("name", HISTORY)
def test_whoever_changes_a_request_s_tokens_is_undecided(name: str) -> None:
    assert _verdicts(TOKEN_AT, HISTORY[name], ONE) == {UNDECIDED}


IDS: dict[str, str] = {
    "its beginning": 'name.startswith("chatcmpl-")',
    "its length": "len(name) == 1",
    "a letter": 'name[0] == "R"',
    "letters": 'any(c == "R" for c in name)',
    "a piece": '"x" in name',
    "a piece of another": 'name in "QR"',
    "a literal": 'name == "R"',
    "another literal": '"cmpl-7" != name',
    "one of several": 'name in ("R", "S")',
    "the order": "name < self.running[0].request_id",
    "who is first": "sorted(scheduler_output.num_scheduled_tokens)[0] is None",
    "the greatest": "max(scheduler_output.num_scheduled_tokens, default=None) is None",
    "the greatest of pairs": "max((1, r.request_id) for r in self.running) is None",
    "added to": 'name + "-0" == "R-0"',
    "its text": 'f"{name}" == "R"',
    "its text, in place": 'self.said(name) == "R"',
    "its text among others": "str([name]) == \"['R']\"",
    "its text, joined": '",".join([name, "x"]) == "R,x"',
    "the text of the request": 'str(request) == "<request R>"',
    "a method of texts": 'str.lower(name) == "r"',
    "the beginning of another": '"R-1".startswith(name)',
    "its number": "int(name) == 1",
    "unpacked": "[*name] == []",
}
SAID = """
    def said(self, name):
        text = "%s"
        text %= name
        return text
"""


@pytest.mark.parametrize("name", IDS)
def test_whoever_looks_into_an_id_is_undecided(name: str) -> None:
    assert _verdicts(TOKEN_AT, _acts(IDS[name]), TWO) == {UNDECIDED}


SAME: dict[str, str] = {
    "its own": "name != request.request_id or name is not request.request_id",
    "another's": "sum(r.request_id == name for r in self.running) > 1",
    "a key": "self.requests[name] is not request or name not in self.requests",
    "in a set": "{name, request.request_id} != {name}",
    "its kind": "not isinstance(name, str) or not name or name is None",
    "no text": "name == 1 or None == name",
    "a text with it": 'f"{name}: {1}" is None or "of " + name is None',
    "a message": 'logger.info("%s", name) is not None',
}


@pytest.mark.parametrize("name", SAME)
def test_whoever_tells_requests_apart_is_decided(name: str) -> None:
    assert _verdicts(TOKEN_AT, _acts(SAME[name]), TWO) == {PROVED}


HARMLESS: dict[str, str] = {
    "stored and handed on": "kept = [token]\nkept.append(token)\nkept += tokens[1:]",
    "no token": "if token is None or tokens is None:\n    request.num_computed_tokens += 1",
    "whether it ends the request": "if token == request.sampling_params.eos_token_id:\n    pass",
    "whether the last of the output ends it": "before = request.output_token_ids\n"
    "if before[-1] == request.sampling_params.eos_token_id and before is None:\n"
    "    request.num_computed_tokens += 1",
    "a copy": "mine = request.all_token_ids.copy()\nmine.append(token)\ndel mine[1:]\n"
    "if len(mine) + len(request.output_token_ids[1:]) < 1 or not request.all_token_ids:\n"
    "    request.num_computed_tokens += 1",
    "how many": "if len(tokens) < 1:\n    request.num_computed_tokens += 1",
    "logged": 'said = f"{token}, {tokens}, {drafts}"',
    "its kind": "if not isinstance(token, int):\n    request.num_computed_tokens += 1",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_whoever_hands_it_on_is_decided(name: str) -> None:
    assert _verdicts(TOKEN_AT, HARMLESS[name], ONE) == {PROVED}


def test_a_draft_that_is_emitted_was_returned_by_nobody() -> None:
    emits = "if drafts:\n    request.append_output_token_ids(drafts[0])"
    assert VIOLATED in _verdicts(DRAFTS_AT, emits, ONE)
