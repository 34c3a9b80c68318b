"""read_h5netcdf.py RAW FILE: a netCDF-4 file as h5netcdf has it, a second reading of its conventions."""
import sys
import h5netcdf
from h5netcdf.dimensions import Dimension
from answer import Answer

# The length of an unlimited dimension is that of the longest variable, which h5netcdf looks for each time that it is asked.
longest, known = Dimension.size.fget, {}
Dimension.size = property(lambda d: known[d.name] if d.name in known else known.setdefault(d.name, longest(d)))

answer = Answer(sys.argv[1])
with h5netcdf.File(sys.argv[2], "r") as nc:
    for name, dim in nc.dimensions.items():
        answer.dimension(name, dim.size, dim.isunlimited())
    for name, v in nc.variables.items():
        answer.variable(name, v[...], v.dimensions)
answer.close()
