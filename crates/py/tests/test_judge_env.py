"""The judge of environments: nine faults, each caught by its own check."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

import afterstate
from afterstate import judging
from afterstate.envs import BoardEnv

Board = NDArray[np.int64]


class Plain2048(gymnasium.Env[Any, Any]):
    """2048 as many people write it, by numpy, with the numbers on the tiles as observation."""

    def __init__(self, flaw: str = "") -> None:
        self.flaw = flaw
        self.moves = 0
        self.board: Board = np.zeros((4, 4), dtype=np.int64)
        self.observation_space = gymnasium.spaces.Box(0, 2**17, (4, 4), np.int64)
        self.action_space = gymnasium.spaces.Discrete(4)

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[Board, dict[str, Any]]:
        super().reset(seed=seed)
        self.board = np.zeros((4, 4), dtype=np.int64)
        self.spawn()
        self.spawn()
        if self.flaw == "same start":
            self.board = np.zeros((4, 4), dtype=np.int64)
            self.board[0, :2] = 2
        self.moves = 0
        return self.board.copy(), self.info()

    def spawn(self) -> None:
        empty = np.argwhere(self.board == 0)
        if self.flaw == "corner":
            place = empty[0]
        else:
            place = empty[self.np_random.integers(len(empty))]
        fours = 0.3 if self.flaw == "fours" else 0.1
        self.board[tuple(place)] = 4 if self.np_random.random() < fours else 2

    def line(self, line: Board) -> tuple[Board, int]:
        """A line slid towards its first cell."""
        tiles, made, reward = [int(tile) for tile in line if tile], [], 0
        while tiles:
            tile = tiles.pop(0)
            if tiles and tiles[0] == tile:
                tiles.pop(0)
                tile *= 2
                reward += tile
                if self.flaw == "twice" and tiles and tiles[0] == tile:
                    tiles.pop(0)
                    tile *= 2
            if self.flaw == "large" and tile > 32768:
                tile = 32768
            if self.flaw == "crash" and tile > 32768:
                raise OverflowError("no such tile")
            made.append(tile)
        return np.array(made + [0] * (len(line) - len(made))), reward

    def slid(self, action: int) -> tuple[Board, int]:
        # 0 left, 1 up, 2 right, 3 down.
        turned, reward = np.rot90(self.board, action), 0
        rows = []
        for row in turned:
            made, earned = self.line(row)
            rows.append(made)
            reward += earned
        return np.rot90(np.array(rows), -action), reward

    def legal(self) -> list[bool]:
        return [bool((self.slid(action)[0] != self.board).any()) for action in range(4)]

    def info(self) -> dict[str, Any]:
        mask = [True] * 4 if self.flaw == "mask" else self.legal()
        return {"action_mask": np.array(mask, dtype=np.int8)}

    def step(self, action: int) -> tuple[Board, float, bool, bool, dict[str, Any]]:
        after, reward = self.slid(action)
        was_full = bool((self.board != 0).all())
        self.moves += 1
        if self.flaw == "raises" and was_full:
            raise ZeroDivisionError("boom")
        if (after != self.board).any():
            self.board = after
            if not (self.flaw == "full board" and was_full):
                self.spawn()
        elif self.flaw == "illegal" and not was_full:
            self.spawn()
        if self.flaw == "reward":
            reward = reward // 2
        over = not any(self.legal())
        if self.flaw == "early end":
            over = bool((self.board != 0).all())
        truncated = self.flaw == "truncated" and self.moves == 50
        return self.board.copy(), float(reward), over, truncated, self.info()

    def set_board(self, board: Board) -> Board:
        self.board = board
        return self.board.copy()


FLAWS = {
    "full board": "spawns-on-full-boards",
    "twice": "slides",
    "reward": "rewards",
    "illegal": "illegal-actions",
    "fours": "spawn-tiles",
    "corner": "spawn-places",
    "mask": "masks",
    "early end": "terminal",
    "large": "large-tiles",
    "same start": "start-places",
    "raises": "spawns-on-full-boards",
}


def set_board(env: Any, board: Board) -> Any:
    return env.set_board(board)


def judged(flaw: str, **options: Any) -> afterstate.EnvironmentVerdict:
    return afterstate.judge_env(lambda: Plain2048(flaw), games=25, **options)


def test_a_correct_environment_passes() -> None:
    verdict = judged("", set_board=set_board)
    assert verdict.passed and not verdict.not_tested, str(verdict)
    assert verdict.actions == ("left", "up", "right", "down")
    assert len(verdict) == 12 and "FAILED" not in str(verdict)


@pytest.mark.parametrize(("flaw", "check"), FLAWS.items())
def test_a_fault_is_caught(flaw: str, check: str) -> None:
    verdict = judged(flaw, set_board=set_board)
    assert check in verdict.failed, str(verdict)
    # A second merge also changes rewards, wrong rewards are those of large tiles as well, and the
    # first tiles of a game are in the wrong cells as well.
    also = {"corner": {"start-places"}}.get(flaw, {"rewards", "large-tiles"})
    assert set(verdict.failed) <= {check, *also}, str(verdict)
    assert verdict[check].fault and f"{check:22} FAILED" in str(verdict)


def test_a_crash_is_a_fault() -> None:
    verdict = judged("crash", set_board=set_board)
    assert verdict.failed == ["large-tiles"], str(verdict)
    assert "raises OverflowError: no such tile" in (verdict["large-tiles"].fault or "")


def test_a_crash_in_play_names_the_board() -> None:
    found = judged("raises")["spawns-on-full-boards"]
    assert found.faults > 10 and " raises ZeroDivisionError: boom" in (found.fault or "")


def test_what_is_no_fault_is_noted() -> None:
    verdict = judged("truncated")
    assert verdict.passed and verdict.notes[0].startswith("truncated: 2")
    assert verdict.largest >= 16 and f"the largest tile: {verdict.largest}" in str(verdict)
    other = afterstate.judge_env(
        "afterstate/2584-v0", games=25, actions=afterstate.DIRECTIONS, rewards=False
    )
    assert "is this 2048?" in str(other)


def test_one_of_fifty_games_is_played_well() -> None:
    verdict = afterstate.judge_env(lambda: BoardEnv(board="3x3"), board=(3, 3), games=50)
    assert verdict.passed, str(verdict)
    verdict = afterstate.judge_env("afterstate/2048-v0", games=50)
    assert verdict.passed and verdict.largest >= 2048, str(verdict)


def test_without_memory_for_the_network_another_player_plays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def opened(name: str, **about: str) -> afterstate.Model:
        if name.startswith("box:"):
            raise afterstate.ResourceError("not enough memory")
        return afterstate.Model(name, **about)

    monkeypatch.setattr(judging, "Model", opened)
    assert judging._good_player(afterstate.Game("2048")).search == "greedy"


def test_what_is_no_environment_is_said() -> None:
    wrong: list[tuple[Any, str]] = [
        ("CartPole-v1", "has 2 actions; expected 4"),
        (lambda: 3, "returned int, which has no `reset`"),
    ]
    for make, expected in wrong:
        with pytest.raises(afterstate.InputError, match=expected):
            afterstate.judge_env(make)


def test_what_cannot_be_tried_is_not_tested() -> None:
    verdict = judged("large")
    assert verdict.passed and verdict.not_tested == ["large-tiles"]
    assert verdict["large-tiles"].passed is None


def test_our_environments_pass() -> None:
    def put(env: Any, board: Board) -> Any:
        text = "/".join(",".join(str(tile) for tile in row) for row in board)
        return env.reset(options={"board": text})[0]

    for game, observation in (("2048", "exponents"), ("2584", "exponents"), ("2048", "one_hot")):
        verdict = afterstate.judge_env(
            lambda: BoardEnv(game, observation=observation),
            set_board=put,
            game=game,
            games=30,
        )
        assert verdict.passed, str(verdict)
        assert set(verdict.not_tested) <= ({"large-tiles"} if game == "2584" else set())


def test_actions_and_observations_may_be_named() -> None:
    names = ("left", "up", "right", "down")
    verdict = judged("", actions=names, decode=lambda observation: observation, rewards=False)
    assert verdict.passed and verdict.not_tested == ["rewards", "large-tiles"]
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: judged("", actions=("left", "left", "up", "down")), "each of the four directions"),
        (lambda: judged("", decode=lambda observation: observation[0]), "name `decode`"),
        (lambda: judged("", decode=lambda observation: observation + 1), "is not a tile"),
        (lambda: judged("", decode=lambda _: np.full((4, 4), 2)), "does not slide"),
        (lambda: judged("", game="threes"), "expected 2048 or 2584"),
        (lambda: judged("", set_board=lambda env, board: env.board), "shows another one"),
    ]
    for call, expected in wrong:
        with pytest.raises(afterstate.InputError, match=expected):
            call()


def test_examples_of_docstrings_run() -> None:
    found = doctest.testmod(judging)
    assert found.attempted > 0 and found.failed == 0
