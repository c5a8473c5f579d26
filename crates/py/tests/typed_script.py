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
    env = gymnasium.make("afterstate/2048-v0", board="3x3")
    env.reset(seed=1)
    assert mean > 0 and values.shape == (4,) and names and len(weights) == 6
