# Prints every attribute and dataset of a directory of HDF5 files: "<path> <dtype> <shape> <hex>".
import glob
import sys
import h5py

for path in sorted(glob.glob(sys.argv[1] + "/*.h5")):
    f = h5py.File(path, "r")

    def show(name, o):
        for a in o.attrs:
            v = o.attrs[a]
            print(name + " " + a, v.dtype, v.shape, v.tobytes().hex())
        if isinstance(o, h5py.Dataset):
            v = o[()]
            print(name, v.dtype, v.shape, v.tobytes().hex())

    show("/", f)
    f.visititems(lambda n, o: show("/" + n, o))
