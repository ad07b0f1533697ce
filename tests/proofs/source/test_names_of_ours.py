"""What a text is handed has no name that the engine's own objects lack: by one, a text would know
that it is being proved, or reach the prover."""

from __future__ import annotations

import enum

import pytest

from proofs.source.objects.freeset import FreeSet, Uncertain
from proofs.source.objects.fresh import Fresh
from proofs.source.objects.history import History
from proofs.source.objects.ids import RequestId
from proofs.source.objects.requests import PauseState, RequestStatus
from proofs.source.objects.stubs import Maker, Record, RecordMaker, Stub
from proofs.source.objects.tokens import StopToken, Token
from proofs.symbolic import Veiled

STANDS_FOR: dict[type, type] = {
    Fresh: list,
    History: list,
    FreeSet: set,
    Uncertain: dict,
    RequestId: str,
    Token: int,
    StopToken: int,
    Veiled: int,
    Stub: object,
    Maker: object,
    Record: object,
    RecordMaker: object,
    RequestStatus: enum.IntEnum,
    PauseState: enum.IntEnum,
}


@pytest.mark.parametrize("kind", STANDS_FOR)
def test_it_has_no_name_of_ours(kind: type) -> None:
    members = set(getattr(kind, "__members__", ()))
    meta = set() if kind in (RequestStatus, PauseState) else set(dir(type))
    names = {n for n in {*dir(kind), *vars(type(kind))} if "__" not in n}
    ours = names - set(dir(STANDS_FOR[kind])) - members - meta
    assert not ours, f"a text can ask {kind.__name__} for {sorted(ours)}"
