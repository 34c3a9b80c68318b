"""Indices select as in numpy along each dimension, and read no more than necessary."""

import unittest
from unittest import mock

import numpy as np

import blobio
from blobio import selection
from blobio.selection import Reading, axes
from support import Case, field, write


class Fake:
    """An array in memory with the interface of a variable, which counts reads."""

    def __init__(self, array, record):
        self.array, self.record, self.read, self.calls = array, record, 0, 0
        self.largest = 0
        self.records = set()  # elements read

    def count(self, out):
        self.read, self.calls, self.largest = self.read + out.size, self.calls + 1, max(self.largest, out.size)

    def box(self, start, count, out):
        self.count(out)
        self.records |= set(range(start[0], start[0] + count[0])) if self.record else set()
        out[...] = self.array[tuple(slice(s, s + c) for s, c in zip(start, count))]

    def runs(self, record, offsets, lengths, out):
        self.count(out)
        self.records |= {record} if self.record else set()
        flat = (self.array[record] if self.record else self.array).reshape(-1)
        parts = [flat[o:o + n] for o, n in zip(offsets, lengths)]
        assert 1 <= len(parts) <= selection.MOST_RUNS, len(parts)
        out[...] = np.concatenate(parts)

    def __getitem__(self, key):
        a = self.array
        return Reading(axes(key, a.shape, "v"), a.shape, self.record, a.dtype, self.box, self.runs).array()


def outer(array, key):
    """numpy's selection, one dimension after the other."""
    for d in reversed(range(array.ndim)):
        array = array[(slice(None),) * d + (key[d],)]
    return array


def any_key(rng, n):
    kind = rng.integers(8)
    if kind == 0 and n:
        return int(rng.integers(-n, n))
    if kind == 1:
        return slice(None)
    a, b = (None if rng.random() < 0.2 else int(x) for x in rng.integers(-n - 2, n + 3, 2))
    step = int(rng.integers(1, 2 + n))
    if kind < 4:
        return slice(a, b, step)
    if kind < 6:
        return slice(a, b, -step)
    if kind == 6:
        return rng.integers(-n, n, rng.integers(0, 6)) if n else np.empty(0, int)
    return rng.random(n) < 0.3


class Selection(Case):
    def test_as_numpy(self):
        rng = np.random.default_rng(20261123)
        for round in range(4000):
            shape = tuple(int(n) for n in rng.integers(0 if round % 5 == 0 else 1, 13, rng.integers(0, 5)))
            array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
            v = Fake(array, bool(shape) and rng.random() < 0.5)
            key = tuple(any_key(rng, n) for n in shape)
            limits = {"SMALL": [0, 8, 1 << 15], "MOST_RUNS": [1, 5, 1 << 20], "DENSE": [2, 64], "MOST_BOX": [1, 100, 64 << 20]}
            with mock.patch.multiple(selection, **{name: int(rng.choice(values)) for name, values in limits.items()}):
                got = v[key]
            want = outer(array, key)
            self.assertEqual(got.shape, want.shape, (shape, key))
            np.testing.assert_array_equal(got, want, str((shape, key)))
            if v.record and want.size:
                self.assertEqual(v.records, set(np.arange(shape[0])[key[0]].reshape(-1).tolist()), (shape, key))
            if want.size:
                self.assertLessEqual(v.largest, max(1 << 15, selection.DENSE * want.size), (shape, key))

    def test_ellipsis_and_short_keys(self):
        v = Fake(np.arange(60).reshape(3, 4, 5), True)
        for key in 1, (1, 2), Ellipsis, (Ellipsis, 2), (1, Ellipsis), (1, Ellipsis, 2), (), np.int64(2), np.array(1), [0, 2], [True, False, True]:
            with self.subTest(key=key):
                np.testing.assert_array_equal(v[key], v.array[key])

    def test_refused(self):
        v = Fake(np.arange(60).reshape(3, 4, 5), True)
        for key in (3, -4, (0, 0, 0, 0), (0, 1.5), (0, "x"), [0, 3], [[0, 1], [1, 2]], [True, False], (Ellipsis, Ellipsis), None,
                    slice("a"), (0, slice(0, 1, 0))):
            with self.subTest(key=key), self.assertRaises((IndexError, ValueError)):
                v[key]
        self.assertEqual(v.calls, 0)

    def test_little_is_read_of_what_is_sparse(self):
        v = Fake(np.arange(4 * 50 * 20000).reshape(4, 50, 20000), True)
        self.assertEqual(int(v[::3, 7, ::1000].sum()), int(v.array[::3, 7, ::1000].sum()))
        self.assertLessEqual(v.read, 2 * 20000)  # a level of each of two records
        v.read = 0
        self.assertEqual(v[1, ::10, [0, 19999]].tolist(), v.array[1, ::10][:, [0, 19999]].tolist())
        self.assertEqual(v.read, 10)

    def test_large_boxes_are_read_by_parts(self):
        v = Fake(np.arange(2 * 40 * 1000).reshape(2, 40, 1000), False)
        with mock.patch.object(selection, "MOST_BOX", 8 * 5000), mock.patch.object(selection, "SMALL", 0):
            np.testing.assert_array_equal(v[:, :, ::10], v.array[:, :, ::10])
            self.assertLessEqual(v.largest, 5000)
            self.assertLessEqual(v.read, v.array.size)
            v.largest = 0
            np.testing.assert_array_equal(v[:, 1:], v.array[:, 1:])
            self.assertGreater(v.largest, 5000)  # all is selected: nothing is thrown away

    def test_of_a_dataset(self):
        made = field(records=4, lev=5, ncol=700)
        rng = np.random.default_rng(1)
        for layout in "variable", "process", "process,compress=zstd":
            write(self.path(layout[:4] + str(len(layout))), made, options="layout=" + layout)
            with blobio.open(self.path(layout[:4] + str(len(layout)))) as ds, mock.patch.object(selection, "SMALL", 16):
                for name in "T", "PS", "area", "time":
                    array = made[name][1]
                    for _ in range(150):
                        key = tuple(any_key(rng, n) for n in array.shape)
                        np.testing.assert_array_equal(ds[name][key], outer(array, key), str((layout, name, key)))
                with self.assertRaisesRegex(IndexError, "T, dimension 1: index 5, want -5 to 4"):
                    ds["T"][0, 5]

    def test_large_reads_go_by_records(self):
        made = field(records=7)
        write(self.path(), made)
        with blobio.open(self.path()) as ds:
            calls = []
            call = ds._source.call
            with mock.patch.object(ds._source, "call", lambda *a: calls.append(a) or call(*a)), mock.patch("blobio.dataset.MOST_READ", 2 * made["T"][1][0].nbytes):
                np.testing.assert_array_equal(ds["T"][...], made["T"][1])
                np.testing.assert_array_equal(ds["T"][1:6, 1:], made["T"][1][1:6, 1:])
            self.assertGreaterEqual(len(calls), 6)


if __name__ == "__main__":
    unittest.main()
