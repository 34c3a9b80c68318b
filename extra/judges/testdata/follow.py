# Follows a growing file by netCDF4-python's sync(), and the same dataset as Zarr by reopening it, until both have all records.
# Element i of record r of T is r * width + i. Every state must be whole.
import sys

import netCDF4
import numpy
import xarray

path, url, records = sys.argv[1], sys.argv[2], int(sys.argv[3])


def check(what, values, n):
    want = numpy.arange(values.size, dtype="f8").reshape(values.shape)
    if values.shape[0] != n or not (values == want).all():
        sys.exit(f"{what}: {n} records, values {values.shape}: torn")


grown = netCDF4.Dataset(path)
grown.set_auto_mask(False)
first = len(grown.dimensions["time"])
print(first, flush=True)
seen, zarr = 0, 0
while seen < records or zarr < records:
    grown.sync()
    now = len(grown.dimensions["time"])
    if now < seen:
        sys.exit(f"sync: {now} records behind {seen}")
    check("sync", grown.variables["T"][:], now)
    seen = now
    with xarray.open_dataset(url, engine="zarr", chunks=None, mask_and_scale=False) as d:
        now = d.sizes["time"]
        if now < zarr:
            sys.exit(f"Zarr: {now} records behind {zarr}")
        check("Zarr", d["T"].values, now)
        zarr = now
print(first, seen, zarr)
