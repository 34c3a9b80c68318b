"""read_scales.py RAW FILE [zstd]: a netCDF-4 file as h5py has it: datasets by creation, and the dimension
scales that HDF5's own library finds attached to them. Debian has no zstd plugin for HDF5: with the word zstd, chunks
are taken as they are stored, and decompressed here by libzstd."""
import itertools
import sys
import h5py
import numpy as np
from answer import Answer

ZSTD = 32015
by_hand = "zstd" in sys.argv[3:]
if by_hand:
    import zstandard


def values(d):
    plist = d.id.get_create_plist()
    filters = [plist.get_filter(i) for i in range(plist.get_nfilters())]
    if not by_hand or not any(f[0] == ZSTD for f in filters):
        return d[...]
    out = np.empty(d.shape, d.dtype)
    for start in itertools.product(*[range(0, n, c) for n, c in zip(d.shape, d.chunks)]):
        mask, raw = d.id.read_direct_chunk(start)
        for i, (number, _, args, _) in reversed(list(enumerate(filters))):
            if mask >> i & 1:
                continue
            if number == ZSTD:
                raw = zstandard.ZstdDecompressor().decompress(raw)  # with the size in the frame, like HDF5's plugin
            else:
                assert number == h5py.h5z.FILTER_SHUFFLE and args == (d.dtype.itemsize,), (number, args)
                raw = np.frombuffer(raw, "u1").reshape(d.dtype.itemsize, -1).T.tobytes()
        box = tuple(slice(s, min(s + c, n)) for s, c, n in zip(start, d.chunks, d.shape))
        chunk = np.frombuffer(raw, d.dtype).reshape(d.chunks)
        out[box] = chunk[tuple(slice(0, b.stop - b.start) for b in box)]
    return out


answer = Answer(sys.argv[1])
hidden = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"}


def atts(o):
    # Text attributes are scalars of ASCII bytes, in which netCDF keeps UTF-8; empty ones have no elements.
    return [(n, "" if isinstance(v, h5py.Empty) else v) for n, v in o.attrs.items() if n not in hidden]


with h5py.File(sys.argv[2], "r", track_order=True) as f:
    names = []
    f.id.links.iterate(lambda n: names.append(n.decode()), idx_type=h5py.h5.INDEX_CRT_ORDER)
    scales = {}
    for name in names:
        d = f[name]
        if h5py.h5ds.is_scale(d.id):
            scales[int(d.attrs["_Netcdf4Dimid"])] = d
    attached = {}  # for each scale, the datasets and dimensions to which it is attached
    for i in sorted(scales):
        used = scales[i].attrs.get("REFERENCE_LIST", ())
        attached[scales[i].name] = {(f[where].name, int(k)) for where, k in used}
        answer.dimension(scales[i].name[1:], scales[i].shape[0], scales[i].maxshape[0] is None)
    for name, value in atts(f):
        answer.attribute(name, value)
    for name in names:
        d = f[name]
        if h5py.h5ds.is_scale(d.id) and d.attrs["NAME"].startswith(b"This is a netCDF dimension but not a netCDF variable."):
            continue
        dims = []
        if h5py.h5ds.is_scale(d.id):
            dims = [scales[int(i)].name[1:] for i in d.attrs["_Netcdf4Coordinates"]]
        else:
            for i in range(len(d.shape)):
                (s,) = d.dims[i].values()
                assert (d.name, i) in attached[s.name], f"{name}: dimension {i}"
                dims.append(s.name[1:])
        answer.variable(name.removeprefix("_nc4_non_coord_"), values(d), dims, atts(d))
answer.close()
