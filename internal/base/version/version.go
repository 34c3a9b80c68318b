// Package version has the version of the project, which the command, the C header, the version script of the C library and
// its pkg-config file have too; a test of package capi compares them.
package version

// Number is major.minor.patch. The major number is the version of the C library's ABI (libblobio.so.1), the minor one
// grows with the functions that the library exports (symbol version BLOBIO_1.6).
const Number = "1.6.0"
