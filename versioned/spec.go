package versioned

import (
	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"crypto/aes"
	"crypto/cipher"
	"regexp"
	"slices"
	"time"
)

const (
	maxDims      = 4
	defaultChunk = 64 << 10
	minChunk     = 512
	maxChunk     = 16 << 20
	maxCopies    = 8
	maxElems     = 1 << 56

	// The limit bounds the memory of a reader, which keeps at least 24 bytes for each chunk of a segment.
	maxSegChunks = 1 << 24
)

// Spec describes an array. It never changes, except that Reserve changes the length.
type Spec struct {
	Name  string  // letters, digits, "_", "-" and "."; also the name of the array's directory in the store
	Type  Type    //
	Shape []int64 // number of elements in 1 to 4 dimensions, slowest first
	Chunk int     // size in bytes of the unit in which changes are stored: 512 to 16 MiB, a multiple of 8; default 64 KiB

	// Extra is the relative extra capacity of the array. The capacity of an array with need elements is ceil((1+Extra)*need).
	Extra float64
	// EveryRegrid reallocates the array at each Reserve, not only when it exceeds its capacity.
	EveryRegrid bool

	Keep Retention
}

// Retention selects the versions to keep. Each commit drops the other versions. Tainted versions are not counted, and are
// dropped, too.
type Retention struct {
	Last  int   // number of newest versions to keep; 0: keep all
	Every int64 // also keep versions whose number is a multiple of Every; 0: no others
}

var nameRE = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// Validate returns an error that wraps ErrUsage.
func (s *Spec) Validate() error {
	switch {
	case !nameRE.MatchString(s.Name):
		return fault.Usage("name %q, want letters, digits, '_', '-' and '.'", s.Name)
	case !s.Type.Valid():
		return fault.Usage("%v", s.Type)
	case len(s.Shape) < 1 || len(s.Shape) > maxDims:
		return fault.Usage("%d dimensions, want 1 to %d", len(s.Shape), maxDims)
	case s.Chunk != 0 && (s.Chunk < minChunk || s.Chunk > maxChunk || s.Chunk%8 != 0):
		return fault.Usage("Chunk %d, want a multiple of 8 from %d to %d", s.Chunk, minChunk, maxChunk)
	case !(s.Extra >= 0 && s.Extra <= 1000):
		return fault.Usage("Extra %v, want 0 to 1000", s.Extra)
	case s.Keep.Last < 0 || s.Keep.Every < 0:
		return fault.Usage("Keep %+v, want no negative number", s.Keep)
	}
	if elems(s.Shape) < 0 {
		return fault.Usage("shape %v, want positive lengths and at most 2^56 elements", s.Shape)
	}
	return nil
}

// elems returns the number of elements of a shape, or -1 if the shape is invalid.
func elems(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		if d < 0 || d > 0 && n > maxElems/d {
			return -1
		}
		n *= d
	}
	return n
}

func (s *Spec) withDefaults() Spec {
	v := *s
	v.Shape = slices.Clone(s.Shape)
	if v.Chunk == 0 {
		v.Chunk = defaultChunk
	}
	return v
}

// chunkElems returns the number of elements of a chunk.
func (s *Spec) chunkElems() int64 { return int64(s.Chunk / s.Type.Size()) }

// capacity returns the capacity in elements of an array that needs need elements.
func (s *Spec) capacity(need int64) int64 {
	n := min(float64(need)*(1+s.Extra), maxElems)
	return max(need, int64(n)+btoi(n > float64(int64(n))))
}

func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Durability selects which failures a commit survives.
type Durability uint8

const (
	DurableCommit Durability = iota // survives a power loss
	DurableNone                     // survives the end of the program
	// DurableSnapshot is for hierarchies in a directory. Versions of levels are not durable until a snapshot uses them; until
	// then only the same job can return to them. The commit of a snapshot makes the versions of all levels durable, and so does
	// Close. After a kill the last snapshot exists. Other arrays treat DurableSnapshot as DurableCommit.
	DurableSnapshot
)

// Store is the place where versions are kept. A nil Store or the zero value means memory. Versions in memory live as long as the
// array. Ranks that share no heap read versions of other ranks through windows.
type Store struct {
	// Dir is a directory that all nodes see, with a subdirectory for each array. "" means memory.
	Dir string
	// FS is the file system. The default is the file system of the operating system.
	FS vfs.FS
	// Copies is the number of other nodes, 0 to 8, that keep a copy of a node's files in their memory. It is only for stores in
	// memory.
	Copies int
}

// Options are the options of Create and Open. A nil pointer or a zero field means the default.
type Options struct {
	Compress   bool   // compress chunks with zstd if that makes them smaller
	Key        []byte // 16, 24 or 32 bytes; encrypts chunks with AES-GCM
	Durability Durability

	maxOpen int              // maximum number of open files of a process; default 64
	clock   func() time.Time // default time.Now
}

// Validate returns an error that wraps ErrUsage.
func (o *Options) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Durability > DurableSnapshot:
		return fault.Usage("Durability %d", o.Durability)
	}
	_, err := aead(o.Key)
	return err
}

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if v.maxOpen == 0 {
		v.maxOpen = 64
	}
	if v.clock == nil {
		v.clock = time.Now
	}
	return v
}

// aead returns the cipher for a key, or nil if there is no key.
func aead(key []byte) (cipher.AEAD, error) {
	if len(key) == 0 {
		return nil, nil
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, fault.Usage("Key of %d bytes, want 16, 24 or 32", len(key))
	}
	return cipher.NewGCM(b)
}

// Type is the type of the elements of an array.
type Type = elem.Type

// TypeOf returns the element type of T for Put and Get.
func TypeOf[T comm.Number]() Type { return elem.TypeOf[T]() }

// parseType parses the output of Type.String.
func parseType(s string) (Type, error) {
	if t := elem.Parse(s); t.Valid() {
		return t, nil
	}
	return 0, fault.Usage("type %q, want int8 ... uint64, float32 or float64", s)
}

// bytesOf returns the memory of a slice of numbers.
func bytesOf[T comm.Number](v []T) []byte { return elem.Bytes(v) }
