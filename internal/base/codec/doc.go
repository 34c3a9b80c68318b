// Package codec compresses bytes: zstd, deflate (one way), and a byte shuffle that precedes them for arrays of numbers.
// Compressed blobs, chunks of versions and HDF5 chunks use it.
//
// # Shuffle
//
// The bytes of n elements of size s become s planes of n bytes: plane k holds byte k of each element, in order. Bytes
// after the last whole element follow unchanged. In floating-point fields, the planes of sign and exponent are
// repetitive, so zstd compresses them well.
package codec
