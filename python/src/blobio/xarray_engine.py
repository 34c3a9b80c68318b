"""The engine "blobio" of xarray: xr.open_dataset("run/F_h0.nc"), with or without engine="blobio".

Values are read on demand, and only the part that is needed. CF conventions (fill values, scales,
times, strings) are decoded by xarray as with any other engine.
"""

from unicodedata import normalize

import numpy as np
from xarray import Variable
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint, StoreBackendEntrypoint
from xarray.core import indexing

from . import dataset
from .recognise import is_dataset
from .xarray_names import fit

MOST_CHUNK = 128 << 20  # bytes of a preferred chunk for dask


class Array(BackendArray):
    """A variable for xarray's lazy indexing. Its pickle has the name and path, no values."""

    def __init__(self, variable):
        self.variable = variable
        self.shape, self.dtype = variable.shape, variable.dtype

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key):
        return np.asarray(self.variable[key])


def preferred_chunks(variable):
    """Preferred chunks as {name: length}: a record, or parts of at most 128 MiB along its slowest dimensions."""
    shape = list(variable.shape)
    if variable.record and shape:
        shape[0] = min(1, shape[0])
    left = variable.dtype.itemsize
    for n in shape:
        left *= n
    for d, n in enumerate(shape):
        if left <= MOST_CHUNK:
            break
        parts = min(n, -(-left // MOST_CHUNK))
        shape[d] = n // parts
        left = left // n * shape[d]
    return dict(zip(variable.dims, shape))


class Store(AbstractDataStore):
    """A dataset as a store of xarray."""

    def __init__(self, ds):
        self.dataset = ds

    def get_dimensions(self):
        return dict(self.dataset.dimensions)

    def get_attrs(self):
        return dict(self.dataset.attrs)

    def get_variables(self):
        return {name: self._variable(v) for name, v in self.dataset.variables.items()}

    def get_encoding(self):
        unlimited = self.dataset.unlimited
        return {"unlimited_dims": set() if unlimited is None else {unlimited}}

    @staticmethod
    def _variable(v):
        encoding = {"source": v.path, "original_shape": v.shape, "dtype": v.dtype}
        if v.dims and 0 not in v.shape:
            encoding["preferred_chunks"] = preferred_chunks(v)
        return Variable(v.dims, indexing.LazilyIndexedArray(Array(v)), dict(v.attrs), encoding)

    def close(self):
        self.dataset.release()


class BlobioBackendEntrypoint(BackendEntrypoint):
    """Blob datasets in either layout, by base name, subfile, manifest or directory."""

    description = "Open blob datasets of E3SM and blobio in place"
    open_dataset_parameters = ("filename_or_obj", "mask_and_scale", "decode_times", "concat_characters", "decode_coords", "drop_variables",
                               "use_cftime", "decode_timedelta", "allow_missing", "verify", "memory", "workers")

    def guess_can_open(self, filename_or_obj):
        return is_dataset(filename_or_obj)

    def open_dataset(self, filename_or_obj, *, mask_and_scale=True, decode_times=True, concat_characters=True, decode_coords=True,
                     drop_variables=None, use_cftime=None, decode_timedelta=None, allow_missing=False, verify="once", memory=None,
                     workers=None):
        ds = dataset.open(filename_or_obj, allow_missing=allow_missing, verify=verify, memory=memory, workers=workers)
        if drop_variables is not None:  # one name or several, in normal form C
            several = [drop_variables] if isinstance(drop_variables, str) else drop_variables
            drop_variables = [normalize("NFC", name) if isinstance(name, str) else name for name in several]
        return StoreBackendEntrypoint().open_dataset(
            Store(ds), mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
            decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime, decode_timedelta=decode_timedelta)


fit()
