// Package kvtree reads and writes the key/value trees of SCR, byte for byte. SCR uses them
// for all its metadata: indexes, summaries, file maps, and headers of redundancy files.
//
//	New, Tree.Set, Get, At, Touch    a tree
//	Tree.Value                       the value of a key, as text or number
//	ReadFile, WriteFile              a file; WriteFile replaces it atomically
//	Update, ReadLocked               a shared file, changed in place under a lock
//	Encode, Decode                   the bytes of a file; Pack, Unpack for a message
//
// A node is a list of elements. An element is a key and a node. Keys are strings without NUL, and each key occurs
// once in a node. A value is a key with an empty node: SIZE = 1024 is SIZE -> 1024 -> (empty). Trees are equal
// (Equal) if they have the same keys, in any order. The order is kept, so that a tree that was read is written back
// unchanged. A newly set key becomes the head of the list, as in SCR.
//
// Errors about damaged files are *FormatError with offset and class. Memory use is proportional to the input.
// Unless Options.Strict is set, the package accepts everything that SCR accepts, with one exception. If the text of
// a number is not a number, or is out of range, the package returns an error. SCR reads the leading digits.
//
// A nil file system means the operating system's.
// docs/format-kvtree.md describes the format and the class of each fault. Read first: tree.go, value.go, record.go.
package kvtree
