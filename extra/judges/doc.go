// Package judges compares the files of this module with the results of independent programs. It holds tests only.
//
// The tests write the F, G and I cases in both blob layouts, with 16 ranks, one
// and two subfiles, float and double, and convert them to ordinary netCDF.
// Then
//
//	canonical and variable-centric  ncdump, ncvalidator, ncmpidump, ncmpidiff, nccopy, ncks, ncra, ncwa, cdo, netCDF4-python, xarray
//	netCDF-4                        ncdump, nccopy, h5dump, h5repack, h5diff, h5stat, ncks, cdo, netCDF4-python, h5py, h5netcdf, xarray
//	process-centric                 h5dump, h5ls, h5py
//	both, by URL (package serve)    ncdump, nccopy, ncks, cdo, netCDF4-python, xarray
//	decomposition maps              ncdump, h5dump, h5py, netCDF4-python
//
// read them, and what they say is compared with what blob.Reader says, value
// by value. The scripts in testdata that put canonical arrays together from
// blobs know nothing of this module: they are a second reading of the formats. So is
// read_fti.py, which reads FTI-FF checkpoint files of all layouts as FTI does.
//
// A test whose program is not installed is skipped, and says so; with
// BLOBIO_JUDGES=1 it fails instead.
package judges
