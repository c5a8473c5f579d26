"""Events of long work: a callback of yours, or a bar.

Every function that takes a while has the argument ``progress``: ``True`` draws a bar on standard
error, in a terminal or in a notebook; a function is called with each event, a dictionary with the
keys of ``afterstate train --json``. An exception that it raises cancels the work.

>>> import afterstate
>>> seen = []
>>> result = afterstate.evaluate("random", games=50, progress=seen.append)
>>> seen[0]["event"], seen[-1]["event"], seen[-1]["status"]
('started', 'finished', 'finished')
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

__all__ = ["Bar", "Event", "Progress"]

#: An event, with the key ``event``.
Event = dict[str, Any]
#: What the argument ``progress`` may be.
Progress = bool | Callable[[Event], object]

_WIDTH = 30


class Bar:
    """Draws the progress of one piece of work as a line that is drawn over.

    >>> import io
    >>> text = io.StringIO()
    >>> bar = Bar(text)
    >>> bar({"event": "progress", "task": "evaluate", "share": 0.5, "done": 50, "unit": "games"})
    >>> bar({"event": "finished", "task": "evaluate", "done": 100, "unit": "games"})
    >>> print(text.getvalue().split("\\r")[-1].strip())
    evaluate [##############################] 100%  100 games
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._length = 0
        self._drawn = 0.0

    def __call__(self, event: Event) -> None:
        """Draws an event."""
        kind = event.get("event")
        if kind == "progress":
            # A notebook keeps every line that is drawn over.
            if time.monotonic() - self._drawn < 0.1:
                return
            self._draw(event, float(event.get("share", 0.0)))
        elif kind == "finished":
            self._draw(event, 1.0 if event.get("status", "finished") == "finished" else None)
            self._write("\n")
        elif kind == "failed":
            self._write("\n")

    def _draw(self, event: Event, share: float | None) -> None:
        done = "#" * round(_WIDTH * (share or 0.0))
        text = f"{event.get('task', '')} [{done:.<{_WIDTH}}] "
        text += "stopped" if share is None else f"{share:4.0%}"
        text += f"  {event.get('done', 0):,} {event.get('unit', '')}"
        if event.get("mean") is not None:
            text += f"  mean {event['mean']:,.0f}"
        if event.get("moves_per_second"):
            text += f"  {event['moves_per_second']:,.0f} moves/s"
        self._write("\r" + text.ljust(self._length))
        self._length = len(text)
        self._drawn = time.monotonic()

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def listener(progress: Progress) -> Callable[[str], object] | None:
    """The listener for an argument ``progress``."""
    if progress is False:
        return None
    call = Bar() if progress is True else progress
    return lambda text: call(json.loads(text))
