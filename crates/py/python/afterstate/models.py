"""Models, solutions and runs.

>>> import afterstate
>>> run = afterstate.train(board="2x2", set={"tuples": "lines"}, episodes=200, out=None)
>>> run.model.game, run.model.board
('2048', '2x2')
>>> values, best = run.model.values([[[1, 1], [0, 0]], [[1, 2], [2, 1]]])
>>> values.shape, int(best[1])
((2, 4), -1)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _afterstate
from .errors import InputError, counted, optional, threads_of
from .games import DIRECTIONS, Game, Position, board_text, exponents
from .progress import Event, Progress, listener

__all__ = ["Model", "Run", "Solution"]

PathLike = Union[str, "os.PathLike[str]"]

#: Where runs are.
RUNS = "runs"


class Model:
    """A player with values: a model, weights of another program, an exact solution, a baseline.

    ``path`` is what the command line takes: a model file, a run folder, a weight file of another
    program, an exact solution, or ``"random"`` and ``"greedy"``, which play ``game`` on ``board``.
    Without it, the network in the program is opened, where it has one for the game and board, or
    else the newest run of both under ``runs/``.

    >>> random = Model("random", game="threes", board="3x3")
    >>> random
    <Model random: threes on 3x3>
    """

    def __init__(
        self,
        path: PathLike | None = None,
        *,
        game: str | None = None,
        board: str | tuple[int, int] | None = None,
    ) -> None:
        self._player = open_player(path, game, board)
        self._search: _Search | None = None

    @classmethod
    def _of(cls, player: _afterstate.Player, search: _Search | None = None) -> Model:
        made = cls.__new__(cls)
        made._player = player
        made._search = search
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        path = self._player.path
        if path is not None:
            # Another process may have another working folder.
            path = str(Path(path).absolute()) if Path(path).exists() else path
            return _reopened, (path, None, None, self._search)
        if self._player.label in ("random", "greedy"):
            return _reopened, (self._player.label, self.game, self.board, self._search)
        raise InputError(
            f"{self._player.label} is in memory, and only models of files can be pickled; save it"
            " with `Model.save`"
        )

    @property
    def game(self) -> str:
        """The name of its game."""
        return self._player.game

    @property
    def board(self) -> str:
        """Its board, as in ``"4x4"``."""
        return self._player.board

    @property
    def path(self) -> Path | None:
        """The file it was read from."""
        return None if self._player.path is None else Path(self._player.path)

    @property
    def recipe(self) -> str | None:
        """The recipe it was trained with, and what was changed in it."""
        return self._player.recipe

    @property
    def trained(self) -> int | None:
        """The games it was trained for, if this program trained it."""
        return self._player.trained

    @property
    def search(self) -> str:
        """How it chooses its moves: ``1ply``, ``3ply``, ``random``, ``exact``."""
        return self._player.search

    def with_search(
        self,
        search: str,
        *,
        hash: int | None = None,
        cutoff: float | None = None,
        downgrade: int | None = None,
        threads: int = 0,
    ) -> Model:
        """The same model, looking ahead: ``"3ply"``, ``"100ms"`` or ``"empty:4=5ply,3ply"``.

        >>> Model("random").with_search("2ply")
        Traceback (most recent call last):
        ...
        afterstate.errors.InputError: random has no values of moves, so there is nothing to search
        """
        options = search_options(hash, cutoff, downgrade, threads)
        return Model._of(self._player.with_search(search, *options), (search, *options))

    def values(
        self, boards: ArrayLike, *, hints: ArrayLike | None = None, threads: int = 1
    ) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """The values of all moves of many boards, and the best moves.

        ``boards`` has tile indices (see :meth:`Game.exponents`), with any leading axes; games that
        show the next tile need ``hints``, the index of each board's (4 for a bonus tile). The
        result is reward plus value of up, right, down and left, NaN where a move is illegal, and
        the number of the best, -1 where the game is over.

        >>> values, best = Model("greedy", board="2x2").values([[1, 1], [2, 0]])
        >>> values.tolist(), int(best)
        ([nan, 4.0, 0.0, 4.0], 3)
        """
        rows, cols = (int(side) for side in self.board.split("x"))
        tiles = exponents(boards)
        if tiles.shape[-2:] != (rows, cols):
            raise InputError(
                f"found boards of shape {tiles.shape}; expected (..., {rows}, {cols})"
            )
        lead = tiles.shape[:-2]
        flat = np.ascontiguousarray(tiles).reshape(-1)
        shown = np.zeros(0, dtype=np.uint8) if hints is None else exponents(hints).reshape(-1)
        shown = np.ascontiguousarray(shown)
        values, best = self._player.values(flat, shown, threads_of(threads))
        return values.reshape(*lead, 4), best.reshape(lead)

    def best_moves(
        self, boards: ArrayLike, *, hints: ArrayLike | None = None, threads: int = 1
    ) -> NDArray[np.int8]:
        """The best move of each of many boards by its number, -1 where the game is over.

        >>> Model("greedy", board="2x2").best_moves([[[1, 1], [2, 0]], [[1, 2], [2, 1]]]).tolist()
        [3, -1]
        """
        return self.values(boards, hints=hints, threads=threads)[1]

    def choose(self, position: str | Position | ArrayLike) -> str | None:
        """The move it makes in a position, given also as text or as an array of tile indices; none if
        the game is over.

        >>> Model("greedy").choose("4,2,0,0/2,0,0,0/2,0,0,0/0,0,0,0")
        'down'
        """
        if not isinstance(position, Position):
            position = Game(self.game, self.board).position(position)
        number = self._player.choose(position._position)
        return None if number is None else DIRECTIONS[number]

    def save(self, path: PathLike) -> None:
        """Writes a model that was trained in memory to a file, in the format of run folders.

        >>> import afterstate, os, tempfile
        >>> run = afterstate.train(board="2x2", set={"tuples": "01"}, episodes=50, out=None)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.model.save(os.path.join(folder, "model.safetensors"))
        ...     Model(os.path.join(folder, "model.safetensors")).trained
        50
        """
        if self._player.path is not None:
            raise InputError(f"the model is in {self._player.path} already")
        self._player.save(path)

    @property
    def tables(self) -> Mapping[str, NDArray[np.float32]]:
        """The weights of an n-tuple network, by pattern, where they lie in memory.

        Each is an array with an axis for each cell of the pattern, in its order: the weight for the
        tile indices ``t`` in these cells is ``table[t]``. Nothing is copied; the arrays cannot be
        written to. A baseline has none.

        >>> import afterstate
        >>> run = afterstate.train(board="2x2", set={"tuples": "01"}, episodes=50, out=None)
        >>> run.model.tables["01"].shape
        (16, 16)
        """
        tables = {name: np.asarray(table) for name, table in self._player.tables()}
        return MappingProxyType(tables)

    def __repr__(self) -> str:
        trained = "" if self.trained is None else f", trained for {self.trained:,} games"
        return f"<Model {self._player.label}: {self.game} on {self.board}{trained}>"


#: A search with its options: the limit, the size of the table, the cut-off, the downgrading, threads.
_Search = tuple[str, int | None, float | None, int | None, int]


def search_options(
    hash: int | None, cutoff: float | None, downgrade: int | None, threads: int = 0
) -> tuple[int | None, float | None, int | None, int]:
    """The options of a search, checked."""
    return (
        optional("hash", hash, 1),
        cutoff,
        optional("downgrade", downgrade),
        threads_of(threads),
    )


def options_of_each(
    limits: Sequence[str], hash: int | None, cutoff: float | None, downgrade: int | None
) -> list[tuple[int | None, float | None, int | None]]:
    """The options of several searches: each applies where it has an effect.

    What has no effect on any of them stays, for :meth:`Model.with_search` to refuse.
    """
    hash, cutoff, downgrade, _ = search_options(hash, cutoff, downgrade)
    is_searching = [limit != "1ply" for limit in limits]
    can_cut_off = [_afterstate.can_cut_off(limit) for limit in limits]
    return [
        (
            (hash, cutoff if cuts or not any(can_cut_off) else None, downgrade)
            if searches or not any(is_searching)
            else (None, None, None)
        )
        for searches, cuts in zip(is_searching, can_cut_off)
    ]


def _reopened(
    path: str, game: str | None, board: str | None, search: _Search | None
) -> Model:
    model = Model(path, game=game, board=board)
    if search is None:
        return model
    limit, hash, cutoff, downgrade, threads = search
    return model.with_search(
        limit, hash=hash, cutoff=cutoff, downgrade=downgrade, threads=threads
    )


def baseline(path: PathLike, game: str, board: str) -> _afterstate.Player | None:
    """The baseline of this name, unless there is a file of that name."""
    named = isinstance(path, str) and not Path(path).exists()
    return _afterstate.Player.baseline(str(path), game, board) if named else None


def open_player(
    path: PathLike | None, game: str | None, board: str | tuple[int, int] | None
) -> _afterstate.Player:
    """The player of a path or a name, or the default model of a game and board."""
    board = None if board is None else board_text(board)
    if path is None:
        path = _afterstate.default_model(RUNS, game or "2048", board or "4x4")
        return _afterstate.Player.open(path)
    named = baseline(path, game or "2048", board or "4x4")
    if named is not None:
        return named
    if game is not None or board is not None:
        raise InputError(
            "`game` and `board` are only for random and greedy and for the newest model: a model"
            " has its own game and board"
        )
    return _afterstate.Player.open(path)


#: What stands for a player: a model, a solution, a run, a function of boards (see
#: :class:`ValueFunction`), or what :class:`Model` takes.
Player = Union[Model, "Solution", "Run", Callable[..., Any], str, "os.PathLike[str]"]


def player(
    model: Player | None,
    game: str | None = None,
    board: str | tuple[int, int] | None = None,
) -> _afterstate.Player:
    """The player that an argument stands for."""
    if isinstance(model, Run):
        model = model.model
    if isinstance(model, Solution):
        model = model.model
    if isinstance(model, Model):
        if game is not None or board is not None:
            raise InputError("`game` and `board` have no effect on a model: it has its own")
        return model._player
    if callable(model):
        from .functions import ValueFunction

        return ValueFunction(model, game=game or "2048", board=board or "4x4")._player
    return open_player(model, game, board)


class Solution:
    """The exact values of a small board, of :func:`afterstate.solve` or of a file.

    >>> import afterstate
    >>> solution = afterstate.solve("2x2", target=16)
    >>> round(solution.expected_score, 6), round(solution.win_probability, 6)
    (66.964149, 0.962511)
    >>> solution.scores.shape == (solution.canonical_states,)
    True
    """

    def __init__(self, path: PathLike) -> None:
        self._solution = _afterstate.Solution.open(path)

    @classmethod
    def _of(cls, solution: _afterstate.Solution) -> Solution:
        made = cls.__new__(cls)
        made._solution = solution
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        if self._solution.path is None:
            raise InputError(
                "the solution is in memory, and only those of files can be pickled; solve with"
                " `out=`, or open what `save` has written"
            )
        return Solution, (str(Path(self._solution.path).absolute()),)

    @property
    def game(self) -> str:
        """The name of its game."""
        return self._solution.game

    @property
    def board(self) -> str:
        """Its board."""
        return self._solution.board

    @property
    def expected_score(self) -> float:
        """The expected score of optimal play."""
        return self._solution.expected_score

    @property
    def discount(self) -> float:
        """The discount per move."""
        return self._solution.discount

    @property
    def states(self) -> int:
        """The number of reachable states."""
        return self._solution.states

    @property
    def canonical_states(self) -> int:
        """The same, with symmetric states counted once."""
        return self._solution.canonical_states

    @property
    def target(self) -> int | None:
        """The target tile, if there is one."""
        return None if self._solution.target is None else self._solution.target[0]

    @property
    def win_probability(self) -> float | None:
        """The probability that the best play for the target reaches it."""
        return None if self._solution.target is None else self._solution.target[1]

    @property
    def report(self) -> dict[str, Any] | None:
        """The JSON of ``afterstate solve --json``; none for one that was read from a file."""
        report = self._solution.report
        return None if report is None else json.loads(report)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The expected future score of every canonical state, without a copy."""
        return np.asarray(self._solution.vector(False))

    @property
    def wins(self) -> NDArray[np.float64] | None:
        """The probability of the target of every canonical state, without a copy."""
        vector = self._solution.vector(True)
        return None if vector is None else np.asarray(vector)

    @property
    def model(self) -> Model:
        """The player that plays optimally."""
        return Model._of(self._solution.player())

    def analyze(self, board: str | Position | ArrayLike) -> dict[str, Any]:
        """The exact value of each move of a board: the JSON of ``afterstate analyze --solution``.

        >>> import afterstate
        >>> afterstate.solve("2x2").analyze("2,2/0,0")["best"]
        'right'
        """
        if not isinstance(board, (str, Position)):
            board = Game(self.game, self.board).position(board)
        text = board.text if isinstance(board, Position) else board
        analysis: dict[str, Any] = json.loads(self._solution.analyze(text))
        return analysis

    def save(self, path: PathLike) -> None:
        """Writes it to a file, for ``afterstate analyze --solution`` and :class:`Solution`.

        >>> import afterstate, os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "2x2.solution")
        ...     afterstate.solve("2x2").save(path)
        ...     round(Solution(path).expected_score, 6)
        66.964149
        """
        self._solution.save(path)

    def __repr__(self) -> str:
        return f"<Solution of {self.game} on {self.board}: {self.expected_score:.6f}>"


class Run:
    """A run folder, as ``afterstate train`` makes it, or a training in memory.

    ``runs/quick`` of the command line is ``Run("runs/quick")`` here.

    >>> import afterstate
    >>> keys = {"tuples": "01", "block_games": 100}
    >>> run = afterstate.train(board="2x2", set=keys, episodes=200, out=None)
    >>> [block["games"] for block in run.blocks], run.model.trained
    ([100, 200], 200)
    """

    def __init__(self, folder: PathLike) -> None:
        self._state: dict[str, Any] = json.loads(_afterstate.run_of(folder))
        self._model: Model | None = None

    @classmethod
    def _of(cls, state: str, player: _afterstate.Player | None) -> Run:
        made = cls.__new__(cls)
        made._state = json.loads(state)
        made._model = None if player is None else Model._of(player)
        return made

    @property
    def folder(self) -> Path | None:
        """Its folder; none for a training in memory."""
        folder = self._state["folder"]
        return None if folder is None else Path(folder)

    @property
    def finished(self) -> bool:
        """Whether all of its games are played."""
        return bool(self._state["finished"])

    @property
    def games(self) -> int:
        """The games it has played."""
        return int(self._state["games"])

    @property
    def blocks(self) -> list[Event]:
        """The statistics of each block of games: the learning curve."""
        return list(self._state["blocks"])

    @property
    def model(self) -> Model:
        """Its model: of a run that is not finished, that of its last checkpoint."""
        if self._model is None:
            assert self.folder is not None
            self._model = Model(self.folder)
        return self._model

    def resume(self, *, progress: Progress = False, **changes: Any) -> Run:
        """Trains on, to the end of the recipe; ``changes`` as in :func:`afterstate.train`.

        >>> import afterstate, os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     out = os.path.join(folder, "run")
        ...     run = afterstate.train(board="2x2", set={"tuples": "01"}, episodes=50, out=out)
        ...     run.resume(episodes=80).games
        80
        """
        from .commands import train

        if self.folder is None:
            raise InputError("a training in memory cannot be resumed; name a folder with `out=`")
        return train(resume=self.folder, progress=progress, **changes)

    def __repr__(self) -> str:
        where = "in memory" if self.folder is None else str(self.folder)
        return f"<Run {where}: {self.games:,} games{'' if self.finished else ', unfinished'}>"
