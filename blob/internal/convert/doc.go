// Package convert makes netCDF files and datasets of other layouts of a dataset.
package convert
