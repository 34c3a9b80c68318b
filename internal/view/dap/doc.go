// Package dap answers DAP2 (OPeNDAP) requests for one dataset, without HTTP: it declares the variables (DDS) and attributes (DAS), reads
// constraint expressions, and streams the selected values as XDR or as text. The dataset is given by the header of its canonical file and
// a function that reads hyperslabs.
//
// DAP2 has fewer types than CDF-5. A value keeps its meaning in every client or is an error, never another value:
//
//	in the file      in DAP2          remarks
//	byte             Byte             has _Unsigned "false": netCDF clients take a Byte as signed anyway
//	char             String           without its last dimension, whose length and name are the attributes DODS.strlen and DODS.dimName; trailing NULs are cut off
//	short, int       Int16, Int32
//	float, double    Float32, Float64
//	ubyte            Int16            exact
//	ushort           Int32            exact
//	uint             Float64          exact
//	int64, uint64    Float64          a value that is not exact is an error, except the fill value, which is rounded as _FillValue is
//
// Variables whose type changes have an attribute blobio_type with their type in the file, and if they have no _FillValue the fill value of this type: elements that
// nobody wrote hold it, and a client does not know it of the type that it sees. (Of ubyte, netCDF takes no value for fill.)
//
// A variable is a Grid if each of its dimensions has a coordinate variable: one of its name, with it as the only dimension.
// Answers have the variables in the order of the dataset. The record dimension is DODS_EXTRA.Unlimited_Dimension. Names have %XX for what is not a letter, a digit, '_' or '-'.
//
//	dataset.go     variables as DAP2 has them
//	types.go       the table above
//	dds.go das.go  declarations and attributes
//	constraint.go  the grammar: T[0][0:2:70],lat
//	request.go     what a constraint means for the dataset
//	window.go      values in pieces of bounded size
//	dods.go        XDR
//	ascii.go       text
//
// Read first: dataset.go, request.go, dods.go.
package dap
