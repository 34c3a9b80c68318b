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

	// A reader keeps a list for each chunk of a segment: 24 bytes and more.
	maxSegChunks = 1 << 24
)

// Spec describes an array. It does not change, except that Reserve changes the length.
type Spec struct {
	Name  string  // letters, digits, "_", "-", "."; the directory of the array in its store
	Type  Type    //
	Shape []int64 // 1 to 4 dimensions, slowest first, elements
	Chunk int     // the unit of change in bytes, 512 to 16 MiB, a multiple of 8; default 64 KiB

	// Extra is how much more than needed an array has room for: its capacity is ceil((1+Extra)*need) elements.
	Extra float64
	// EveryRegrid allocates the array again at each Reserve, not only when it grows over its capacity.
	EveryRegrid bool

	Keep Retention
}

// Retention says which versions stay. Dropped ones vanish when a newer one is committed. Tainted versions do not count, and vanish with the others.
type Retention struct {
	Last  int   // how many of the newest stay; 0: all
	Every int64 // versions whose number is a multiple of this stay, too; 0: none
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

// elems is the number of elements of a shape, -1 if there can be no such shape.
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

// chunkElems is the number of elements of a chunk.
func (s *Spec) chunkElems() int64 { return int64(s.Chunk / s.Type.Size()) }

// capacity returns how many elements an array gets that needs need of them.
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

// Durability says what a commit waits for.
type Durability uint8

const (
	DurableCommit Durability = iota // survives a power loss
	DurableNone                     // survives the end of the program
	// DurableSnapshot is for hierarchies in a directory: versions of the levels are for going back in the same job until a snapshot
	// names them; one commit then makes them durable on all levels, and so does Close. After a kill the last snapshot is there. Other arrays take it for DurableCommit.
	DurableSnapshot
)

// Store is where versions are kept. nil, or the zero value, is memory: then they live as long as
// the array; ranks that share no heap read each other's through windows.
type Store struct {
	// Dir is a directory that all nodes see; each array has one of its own below. "" is memory.
	Dir string
	// FS is the file system, default the operating system's.
	FS vfs.FS
	// Copies is how many other nodes keep a copy of a node's files in their memory: 0 to 8. Memory only.
	Copies int
}

// Options of Create and Open. nil, or a zero field, means the default.
type Options struct {
	Compress   bool   // chunks are compressed with zstd, as far as that makes them smaller
	Key        []byte // 16, 24 or 32 bytes: chunks are encrypted with AES-GCM
	Durability Durability

	maxOpen int              // open files of one process; default 64
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

// aead is the cipher of a key, nil without one.
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

// Type of the elements of an array.
type Type = elem.Type

// TypeOf is the type of elements that Put and Get take as T.
func TypeOf[T comm.Number]() Type { return elem.TypeOf[T]() }

// parseType is the reverse of Type.String.
func parseType(s string) (Type, error) {
	if t := elem.Parse(s); t.Valid() {
		return t, nil
	}
	return 0, fault.Usage("type %q, want int8 ... uint64, float32 or float64", s)
}

// bytesOf views a slice of numbers as its memory.
func bytesOf[T comm.Number](v []T) []byte { return elem.Bytes(v) }
