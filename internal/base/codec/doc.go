// Package codec compresses bytes: zstd, deflate (compression only), and a byte shuffle for arrays of numbers, which
// runs before the compression. Compressed blobs, chunks of versions and HDF5 chunks use the package.
//
// # Shuffle
//
// The bytes of n elements of size s become s planes of n bytes: plane k holds byte k of each element, in order. Bytes
// after the last whole element follow unchanged. In floating-point fields, the planes of sign and exponent are
// repetitive, so zstd compresses them well.
package codec
