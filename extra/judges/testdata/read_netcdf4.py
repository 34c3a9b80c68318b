"""read_netcdf4.py RAW FILE [VARIABLE ...]: a netCDF file as netCDF4-python has it."""
import sys
import netCDF4
from answer import Answer

raw, path, *names = sys.argv[1:]
answer = Answer(raw)
with netCDF4.Dataset(path) as nc:
    nc.set_auto_maskandscale(False)
    nc.set_auto_chartostring(False)
    for name, dim in nc.dimensions.items():
        answer.dimension(name, len(dim), dim.isunlimited())
    for name in nc.ncattrs():
        answer.attribute(name, nc.getncattr(name))
    for name in names or nc.variables:
        v = nc[name]
        answer.variable(name, v[...], v.dimensions, [(a, v.getncattr(a)) for a in v.ncattrs()])
answer.close()
