"""Makes xarray accept the base name of a dataset, which is not the name of a file.

xarray has no hook for this, so private functions of it are wrapped when it is imported (blobio_early.py) or loads the
engine. For anything but a blob dataset they work as before. In a version of xarray without these functions nothing is
wrapped: there the engine must be named, a dataset opened with chunks= must be named by its manifest, and open_mfdataset be
given a list.
"""

import functools

from xarray.backends import api, common, plugins

from . import recognise


def fit():
    """Wraps the functions, once."""
    _wrap(plugins, "sort_backends", _blobio_first)
    _wrap(api, "_get_mtime", _mtime_of_a_base_name)
    for module in api, common:  # where open_mfdataset is, or the function by which it finds files
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
    """Asks this engine first whether it can open something.

    The engine of netCDF4 takes every name that ends in .nc, and every subfile by its first bytes, and those that come with
    xarray are asked before others. This one takes nothing but blob datasets.
    """
    backends = sort(backends)
    return {name: backends[name] for name in sorted(backends, key=lambda name: name != "blobio")}


def _mtime_of_a_base_name(mtime, path):
    """The time by which xarray distinguishes chunks of a file from chunks of its replacement. A base name is no file."""
    try:
        return mtime(path)
    except FileNotFoundError:
        latest = recognise.modified(path)
        if latest is None:
            raise
        return latest
