"""What Python makes of a dataset, for `blobio bench run inplace`: each command prints one line of JSON.

    has                                    versions of the modules that can be imported, and why others cannot
    level TOOL PATH VAR INDEX OUT          opens, reads VAR[0, INDEX] and writes it to OUT as little-endian floats; INDEX -1: opens only
    mean TOOL PATH VAR DIM=N,... THREADS   mean of a variable by dask, in chunks of so many elements

The clock runs from open to the values. Before it are imports, and what libraries put off until they are first used.
"""
import importlib
import json
import sys
import time

MODULES = "numpy", "netCDF4", "xarray", "zarr", "fsspec", "aiohttp", "dask", "dask.array", "blobio"
NEEDS = {
    "netCDF4": ["netCDF4"],
    "zarr": ["zarr", "fsspec", "aiohttp", "fsspec.implementations.http"],
    "numpy": ["blobio"],
    "xarray": ["netCDF4", "xarray"],
    "xarray-zarr": ["zarr", "fsspec", "aiohttp", "fsspec.implementations.http", "xarray"],
    "xarray-blobio": ["blobio", "blobio.xarray_engine", "xarray"],
}


def has():
    found, lacks = {}, {}
    for name in MODULES:
        try:
            module = importlib.import_module(name)
            found[name] = str(getattr(module, "__version__", ""))
        except Exception as e:  # whatever keeps it from being used
            lacks[name] = "%s: %s" % (type(e).__name__, e)
    if "blobio" in found:
        from blobio.library import load
        try:
            load()
        except Exception as e:
            lacks["blobio"] = str(e)
            del found["blobio"]
    return {"has": found, "lacks": lacks}


def prepare(tool):
    modules = {name: importlib.import_module(name) for name in NEEDS[tool]}
    if tool.startswith("xarray"):
        modules["xarray"].backends.list_engines()


def opened(tool, path, chunks=None):
    """The dataset, whose members are arrays."""
    if tool == "netCDF4":
        import netCDF4
        ds = netCDF4.Dataset(path)
        ds.set_auto_maskandscale(False)
        return ds
    if tool == "zarr":
        import zarr
        return zarr.open_consolidated(path, mode="r")
    if tool == "numpy":
        import blobio
        return blobio.open(path)
    import xarray
    if tool == "xarray-zarr":
        more = {"chunks": chunks} if chunks else {"chunks": None}
        return xarray.open_zarr(path, decode_cf=False, **more)
    engine = "netcdf4"
    if tool == "xarray-blobio":  # by its class, so that a package that is not installed serves, too
        from blobio.xarray_engine import BlobioBackendEntrypoint as engine
    return xarray.open_dataset(path, engine=engine, decode_cf=False, chunks=chunks)


def level(tool, path, name, index, out):
    prepare(tool)
    import numpy
    index = int(index)
    start = time.perf_counter()
    ds = opened(tool, path)
    there = time.perf_counter()
    if index >= 0:
        values = ds[name][0, index]
        values = numpy.asarray(getattr(values, "values", values))
    end = time.perf_counter()
    phases = {"open": there - start}
    if index >= 0:
        phases["read"] = end - there
        values.astype("<f4").tofile(out)
    return {"seconds": end - start, "phases": phases}


def mean(tool, path, name, chunks, threads):
    prepare(tool)
    import dask
    import dask.array
    sizes = {dim: int(n) for dim, n in (c.split("=") for c in chunks.split(","))}
    settings = {"scheduler": "threads", "num_workers": int(threads)}
    dask.array.ones(8, chunks=2).mean().compute(**settings)
    start = time.perf_counter()
    ds = opened(tool, path, sizes)
    there = time.perf_counter()
    value = float(ds[name].astype("f8").mean().compute(**settings))
    end = time.perf_counter()
    return {"seconds": end - start, "phases": {"open": there - start, "read": end - there}, "note": repr(value)}


command, *args = sys.argv[1:]
try:
    print(json.dumps({"has": has, "level": level, "mean": mean}[command](*args)))
except Exception as e:
    sys.exit(" ".join(("%s: %s" % (type(e).__name__, e)).split()))
