"""Reads blob datasets in place, as canonical arrays.

    import blobio
    with blobio.open("run/F_h0.nc") as ds:
        t = ds["T"][0, :, 5]

With xarray: xr.open_dataset("run/F_h0.nc"), or with engine="blobio".
"""

from .dataset import Dataset, Variable, open, status
from .errors import (AccessError, CapError, ChecksumError, ClosedError, CorruptError, DamageError, Error, FormatError, GoneError,
                     LibraryError, MissingError, NotCommittedError, NotFoundError, ReplacedError, TruncatedError, UsageError,
                     WriterDiedError)
from .version import NUMBER

__version__ = NUMBER

__all__ = ["open", "status", "Dataset", "Variable", "Error", "AccessError", "CapError", "ChecksumError", "ClosedError", "CorruptError",
           "DamageError", "FormatError", "GoneError", "LibraryError", "MissingError", "NotCommittedError", "NotFoundError",
           "ReplacedError", "TruncatedError", "UsageError", "WriterDiedError"]
