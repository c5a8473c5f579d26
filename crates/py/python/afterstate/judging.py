"""Whether any environment of 2048 keeps the rules.

>>> import afterstate, gymnasium
>>> verdict = afterstate.judge_env(lambda: gymnasium.make("afterstate/2048-v0"), games=40)
>>> verdict.passed
True
>>> verdict["spawns-on-full-boards"].passed
True

A published "state of the art" on 2048 came from an environment that forgot to spawn a tile after a
merge on a full board. :func:`judge_env` plays random games and some good ones, compares every
transition with the rules, and tests the tiles that spawn against chance. What it could not try is
reported as not tested, and the largest tile it has seen is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _afterstate
from .errors import InputError, ResourceError, counted
from .games import DIRECTIONS, Direction, Game, Random, _direction
from .models import Model

__all__ = ["EnvironmentVerdict", "Finding", "judge_env"]

#: Transitions by which the meaning of the actions is found.
_PROBES = 400
#: The share of slides with a fault from which the environment may have another game.
_OTHER_GAME = 0.3
#: The share of actions that are illegal, where some are.
_ILLEGAL = 0.05
#: The most moves of a random game, and of a good one.
_LONGEST = 100_000
_LONGEST_GOOD = 5_000
#: One of so many games is played well: random ones hardly reach a 512-tile.
_GOOD_GAME = 50


@dataclass(frozen=True)
class Finding:
    """What was found by one check."""

    #: The check: ``slides``, ``rewards``, ``spawns-on-full-boards``, ...
    check: str
    #: Whether it passed; none if it could not be tested.
    passed: bool | None
    #: How many cases were seen.
    tried: int
    #: How many of them were faults.
    faults: int
    #: The first fault, or how the draws deviate from chance.
    fault: str | None
    #: For draws: the probability that fair ones deviate as far.
    p: float | None

    def __str__(self) -> str:
        if self.passed is None:
            return f"{self.check:22} not tested"
        if self.passed:
            return f"{self.check:22} passed      {self.tried:,} cases"
        counted = f"{self.faults:,} of {self.tried:,}" if self.faults else f"{self.tried:,} draws"
        return f"{self.check:22} FAILED      {counted}: {self.fault}"


class EnvironmentVerdict(Sequence[Finding]):
    """All findings, in a fixed order or by name. Printed, it is a table.

    >>> import afterstate
    >>> verdict = afterstate.judge_env("afterstate/2048-v0", games=20)
    >>> verdict["slides"].passed, verdict.failed, verdict.not_tested
    (True, [], ['large-tiles'])
    """

    def __init__(
        self,
        findings: Sequence[Finding],
        actions: Sequence[str],
        largest: int = 0,
        notes: Sequence[str] = (),
    ) -> None:
        self._findings = tuple(findings)
        #: The direction of each action.
        self.actions = tuple(actions)
        #: The number on the largest tile that was seen in play.
        self.largest = largest
        #: What is no fault, and should be known.
        self.notes = tuple(notes)

    @property
    def passed(self) -> bool:
        """Whether nothing that was tested failed."""
        return all(finding.passed is not False for finding in self)

    @property
    def failed(self) -> list[str]:
        """The checks that failed."""
        return [finding.check for finding in self if finding.passed is False]

    @property
    def not_tested(self) -> list[str]:
        """The checks for which there was nothing to see."""
        return [finding.check for finding in self if finding.passed is None]

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    @overload
    def __getitem__(self, key: int | str) -> Finding: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Finding]: ...
    def __getitem__(self, key: int | str | slice) -> Finding | Sequence[Finding]:
        if isinstance(key, str):
            return {finding.check: finding for finding in self}[key]
        return self._findings[key]

    def __str__(self) -> str:
        names = ", ".join(f"{number} is {name}" for number, name in enumerate(self.actions))
        heads = [f"actions: {names}", f"the largest tile: {self.largest:,}"]
        return "\n".join([*heads, *map(str, self), *(f"note: {note}" for note in self.notes)])


def judge_env(
    make: Callable[[], Any] | str,
    *,
    decode: Callable[[Any], ArrayLike] | None = None,
    set_board: Callable[[Any, NDArray[np.int64]], Any] | None = None,
    game: str = "2048",
    board: str | tuple[int, int] = "4x4",
    games: int = 100,
    seed: int = 1,
    actions: Sequence[Direction] | None = None,
    rewards: bool = True,
) -> EnvironmentVerdict:
    """Plays an environment with the interface of Gymnasium and says whether it keeps the rules.

    ``make`` makes the environment, or is its id. ``decode`` turns an observation into the numbers
    on the tiles, 0 for an empty cell; without it, an observation may have these numbers, tile
    indices (exponents), or a vector with a one at the index in its last or first axis.
    ``set_board`` gets the environment and a board of numbers, puts it there, and may return the
    observation; without it, tiles beyond 32768 cannot be tried. ``actions`` names the direction of
    each action; without it, it is found by playing. ``rewards=False`` leaves rewards out, where
    they are not the score.

    Of 50 games one is played by the network in the program (512 MiB of memory), where there is one
    for the game and the memory suffices, or else by the next reward; the others are random. An exception of the environment is a fault of
    the slide that raised it.

    >>> import afterstate, gymnasium
    >>> make = lambda: gymnasium.make("afterstate/2584-v0", board="3x3")
    >>> afterstate.judge_env(make, game="2584", board="3x3", games=20).failed
    []
    """
    games, seed = counted("games", games, 1), counted("seed", seed)
    env = _made(make)
    player = _Player(env, Game(game, board), decode, Random(seed))
    if actions is None:
        meaning = player.find_actions(seed)
    else:
        meaning = [_direction(action) for action in actions]
        if sorted(meaning) != [0, 1, 2, 3]:
            raise InputError(f"`actions` is {actions!r}; expected each of the four directions once")
    player.actions = meaning
    player.rewards = rewards
    good = _good_player(player.game) if games >= _GOOD_GAME else None
    for number in range(games):
        is_good = (number + 1) % _GOOD_GAME == 0
        player.play(env.reset(seed=seed + number), good if is_good else None)
    if set_board is not None:
        for planted in _planted(player.game):
            player.plant(set_board, planted)
    names = [DIRECTIONS[number] for number in meaning]
    return EnvironmentVerdict(player.findings(), names, player.largest, player.notes())


def _made(make: Callable[[], Any] | str) -> Any:
    if isinstance(make, str):
        import gymnasium

        made: Any = gymnasium.make(make)
    else:
        made = make()
    for name in ("reset", "step"):
        if not callable(getattr(made, name, None)):
            raise InputError(
                f"`make` returned {type(made).__name__}, which has no `{name}`; expected an"
                " environment with the interface of Gymnasium"
            )
    actions = getattr(getattr(made, "action_space", None), "n", 4)
    if actions != 4:
        raise InputError(f"the environment has {actions} actions; expected 4, one a direction")
    return made


def _good_player(game: Game) -> Model:
    """A player that reaches larger tiles than random moves do."""
    name = f"box:{game.name}-{game.board}"
    try:
        return Model(name)
    except (InputError, ResourceError):
        # There is no network of this game, or not enough memory for it.
        return Model("greedy", game=game.name, board=game.board)


def _planted(game: Game) -> list[NDArray[np.int64]]:
    """Boards that random games do not reach: large tiles, and full boards that have a merge."""
    values = np.array(game.tile_values, dtype=np.int64)
    rows, cols = game.shape
    boards = []
    if game.name == "2048" and len(values) > 17:
        for large in (values[15], values[16]):
            if 2 * large not in values:
                continue
            two = np.zeros((rows, cols), dtype=np.int64)
            two[0, :2] = large
            two[-1, -1] = values[1]
            boards.append(two)
    # Neighbours differ, but for one pair in a corner.
    pattern = 1 + (np.add.outer(np.arange(rows), np.arange(cols)) % 2)
    pattern = values[pattern + 2 * (np.arange(rows) % 2)[:, None]]
    pattern[0, 0] = pattern[0, 1]
    boards.append(pattern)
    return boards


class _Player:
    """Plays an environment before the judge."""

    def __init__(
        self, env: Any, game: Game, decode: Callable[[Any], ArrayLike] | None, random: Random
    ) -> None:
        self.env, self.game, self.random = env, game, random
        self.decode = decode
        self.judge = _afterstate.EnvironmentJudge(game.name, game.board)
        self.actions = [0, 1, 2, 3]
        self.rewards = True
        self.largest = 0
        self._indices: bool | None = None
        self._crashes: dict[str, list[str]] = {}
        self._truncated = 0

    def notes(self) -> list[str]:
        """What is no fault, and should be known."""
        notes = []
        if self._truncated:
            notes.append(f"truncated: {self._truncated:,} games")
        slides = next(one for one in self.findings() if one.check == "slides")
        if slides.tried and slides.faults > _OTHER_GAME * slides.tried:
            name = self.game.name
            notes.append(f"most slides are wrong: is this {name}? See `game` and `decode`")
        return notes

    def findings(self) -> list[Finding]:
        """What the judge has found, and where the environment raised an exception."""
        found = [Finding(**finding) for finding in json.loads(self.judge.findings())]
        for place, finding in enumerate(found):
            crashes = self._crashes.get(finding.check, [])
            if crashes:
                found[place] = replace(
                    finding,
                    passed=False,
                    tried=finding.tried + len(crashes),
                    faults=finding.faults + len(crashes),
                    fault=finding.fault or crashes[0],
                )
        return found

    def tiles(self, observation: Any) -> list[int]:
        """The tile indices of an observation."""
        if self.decode is not None:
            values = np.asarray(self.decode(observation))
            return self._shaped(self.game.exponents(values.astype(np.int64)))
        found = np.asarray(observation)
        rows, cols = self.game.shape
        if found.ndim == 3 and found.shape[:2] == (rows, cols):
            found = found.argmax(axis=2)
            self._indices = True
        elif found.ndim == 3 and found.shape[1:] == (rows, cols):
            found = found.argmax(axis=0)
            self._indices = True
        if self._indices is None:
            # Every start has a 2 or a 4, whose indices are 1 and 2; a board of two 2-tiles is taken
            # for one of numbers only by a 4, or by what follows.
            self._indices = bool((found == 1).any() or (found == 3).any())
        return self._shaped(found if self._indices else self.game.exponents(found))

    def _shaped(self, found: NDArray[Any]) -> list[int]:
        rows, cols = self.game.shape
        if found.size != rows * cols:
            raise InputError(
                f"an observation of shape {found.shape} is not a board of {rows}x{cols}; name"
                " `decode`, which makes one of it"
            )
        return [int(tile) for tile in found.reshape(-1)]

    def find_actions(self, seed: int) -> list[int]:
        """The direction of each action: the one that explains most of what it does."""
        explained = np.zeros((4, 4), dtype=np.int64)
        self._learn_encoding(seed)
        observation, _ = self.env.reset(seed=seed)
        before = self.tiles(observation)
        for _ in range(_PROBES):
            action = int(4 * self.random.unit())
            observation, over = self._probed(action)
            after = self.tiles(observation)
            if before != after:
                for direction in self.judge.explains(before, after):
                    explained[action, direction] += 1
            before = self.tiles(self.env.reset()[0]) if over else after
        meaning = [int(number) for number in explained.argmax(axis=1)]
        if sorted(meaning) != [0, 1, 2, 3]:
            raise InputError(
                "the environment does not slide in four directions, so the meaning of its actions"
                " is unclear (transitions explained, by action and direction:"
                f" {explained.tolist()}); name `actions`, and see whether `decode` is right"
            )
        return meaning

    def _probed(self, action: int) -> tuple[Any, bool]:
        """What an action shows, and whether the game is over. What it raises is found in the games
        that are judged."""
        try:
            observation, _, terminated, truncated, _ = self.env.step(action)
        except Exception:
            return self.env.reset()[0], True
        return observation, bool(terminated or truncated)

    def _learn_encoding(self, seed: int) -> None:
        """Tells tile indices from numbers by the boards of a game: only indices are odd."""
        if self.decode is not None:
            return
        observation, _ = self.env.reset(seed=seed)
        odd = False
        for step in range(_PROBES):
            found = np.asarray(observation)
            if found.ndim == 3:
                return
            odd = odd or bool((found % 2 == 1).any())
            observation, over = self._probed(step % 4)
            if over:
                observation, _ = self.env.reset()
        self._indices = odd or self.game.name != "2048"

    def play(self, begun: tuple[Any, dict[str, Any]], good: Model | None) -> None:
        """Plays a game to its end, or until the environment cuts it off or raises an exception: at
        random, or by a good player."""
        observation, info = begun
        before = self.tiles(observation)
        self.judge.start(before)
        for _ in range(_LONGEST if good is None else _LONGEST_GOOD):
            legal = self._legal(before)
            if not legal:
                return
            best = None if good is None else good.choose(self._board(before))
            direction = self._choose(legal) if best is None else DIRECTIONS.index(best)
            done = self.act(before, info, direction)
            if done is None:
                return
            before, info, over = done
            self.largest = max(self.largest, self.game.tile_values[max(before)])
            if over:
                return

    def _board(self, tiles: list[int]) -> NDArray[np.int64]:
        return np.array(tiles, dtype=np.int64).reshape(self.game.shape)

    def _legal(self, tiles: list[int]) -> list[str]:
        return self.game.position(self._board(tiles)).legal

    def _choose(self, legal: list[str]) -> int:
        illegal = [name for name in DIRECTIONS if name not in legal]
        names = illegal if illegal and self.random.unit() < _ILLEGAL else legal
        return DIRECTIONS.index(names[int(len(names) * self.random.unit())])

    def act(
        self, before: list[int], info: dict[str, Any] | None, direction: int
    ) -> tuple[list[int], dict[str, Any], bool] | None:
        """Makes a move and shows it to the judge. An exception of the environment is a fault."""
        action = self.actions.index(direction)
        mask = None if info is None else self._mask(info)
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except Exception as error:
            self._crashed(before, direction, error)
            return None
        after = self.tiles(observation)
        self._truncated += bool(truncated)
        given = float(reward) if self.rewards else None
        self.judge.see(before, direction, after, given, bool(terminated), mask)
        return after, info, bool(terminated or truncated)

    def _crashed(self, before: list[int], direction: int, error: Exception) -> None:
        tiles = self._board(before)
        values = np.array(self.game.tile_values)[tiles]
        legal = DIRECTIONS[direction] in self._legal(before)
        if values.max() >= 32768:
            check = "large-tiles"
        elif not legal:
            check = "illegal-actions"
        else:
            check = "slides" if (tiles == 0).any() else "spawns-on-full-boards"
        rows = "/".join(",".join(str(value) for value in row) for row in values)
        text = f"{DIRECTIONS[direction]} on {rows} raises {type(error).__name__}: {error}"
        self._crashes.setdefault(check, []).append(text)

    def _mask(self, info: dict[str, Any]) -> list[bool] | None:
        found = info.get("action_mask")
        if found is None:
            unwrapped = getattr(self.env, "unwrapped", self.env)
            masks = getattr(unwrapped, "action_masks", None)
            found = masks() if callable(masks) else None
        if found is None:
            return None
        by_action = [bool(one) for one in np.asarray(found).reshape(-1)]
        return [by_action[self.actions.index(direction)] for direction in range(4)]

    def plant(
        self, set_board: Callable[[Any, NDArray[np.int64]], Any], board: NDArray[np.int64]
    ) -> None:
        """Tries all slides of a board that is put into the environment."""
        expected = [int(tile) for tile in self.game.exponents(board).reshape(-1)]
        for name in self._legal(expected):
            self.env.reset()
            observation = set_board(self.env, board.copy())
            if observation is not None and self.tiles(observation) != expected:
                raise InputError(
                    f"`set_board` was asked for the board {board.tolist()}, and the environment"
                    " shows another one"
                )
            # It says nothing about which actions are legal on this board.
            self.act(expected, None, DIRECTIONS.index(name))
