"""Selections: an index is read as one box or, if it selects little of the box, as runs of elements.

Indices are as in numpy, but each array indexes one dimension, as in netCDF4 and xarray's outer indexing.
"""

import numpy as np

from .errors import DamageError

DENSE = 64  # a box is read as a whole if at least one in this many elements is selected: then runs cost more, as measured
MOST_BOX = 64 << 20  # bytes of the largest box that is read as a whole for some of its elements; larger boxes are read in parts
SMALL = 1 << 15  # elements of the largest box that is always read as a whole
MOST_RUNS = 1 << 20  # most runs of one call


class Axis:
    """The selection along one dimension: ascending distinct positions, and the arrangement of their values in the result."""

    __slots__ = ("positions", "arrange", "length")

    def __init__(self, positions, arrange, length):
        self.positions = positions  # range or array of int64
        self.arrange = arrange  # None, or a numpy index
        self.length = length  # length in the result, None for a dropped dimension

    @property
    def low(self):
        return int(self.positions[0])

    @property
    def extent(self):
        """Length of the smallest box around the positions."""
        return int(self.positions[-1]) - self.low + 1 if len(self.positions) else 0

    def within(self):
        """The positions as an index into the box."""
        p = self.positions
        if len(p) == self.extent:
            return slice(None)
        return slice(0, None, p.step) if isinstance(p, range) else p - p[0]


def axes(key, shape, name):
    """One Axis for each dimension. IndexError if the index does not fit."""
    key = key if isinstance(key, tuple) else (key,)
    given = sum(k is not Ellipsis for k in key)
    if len(key) - given > 1:
        raise IndexError("%s: the index has several ellipses, want at most one" % name)
    if given > len(shape):
        raise IndexError("%s: %d indices, but only %d dimensions" % (name, given, len(shape)))
    if given == len(key):
        key += (Ellipsis,)
    at = next(i for i, k in enumerate(key) if k is Ellipsis)
    key = key[:at] + (slice(None),) * (len(shape) - given) + key[at + 1:]
    return [_axis(k, n, name, i) for i, (k, n) in enumerate(zip(key, shape))]


def _axis(k, n, name, dim):
    if isinstance(k, slice):
        try:
            r = range(*k.indices(n))
        except TypeError as e:
            raise IndexError("%s, dimension %d: %s" % (name, dim, e)) from e
        if r.step > 0:
            return Axis(r, None, len(r))
        return Axis(r[::-1], slice(None, None, -1), len(r))
    a = np.asarray(k)
    if a.dtype == bool and a.ndim == 1:
        if len(a) != n:
            raise IndexError("%s, dimension %d: %d booleans, want %d" % (name, dim, len(a), n))
        a = np.flatnonzero(a)
    if a.size == 0 and a.ndim == 1:
        return Axis(range(0), None, 0)
    if a.dtype.kind not in "iu" or a.ndim > 1:
        raise IndexError("%s, dimension %d: index has type %s with %d dimensions, want an integer, a slice, or a list of integers or booleans"
                         % (name, dim, a.dtype, a.ndim))
    bad = a[(a < -n) | (a >= n)] if a.ndim else a.reshape(1)[(a < -n) | (a >= n)]
    if bad.size:
        raise IndexError("%s, dimension %d: index %d, want %d to %d" % (name, dim, bad[0], -n, n - 1))
    a = np.where(a < 0, a + n, a).astype(np.int64)
    if a.ndim == 0:
        return Axis(range(int(a), int(a) + 1), None, None)
    unique, inverse = np.unique(a, return_inverse=True)
    return Axis(unique, None if np.array_equal(unique, a) else inverse.reshape(-1), len(a))


def _stretches(positions):
    """Ascending positions as ranges without gaps."""
    p = np.asarray(positions, np.int64)
    ends = np.flatnonzero(np.diff(p) != 1) + 1
    return [range(int(s[0]), int(s[-1]) + 1) for s in np.split(p, ends)]


class Reading:
    """Reads the selection of a variable by axes: read_box(start, count, out) and read_runs(record, offsets, lengths, out) fill arrays."""

    def __init__(self, axes, shape, record, dtype, read_box, read_runs):
        self.axes, self.shape, self.record, self.dtype = axes, shape, record, dtype
        self.read_box, self.read_runs = read_box, read_runs

    def array(self):
        """The selection as an array, or a scalar if no dimension remains."""
        found = self._positions()
        for dim, a in reversed(list(enumerate(self.axes))):
            if a.length is None:
                found = found.squeeze(dim)
            elif a.arrange is not None:
                found = found[(slice(None),) * dim + (a.arrange,)]
        return found if found.ndim == 0 or found.base is None else np.ascontiguousarray(found)

    def _positions(self):
        """Reads all positions of all axes, in order."""
        counts = [len(a.positions) for a in self.axes]
        if 0 in counts:
            return np.empty(counts, self.dtype)
        if not self.record:
            if self._is_dense(self.axes):
                return self._box(self.axes)
            out = np.empty(counts, self.dtype)
            self._sparse(0, self.axes, self.shape, out)
            return out
        stretches = _stretches(self.axes[0].positions)
        if len(stretches) == 1 and self._is_dense(self.axes):
            return self._box(self.axes)
        # Records lie apart in the files, so only the selected ones are read.
        out, at = np.empty(counts, self.dtype), 0
        for s in stretches:
            some = [Axis(s, None, None)] + self.axes[1:]
            if self._is_dense(some):
                self._box_into(some, out[at:at + len(s)])
            else:
                for i, r in enumerate(s, at):
                    one = [Axis(range(r, r + 1), None, None)] + self.axes[1:]
                    if self._is_dense(one):
                        self._box_into(one, out[i:i + 1])
                    else:
                        self._sparse(r, self.axes[1:], self.shape[1:], out[i])
            at += len(s)
        return out

    @staticmethod
    def _is_dense(axes):
        wanted, box = 1, 1
        for a in axes:
            wanted, box = wanted * len(a.positions), box * a.extent
        return box <= SMALL or wanted * DENSE >= box

    def _box(self, axes):
        """Reads the smallest box around the positions and selects them from it."""
        out = np.empty([len(a.positions) for a in axes], self.dtype)
        self._box_into(axes, out)
        return out

    def _box_into(self, axes, out):
        box = [a.extent for a in axes]
        if box == list(out.shape) and out.flags.c_contiguous:
            self.read_box([a.low for a in axes], box, out)
            return
        size = self.dtype.itemsize
        for n in box:
            size *= n
        if size > MOST_BOX and out.size > 1:
            d = next(d for d, a in enumerate(axes) if len(a.positions) > 1)
            half = len(axes[d].positions) // 2
            for part in slice(0, half), slice(half, None):
                self._box_into(axes[:d] + [Axis(axes[d].positions[part], None, None)] + axes[d + 1:], out[(slice(None),) * d + (part,)])
            return
        found = np.empty(box, self.dtype)
        try:
            self.read_box([a.low for a in axes], box, found)
        except DamageError:  # perhaps outside of the selection
            out[...] = self._only(axes, out.shape)
            return
        for dim, a in enumerate(axes):
            if len(a.positions) != a.extent:
                found = found[(slice(None),) * dim + (a.within(),)]
        out[...] = found

    def _only(self, axes, shape):
        """Reads only the positions."""
        out = np.empty(shape, self.dtype)
        if self.record:
            for i, r in enumerate(axes[0].positions):
                self._sparse(int(r), axes[1:], self.shape[1:], out[i:i + 1])
        else:
            self._sparse(0, axes, self.shape, out)
        return out

    def _sparse(self, record, axes, shape, out):
        """Reads the positions as runs into out, which is contiguous."""
        strides = [1] * len(shape)
        for d in reversed(range(len(shape) - 1)):
            strides[d] = strides[d + 1] * shape[d + 1]
        fast, length = len(axes), 1  # the dimensions from fast on form one run
        while fast > 0:
            a = axes[fast - 1]
            length *= len(a.positions)
            fast -= 1
            if len(a.positions) != shape[fast]:
                if len(a.positions) != a.extent:  # out is not contiguous
                    length //= len(a.positions)
                    fast += 1
                break
        first = sum(a.low * s for a, s in zip(axes[fast:], strides[fast:]))
        self._runs(record, axes[:fast], strides, first, length, out.reshape(-1))

    def _runs(self, record, slow, strides, first, length, out):
        runs = 1
        for a in slow:
            runs *= len(a.positions)
        if runs > MOST_RUNS and slow:  # in parts along the slowest dimension
            axis, inner = slow[0].positions, runs // len(slow[0].positions)
            step, each = max(1, MOST_RUNS // inner), inner * length  # positions of a part, elements of a position
            for i in range(0, len(axis), step):
                part = out[i * each:(i + step) * each]
                if step > 1:
                    self._runs(record, [Axis(axis[i:i + step], None, None)] + slow[1:], strides, first, length, part)
                else:
                    self._runs(record, slow[1:], strides[1:], first + int(axis[i]) * strides[0], length, part)
            return
        offsets = np.full(1, first, np.int64)
        for a, s in zip(slow, strides):
            offsets = (offsets[:, None] + np.asarray(a.positions, np.int64) * s).reshape(-1)
        self.read_runs(record, offsets, np.full(len(offsets), length, np.int64), out)
