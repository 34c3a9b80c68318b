// Package zarr presents a dataset as a Zarr group, with metadata and chunks by key, computed on request. It also writes a group as a directory.
//
//	New               a Store of a Reader's variables, in Zarr version 2 or 3
//	Store.Get, Size   the value of a key, and its length
//	Store.Keys        all keys
//	Write             a Zarr 3 directory
//
// Keys follow the two specifications (zarr-specs.readthedocs.io):
//
//	version 2  .zgroup .zattrs .zmetadata VAR/.zarray VAR/.zattrs VAR/0.3.0
//	version 3  zarr.json VAR/zarr.json VAR/c.0.3.0
//
// Metadata are ASCII JSON and consolidated: in .zmetadata, or inline in the group's zarr.json. Arrays are little-endian, in C
// order, with named dimensions (_ARRAY_DIMENSIONS, dimension_names). Chunks are cut by package chunks; the last chunks along a
// dimension are padded with the fill value. Elements that no rank owns are the fill value, as in a converted file.
//
// Where Zarr differs from netCDF:
//
//   - For a variable without _FillValue, fill_value is null in version 2, because xarray would mask any other value. Version 3 requires
//     a fill_value and gets netCDF's default, which xarray does not mask. A variable's _FillValue becomes fill_value. In version 3
//     it is also the attribute _FillValue in xarray's spelling (base64 of a little-endian double, or an integer).
//   - Char is |S1 in version 2. Version 3 has no such type: it is uint8 there, and the attribute netcdf_type is "char".
//   - An attribute with one number is a number, otherwise an array; floats have all digits. Numbers that JSON lacks are
//     "NaN", "Infinity" or "-Infinity". Trailing zero bytes of text are dropped; text that is not UTF-8 is read as ISO 8859-1.
//   - Dimensions that no variable uses are left out. Nothing marks the unlimited dimension.
//
// Read first: store.go, key.go.
package zarr
