"""The adapter for stable-baselines3. These tests need it, and are skipped without it."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import afterstate

pytest.importorskip("stable_baselines3")

from afterstate.sb3 import VecEnv  # noqa: E402


def test_steps_are_those_of_the_interface() -> None:
    envs = VecEnv(3, "2048", board="2x2", seed=1)
    observations = envs.reset()
    assert observations.shape == (3, 2, 2)
    ended = 0
    for _ in range(60):
        masks = envs.env_method("action_masks")
        observations, rewards, over, infos = envs.step(np.array([mask.argmax() for mask in masks]))
        assert rewards.dtype == np.float32 and observations.shape == (3, 2, 2)
        for n in np.flatnonzero(over):
            last = infos[n]["terminal_observation"]
            assert last.all() and infos[n]["episode"]["l"] > 0
            assert np.count_nonzero(observations[n]) == 2
            ended += 1
    assert ended > 5
    assert envs.get_attr("num_envs", [0, 2]) == [3, 3]
    assert envs.env_is_wrapped(object) == [False] * 3


def test_maskable_ppo_makes_its_steps() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    envs = VecEnv(8, "2048", board="2x2", observation="one_hot", seed=1)
    model = contrib.MaskablePPO("MlpPolicy", envs, n_steps=64, batch_size=128, seed=1)
    model.learn(1_024)
    assert model.num_timesteps == 1_024


def test_maskable_ppo_learns() -> None:
    """A minute on 4x4, only where it is asked for: `AFTERSTATE_PPO=1`."""
    contrib = pytest.importorskip("sb3_contrib")
    if not os.environ.get("AFTERSTATE_PPO"):
        pytest.skip("learns for a minute; set AFTERSTATE_PPO=1")
    from stable_baselines3.common.callbacks import BaseCallback

    class Scores(BaseCallback):  # type: ignore[misc]
        """The score of each game, for a minute of processor time."""

        def __init__(self) -> None:
            super().__init__()
            self.scores: list[float] = []
            self.begun = time.process_time()

        def _on_step(self) -> bool:
            infos = self.locals["infos"]
            self.scores += [info["episode"]["r"] for info in infos if "episode" in info]
            return time.process_time() - self.begun < 60

    envs = VecEnv(64, "2048", observation="one_hot", seed=1)
    settings = {"n_steps": 64, "batch_size": 512, "n_epochs": 4, "learning_rate": 1e-3, "seed": 1}
    model = contrib.MaskablePPO("MlpPolicy", envs, **settings)
    scores = Scores()
    model.learn(10_000_000, callback=scores)
    random = afterstate.evaluate("random", games=1000)
    last = np.array(scores.scores[-200:])
    low = last.mean() - 1.96 * last.std() / np.sqrt(len(last))
    print(f"{len(scores.scores)} games; mean {last.mean():.0f}; random {random['mean']:.0f}")
    assert last.mean() > np.mean(scores.scores[:200])
    assert low > random["mean_ci95"][1]
