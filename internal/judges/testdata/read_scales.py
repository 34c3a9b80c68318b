"""read_scales.py RAW FILE [zstd]: a netCDF-4 file as h5py has it: datasets by creation, and the dimension
scales that HDF5's own library finds attached to them."""
import sys
import h5py
from answer import Answer

if "zstd" in sys.argv[3:]:
    import hdf5plugin  # noqa: F401

answer = Answer(sys.argv[1])
hidden = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}


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
    for i in sorted(scales):
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
                assert h5py.h5ds.is_attached(d.id, s.id, i), f"{name}: dimension {i}"
                dims.append(s.name[1:])
        answer.variable(name.removeprefix("_nc4_non_coord_"), d[...], dims, atts(d))
answer.close()
