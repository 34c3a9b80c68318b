"""read_xarray.py RAW FILE [--engine=NAME] [VARIABLE ...]: a netCDF file as xarray has it.

Without names every variable, undecoded; with names these only, decoded: what is
the fill value is NaN.
"""
import sys
import xarray
from answer import Answer

raw, path, *names = sys.argv[1:]
engine = "netcdf4"
if names and names[0].startswith("--engine="):
    engine = names.pop(0).removeprefix("--engine=")
answer = Answer(raw)
# The times of the tests are plain numbers, no dates.
with xarray.open_dataset(path, engine=engine, decode_cf=bool(names), decode_times=False) as ds:
    for name in names or ds.variables:
        answer.variable(name, ds[name].values, ds[name].dims)
answer.close()
