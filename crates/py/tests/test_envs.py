"""The environments of Gymnasium."""

from __future__ import annotations

import doctest
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import afterstate
from afterstate import envs


IDS = ["afterstate/2048-v0", "afterstate/Threes-v0", "afterstate/2584-v0"]
KWARGS: list[dict[str, Any]] = [
    {},
    {"board": "3x5"},
    {"observation": "one_hot", "board": "2x2"},
    {"afterstates": False},
]


def test_examples_of_docstrings_run() -> None:
    found = doctest.testmod(envs)
    assert found.attempted > 0 and found.failed == 0


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("kwargs", KWARGS)
def test_gymnasiums_checker_passes(name: str, kwargs: dict[str, Any]) -> None:
    for mode in (None, "ansi", "rgb_array"):
        env = gymnasium.make(name, render_mode=mode, **kwargs)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message=".*is not an `Env`.*")
            check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("variant", ["threes-hint", "threes-original"])
def test_variants_show_their_next_tile(variant: str) -> None:
    env = gymnasium.make("afterstate/Threes-v0", variant=variant)
    check_env(env.unwrapped, skip_render_check=True)
    observation, _ = env.reset(seed=1)
    assert 1 <= observation["next_tile"] <= 4
    vector = gymnasium.make_vec("afterstate/Threes-v0", num_envs=2, variant=variant)
    observations, _ = vector.reset(seed=1)
    assert vector.observation_space.contains(observations)
    assert (observations["board"][0] == observation["board"]).all()


def first_legal(info: dict[str, Any]) -> int:
    return int(np.flatnonzero(info["action_mask"])[0])


def played(model: afterstate.Model, env: Any, games: int, seed: int) -> list[tuple[int, int]]:
    """The score and the moves of games that a model plays."""
    found = []
    for number in range(games):
        observation, info = env.reset(seed=seed if number == 0 else None)
        assert info["game"] == number
        over, total = False, 0.0
        while not over:
            observation, reward, over, _, info = env.step(int(model.best_moves(observation)))
            total += reward
        assert total == info["score"]
        found.append((info["score"], info["moves"]))
    return found


def test_games_are_those_of_an_evaluation(trained: afterstate.Model) -> None:
    part = afterstate.evaluate(trained, games=6, seed=9, part="1/1")
    outcomes = part["part"]["played"][0]["outcomes"]
    expected = [(outcome["score"], outcome["moves"]) for outcome in outcomes]
    assert played(trained, gymnasium.make("afterstate/2048-v0"), 6, 9) == expected


def at(observations: Any, n: int) -> Any:
    """The observation of one of several environments."""
    if isinstance(observations, dict):
        return {key: value[n] for key, value in observations.items()}
    return observations[n]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(np.array_equal(a[key], b[key]) for key in a)
    return np.array_equal(a, b)


@pytest.mark.parametrize("name", IDS)
def test_a_vector_plays_the_games_of_single_environments(name: str) -> None:
    count, steps = 3, 400
    vector = gymnasium.make_vec(name, num_envs=count, board="3x3")
    observations, infos = vector.reset(seed=4)
    singles: list[Any] = [gymnasium.make(name, board="3x3").unwrapped for _ in range(count)]
    numbers = list(range(count))
    for n, single in enumerate(singles):
        single.reset(seed=4)
        for _ in range(n):
            single.reset()
    over = [False] * count
    ended = 0
    for _ in range(steps):
        actions = [first_legal({"action_mask": m}) if m.any() else 0 for m in infos["action_mask"]]
        observations, rewards, terminated, truncated, infos = vector.step(np.array(actions))
        assert not truncated.any()
        for n, single in enumerate(singles):
            if over[n]:
                for _ in range(count):
                    observation, info = single.reset()
                reward, over[n] = 0.0, False
                numbers[n] += count
            else:
                observation, reward, over[n], _, info = single.step(actions[n])
            assert same(at(observations, n), observation)
            assert (rewards[n], terminated[n]) == (reward, over[n])
            assert infos["game"][n] == info["game"] == numbers[n]
            for key in ("action_mask", "afterstates", "afterstate_rewards", "score", "moves"):
                assert np.array_equal(infos[key][n], info[key]), key
        ended += int(terminated.sum())
    assert ended > 10


def test_same_step_starts_the_next_game_at_once() -> None:
    vectors = [
        gymnasium.make_vec("afterstate/2048-v0", num_envs=4, board="2x2", autoreset_mode=mode)
        for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED)
    ]
    same, disabled = vectors
    assert same.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    _, infos = same.reset(seed=2)
    disabled.reset(seed=2)
    ended = 0
    for _ in range(60):
        actions = infos["action_mask"].argmax(axis=1)
        observations, rewards, terminated, _, infos = same.step(actions)
        plain, other, over, _, last = disabled.step(actions)
        assert (rewards == other).all() and (terminated == over).all()
        if terminated.any():
            ended += 1
            assert (infos["_final_obs"] == terminated).all()
            for n in np.flatnonzero(terminated):
                assert (infos["final_obs"][n] == plain[n]).all()
                assert infos["final_info"]["score"][n] == last["score"][n]
                assert not infos["final_info"]["action_mask"][n].any()
            with pytest.raises(afterstate.InputError, match="is over, and autoreset is disabled"):
                disabled.step(actions)
            plain, _ = disabled.reset(options={"reset_mask": terminated})
        else:
            assert "final_obs" not in infos
        assert (observations == plain).all()
    assert ended > 5


def test_an_illegal_action_changes_nothing() -> None:
    env = gymnasium.make("afterstate/2048-v0").unwrapped
    start, _ = env.reset(options={"board": "2,0,0,0/4,0,0,0/0,0,0,0/0,0,0,0"})
    for _ in range(3):
        observation, reward, terminated, truncated, info = env.step(3)
        assert (observation == start).all() and reward == 0.0 and not terminated and not truncated
        assert info["illegal"] and info["moves"] == 0
    assert not env.step(1)[4]["illegal"]


def test_wrong_actions_and_options_are_refused() -> None:
    env = gymnasium.make("afterstate/2048-v0").unwrapped
    env.reset(seed=1)
    with pytest.raises(afterstate.InputError, match="the action of environment 0 is 4"):
        env.step(4)
    with pytest.raises(afterstate.InputError, match="unknown option `bord`"):
        env.reset(options={"bord": "2,2/0,0"})
    with pytest.raises(afterstate.InputError, match="unknown game `chess`"):
        gymnasium.make("afterstate/2048-v0", variant="chess")
    with pytest.raises(afterstate.InputError, match="expected exponents or one_hot"):
        gymnasium.make("afterstate/2048-v0", observation="pixels")
    vector = gymnasium.make_vec("afterstate/2048-v0", num_envs=2)
    vector.reset(seed=1)
    with pytest.raises(afterstate.InputError, match="found 3 actions"):
        vector.step([0, 1, 2])


def test_afterstates_are_what_a_slide_makes() -> None:
    env: Any = gymnasium.make("afterstate/2584-v0", board="3x4").unwrapped
    _, info = env.reset(seed=3)
    for _ in range(50):
        position = env.position
        for number, name in enumerate(afterstate.DIRECTIONS):
            if name in position.legal:
                after, reward = position.slide(name)
                assert (info["afterstates"][number] == after.tiles).all()
                assert info["afterstate_rewards"][number] == reward
            else:
                assert (info["afterstates"][number] == position.tiles).all()
        action = first_legal(info)
        kept = info["afterstates"].copy()
        before = info["afterstates"]
        _, reward, over, _, info = env.step(action)
        assert (before == kept).all() and reward >= 0
        if over:
            break


def test_boards_are_rendered(capsys: pytest.CaptureFixture[str]) -> None:
    text: Any = gymnasium.make("afterstate/2048-v0", render_mode="ansi")
    text.reset(seed=1)
    assert "2" in text.render()
    human = gymnasium.make("afterstate/2048-v0", render_mode="human")
    human.reset(seed=1)
    human.step(0)
    assert capsys.readouterr().out.count("\n") > 10
    pixels: Any = gymnasium.make("afterstate/2048-v0", render_mode="rgb_array").unwrapped
    pixels.reset(options={"board": "2,0,0,0/0,0,0,0/0,0,131072,0/0,0,0,0"})
    image = pixels.render()
    assert image.shape == (256, 256, 3) and image.dtype == np.uint8
    ink = (image == (60, 50, 40)).all(axis=2)
    assert ink[:64, :64].any() and ink[128:192, 128:192].any() and not ink[:64, 64:].any()


def test_seeds_of_a_list_are_those_of_single_environments() -> None:
    vector: Any = gymnasium.make_vec("afterstate/2048-v0", num_envs=2)
    observations, infos = vector.reset(seed=[7, 8])
    for n, seed in enumerate((7, 8)):
        single, _ = gymnasium.make("afterstate/2048-v0").reset(seed=seed)
        assert (observations[n] == single).all() and infos["game"][n] == 0


def test_the_mask_of_a_vector_is_that_of_the_board_that_was_set() -> None:
    vector: Any = gymnasium.make_vec("afterstate/2048-v0", num_envs=2)
    vector.reset(seed=1)
    before = vector.unwrapped.action_masks()
    board = "2,0,0,0/0,0,0,0/0,0,0,0/0,0,0,0"
    vector.unwrapped.set_board(1, board)
    single: Any = gymnasium.make("afterstate/2048-v0").unwrapped
    _, info = single.reset(options={"board": board})
    masks = vector.unwrapped.action_masks()
    assert masks[1].tolist() == info["action_mask"].astype(bool).tolist()
    assert masks[1].sum() == 2 and (masks[0] == before[0]).all()
