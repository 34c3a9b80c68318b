"""Datasets and variables for numpy."""

import os
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from .errors import UsageError
from .header import Header, Names
from .library import TYPES
from .selection import Reading, axes
from .sources import Source, status_of

MOST_READ = 256 << 20  # bytes of one call for record variables; ctrl-C takes effect between calls

VERIFY = ("whole", "once", "always", "never")


def open(path, *, allow_missing=False, verify="once", memory=None, workers=None):
    """Opens a dataset for reading.

    path           base name, one of the subfiles, manifest, ordinary classic netCDF file, or a directory with one dataset
    allow_missing  elements of missing subfiles read as fill values, instead of being an error
    verify         the checksums that reads compare: "once" each piece that a read touches, the first time; "always" at every
                   read; "whole" only pieces that one read covers completely; "never" none
    memory         limit of buffers, in bytes (default 256 MiB)
    workers        threads of one read (default: cores)

    Raises subclasses of blobio.Error.
    """
    return Dataset(Source(absolute(path), options(allow_missing, verify, memory, workers)))


def status(path, wait=False):
    """The state of a dataset's writer and the number of committed records, as a dict of "state" and "records".

    state is "writing", "finished", "died", "unmarked" (another program wrote it), or "writing or died": the writer is on another machine
    and may have died. With wait the call waits for a certain state, at most twice the period of the writer's heartbeat.

    An open Dataset does not see later commits; wait_records returns one that does.
    """
    path = absolute(path)
    if "\0" in path:
        raise UsageError("%r: the file name contains NUL" % path)
    return status_of(path, wait)


def absolute(path):
    path = os.fspath(path)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not path:
        raise UsageError("the name of the dataset is empty")
    return os.path.abspath(os.path.expanduser(path))


def options(allow_missing=False, verify="once", memory=None, workers=None):
    """Arguments as an option string of libblobio."""
    if verify not in VERIFY:
        raise UsageError("verify=%r, want one of %s" % (verify, ", ".join(VERIFY)))
    words = ["verify=" + verify, "allow_missing=yes" if allow_missing else "missing_later=yes"]
    for name, n in ("memory", memory), ("workers", workers):
        if n is not None:
            words.append("%s=%d" % (name, n))
    return ",".join(words)


class Dataset(Mapping):
    """An open dataset, a mapping of names to variables; made by blobio.open. Any number of threads may use it.

    It can be pickled, and used in a forked child. The other process reopens it, with ReplacedError if it has changed meanwhile.
    """

    def __init__(self, source):
        self._source = source
        h = Header(source.call("header"))
        about = source.open().about
        self.layout = about["layout"]  # "variable-centric", "process-centric" or "canonical"
        self.subfiles, self.ranks, self.records = about["subfiles"], about["ranks"], about["records"]
        self.unlimited = next((name for name, n in h.dims if n == 0), None)  # name of the record dimension
        lengths = [self.records if n == 0 else n for _, n in h.dims]
        self.dimensions = MappingProxyType(Names((name, n) for (name, _), n in zip(h.dims, lengths)))
        self.attrs = h.attrs.decode()
        self.variables = MappingProxyType(Names(
            (v.name, Variable(source, i, v.name, v.kind, tuple(h.dims[d][0] for d in v.dims), tuple(lengths[d] for d in v.dims),
                              bool(v.dims) and h.dims[v.dims[0]][1] == 0, v.attrs))
            for i, v in enumerate(h.variables)))

    @property
    def path(self):
        return self._source.path

    @property
    def state(self):
        """32 hexadecimal digits that identify the committed state of the dataset."""
        return self._source.state

    def wait_records(self, n, timeout=None):
        """Waits until n records are committed, the writer has finished, or the seconds are over.

        Returns the dataset in its new state, with fewer than n records only if there will be no more or the time is over. This Dataset
        does not change. If the writer has died, raises WriterDiedError within twice its heartbeat; committed data stay readable.
        """
        return Dataset(self._source.waited(n, -1.0 if timeout is None else max(0.0, timeout)))

    def release(self):
        """Closes the files; the next read opens them again."""
        self._source.release()

    def close(self):
        """Closes the dataset. Later reads of it and its variables raise ClosedError."""
        self._source.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __getitem__(self, name):
        return self.variables[name]

    def __iter__(self):
        return iter(self.variables)

    def __len__(self):
        return len(self.variables)

    def __reduce__(self):
        return Dataset, (self._source,)

    def __repr__(self):
        dims = ", ".join("%s: %d" % d for d in self.dimensions.items())
        return "<blobio.Dataset %s, %s, %d ranks, %d variables (%s)>" % (self.path, self.layout, self.ranks, len(self), dims)


class Variable:
    """A variable of a dataset. Indexing reads, in canonical order: v[0, :, ::2], v[-1], v[..., [3, 1, 7]].

    Each list or array of integers or booleans indexes one dimension, as with netCDF4; an integer drops its dimension.
    Elements that no rank wrote are fill values. np.asarray(v) reads the whole variable.
    """

    def __init__(self, source, varid, name, kind, dims, shape, record, attrs=None):
        self._source, self._varid, self._kind, self._attrs = source, varid, kind, attrs
        self.name, self.dims, self.shape = name, dims, shape
        self.record = record  # the first dimension is the unlimited one
        self.dtype = np.dtype(TYPES[kind])

    @property
    def path(self):
        """Path of the dataset."""
        return self._source.path

    @property
    def attrs(self):
        if self._attrs is None:  # it was pickled
            self._attrs = Header(self._source.call("header")).variables[self._varid].attrs
        return self._attrs.decode()

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        n = 1
        for m in self.shape:
            n *= m
        return n

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("%s has no dimensions" % self.name)
        return self.shape[0]

    def __getitem__(self, key):
        found = Reading(axes(key, self.shape, self.name), self.shape, self.record, self.dtype, self._read_box, self._read_runs).array()
        return found[()] if found.ndim == 0 else found

    def __array__(self, dtype=None, copy=None):
        a = np.asarray(self[...])
        return a if dtype is None else a.astype(dtype, copy=False)

    def _read_box(self, start, count, out):
        step = count[0] if count else 1
        if count and out.nbytes > MOST_READ:
            step = max(1, MOST_READ * count[0] // out.nbytes) if self.record else step
        for at in range(0, count[0] if count else 1, step):
            part = out[at:at + step] if count else out
            first = [start[0] + at] + start[1:] if count else []
            self._source.call("read", self._varid, self._kind, first, list(part.shape), part.ctypes.data, part.size)

    def _read_runs(self, record, offsets, lengths, out):
        self._source.call("read_runs", self._varid, self._kind, record, len(offsets), offsets.ctypes.data, lengths.ctypes.data,
                          out.ctypes.data, out.size)

    def __reduce__(self):  # pickle only this variable's attributes
        return Variable, (self._source, self._varid, self.name, self._kind, self.dims, self.shape, self.record)

    def __repr__(self):
        dims = ", ".join("%s: %d" % d for d in zip(self.dims, self.shape))
        return "<blobio.Variable %s %s (%s) of %s>" % (self.dtype, self.name, dims, self._source.path)
