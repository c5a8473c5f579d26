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

import operator

from ._afterstate import MAX_THREADS

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


#: The largest whole number that an argument may be: seeds and counts have 64 bits.
_LARGEST = 2**64 - 1


def counted(name: str, value: int, least: int = 0, most: int = _LARGEST) -> int:
    """A whole number from ``least`` to ``most``, or an error that names the argument."""
    try:
        # Neither an array nor a truth value counts, of numpy or not.
        number = operator.index(value)
        is_number = not isinstance(value, bool)
    except TypeError:
        is_number = False
    if not is_number:
        raise InputError(f"`{name}` is {value!r}; expected a whole number")
    if not least <= number <= most:
        expected = f"of at least {least}" if most == _LARGEST else f"from {least} to {most}"
        if number > most == _LARGEST:
            expected = "of at most 64 bits"
        raise InputError(f"`{name}` is {number}; expected a whole number {expected}")
    return number


def optional(name: str, value: int | None, least: int = 0, most: int = _LARGEST) -> int | None:
    """The same for an argument that may be left out."""
    return None if value is None else counted(name, value, least, most)


def threads_of(value: int, least: int = 0, name: str = "threads") -> int:
    """A number of threads, or of runs at once."""
    return counted(name, value, least, MAX_THREADS)
