"""write_h5netcdf.py FILE: a netCDF-4 file that h5netcdf writes: scales by its own conventions, chunks of its choice, text
as strings of variable length."""
import sys
import h5netcdf
import numpy as np

with h5netcdf.File(sys.argv[1], "w") as nc:
    nc.dimensions = {"time": None, "lev": 5, "col": 33}
    nc.resize_dimension("time", 3)
    nc.attrs["title"] = "made by h5netcdf"
    t = nc.create_variable("time", ("time",), np.float64)
    t[...] = [1.5, 2.5, 3.5]
    t.attrs["units"] = "days since 2000-01-01"
    v = nc.create_variable("T", ("time", "lev", "col"), np.float32, chunks=(2, 3, 16), compression="gzip", shuffle=True, fletcher32=True)
    v[...] = np.arange(3 * 5 * 33, dtype=np.float32).reshape(3, 5, 33)
    v.attrs["levels"] = np.arange(5, dtype=np.int16)
    nc.create_variable("lev", ("lev",), np.int32, data=np.arange(5, dtype=np.int32))
    nc.create_variable("area", ("col",), ">f8", data=np.linspace(0, 1, 33))
