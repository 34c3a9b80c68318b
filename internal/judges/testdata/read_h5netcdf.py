"""read_h5netcdf.py RAW FILE: a netCDF-4 file as h5netcdf has it, a second reading of its conventions."""
import sys
import h5netcdf
from answer import Answer

answer = Answer(sys.argv[1])
with h5netcdf.File(sys.argv[2], "r") as nc:
    for name, dim in nc.dimensions.items():
        answer.dimension(name, dim.size, dim.isunlimited())
    for name, v in nc.variables.items():
        answer.variable(name, v[...], v.dimensions)
answer.close()
