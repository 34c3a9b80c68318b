// Package version has the version of the project. The command, the C header, the version script of the C library and its
// pkg-config file contain copies of the version. A test of package capi compares them.
package version

// Number is major.minor.patch. The major number is the version of the C library's ABI (libblobio.so.1). The minor number
// increases with the exported functions (symbol version BLOBIO_1.6).
const Number = "1.6.0"
