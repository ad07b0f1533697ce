"""Requests and their status, as the text sees them."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from model.request import RequestStatus as ModelStatus
from proofs.source.objects.fresh import Fresh
from proofs.source.objects.history import History
from proofs.source.objects.ids import id_of
from proofs.source.objects.sealed import SealedMeta
from proofs.source.objects.stubs import resolve
from proofs.source.objects.tokens import UNSEEN, others_among
from proofs.symbolic import SymSeq, Veiled, refused
from proofs.symbolic.telling import told

if TYPE_CHECKING:
    from proofs.source.objects.host import Host


class _SealedEnum(enum.EnumMeta):
    """An enumeration the text cannot change."""

    sealed__ = False

    def __setattr__(cls, name: str, value: object) -> None:
        if cls.sealed__:
            raise AttributeError(f"cannot set attribute {name!r} of {cls.__name__}")
        super().__setattr__(name, value)


class _Member:
    """Members that the text cannot hang anything on."""

    def __setattr__(self, name: str, value: object) -> None:
        if _SealedEnum.sealed__:
            raise AttributeError(f"cannot set attribute {name!r} of {self!r}")
        super().__setattr__(name, value)


class RequestStatus(_Member, enum.IntEnum, metaclass=_SealedEnum):
    """vLLM's statuses, in vLLM's order: whatever follows PREEMPTED is finished."""

    WAITING = 1
    WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR = 2
    WAITING_FOR_REMOTE_KVS = 3
    WAITING_FOR_STREAMING_REQ = 4
    RUNNING = 5
    PREEMPTED = 6
    FINISHED_STOPPED = 7
    FINISHED_LENGTH_CAPPED = 8
    FINISHED_ABORTED = 9
    FINISHED_IGNORED = 10
    FINISHED_ERROR = 11
    FINISHED_REPETITION = 12

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def is_finished(status: RequestStatus) -> bool:
        """Whether a request of this status is over."""
        return status > RequestStatus.PREEMPTED

    @staticmethod
    def get_finished_reason(status: RequestStatus) -> Any:
        """Why it is over: for a report."""
        ends = (
            RequestStatus.is_finished(status) or status is RequestStatus.WAITING_FOR_STREAMING_REQ
        )
        return Veiled(int, "why a request is over") if ends else None


class PauseState(_Member, enum.IntEnum, metaclass=_SealedEnum):
    """The engine is not paused in any theorem."""

    UNPAUSED = 0
    PAUSED_NEW = 1
    PAUSED_ALL = 2


_SealedEnum.sealed__ = True

MODEL_STATUS = {RequestStatus[status.name]: status for status in ModelStatus}


def length_of(items: Any) -> Any:
    """The length of a list that may be symbolic."""
    return items.length if type(items) is SymSeq else len(items)


class Request(metaclass=SealedMeta):
    """A request: counters that may be symbolic, everything else from the profile."""

    def __init__(self, host: Host, request_id: str, prompt: Any, max_tokens: Any) -> None:
        object.__setattr__(self, "_Request__host", host)
        self.request_id: str = id_of(request_id)
        self.status = RequestStatus.WAITING
        self.num_prompt_tokens = prompt
        self.max_tokens = max_tokens
        self.num_emitted__ = 0
        self.tail__: list[Any] = []
        """The last tokens, as far as they are known."""
        self.num_invented__: Any = 0
        """Tokens appended that no runner returned."""
        self.num_computed_tokens: Any = 0
        self.num_output_placeholders: Any = 0
        self.num_in_flight_tokens: Any = 0
        self.num_stale_output_tokens: Any = 0
        self.spec_token_ids: Any = Fresh()
        self.is_prefill_chunk: Any = False
        self.drop_stale_output: Any = False
        self.num_preemptions: Any = 0
        self.priority: Any = 0
        self.arrival_time: Any = 0

    def __getattr__(self, name: str) -> Any:
        host: Host = object.__getattribute__(self, "_Request__host")
        return resolve(host, f"request.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED:
            raise AttributeError(f"property {name!r} of 'Request' object has no setter")
        object.__setattr__(self, name, value)

    @property
    def num_output_tokens(self) -> Any:
        """O."""
        return self.num_emitted__

    @property
    def num_tokens(self) -> Any:
        """N = P + O."""
        return self.num_prompt_tokens + self.num_emitted__

    @property
    def num_tokens_with_spec(self) -> Any:
        """N + S."""
        return self.num_tokens + length_of(self.spec_token_ids)

    @property
    def all_token_ids(self) -> History:
        """Prompt and output."""
        return History(self, "num_tokens")

    _all_token_ids = all_token_ids

    @property
    def output_token_ids(self) -> History:
        """Output only."""
        return History(self, "num_emitted__")

    _output_token_ids = output_token_ids

    @property
    def last__(self) -> Any:
        """The last token."""
        return self.tail__[-1] if self.tail__ else UNSEEN

    def append_output_token_ids(self, token_ids: Any) -> None:
        """Tokens were sampled."""
        several = isinstance(token_ids, list)
        added = length_of(token_ids) if several else 1
        self.num_emitted__ = self.num_emitted__ + added
        self.num_invented__ = self.num_invented__ + others_among(token_ids)
        if not several:
            self.tail__.append(token_ids)
        elif type(token_ids) is list:
            self.tail__ += token_ids
        elif added:
            self.tail__[:] = [token_ids[-1]]

    def is_finished(self) -> bool:
        """Whether the request is over."""
        return RequestStatus.is_finished(self.status)

    def get_finished_reason(self) -> Any:
        """Why it is over: for a report."""
        return RequestStatus.get_finished_reason(self.status)

    def __repr__(self) -> str:
        return told(f"<request {self.request_id}>")

    def __lt__(self, other: object) -> bool:
        return refused("which of two requests comes first, asked by <: nobody knows")

    def foreign__(self) -> Iterator[tuple[str, Any]]:
        """What the text has stored in it that it was not made with."""
        return ((name, value) for name, value in vars(self).items() if name not in _MADE_WITH)


_FIXED = frozenset(name for name in vars(Request) if not name.startswith("__")) | {"request_id__"}
_MADE_WITH = frozenset(vars(Request(None, "", 1, 1)))  # type: ignore[arg-type]
