"""Afterstate learns, searches, proves and plays 2048, Threes! and 2584.

>>> import afterstate
>>> run = afterstate.train("quick", board="3x3", set={"tuples": "lines"}, episodes=500, out=None)
>>> afterstate.compare(run.model, "greedy", games=200)["better"]
'a'

The functions are the commands of the command line (see :mod:`afterstate.commands`), and share its
run folders. ``import afterstate`` also registers the environments of Gymnasium, if that is
installed: ``gymnasium.make("afterstate/2048-v0")`` (see :mod:`afterstate.envs`).
"""

from ._afterstate import __version__, has_deep
from .analysis import analyze
from .commands import (
    compare,
    convert,
    evaluate,
    judge,
    merge,
    recipe,
    recipes,
    review,
    solve,
    sweep,
    train,
)
from .errors import DivergedError, Error, InputError, ResourceError
from .functions import ValueFunction
from .games import DIRECTIONS, Afterstate, Game, Position, Random, Spawn, games
from .judging import EnvironmentVerdict, judge_env
from .models import Model, Run, Solution
from .positions import Positions, positions

__all__ = [
    "DIRECTIONS",
    "Afterstate",
    "DivergedError",
    "EnvironmentVerdict",
    "Error",
    "Game",
    "InputError",
    "Model",
    "Position",
    "Positions",
    "Random",
    "ResourceError",
    "Run",
    "Solution",
    "Spawn",
    "ValueFunction",
    "__version__",
    "analyze",
    "compare",
    "convert",
    "evaluate",
    "games",
    "has_deep",
    "judge",
    "judge_env",
    "merge",
    "positions",
    "recipe",
    "recipes",
    "review",
    "solve",
    "sweep",
    "train",
]

# Gymnasium has no entry points for plugins: environments are registered by an import.
try:
    import gymnasium as _gymnasium
except ImportError:
    pass
else:
    del _gymnasium
    from .envs import register as _register

    _register()
    del _register
