"""print_values.py netCDF4|scipy|xarray FILE VARIABLE: the values of a variable, undecoded, as bytes in hexadecimal digits."""
import sys

library, path, name = sys.argv[1:]
if library == "scipy":
    from scipy.io import netcdf_file
    values = netcdf_file(path, mmap=False).variables[name][...]
elif library == "xarray":
    import xarray
    values = xarray.open_dataset(path, decode_cf=False)[name].values
else:
    import netCDF4
    nc = netCDF4.Dataset(path)
    nc.set_auto_maskandscale(False)
    values = nc[name][...]
print(values.astype(values.dtype.newbyteorder(">")).tobytes().hex())
