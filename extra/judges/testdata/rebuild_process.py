"""rebuild_process.py RAW SUBFILE ...: canonical arrays from process-centric blobs.

header_blob is a CDF-5 header in the writer's byte order, here little-endian.
data_blob is one blob per rank: for each map nreqs, blob_start, blob_count,
offsets, lengths, without padding; then the variables in order of definition,
each with all its records. Only the first blob has non-decomposed variables.
"""
import struct
import sys
import numpy as np
import h5py
from answer import Answer

TYPES = {1: "<i1", 2: "S1", 3: "<i2", 4: "<i4", 5: "<f4", 6: "<f8", 7: "<u1", 8: "<u2", 9: "<u4", 10: "<i8", 11: "<u8"}
FILLS = {"<i1": -127, "S1": b"\0", "<i2": -32767, "<i4": -2147483647, "<f4": 9.9692099683868690e+36, "<f8": 9.9692099683868690e+36,
         "<u1": 255, "<u2": 65535, "<u4": 4294967295, "<i8": -9223372036854775806, "<u8": 18446744073709551614}


class Header:
    def __init__(self, data):
        assert data[:4] == b"CDF\x05", data[:4]
        self.data, self.at = data, 4
        self.records = self.number("<q")
        self.dims = self.list(10, lambda: (self.name(), self.number("<q")))
        self.atts = dict(self.list(12, self.attribute))
        self.vars = self.list(11, self.variable)
        assert self.at == len(data), f"{self.at} bytes of {len(data)} used"

    def number(self, form):
        x, = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return x

    def list(self, tag, item):
        found, n = self.number("<i"), self.number("<q")
        assert found == tag or (found, n) == (0, 0), f"tag {found} at {self.at - 12}, want {tag}"
        return [item() for _ in range(n)]

    def bytes(self, n):
        b = self.data[self.at:self.at + n]
        self.at += n + -n % 4
        return b

    def name(self):
        return self.bytes(self.number("<q")).decode()

    def attribute(self):
        name, dtype, n = self.name(), np.dtype(TYPES[self.number("<i")]), self.number("<q")
        return name, np.frombuffer(self.bytes(n * dtype.itemsize), dtype)

    def variable(self):
        name = self.name()
        dims = [self.number("<q") for _ in range(self.number("<q"))]
        atts = dict(self.list(12, self.attribute))
        dtype, _, begin = TYPES[self.number("<i")], self.number("<q"), self.number("<q")
        assert begin == 0, f"begin {begin}"
        return name, dims, atts, dtype


def shape(h, dims):
    return [h.dims[i][1] or h.records for i in dims]  # length 0 is the record dimension


answer = Answer(sys.argv[1])
arrays = {}
for number, path in enumerate(sys.argv[2:]):
    with h5py.File(path, "r") as f:
        assert set(f) == {"header_blob", "data_blob"}, set(f)
        assert all(f[x].ndim == 1 and f[x].dtype == "u1" for x in f)
        h, data, at = Header(f["header_blob"][...].tobytes()), f["data_blob"][...].tobytes(), 0
    maps = int(h.atts["num_decompositions"][0])

    def take(dtype, n):
        global at
        a = np.frombuffer(data, dtype, n, at)
        at += a.nbytes
        return a

    running = [0] * maps
    for rank in range(dict(h.dims)["nblobs"]):
        own = []
        for d in range(maps):
            nreqs, (start, count) = take("<i4", 1)[0], take("<i8", 2)
            offsets, lengths = take("<i4", nreqs).astype("i8"), take("<i4", nreqs).astype("i8")
            assert start == running[d] and count == lengths.sum(), (path, rank, d)
            running[d] += count
            own.append(np.repeat(offsets - (np.cumsum(lengths) - lengths), lengths) + np.arange(count))
        for name, dims, atts, dtype in h.vars[5 * maps:]:
            if "decomposition_ID" not in atts:
                if rank == 0:
                    a = take(dtype, int(np.prod(shape(h, dims), dtype="i8"))).reshape(shape(h, dims))
                    arrays.setdefault(name, a)
                continue
            ids = atts["global_dimids"]
            full = shape(h, ids)
            n = h.records if h.dims[ids[0]][1] == 0 else 1
            fill = atts.get("_FillValue", [FILLS[dtype]])[0]
            a = arrays.setdefault(name, np.full(full, fill, dtype)).reshape(n, -1)
            where = own[int(atts["decomposition_ID"][0]) - 1]
            a[:, where] = take(dtype, n * len(where)).reshape(n, -1)
    assert at == len(data), f"{path}: {at} bytes of {len(data)} used"
    assert running == [dict(h.dims)[f"D{d + 1}.nelems"] for d in range(maps)]
for name, *_ in h.vars[5 * maps:]:
    answer.variable(name, arrays[name])
answer.close()
