"""Everything the scheduler does not decide: caches, connectors, the drafter and the sampler.

The fuzzer draws the answers, the prover makes them symbolic under the named assumptions of
``spec.assumptions``, and a trace replay reads them back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from model.request import Request


@dataclass(frozen=True, slots=True)
class Sample:
    """What the runner returned for one request of one step."""

    num_generated_tokens: int
    """Sampled token plus accepted drafts."""
    num_accepted_placeholders: int = 0
    """How many of the accepted drafts were placeholders (-1)."""
    stop_after: int = 0
    """The stop token is the n-th generated one; 0 = no stop token."""


class Environment(Protocol):
    """The answers of the outside world, in the order the scheduler asks for them."""

    def prefix_hit(self, request: Request) -> int:
        """Tokens of ``request`` found in the local prefix cache."""

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        """Further tokens a KV connector holds, and whether they are loaded asynchronously."""

    def load_finished(self, request: Request) -> bool:
        """Whether the asynchronous KV load of ``request`` is done."""

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        """The runner's output for a step that sampled."""

    def draft(self, request: Request) -> int:
        """Drafts proposed for the next step (sync scheduling)."""


class Quiet:
    """An environment with nothing to say: no hits, no connector, every draft rejected."""

    def prefix_hit(self, request: Request) -> int:
        return 0

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        return 0, False

    def load_finished(self, request: Request) -> bool:
        return True

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        return Sample(1)

    def draft(self, request: Request) -> int:
        return 0
