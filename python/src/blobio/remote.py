"""Reading in a child of fork: the calls of library.Library, in a helper process.

A forked child has only one thread, but the runtime of libblobio needs its parent's threads, so the library refuses to
work there. The child starts a fresh process instead, which reads into shared memory.
"""

import os
import subprocess
import sys
import threading
import weakref

from . import memory
from .errors import GoneError, LibraryError, of_code
from .library import SIZES


class _Connection:
    """A socket that is closed when its last user, usually a thread, is gone."""

    def __init__(self, sock):
        self.sock = sock

    def __del__(self):
        self.sock.close()


class Remote:
    """The same calls as library.Library. Each thread has its own connection, so that threads read in parallel."""

    def __init__(self):
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections = weakref.WeakSet()
        mine, its = memory.pair()
        self._control = _Connection(mine)
        with its:
            python = os.environ.get("BLOBIO_PYTHON") or sys.executable
            program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "helper.py")
            try:
                if not python:
                    raise OSError("sys.executable is empty: set BLOBIO_PYTHON to a Python")
                process = subprocess.Popen([python, "-I", "-S", program, str(its.fileno())], pass_fds=[its.fileno()],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            except OSError as e:
                raise LibraryError("cannot start the helper process for reads after fork: %s" % e) from e
        process.returncode = 0  # no wait: it ends with its connections
        self._answer(mine)

    def forget(self):
        """Abandons the connections: the helper is gone, or they belong to the parent of this forked child."""
        for c in [self._control, *self._connections]:
            c.sock.close()

    def _answer(self, sock):
        try:
            answer, _ = memory.receive(sock)
        except OSError as e:
            raise GoneError("the helper process has ended: %s" % e) from e
        if answer is None:
            raise GoneError("the helper process has ended")
        if "error" in answer:
            if answer.get("code") is None:
                raise LibraryError(answer["error"])
            raise of_code(answer["code"], answer["error"], answer["file"], answer["offset"])
        return answer

    def _connection(self):
        c = getattr(self._local, "connection", None)
        if c is None:
            mine, its = memory.pair()
            c = _Connection(mine)
            with its, self._lock:
                self._exchange(self._control.sock, {"op": "connect"}, its.fileno())
                self._connections.add(c)
            self._local.connection = c
        return c.sock

    def _exchange(self, sock, request, fd=None):
        try:
            memory.send(sock, request, fd)
        except OSError as e:
            raise GoneError("the helper process has ended: %s" % e) from e
        return self._answer(sock)

    def _ask(self, fd=None, **request):
        return self._exchange(self._connection(), request, fd)

    def open(self, path, options):
        a = self._ask(op="open", path=os.fspath(path), options=options)
        return a["h"], a["about"]

    def close(self, h):
        self._ask(op="close", h=h)

    def status(self, path, wait):
        return self._ask(op="status", path=path, wait=wait)["status"]

    def wait_records(self, h, n, seconds):
        self._ask(op="wait_records", h=h, n=n, seconds=seconds)

    def header(self, h):
        fd = memory.file(0)
        try:
            size = self._ask(fd, op="header", h=h)["size"]
            return os.pread(fd, size, 0)
        finally:
            os.close(fd)

    def read(self, h, varid, kind, start, count, address, n):
        size = n * SIZES[kind]
        with memory.Shared(size) as m:
            self._ask(m.fd, op="read", h=h, varid=varid, kind=kind, start=list(start), count=list(count), n=n, size=m.size)
            m.copy_to(address, size)

    def read_runs(self, h, varid, kind, record, runs, offsets, lengths, address, n):
        size, table = n * SIZES[kind], 8 * runs
        at = (size + 7) // 8 * 8  # bytes of the offsets; the lengths follow
        with memory.Shared(at + 2 * table) as m:
            m.copy_from(offsets, table, at)
            m.copy_from(lengths, table, at + table)
            self._ask(m.fd, op="runs", h=h, varid=varid, kind=kind, record=record, runs=runs, offsets=at, lengths=at + table, n=n, size=m.size)
            m.copy_to(address, size)
