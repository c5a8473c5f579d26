"""Environments for Gymnasium 1.4: ``afterstate/2048-v0``, ``afterstate/Threes-v0``,
``afterstate/2584-v0``.

>>> import gymnasium, afterstate
>>> env = gymnasium.make("afterstate/2048-v0", board="3x3")
>>> observation, info = env.reset(seed=1)
>>> observation.shape, info["action_mask"].tolist()
((3, 3), [1, 1, 1, 1])
>>> observation, reward, terminated, truncated, info = env.step(0)
>>> info["afterstates"].shape, info["afterstate_rewards"].tolist()
((4, 3, 3), [0, 4, 0, 4])

Actions are 0 up, 1 right, 2 down, 3 left. The reward is the change of the score. An illegal action
changes nothing, spawns nothing, gives 0 and sets ``info["illegal"]``. A game only terminates when
no slide is legal; it is never truncated.

Game n of a seed is game n of :func:`afterstate.evaluate` with this seed. ``reset(seed=s)`` starts
game 0, every further ``reset()`` the next one. In a vector of N, sub-environment i plays games
i, i + N, i + 2N, ... of the seed, and ``step`` is one call into Rust for all of them.

``info`` has:

=====================  ==========================================================================
action_mask            for each action, 1 if it is legal (int8)
afterstates            the board after each of the four slides, before the spawn (tile indices);
                       after an illegal slide, the board itself
afterstate_rewards     the reward of each slide
score, moves           of the game so far
game                   its number
illegal                whether the action was illegal
=====================  ==========================================================================
"""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _afterstate
from .errors import InputError, counted
from .games import Game, Position, board_text

__all__ = ["BoardEnv", "BoardVectorEnv", "register"]

Observation = Any
Info = dict[str, Any]

_MODES = {
    AutoresetMode.NEXT_STEP: "next-step",
    AutoresetMode.SAME_STEP: "same-step",
    AutoresetMode.DISABLED: "disabled",
}
_RENDER_MODES = ["human", "ansi", "rgb_array"]


def _game(game: str, variant: str | None, board: str | tuple[int, int]) -> Game:
    return Game(game if variant is None else variant, board)


def _observation_space(game: Game, one_hot: bool) -> spaces.Space[Any]:
    kinds = len(game.tile_values)
    box = (
        spaces.Box(0, 1, (*game.shape, kinds), np.uint8)
        if one_hot
        else spaces.Box(0, kinds - 1, game.shape, np.uint8)
    )
    if not game.shows_hint:
        return box
    # 1, 2, 3, or 4 for a bonus tile.
    return spaces.Dict({"board": box, "next_tile": spaces.Discrete(5)})


def _environments(
    game: Game, count: int, autoreset: str, one_hot: bool, afterstates: bool
) -> _afterstate.Environments:
    # The seed is that of the first reset.
    return _afterstate.Environments(
        game.name, game.board, count, autoreset, one_hot, afterstates, 0
    )


def _board_option(game: Game, board: object) -> str:
    if isinstance(board, Position):
        return board.text
    if isinstance(board, str):
        return board
    if game.shows_hint:
        raise InputError(
            "this game shows its next tile: give the board as a text, as in 0,1,2/...+2"
        )
    position = game.position(np.asarray(board))
    return position.text


def _check_options(options: dict[str, Any] | None, known: set[str]) -> dict[str, Any]:
    unknown = sorted(set(options or {}) - known)
    if unknown:
        expected = ", ".join(sorted(known))
        raise InputError(f"unknown option `{unknown[0]}` of reset; expected {expected}")
    return options or {}


class BoardEnv(gymnasium.Env[Observation, Any]):
    """One game of 2048, Threes! or 2584 on any board.

    Observations are tile indices (``observation="exponents"``) or vectors with a one at the index
    (``"one_hot"``), in games that show their next tile beside its index. ``afterstates=False``
    leaves them out of ``info``. ``reset(options={"board": ...})`` starts from a board, as text, an
    array of tile indices or a :class:`afterstate.Position`.

    >>> env = BoardEnv("2048", board="2x2", render_mode="ansi")
    >>> observation, info = env.reset(options={"board": "2,2/0,0"})
    >>> _, reward, _, _, info = env.step(3)
    >>> reward, info["score"]
    (4.0, 4)
    """

    metadata = {"render_modes": _RENDER_MODES, "render_fps": 4}

    def __init__(
        self,
        game: str = "2048",
        *,
        variant: str | None = None,
        board: str | tuple[int, int] = "4x4",
        observation: str = "exponents",
        afterstates: bool = True,
        render_mode: str | None = None,
    ) -> None:
        self.game = _game(game, variant, board)
        one_hot = _one_hot(observation)
        self.render_mode = _render_mode(render_mode)
        self.observation_space = _observation_space(self.game, one_hot)
        self.action_space = spaces.Discrete(4)
        self._environments = _environments(self.game, 1, "disabled", one_hot, afterstates)
        self._seeded = False
        self._mask: NDArray[np.int8] = np.zeros(4, dtype=np.int8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Starts game 0 of a seed, or the next game."""
        options = _check_options(options, {"board"})
        super().reset(seed=seed)
        if seed is not None:
            self._environments.restart(0, seed, 0, 1)
        elif not self._seeded:
            self._environments.restart(0, int(self.np_random.integers(2**63)), 0, 1)
        else:
            self._environments.start_next(0)
        self._seeded = True
        if "board" in options:
            self._environments.set_board(0, _board_option(self.game, options["board"]))
        observation, info = self._seen(self._environments.observe(), False)
        self._draw()
        return observation, info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        """Makes a slide and a spawn."""
        _check_reset(self._seeded)
        try:
            actions = np.array([operator.index(action)], dtype=np.int64)
        except TypeError:
            raise InputError(f"the action is {action!r}; expected a number from 0 to 3") from None
        seen, rewards, terminated, illegal, _, _, _ = self._environments.step(actions)
        observation, info = self._seen(seen, bool(illegal[0]))
        self._draw()
        return observation, float(rewards[0]), bool(terminated[0]), False, info

    def _seen(self, seen: Any, illegal: bool) -> tuple[Observation, Info]:
        tiles, hints, masks, afterstates, after_rewards, scores, moves, games = seen
        self._mask = masks[0]
        info: Info = {"action_mask": masks[0].copy(), "illegal": illegal}
        if afterstates is not None:
            info["afterstates"] = afterstates[0]
            info["afterstate_rewards"] = after_rewards[0]
        info.update(score=int(scores[0]), moves=int(moves[0]), game=int(games[0]))
        if not self.game.shows_hint:
            return tiles[0], info
        return {"board": tiles[0], "next_tile": np.int64(hints[0])}, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are legal, as sb3-contrib's MaskablePPO asks for it."""
        return self._mask.astype(np.bool_)

    @property
    def position(self) -> Position:
        """The position."""
        return self.game.position(self._environments.board(0)[1])

    def render(self) -> Any:
        """The board: as text (``ansi``), as an image (``rgb_array``), or drawn in the terminal
        (``human``), where every step draws it."""
        if self.render_mode == "ansi":
            return self._environments.board(0)[0]
        if self.render_mode == "rgb_array":
            return image(self.game, self._environments.board(0)[1])
        return None

    def _draw(self) -> None:
        if self.render_mode == "human":
            print(self._environments.board(0)[0], flush=True)


class BoardVectorEnv(VectorEnv[Any, Any, Any]):
    """Many games, stepped by one call into Rust.

    ``autoreset_mode`` is one of :class:`gymnasium.vector.AutoresetMode`; ``info`` has arrays, in
    ``final_obs`` and ``final_info`` those of the games that ended in the step, where the next one
    starts in the same step.

    >>> import gymnasium, afterstate
    >>> envs = gymnasium.make_vec("afterstate/2048-v0", num_envs=3)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations.shape, infos["action_mask"].shape, infos["game"].tolist()
    ((3, 4, 4), (3, 4), [0, 1, 2])
    """

    metadata = {
        "render_modes": _RENDER_MODES,
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        game: str = "2048",
        *,
        variant: str | None = None,
        board: str | tuple[int, int] = "4x4",
        observation: str = "exponents",
        afterstates: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        num_envs = counted("num_envs", num_envs, 1)
        self.game = _game(game, variant, board)
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        one_hot = _one_hot(observation)
        self.render_mode = _render_mode(render_mode)
        self.single_observation_space = _observation_space(self.game, one_hot)
        self.single_action_space = spaces.Discrete(4)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._environments = _environments(
            self.game, num_envs, _MODES[self.autoreset_mode], one_hot, afterstates
        )
        self._all = np.ones(num_envs, dtype=np.bool_)
        self._seeded = False
        self._masks: NDArray[np.int8] = np.zeros((num_envs, 4), dtype=np.int8)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Info]:
        """Starts the first games of a seed, or the next games.

        With a list of seeds, sub-environment i plays games 0, 1, 2, ... of seed i. The option
        ``reset_mask`` selects the sub-environments to reset.
        """
        options = _check_options(options, {"reset_mask"})
        mask = self._reset_mask(options.get("reset_mask"))
        if seed is None and not self._seeded:
            seed = int(np.random.default_rng().integers(2**63))
        if seed is None or isinstance(seed, (list, tuple, np.ndarray)):
            starts = self._listed(seed)
        else:
            first = counted("seed", seed)
            self._np_random_seed = first
            starts = [(first, n, self.num_envs) for n in range(self.num_envs)]
        for n, start in enumerate(starts):
            if not mask[n]:
                continue
            if start is None:
                self._environments.start_next(n)
            else:
                self._environments.restart(n, *start)
        self._seeded = True
        return self._seen(self._environments.observe(), np.zeros(self.num_envs, dtype=np.bool_))

    def _listed(self, seeds: list[int | None] | None) -> list[Any]:
        if seeds is None:
            return [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise InputError(f"found {len(seeds)} seeds; expected {self.num_envs}")
        return [None if seed is None else (counted("seed", seed), 0, 1) for seed in seeds]

    def _reset_mask(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return self._all
        found = np.asarray(mask)
        if found.shape != (self.num_envs,) or found.dtype != np.bool_ or not found.any():
            raise InputError(
                f"`reset_mask` is an array of {found.dtype} with shape {found.shape}; expected"
                f" {self.num_envs} booleans, at least one of them true"
            )
        return found

    def step(self, actions: Any) -> tuple[Observation, Any, Any, Any, Info]:
        """Makes an action in each of them."""
        _check_reset(self._seeded)
        given = np.asarray(actions)
        if given.dtype.kind not in "iu":
            raise InputError(f"the actions are an array of {given.dtype}; expected whole numbers")
        taken = np.ascontiguousarray(given, dtype=np.int64)
        seen, rewards, terminated, illegal, _, ended, last = self._environments.step(taken)
        observations, infos = self._seen(seen, illegal)
        if self.autoreset_mode == AutoresetMode.SAME_STEP and len(ended):
            self._add_final(infos, ended, last, illegal)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        return observations, rewards, terminated, truncated, infos

    def _infos(self, seen: Any, illegal: Any) -> Info:
        _, _, masks, afterstates, after_rewards, scores, moves, games = seen
        infos: Info = {"action_mask": masks, "illegal": illegal}
        if afterstates is not None:
            infos["afterstates"] = afterstates
            infos["afterstate_rewards"] = after_rewards
        infos.update(score=scores, moves=moves, game=games)
        return infos

    def _observations(self, seen: Any) -> Observation:
        if not self.game.shows_hint:
            return seen[0]
        return {"board": seen[0], "next_tile": seen[1].astype(np.int64)}

    def _seen(self, seen: Any, illegal: Any) -> tuple[Observation, Info]:
        infos = self._infos(seen, illegal)
        self._masks = infos["action_mask"].copy()
        # Gymnasium marks which sub-environments have an entry: here, all of them.
        infos.update({f"_{key}": self._all.copy() for key in list(infos)})
        return self._observations(seen), infos

    def _add_final(self, infos: Info, ended: Any, last: Any, illegal: Any) -> None:
        marked = np.zeros(self.num_envs, dtype=np.bool_)
        marked[ended] = True
        final = self._observations(last)
        observations = np.full(self.num_envs, None, dtype=object)
        for place, n in enumerate(ended):
            observations[n] = (
                {key: value[place] for key, value in final.items()}
                if isinstance(final, dict)
                else final[place]
            )
        last_infos: Info = {}
        for key, value in self._infos(last, illegal[ended]).items():
            spread = np.zeros((self.num_envs, *value.shape[1:]), dtype=value.dtype)
            spread[ended] = value
            last_infos[key] = spread
            last_infos[f"_{key}"] = marked.copy()
        infos.update(final_obs=observations, _final_obs=marked.copy())
        infos.update(final_info=last_infos, _final_info=marked)

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are legal, for each sub-environment."""
        return self._masks.astype(np.bool_)

    def set_board(self, index: int, board: Any) -> None:
        """Continues a sub-environment on another board, with a score of 0."""
        _check_reset(self._seeded)
        self._environments.set_board(index, _board_option(self.game, board))
        _, _, masks, *_ = self._environments.observe()
        self._masks = masks.copy()

    def render(self) -> Any:
        """The boards, in the render mode."""
        boards = [self._environments.board(n) for n in range(self.num_envs)]
        if self.render_mode == "ansi":
            return tuple(drawing for drawing, _ in boards)
        if self.render_mode == "rgb_array":
            return tuple(image(self.game, text) for _, text in boards)
        if self.render_mode == "human":
            print("\n".join(drawing for drawing, _ in boards), flush=True)
        return None


def _check_reset(is_reset: bool) -> None:
    if not is_reset:
        raise InputError("a step before the first reset; call reset() to start a game")


def _one_hot(observation: str) -> bool:
    if observation not in ("exponents", "one_hot"):
        raise InputError(f"`observation` is `{observation}`; expected exponents or one_hot")
    return observation == "one_hot"


def _render_mode(mode: str | None) -> str | None:
    if mode is not None and mode not in _RENDER_MODES:
        raise InputError(f"`render_mode` is `{mode}`; expected {', '.join(_RENDER_MODES)}")
    return mode


# Digits of five rows of three pixels, as bits from the upper left.
_DIGITS = (31599, 11415, 29671, 29647, 23497, 31183, 31215, 29257, 31727, 31695)
_CELL = 64


def image(game: Game, board: str) -> NDArray[np.uint8]:
    """A board as an image: an array of shape (height, width, 3).

    >>> image(Game("2048", "2x3"), "2,0,0/0,4,64").shape
    (128, 192, 3)
    """
    position = game.position(board)
    rows, cols = game.shape
    page = np.full((rows * _CELL, cols * _CELL, 3), 187, dtype=np.uint8)
    page[:, :, 2] = 160
    kinds = len(game.tile_values)
    for (row, col), tile in np.ndenumerate(position.tiles):
        whole = page[row * _CELL : (row + 1) * _CELL, col * _CELL : (col + 1) * _CELL]
        cell = whole[3:-3, 3:-3]
        share = tile / kinds
        cell[:] = (205, 193, 180) if tile == 0 else (238, 228 - 180 * share, 218 - 200 * share)
        if tile:
            _write(cell, str(game.tile_values[tile]))
    return page


def _write(cell: NDArray[np.uint8], text: str) -> None:
    scale = max(1, min(6, (cell.shape[1] - 6) // (4 * len(text) - 1)))
    glyphs = [np.array(list(f"{_DIGITS[int(d)]:015b}"), dtype=np.uint8).reshape(5, 3) for d in text]
    gap = np.zeros((5, 1), dtype=np.uint8)
    line = np.hstack([part for glyph in glyphs for part in (glyph, gap)][:-1])
    ink = np.kron(line, np.ones((scale, scale), dtype=np.uint8)).astype(bool)
    top, left = ((cell.shape[k] - ink.shape[k]) // 2 for k in (0, 1))
    cell[top : top + ink.shape[0], left : left + ink.shape[1]][ink] = (60, 50, 40)


def register() -> None:
    """Registers the environments; ``import afterstate`` does it."""
    for name, game in (("2048", "2048"), ("Threes", "threes"), ("2584", "2584")):
        gymnasium.register(
            id=f"afterstate/{name}-v0",
            entry_point="afterstate.envs:BoardEnv",
            vector_entry_point="afterstate.envs:BoardVectorEnv",
            kwargs={"game": game},
        )
