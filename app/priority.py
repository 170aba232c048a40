"""How far a child process gives way to the window, and to the children that people wait for.

It does so from its first instruction on: to start costs half a second of processor time, which the others would lose.
"""

import os
import sys
import threading

ENGINE = 5
TEXT_WORKER = 10
"""Below the engine, so that a template that works for seconds costs its steps a quarter of one core at most; not lower, for
at 19 a short message waited a quarter of a second while the engine was busy on all cores."""
CHECK = 19
"""Of a file, which nobody waits for while chats are answered."""
_LOWEST = 19


def lower_starter(steps: int) -> None:
    """Lower the calling thread, for the processes that it starts begin there; on Linux, where a thread has a priority of
    its own.  It cannot be raised again."""
    if sys.platform == "linux":
        own = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, own, _below(os.getpid(), steps))


def lower(steps: int) -> None:
    """Lower this process, if whoever started it has not done so, to so many steps below its parent."""
    if sys.platform == "win32":
        import psutil

        lowest = steps >= CHECK
        kind = psutil.IDLE_PRIORITY_CLASS if lowest else psutil.BELOW_NORMAL_PRIORITY_CLASS
        psutil.Process().nice(kind)
        return
    present = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, max(present, _below(os.getppid(), steps)))


def _below(process: int, steps: int) -> int:
    return min(_LOWEST, os.getpriority(os.PRIO_PROCESS, process) + steps)
