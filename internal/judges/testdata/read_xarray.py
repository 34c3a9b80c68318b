"""read_xarray.py RAW FILE [VARIABLE ...]: a netCDF file, or a Zarr group by its URL, as xarray has it.

Without names every variable, undecoded; with names these only, decoded: what is
the fill value is NaN.
"""
import sys
import xarray
from answer import Answer

raw, path, *names = sys.argv[1:]
answer = Answer(raw)
# Times are numbers here: those of the tests are no dates.
how = dict(engine="zarr", chunks=None) if path.startswith("http") else dict(engine="netcdf4")
with xarray.open_dataset(path, **how, decode_cf=bool(names), decode_times=False) as ds:
    for name in names or ds.variables:
        answer.variable(name, ds[name].values, ds[name].dims)
answer.close()
