package h5

// Numbers of the HDF5 File Format Specification, version 3.0. docs/format-h5.md
// has the tables; the names here follow them.

const signature = "\x89HDF\r\n\x1a\n"

// undef is the undefined address (all bits set in the file).
const undef int64 = -1

// Message types of object headers.
const (
	msgNil          = 0x00
	msgDataspace    = 0x01
	msgLinkInfo     = 0x02
	msgDatatype     = 0x03
	msgFillOld      = 0x04
	msgFill         = 0x05
	msgLink         = 0x06
	msgExternal     = 0x07
	msgLayout       = 0x08
	msgGroupInfo    = 0x0a
	msgFilters      = 0x0b
	msgAttribute    = 0x0c
	msgContinuation = 0x10
	msgSymbolTable  = 0x11
	msgDriver       = 0x14
	msgAttrInfo     = 0x15
	msgMax          = 0x17 // the last type that is known; higher ones are unknown messages
)

// Message flags.
const (
	msgShared      = 1 << 1 // the body is a reference to the message
	msgFailUnknown = 1 << 7 // a reader that does not know the type must give up
)

// Sizes of what the writer emits (superblock 0, 8-byte offsets and lengths).
const (
	superblock0Len  = 96
	symbolEntryLen  = 40
	groupLeafK      = 4  // a symbol node holds up to 2*4 entries
	groupInternalK  = 16 // a B-tree node holds up to 2*16 children
	symbolNodeLen   = 8 + 2*groupLeafK*symbolEntryLen
	groupNodeLen    = 24 + (2*groupInternalK+1)*8 + 2*groupInternalK*8
	localHeapLen    = 32
	headerPrefixLen = 16
	messagePrefix   = 8
)

// Caps. Each guards an allocation or a loop against a hostile file.
const (
	maxRank      = 32
	maxMeta      = 64 << 20  // one metadata block
	maxAttr      = 256 << 20 // the value of one attribute
	maxChunk     = 1 << 30   // one decoded chunk
	maxHeaderLen = 256 << 20 // all blocks of one object header
	maxMessages  = 1 << 18   // of one object header; counts and creation orders have 16 bits
	maxDepth     = 64        // levels of a v2 B-tree or of nested indirect blocks
	maxName      = 1 << 16   // a link name in a local heap
)
