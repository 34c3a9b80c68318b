// Package kvtree reads and writes the key/value trees of SCR: the form in which it
// keeps all it knows (indexes, summaries, file maps, headers of redundancy files),
// byte for byte.
//
//	New, Tree.Set, Get, At, Touch    a tree
//	Tree.Value                       the value of a key, as text or number
//	ReadFile, WriteFile              a file; WriteFile replaces it atomically
//	Update, ReadLocked               a file that others change too, in place under a lock
//	Encode, Decode                   the bytes of a file; Pack, Unpack for a message
//
// A node is a list of elements; an element is a key and a node. Keys are strings
// without NUL, once in each node. A value is a key with an empty node: SIZE = 1024
// is SIZE -> 1024 -> (empty). Trees are equal (Equal) if they have the same keys,
// in any order. The order is kept nevertheless, so that a tree that was read is rewritten
// as it was; a key that is set becomes the head of the list, as in the reference.
//
// Damaged files are *FormatError with offset and class. No memory is taken that
// the bytes in hand do not account for. Everything that the reference accepts is accepted,
// unless Options.Strict is set, with one exception: text that is not a number, or does not fit, is an
// error where the reference reads as far as there are digits.
//
// A nil file system is the operating system's. Package
// kvcomm moves trees between ranks. docs/format-kvtree.md has the format, and which
// fault has which class. Read first: tree.go, value.go, record.go.
package kvtree
