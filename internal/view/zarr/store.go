package zarr

import (
	"context"
	"slices"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/chunks"
	"blobio/internal/base/fault"
)

// Version is the version of the specification.
type Version uint8

// The versions.
const (
	V3 Version = iota
	V2
)

// Bounds of Options.ChunkBytes.
const (
	DefaultChunk = 8 << 20
	MinChunk     = 4 << 10
	MaxChunk     = 1 << 30
)

// Source is the source of a store: a *blob.Reader, or a part of one. It has the methods of the Reader.
type Source interface {
	Base() string
	Schema() *blob.Schema
	Records() int64
	ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error
}

// Options are the options of New. The zero value, or nil, means the defaults.
type Options struct {
	Version    Version     // default V3
	ChunkBytes int64       // maximum bytes of a chunk, before compression; default DefaultChunk
	Records    *blob.Range // only these records; nil: all
	Grows      bool        // records will be added, so the shape of chunks must not depend on the number of records
	Codecs     Codecs      // V3 only; default none
}

// Validate returns an error for invalid options.
func (o *Options) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Version > V2:
		return fault.Usage("Options.Version %d is unknown", o.Version)
	case o.ChunkBytes != 0 && (o.ChunkBytes < MinChunk || o.ChunkBytes > MaxChunk):
		return fault.Usage("Options.ChunkBytes %d, want %d to %d", o.ChunkBytes, MinChunk, MaxChunk)
	case o.Records != nil && (o.Records.First < 0 || o.Records.End < o.Records.First):
		return fault.Usage("Options.Records %d to %d is not a valid range", o.Records.First, o.Records.End)
	case o.Version == V2 && o.Codecs.on():
		return fault.Usage("Options.Codecs requires version 3")
	}
	return o.Codecs.validate()
}

// A Store is a Zarr group of a dataset's variables. It is safe for concurrent use if the source is.
type Store struct {
	src     Source
	version Version
	first   int64 // first record of the source in the store
	arrays  []array
	byName  map[string]int
	meta    map[string][]byte
	keys    []string // of meta, in listing order
	bytes   int64
	codecs  *encoder
}

// array is one variable.
type array struct {
	name   string // name in keys
	v      *blob.Variable
	typ    *dtype
	fill   *cdf5.Att // its _FillValue; nil: none
	dims   []string
	grid   chunks.Grid
	record bool
}

// New makes the store of a source. It reads only the header.
func New(src Source, o *Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	s := &Store{src: src, version: o.Version, byName: map[string]int{}, meta: map[string][]byte{}, codecs: newEncoder(o.Codecs)}
	records := src.Records()
	if q := o.Records; q != nil {
		if q.End > records {
			return nil, fault.Usage("records %d to %d, but %s has %d records", q.First, q.End, src.Base(), records)
		}
		s.first, records = q.First, q.End-q.First
	}
	schema := src.Schema()
	target := o.ChunkBytes
	if target == 0 {
		target = DefaultChunk
	}
	for i := range schema.Vars() {
		v := &schema.Vars()[i]
		a := newArray(schema, blob.VarID(i), records, target, o.Grows)
		if _, twice := s.byName[a.name]; twice || !canName(a.name) {
			return nil, fault.In(src.Base(), "variable", blob.ErrUnsupported, "%q is not a valid name of a Zarr array", v.Name)
		}
		n, ok := a.bytes()
		if !ok || n > maxBytes-s.bytes {
			return nil, fault.In(src.Base(), "variable", blob.ErrTooLarge, "%q and the variables before exceed 2^62 bytes", v.Name)
		}
		s.bytes += n
		s.byName[a.name] = len(s.arrays)
		s.arrays = append(s.arrays, a)
	}
	if err := s.describe(schema.Attributes()); err != nil {
		return nil, err
	}
	return s, nil
}

func newArray(schema *blob.Schema, id blob.VarID, records, target int64, grows bool) array {
	v := &schema.Vars()[id]
	full := schema.Shape(id)
	if v.Record {
		full = append([]int64{records}, full...)
	}
	a := array{name: text(v.Name), v: v, typ: typeOf(v.Type), record: v.Record, grid: chunks.Cut(full, v.Record, v.Type.Size(), target), dims: []string{}}
	if grows && v.Record {
		a.grid = chunks.CutGrowing(full, v.Type.Size(), target)
	}
	for _, d := range v.Dims {
		a.dims = append(a.dims, text(schema.Dims()[d].Name))
	}
	if f := cdf5.FindAtt(v.Atts, fillName); f != nil && f.Type == v.Type && f.Len() == 1 {
		a.fill = f
	}
	return a
}

// canName reports whether a variable's name can be part of a key and is not a metadata name.
func canName(s string) bool {
	return strings.Trim(s, ".") != "" && !strings.ContainsAny(s, "/\x00") && !strings.HasPrefix(s, ".z") && s != "zarr.json"
}

// chunkBytes returns the length of each chunk of the array, before compression.
func (a *array) chunkBytes() int64 { return a.grid.Elems() * int64(a.v.Type.Size()) }

// Of returns the same store for another source, such as a later Reader of the same state. The source must have the same
// header and the same records.
func (s *Store) Of(src Source) *Store {
	t := *s
	t.src = src
	return &t
}

// MetaBytes returns the total size of the metadata in bytes.
func (s *Store) MetaBytes() (n int64) {
	for _, b := range s.meta {
		n += int64(len(b))
	}
	return n
}

// Bytes returns the total size of all elements in memory.
func (s *Store) Bytes() int64 { return s.bytes }

// maxBytes is the maximum size of a store. It is checked because a header may declare dimensions of any length.
const maxBytes = 1 << 62

// bytes returns the size of the array's elements in bytes, unless it is too large.
func (a *array) bytes() (int64, bool) {
	if slices.Contains(a.grid.Full, 0) {
		return 0, true
	}
	n := int64(a.v.Type.Size())
	for _, l := range a.grid.Full {
		if l > maxBytes/n {
			return 0, false
		}
		n *= l
	}
	return n, true
}
