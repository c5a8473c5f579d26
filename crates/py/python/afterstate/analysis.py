"""Analysis of a board: the value of every move, its chances, and the best line."""

from __future__ import annotations

import json
from typing import Any

from numpy.typing import ArrayLike

from . import _afterstate
from .errors import InputError, counted, threads_of
from .games import Game, Position, exponents
from .models import (
    PathLike,
    Player,
    Solution,
    baseline,
    open_player,
    player,
    options_of_each,
)
from .progress import Progress, listener

__all__ = ["analyze"]

def analyze(
    board: str | Position | ArrayLike,
    *,
    model: Player | None = None,
    game: str | None = None,
    solution: Solution | PathLike | None = None,
    search: str = "1ply",
    hash: int | None = None,
    cutoff: float | None = None,
    downgrade: int | None = None,
    rollouts: int | None = None,
    rollout_search: str = "1ply",
    seed: int | None = None,
    threads: int = 0,
    progress: Progress = False,
) -> dict[str, Any]:
    """The value of every move on a board: ``afterstate analyze``.

    The board is a text as the command line takes it, a position, or an array of tile indices (see
    :meth:`Game.exponents`). The result is the JSON of the command. With ``rollouts``, that many
    games are played on from each legal move, for the chances of the next tiles, under ``seed``
    (default: 1). With ``solution``, values are exact.

    >>> found = analyze("2,2,0/4,0,0", model="greedy", rollouts=100)
    >>> found["best"] in ("right", "left"), found["moves"][3]["reward"]
    (True, 4)
    """
    searches = (search, rollout_search)
    first, then = options_of_each(searches, hash, cutoff, downgrade)
    threads = threads_of(threads)
    _check(searches, rollouts, seed, threads)
    seed = counted("seed", 1 if seed is None else seed)
    if solution is not None:
        if model is not None or game is not None:
            raise InputError("a solution has its own game and player: leave out `model` and `game`")
        if searches != ("1ply", "1ply") or first != (None, None, None):
            raise InputError("the values of a solution are exact: a search has no effect on them")
        return _exact(board, solution, rollouts, seed, threads, progress)
    opened = _opened(board, model, game)
    text = _text(board, opened.game, opened.board)
    searching = opened.with_search(search, *first, threads)
    rolling = opened.with_search(rollout_search, *then, 0)
    found = searching.analyze(text, rollouts, rolling, seed, threads, listener(progress))
    analysis: dict[str, Any] = json.loads(found)
    return analysis


def _check(
    searches: tuple[str, str], rollouts: int | None, seed: int | None, threads: int
) -> None:
    """Refuses arguments without effect."""
    if rollouts is not None:
        counted("rollouts", rollouts, 1)
    elif searches[1] != "1ply":
        raise InputError("`rollout_search` has no effect without rollouts; add rollouts=1000")
    elif seed is not None:
        raise InputError("`seed` has no effect without rollouts; add rollouts=1000")
    elif threads and searches[0] == "1ply":
        raise InputError("`threads` has no effect without a search or rollouts")


def _text(board: str | Position | ArrayLike, game: str, shape: str) -> str:
    """The board in one line."""
    if isinstance(board, str):
        return board
    return (board if isinstance(board, Position) else Game(game, shape).position(board)).text


def _shape(board: str | Position | ArrayLike) -> str:
    """Rows and columns of a board, as in ``"4x4"``."""
    if isinstance(board, (str, Position)):
        text = board if isinstance(board, str) else board.text
        return "x".join(str(side) for side in _afterstate.board_shape(text))
    tiles = exponents(board)
    if tiles.ndim != 2:
        raise InputError(f"found an array of shape {tiles.shape}; expected one board")
    return "x".join(str(side) for side in tiles.shape)


def _opened(
    board: str | Position | ArrayLike, model: Player | None, game: str | None
) -> _afterstate.Player:
    if isinstance(board, Position):
        if game not in (None, board.game.name):
            raise InputError(f"the position is one of {board.game.name}, not of {game}")
        game = board.game.name
    shape = _shape(board)
    if model is None:
        opened = open_player(None, game, shape)
    elif isinstance(model, str):
        opened = baseline(model, game or "2048", shape) or open_player(model, None, None)
    else:
        opened = player(model)
    if game not in (None, opened.game):
        raise InputError(f"{opened.label} plays {opened.game}, not {game}")
    return opened


def _exact(
    board: str | Position | ArrayLike,
    solution: Solution | PathLike,
    rollouts: int | None,
    seed: int,
    threads: int,
    progress: Progress,
) -> dict[str, Any]:
    exact = solution if isinstance(solution, Solution) else Solution(solution)
    text = _text(board, exact.game, exact.board)
    found = exact.analyze(text)
    if rollouts is not None:
        optimal = exact.model._player
        played = json.loads(
            optimal.analyze(text, rollouts, optimal, seed, threads, listener(progress))
        )
        found["rollouts"] = played["rollouts"]
        for move, other in zip(found["moves"], played["moves"]):
            move.update({key: other[key] for key in ("chances", "rest", "line")})
    return found
