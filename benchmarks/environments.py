"""Environments of 2048 side by side: do they keep the rules, and how fast are they?

    python benchmarks/environments.py judge        afterstate.judge_env on each of them
    python benchmarks/environments.py speed        steps per second, in one run by one loop

Needs `pip install . gymnasium gymnasium-2048 jumanji pgx`; what is not installed is left out. Peers
run by their fastest documented loop: jumanji and pgx as one jitted function of 1,024 environments
that are reset when they end. Actions are legal and drawn beforehand, so that no policy is measured:
the actions of a step are taken from the masks of the same games, played once before.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import afterstate

COUNT = 1024


class Jumanji:
    """jumanji's Game2048 with the interface of Gymnasium."""

    def __init__(self) -> None:
        import jax
        from jumanji.environments import Game2048

        self.jax, self.env = jax, Game2048()
        self.resets, self.steps = jax.jit(self.env.reset), jax.jit(self.env.step)
        self.key = jax.random.PRNGKey(0)
        self.state: Any = None

    @property
    def unwrapped(self) -> Any:
        return self

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.key = self.jax.random.PRNGKey(seed)
        self.key, key = self.jax.random.split(self.key)
        self.state, step = self.resets(key)
        return self.seen(step)

    def seen(self, step: Any) -> Any:
        info = {"action_mask": np.asarray(step.observation.action_mask)}
        return np.asarray(step.observation.board), info

    def step(self, action: int) -> Any:
        self.state, step = self.steps(self.state, self.jax.numpy.int32(action))
        board, info = self.seen(step)
        return board, float(step.reward), bool(step.last()), False, info

    def set_board(self, indices: Any) -> Any:
        board = self.jax.numpy.asarray(indices, self.jax.numpy.int32)
        mask = self.env._get_action_mask(board)
        self.state = self.state.replace(board=board, action_mask=mask)
        return np.asarray(board)


class Pgx:
    """pgx's 2048 with the interface of Gymnasium."""

    def __init__(self) -> None:
        import jax
        import pgx

        self.jax, self.env = jax, pgx.make("2048")
        self.inits, self.steps = jax.jit(self.env.init), jax.jit(self.env.step)
        self.key = jax.random.PRNGKey(0)
        self.state: Any = None

    @property
    def unwrapped(self) -> Any:
        return self

    def next_key(self) -> Any:
        self.key, key = self.jax.random.split(self.key)
        return key

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.key = self.jax.random.PRNGKey(seed)
        self.state = self.inits(self.next_key())
        return self.seen()

    def seen(self) -> Any:
        info = {"action_mask": np.asarray(self.state.legal_action_mask)}
        return np.asarray(self.state._board).reshape(4, 4), info

    def step(self, action: int) -> Any:
        self.state = self.steps(self.state, self.jax.numpy.int32(action), self.next_key())
        board, info = self.seen()
        over = bool(self.state.terminated)
        return board, float(self.state.rewards[0]), over, bool(self.state.truncated), info

    def set_board(self, indices: Any) -> Any:
        board = self.jax.numpy.asarray(indices, self.jax.numpy.int32)
        from pgx.play2048 import _legal_action_mask

        mask = _legal_action_mask(board)
        self.state = self.state.replace(_board=board.ravel(), legal_action_mask=mask)
        return np.asarray(board)


def gymnasium_2048() -> Any:
    """gymnasium-2048 as it is."""
    from gymnasium_2048.envs import TwentyFortyEightEnv

    return TwentyFortyEightEnv()


def set_in_gymnasium_2048(env: Any, board: Any) -> Any:
    env.unwrapped.board = afterstate.Game("2048").exponents(board)
    return np.asarray(env.unwrapped.board)


def set_by_indices(env: Any, board: Any) -> Any:
    return env.set_board(afterstate.Game("2048").exponents(board))


def tiles(observation: Any) -> Any:
    """The numbers on the tiles, of tile indices or of vectors with a one at the index."""
    found = np.asarray(observation)
    found = found.argmax(axis=2) if found.ndim == 3 else found
    return np.where(found == 0, 0, 2 ** found.astype(np.int64))


PEERS: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any]]] = {
    "gymnasium-2048": (gymnasium_2048, set_in_gymnasium_2048),
    "jumanji": (Jumanji, set_by_indices),
    "pgx": (Pgx, set_by_indices),
}


def installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def judge(games: int) -> None:
    for name, (make, put) in PEERS.items():
        version = installed(name)
        if version is None:
            print(f"{name}: not installed\n")
            continue
        begun = time.monotonic()
        verdict = afterstate.judge_env(make, decode=tiles, set_board=put, games=games)
        seconds = time.monotonic() - begun
        print(f"{name} {version}, {games} games, {seconds:.0f} s\n{verdict}\n")


def legal_actions(steps: int) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
    """Legal actions of the games that our environments play."""
    import gymnasium

    envs = gymnasium.make_vec("afterstate/2048-v0", num_envs=COUNT, afterstates=False)
    _, infos = envs.reset(seed=1)
    generator = np.random.default_rng(1)
    for _ in range(steps):
        # A random legal action; any where the game is over.
        chances = generator.random((COUNT, 4)) * (infos["action_mask"] + 1e-9)
        actions = chances.argmax(axis=1)
        yield actions
        _, _, _, _, infos = envs.step(actions)


def ours(actions: list[Any], afterstates: bool) -> Callable[[], None]:
    import gymnasium

    envs = gymnasium.make_vec("afterstate/2048-v0", num_envs=COUNT, afterstates=afterstates)

    def run() -> None:
        envs.reset(seed=1)
        for action in actions:
            envs.step(action)

    return run


def theirs_single(actions: list[Any]) -> Callable[[], None]:
    env = gymnasium_2048()

    def run() -> None:
        env.reset(seed=1)
        for action in actions:
            for one in action[:2]:
                if env.step(int(one))[2]:
                    env.reset()

    return run


def theirs_jumanji(actions: list[Any]) -> Callable[[], None]:
    import jax
    from jumanji.environments import Game2048
    from jumanji.wrappers import AutoResetWrapper, VmapWrapper

    env = VmapWrapper(AutoResetWrapper(Game2048()))
    keys = jax.random.split(jax.random.PRNGKey(0), COUNT)
    reset = jax.jit(env.reset)
    given = jax.numpy.asarray(np.stack(actions), jax.numpy.int32)

    @jax.jit
    def scan(state: Any, given: Any) -> Any:
        return jax.lax.scan(lambda state, action: (env.step(state, action)[0], None), state, given)

    def run() -> None:
        jax.block_until_ready(scan(reset(keys)[0], given))

    return run


def theirs_pgx(actions: list[Any]) -> Callable[[], None]:
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make("2048")
    init, step = jax.jit(jax.vmap(env.init)), jax.vmap(auto_reset(env.step, env.init))
    keys = jax.random.split(jax.random.PRNGKey(0), COUNT)
    # Its four actions start at the left; ours are turned to them.
    turned = np.array([1, 2, 3, 0])
    given = jax.numpy.asarray(turned[np.stack(actions)], jax.numpy.int32)

    @jax.jit
    def scan(state: Any, given: Any) -> Any:
        def one(carry: Any, action: Any) -> Any:
            state, key = carry
            key, sub = jax.random.split(key)
            return (step(state, action, jax.random.split(sub, COUNT)), key), None

        return jax.lax.scan(one, (state, jax.random.PRNGKey(1)), given)

    def run() -> None:
        jax.block_until_ready(scan(init(keys), given))

    return run


def speed(steps: int, rounds: int) -> None:
    actions = list(legal_actions(steps))
    every = steps * COUNT
    rows: list[tuple[str, str, Callable[[list[Any]], Callable[[], None]], int]] = [
        ("afterstate", "", lambda a: ours(a, False), every),
        ("afterstate", "with afterstates", lambda a: ours(a, True), every),
        ("gymnasium-2048", "one environment", theirs_single, 2 * steps),
        ("jumanji", "", theirs_jumanji, every),
        ("pgx", "", theirs_pgx, every),
    ]
    measured: dict[str, list[float]] = {}
    runs = []
    for name, what, make, count in rows:
        version = afterstate.__version__ if name == "afterstate" else installed(name)
        if version is not None:
            run = make(actions)
            run()
            runs.append((f"{name} {version} {what}".strip(), run, count))
    for _ in range(rounds):
        for label, run, count in runs:
            begun = time.perf_counter()
            run()
            measured.setdefault(label, []).append(count / (time.perf_counter() - begun))
    document = {
        "python": platform.python_version(),
        "environments": COUNT,
        "steps": steps,
        "rounds": rounds,
        "steps_per_second": {
            label: {"median": float(np.median(each)), "min": min(each), "max": max(each)}
            for label, each in measured.items()
        },
    }
    print(json.dumps(document, indent=2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["judge", "speed"])
    parser.add_argument("--games", type=int, default=100, help="games of judge")
    parser.add_argument("--steps", type=int, default=500, help="steps of speed")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of speed")
    args = parser.parse_args()
    if args.what == "judge":
        judge(args.games)
    else:
        speed(args.steps, args.rounds)


if __name__ == "__main__":
    main()
