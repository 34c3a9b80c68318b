"""Every variable of F, G and I, in both layouts, compressed too, equals the converted file, read by netCDF4."""

import multiprocessing
import os
import unittest

import netCDF4
import numpy as np
import xarray as xr

import blobio
from support import Case, field, replayed, write


class Values(Case):
    def test_equal_the_converted_file(self):
        self.assertGreaterEqual(len(replayed()), 15)
        variables = 0
        for d in replayed():
            with self.subTest(os.path.basename(d["base"])), blobio.open(d["base"]) as ds, netCDF4.Dataset(d["canonical"]) as nc:
                nc.set_auto_maskandscale(False)
                nc.set_auto_chartostring(False)
                self.assertEqual(ds.layout, d["layout"])
                self.assertEqual(list(ds), list(nc.variables))
                self.assertEqual(dict(ds.dimensions), {k: len(v) for k, v in nc.dimensions.items()})
                self.same_attributes(ds.attrs, nc)
                for name, v in ds.items():
                    w = nc.variables[name]
                    a, b = np.asarray(v[...]), np.asarray(w[...])
                    self.assertEqual((v.dims, v.shape, v.dtype), (w.dimensions, w.shape, b.dtype), name)
                    self.assertEqual((a.dtype, a.shape, a.tobytes()), (b.dtype, b.shape, b.tobytes()), name)
                    self.same_attributes(v.attrs, w)
                    variables += 1
        print("%d variables of %d datasets are equal" % (variables, len(replayed())))

    def same_attributes(self, attrs, nc):
        self.assertEqual(list(attrs), nc.ncattrs())
        for key, value in attrs.items():
            want = nc.getncattr(key)
            self.assertEqual(np.asarray(value).dtype, np.asarray(want).dtype, key)
            np.testing.assert_array_equal(value, want, key)

    def test_xarray_equals_the_converted_file(self):
        for d in replayed():
            with self.subTest(os.path.basename(d["base"])), xr.open_dataset(d["base"], decode_times=False) as a, \
                    xr.open_dataset(d["canonical"], engine="netcdf4", decode_times=False) as b:
                xr.testing.assert_identical(a, b)
                self.assertEqual({n: a[n].dtype for n in a}, {n: b[n].dtype for n in b})

    def test_every_type(self):
        made = {}
        for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            info = np.iinfo(t)
            made[t] = (("x",), np.array([info.min, 0, 1, info.max], t), {"limits": np.array([info.min, info.max], t), "one": np.array([1], t)})
        made["f4"] = (("x",), np.array([0, -1.5, np.inf, np.nan], "f4"), {"nan": np.float32(np.nan)})
        made["f8"] = (("x",), np.array([0, -1.5, -np.inf, np.nan]), {"many": np.arange(5.0)})
        made["text"] = (("x",), np.frombuffer(b"ab\0d", "S1"), {"odd": b"caf\xe9", "utf": "caf\u00e9", "empty": ""})
        made["scalar"] = ((), np.float64(7), {})
        made["caf\u00e9"] = (("caf\u00e9",), np.arange(3.0), {"caf\u00e9": "text"})
        made["nothing"] = (("time", "x"), np.empty((0, 4)), {})
        for layout in "variable", "process":
            write(self.path(layout), made, {"title": "types", "caf\u00e9": "text"}, "layout=" + layout)
            with blobio.open(self.path(layout)) as ds:
                self.assertEqual(ds.attrs["title"], "types")
                for name, (dims, array, attrs) in made.items():
                    got = ds[name][...]
                    np.testing.assert_array_equal(got, array)
                    self.assertEqual((np.asarray(got).dtype, ds[name].shape, ds[name].dims), (array.dtype, array.shape, dims), name)
                self.assertEqual(ds["scalar"][()], 7)
                nfd = "cafe\u0301"  # as macOS types it
                for names in ds.attrs, ds.dimensions, ds.variables, ds[nfd].attrs, ds:
                    self.assertIn(nfd, names)
                    self.assertIs(names.get(nfd), names.get("caf\u00e9"))
                    self.assertIs(names[nfd], names["caf\u00e9"])
                    self.assertEqual((names.get("cafe"), names.get(5, 6), 5 in names), (None, 6, False))
                    with self.assertRaises(KeyError):
                        names["cafe"]
                self.assertIsInstance(ds["scalar"][()], np.float64)
                self.assertEqual(dict(ds["text"].attrs), {"odd": "caf\\xe9", "utf": "caf\u00e9", "empty": ""})
                self.assertEqual(ds["i8"].attrs["one"], 1)
                self.assertEqual(list(ds["u8"].attrs["limits"]), [0, 2**64 - 1])
                self.assertTrue(np.isnan(ds["f4"].attrs["nan"]))
                self.assertEqual(ds.unlimited, "time")

    def test_status(self):
        path = self.path("d.nc")

        def meanwhile():
            self.assertEqual(blobio.status(path), {"state": "writing", "records": 3})
            child = multiprocessing.get_context("fork").Pool(1)
            with child:
                self.assertEqual(child.apply(blobio.status, (path, True)), {"state": "writing", "records": 3})
            with xr.open_dataset(path) as ds:
                self.assertEqual(ds.sizes["time"], 3)
            with blobio.open(path) as ds:
                self.assertEqual(ds.wait_records(3).records, 3)
                self.assertEqual(ds.wait_records(4, timeout=0).records, 3)

        write(path, field(3), meanwhile=meanwhile)
        self.assertEqual(blobio.status(path), {"state": "finished", "records": 3})
        with blobio.open(path) as ds:
            self.assertEqual(ds.wait_records(4).records, 3)  # there will be no more
        with self.assertRaises(FileNotFoundError):
            blobio.status(self.path("none.nc"))

    def test_text_of_objects(self):
        write(self.path(), {"a": (("x",), np.arange(3.0), {})})
        with blobio.open(self.path()) as ds:
            self.assertIn("variable-centric, 1 ranks, 1 variables (x: 3)", repr(ds))
            self.assertIn("float64 a (x: 3)", repr(ds["a"]))
            np.testing.assert_array_equal(np.asarray(ds["a"]), [0, 1, 2])
            self.assertEqual(np.asarray(ds["a"], "f4").dtype, "f4")
            with self.assertRaises(KeyError):
                ds["b"]


if __name__ == "__main__":
    unittest.main()
