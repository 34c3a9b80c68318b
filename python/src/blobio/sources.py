"""Open datasets of this process, and their identity for other processes.

A Source identifies a dataset by path, options and state. Pickles and forked children have the Source; an open dataset
belongs to one process.
"""

import os
import threading
import weakref
from collections import OrderedDict

from . import library
from .errors import FORKED, ClosedError, Error, GoneError, ReplacedError
from .remote import Remote

# Limits of reopened datasets that stay open for the next task with a pickled variable.
MOST_KEPT = 16  # datasets
MOST_FILES = 256  # subfiles of them


class _Process:
    """The state of one process: its access to libblobio, and its open datasets. A forked child starts a new one."""

    def __init__(self, loaded):
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.loaded = loaded  # libblobio is in the memory of this process, perhaps from before a fork
        self.forked = loaded
        self.via = None
        # By path, options and state: all open datasets, and the kept ones, most recently used last.
        self.open = weakref.WeakValueDictionary()
        self.kept = OrderedDict()

    def reader(self):
        """Library, or Remote in a child of a process that had loaded libblobio."""
        with self.lock:
            if self.via is None:
                if self.forked:
                    self.via = Remote()
                else:
                    self.loaded = True  # also after a failure, which may leave it partly loaded
                    self.via = library.load()
            return self.via

    def was_forked(self):
        """libblobio has detected a fork, though the process id is the same."""
        with self.lock:
            if isinstance(self.via, Remote):
                return False
            self.forked, self.via = True, None
            self.drop()
            return True

    def drop(self):
        """Forgets the open datasets; the next use reopens them."""
        self.open.clear()
        self.kept.clear()

    def lost(self, via):
        """Called when the helper process is gone: the next call starts another one."""
        with self.lock:
            if self.via is via:
                via.forget()
                self.via = None
                self.drop()

    def keep(self, key, handle):
        with self.lock:
            self.kept[key] = handle
            self.kept.move_to_end(key)
            files = sum(h.files for h in self.kept.values())
            while len(self.kept) > 1 and (len(self.kept) > MOST_KEPT or files > MOST_FILES):
                files -= self.kept.popitem(last=False)[1].files


_process = _Process(loaded=False)


def _here():
    """The _Process of this process. The process id shows every kind of fork."""
    global _process
    if _process.pid != os.getpid():
        _after_fork()
    return _process


def _after_fork():
    global _process
    before = _process
    _process = _Process(loaded=before.loaded)
    if isinstance(before.via, Remote):
        before.via.forget()


os.register_at_fork(after_in_child=_after_fork)


class Handle:
    """An open dataset of one process, closed with its last reference."""

    def __init__(self, path, options):
        process = _here()
        self.via = process.reader()
        self.pid = process.pid
        try:
            self.number, self.about = self.via.open(path, options)
        except Error as e:
            if e.code != FORKED or not process.was_forked():
                raise
            self.via = process.reader()
            self.number, self.about = self.via.open(path, options)
        weakref.finalize(self, _close, self.via, self.number, self.pid).atexit = False  # the end of the process closes everything

    @property
    def files(self):
        return min(self.about["subfiles"], MOST_FILES)

    def usable(self):
        process = _here()
        return self.pid == process.pid and self.via is process.via


def _close(via, number, pid):
    if pid == os.getpid():
        try:
            via.close(number)
        except Error:
            pass  # harmless, since reading only


def status_of(path, wait):
    """Library.status, with the reader of this process."""
    process = _here()
    try:
        return process.reader().status(path, wait)
    except Error as e:
        if e.code != FORKED or not process.was_forked():
            raise
        return process.reader().status(path, wait)


class Source:
    """A dataset in the state of its first opening, readable in any process."""

    def __init__(self, path, options, state=None):
        self.path, self.options, self.state = path, options, state
        self._handle, self._closed = None, False

    def __getstate__(self):
        return self.path, self.options, self.state

    def __setstate__(self, state):
        self.__init__(*state)

    def _key(self):
        return self.path, self.options, self.state

    def open(self):
        """The open dataset of this process. ReplacedError if the dataset has changed since the first opening."""
        h = self._handle
        if h is not None and h.usable():
            return h
        process = _here()
        with process.lock:
            if self._closed:
                raise ClosedError("%s: the dataset is closed" % self.path)
            h = self._handle
            if h is not None and h.usable():
                return h
            again = self.state is not None
            h = process.open.get(self._key()) if again else None
            if h is None or not h.usable():
                h = Handle(self.path, self.options)
                if not again:
                    self.state = h.about["state"]
                elif h.about["state"] != self.state:
                    raise ReplacedError("%s: the dataset was replaced or appended to (state %s, now %s); open the dataset again"
                                        % (self.path, self.state[:8], h.about["state"][:8]), file=self.path)
                process.open[self._key()] = h
            if again:
                process.keep(self._key(), h)
            self._handle = h
            return h

    def call(self, name, *arguments):
        """Calls a function of the library with the number of the open dataset."""
        while True:
            h = self.open()
            try:
                return getattr(h.via, name)(h.number, *arguments)
            except GoneError:
                _here().lost(h.via)
                raise
            except Error as e:
                if e.code != FORKED or not _here().was_forked():
                    raise

    def waited(self, n, seconds):
        """Waits for n records, see Library.wait_records, and returns the dataset in its new state. ctrl-C ends the wait."""
        h, ended = Handle(self.path, self.options), []  # a separate opening, since a shared one keeps its state
        done = threading.Event()

        def wait():
            try:
                h.via.wait_records(h.number, n, seconds)
            except Exception as e:
                ended.append(e)
            done.set()

        threading.Thread(target=wait, daemon=True).start()
        done.wait()
        if ended:
            raise ended[0]
        return Source(self.path, self.options)

    def release(self):
        """Closes the files; the next read opens them again."""
        process = _here()
        with process.lock:
            process.kept.pop(self._key(), None)
            self._handle = None  # current readers, and other Sources of the dataset, keep it open

    def close(self):
        """Closes the dataset for good."""
        self._closed = True
        self.release()
