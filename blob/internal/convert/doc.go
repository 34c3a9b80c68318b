// Package convert converts a dataset to netCDF files and to other layouts.
package convert
