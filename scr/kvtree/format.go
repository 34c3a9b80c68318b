package kvtree

import "math"

// The file record; see docs/format-kvtree.md.
const (
	magic       = 0x951fc3f5
	typeTree    = 1
	version1    = 1
	headerLen   = 20 // magic, type, version, size, flags
	flagCRC     = 1
	crcLen      = 4
	countLen    = 4
	minElem     = 1 + countLen // an empty key with its NUL, and an empty node
	maxFileSize = math.MaxUint32
)

// Offsets of the fields.
const (
	offMagic   = 0
	offType    = 4
	offVersion = 6
	offSize    = 8
	offFlags   = 16
	offRoot    = headerLen
)
