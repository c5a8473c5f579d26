"""The package: games, models, solutions and the commands."""

from __future__ import annotations

import doctest
import gc
import importlib
import json
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import afterstate
from afterstate import DIRECTIONS, Game, InputError, Model, Random

MODULES = [
    "",
    ".analysis",
    ".commands",
    ".errors",
    ".functions",
    ".games",
    ".models",
    ".positions",
    ".progress",
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings_run(module: str) -> None:
    options = doctest.ELLIPSIS
    found = doctest.testmod(importlib.import_module("afterstate" + module), optionflags=options)
    assert found.attempted > 0 and found.failed == 0


@pytest.mark.parametrize("name", afterstate.games())
@pytest.mark.parametrize("board", ["4x4", "2x3", "5x3"])
def test_games_are_played_by_their_rules(name: str, board: str) -> None:
    game = Game(name, board)
    random = Random(seed=3, game=5)
    position = game.start(random)
    score, moves = position.initial_score, 0
    while not position.over and moves < 300:
        direction = position.legal[moves % len(position.legal)]
        after, reward = position.slide(direction)
        spawns = after.spawns()
        assert sum(spawn.probability for spawn in spawns) == pytest.approx(1)
        position, earned = after.spawn(random)
        assert position in [spawn.position for spawn in spawns]
        assert game.position(position.text) == position
        score, moves = score + reward + earned, moves + 1
    assert moves > 3 and score > 0
    for direction in set(DIRECTIONS) - set(position.legal):
        with pytest.raises(InputError, match="illegal"):
            position.slide(direction)


def test_positions_are_read_from_arrays_and_texts() -> None:
    game = Game("2048", (2, 3))
    position = game.position([[1, 2, 0], [0, 6, 7]])
    assert position.text == "2,4,0/0,64,128"
    assert game.position(game.exponents(position.values)) == position
    assert hash(game.position(position.text)) == hash(position)
    hinted = Game("threes-hint").position("0,0,1,2/0,0,0,0/0,0,0,0/0,0,0,3+1")
    assert (hinted.hint, hinted.game.name) == ("1", "threes-hint")


@pytest.mark.parametrize(
    ("board", "expected"),
    [
        ("2,2/0,0,0", "row 1 of the board, `2,2`, has 2 cells"),
        ([[1, 2], [3, 4]], r"shape \(2, 2\)"),
        ([[2048, 0, 0], [0, 0, 0]], "2048"),
        ([[0.5, 0, 0], [0, 0, 0]], "float64"),
        ([[99, 0, 0], [0, 0, 0]], "cannot occur"),
    ],
)
def test_wrong_boards_are_refused(board: object, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        Game("2048", "2x3").position(board)  # type: ignore[arg-type]


def test_values_of_many_boards_are_those_of_one(trained: Model) -> None:
    generator = np.random.default_rng(1)
    boards = generator.integers(0, 7, (2, 500, 4, 4), dtype=np.uint8)
    values, best = trained.values(boards, threads=2)
    assert values.shape == (2, 500, 4) and best.shape == (2, 500)
    for at in [(0, 0), (0, 499), (1, 250)]:
        position = Game("2048").position(boards[at])
        found = afterstate.analyze(position, model=trained)
        for direction, move in enumerate(found["moves"]):
            value = values[at][direction]
            assert (move["total"] is None) == bool(np.isnan(value))
            if move["total"] is not None:
                assert move["total"] == pytest.approx(float(value), rel=1e-6)
        assert DIRECTIONS[best[at]] == found["best"] == trained.choose(position)
    assert (trained.best_moves(boards) == best).all()
    with pytest.raises(InputError, match=r"expected \(..., 4, 4\)"):
        trained.values(boards[:, :, :3])
    boards[1, 7, 0, 0] = 60
    with pytest.raises(InputError, match="board 507 has the tile index 60"):
        trained.values(boards)


def test_tables_are_views_of_the_weights(trained: Model) -> None:
    tables = trained.tables
    assert len(tables) == 8
    table = tables["0123"]
    assert table.shape == (16,) * 4 and not table.flags.writeable and not table.flags.owndata
    again = trained.tables["0123"]
    assert np.shares_memory(table, again)
    # The value of an afterstate is the sum of its weights, once for each symmetry.
    position = Game("2048").position("2,4,0,0/0,8,2,0/16,0,0,0/2,0,0,4")
    after, reward = position.slide("left")
    turned = [np.rot90(after.tiles, turns) for turns in range(4)]
    expected = sum(
        float(table[tuple(board.ravel()[[int(cell, 16) for cell in name]])])
        for board in turned + [one.T for one in turned]
        for name, table in tables.items()
    )
    values, _ = trained.values(position.tiles)
    assert float(values[3]) - reward == pytest.approx(expected, rel=1e-4)
    with pytest.raises(ValueError):
        table[0, 0, 0, 0] = 1


def test_a_table_outlives_its_model() -> None:
    run = afterstate.train(board="2x2", set={"tuples": "01"}, episodes=100, out=None)
    table = run.model.tables["01"]
    total = float(table.sum())
    del run
    gc.collect()
    assert total != 0 and float(table.sum()) == total


def test_a_run_is_shared_with_the_command_line() -> None:
    changed = {"tuples": "lines", "block_games": 100}
    run = afterstate.train(board="2x3", set=changed, episodes=300, threads=1)
    assert run.folder == Path("runs/quick") and run.finished and run.games == 300
    assert [block["games"] for block in run.blocks] == [100, 200, 300]
    assert Path("runs/quick/recipe.toml").exists()
    assert Model(board="2x3").path == Path("runs/quick/model.safetensors")
    longer = afterstate.Run("runs/quick").resume(episodes=400)
    assert (longer.games, longer.model.trained) == (400, 400)
    with pytest.raises(InputError) as taken:
        afterstate.train(board="2x3", set={"tuples": "lines"}, out="runs/quick")
    assert taken.value.remedy and 'afterstate.train(resume="runs/quick")' in taken.value.remedy
    with pytest.raises(InputError, match=r"train one with `afterstate.train\(game=\"threes\""):
        Model(game="threes", board="2x3")


def test_a_model_against_an_exact_solution() -> None:
    solution = afterstate.solve("2x2", target=16, out="2x2.solution")
    assert afterstate.Solution("2x2.solution").expected_score == solution.expected_score
    assert solution.expected_score == pytest.approx(66.96414945710)
    assert solution.win_probability == pytest.approx(0.96251125375)
    assert solution.scores.max() > 70 and not solution.scores.flags.writeable
    assert solution.wins is not None and solution.wins.max() == 1.0
    run = afterstate.train(board="2x2", set={"tuples": "lines"}, episodes=2000, threads=1)
    gap = afterstate.evaluate(run, against=solution, keep=True)
    assert 0 <= gap["gap"] < 20
    assert Path("runs/quick/gaps.csv").exists()
    optimal = afterstate.evaluate(solution, games=4000)
    low, high = optimal["mean_ci95"]
    assert low < solution.expected_score < high
    found = afterstate.analyze("2,0/0,2", solution=solution, rollouts=200)
    assert found["search"] == "exact" and found["rollouts"]["games"] == 200


def test_records_are_judged_and_reviewed() -> None:
    run = afterstate.train(set={"tuples": "8x4"}, episodes=50, threads=1)
    afterstate.evaluate(run, games=20, records="games.txt")
    verdict = afterstate.judge("games.txt", games=20)
    # The seal is the player's own: it is right, but nobody else has seen the match.
    assert verdict["passed"] and verdict["seal"]["verified"] and not verdict["sealed"]
    text = Path("games.txt").read_text().splitlines()
    Path("fewer.txt").write_text("\n".join(text[:5]) + "\n")
    assert not afterstate.judge("fewer.txt", games=20)["passed"]
    review = afterstate.review("games.txt", run, top=2)
    assert review["total"]["games"] == 20 and len(review["games"]) == 20
    # Without a model, the network in the program reviews.
    other = afterstate.review("games.txt", top=2)["total"]
    assert other == afterstate.review("games.txt", "box:2048-4x4", top=2)["total"]
    assert other != review["total"]
    report = afterstate.convert(run.folder or "", "model.w", weights_only=True)
    assert report["to"]["format"] and Path("model.w").exists()
    again = Model("model.w")
    boards = np.eye(4, dtype=np.uint8)
    assert again.values(boards)[0].tolist() == run.model.values(boards)[0].tolist()


def test_parts_are_merged_to_the_whole(trained: Model) -> None:
    parts = [afterstate.compare(trained, "greedy", games=60, part=f"{k}/3") for k in (2, 3, 1)]
    whole = afterstate.compare(trained, "greedy", games=60)
    merged = afterstate.merge(parts)
    assert merged["difference_ci95"] == whole["difference_ci95"]
    with pytest.raises(InputError, match="part 2 is missing|missing"):
        afterstate.merge([parts[1], parts[2]])
    # As `--json` of the command line leaves them on disk.
    for number, part in enumerate(parts):
        Path(f"{number}.json").write_text(json.dumps(part))
    from_files = afterstate.merge([Path(f"{number}.json") for number in range(3)])
    assert from_files["difference_ci95"] == whole["difference_ci95"]


def test_boards_are_named_in_one_way(trained: Model) -> None:
    small = (2, 3)
    assert afterstate.evaluate("random", board=small, games=5)["board"] == "2x3"
    assert afterstate.positions("random", board=small, games=2).game.board == "2x3"
    tiles = np.array([[1, 1, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3]])
    text = "2,2,0,0/0,4,0,0/0,0,0,0/0,0,0,8"
    assert afterstate.analyze(tiles, model=trained) == afterstate.analyze(text, model=trained)
    position = Game("2048").position(text)
    assert trained.choose(tiles) == trained.choose(text) == trained.choose(position)
    solution = afterstate.solve("2x2")
    assert solution.analyze([[1, 1], [0, 0]]) == solution.analyze("2,2/0,0")
    assert afterstate.analyze([[1, 1], [0, 0]], solution=solution)["search"] == "exact"


def test_a_model_in_memory_is_saved() -> None:
    keys = {"tuples": "lines", "block_games": 100}
    run = afterstate.train(board="2x3", set=keys, episodes=300, threads=1, out=None)
    assert [block["games"] for block in run.blocks] == [100, 200, 300]
    run.model.save("model.safetensors")
    again = Model("model.safetensors")
    assert (again.trained, again.recipe) == (300, run.model.recipe)
    boards = np.eye(2, 3, dtype=np.uint8)
    assert np.array_equal(again.values(boards)[0], run.model.values(boards)[0], equal_nan=True)
    folder = afterstate.train(board="2x3", set=keys, episodes=300, threads=1).folder
    assert folder is not None
    assert (folder / "model.safetensors").read_bytes() == Path("model.safetensors").read_bytes()
    with pytest.raises(InputError, match="is in .*model.safetensors already"):
        again.save("other.safetensors")


def test_objects_are_pickled(trained: Model) -> None:
    def again(one: Any) -> Any:
        return pickle.loads(pickle.dumps(one))

    hinted = Game("threes-hint").position("0,0,1,2/0,0,0,0/0,0,0,0/0,0,0,3+1")
    for value in (Game("2584", "3x4"), Game("2048").start(3), hinted):
        assert again(value) == value
    found = afterstate.positions("greedy", board="2x2", games=2)
    copy = again(found)
    assert isinstance(copy, afterstate.Positions) and (copy.boards == found.boards).all()
    trained.save("model.safetensors")
    model = Model("model.safetensors").with_search("3ply", cutoff=0.1)
    for one in (model, Model("random", game="threes", board="3x3")):
        copy = again(one)
        assert isinstance(copy, Model)
        assert (copy.game, copy.board, copy.search) == (one.game, one.board, one.search)
    solution = afterstate.solve("2x2", out="2x2.solution")
    copy = again(solution)
    assert isinstance(copy, afterstate.Solution)
    assert copy.expected_score == solution.expected_score
    for in_memory in (trained, afterstate.solve("2x2")):
        with pytest.raises(InputError, match="in memory"):
            pickle.dumps(in_memory)


class Kernel:
    """Stands in for the kernel of a notebook."""

    kernel = object()

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, content: dict[str, str], raw: bool, display_id: bool) -> Kernel:
        self.shown.append(content["text/plain"])
        return self

    def update(self, content: dict[str, str], raw: bool) -> None:
        self.shown[-1] = content["text/plain"]


def test_a_notebook_shows_one_bar(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    kernel = Kernel()
    shell = SimpleNamespace(get_ipython=lambda: kernel, display=kernel)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    afterstate.evaluate("greedy", board="3x3", games=2000, progress=True)
    assert len(kernel.shown) == 1 and capsys.readouterr().err == ""
    assert "100%  2,000 games  mean" in kernel.shown[0]


def test_a_file_gets_few_lines(capsys: Any) -> None:
    afterstate.evaluate("greedy", board="3x3", games=2000, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 11 and "2,000 games  mean" in lines[-1]


def test_progress_is_told_and_cancels(trained: Model) -> None:
    main, threads = threading.current_thread(), set()

    def stop(event: dict[str, object]) -> None:
        threads.add(threading.current_thread())
        if event["event"] == "progress":
            raise LookupError("enough")

    begun = time.monotonic()
    with pytest.raises(LookupError, match="enough"):
        afterstate.evaluate(trained, games=100_000_000, progress=stop)
    assert time.monotonic() - begun < 20 and threads == {main}


def test_ctrl_c_stops_and_saves() -> None:
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))

    def interrupt(event: dict[str, object]) -> None:
        if event["event"] == "progress" and timer.ident is None:
            timer.start()

    # A job in the background of a shell ignores the signal otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            afterstate.train(set={"tuples": "8x4"}, episodes=100_000_000, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert timer.ident is not None
    run = afterstate.Run("runs/quick")
    assert not run.finished
    assert Model("runs/quick").trained


@pytest.mark.parametrize("work", ["analyze", "values", "choose"])
def test_ctrl_c_stops_searches(trained: Model, work: str) -> None:
    text = "2,4,8,16/4,8,2,0/2,0,0,0/0,0,0,0"
    boards = np.random.default_rng(1).integers(0, 7, (20_000, 4, 4), dtype=np.uint8)
    searches: dict[str, Callable[[], object]] = {
        "analyze": lambda: afterstate.analyze(text, model=trained, search="12ply"),
        "values": lambda: trained.with_search("5ply").values(boards),
        "choose": lambda: trained.with_search("12ply").choose(text),
    }
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    begun = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            searches[work]()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < 20


def test_a_search_of_a_board_is_told_by_ply(trained: Model) -> None:
    events: list[dict[str, object]] = []
    text = "2,4,8,16/4,8,2,0/2,0,0,0/0,0,0,0"
    found = afterstate.analyze(text, model=trained, search="3ply", progress=events.append)
    assert found["plies"] == 3 and not found["interrupted"]
    assert events[0]["event"] == "started" and events[-1]["event"] == "finished"
    assert {event["unit"] for event in events} == {"plies"}
    # A time is that of the whole answer: of the board and of the lines after it.
    begun = time.monotonic()
    found = afterstate.analyze(text, model=trained, search="300ms")
    assert found["search"] == "300ms" and found["plies"] >= 2
    assert time.monotonic() - begun < 3


def test_the_lock_is_released(trained: Model) -> None:
    done = threading.Event()

    def work() -> None:
        afterstate.evaluate(trained, games=3000, threads=1)
        done.set()

    worker = threading.Thread(target=work)
    counted, begun = 0, time.monotonic()
    worker.start()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    worker.join()
    # With the lock held, this thread would run once or twice.
    assert counted > 20 * min(1.0, time.monotonic() - begun)


def test_a_search_plays_better_and_its_options_need_it(trained: Model) -> None:
    deeper = trained.with_search("2ply")
    assert deeper.search == "2ply" and trained.search == "1ply"
    found = afterstate.compare(trained, trained, search_b="2ply", games=60, seed=3)
    assert found["b"]["search"] == "2ply" and found["difference"] < 0
    with pytest.raises(InputError, match="`cutoff` has no effect on a search of 1ply"):
        afterstate.evaluate(trained, cutoff=0.2)
    # It is an option of the search of 3ply alone.
    afterstate.compare(trained, trained, games=2, search="3ply", search_b="2ply", cutoff=0.2)
    board = Game("2048").start(1)
    options: dict[str, Any] = {"rollout_search": "3ply", "rollouts": 1, "cutoff": 0.2}
    afterstate.analyze(board, model=trained, search="2ply", **options)
    with pytest.raises(InputError, match="`cutoff` has no effect on a search of 2ply"):
        afterstate.compare(trained, trained, games=2, search_b="2ply", cutoff=0.2)
    with pytest.raises(InputError, match="`hash` has no effect on a search of 1ply"):
        afterstate.compare(trained, trained, games=2, hash=1)
    with pytest.raises(InputError, match="`cutoff` has no effect on a search of 2ply"):
        trained.with_search("2ply", cutoff=0.2)
    with pytest.raises(InputError, match="does not say how to search"):
        trained.with_search("deep")


def test_errors_are_one_family() -> None:
    for call in (
        lambda: Model("no such file"),
        lambda: afterstate.train("no-such-recipe"),
        lambda: afterstate.evaluate("random", games=0),
        lambda: afterstate.solve("9x9"),
        lambda: afterstate.judge("missing.txt"),
        lambda: afterstate.compare("random", "greedy", margin=3.0),
        lambda: afterstate.train(set="tuples=8x4"),
        lambda: afterstate.solve("2x2", threads=-1),
        lambda: afterstate.analyze("2,0/0,2", model="greedy", seed=3),
        lambda: afterstate.analyze("2,0/0,2", model="greedy", threads=2),
        lambda: afterstate.evaluate("greedy", against="x", games=5),
        lambda: afterstate.evaluate("greedy", games=10**20),
        lambda: afterstate.evaluate("greedy", games=np.array([1, 2])),  # type: ignore[arg-type]
        lambda: afterstate.evaluate("greedy", games=np.True_),  # type: ignore[arg-type]
        lambda: afterstate.evaluate("greedy", seed=2**64),
        lambda: afterstate.evaluate("greedy", part=(1, 3)),  # type: ignore[arg-type]
        lambda: afterstate.evaluate("greedy", threads=10**9, games=2),
        lambda: afterstate.evaluate("greedy", search="2ply", hash=-1),
        lambda: afterstate.compare("random", "greedy", sequential=True, margin=-3),
        lambda: afterstate.compare("random", "greedy", threads=1025),
        lambda: afterstate.sweep("missing.toml", jobs=1025),
        lambda: afterstate.train(board=4),  # type: ignore[arg-type]
        lambda: afterstate.train(set={"learning_rate": None}),
        lambda: Game("2048").start(-1),
        lambda: Random(2**70),
        lambda: Game("2048").start(1).slide(-1),
        lambda: Game("2048").start(1).slide(4),
        lambda: Model("greedy").values([[1, 2], [3]]),
        lambda: Model("greedy").values(np.zeros((4, 4), dtype=np.uint8), threads=2000),
        lambda: afterstate.merge(["missing.json"]),
        lambda: Model("greedy").save("model.safetensors"),
    ):
        with pytest.raises(afterstate.Error) as raised:
            call()
        assert isinstance(raised.value, ValueError) and str(raised.value)
        again = pickle.loads(pickle.dumps(raised.value))
        assert str(again) == str(raised.value)


def test_results_are_json() -> None:
    found = afterstate.evaluate("greedy", games=30)
    assert json.loads(json.dumps(found)) == found
