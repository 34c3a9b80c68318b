"""The functions of libblobio for reading, through ctypes.

This module does not import numpy, so that the helper process starts quickly; arrays are addresses here. ctypes releases
Python's global lock during a call, so threads read in parallel.
"""

import ctypes
import os
import re
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

from .errors import SMALL, LibraryError, UsageError, of_code

ABI = 1
NAME = "libblobio.so.%d" % ABI

_signatures = {
    "blobio_open": (c_int, c_char_p, c_char_p, POINTER(c_void_p)),
    "blobio_close": (c_int, c_void_p),
    "blobio_inq": (c_int, c_void_p) + (POINTER(c_int),) * 6 + (POINTER(c_int64),),
    "blobio_inq_ranks": (c_int, c_void_p, POINTER(c_int), POINTER(c_int)),
    "blobio_inq_state": (c_int, c_void_p, c_char_p, c_size_t),
    "blobio_wait_records": (c_int, c_void_p, c_int64, c_double, POINTER(c_int64)),
    "blobio_inq_status": (c_int, c_char_p, c_int, POINTER(c_int), POINTER(c_int64)),
    "blobio_get_header": (c_int, c_void_p, c_void_p, c_size_t, POINTER(c_int64)),
    "blobio_get_vara": (c_int, c_void_p, c_int, POINTER(c_int64), POINTER(c_int64), c_int, c_void_p, c_int64),
    "blobio_get_darray": (c_int, c_void_p, c_int, c_int64, c_int64, c_void_p, c_void_p, c_int, c_void_p, c_int64),
    "blobio_last_error": (c_char_p,),
    "blobio_last_error_file": (c_char_p,),
    "blobio_last_error_offset": (c_int64,),
    "blobio_abi": (c_int,),
    "blobio_version": (c_char_p,),
}

# numpy's names of the types, by their numbers in files and in blobio.h; bytes of an element.
TYPES = {1: "i1", 2: "S1", 3: "i2", 4: "i4", 5: "f4", 6: "f8", 7: "u1", 8: "u2", 9: "u4", 10: "i8", 11: "u8"}
SIZES = {kind: int(name[1]) for kind, name in TYPES.items()}

STATES = ("unmarked", "writing", "finished", "died", "writing or died")

LAYOUTS = ("variable-centric", "process-centric", "canonical")


def candidates():
    """The possible places of libblobio, in search order."""
    named = os.environ.get("BLOBIO_LIBRARY")
    if named:
        return [named]
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", NAME)
    return [p for p in (here, os.path.join(sys.prefix, "lib", NAME)) if os.path.exists(p)] + [NAME]


def load():
    """Loads libblobio, or raises LibraryError with the searched places."""
    tried = []
    for path in candidates():
        try:
            dll = ctypes.CDLL(path)
            for name, (result, *arguments) in _signatures.items():
                function = getattr(dll, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as e:
            tried.append("%s: %s" % (path, e))
            continue
        if dll.blobio_abi() != ABI:
            tried.append("%s: ABI %d, want %d" % (path, dll.blobio_abi(), ABI))
            continue
        return Library(dll)
    raise LibraryError("cannot load libblobio %s or later: set BLOBIO_LIBRARY to the path of %s, or build it by "
                       "make -C capi; tried %s" % ("1.5", NAME, "; ".join(tried)))


def _text(b):
    return os.fsdecode(b or b"")


def _words(b):
    """The text of an error, without the rank and Go package in front."""
    return re.sub(r"^(rank 0: )?([a-z0-9]+: )?", "", _text(b))


class Library:
    """Datasets by number. Safe for concurrent use. Unusable in a child of fork once it is loaded."""

    def __init__(self, dll):
        self._dll = dll

    def _call(self, name, *arguments):
        code = getattr(self._dll, name)(*arguments)
        if code != 0:
            d = self._dll
            raise of_code(code, _words(d.blobio_last_error()), _text(d.blobio_last_error_file()), d.blobio_last_error_offset())

    def version(self):
        return _text(self._dll.blobio_version())

    def open(self, path, options):
        """Opens a dataset and returns its number and a dict of layout, records, subfiles, ranks and state."""
        name = os.fsencode(path)
        if b"\0" in name:
            raise UsageError("%r: the file name contains NUL" % path)
        h = c_void_p()
        self._call("blobio_open", name, options.encode(), byref(h))
        try:
            return h.value, self._describe(h.value)
        except BaseException:
            self.close(h.value)
            raise

    def _describe(self, h):
        layout, subfiles, ranks, records = c_int(), c_int(), c_int(), c_int64()
        state = ctypes.create_string_buffer(64)
        self._call("blobio_inq", h, byref(layout), None, None, None, None, None, byref(records))
        self._call("blobio_inq_ranks", h, byref(subfiles), byref(ranks))
        self._call("blobio_inq_state", h, state, len(state))
        return {"layout": LAYOUTS[layout.value], "records": records.value, "subfiles": subfiles.value, "ranks": ranks.value,
                "state": state.value.decode()}

    def close(self, h):
        self._call("blobio_close", h)

    def status(self, path, wait):
        state, records = c_int(), c_int64()
        self._call("blobio_inq_status", os.fsencode(path), int(wait), byref(state), byref(records))
        return {"state": STATES[state.value], "records": records.value}

    def wait_records(self, h, n, seconds):
        """Waits until there are n records, there will be no more, or the seconds are over (below 0: no limit)."""
        self._call("blobio_wait_records", h, n, seconds, None)

    def header(self, h):
        """The header of the dataset as an ordinary netCDF file, in CDF-5."""
        size = 1 << 18
        while True:
            room, need = ctypes.create_string_buffer(size), c_int64()
            try:
                self._call("blobio_get_header", h, room, size, byref(need))
                return room.raw[:need.value]
            except OSError as e:
                if getattr(e, "code", None) != SMALL:
                    raise
                size = need.value

    def read(self, h, varid, kind, start, count, address, n):
        """Reads a hyperslab to an address: n elements of a netCDF type (kind), in the byte order of the machine."""
        dims = c_int64 * len(start)
        self._call("blobio_get_vara", h, varid, dims(*start), dims(*count), kind, address, n)

    def read_runs(self, h, varid, kind, record, runs, offsets, lengths, address, n):
        """Reads runs of one record, whose offsets and lengths are int64 at two addresses."""
        self._call("blobio_get_darray", h, varid, record, runs, offsets, lengths, kind, address, n)
