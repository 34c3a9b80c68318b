# Writes testdata/small.h5, the fixture of fault_test.go and the fuzz targets:
# small.py FILE. The file here was made with h5py 3.7.0 and HDF5 1.10.8, libver="latest",
# so that nearly all metadata have checksums.
import sys
import numpy as np
import h5py

with h5py.File(sys.argv[1], "w", libver="latest") as f:
    g = f.create_group("dense")
    for i in range(30):
        g["soft%02d" % i] = h5py.SoftLink("/dense")
    g = f.create_group("ordered", track_order=True)
    for i in range(12):
        g["soft%02d" % i] = h5py.SoftLink("/nowhere")
    g.attrs["x"] = np.arange(3)
    g = f.create_group("attrs")
    for i in range(40):
        g.attrs["a%02d" % i] = np.arange(i, dtype="i4")
    g.attrs["huge"] = np.arange(600, dtype="i8")
    g.attrs["text"] = np.bytes_(b"fixed")
    x = np.arange(60, dtype="i4").reshape(10, 6)
    kw = dict(fletcher32=True)
    f.create_dataset("plain", data=x)
    f.create_dataset("single", data=x, chunks=(10, 6), **kw)
    f.create_dataset("fixed", data=x, chunks=(4, 4), **kw)
    f.create_dataset("gz", data=x, chunks=(4, 4), compression="gzip", shuffle=True, **kw)
    f.create_dataset("grow", data=x, chunks=(1, 3), maxshape=(None, 6), **kw)
    f.create_dataset("grow2", data=x, chunks=(3, 3), maxshape=(None, None), **kw)
    d = f.create_dataset("paged", (1500,), "i1", chunks=(1,), **kw)
    d[5:9] = 1
