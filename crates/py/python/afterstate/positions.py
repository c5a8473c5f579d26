"""The positions of games as arrays, to learn from.

>>> import afterstate
>>> found = afterstate.positions("greedy", board="3x3", games=20)
>>> found
<Positions: ... of 20 games of 2048 on 3x3>
>>> found.boards.shape == (len(found), 3, 3)
True
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from . import _afterstate
from .commands import _Games
from .errors import InputError, counted
from .games import Game
from .models import Model, PathLike, Run, Solution, player
from .progress import Progress, listener

__all__ = ["Positions", "positions"]

#: Where positions come from: records, or a player.
Source = Union[Model, Solution, Run, Callable[..., Any], str, "os.PathLike[str]"]


@dataclass(frozen=True, repr=False)
class Positions:
    """Positions before a slide, in the order in which they were played, as arrays of one length.

    An index selects some of them: ``found[found.moves == 3]``, ``found[::10]``.

    >>> found = positions("greedy", board="2x2", games=10)
    >>> bool((found[found.moves == 3].moves == 3).all()), len(found[:5])
    (True, 5)
    """

    #: The game.
    game: Game
    #: The tile indices of each state, (n, rows, columns).
    boards: NDArray[np.uint8]
    #: The tile shown as the next one (4 for a bonus tile); 0 in games that show none.
    hints: NDArray[np.uint8]
    #: The tile indices after the slide that was made.
    afterstates: NDArray[np.uint8]
    #: The slide that was made, by its number.
    moves: NDArray[np.int8]
    #: Its reward.
    rewards: NDArray[np.int64]
    #: What the game earned from this slide to its end, the reward of the slide included. The outcome
    #: of the afterstate is ``returns - rewards``.
    returns: NDArray[np.int64]
    #: The final score of the game.
    scores: NDArray[np.int64]
    #: The number of the game, or the line of its record.
    games: NDArray[np.int64]
    #: By the model: reward plus value of each slide, (n, 4), NaN where it is illegal.
    values: NDArray[np.float32] | None = None
    #: How many records were left out, because they end before their game is over.
    unfinished: int = 0

    def __len__(self) -> int:
        return len(self.moves)

    def __getitem__(self, index: Any) -> Positions:
        if isinstance(index, (int, np.integer)):
            index = slice(index, None if index == -1 else index + 1)
        selected: dict[str, Any] = {}
        for field in fields(self):
            array = getattr(self, field.name)
            is_array = isinstance(array, np.ndarray)
            selected[field.name] = array[index] if is_array else array
        return Positions(**selected)

    @staticmethod
    def joined(parts: Sequence[Positions]) -> Positions:
        """Several of them as one. Values are kept if all of them have values.

        >>> parts = [positions("greedy", board="2x2", games=5, seed=seed) for seed in (1, 2)]
        >>> len(Positions.joined(parts)) == len(parts[0]) + len(parts[1])
        True
        """
        if not parts:
            raise InputError("found no positions; expected at least one part")
        if any(one.game != parts[0].game for one in parts):
            raise InputError("the positions are of different games or boards")
        arrays: dict[str, Any] = {"game": parts[0].game}
        for field in fields(Positions)[1:]:
            found = [getattr(one, field.name) for one in parts]
            if field.name == "unfinished":
                arrays[field.name] = sum(found)
            elif any(array is None for array in found):
                arrays[field.name] = None
            else:
                arrays[field.name] = np.concatenate(found)
        return Positions(**arrays)

    def __repr__(self) -> str:
        games = len(np.unique(self.games))
        of = f"{self.game.name} on {self.game.board}"
        return f"<Positions: {len(self):,} of {games:,} games of {of}>"


def positions(
    source: Source,
    *,
    model: Model | Run | Solution | PathLike | None = None,
    game: str | None = None,
    board: str | tuple[int, int] | None = None,
    games: int | None = None,
    seed: int | None = None,
    every: int = 1,
    search: str = "1ply",
    threads: int = 0,
    progress: Progress = False,
) -> Positions:
    """The positions of recorded games, or of games that a player plays.

    ``source`` is a file of records (also replays of 2048verse.com), or a player as in
    :func:`afterstate.evaluate`, whose games (default: 100 of seed 1) are those of its evaluation.
    ``model`` gives the values of all slides; a player with values gives its own, without its search.
    ``every=n`` takes one of n positions of each game, which are less correlated. Records that end before
    their game is over are left out, since their outcome is not known; ``unfinished`` counts them.

    >>> found = positions("greedy", board="2x2", games=5, seed=3)
    >>> bool(found.scores[0] == found.returns[0]), found.values.shape == (len(found), 4)
    (True, True)
    >>> len(positions("greedy", board="2x2", games=50, every=4)) < 0.3 * len(
    ...     positions("greedy", board="2x2", games=50))
    True
    """
    every = counted("every", every, 1)
    records = _records(source)
    if records is not None:
        for name, value in (("game", game), ("board", board), ("games", games), ("seed", seed)):
            if value is not None:
                raise InputError(f"`{name}` has no effect on records: they have their own games")
        if search != "1ply":
            raise InputError("`search` has no effect on records: their games are played")
        name, shape, arrays = _afterstate.positions_of_records(records, every, listener(progress))
        valued = None if model is None else player(model)
    else:
        opened = player(source, game, board)
        asked = _Games(
            100 if games is None else games, 1 if seed is None else seed, threads, None
        )
        searching = opened.with_search(search, None, None, None, 0)
        arrays = _afterstate.positions_of_play(searching, asked, every, listener(progress))
        name, shape = opened.game, opened.board
        valued = opened if model is None else player(model)
        if model is None and opened.search == "random":
            valued = None
    found = Positions(Game(name, shape), **arrays)
    return found if valued is None else _valued(found, valued, threads)


def _valued(found: Positions, valued: _afterstate.Player, threads: int) -> Positions:
    if (valued.game, valued.board) != (found.game.name, found.game.board):
        raise InputError(
            f"the model plays {valued.game} on {valued.board}, but these are positions of"
            f" {found.game.name} on {found.game.board}"
        )
    hints = found.hints if found.game.shows_hint else None
    values, _ = Model._of(valued).values(found.boards, hints=hints, threads=threads)
    given = {field.name: getattr(found, field.name) for field in fields(found)}
    return Positions(**{**given, "values": values})


def _records(source: Source) -> PathLike | None:
    """The file, if the source is one of records: lines of text, where models are binary."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    if path.is_dir():
        return None
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError:
        if isinstance(source, str) and source in ("random", "greedy"):
            return None
        if path.suffix in (".txt", ".json", ".jsonl"):
            # The error of a file that cannot be read names it.
            return source
        return None
    return source if start and b"\0" not in start else None
