"""The engine is found without its name, lazy, decoded by CF, and has sensible chunks."""

import glob
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
from unittest import mock

import netCDF4
import numpy as np
import xarray as xr
from xarray.backends.plugins import guess_engine, list_engines

import blobio
from blobio import recognise, xarray_names
from blobio.xarray_engine import preferred_chunks
from support import Case, field, replayed, write


class Recognition(Case):
    def test_without_naming_the_engine(self):
        made = field()
        for layout in "variable", "process":
            base = self.path(layout + ".nc")
            write(base, made, options="layout=" + layout)
            for name in base, base + ".0000", base + ".manifest", pathlib.Path(base), os.path.relpath(base):
                with self.subTest(name=name), xr.open_dataset(name) as ds:
                    np.testing.assert_array_equal(ds["T"], made["T"][1])
            with xr.open_dataset(base, chunks="auto") as ds:
                np.testing.assert_array_equal(ds["T"], made["T"][1])
        os.mkdir(self.path("alone"))
        write(self.path("alone/x"), made)
        with xr.open_dataset(self.path("alone")) as ds:
            np.testing.assert_array_equal(ds["T"], made["T"][1])
        shutil.copy(self.path("alone/x.0000"), self.path("alone/x+1.0000"))  # the name of an added set
        self.assertTrue(recognise.is_dataset(self.path("alone")))
        self.assertFalse(recognise.is_dataset(self.path("alone/x+1")))
        os.remove(self.path("alone/x+1.0000"))
        shutil.copy(self.path("alone/x.0000"), self.path("renamed.nc"))  # a subfile without its number
        with xr.open_dataset(self.path("renamed.nc")) as ds:
            np.testing.assert_array_equal(ds["T"], made["T"][1])

    def test_without_a_manifest(self):
        for layout in "variable", "process":
            base = self.path(layout + ".nc")
            write(base, field(), options="layout=" + layout)
            os.remove(base + ".manifest")
            for name in base, base + ".0000":
                with self.subTest(name=name), xr.open_dataset(name, chunks={}) as ds:
                    np.testing.assert_array_equal(ds["T"], field()["T"][1])

    def test_a_file_stands_in(self):
        base = self.path()
        write(base, field())
        for make in (lambda: os.symlink(os.path.basename(base) + ".manifest", base), lambda: shutil.copy(base + ".manifest", base)):
            make()  # PIO makes the link, and cp a copy of it
            with xr.open_dataset(base) as ds:
                np.testing.assert_array_equal(ds["T"], field()["T"][1])
            self.assertEqual(recognise.expand(glob.glob, base + "*"), [base])
            os.remove(base)
        write(self.path("lone"), field())
        os.rename(self.path("lone.manifest"), self.path("lone"))
        self.assertFalse(recognise.is_dataset(self.path("lone")))

    def test_what_real_programs_wrote(self):
        for d in replayed():
            for name in d["base"], d["base"] + ".0000":
                self.assertEqual(guess_engine(name), "blobio", name)
            self.assertEqual(guess_engine(d["canonical"]), "netcdf4", d["canonical"])

    def test_others_are_left_to_others(self):
        xr.Dataset({"a": ("x", [1.0, 2.0])}).to_netcdf(self.path("classic.nc"), engine="scipy")
        xr.Dataset({"a": ("x", [1.0, 2.0])}).to_netcdf(self.path("four.nc"), engine="netcdf4")
        write(self.path("b.nc"), field())
        os.makedirs(self.path("sub/empty"))
        shutil.copy(self.path("classic.nc"), self.path("classic.nc.0000"))
        for name in ("classic.nc", "four.nc", "classic.nc.0000", "nothing.nc", "b.nc.0001", "b", "sub", "sub/empty", "nothing/x.nc", ""):
            self.assertFalse(recognise.is_dataset(self.path(name) if name else ""), name)
        with open(os.devnull, "rb") as file:
            for odd in "https://example.org/F.nc", b"", 3, None, file, b"CDF\x01", "a\0b":
                self.assertFalse(recognise.is_dataset(odd), odd)
        with xr.open_dataset(self.path("classic.nc")) as ds, xr.open_dataset(self.path("four.nc"), chunks={}) as ds4:
            self.assertEqual((ds["a"].values.tolist(), ds4["a"].values.tolist()), ([1, 2], [1, 2]))
        with self.assertRaises(FileNotFoundError):
            xr.open_dataset(self.path("nothing.nc"))
        write(self.path("c.nc"), field())
        self.assertFalse(recognise.is_dataset(self.dir))  # two of them: which?
        self.assertEqual(list(list_engines())[:2], ["blobio", "netcdf4"])

    def test_chunks_of_another_dataset_have_other_names(self):
        write(self.path(), field())
        with xr.open_dataset(self.path(), chunks={}) as ds:
            one = ds["T"].data.name
        with xr.open_dataset(self.path(), chunks={}) as ds:
            self.assertEqual(ds["T"].data.name, one)
        write(self.path(), field(seed=2), options="force=yes")
        with xr.open_dataset(self.path(), chunks={}) as ds:
            self.assertNotEqual(ds["T"].data.name, one)

    def test_an_xarray_without_those_functions(self):
        module = mock.Mock(spec=[])
        xarray_names._wrap(module, "sort_backends", None)
        self.assertFalse(hasattr(module, "sort_backends"))


class Engine(Case):
    def setUp(self):
        super().setUp()
        self.fields = field()
        self.fields["packed"] = (("time", "ncol"), np.arange(900, dtype="i2").reshape(3, 300),
                                 {"scale_factor": np.float64(0.5), "add_offset": np.float64(-10), "_FillValue": np.int16(7), "units": "m"})
        self.fields["date_written"] = (("time", "chars"), np.array([list(s) for s in ("11/23/26", "11/24/26", "11/25   ")], "S1"), {})
        self.fields["time_bnds"] = (("time", "nbnd"), np.arange(6.0).reshape(3, 2), {})
        write(self.path(), self.fields, {"title": "a title", "n": np.int32(3)})

    def test_decoded(self):
        with xr.open_dataset(self.path()) as ds:
            self.assertEqual(str(ds["time"].values[2]), "2001-01-03 00:00:00")
            want = np.arange(900.0).reshape(3, 300) * 0.5 - 10
            want[0, 7] = np.nan
            np.testing.assert_array_equal(ds["packed"], want)
            self.assertEqual(ds["date_written"].values.tolist(), [b"11/23/26", b"11/24/26", b"11/25   "])
            self.assertEqual(ds.attrs, {"title": "a title", "n": 3})
            self.assertEqual(ds["packed"].attrs, {"units": "m"})
            self.assertEqual((ds.encoding["unlimited_dims"], ds.encoding["source"]), ({"time"}, self.path()))
        with xr.open_dataset(self.path(), mask_and_scale=False, decode_times=False, drop_variables=["PS"]) as ds:
            self.assertEqual((ds["packed"].dtype, ds["time"].dtype, "PS" in ds), ("i2", "f8", False))

    def test_nothing_is_read_before_it_is_wanted(self):
        calls = []
        read = blobio.library.Library.read
        with mock.patch.object(blobio.library.Library, "read", lambda self, *a: calls.append(a) or read(self, *a)):
            with xr.open_dataset(self.path(), decode_times=False) as ds:
                calls.clear()  # of index variables
                part = ds["T"].isel(time=1, ncol=slice(10, 20))
                self.assertEqual(calls, [])
                np.testing.assert_array_equal(part, self.fields["T"][1][1, :, 10:20])
                self.assertEqual([(start, count) for _, _, _, start, count, _, _ in calls], [([1, 0, 10], [1, 4, 10])])

    def test_indices(self):
        array = self.fields["T"][1]
        with xr.open_dataset(self.path()) as ds:
            T = ds["T"]
            points = xr.DataArray([3, 4, 4, 0], dims="p"), xr.DataArray([0, 3, 1, 2], dims="p")
            for got, want in (
                (T[:, ::-1, ::7], array[:, ::-1, ::7]), (T[-1], array[-1]), (T[[2, 0], :, [5, 5, 1]], array[[2, 0]][:, :, [5, 5, 1]]),
                (T.isel(ncol=points[0], lev=points[1]), array[:, [0, 3, 1, 2], [3, 4, 4, 0]]), (T[:, 1:1], array[:, 1:1]),
                (T.sel(time="2001-01-02"), array[1:2]), (T.where(T > 250).max(), array[array > 250].max()), (T.isel(lev=2)[0, 3], array[0, 2, 3]),
            ):
                np.testing.assert_array_equal(got, want)

    def test_chunks(self):
        with xr.open_dataset(self.path(), chunks={}) as ds:
            self.assertEqual(ds["T"].chunks, ((1, 1, 1), (4,), (300,)))
        with xr.open_dataset(self.path(), chunks={"time": 2, "ncol": 100}) as ds:
            self.assertEqual(ds["T"].chunks, ((2, 1), (4,), (100,) * 3))

        def variable(shape, record, dtype="f8"):
            return mock.Mock(shape=shape, record=record, dtype=np.dtype(dtype), dims=tuple("tzyx"[-len(shape):]))
        for shape, record, want in (
            ((5, 72, 48602), True, [1, 72, 48602]), ((48602,), False, [48602]), ((0, 3), True, [0, 3]),
            ((3, 72, 6_000_000), True, [1, 2, 6_000_000]), ((2, 1_000_000_000), False, [1, 16_666_666]), ((10, 1 << 30), True, [1, 1 << 24]),
        ):
            self.assertEqual(list(preferred_chunks(variable(shape, record)).values()), want, shape)

    def test_written_as_netcdf(self):
        for engine in "netcdf4", "scipy":
            with xr.open_dataset(self.path(), chunks={}) as ds:
                ds.to_netcdf(self.path(engine), engine=engine)
                with xr.open_dataset(self.path(engine), engine=engine) as again:
                    xr.testing.assert_identical(again, ds)
                    self.assertEqual(again.encoding["unlimited_dims"], {"time"})

    def test_several_datasets(self):
        second = {name: (dims, array + 3 if name == "time" else array, attrs) for name, (dims, array, attrs) in self.fields.items()}
        write(self.path("second"), second)
        with xr.open_mfdataset([self.path(), self.path("second")], combine="by_coords", data_vars="minimal") as ds:
            self.assertEqual(ds.sizes["time"], 6)
            np.testing.assert_array_equal(ds["T"][4], self.fields["T"][1][1])

    def test_several_by_a_pattern(self):
        """A pattern also matches base names, which are no files, even in the first call of a program."""
        names = [self.path("runs/%s/F_h1.nc" % run) for run in "abc"]
        for i, name in enumerate(names):
            os.makedirs(os.path.dirname(name))
            write(name, {n: (dims, array + 3 * i if n == "time" else array, attrs) for n, (dims, array, attrs) in self.fields.items()}, options="layout=process,subfiles=1")
        os.remove(names[1] + ".manifest")
        shutil.copy(names[2] + ".0000", names[2] + "+1.0000")  # the name of an added set: no separate dataset
        xr.Dataset({"time": ("time", [100.0], {"units": "days since 2001-01-01", "calendar": "noleap"})}).to_netcdf(self.path("other.nc"))
        program = """if True:
            import sys
            import xarray as xr
            with xr.open_mfdataset(sys.argv[1], data_vars="minimal") as ds:
                print(ds.sizes["time"], str(ds.time.values[-1])[:10])
        """
        for pattern, want in ("runs/*/F_h1.nc", "9 2001-01-09"), ("runs/?/*", "9 2001-01-09"), ("runs/[ab]/*.nc", "6 2001-01-06"), ("runs/*/F_h1.nc.0000", "9 2001-01-09"), \
                ("runs/*", "9 2001-01-09"), ("runs/b/F_h1.nc", "3 2001-01-06"), ("*.nc", "4 2001-04-11"):
            with self.subTest(pattern=pattern):
                if pattern == "*.nc":  # a dataset beside an ordinary file
                    write(self.path(), self.fields, options="force=yes")
                got = subprocess.run([sys.executable, "-c", program, self.path(pattern)], capture_output=True, text=True, timeout=120)
                self.assertEqual((got.stdout.strip(), got.returncode), (want, 0), got.stderr)
        self.assertEqual(recognise.expand(glob.glob, self.path("runs/c/*")), [names[2]])
        self.assertEqual(recognise.expand(glob.glob, self.path("runs/c/F_h1")), [])
        write(self.path("h0.2010-01.nc"), self.fields)
        self.assertEqual(recognise.expand(glob.glob, self.path("h0")), [])
        shutil.copy(self.path("other.nc"), names[0])  # converted: the pattern means this file
        self.assertEqual(sorted(recognise.expand(glob.glob, self.path("runs/*/F_h1.nc"))), names)
        self.assertEqual(recognise.expand(glob.glob, self.path("runs/a/*.nc")), names[:1])

    def test_decoded_as_by_netcdf4(self):
        """Variables, attributes and encodings of packed, missing, unsigned and character data, equal to the netCDF4 engine's."""
        rng, number = np.random.default_rng(11), 0
        with netCDF4.Dataset(self.path("all.nc"), "w", format="NETCDF3_64BIT_DATA") as f:
            f.set_auto_maskandscale(False)
            f.createDimension("time", None)
            f.createDimension("x", 6)
            f.setncatts({"title": "t\u00e4st", "list": np.arange(3, dtype="i4"), "one": np.float32(1.5), "none": ""})
            for kind in "i1 i2 i4 f4 f8 u1 u2 u4 i8 u8".split():
                given = np.dtype(kind).type
                for attrs in {}, {"_FillValue": given(3)}, {"missing_value": given(7)}, {"_FillValue": given(3), "missing_value": given(7)}, {"missing_value": np.array([3, 7], kind)}, \
                        {"scale_factor": np.float32(0.5), "add_offset": np.float64(-2)}, {"scale_factor": np.float64(0.1), "_FillValue": given(7)}, {"missing_value": np.float64(3)}, \
                        {"_Unsigned": "true", "_FillValue": given(3)}, {"_Unsigned": "false", "scale_factor": np.float64(2)}, {"units": "days since 2000-01-01", "_FillValue": given(7)}:
                    v = f.createVariable("v%d" % number, kind, ("time", "x") if number % 2 else ("x",))
                    v.setncatts({**attrs, "note": kind})
                    v[:] = rng.choice(np.array([0, 1, 3, 7, 100], kind), (2, 6) if number % 2 else 6)
                    number += 1
            for fill in None, " ", "a", "\0":
                v = f.createVariable("c%d" % number, "S1", ("time", "x") if number % 2 else ("x",))
                v.setncatts({"_FillValue": fill, "note": "text"} if fill else {"missing_value": "a"})
                v[:] = rng.choice(np.array([b" ", b"a", b"1", b"\0", b"\xe9"], "S1"), (2, 6) if number % 2 else 6)
                number += 1
        for how in {}, {"mask_and_scale": False, "decode_times": False}, {"concat_characters": False}:
            with xr.open_dataset(self.path("all.nc"), engine="blobio", **how) as ours, xr.open_dataset(self.path("all.nc"), engine="netcdf4", **how) as theirs:
                xr.testing.assert_identical(ours, theirs)
                self.assertEqual(ours.encoding["unlimited_dims"], theirs.encoding["unlimited_dims"])
                for name, v in ours.variables.items():
                    with self.subTest(name=name, how=how):
                        want = theirs.variables[name]
                        self.assertEqual(v.dtype, want.dtype)
                        self.assertEqual({k: type(a) for k, a in v.attrs.items()}, {k: type(a) for k, a in want.attrs.items()})
                        v.encoding.pop("preferred_chunks", None)
                        np.testing.assert_equal(v.encoding, want.encoding)
        with xr.open_dataset(self.path("all.nc"), engine="blobio", concat_characters=False) as ds, blobio.open(self.path("all.nc")) as plain:
            name = "c%d" % (number - 3)
            self.assertEqual(int(ds[name].isnull().sum()), int((plain[name][...] == b" ").sum()))
            self.assertEqual(plain[name].attrs["_FillValue"], b" ")

    def test_closed_and_read_again(self):
        def files():
            return [f for f in map(os.path.realpath, glob.glob("/proc/self/fd/*")) if f.startswith(self.dir)]
        ds = xr.open_dataset(self.path())
        ds["PS"].load()
        self.assertNotEqual(files(), [])
        ds.close()
        self.assertEqual(files(), [])
        np.testing.assert_array_equal(ds["T"], self.fields["T"][1])

    def test_options(self):
        with xr.open_dataset(self.path(), verify="always", memory=1 << 20, workers=1, allow_missing=True) as ds:
            np.testing.assert_array_equal(ds["T"], self.fields["T"][1])
        with self.assertRaises(blobio.UsageError):
            xr.open_dataset(self.path(), engine="blobio", verify="perhaps")


if __name__ == "__main__":
    unittest.main()
