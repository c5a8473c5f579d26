"""Environments of 2048 side by side: do they keep the rules, and how fast are they?

    python benchmarks/environments.py judge        afterstate.judge_env on each of them
    python benchmarks/environments.py speed        steps per second, in one run by one loop
    python benchmarks/environments.py values       boards per second of `Model.values`, on one thread

Needs `pip install . gymnasium gymnasium-2048 jumanji pgx`; what is not installed is left out. Peers
run by their fastest documented loop: jumanji and pgx as one jitted function of 1,024 environments
that are reset when they end. Actions are drawn beforehand, so that no policy is measured: each
environment plays its games once, with random actions of its own masks, and the clock runs while the
same games are played again by the same seed and the same actions. It is asserted that each action
is legal where it is drawn, and that the games that are measured end on the same boards.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import time
from collections.abc import Callable
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


#: What is measured: it plays the actions, and returns the last boards.
Run = Callable[[], np.ndarray[Any, Any]]


def drawn(masks: Any, generator: np.random.Generator) -> Any:
    """A random legal action of each row of masks."""
    chances = generator.random(masks.shape) * masks
    assert (chances.max(axis=-1) > 0).all(), "no action is legal"
    return chances.argmax(axis=-1)


def ours(steps: int, afterstates: bool) -> tuple[Run, int]:
    """A step of all environments is one call; a game that ends is followed by the next one."""
    import gymnasium

    options: dict[str, Any] = {"afterstates": afterstates, "autoreset_mode": "SameStep"}
    envs = gymnasium.make_vec("afterstate/2048-v0", num_envs=COUNT, **options)
    observations, infos = envs.reset(seed=1)
    generator = np.random.default_rng(1)
    actions = []
    for _ in range(steps):
        actions.append(drawn(infos["action_mask"], generator))
        observations, _, _, _, infos = envs.step(actions[-1])
        assert not infos["illegal"].any()
    expected = observations.copy()

    def run() -> np.ndarray[Any, Any]:
        observations, _ = envs.reset(seed=1)
        for action in actions:
            observations, _, _, _, _ = envs.step(action)
        return observations

    assert (run() == expected).all()
    return run, steps * COUNT


def theirs_single(steps: int) -> tuple[Run, int]:
    """gymnasium-2048 has no vector of its own: one environment, and twice the steps."""
    env = gymnasium_2048()
    generator = np.random.default_rng(1)
    env.reset(seed=1)
    actions = []
    for _ in range(2 * steps):
        # It knows which actions are legal, but does not announce them.
        legal = [(env.apply_action(env.board, one)[0] != env.board).any() for one in range(4)]
        actions.append(int(drawn(np.array(legal), generator)))
        if env.step(actions[-1])[2]:
            env.reset()
    expected = env.board.copy()

    def run() -> np.ndarray[Any, Any]:
        env.reset(seed=1)
        for action in actions:
            if env.step(action)[2]:
                env.reset()
        board: np.ndarray[Any, Any] = env.board
        return board

    assert (run() == expected).all()
    return run, 2 * steps


def replayed(
    step: Callable[[Any, Any, Any], tuple[Any, Any]],
    begin: Callable[[], tuple[Any, Any]],
    board: Callable[[Any], Any],
    steps: int,
) -> tuple[Run, int]:
    """A jitted loop: `begin` returns a state and its masks, `step` those after an action."""
    import jax
    import jax.numpy as jnp

    def draw(carry: Any, keys: Any) -> Any:
        state, mask = carry
        action = jax.random.categorical(keys[0], jnp.where(mask, 0.0, -jnp.inf))
        legal = jnp.take_along_axis(mask, action[:, None], axis=1).all()
        state, mask = step(state, action, keys[1])
        return (state, mask), (action, legal)

    def play(state: Any, drawn: Any) -> Any:
        action, key = drawn
        return step(state, action, key)[0], None

    keys = jax.random.split(jax.random.PRNGKey(1), 2 * steps).reshape(steps, 2, -1)
    (last, _), (actions, legal) = jax.jit(lambda begun: jax.lax.scan(draw, begun, keys))(begin())
    assert legal.all(), "an action that was drawn is illegal"
    expected = np.asarray(board(last))
    timed = jax.jit(lambda state, actions: jax.lax.scan(play, state, (actions, keys[:, 1]))[0])

    def run() -> np.ndarray[Any, Any]:
        return np.asarray(board(jax.block_until_ready(timed(begin()[0], actions))))

    assert (run() == expected).all()
    return run, steps * COUNT


def theirs_jumanji(steps: int) -> tuple[Run, int]:
    import jax
    from jumanji.environments import Game2048
    from jumanji.wrappers import AutoResetWrapper, VmapWrapper

    env = VmapWrapper(AutoResetWrapper(Game2048()))
    keys = jax.random.split(jax.random.PRNGKey(0), COUNT)
    reset = jax.jit(env.reset)

    def begin() -> tuple[Any, Any]:
        state, timestep = reset(keys)
        return state, timestep.observation.action_mask

    def step(state: Any, action: Any, _: Any) -> tuple[Any, Any]:
        # The random numbers of a game are in its state.
        state, timestep = env.step(state, action)
        return state, timestep.observation.action_mask

    return replayed(step, begin, lambda state: state.board, steps)


def theirs_pgx(steps: int) -> tuple[Run, int]:
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make("2048")
    init, stepped = jax.jit(jax.vmap(env.init)), jax.vmap(auto_reset(env.step, env.init))
    keys = jax.random.split(jax.random.PRNGKey(0), COUNT)

    def begin() -> tuple[Any, Any]:
        state = init(keys)
        return state, state.legal_action_mask

    def step(state: Any, action: Any, key: Any) -> tuple[Any, Any]:
        state = stepped(state, action, jax.random.split(key, COUNT))
        return state, state.legal_action_mask

    return replayed(step, begin, lambda state: state._board, steps)


def speed(steps: int, rounds: int) -> None:
    rows: list[tuple[str, str, Callable[[int], tuple[Run, int]]]] = [
        ("afterstate", "", lambda steps: ours(steps, False)),
        ("afterstate", "with afterstates", lambda steps: ours(steps, True)),
        ("gymnasium-2048", "one environment", theirs_single),
        ("jumanji", "", theirs_jumanji),
        ("pgx", "", theirs_pgx),
    ]
    measured: dict[str, list[float]] = {}
    runs = []
    for name, what, make in rows:
        version = afterstate.__version__ if name == "afterstate" else installed(name)
        if version is not None:
            run, count = make(steps)
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


def values(rounds: int) -> None:
    """The boards of real games, a million of them, by a run of `quick` and the network in the
    program."""
    run = afterstate.train("quick", episodes=2000, out=None)
    for model in (run.model, afterstate.Model()):
        boards = afterstate.positions(model, games=20).boards
        boards = np.resize(boards, (1_000_000, 4, 4))
        speeds = []
        for _ in range(rounds):
            begun = time.perf_counter()
            model.values(boards)
            speeds.append(len(boards) / (time.perf_counter() - begun))
        low, high = min(speeds), max(speeds)
        print(f"{model}: median {np.median(speeds):,.0f} boards/s ({low:,.0f} to {high:,.0f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["judge", "speed", "values"])
    parser.add_argument("--games", type=int, default=100, help="games of judge")
    parser.add_argument("--steps", type=int, default=500, help="steps of speed")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of speed and values")
    args = parser.parse_args()
    if args.what == "judge":
        judge(args.games)
    elif args.what == "values":
        values(args.rounds)
    else:
        speed(args.steps, args.rounds)


if __name__ == "__main__":
    main()
