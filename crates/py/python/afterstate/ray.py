"""Many machines: evaluations, comparisons, sweeps and seeds on a Ray cluster.

It needs ``pip install ".[ray]"`` on every machine, and is not imported by ``import afterstate``::

    import ray
    import afterstate.ray

    ray.init()                          # this machine, or the cluster that `ray start` has made
    afterstate.ray.evaluate("runs/quick", games=100_000, search="3ply", progress=True)

Work is cut by the numbers of games (``part="2/8"``, see :func:`afterstate.merge`), and game n of a
seed is the same game everywhere. So results are those of one machine, bit for bit, for any number of
machines, in any order, and whatever fails meanwhile; only times differ.

A model is sent to each machine once: it is put into the object store by its SHA-256 digest, and the
first task on a machine writes it to a file that the others open. No more tasks are submitted than
twice as many as can run, so a task that has to be repeated, because its machine is gone, is one of
few.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from . import _afterstate, commands
from .commands import Json, _loaded, _overrides, _pair
from .errors import InputError, ResourceError, counted, threads_of
from .functions import ValueFunction
from .games import board_text
from .models import (
    RUNS,
    Model,
    PathLike,
    Player,
    Run,
    Solution,
    options_of_each,
    player,
    search_options,
)
from .progress import Bar, Event, Progress

try:
    import ray
    import ray.exceptions
except ImportError as error:
    raise ImportError(
        'afterstate.ray needs Ray; install it with `pip install ".[ray]"`'
    ) from error

__all__ = ["compare", "evaluate", "sweep", "train", "trainable"]

#: Parts of an evaluation for each processor: so that a slow one does not hold up all others.
_PARTS = 4
#: Tasks that are submitted for each one that can run.
_TASKS_PER_SLOT = 2
#: How long to wait for a task before looking at the size of the cluster again, in seconds.
_POLL = 1.0
#: How long a model stays on a machine after its last task, in seconds: a week.
_KEPT = 7 * 24 * 3600.0
#: The most seeds of a training, as in a sweep.
_MOST_SEEDS = 1000


@dataclass(frozen=True)
class _Shipped:
    """A player as it is sent to other machines."""

    #: What :class:`Model` takes, if nothing is sent: a baseline, or a network in the program.
    name: str | None
    game: str
    board: str
    #: The digest of its file, and the file.
    sha256: str | None = None
    file: str | None = None
    #: The content of the file, or the function.
    content: Any = None


#: What was put into the object store of this connection, by digest.
_stored: dict[str, Any] = {}


def _connect() -> None:
    """Connects to the cluster there is, or to a new one on this machine."""
    if not ray.is_initialized():
        ray.init()
    # Jobs of two clusters may have the same number; their machines have not.
    context = ray.get_runtime_context()
    connection = (context.get_node_id(), context.get_job_id())
    if _stored.get("connection") != connection:
        _stored.clear()
        _stored["connection"] = connection


def _put(path: PathLike) -> tuple[str, Any]:
    """The digest of a file, and its content in the object store."""
    content = np.fromfile(path, dtype=np.uint8)
    sha256 = hashlib.sha256(content.data).hexdigest()
    if sha256 not in _stored:
        _stored[sha256] = ray.put(content)
    return sha256, _stored[sha256]


def _ship(model: Any, opened: _afterstate.Player) -> _Shipped:
    """What other machines open a player with."""
    if callable(model) and not isinstance(model, Model):
        model = ValueFunction(model, game=opened.game, board=opened.board)
    if isinstance(model, ValueFunction):
        return _Shipped(None, opened.game, opened.board, content=ray.put(model))
    if opened.path is not None and not Path(opened.path).is_file():
        # A network in the program.
        return _Shipped(opened.path, opened.game, opened.board)
    if opened.path is not None:
        sha256, content = _put(opened.path)
        return _Shipped(
            None, opened.game, opened.board, sha256, Path(opened.path).name, content
        )
    if isinstance(model, Solution) and model._solution.path is not None:
        path = Path(os.fspath(model._solution.path))
        sha256, content = _put(path)
        return _Shipped(None, opened.game, opened.board, sha256, path.name, content)
    if opened.search in ("random", "greedy"):
        return _Shipped(opened.search, opened.game, opened.board)
    raise InputError(
        "a model in memory cannot be sent to other machines; train or solve it with `out=`, or"
        " open what its `save` has written"
    )


def _cache() -> Path:
    """The folder of files on this machine, which belongs to this user."""
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"afterstate-{owner}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if folder.is_symlink() or (hasattr(os, "getuid") and about.st_uid != os.getuid()):
        raise ResourceError(f"{folder} belongs to another user; remove it, or set TMPDIR")
    return folder


def _remove_old(cache: Path) -> None:
    """Removes the files that no task has opened for some time."""
    for folder in cache.iterdir():
        try:
            if time.time() - folder.stat().st_mtime > _KEPT:
                shutil.rmtree(folder)
        except OSError:
            # Another process removes it as well, or has it open: it is no error to leave it.
            continue


def _file(shipped: _Shipped) -> Path:
    """The file of a player on this machine, written by the first task that needs it."""
    assert shipped.sha256 is not None and shipped.file is not None
    folder = _cache() / shipped.sha256
    path = folder / shipped.file
    try:
        # Another process may remove what is old at this moment: then it is written again.
        os.utime(folder)
        is_there = path.exists()
    except FileNotFoundError:
        is_there = False
    if not is_there:
        _remove_old(_cache())
        content: NDArray[np.uint8] = ray.get(shipped.content)
        folder.mkdir(mode=0o700, exist_ok=True)
        number, unfinished = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content.data)
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
    return path


@lru_cache(maxsize=2)
def _opened(path: Path | str) -> Model:
    return Model(path)


def _player(shipped: _Shipped) -> Player:
    """The player of a task."""
    if shipped.name in ("random", "greedy"):
        return Model(shipped.name, game=shipped.game, board=shipped.board)
    if shipped.name is not None:
        return _opened(shipped.name)
    if shipped.sha256 is not None:
        return _opened(_file(shipped))
    made: ValueFunction = ray.get(shipped.content)
    return made


def _play(command: str, shipped: Sequence[_Shipped], options: dict[str, Any]) -> Json:
    """A part of an evaluation or a comparison, on another machine."""
    found: Json = getattr(commands, command)(*(_player(one) for one in shipped), **options)
    return found


def _processors() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _check_processors(needed: int) -> None:
    """Refuses a task that no machine of the cluster has processors for: Ray would wait for one."""
    machines = [node for node in ray.nodes() if node["Alive"]]
    largest = max((int(node["Resources"].get("CPU", 0)) for node in machines), default=0)
    # A cluster without processors waits for machines that join later.
    if 0 < largest < needed:
        raise InputError(
            f"a task needs {needed} processors (`threads`), and the largest machine of the cluster"
            f" has {largest}; use fewer threads"
        )


class _Report:
    """Events of work on many machines, with the keys of those of one."""

    def __init__(
        self, progress: Progress, task: str, subject: str, total: int, unit: str
    ) -> None:
        self._listener: Callable[[Event], object] | None
        self._listener = Bar() if progress is True else progress or None
        self._about = {"task": task, "unit": unit}
        self._total = total
        self._done = 0
        self._emit({"event": "started", "subject": subject, "done": 0, "total": total})

    def _emit(self, event: Event) -> None:
        if self._listener is not None:
            self._listener({**event, **self._about})

    def done(self, more: int) -> None:
        """Adds to what is done."""
        self._done += more
        share = self._done / max(1, self._total)
        self._emit(
            {"event": "progress", "share": share, "done": self._done, "total": self._total}
        )

    def repeated(self, task: str, error: str) -> None:
        """A task is lost, and repeated."""
        self._emit({"event": "repeated", "part": task, "error": error})

    def finished(self) -> None:
        """All is done."""
        self._emit({"event": "finished", "status": "finished", "done": self._done})


@dataclass
class _Task:
    """Work for one machine."""

    label: str
    arguments: tuple[Any, ...]
    #: What it counts for in the progress.
    weight: int
    cpus: int = 1
    failures: int = 0


def _all(
    work: Callable[..., Any],
    tasks: Iterable[_Task],
    report: _Report,
    retries: int,
    keep: Callable[[int, Any], None],
) -> None:
    """Does all tasks, in any order; ``keep`` gets the number and the result of each.

    A task whose machine or process is lost is repeated; what it raises is raised here.
    """
    remote = ray.remote(work)
    waiting = deque(enumerate(tasks))
    _check_processors(max((task.cpus for _, task in waiting), default=1))
    running: dict[Any, tuple[int, _Task]] = {}
    try:
        while waiting or running:
            most = _TASKS_PER_SLOT * _processors()
            while waiting and sum(task.cpus for _, task in running.values()) < most:
                number, task = waiting.popleft()
                settings = remote.options(num_cpus=task.cpus, max_retries=0)
                running[settings.remote(*task.arguments)] = (number, task)
            done, _ = ray.wait(list(running), num_returns=1, timeout=_POLL)
            for reference in done:
                number, task = running.pop(reference)
                try:
                    result = ray.get(reference)
                except ray.exceptions.RayError as error:
                    # What the work raised, unless that is again a loss: of the model, say.
                    cause = getattr(error, "cause", None)
                    if isinstance(cause, Exception) and not _is_loss(cause):
                        raise cause from error
                    task.failures += 1
                    reason = str(cause or error).strip().split("\n")[0]
                    if task.failures > retries:
                        raise ResourceError(
                            f"{task.label} was lost {task.failures} times; at last: {reason}"
                        ) from error
                    report.repeated(task.label, reason)
                    waiting.appendleft((number, task))
                    continue
                keep(number, result)
                report.done(task.weight)
    finally:
        for reference in running:
            ray.cancel(reference)
    report.finished()


def _is_loss(error: Exception) -> bool:
    return isinstance(error, ray.exceptions.RayError)


def _shares(games: int, parts: int) -> list[int]:
    """The games of each part."""
    return [games * (k + 1) // parts - games * k // parts for k in range(parts)]


def _games(
    command: str,
    models: Sequence[Any],
    players: Sequence[_afterstate.Player],
    options: dict[str, Any],
    parts: int | None,
    retries: int,
    progress: Progress,
) -> Json:
    """Plays the games of an evaluation or a comparison in parts."""
    retries = counted("retries", retries)
    games, threads = options["games"], options["threads"]
    _connect()
    shipped = [_ship(model, opened) for model, opened in zip(models, players)]
    if parts is None:
        parts = min(games, _PARTS * max(1, _processors() // threads))
    of = counted("parts", parts, 1)
    labels = " and ".join(opened.label for opened in players)
    report = _Report(progress, command, labels, len(players) * games, "games")
    tasks = [
        _Task(
            f"part {k}/{of}",
            (command, shipped, {**options, "part": f"{k}/{of}"}),
            len(players) * share,
            threads,
        )
        for k, share in enumerate(_shares(games, of), 1)
    ]
    found: dict[int, Json] = {}
    _all(_play, tasks, report, retries, found.__setitem__)
    result = commands.merge([found[number] for number in range(of)])
    for part, opened in zip((result,) if command == "evaluate" else (result["a"], result["b"]), players):
        if part.get("model"):
            part["model"]["path"] = opened.path
        if "player" in part:
            part["player"] = opened.label
    return result


def evaluate(
    model: Player | None = None,
    *,
    game: str | None = None,
    board: str | tuple[int, int] | None = None,
    games: int = 1000,
    seed: int = 1,
    threads: int = 1,
    search: str = "1ply",
    hash: int | None = None,
    cutoff: float | None = None,
    downgrade: int | None = None,
    parts: int | None = None,
    retries: int = 3,
    progress: Progress = False,
) -> Json:
    """:func:`afterstate.evaluate` on all machines of the cluster.

    A task is one of ``parts`` (default: four for each processor), and plays on ``threads`` threads
    of its machine, which share one copy of the model. A task is repeated up to ``retries`` times if
    its machine or process is lost. ``moves_per_second`` is that of one task.
    """
    opened = player(model, game, board)
    # Wrong options of a search are an error of this call, not of a task.
    opened.with_search(search, *search_options(hash, cutoff, downgrade))
    options = {
        "games": counted("games", games, 1),
        "seed": counted("seed", seed),
        "threads": threads_of(threads, 1),
        "search": search,
        "hash": hash,
        "cutoff": cutoff,
        "downgrade": downgrade,
    }
    return _games("evaluate", [model], [opened], options, parts, retries, progress)


def compare(
    a: Player,
    b: Player,
    *,
    games: int = 1000,
    seed: int = 1,
    threads: int = 1,
    search: str = "1ply",
    search_b: str | None = None,
    hash: int | None = None,
    cutoff: float | None = None,
    downgrade: int | None = None,
    parts: int | None = None,
    retries: int = 3,
    progress: Progress = False,
) -> Json:
    """:func:`afterstate.compare` on all machines of the cluster; see :func:`evaluate`."""
    players = _pair(a, b)
    limits = (search, search if search_b is None else search_b)
    given = options_of_each(limits, hash, cutoff, downgrade)
    for opened, limit, own in zip(players, limits, given):
        opened.with_search(limit, *own, 0)
    options = {
        "games": counted("games", games, 1),
        "seed": counted("seed", seed),
        "threads": threads_of(threads, 1),
        "search": search,
        "search_b": search_b,
        "hash": hash,
        "cutoff": cutoff,
        "downgrade": downgrade,
    }
    return _games("compare", [a, b], players, options, parts, retries, progress)


#: The files of a run by their names, as arrays, which are not copied on their way.
_Files = list[tuple[str, NDArray[np.uint8]]]


def _train(run: Json, games: int) -> _Files:
    """Trains a run of a sweep on another machine, and returns its files."""
    with tempfile.TemporaryDirectory(prefix="afterstate-") as name:
        folder = Path(name)
        (folder / "recipe.toml").write_text(run["recipe"], encoding="utf-8")
        sweep = (
            f'name = "part"\nrecipe = "./recipe.toml"\nset = ["threads={run["threads"]}"]\n'
            f"seeds = [{run['seed']}]\ngames = {games}\n"
            f"[[variant]]\nname = {_text(run['variant'])}\n"
        )
        (folder / "sweep.toml").write_text(sweep, encoding="utf-8")
        # A part has no summary.
        _afterstate.sweep(folder / "sweep.toml", folder / "out", "1/2", 1, None)
        trained = folder / "out" / run["folder"]
        files = [
            path for path in sorted(trained.rglob("*")) if path.is_file() and path.name[0] != "."
        ]
        return [
            (path.relative_to(trained).as_posix(), np.fromfile(path, dtype=np.uint8))
            for path in files
        ]


def _text(text: str) -> str:
    """A text in TOML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _write(folder: Path, files: _Files) -> None:
    """Writes a run; its folder appears when it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=folder.parent) as name:
        whole = Path(name) / "run"
        for path, content in files:
            place = whole / path
            place.parent.mkdir(parents=True, exist_ok=True)
            content.tofile(place)
        if folder.exists():
            # A run that was stopped: it is trained again from its start.
            folder.rename(Path(name) / "stopped")
        whole.rename(folder)


def _runs(plan: Json, subject: str, retries: int, progress: Progress) -> None:
    """Trains the runs of a sweep that are missing."""
    retries = counted("retries", retries)
    out = Path(plan["folder"])
    missing = [run for run in plan["runs"] if not run["done"]]
    report = _Report(progress, "sweep", subject, len(plan["runs"]), "runs")
    report.done(len(plan["runs"]) - len(missing))
    if not missing:
        report.finished()
        return
    _connect()
    tasks = [
        _Task(run["label"], (run, plan["games"]), 1, max(1, run["threads"]))
        for run in missing
    ]
    _all(
        _train,
        tasks,
        report,
        retries,
        lambda number, files: _write(out / missing[number]["folder"], files),
    )


def sweep(
    file: PathLike,
    *,
    out: PathLike | None = None,
    retries: int = 3,
    progress: Progress = False,
) -> Json:
    """:func:`afterstate.sweep` on all machines of the cluster.

    Each run is a task; its folder is copied to this machine when it is finished, so ``out`` need
    not be shared. What is there already is not trained again.
    """
    plan = _loaded(_afterstate.sweep_runs(file, out))
    _runs(plan, plan["name"], retries, progress)
    return commands.sweep(file, out=plan["folder"])


def train(
    recipe: str = "quick",
    *,
    seeds: Sequence[int],
    out: PathLike | None = None,
    set: Mapping[str, object] | Iterable[str] | None = None,
    game: str | None = None,
    board: str | tuple[int, int] | None = None,
    episodes: int | None = None,
    threads: int = 1,
    retries: int = 3,
    progress: Progress = False,
) -> list[Run]:
    """Trains one recipe with many seeds, each as a task, and returns the runs in the order of the
    seeds.

    The run of seed 7 goes into ``NAME/seed-7`` of the folder ``out`` (default: ``runs/NAME-seeds``),
    and is that of ``afterstate.train(recipe, seed=7, threads=1)``, byte for byte. With more ``threads``,
    it differs from time to time.
    """
    given = {
        "game": game,
        "board": None if board is None else board_text(board),
        "episodes": episodes,
        "threads": threads_of(threads, 1),
    }
    words = _overrides(set, given)
    name = str(_loaded(_afterstate.recipe(recipe, words))["name"])
    place = Path(RUNS) / f"{name}-seeds" if out is None else Path(out)
    listed = _listed(seeds)
    with tempfile.TemporaryDirectory(prefix="afterstate-") as folder:
        file = Path(folder) / "seeds.toml"
        path = str(Path(recipe).absolute()) if Path(recipe).exists() else recipe
        text = (
            f"name = {_text(name)}\nrecipe = {_text(path)}\nseeds = {listed}\ngames = 0\n"
            f"set = [{', '.join(_text(word) for word in words)}]\n"
            f"[[variant]]\nname = {_text(name)}\n"
        )
        file.write_text(text, encoding="utf-8")
        plan = _loaded(_afterstate.sweep_runs(file, place))
    _runs(plan, f"{name}, {len(listed)} seeds", retries, progress)
    return [Run(place / run["folder"]) for run in plan["runs"]]


def _listed(seeds: Iterable[int]) -> list[int]:
    """The seeds, each once."""
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise InputError(f"`seeds` is {seeds!r}; expected a list of seeds, such as range(1, 11)")
    # One too many tells enough: there may be no end of them.
    listed = [counted("seeds", seed) for seed in islice(seeds, _MOST_SEEDS + 1)]
    if not listed:
        raise InputError(f"found no seeds; expected 1 to {_MOST_SEEDS}")
    if len(listed) > _MOST_SEEDS:
        raise InputError(f"found more than {_MOST_SEEDS} seeds; expected 1 to {_MOST_SEEDS}")
    for number, seed in enumerate(listed):
        if seed in listed[:number]:
            raise InputError(f"`seeds` has {seed} twice; expected different seeds")
    return listed


#: A trainable of Ray Tune.
Trainable = Callable[[dict[str, Any]], Union[None, dict[str, Any]]]


def trainable(
    recipe: str = "quick",
    *,
    games: int = 1000,
    set: Mapping[str, object] | Iterable[str] | None = None,
    report: Callable[[dict[str, Any]], object] | None = None,
) -> Trainable:
    """A recipe as a trainable of Ray Tune, whose parameters are keys of the recipe::

        from ray import tune

        space = {"learning_rate": tune.loguniform(0.01, 1.0), "seed": tune.grid_search([1, 2, 3])}
        tuner = tune.Tuner(afterstate.ray.trainable("quick", games=1000), param_space=space)
        best = tuner.fit().get_best_result("score", "max")

    Each block of training games reports ``games`` and ``mean``; the end reports ``score``, the mean
    of ``games`` games that were not trained on, with ``score_low`` and ``score_high``, its 95%
    interval. Choose no winner by single runs: give each setting several seeds.
    """
    games = counted("games", games, 1)
    words = _overrides(set, {})

    def run(config: dict[str, Any]) -> None:
        send = report
        if send is None:
            from ray import tune

            send = tune.report

        def block(event: Event) -> None:
            if event["event"] == "block":
                send({"games": event["games"], "mean": event["mean"]})

        keys = {"threads": 1, **config}
        run = commands.train(
            recipe, set=[*words, *_overrides(keys, {})], out=None, progress=block
        )
        seed = int(config.get("seed", 1)) + 1_000_000
        found = commands.evaluate(run.model, games=games, seed=seed, threads=1)
        low, high = found["mean_ci95"] or (None, None)
        send(
            {
                "games": run.games,
                "mean": found["mean"],
                "score": found["mean"],
                "score_low": low,
                "score_high": high,
            }
        )

    return run
