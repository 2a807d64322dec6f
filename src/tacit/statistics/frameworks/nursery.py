"""A process that knows one function and nothing else, and has a child run it once for each block it is given.

Run as a program by `isolated`, never imported; the standard library alone, so that it starts quickly. It reads from its
standard input and writes to its standard output, in frames: eight bytes of length, then content.

    in:   the caller's import path, the file of its main module, how many numbers to expect, seconds; then the function
    out:  b"ready", or b"unknown" where the function cannot be loaded here
    then for each block, in: the pickled block; out: that many doubles, or nothing at all

Every block has a fresh child, forked from this process, which has never called the function: whatever a call leaves
behind in memory ends with its child. A child has no standard streams, cannot write to any file, is the head of a
session of its own, and is killed with all of that session when it has answered or its time is over.
"""

import os
import pickle
import resource
import runpy
import select
import signal
import struct
import sys
import time
import types
import warnings
from typing import Any, BinaryIO


def read_frame(stream: BinaryIO) -> bytes:
    """The next frame; an end of the stream ends this process."""
    head = stream.read(8)
    if len(head) < 8:
        os._exit(0)
    return stream.read(int.from_bytes(head, "little"))


def write_frame(stream: BinaryIO, content: bytes) -> None:
    """A frame, at once."""
    stream.write(len(content).to_bytes(8, "little") + content)
    stream.flush()


def load(path: list[str], main: str | None, pickled: bytes) -> Any:
    """The function, found as it is in the caller's process."""
    sys.path[:] = path
    if main is not None:
        module = types.ModuleType("__mp_main__")  # the name by which a script knows that it is not the program itself
        module.__dict__.update(runpy.run_path(main, run_name="__mp_main__"))
        sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    return pickle.loads(pickled)  # noqa: S301  from the caller, whose function it is


def answer(function: Any, block: bytes, expected: int) -> bytes:
    """The function's numbers, in the child."""
    import numpy

    warnings.simplefilter("ignore")
    with numpy.errstate(all="ignore"):
        found = numpy.asarray(function(pickle.loads(block)), dtype=numpy.float64).ravel()  # noqa: S301
    return struct.pack(f"{expected}d", *found) if found.size == expected else b""


def child(function: Any, block: bytes, expected: int, seconds: float, write_end: int) -> None:
    """Run the function, say its numbers, and end, whatever happens on the way."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        kept = os.dup2(write_end, 3) if write_end != 3 else 3
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.closerange(4, 1 << 12)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds + 1)  # in case no parent is left to end it
        os.write(kept, answer(function, block, expected))
    finally:
        os._exit(0)


def run(function: Any, block: bytes, expected: int, seconds: float) -> bytes:
    """One block's numbers, or nothing: from a child that lives no longer than its time."""
    read_end, write_end = os.pipe()
    process = os.fork()
    if process == 0:
        child(function, block, expected, seconds, write_end)
    os.close(write_end)
    found, deadline = b"", time.monotonic() + seconds
    while len(found) < 8 * expected:
        ready, _, _ = select.select([read_end], [], [], max(deadline - time.monotonic(), 0.0))
        part = os.read(read_end, 8 * expected - len(found)) if ready else b""
        if not part:
            break
        found += part
    os.close(read_end)
    for end in (os.killpg, os.kill):  # the session, and the child in case it has not made one yet
        try:
            end(process, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    os.waitpid(process, 0)
    return found if len(found) == 8 * expected else b""


def main() -> None:
    """Serve one caller until it goes away."""
    inward, outward = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # nothing that an import prints may come between frames
        os.dup2(null, stream)
    path, script, expected, seconds = pickle.loads(read_frame(inward))  # noqa: S301
    pickled = read_frame(inward)
    try:
        function = load(path, script, pickled)
    except BaseException:  # noqa: BLE001  whatever the import did, the function cannot be loaded here
        write_frame(outward, b"unknown")
        return
    write_frame(outward, b"ready")
    while True:
        write_frame(outward, run(function, read_frame(inward), expected, seconds))


if __name__ == "__main__":
    main()
