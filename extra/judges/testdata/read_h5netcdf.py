"""read_h5netcdf.py RAW FILE: reads a netCDF-4 file with h5netcdf, an independent implementation of its conventions."""
import sys
import h5netcdf
from h5netcdf.dimensions import Dimension
from answer import Answer

# An unlimited dimension is as long as its longest variable; h5netcdf searches for that variable at each access.
longest, known = Dimension.size.fget, {}
Dimension.size = property(lambda d: known[d.name] if d.name in known else known.setdefault(d.name, longest(d)))

answer = Answer(sys.argv[1])
with h5netcdf.File(sys.argv[2], "r") as nc:
    for name, dim in nc.dimensions.items():
        answer.dimension(name, dim.size, dim.isunlimited())
    for name, v in nc.variables.items():
        answer.variable(name, v[...], v.dimensions)
answer.close()
