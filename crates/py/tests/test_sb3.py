"""The adapter for stable-baselines3. These tests need it, and are skipped without it."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_maskable_ppo_learns() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    envs = VecEnv(16, "2048", board="3x3", observation="one_hot", seed=1)
    model = contrib.MaskablePPO("MlpPolicy", envs, n_steps=64, seed=1)
    model.learn(4_096)
    assert model.num_timesteps >= 4_096
