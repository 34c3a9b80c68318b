"""read_h5py.py RAW FILE: the datasets and attributes of the root group as h5py has them."""
import sys
import h5py
from answer import Answer

answer = Answer(sys.argv[1])
with h5py.File(sys.argv[2], "r") as f:
    for name, value in f.attrs.items():
        answer.attribute(name, value)
    for name, d in f.items():
        assert d.chunks is None, f"{name} is chunked"
        answer.variable(name, d[...], (), list(d.attrs.items()))
answer.close()
