"""Makes xarray accept the base name of a dataset, which is not the name of a file.

xarray has no hook for this, so private functions of it are wrapped when it is imported (blobio_early.py) or loads the
engine. For other paths they work as before. If xarray lacks these functions, nothing is wrapped: pass the engine, name the
manifest with chunks=, and pass open_mfdataset a list.
"""

import functools

from xarray.backends import api, common, plugins

from . import recognise


def fit():
    """Wraps the functions, once."""
    _wrap(plugins, "sort_backends", _blobio_first)
    _wrap(api, "_get_mtime", _mtime_of_a_base_name)
    for module in api, common:  # the module of open_mfdataset, or of its function that finds files
        _wrap(module, "glob", recognise.expand)


def _wrap(module, name, around):
    inner = getattr(module, name, None)
    if inner is None or getattr(inner, "fits_blobio", False):
        return

    @functools.wraps(inner)
    def outer(*args, **kwargs):
        return around(inner, *args, **kwargs)

    outer.fits_blobio = True
    setattr(module, name, outer)


def _blobio_first(sort, backends):
    """Makes xarray try this engine first.

    xarray tries its own engines before others, and the netCDF4 engine accepts every name that ends in .nc, and every subfile by
    its first bytes. This engine accepts only blob datasets.
    """
    backends = sort(backends)
    return {name: backends[name] for name in sorted(backends, key=lambda name: name != "blobio")}


def _mtime_of_a_base_name(mtime, path):
    """The time by which xarray distinguishes chunks of a file from chunks of its replacement. For base names, which are no files."""
    try:
        return mtime(path)
    except FileNotFoundError:
        latest = recognise.modified(path)
        if latest is None:
            raise
        return latest
