"""An engine's child without the engine: the model behind the same protocol.

``FAKE_POLICY`` is the policy it follows, ``FAKE_VERSION`` what it says it is; ``FAKE_FAULT`` makes
it misbehave.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from model.environment import Sample
from model.policies import POLICIES
from model.request import Request
from proofs.conform.lockstep import ModelSide
from proofs.conform.releases import release_of
from spec.config import Config

VERSION = os.environ.get("FAKE_VERSION", "0.33.0")
FAULT = os.environ.get("FAKE_FAULT", "")


class World:
    """Answers what the calls say."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.samples: dict[str, list[int]] = {}
        self.drafts: dict[str, int] = {}

    def prefix_hit(self, request: Request) -> int:
        return int(self.answers[request.request_id]["hit"])

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        _, matched, load_async = self.answers[request.request_id]["match"]
        return matched, load_async

    def load_finished(self, request: Request) -> bool:
        return bool(self.answers[request.request_id]["loaded"])

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        generated, stop_after = self.samples[request.request_id]
        return Sample(generated, 0, stop_after)

    def draft(self, request: Request) -> int:
        return self.drafts[request.request_id]


def play(knobs: dict[str, Any], calls: list[Any]) -> list[dict[str, Any]]:
    release = release_of(VERSION.partition("+")[0])
    policy = POLICIES[os.environ.get("FAKE_POLICY", release.policy.name)]
    world = World()
    side = ModelSide(Config.checked(**knobs), policy, world, release.scheduler)
    for name, *arguments in calls:
        try:
            if name == "add":
                side.add_request(Request(*arguments))
            elif name == "abort":
                side.abort(side.requests[arguments[0]])
            elif name == "schedule":
                (world.answers,) = arguments
                output = side.scheduler.schedule()
                if output.scheduled:
                    side.in_flight.append(output)
            else:
                world.samples, world.drafts = arguments
                side.book(side.in_flight.popleft())
        except Exception as error:
            raised = {"raised": type(error).__name__, "why": str(error), "where": "fake.py:1"}
            return [*side.seen, raised]
    return side.seen[:-1] if FAULT == "short" else side.seen


def main() -> None:
    print("a warning on standard error", file=sys.stderr)
    if FAULT == "silent":
        sys.exit("fake: no such module")
    print(json.dumps({"absent": "no vllm"} if FAULT == "absent" else {"version": VERSION}))
    sys.stdout.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        if FAULT == "dies":
            sys.exit("fake: out of luck")
        answer: Any = {"seen": play(asked["config"], asked["calls"])}
        if FAULT == "list":
            answer = []
        if FAULT == "empty":
            answer = {}
        print("{" if FAULT == "garbage" else json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
