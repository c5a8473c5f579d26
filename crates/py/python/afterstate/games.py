"""Games, positions and afterstates.

A turn has two halves: the player slides a :class:`Position` into an :class:`Afterstate`, then
chance spawns a tile, which gives a position again.

>>> import afterstate
>>> game = afterstate.Game("2048", board="3x3")
>>> position = game.position("2,2,0/0,4,0/0,0,0")
>>> position.legal
['right', 'down', 'left']
>>> after, reward = position.slide("left")
>>> reward
4
>>> after.values.tolist()
[[4, 0, 0], [4, 0, 0], [0, 0, 0]]
>>> round(sum(spawn.probability for spawn in after.spawns()), 9)
1.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _afterstate
from .errors import InputError, counted

__all__ = ["DIRECTIONS", "Afterstate", "Direction", "Game", "Position", "Random", "Spawn", "games"]

#: The four directions; actions of environments are their numbers.
DIRECTIONS = ("up", "right", "down", "left")
#: A direction by its name or number.
Direction = Union[str, int]

_HINTS = (None, "1", "2", "3", "bonus")


def games() -> list[str]:
    """The names of all games.

    >>> games()
    ['2048', 'threes', 'threes-hint', 'threes-original', '2584', '2584-three']
    """
    return _afterstate.games()


def _direction(direction: Direction) -> int:
    if isinstance(direction, str):
        if direction not in DIRECTIONS:
            expected = ", ".join(DIRECTIONS)
            raise InputError(f"`{direction}` is not a direction; expected one of {expected}")
        return DIRECTIONS.index(direction)
    return counted("direction", direction, most=3)


def board_text(board: str | tuple[int, int]) -> str:
    """A board size as text: ``"4x4"`` for ``(4, 4)``."""
    if isinstance(board, str):
        return board
    try:
        rows, cols = board
    except (TypeError, ValueError):
        raise InputError(
            f'`board` is {board!r}; expected rows and columns, as in "4x4" or (4, 4)'
        ) from None
    return f"{rows}x{cols}"


class Random:
    """A stream of random numbers: the one of game ``game`` of an evaluation with this seed.

    >>> game = Game("2048")
    >>> game.start(Random(seed=1)) == game.start(Random(seed=1))
    True
    """

    def __init__(self, seed: int, game: int = 0) -> None:
        self._random = _afterstate.Random(counted("seed", seed), counted("game", game))

    def unit(self) -> float:
        """A uniform number in [0, 1).

        >>> 0 <= Random(seed=1).unit() < 1
        True
        """
        return self._random.unit()


class Game:
    """A game on a board.

    >>> game = Game("threes-hint")
    >>> game
    Game('threes-hint', board='4x4')
    >>> game.tile_values[:6]
    [0, 1, 2, 3, 6, 12]
    """

    def __init__(self, name: str = "2048", board: str | tuple[int, int] = "4x4") -> None:
        self._game = _afterstate.Game(name, board_text(board))

    @classmethod
    def _of(cls, game: _afterstate.Game) -> Game:
        made = cls.__new__(cls)
        made._game = game
        return made

    @property
    def name(self) -> str:
        """Its name."""
        return self._game.name

    @property
    def board(self) -> str:
        """Rows and columns, as in ``"4x4"``."""
        return f"{self._game.rows}x{self._game.cols}"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self._game.rows, self._game.cols)

    @property
    def tile_values(self) -> list[int]:
        """The number on each tile, by its index (exponent); 0 for an empty cell."""
        return self._game.tile_values

    @property
    def shows_hint(self) -> bool:
        """Whether it shows the next tile."""
        return self._game.shows_hint

    def start(self, random: Random | int) -> Position:
        """An initial position, drawn from a stream or with a seed.

        >>> int(np.count_nonzero(Game("2048").start(7).tiles))
        2
        """
        stream = random if isinstance(random, Random) else Random(random)
        return Position(self._game.start(stream._random))

    def position(self, board: str | ArrayLike, hint: str | None = None) -> Position:
        """A position: of a text as ``afterstate analyze`` reads it, or of tile indices.

        >>> print(Game("2048", "2x3").position([[1, 0, 0], [0, 0, 6]]).text)
        2,0,0/0,0,64
        """
        if isinstance(board, str):
            text = board if hint is None else f"{board}+{hint}"
            return Position(self._game.parse(text))
        if hint not in _HINTS:
            raise InputError(f"`{hint}` is not a hint; expected 1, 2, 3 or bonus")
        tiles = exponents(board)
        if tiles.shape not in (self.shape, (self.shape[0] * self.shape[1],)):
            raise InputError(f"found an array of shape {tiles.shape}; expected {self.shape}")
        return Position(self._game.position(tiles.ravel().tolist(), _HINTS.index(hint)))

    def exponents(self, values: ArrayLike) -> NDArray[np.uint8]:
        """Tile indices for the numbers on tiles.

        >>> Game("2048").exponents([0, 2, 4, 2048]).tolist()
        [0, 1, 2, 11]
        """
        known = np.asarray(self.tile_values, dtype=np.int64)
        found = np.asarray(values)
        places = np.searchsorted(known, found).clip(0, len(known) - 1)
        if not np.array_equal(known[places], found):
            wrong = found[known[places] != found].ravel()[0]
            raise InputError(f"{wrong} is not a tile of {self.name}")
        return places.astype(np.uint8)

    def slides(
        self, boards: ArrayLike, *, hints: ArrayLike | None = None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
        """The four slides of many boards: afterstates, rewards, and whether they are legal.

        ``boards`` has tile indices with any leading axes. The result has a further axis for up,
        right, down and left; an illegal slide changes nothing and has no reward. Games that show the
        next tile need ``hints``.

        >>> after, rewards, legal = Game("2048", "2x2").slides([[1, 1], [0, 2]])
        >>> after[3].tolist(), int(rewards[3]), legal.tolist()
        ([[2, 0], [2, 0]], 4, [False, True, True, True])
        """
        tiles = exponents(boards)
        if tiles.shape[-2:] != self.shape:
            raise InputError(
                f"found boards of shape {tiles.shape}; expected (..., {self.shape[0]},"
                f" {self.shape[1]})"
            )
        lead = tiles.shape[:-2]
        shown = np.zeros(0, dtype=np.uint8) if hints is None else exponents(hints)
        flat = [np.ascontiguousarray(array).reshape(-1) for array in (tiles, shown)]
        after, rewards, legal = _afterstate.slides(self.name, self.board, *flat)
        return (
            after.reshape(*lead, 4, *self.shape),
            rewards.reshape(*lead, 4),
            legal.reshape(*lead, 4),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Game, (self.name, self.board)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and (self.name, self.board) == (other.name, other.board)

    def __hash__(self) -> int:
        return hash((self.name, self.board))

    def __repr__(self) -> str:
        return f"Game({self.name!r}, board={self.board!r})"


def exponents(boards: ArrayLike) -> NDArray[np.uint8]:
    """An array of tile indices as bytes; numbers that do not fit are refused."""
    try:
        found = np.asarray(boards)
    except ValueError:
        raise InputError("the rows of the boards have different lengths") from None
    if found.dtype == np.uint8:
        return found
    if found.dtype.kind not in "iub":
        raise InputError(f"found an array of {found.dtype}; expected tile indices, whole numbers")
    if found.size and not (0 <= found.min() and found.max() <= 255):
        raise InputError(
            f"found the tile index {found.max() if found.max() > 255 else found.min()}; expected"
            " tile indices (1 is the smallest tile), not the numbers on tiles: see Game.exponents"
        )
    return found.astype(np.uint8)


def _grid(game: _afterstate.Game, tiles: Sequence[int]) -> NDArray[np.uint8]:
    return np.array(list(tiles), dtype=np.uint8).reshape(game.rows, game.cols)


class Position:
    """A position in which the player is to move. Positions do not change.

    >>> position = Game("threes-hint", "2x3").position("0,0,0/0,1,0+2")
    >>> position.hint
    '2'
    >>> position.legal
    ['up', 'right', 'left']
    """

    def __init__(self, position: _afterstate.Position) -> None:
        self._position = position

    @property
    def game(self) -> Game:
        """Its game."""
        return Game._of(self._position.game)

    @property
    def tiles(self) -> NDArray[np.uint8]:
        """The tile index in each cell; 0 is empty."""
        return _grid(self._position.game, self._position.tiles)

    @property
    def values(self) -> NDArray[np.int64]:
        """The number in each cell; 0 is empty."""
        known = np.asarray(self._position.game.tile_values, dtype=np.int64)
        values: NDArray[np.int64] = known[self.tiles]
        return values

    @property
    def hint(self) -> str | None:
        """The next tile, where the game shows it: 1, 2, 3 or bonus."""
        return _HINTS[self._position.hint]

    @property
    def text(self) -> str:
        """The board in one line, which :meth:`Game.position` reads."""
        return self._position.text

    @property
    def legal(self) -> list[str]:
        """The legal directions."""
        return [DIRECTIONS[number] for number in self._position.legal]

    @property
    def over(self) -> bool:
        """Whether no slide is legal."""
        return not self._position.legal

    @property
    def initial_score(self) -> int:
        """The score of a game that starts here: in Threes!, that of its tiles."""
        return self._position.initial_score

    def slide(self, direction: Direction) -> tuple[Afterstate, int]:
        """The afterstate of a slide, and its reward.

        >>> Game("2048", "2x2").position("2,0/0,0").slide("up")
        Traceback (most recent call last):
        ...
        afterstate.errors.InputError: `up` is illegal on 2,0/0,0: it changes nothing
        """
        found = self._position.slide(_direction(direction))
        if found is None:
            name = DIRECTIONS[_direction(direction)]
            raise InputError(f"`{name}` is illegal on {self.text}: it changes nothing")
        return Afterstate(found[0]), found[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return _parsed, (self.game, self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self._position == other._position

    def __hash__(self) -> int:
        return hash(self._position)

    def __str__(self) -> str:
        return self._position.drawing()

    def __repr__(self) -> str:
        return f"<Position of {self.game.name}: {self.text}>"


def _parsed(game: Game, text: str) -> Position:
    return game.position(text)


@dataclass(frozen=True)
class Spawn:
    """A spawn that may follow an afterstate."""

    #: Its cell: row and column.
    cell: tuple[int, int]
    #: The number on the new tile.
    tile: int
    #: Its probability.
    probability: float
    #: Its reward: 0 in most games.
    reward: int
    #: The position after it.
    position: Position


class Afterstate:
    """A position after a slide and before the spawn.

    >>> after, _ = Game("2048", "2x2").position("2,2/0,0").slide("left")
    >>> for spawn in after.spawns()[:2]:
    ...     print(spawn.cell, spawn.tile, round(spawn.probability, 3))
    (0, 1) 2 0.3
    (0, 1) 4 0.033
    """

    def __init__(self, after: _afterstate.Afterstate) -> None:
        self._after = after

    @property
    def tiles(self) -> NDArray[np.uint8]:
        """The tile index in each cell; 0 is empty."""
        return _grid(self._after.game, self._after.tiles)

    @property
    def values(self) -> NDArray[np.int64]:
        """The number in each cell; 0 is empty."""
        known = np.asarray(self._after.game.tile_values, dtype=np.int64)
        values: NDArray[np.int64] = known[self.tiles]
        return values

    def spawns(self) -> list[Spawn]:
        """Every possible spawn; the probabilities sum to 1.

        >>> after, _ = Game("2048").position("2,2,0,0/0,0,0,0/0,0,0,0/0,0,0,0").slide("left")
        >>> len(after.spawns()), after.spawns()[0].position.text[:7]
        (30, '4,2,0,0')
        """
        cols, values = self._after.game.cols, self._after.game.tile_values
        return [
            Spawn(divmod(cell, cols), values[tile], chance, reward, Position(position))
            for cell, tile, chance, reward, position in self._after.spawns()
        ]

    def spawn(self, random: Random) -> tuple[Position, int]:
        """Draws a spawn: the position after it, and its reward.

        >>> after, _ = Game("2048").start(1).slide("left")
        >>> position, reward = after.spawn(Random(seed=2))
        >>> reward
        0
        """
        position, reward = self._after.spawn(random._random)
        return Position(position), reward

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Afterstate) and self._after == other._after

    def __str__(self) -> str:
        return self._after.drawing()
