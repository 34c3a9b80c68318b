"""Datasets for the tests: written by Go ($BLOBIO_TEST_DATA), and small ones written here through libblobio."""

import ctypes
import json
import os
import struct
import tempfile
import unittest

import numpy as np

from blobio import library
from blobio.errors import of_code

DATA = os.environ.get("BLOBIO_TEST_DATA", "")


def replayed():
    """[{"base", "canonical", "layout"}] of the cases F, G and I."""
    with open(os.path.join(DATA, "datasets.json")) as f:
        return json.load(f)


KINDS = {np.dtype(t): k for k, t in library.TYPES.items()}


def _writing():
    dll = library.load()._dll
    c, i64, p = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
    for name, args in {
        "create": [ctypes.c_char_p, ctypes.c_char_p, p], "append": [ctypes.c_char_p, ctypes.c_char_p, p], "def_dim": [p, ctypes.c_char_p, i64, p],
        "def_decomp": [p, c, p, i64, p, p, p], "def_var": [p, ctypes.c_char_p, c, c, p, c, p], "enddef": [p],
        "put_att_text": [p, c, ctypes.c_char_p, i64, ctypes.c_char_p], "put_att": [p, c, ctypes.c_char_p, c, i64, p],
        "put": [p, c, i64, c, p, i64], "flush": [p], "commit": [p], "close": [p], "inq_varid": [p, ctypes.c_char_p, p],
    }.items():
        getattr(dll, "blobio_" + name).argtypes = args

    def call(name, *args):
        code = getattr(dll, "blobio_" + name)(*args)
        if code:
            raise of_code(code, os.fsdecode(dll.blobio_last_error()))
    return call


def write(path, variables, attrs=None, options="", meanwhile=None):
    """Writes a dataset of one rank. variables: {name: (dims, array, attrs)}; the dimension "time" is unlimited, and variables with other dimensions are decomposed.
    meanwhile is called between a commit of all and the end."""
    call = _writing()
    f, out = ctypes.c_void_p(), ctypes.c_int()
    call("create", os.fsencode(path), ("durability=none,%s" % options).rstrip(",").encode(), ctypes.byref(f))
    dims, decomps, ids = {}, {}, {}

    def ints(values, kind=ctypes.c_int):
        return (kind * len(values))(*values)

    def attributes(varid, given):
        for key, v in (given or {}).items():
            if isinstance(v, (str, bytes)):
                v = v.encode() if isinstance(v, str) else v
                call("put_att_text", f, varid, key.encode(), len(v), v)
            else:
                a = np.atleast_1d(v)
                call("put_att", f, varid, key.encode(), KINDS[a.dtype], a.size, a.ctypes.data)

    attributes(-1, attrs)
    for name, (names, array, given) in variables.items():
        array = np.asarray(array)
        for d, n in zip(names, array.shape):
            if d not in dims:
                call("def_dim", f, d.encode(), 0 if d == "time" else n, ctypes.byref(out))
                dims[d] = out.value
        fixed = tuple(d for d in names if d != "time")
        if len(fixed) and len(fixed) < 3 and array.dtype != "S1" and name not in dims:
            if fixed not in decomps:
                shape = [array.shape[names.index(d)] for d in fixed]
                rows = int(np.prod(shape[:-1], dtype=int))
                call("def_decomp", f, len(fixed), ints([dims[d] for d in fixed]), rows, ints([r * shape[-1] for r in range(rows)], ctypes.c_int64),
                     ints([shape[-1]] * rows, ctypes.c_int64), ctypes.byref(out))
                decomps[fixed] = out.value
            decomp = decomps[fixed]
        else:
            decomp = 0
        call("def_var", f, name.encode(), KINDS[array.dtype], len(names), ints([dims[d] for d in names]), decomp, ctypes.byref(out))
        ids[name] = out.value
        attributes(out.value, given)
    call("enddef", f)
    _put(call, f, ids, variables, 0)
    if meanwhile:
        call("commit", f)
        meanwhile()
    call("close", f)


def _put(call, f, ids, variables, first):
    for name, (names, array, _) in variables.items():
        array = np.ascontiguousarray(array)
        records = list(array) if "time" in names else [array]
        for i, a in enumerate(records):
            a = np.ascontiguousarray(a)
            call("put", f, ids[name], first + i if "time" in names else 0, KINDS[array.dtype], a.ctypes.data, a.size)
    call("flush", f)


def field(records=3, lev=4, ncol=300, seed=0):
    """Variables like a history file's: T(time, lev, ncol), PS(time, ncol), area(ncol) and time."""
    rng = np.random.default_rng(seed)
    return {
        "time": (("time",), np.arange(records, dtype="f8"), {"units": "days since 2001-01-01", "calendar": "noleap"}),
        "T": (("time", "lev", "ncol"), rng.normal(250, 30, (records, lev, ncol)), {"units": "K"}),
        "PS": (("time", "ncol"), rng.normal(1e5, 1e3, (records, ncol)).astype("f4"), {"units": "Pa", "_FillValue": np.float32(1e20)}),
        "area": (("ncol",), rng.random(ncol), {}),
    }


def find(path, value):
    """The offset of a number in a file, which must be there once."""
    with open(path, "rb") as f:
        data = f.read()
    order = ">" if data.startswith(b"CDF") else "<"
    want = np.asarray(value).astype(np.asarray(value).dtype.newbyteorder(order)).tobytes()
    at = data.find(want)
    if at < 0 or data.find(want, at + 1) >= 0:
        raise AssertionError("%r is not once in %s" % (value, path))
    return at


def flip(path, offset):
    with open(path, "r+b") as f:
        f.seek(offset)
        b = f.read(1)
        f.seek(offset)
        f.write(struct.pack("B", b[0] ^ 0x10))


def status(pid):
    """State and parent of a running process, or None."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            state, parent = f.read().rpartition(")")[2].split()[:2]
    except OSError:
        return None
    return None if state in "ZX" else (state, int(parent))


def children(pid):
    """Processes whose parent is pid."""
    return [p for p in map(int, filter(str.isdigit, os.listdir("/proc"))) if (status(p) or ("", 0))[1] == pid]


class Case(unittest.TestCase):
    def setUp(self):
        self._dir = tempfile.TemporaryDirectory()
        self.addCleanup(self._dir.cleanup)
        self.dir = self._dir.name

    def path(self, name="F_h0.nc"):
        return os.path.join(self.dir, name)

    def in_child(self, f):
        """Runs f in a forked child and returns its result; raises its exception here."""
        import pickle
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(r)
                try:
                    answer = (True, f())
                except BaseException as e:
                    answer = (False, e)
                with os.fdopen(w, "wb") as out:
                    pickle.dump(answer, out)
                status = 0
            finally:
                os._exit(status)
        os.close(w)
        with os.fdopen(r, "rb") as f:
            data = f.read()
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        good, answer = pickle.loads(data)
        if not good:
            raise answer
        return answer
