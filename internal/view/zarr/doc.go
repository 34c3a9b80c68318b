// Package zarr offers a dataset as a Zarr group, metadata and chunks by key, computed on request, or writes it as a directory.
//
//	New               a Store of a Reader's variables, in Zarr version 2 or 3
//	Store.Get, Size   the value of a key; how long it is
//	Store.Keys        all keys
//	Write             a Zarr 3 directory
//
// Keys follow the two specifications (zarr-specs.readthedocs.io):
//
//	version 2  .zgroup .zattrs .zmetadata VAR/.zarray VAR/.zattrs VAR/0.3.0
//	version 3  zarr.json VAR/zarr.json VAR/c.0.3.0
//
// Metadata are ASCII JSON and consolidated: in .zmetadata, or inline in the group's zarr.json. Arrays are little-endian,
// in C order, and named by dimension (_ARRAY_DIMENSIONS, dimension_names). Chunks are cut by package chunks; the last ones along a
// dimension are padded with the fill value. Elements that no rank owns are the fill value, as in a converted file.
//
// Where Zarr differs from netCDF:
//
//   - Without _FillValue of the variable, fill_value is null in version 2, because xarray would mask by any other. Version 3 requires
//     one and gets netCDF's default, by which xarray does not mask. A _FillValue of a variable is fill_value in
//     version 2, and in version 3 also the attribute _FillValue in xarray's spelling (base64 of a little-endian double, or an integer).
//   - Char is |S1 in version 2. Version 3 has no such type: it is uint8 there, and the attribute netcdf_type is "char".
//   - Attributes of one number are numbers, of several or none arrays; floats have all digits. Numbers that JSON lacks are
//     "NaN", "Infinity" or "-Infinity". Trailing zero bytes of text are cut off; text that is not UTF-8 is read as ISO 8859-1.
//   - Dimensions that no variable uses are left out, and the unlimited one is not marked.
//
// Read first: store.go, key.go.
package zarr
