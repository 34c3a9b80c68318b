// Package codec turns bytes into fewer bytes and back: zstd, deflate (one way), and
// before it, for arrays of numbers, a byte shuffle. It is what compressed blobs,
// chunks of versions and chunks of HDF5 have in common.
//
// # Shuffle
//
// The bytes of n elements of size s become s planes of n bytes: plane k holds byte k
// of each element, in order. Bytes behind the last whole element follow unchanged.
// Of floating-point fields the planes of sign and exponent repeat themselves, which
// zstd finds when they lie together.
package codec
