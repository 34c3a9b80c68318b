# Prints a line for every dataset and every decodable attribute of HDF5 files,
# for shared_test.go: digest.py FILE...
import hashlib
import sys
import h5py
import numpy as np

out = []


def attrs(path, o):
    for name in o.attrs:
        try:
            v = o.attrs[name]
        except (OSError, TypeError):
            continue
        if isinstance(v, bytes):
            out.append("%s@%s %s" % (path, name, v.decode("latin-1")))
        elif isinstance(v, str):
            out.append("%s@%s %s" % (path, name, v))
        elif isinstance(v, (np.ndarray, np.generic)) and np.asarray(v).dtype.kind in "iuf":
            v = np.asarray(v)
            raw = v.astype(v.dtype.newbyteorder("<")).tobytes()
            out.append("%s@%s %s %s" % (path, name, list(v.shape), hashlib.sha256(raw).hexdigest()))


def visit(name, o):
    path = "/" + name
    if isinstance(o, h5py.Dataset) and o.dtype.kind in "iuf":
        raw = np.asarray(o[...]).tobytes()
        out.append("%s %s %s %s" % (path, list(o.shape), o.id.get_offset(), hashlib.sha256(raw).hexdigest()))
    attrs(path, o)


for file in sys.argv[1:]:
    with h5py.File(file, "r") as f:
        out = []
        attrs("/", f)
        f.visititems(visit)
        print(file)
        print("\n".join(sorted(out)))
