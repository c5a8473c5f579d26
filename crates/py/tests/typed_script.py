"""A script as a user writes it, which mypy --strict must accept; it also runs, as a test."""

from __future__ import annotations

import gymnasium

import afterstate
from afterstate.progress import Event


def report(event: Event) -> None:
    """Collects nothing: shows the type of a callback."""
    assert event["event"]


def test_the_script_runs() -> None:
    run: afterstate.Run = afterstate.train(
        "quick", board="3x3", set={"tuples": "lines"}, episodes=100, out=None, progress=report
    )
    result = afterstate.evaluate(run, games=20, search="1ply")
    mean: float = result["mean"]
    values, best = run.model.values([[1, 0, 0], [0, 2, 0], [0, 0, 0]])
    names: list[str] = [afterstate.DIRECTIONS[int(best)]]
    weights = {name: table.mean() for name, table in run.model.tables.items()}
    player = afterstate.ValueFunction(lambda boards: boards[:, 0, 0] * 1.0, board="3x3")
    better: str | None = afterstate.compare(player, run, games=20)["better"]
    found: afterstate.Positions = afterstate.positions(run, games=2, every=3)
    assert better != "a" and found[::2].boards.ndim == 3
    env = gymnasium.make("afterstate/2048-v0", board="3x3")
    env.reset(seed=1)
    assert mean > 0 and values.shape == (4,) and names and len(weights) == 6
