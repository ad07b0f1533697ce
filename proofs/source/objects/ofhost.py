"""What a text is given: it has the attributes it has here, and whether it has others is open."""

from __future__ import annotations

from typing import Any

from proofs.source.objects.host import Host
from proofs.source.objects.sealed import SealedMeta
from proofs.source.objects.stubs import resolve


class OfAHost(metaclass=SealedMeta):
    """Asked for what it does not have, or for being the same as another, it leaves that open."""

    __slots__ = ("host__",)
    called__ = ""

    def __init__(self, host: Host) -> None:
        object.__setattr__(self, "host__", host)

    def __setattr__(self, name: str, value: object) -> None:
        self.host__.undecided(f"{self.called__}.{name} is assigned")

    def __getattr__(self, name: str) -> Any:
        return resolve(self.host__, f"import {self.called__}.{name}")

    def __eq__(self, other: object) -> bool:
        if self is not other and type(self) is type(other):
            self.host__.undecided(f"whether two are the same {self.called__}: nobody knows")
        return self is other

    __hash__ = object.__hash__
