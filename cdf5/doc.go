// Package cdf5 decodes, encodes and lays out headers of the classic netCDF formats: CDF-1 (classic), CDF-2 (64-bit
// offset), CDF-5 (64-bit data), and the little-endian copy of a CDF-5 header in process-centric subfiles. It computes
// the offsets of a variable's elements and converts the elements. Package blob reads and writes data. A netCDF-4 file is
// an HDF5 file, so it is an ErrUnsupported.
//
//	DecodeHeader          a Header from a file
//	Header.Layout         offsets of variables; AppendTo: the bytes of the header
//	Header.Extent         offset and length of a variable, or of one record
//	ToFile, FromFile      numbers in memory to bytes of the file, and back
//
// The unlimited dimension has length 0 and is the first dimension of a record variable. A record is one index along this
// dimension. The size of a record variable is the size of one record.
//
// DecodeHeader compares each count with the remaining bytes of the file and with DecodeOptions.MaxHeader.
// Memory grows only with bytes that were read. Sums and products over 2^63 are errors, so no method of a decoded Header
// overflows. Errors are *FormatError with the offset of the faulty field.
//
// Conversion follows netCDF's rules, with two exceptions: infinities convert from float64 to float32, and a conversion
// stops at the first value that does not fit, with a *RangeError.
//
// docs/format-cdf5.md has the format, with an example in bytes.
//
// Read first: header.go, layout.go, decode.go.
package cdf5
