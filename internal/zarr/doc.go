// Package zarr shows a dataset as a Zarr group: metadata and chunks by key, computed when they are asked for, and
// written as a directory.
//
//	New               a Store of a Reader's variables, in Zarr version 2 or 3
//	Store.Get, Size   the value of a key; how long it is
//	Store.Keys        all keys
//	Write             a Zarr 3 directory
//
// Keys are those of the two specifications (zarr-specs.readthedocs.io):
//
//	version 2  .zgroup .zattrs .zmetadata VAR/.zarray VAR/.zattrs VAR/0.3.0
//	version 3  zarr.json VAR/zarr.json VAR/c.0.3.0
//
// Metadata are ASCII JSON and consolidated: in .zmetadata, or inline in the group's zarr.json. Arrays are little-endian,
// in C order, and named by dimension (_ARRAY_DIMENSIONS, dimension_names). Chunks are those of package chunks; the last ones along a
// dimension are padded with the fill value. Elements that no rank owns are the fill value, as in a converted file.
//
// What netCDF has and Zarr has not:
//
//   - Version 2 has fill_value null where the variable has no _FillValue: xarray would take another one for missing data. Version 3,
//     which must have one, then has netCDF's default; xarray does not mask by it. A _FillValue of a variable is fill_value in
//     version 2, and in version 3 also the attribute _FillValue in xarray's spelling (base64 of a little-endian double, or an integer).
//   - Char is |S1 in version 2. Version 3 has no such type: it is uint8 there, and the attribute netcdf_type is "char".
//   - Attributes of one number are numbers, of several or none arrays; floats have the digits of the exact double. What JSON has no number for is
//     "NaN", "Infinity" or "-Infinity". Text loses the zero bytes at its end; what is not UTF-8 is read as ISO 8859-1.
//   - Dimensions that no variable has, and which one is unlimited, are not told.
package zarr
