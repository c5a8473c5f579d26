"""Functions as players: anything that gives values to boards, such as a neural network.

A :class:`ValueFunction` is a model like any other: it is evaluated, compared, searched and asked for
moves. The function is called with the boards of many games at once.

>>> import numpy as np
>>> import afterstate
>>> def empty_cells(boards):
...     return 100.0 * np.count_nonzero(boards == 0, axis=(1, 2))
>>> player = ValueFunction(empty_cells)
>>> player
<ValueFunction empty_cells: 2048 on 4x4>
>>> afterstate.compare(player, "random", games=200)["better"]
'a'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _afterstate
from .errors import InputError, counted
from .games import board_text
from .models import Model

__all__ = ["ValueFunction"]

#: A function of boards, and of hints where the game shows them.
Function = Callable[..., Any]

_KINDS = ("afterstates", "actions")


class ValueFunction(Model):
    """A function in Python as a player.

    With ``of="afterstates"``, ``function(boards)`` returns the value of the rest of the game for each
    afterstate: an array of n numbers. With ``of="actions"`` it returns, for each state, reward plus
    value of up, right, down and left: an array of n rows of four; those of illegal slides are
    ignored. ``boards`` is an array of tile indices, ``uint8`` of shape (n, rows, columns). Where the
    game shows the next tile, the function gets a second array with the hint of each board.

    ``num_envs`` games are played side by side, so a call has the boards of so many decisions: up to
    four afterstates for each. All calls for games are made by one thread, one after another; reviews,
    searches of several boards and :meth:`values` with ``threads`` may call it from several threads.
    What the function raises ends the work, and is raised by it.

    Games are those of the seed, for any ``num_envs``, as long as the value of a board does not
    depend on the other boards of its call; networks may differ in their last digits.

    >>> import numpy as np
    >>> corner = ValueFunction(lambda boards: boards[:, 0, 0] * 10.0, name="corner", board="3x3")
    >>> values, best = corner.values([[1, 1, 0], [0, 0, 0], [0, 0, 0]])
    >>> values.tolist(), int(best)
    ([nan, 4.0, 0.0, 24.0], 3)
    """

    def __init__(
        self,
        function: Function,
        *,
        game: str = "2048",
        board: str | tuple[int, int] = "4x4",
        of: str = "afterstates",
        num_envs: int = 256,
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise InputError(f"found {type(function).__name__}; expected a function of boards")
        if of not in _KINDS:
            raise InputError(f'`of` is "{of}"; expected "afterstates" or "actions"')
        label = name or str(getattr(function, "__name__", type(function).__name__))
        self._function = function
        self._of_what = of
        self._num_envs = counted("num_envs", num_envs, 1)
        self._player = _afterstate.Player.function(
            _Checked(function, of == "actions", label),
            game,
            board_text(board),
            of == "actions",
            self._num_envs,
            label,
        )

    @property
    def function(self) -> Function:
        """The function."""
        return self._function

    def __reduce__(self) -> tuple[Any, ...]:
        settings = {
            "game": self.game,
            "board": self.board,
            "of": self._of_what,
            "num_envs": self._num_envs,
            "name": self._player.label,
        }
        return _made, (self._function, settings)

    def __repr__(self) -> str:
        return f"<ValueFunction {self._player.label}: {self.game} on {self.board}>"


def _made(function: Function, settings: dict[str, Any]) -> ValueFunction:
    return ValueFunction(function, **settings)


class _Checked:
    """Calls a function, and checks what it returns."""

    def __init__(self, function: Function, actions: bool, label: str) -> None:
        self._function = function
        self._actions = actions
        self._label = label

    def __call__(
        self, boards: NDArray[np.uint8], hints: NDArray[np.uint8] | None
    ) -> NDArray[np.float32]:
        count = len(boards)
        found = self._function(boards) if hints is None else self._function(boards, hints)
        try:
            if found is None:
                raise TypeError
            values = np.asarray(found, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{self._label} returned {type(found).__name__}; expected an array of numbers"
            ) from error
        expected = (count, 4) if self._actions else (count,)
        if values.shape not in (expected, (*expected, 1)):
            raise InputError(
                f"{self._label} returned an array of shape {values.shape} for {count} boards;"
                f" expected {expected}"
            )
        missing = np.flatnonzero(np.isnan(values).reshape(count, -1).any(axis=1))
        if missing.size:
            board = boards[missing[0]].tolist()
            raise InputError(
                f"{self._label} returned nan for the board {board} (tile indices); expected a number"
            )
        return np.ascontiguousarray(values.reshape(-1))
