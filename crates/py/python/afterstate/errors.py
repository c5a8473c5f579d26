"""Exceptions: one family, with the sentences of the command line.

Each says what was found and what was expected; :attr:`Error.remedy` says what to do about it.

>>> import afterstate
>>> try:
...     afterstate.evaluate("random", game="chess")
... except afterstate.InputError as error:
...     print(error)
unknown game `chess`; the games are 2048, threes, threes-hint, threes-original, 2584, 2584-three
"""

from __future__ import annotations

__all__ = ["DivergedError", "Error", "InputError", "ResourceError"]


class Error(Exception):
    """Any error of this package."""

    #: What to do about it, if there is more to do than the text says.
    remedy: str | None

    def __init__(self, text: str, remedy: str | None = None) -> None:
        super().__init__(text, remedy)
        self.remedy = remedy or None

    def __str__(self) -> str:
        text = str(self.args[0])
        return f"{text}; {self.remedy}" if self.remedy else text


class InputError(Error, ValueError):
    """What was asked for cannot be done: a wrong value, a damaged file, a missing folder."""


class ResourceError(Error, OSError):
    """The disk or the memory of this machine did not suffice, or failed."""

    def __str__(self) -> str:
        return Error.__str__(self)


class DivergedError(Error, ArithmeticError):
    """A weight became NaN or infinite in training."""


def counted(name: str, value: int, least: int = 0) -> int:
    """A whole number of at least ``least``, or an error that names the argument."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < least:
        raise InputError(f"`{name}` is {value}; expected a whole number of at least {least}")
    return int(value)
