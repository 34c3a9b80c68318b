"""mean_dask.py URL VARIABLE: the mean of a variable of a Zarr group, undecoded, by dask with threads and with processes."""
import sys
import dask
import xarray

if __name__ == "__main__":  # processes import this file again
    url, name = sys.argv[1:]
    with xarray.open_zarr(url, decode_cf=False) as ds:
        for scheduler in "threads", "processes":
            print(repr(float(ds[name].astype("f8").mean().compute(scheduler=scheduler))), len(ds[name].data.dask))
