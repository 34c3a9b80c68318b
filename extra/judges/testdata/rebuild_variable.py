"""rebuild_variable.py RAW SUBFILE ...: canonical arrays from variable-centric blobs."""
import sys
import numpy as np
import netCDF4
from answer import Answer


def indices(offsets, lengths):
    """The canonical index of each element of a blob: its requests one after the other."""
    offsets, lengths = offsets.astype("i8"), lengths.astype("i8")
    before = np.cumsum(lengths) - lengths
    return np.repeat(offsets - before, lengths) + np.arange(lengths.sum())


answer = Answer(sys.argv[1])
subfiles = [netCDF4.Dataset(path) for path in sys.argv[2:]]
for nc in subfiles:
    nc.set_auto_maskandscale(False)
    nc.set_auto_chartostring(False)
first = subfiles[0]
assert first.num_subfiles == len(subfiles), "subfiles are missing"
assert sum(len(nc.dimensions["nblobs"]) for nc in subfiles) == first.global_nprocs, "blobs are missing"
dims = list(first.dimensions.values())

places = {}  # (subfile, map) -> list of (first element, last + 1, canonical indices)
for s, nc in enumerate(subfiles):
    for d in range(1, first.num_decompositions + 1):
        n, start, count, off, length = (nc[f"D{d}.{x}"][...] for x in ("nreqs", "blob_start", "blob_count", "offsets", "lengths"))
        places[s, d] = [(start[j], start[j] + count[j], indices(off[j, :n[j]], length[j, :n[j]])) for j in range(len(n))]

for name in list(first.variables)[5 * first.num_decompositions:]:
    v = first[name]
    if "decomposition_ID" not in v.ncattrs():
        answer.variable(name, v[...])  # every subfile has it; the first one counts
        continue
    ids = np.atleast_1d(v.global_dimids)
    record = dims[ids[0]].isunlimited()
    lengths = [len(dims[i]) for i in ids]
    flat = np.full((lengths[0] if record else 1, int(np.prod(lengths[1:] if record else lengths))),
                   getattr(v, "_FillValue", netCDF4.default_fillvals[v.dtype.str[1:]]), v.dtype)
    for s, nc in enumerate(subfiles):
        blobs = nc[name][...].reshape(len(flat), -1)
        for lo, hi, at in places[s, v.decomposition_ID]:
            flat[:, at] = blobs[:, lo:hi]
    answer.variable(name, flat.reshape(lengths))
answer.close()
