"""One execution as data: a configuration, arrivals, and the answers of the world in order.

A scenario is all that is needed to run the model again on integers.  The prover and the fuzzer
both produce scenarios; what a report shows is what the replay of one did, never what a solver
said.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from model.environment import Sample
from model.request import Request
from proofs.documents import is_version
from spec.config import Config, ConfigError

VERSION = 1


class ScenarioError(ValueError):
    """A saved execution that cannot be read; the message says what is wrong with it."""


class AnswersExhausted(Exception):
    """The execution asked for an answer the scenario does not have.

    Args:
        asked: the kind of answer.
        found: the kind the scenario has in its place.
    """

    def __init__(self, asked: str, found: str = "nothing") -> None:
        super().__init__(f"{asked} asked, {found} recorded")
        self.asked = asked


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request enters before step ``step`` (counted from 0) on rank ``rank``."""

    step: int
    request_id: str
    num_prompt_tokens: int
    max_tokens: int
    priority: int = 0
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A configuration, a policy by name, arrivals, and the world's answers per rank in order."""

    config: Config
    policy: str
    num_steps: int
    arrivals: tuple[Arrival, ...]
    answers: tuple[tuple[Any, ...], ...] = ((),)
    aborts: tuple[tuple[int, str], ...] = ()
    """(before step, request id)."""
    version: int = field(default=VERSION)

    def to_json(self) -> dict[str, Any]:
        """Plain data, for ``json.dumps``."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Scenario:
        """Read what ``to_json`` wrote.

        Raises:
            ScenarioError: not a scenario, or one of another version.
        """
        if not isinstance(data, dict) or "version" not in data:
            raise ScenarioError("not a saved execution: no version")
        if not is_version(data["version"], VERSION):
            raise ScenarioError(
                f"a saved execution of version {data['version']!r}; this program reads {VERSION}"
            )
        try:
            config = Config.checked(**data["config"])
            left_out = [knob.name for knob in fields(Config) if knob.name not in data["config"]]
            if left_out:
                raise ConfigError(f"no knob {', '.join(left_out)}")
            return cls(
                config=config,
                policy=str(data["policy"]),
                num_steps=int(data["num_steps"]),
                arrivals=tuple(Arrival(**arrival) for arrival in data["arrivals"]),
                answers=tuple(tuple(_frozen(a) for a in rank) for rank in data["answers"]),
                aborts=tuple((int(step), str(name)) for step, name in data["aborts"]),
            )
        except (KeyError, TypeError, ValueError, ConfigError) as error:
            raise ScenarioError(f"a damaged saved execution: {error}") from error

    def dumps(self) -> str:
        """One JSON document."""
        return json.dumps(self.to_json(), indent=1)


def _frozen(answer: Any) -> Any:
    return tuple(answer) if isinstance(answer, list) else answer


class RecordedWorld:
    """Reads the answers back in the order they were given."""

    def __init__(self, answers: tuple[Any, ...]) -> None:
        self._answers = iter(answers)

    def _next(self, kind: str) -> Any:
        try:
            answer = next(self._answers)
        except StopIteration:
            raise AnswersExhausted(kind) from None
        if answer[0] != kind:
            raise AnswersExhausted(kind, str(answer[0]))
        return answer[1:]

    def prefix_hit(self, request: Request) -> int:
        (hit,) = self._next("prefix_hit")
        return int(hit)

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        matched, load_async = self._next("connector_match")
        return int(matched), bool(load_async)

    def load_finished(self, request: Request) -> bool:
        (finished,) = self._next("load_finished")
        return bool(finished)

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        return Sample(*self._next("sample"))

    def draft(self, request: Request) -> int:
        (drafts,) = self._next("draft")
        return int(drafts)


class RecordingWorld:
    """Wraps another world and keeps its answers, so that a run can be replayed."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.answers: list[tuple[Any, ...]] = []

    def prefix_hit(self, request: Request) -> int:
        hit: int = self.world.prefix_hit(request)
        self.answers.append(("prefix_hit", hit))
        return hit

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        matched, load_async = self.world.connector_match(request, num_local_tokens)
        self.answers.append(("connector_match", matched, load_async))
        return matched, load_async

    def load_finished(self, request: Request) -> bool:
        finished: bool = self.world.load_finished(request)
        self.answers.append(("load_finished", finished))
        return finished

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        sample: Sample = self.world.sample(request, num_draft_tokens, padded)
        self.answers.append(
            (
                "sample",
                sample.num_generated_tokens,
                sample.num_accepted_placeholders,
                sample.stop_after,
            )
        )
        return sample

    def draft(self, request: Request) -> int:
        drafts: int = self.world.draft(request)
        self.answers.append(("draft", drafts))
        return drafts
