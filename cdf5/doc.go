// Package cdf5 decodes, encodes and lays out headers of the classic netCDF
// formats CDF-1 (classic), CDF-2 (64-bit offset) and CDF-5 (64-bit data),
// converts between memory and file elements, and does the same for the
// little-endian copy of a CDF-5 header that the process-centric blob layout
// keeps in its dataset header_blob. Header.Extent says where the elements of a
// variable lie. Not here: reading and writing data, which package blob does,
// and netCDF-4, which is HDF5 (ErrUnsupported).
//
// The sources of the format facts are the netCDF Classic Format Specification
// and the CDF-5 specification of PnetCDF; what they leave open was settled by
// files of ncgen and PnetCDF, which the tests compare with byte for byte.
//
// # Words
//
// A record variable has the unlimited dimension as its first one; all others
// are fixed. A record is one index of the unlimited dimension. The size of a
// variable means, for a record variable, the size of one record of it. A list
// is a tag, a count, and as many entries. "pad" is 0 to 3 bytes up to the next
// multiple of 4, counted from the start of the name or value.
//
// # A file
//
//	+--------+----------------------+---------------------------------------+
//	| header | fixed variables      | records                               |
//	|        | a | b | c ...        | record 0      | record 1      | ...   |
//	|        |   |   |              | r0 | s0 | t0  | r1 | s1 | t1  |       |
//	+--------+----------------------+---------------------------------------+
//	0        begin of a             begin of r      begin of r + record size
//
// All numbers are big endian. Every variable starts at its own begin; element
// order is C order (last dimension fastest). Gaps are allowed anywhere, overlap
// nowhere. Writers place variables in definition order and each at a multiple
// of 4, which Layout does too; DecodeHeader asks only that nothing overlaps.
//
// # Widths
//
//	                          CDF-1     CDF-2     CDF-5
//	magic                     "CDF\x01" "CDF\x02" "CDF\x05"
//	N: counts, lengths,
//	   dimids, vsize, numrecs 4 bytes   4 bytes   8 bytes
//	B: begin                  4 bytes   8 bytes   8 bytes
//	tag, nc_type              4 bytes   4 bytes   4 bytes
//	types                     1 to 6    1 to 6    1 to 11
//
// N is non-negative, in CDF-5 at most 2^63-1. CDF-1 and CDF-2 are read as
// unsigned 32-bit numbers, as the netCDF library does.
//
// # Header
//
//	bytes  type      name       meaning                             must hold
//	4                magic      "CDF" and the version               1, 2 or 5
//	N                numrecs    number of records; all bits set is  numrecs * record size
//	                            streaming: it follows from the      stays below 2^63
//	                            size of the file
//	...    list      dim_list   tag 0x0A, entries: dimension
//	...    list      gatt_list  tag 0x0C, entries: attribute        global attributes
//	...    list      var_list   tag 0x0B, entries: variable
//
// List:
//
//	4                tag        0x0A, 0x0B, 0x0C; 0 is ABSENT       0 or the tag of the place
//	N                nelems     number of entries                   0 when ABSENT
//	...              entries
//
// An empty list is written as ABSENT; a tag with nelems 0 is read, with a note.
//
// Dimension:
//
//	N                length     of the name in bytes                > 0
//	n + pad          name       UTF-8                               no '/', no control characters, once in its list
//	N                length     0 is the unlimited dimension        only one is 0; limits below
//
// Attribute:
//
//	N, n + pad       name       as above                            once in its list
//	4                nc_type    type of the values                  one of the version's
//	N                nelems     number of values, may be 0
//	... + pad        values     nelems * size of the type
//
// Variable:
//
//	N, n + pad       name       as above                            once in its list
//	N                ndims      number of dimensions, 0: a scalar
//	N * ndims        dimid      ids in dim_list, from 0,            < number of dimensions; the unlimited
//	                            slowest first                       one only first
//	...    list      vatt_list  tag 0x0C
//	4                nc_type                                        one of the version's
//	N                vsize      size + pad, see below               redundant: read, noted when wrong, not used
//	B                begin      file offset of the first byte       >= length of the header
//
// Types:
//
//	nc_type  name    bytes  Go       default fill value
//	1        byte    1      int8     -127
//	2        char    1      string   0
//	3        short   2      int16    -32767
//	4        int     4      int32    -2147483647
//	5        float   4      float32  9.96920996838687e+36  (7c f0 00 00)
//	6        double  8      float64  9.96920996838687e+36  (47 9e 00 00 00 00 00 00)
//	7        ubyte   1      uint8    255
//	8        ushort  2      uint16   65535
//	9        uint    4      uint32   4294967295
//	10       int64   8      int64    -9223372036854775806
//	11       uint64  8      uint64   18446744073709551614
//
// The length of a header is always a multiple of 4. A worked example, field by
// field, is testdata/cdf5.hex. By hand: od -A x -t x1 file | head; after the
// magic and numrecs comes the tag 00 00 00 0a of the dimensions.
//
// # Sizes and records
//
//	size        product of the dimension lengths (without the unlimited one) * bytes of the type
//	vsize       size rounded up to a multiple of 4; in CDF-1 and CDF-2, 2^32-1 when that is over 2^32-4
//	record size sum of the rounded sizes of all record variables
//	            exactly one record variable: its size, not rounded (so records of a lone
//	            byte, char, short, ubyte or ushort variable follow each other without pads;
//	            its vsize is rounded all the same)
//	element i of record r of v: begin(v) + r * record size + i * bytes of the type
//	file size   begin of the first record variable + numrecs * record size
//
// The pad after the last variable of the file may be missing. Pads in the data
// section hold the variable's fill value in files that were filled, and are
// undefined otherwise. Pads in the header are zeros when written; others are
// read, with a note.
//
// # Limits
//
//	                                CDF-1    CDF-2    CDF-5
//	length of a dimension           2^31-4   2^32-4   2^63-4
//	size of a variable, in general  2^31-4   2^32-4   2^63-4
//	begin                           2^31-1   2^63-1   2^63-1
//	number of records               2^32-2   2^32-2   2^63-1
//
// In CDF-1 and CDF-2 one variable may be over that size where nothing comes
// after it: the last fixed one when there are no record variables; and the last
// record variable may have records over it.
//
// # header_blob
//
// The process-centric blob layout stores the header that the same data would
// have as a CDF-5 file, with these differences:
//
//	numbers  in the order of the writing machine, tags and counts included: little endian in
//	         practice. Only the magic is the same. DecodeOptions.Order = AutoOrder tells the
//	         order by the first tag: 0a 00 00 00 or 00 00 00 0a
//	begin    0 for every variable (DecodeOptions.NoBegins)
//	dims     several may be 0, for a subfile without elements (DecodeOptions.ZeroDims)
//
// # Safety
//
// DecodeHeader reads in pieces and believes no count: each is held against the
// bytes that are left in the file and under DecodeOptions.MaxHeader, and memory
// grows only with bytes that were really read. Sums and products that pass 2^63
// are errors, so no method of a decoded Header overflows. Errors are
// *FormatError with the offset of the field at fault.
//
// # Conversion
//
// Memory and file type need not be the same. The rules are netCDF's: see
// ToFile. Two differ from the C library: infinities pass from float64 to
// float32, and a conversion stops at the first value that does not fit, which
// the *RangeError names, instead of going on with undefined values.
package cdf5
