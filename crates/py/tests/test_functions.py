"""Functions as players, and the positions of games."""

from __future__ import annotations

import json
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import afterstate
from afterstate import InputError, Model, ValueFunction

Boards = NDArray[np.uint8]


def empty_cells(boards: Boards) -> NDArray[np.float64]:
    """A value of afterstates."""
    return np.asarray(50.0 * np.count_nonzero(boards == 0, axis=(1, 2)))


def played(result: dict[str, Any]) -> dict[str, Any]:
    """A result without its times, its model and the name of its player."""
    others = ("moves_per_second", "model", "player")
    return {key: value for key, value in result.items() if key not in others}


def test_a_function_plays_the_games_of_its_values(trained: Model) -> None:
    sizes: list[int] = []

    def same(boards: Boards) -> NDArray[np.float32]:
        sizes.append(len(boards))
        return np.nan_to_num(trained.values(boards)[0], nan=-np.inf)

    player = ValueFunction(same, of="actions", num_envs=20)
    assert played(afterstate.evaluate(player, games=50, seed=4)) == played(
        afterstate.evaluate(trained, games=50, seed=4)
    )
    assert max(sizes) == 20 and len(sizes) < 2000
    compared = afterstate.compare(player, trained, games=40)
    assert compared["identical"] and not compared["equal"]
    # In parts as well, and with a plain function.
    parts = [
        afterstate.evaluate(ValueFunction(empty_cells), games=30, part=f"{k}/3") for k in (1, 2, 3)
    ]
    whole = afterstate.evaluate(empty_cells, games=30)
    assert played(afterstate.merge(parts)) == played(whole)


def test_a_function_is_a_model() -> None:
    player = ValueFunction(empty_cells, board="3x3", num_envs=4)
    game = afterstate.Game("2048", "3x3")
    position = game.position("2,2,4/0,0,0/0,0,0")
    assert player.choose(position) == "right"
    assert afterstate.analyze(position, model=player)["best"] == "right"
    searching = player.with_search("2ply")
    better = afterstate.evaluate(searching, games=20)["mean"]
    assert better > afterstate.evaluate("random", board="3x3", games=200)["mean"]
    afterstate.evaluate(player, games=3, records="games.txt")
    assert afterstate.judge("games.txt", games=3, model=player)["passed"]
    assert afterstate.review("games.txt", player)["total"]["accuracy"] == 1.0
    again = pickle.loads(pickle.dumps(player))
    assert played(afterstate.evaluate(again, games=20)) == played(
        afterstate.evaluate(player, games=20)
    )


def test_games_that_show_the_next_tile_give_their_hints() -> None:
    seen: set[int] = set()

    def values(boards: Boards, hints: Boards) -> list[float]:
        assert hints.shape == (len(boards),)
        seen.update(hints.tolist())
        return [0.0] * len(boards)

    afterstate.evaluate(values, game="threes-hint", games=5)
    assert seen >= {1, 2, 3}


class Broken(Exception):
    """What a function raises."""


def test_what_a_function_raises_is_raised(trained: Model) -> None:
    calls = 0

    def breaks(boards: Boards) -> NDArray[np.float64]:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise Broken("no more")
        return np.zeros(len(boards))

    for search in ("1ply", "3ply"):
        calls = 0
        with pytest.raises(Broken, match="no more"):
            afterstate.evaluate(breaks, games=1000, search=search)
        assert calls < 10
    with pytest.raises(Broken):
        afterstate.compare(trained, breaks, games=10)
    with pytest.raises(Broken):
        ValueFunction(breaks).values(np.eye(4, dtype=np.uint8))
    with pytest.raises(Broken):
        afterstate.analyze("2,0,0,4/0,0,8,0/0,0,0,0/0,0,0,2", model=ValueFunction(breaks))
    calls = -1000
    assert ValueFunction(breaks).values(np.eye(4, dtype=np.uint8))[1] >= 0


@pytest.mark.parametrize(
    ("function", "of", "expected"),
    [
        (lambda boards: np.zeros((len(boards), 2)), "afterstates", r"shape \(\d+, 2\) for \d+ boards"),
        (lambda boards: np.zeros(len(boards)), "actions", r"expected \(\d+, 4\)"),
        (lambda boards: None, "afterstates", "returned NoneType"),
        (lambda boards: "text", "afterstates", "returned str; expected an array of numbers"),
        (lambda boards: boards[:, 0, 0] * np.nan, "afterstates", r"returned nan for the board \[\["),
    ],
)
def test_wrong_values_are_refused(function: Any, of: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        afterstate.evaluate(ValueFunction(function, of=of), games=10)


def test_wrong_functions_are_refused() -> None:
    with pytest.raises(InputError, match="found int; expected a function"):
        ValueFunction(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match='expected "afterstates" or "actions"'):
        ValueFunction(empty_cells, of="states")
    with pytest.raises(InputError, match="`num_envs` is 0"):
        ValueFunction(empty_cells, num_envs=0)
    with pytest.raises(InputError, match="unknown game"):
        ValueFunction(empty_cells, game="chess")


def test_other_threads_run_while_games_are_played() -> None:
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.0001)

    thread = threading.Thread(target=count)
    thread.start()
    afterstate.evaluate(empty_cells, games=400)
    stop.set()
    thread.join()
    assert counted[0] > 10


def test_positions_are_those_of_the_games(trained: Model) -> None:
    found = afterstate.positions(trained, games=8, seed=2)
    result = afterstate.evaluate(trained, games=8, seed=2, records="games.txt")
    assert len(found) == round(result["moves"] * 8) and found.values is not None
    first = np.unique(found.games, return_index=True)[1]
    assert found.scores[first].mean() == result["mean"]
    # A model plays its best moves.
    values, best = trained.values(found.boards)
    assert (best == found.moves).all()
    assert np.array_equal(found.values, values, equal_nan=True)
    # Slides lead from boards to afterstates.
    game = found.game
    for n in (0, 7, len(found) - 1):
        after, reward = game.position(found.boards[n]).slide(int(found.moves[n]))
        assert (after.tiles == found.afterstates[n]).all() and reward == found.rewards[n]
    same_game = found.games[1:] == found.games[:-1]
    earned = found.returns[:-1] - found.returns[1:]
    assert (earned == found.rewards[:-1])[same_game].all()
    # Records have the same positions, in lines from 1.
    read = afterstate.positions("games.txt", model=trained)
    assert (read.boards == found.boards).all() and (read.games == found.games + 1).all()
    assert read.values is not None
    assert np.array_equal(read.values, found.values, equal_nan=True)
    assert afterstate.positions("games.txt").values is None
    some = afterstate.positions("games.txt", every=10)
    assert len(found) / 11 < len(some) < len(found) / 9
    assert len(found[found.rewards > 0]) < len(found) and len(found[-1]) == 1
    both = afterstate.Positions.joined([found, some])
    assert len(both) == len(found) + len(some) and both.values is None
    assert (both.boards[len(found) :] == some.boards).all()


def test_boards_slide_by_the_rules() -> None:
    for name, board in (("2048", "4x4"), ("threes-hint", "4x4"), ("2584", "3x3")):
        game = afterstate.Game(name, board)
        found = afterstate.positions("random", game=name, board=board, games=3)
        hints = found.hints if game.shows_hint else None
        after, rewards, legal = game.slides(found.boards, hints=hints)
        rows = np.arange(len(found))
        assert (after[rows, found.moves] == found.afterstates).all()
        assert (rewards[rows, found.moves] == found.rewards).all()
        for n in range(0, len(found), 10):
            hint = (None, "1", "2", "3", "bonus")[found.hints[n]]
            position = game.position(found.boards[n], hint)
            assert [afterstate.DIRECTIONS[k] for k in np.flatnonzero(legal[n])] == position.legal
        assert (after[~legal] == np.repeat(found.boards[:, None], 4, axis=1)[~legal]).all()
        assert not rewards[~legal].any()
    with pytest.raises(InputError, match=r"expected \(..., 4, 4\)"):
        afterstate.Game("2048").slides([[1, 2]])


def test_unfinished_records_are_left_out() -> None:
    afterstate.evaluate("greedy", games=3, records="games.txt")
    lines = Path("games.txt").read_text().splitlines()
    head, moves, tail = lines[1].split("|")
    # Two initial tiles, a slide and a spawn: the game is not over.
    places = [n for n, letter in enumerate(moves) if letter == "#"]
    lines[1] = "|".join((head, moves[: places[1]], tail))
    Path("games.txt").write_text("\n".join(lines) + "\n")
    found = afterstate.positions("games.txt")
    assert found.unfinished == 1 and set(found.games) == {1, 3}


def test_positions_of_nothing_are_refused() -> None:
    Path("games.txt").write_text("no record\n")
    with pytest.raises(InputError, match="line 1"):
        afterstate.positions("games.txt")
    with pytest.raises(InputError, match="`games` has no effect on records"):
        afterstate.positions("games.txt", games=3)
    with pytest.raises(afterstate.Error, match="missing.txt"):
        afterstate.positions("missing.txt")
    with pytest.raises(InputError, match="random on 3x3|2048 on 3x3"):
        afterstate.positions("random", games=2, model=Model("greedy", board="3x3"))


def test_a_sweep_in_parts_is_that_of_one_machine() -> None:
    text = """
name = "rates"
recipe = "quick"
set = ["board=2x2", "tuples=lines", "episodes=100"]
seeds = [1, 2]
games = 20
[[variant]]
name = "low"
[[variant]]
name = "high"
set = ["learning_rate=0.5"]
"""
    Path("rates.toml").write_text(text)
    whole = afterstate.sweep("rates.toml", jobs=1)
    assert Path("runs/rates/summary.csv").exists()
    for k in (1, 2):
        part = afterstate.sweep("rates.toml", out=f"part-{k}", part=f"{k}/2")
        assert len(part["runs"]) == 2
    merged = afterstate.merge(["part-2", "part-1"], sweep="rates.toml", out="all")
    for row in [*whole["variants"], *merged["variants"]]:
        del row["speed"]
    assert json.dumps(merged) == json.dumps(whole)
    with pytest.raises(InputError, match="both `sweep` and `out`"):
        afterstate.merge(["part-1"], sweep="rates.toml")
