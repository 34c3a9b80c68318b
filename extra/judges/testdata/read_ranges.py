"""read_ranges.py RAW URL [VARIABLE ...]: a netCDF file behind a URL, by byte ranges: fsspec fetches them, xarray and scipy read them."""
import sys
import fsspec
import xarray
from answer import Answer

raw, path, *names = sys.argv[1:]
answer = Answer(raw)
with fsspec.open(path, block_size=1 << 16) as f:
    with xarray.open_dataset(f, engine="scipy", decode_cf=False) as ds:
        for name in names or ds.variables:
            answer.variable(name, ds[name].values, ds[name].dims)
answer.close()
