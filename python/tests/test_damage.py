"""One wrong byte: reads that touch it fail, with file and offset, and no others."""

import glob
import os
import pickle
import shutil
import subprocess
import sys
import unittest

import dask
import numpy as np
import xarray as xr

import blobio
from support import Case, field, find, flip, replayed, write

LAYOUTS = "variable", "process"


class Damage(Case):
    def made(self, layout, **kw):
        self.fields = field(**kw)
        base = self.path("F_%s.nc" % layout)
        write(base, self.fields, options="layout=" + layout)
        return base, base + ".0000"

    def test_exactly_there(self):
        for layout in LAYOUTS:
            with self.subTest(layout):
                base, file = self.made(layout)
                at = find(file, self.fields["T"][1][1, 2, 7])
                flip(file, at)
                with blobio.open(base) as ds:
                    for name, (_, array, _) in self.fields.items():
                        for r in range(len(array)):
                            if (name, r) != ("T", 1):
                                np.testing.assert_array_equal(ds[name][r], array[r], "%s[%d]" % (name, r))
                    for key in 1, Ellipsis, slice(0, 3), (1, 2, slice(5, 9)), (1, [0, 3], [1, 200]):  # a part of the summed bytes suffices
                        self.wrong(lambda: ds["T"][key], file, at)
                    np.testing.assert_array_equal(ds["T"][2, 2, 5:9], self.fields["T"][1][2, 2, 5:9])
                with blobio.open(base, verify="whole") as ds:
                    self.wrong(lambda: ds["T"][1], file, at)
                    np.testing.assert_array_equal(ds["T"][1, 1], self.fields["T"][1][1, 1])
                with blobio.open(base, verify="never") as ds:
                    got = ds["T"][...]
                    self.assertEqual((got != self.fields["T"][1]).nonzero(), ([1], [2], [7]))

    def wrong(self, read, file, at):
        with self.assertRaises(blobio.ChecksumError) as e:
            read()
        e = e.exception
        self.assertEqual(e.file, file)
        self.assertLessEqual(e.offset, at)
        self.assertLess(at - e.offset, 4 * 300 * 8)  # within the summed bytes: the record
        self.assertIn(file, str(e))
        self.assertIn("%s: %#x: " % (file, e.offset), str(e))
        self.assertIsInstance(e, blobio.DamageError)
        self.assertIsInstance(e, OSError)
        e = getattr(e, "exception", e)  # without tblib dask wraps another process's error
        again = pickle.loads(pickle.dumps(e))
        self.assertEqual((type(again), str(again), again.file, again.offset, again.code), (type(e), str(e), e.file, e.offset, e.code))

    def test_dask_with_and_without_tblib(self):
        script = """
import pickle, sys
if sys.argv[2] == "without":
    sys.modules["tblib"] = None
import dask, xarray, blobio
try:
    with dask.config.set(scheduler="processes", num_workers=2, **{"multiprocessing.context": "fork"}):
        xarray.open_dataset(sys.argv[1], chunks={})["T"].mean().compute()
except blobio.ChecksumError as e:
    again = pickle.loads(pickle.dumps(e))
    assert type(again) is blobio.ChecksumError and again.offset == e.offset and again.code == e.code, again
    assert again.file in str(e) and again.file in str(again), str(e)
    print(again.file)
"""
        base, file = self.made(LAYOUTS[0])
        flip(file, find(file, self.fields["T"][1][1, 0, 0]))
        for tblib in "with", "without":
            got = subprocess.run([sys.executable, "-c", script, base, tblib], stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(got.stdout.strip(), file, tblib)

    def test_by_every_way_of_access(self):
        for layout in LAYOUTS:
            base, file = self.made(layout)
            at = find(file, self.fields["T"][1][1, 0, 0])
            flip(file, at)
            with blobio.open(base) as inherited, xr.open_dataset(base) as ds, xr.open_dataset(base, chunks={}) as lazy:
                def child():
                    self.wrong(lambda: inherited["T"][1], file, at)
                    self.wrong(lambda: blobio.open(base)["T"][1], file, at)
                    return inherited["T"][2]
                np.testing.assert_array_equal(self.in_child(child), self.fields["T"][1][2])
                self.wrong(lambda: ds["T"].values, file, at)
                self.wrong(lambda: ds["T"].isel(time=1).values, file, at)
                np.testing.assert_array_equal(ds["T"].isel(time=[0, 2]).values, self.fields["T"][1][[0, 2]])
                np.testing.assert_array_equal(ds["PS"].values, self.fields["PS"][1])
                for scheduler in "threads", "processes":
                    with dask.config.set(scheduler=scheduler, num_workers=2, **{"multiprocessing.context": "fork"}):
                        self.wrong(lambda: lazy["T"].mean().compute(), file, at)
                        np.testing.assert_array_equal(lazy["T"][::2].compute().values, self.fields["T"][1][::2])

    def test_cut_short_and_missing(self):
        for layout in LAYOUTS:
            base, file = self.made(layout, records=2)
            size = os.path.getsize(file)
            os.truncate(file, size - 100)
            with self.assertRaises(blobio.DamageError) as e:
                with blobio.open(base) as ds:
                    for v in ds.values():
                        v[...]
            self.assertIn(file, str(e.exception))
            os.remove(file)
            with self.assertRaises(blobio.MissingError) as e:
                blobio.open(base)["T"][...]
            self.assertIn(base, str(e.exception))

    def test_damage_beside(self):
        """One of several pieces of 1 MiB is damaged: elements of the other pieces can be read, also on both sides of it."""
        for layout in LAYOUTS:
            base, file = self.made(layout, records=2, lev=40, ncol=8000)
            T = self.fields["T"][1]
            flip(file, find(file, T[1, 20, 7]))  # of level 16 to 32
            with blobio.open(base) as ds:
                for key in (1, [0, 1, 2, 38, 39]), (1, slice(0, 40, 39)), (slice(None), [3, 37], [5, 7000]), (1, slice(0, 14)), (1, [2, 35], slice(0, 8000, 3)):
                    want = T[key] if not isinstance(key[-1], list) or len(key) < 3 else T[:, [3, 37]][:, :, [5, 7000]]
                    np.testing.assert_array_equal(ds["T"][key], want, "%s" % (key,))
                for key in (1, [0, 20]), (1, slice(0, 40, 20), slice(0, 8000, 3)), (slice(None), [3, 20], [5, 7]):
                    with self.assertRaises(blobio.ChecksumError):
                        ds["T"][key]

    def test_some_subfiles_are_missing(self):
        d = next(d for d in replayed() if os.path.exists(d["base"] + ".0001") and d["layout"] == "variable-centric"
                 and os.path.basename(d["base"]).startswith("G"))
        for f in glob.glob(d["base"] + ".*"):
            shutil.copy(f, self.dir)
        base = self.path(os.path.basename(d["base"]))
        os.remove(base + ".0001")
        with blobio.open(d["base"]) as whole, blobio.open(base, allow_missing=True) as part:
            name = max(whole, key=lambda n: whole[n].nbytes)
            a, b = whole[name][...], part[name][...]
            gone = b == b[~np.isclose(a, b)][0]  # one fill value
            self.assertTrue(0.1 < gone.mean() < 0.9, gone.mean())
            np.testing.assert_array_equal(a[~gone], b[~gone])
        with blobio.open(base) as part:  # present elements can be read, also between missing ones
            got = part[name]
            axis = next(i for i in range(gone.ndim) if (gone.any(i) & ~gone.all(i)).any())
            at = np.argwhere(gone.any(axis) & ~gone.all(axis))[0].tolist()
            row = gone[tuple(at[:axis] + [slice(None)] + at[axis:])]
            here = np.flatnonzero(~row)
            self.assertLess(len(here), here[-1] - here[0] + 1)
            key = tuple(at[:axis] + [here] + at[axis:])
            np.testing.assert_array_equal(got[key], a[key])
            for wrong in int(np.flatnonzero(row)[0]), slice(None), [int(here[0]), int(np.flatnonzero(row)[-1])]:
                with self.assertRaisesRegex(blobio.MissingError, base + ".0001"):
                    got[tuple(at[:axis] + [wrong] + at[axis:])]

    def test_no_dataset(self):
        with self.assertRaises(FileNotFoundError) as e:
            blobio.open(self.path("nothing.nc"))
        self.assertIsInstance(e.exception, blobio.NotFoundError)
        self.assertIn("nothing.nc", str(e.exception))
        with open(self.path("text.nc"), "w") as f:
            f.write("no dataset at all, but some text")
        with self.assertRaises(blobio.FormatError):
            blobio.open(self.path("text.nc"))
        for name in "", "a\0b":
            with self.assertRaises(ValueError):
                blobio.open(name)
        base, _ = self.made("variable")
        for bad in {"verify": "sometimes"}, {"memory": 17}, {"workers": -1}:
            with self.assertRaises(blobio.UsageError):
                blobio.open(base, **bad)
        shutil.copy(base + ".manifest", self.path("odd.manifest"))
        with open(base + ".manifest", "r+b") as f:
            f.seek(30)
            f.write(b"#")
        blobio.open(base).close()  # there is a copy
        with open(base + ".manifest", "r+b") as f:
            f.seek(os.path.getsize(base + ".manifest") * 3 // 4)
            f.write(b"#")
        with self.assertRaises(blobio.Error) as e:
            blobio.open(base)
        self.assertIn(".manifest", str(e.exception))

    def test_closed(self):
        base, _ = self.made("variable")
        with blobio.open(base) as ds:
            v = ds["T"]
            v[0]
        with self.assertRaisesRegex(blobio.ClosedError, "is closed"):
            v[0]


if __name__ == "__main__":
    unittest.main()
