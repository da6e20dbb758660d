# SPDX-License-Identifier: MIT
"""Devices and methods."""

from __future__ import annotations

from typing import NamedTuple

from . import _core


class Device(NamedTuple):
    """A device that a batch can run on."""

    name: str
    description: str
    usable: bool


class Method(NamedTuple):
    """A method of integration."""

    name: str
    aliases: list[str]
    order: int
    embedded_order: int
    stability: str
    good_for: str


def devices() -> list[Device]:
    """What there is to run on; the CPU comes first.

    >>> import shoal
    >>> shoal.devices()[0].name
    'cpu'
    """
    return [Device(*row) for row in _core.devices()]


def methods() -> list[Method]:
    """All methods of integration, as ``shoal methods`` lists them."""
    return [Method(m[0], m[1].split(), *m[2:]) for m in _core.methods()]
