// Package cdf5 reads and writes the classic netCDF formats CDF-1, CDF-2 and CDF-5.
package cdf5
