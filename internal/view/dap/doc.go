// Package dap answers DAP2 (OPeNDAP) requests for one dataset, without HTTP: it declares the variables (DDS) and attributes (DAS), reads
// constraint expressions, and streams the selected values as XDR or as text. The dataset is given by the header of its canonical file and
// a function that reads hyperslabs.
//
// DAP2 has fewer types than CDF-5. In every client, a value keeps its meaning or is an error:
//
//	in the file      in DAP2          remarks
//	byte             Byte             has _Unsigned "false": netCDF clients take a Byte as signed anyway
//	char             String           without its last dimension, whose length and name are the attributes DODS.strlen and DODS.dimName; trailing NULs are dropped
//	short, int       Int16, Int32
//	float, double    Float32, Float64
//	ubyte            Int16            exact
//	ushort           Int32            exact
//	uint             Float64          exact
//	int64, uint64    Float64          an inexact value is an error, except the fill value, which is rounded like _FillValue
//
// A variable whose type changes has an attribute blobio_type with its type in the file. If it has no _FillValue, it gets the default fill value
// of its type in the file: unwritten elements hold this value, and a client cannot derive it from the type that it sees. ubyte has no default
// fill value in netCDF.
//
// A variable is a Grid if each of its dimensions has a coordinate variable: a variable with the dimension's name and only that dimension.
// Answers have the variables in the order of the dataset. The record dimension is DODS_EXTRA.Unlimited_Dimension. In names, %XX stands for
// any character except letters, digits, '_' and '-'.
//
//	dataset.go     variables in DAP2
//	types.go       the table above
//	dds.go das.go  declarations and attributes
//	constraint.go  the grammar: T[0][0:2:70],lat
//	request.go     a constraint resolved for the dataset
//	window.go      values in pieces of bounded size
//	dods.go        XDR
//	ascii.go       text
//
// Read first: dataset.go, request.go, dods.go.
package dap
