"""Ray: three nodes on this machine. These tests need it, and are skipped without it."""

from __future__ import annotations

import itertools
import json
import os
import random
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# A cluster that only this test can use; without a token, Ray would keep one in the home folder.
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))

if os.environ.get("CI"):
    import ray
else:
    ray = pytest.importorskip("ray")

from ray.cluster_utils import Cluster  # noqa: E402

import afterstate  # noqa: E402
import afterstate.ray  # noqa: E402
from afterstate.progress import Event  # noqa: E402


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three nodes with a processor each; the first is the head."""
    soon = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300}
    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 1,
            "_system_config": {**soon, "health_check_failure_threshold": 3},
        },
    )
    made.add_node(num_cpus=1)
    made.add_node(num_cpus=1)
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def played(result: Any) -> Any:
    """A result without times."""
    if isinstance(result, dict):
        return {key: played(value) for key, value in result.items() if key != "moves_per_second"}
    return [played(value) for value in result] if isinstance(result, list) else result


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> afterstate.Run:
    """A run in a folder."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    return afterstate.train(set={"tuples": "8x4"}, episodes=300, threads=1, out=folder)


def test_a_node_is_killed_and_results_are_those_of_one_machine(
    cluster: Cluster, tmp_path: Path
) -> None:
    events: list[Event] = []
    # The part after which it is killed differs from run to run.
    seed = int(os.environ.get("AFTERSTATE_SEED", secrets.randbelow(1 << 32)))
    print(f"AFTERSTATE_SEED={seed} kills the node after the same part")
    parts = 12
    last = random.Random(seed).randint(1, 6)
    doomed = list(cluster.worker_nodes)[0]
    node, begun = doomed.node_id, tmp_path / "begun"

    def values(boards: Any) -> Any:
        """On the node that is killed, a part begins and does not end."""
        if ray.get_runtime_context().get_node_id() == node:
            begun.touch()
            time.sleep(300)
        return (boards.reshape(len(boards), -1) == 0).sum(axis=1)

    def kill_one(event: Event) -> None:
        events.append(event)
        done = sum(event["event"] == "progress" for event in events)
        if event["event"] == "progress" and done == last:
            # Twice as many tasks are submitted as there are processors, so each node has some.
            while not begun.exists():
                time.sleep(0.01)
            cluster.remove_node(doomed, allow_graceful=False)

    options: dict[str, Any] = {"games": 120, "seed": 5}
    found = afterstate.ray.evaluate(values, parts=parts, progress=kill_one, **options)
    assert len(cluster.worker_nodes) == 1, "no node was killed"
    assert played(found) == played(afterstate.evaluate(values, **options))
    assert events[0]["event"] == "started" and events[0]["total"] == 120
    kinds = [event["event"] for event in events]
    assert kinds.count("progress") == parts
    assert kinds.count("repeated") >= 1, "no task was on the node that was killed"
    assert events[-1]["event"] == "finished" and events[-1]["done"] == 120


def test_lost_work_is_repeated(cluster: Cluster, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def dies_once(number: int) -> int:
        if number == 3 and not begun.exists():
            begun.touch()
            os._exit(1)
        return number * number

    def dies(number: int) -> int:
        os._exit(1)

    events: list[Event] = []
    found: dict[int, int] = {}
    tasks = [afterstate.ray._Task(f"part {n}", (n,), 1) for n in range(6)]
    report = afterstate.ray._Report(events.append, "evaluate", "games", 6, "games")
    afterstate.ray._all(dies_once, tasks, report, 1, found.__setitem__)
    assert found == {n: n * n for n in range(6)}
    assert [event["part"] for event in events if event["event"] == "repeated"] == ["part 3"]

    def loses(number: int) -> int:
        raise ray.exceptions.ObjectLostError("0" * 56, None, "")

    with pytest.raises(afterstate.ResourceError, match="part 0 was lost 2 times"):
        afterstate.ray._all(loses, tasks[:1], report, 1, found.__setitem__)
    tasks[0].failures = 0
    with pytest.raises(afterstate.ResourceError, match="part 0 was lost 2 times"):
        afterstate.ray._all(dies, tasks[:1], report, 1, found.__setitem__)


def test_players_are_compared(cluster: Cluster, run: afterstate.Run) -> None:
    found = afterstate.ray.compare(run, "greedy", games=100, parts=5)
    assert played(found) == played(afterstate.compare(run, "greedy", games=100))

    # The model is stored for this connection, once.
    stored = dict(afterstate.ray._stored)
    assert ray.get_runtime_context().get_node_id() in stored["connection"]
    afterstate.ray.evaluate(run, games=2)
    assert afterstate.ray._stored == stored
    afterstate.ray._stored["connection"] = "another"
    afterstate.ray.evaluate(run, games=2)
    assert afterstate.ray._stored.keys() == stored.keys()
    assert afterstate.ray._stored != stored

    def empty_cells(boards: Any) -> Any:
        return 10.0 * np.count_nonzero(boards == 0, axis=(1, 2))

    found = afterstate.ray.compare(empty_cells, run, games=20, parts=21)
    assert played(found) == played(afterstate.compare(empty_cells, run, games=20))


def test_errors_are_those_of_the_work(cluster: Cluster, run: afterstate.Run) -> None:
    class Broken(Exception):
        pass

    def breaks(boards: Any) -> Any:
        raise ValueError("no values today")

    with pytest.raises(ValueError, match="no values today"):
        afterstate.ray.evaluate(breaks, games=10, parts=2)
    with pytest.raises(afterstate.InputError, match="`5` does not say how to search"):
        afterstate.ray.evaluate(run, games=10, search="5")
    # Ray would wait for a machine with so many processors.
    with pytest.raises(afterstate.InputError, match="a task needs 64 processors"):
        afterstate.ray.evaluate(run, games=4, threads=64, parts=1)
    with pytest.raises(afterstate.InputError, match="a task needs 64 processors"):
        afterstate.ray.train(seeds=[1], board="2x2", set={"tuples": "lines"}, threads=64)
    for seeds, expected in (
        (5, "expected a list of seeds"),
        ([], "found no seeds"),
        ([1, 2, 1], "has 1 twice"),
        (itertools.count(), "more than 1000 seeds"),
    ):
        with pytest.raises(afterstate.InputError, match=expected):
            afterstate.ray.train(seeds=seeds)  # type: ignore[arg-type]
    memory = afterstate.train(board="2x2", set={"tuples": "lines"}, episodes=50, out=None)
    with pytest.raises(afterstate.InputError, match="a model in memory cannot be sent"):
        afterstate.ray.evaluate(memory, games=10)

    def stops(event: Event) -> None:
        if event["event"] == "progress":
            raise Broken

    with pytest.raises(Broken):
        afterstate.ray.evaluate(run, games=1000, parts=50, progress=stops)


def test_a_cluster_without_processors_waits_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    def nodes(*processors: int) -> None:
        found = [{"Alive": True, "Resources": {"CPU": float(n)}} for n in processors]
        monkeypatch.setattr(ray, "nodes", lambda: found)

    for processors in ((), (0,), (0, 4)):
        nodes(*processors)
        afterstate.ray._check_processors(2)
    nodes(0, 1)
    with pytest.raises(afterstate.InputError, match="a task needs 2 processors"):
        afterstate.ray._check_processors(2)


SWEEP = """
name = "rates"
recipe = "quick"
set = ["board=2x3", "tuples=lines", "episodes=300", "block_games=100"]
seeds = [1, 2]
games = 50
[[variant]]
name = "low"
[[variant]]
name = "high"
set = ["learning_rate=0.5"]
"""


def test_a_sweep_is_that_of_one_machine(cluster: Cluster) -> None:
    Path("rates.toml").write_text(SWEEP)
    here = afterstate.sweep("rates.toml", out="here", jobs=1)
    there = afterstate.ray.sweep("rates.toml", out="there")
    for row in [*here["variants"], *there["variants"]]:
        del row["speed"]
    assert json.dumps(there).replace("there/", "here/") == json.dumps(here)
    for path in ("low/seed-1/model.safetensors", "high/seed-2/recipe.toml"):
        assert Path("there", path).read_bytes() == Path("here", path).read_bytes()
    assert Path("there/summary.csv").exists()
    # Nothing is left to do, and a changed file is refused.
    again = afterstate.ray.sweep("rates.toml", out="there")
    assert [row["name"] for row in again["variants"]] == ["low", "high"]
    Path("rates.toml").write_text(SWEEP.replace("0.5", "0.4"))
    with pytest.raises(afterstate.Error, match="learning_rate"):
        afterstate.ray.sweep("rates.toml", out="there")


def test_seeds_are_trained(cluster: Cluster) -> None:
    keys = {"tuples": "lines"}
    runs = afterstate.ray.train("quick", seeds=[3, 4], board="2x3", episodes=200, set=keys)
    assert [run.games for run in runs] == [200, 200]
    assert str(runs[0].folder) == "runs/quick-seeds/quick/seed-3"
    alone = afterstate.train(
        "quick", board="2x3", episodes=200, set=keys, seed=4, threads=1, out="alone"
    )
    assert alone.folder is not None and runs[1].folder is not None
    model = "model.safetensors"
    assert (runs[1].folder / model).read_bytes() == (alone.folder / model).read_bytes()


def test_a_model_is_opened_once_in_a_process(run: afterstate.Run) -> None:
    boxed = afterstate.ray._Shipped("box:2048-4x4", "2048", "4x4")
    assert afterstate.ray._player(boxed) is afterstate.ray._player(boxed)


def test_old_models_are_removed(tmp_path: Path) -> None:
    for name, age in (("old", 8), ("new", 6)):
        folder = tmp_path / "cache" / name
        folder.mkdir(parents=True)
        (folder / "model.safetensors").touch()
        then = time.time() - age * 24 * 3600
        os.utime(folder, (then, then))
    afterstate.ray._remove_old(tmp_path / "cache")
    assert [folder.name for folder in (tmp_path / "cache").iterdir()] == ["new"]


def test_a_trainable_reports() -> None:
    rows: list[dict[str, Any]] = []
    train = afterstate.ray.trainable(
        "quick",
        games=100,
        set={"board": "2x3", "tuples": "lines", "episodes": 200, "block_games": 100},
        report=rows.append,
    )
    train({"learning_rate": 0.1, "seed": 2})
    assert [row["games"] for row in rows] == [100, 200, 200]
    assert rows[-1]["score_low"] < rows[-1]["score"] < rows[-1]["score_high"]
