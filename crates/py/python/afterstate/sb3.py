"""An adapter for stable-baselines3, which has a vector interface of its own.

``VecEnv(num_envs=64)`` is an environment of stable-baselines3 whose step is one call into Rust::

    from sb3_contrib import MaskablePPO
    from afterstate.sb3 import VecEnv

    model = MaskablePPO("MlpPolicy", VecEnv(64, "2048", observation="one_hot"))
    model.learn(100_000)

It needs ``pip install ".[sb3]"``, and is not imported by ``import afterstate``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from .envs import BoardVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv as _VecEnv
except ImportError as error:
    raise ImportError(
        'afterstate.sb3 needs stable-baselines3; install it with `pip install ".[sb3]"`'
    ) from error

__all__ = ["VecEnv"]


class VecEnv(_VecEnv):
    """Many games for stable-baselines3. Arguments are those of :class:`BoardVectorEnv`.

    A game that ends is followed by the next one in the same step, as stable-baselines3 expects it:
    ``infos[i]["terminal_observation"]`` is its last board, ``infos[i]["episode"]`` has its score
    and its moves.
    """

    def __init__(
        self,
        num_envs: int,
        game: str = "2048",
        *,
        variant: str | None = None,
        board: str | tuple[int, int] = "4x4",
        observation: str = "exponents",
        seed: int | None = None,
    ) -> None:
        self.vector = BoardVectorEnv(
            num_envs,
            game,
            variant=variant,
            board=board,
            observation=observation,
            afterstates=False,
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
        self._start: int | None = seed
        self._actions: NDArray[np.int64] = np.zeros(num_envs, dtype=np.int64)
        self.render_mode = None
        space, actions = self.vector.single_observation_space, self.vector.single_action_space
        super().__init__(num_envs, space, actions)

    def reset(self) -> Any:
        """Starts the next games, or those of the seed that was set."""
        seeds = [seed for seed in self._seeds if seed is not None]
        start = seeds[0] if seeds else self._start
        self._start = None
        observations, _ = self.vector.reset(seed=start)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keeps the actions."""
        self._actions = np.asarray(actions, dtype=np.int64).reshape(-1)

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Makes the actions."""
        observations, rewards, over, _, seen = self.vector.step(self._actions)
        infos: list[dict[str, Any]] = [{"illegal": bool(one)} for one in seen["illegal"]]
        for n in np.flatnonzero(over):
            last = seen["final_info"]
            infos[n]["terminal_observation"] = seen["final_obs"][n]
            infos[n]["TimeLimit.truncated"] = False
            infos[n]["episode"] = {
                "r": float(last["score"][n]),
                "l": int(last["moves"][n]),
                "t": 0.0,
            }
        return observations, rewards.astype(np.float32), over, infos

    def close(self) -> None:
        """Closes the environments."""
        self.vector.close()

    def _selected(self, indices: Any) -> Sequence[int]:
        return [int(n) for n in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the environments, which share it."""
        return [getattr(self.vector, attr_name) for _ in self._selected(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute, which all of the environments share."""
        if len(self._selected(indices)) != self.num_envs:
            raise ValueError("environments share their attributes: set them for all of them")
        setattr(self.vector, attr_name, value)

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Calls a method. ``action_masks`` gives each environment its own."""
        selected = self._selected(indices)
        if method_name == "action_masks":
            masks = self.vector.action_masks()
            return [masks[n] for n in selected]
        result = getattr(self.vector, method_name)(*args, **kwargs)
        return [result for _ in selected]

    def has_attr(self, attr_name: str) -> bool:
        """Whether the environments have an attribute."""
        return hasattr(self.vector, attr_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Whether they are in a wrapper: never."""
        return [False for _ in self._selected(indices)]
