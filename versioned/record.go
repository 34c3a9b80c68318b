package versioned

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

// records is the seal that identifies records.
var records = durable.Seal{Format: "blobio versions", Version: 1}

// record describes an array completely, except for its chunks.
type record struct {
	durable.SealHead
	Spec  spec   `json:"array"`
	Order string `json:"byte_order"` // byte order of the elements: little or big
	Key   string `json:"key,omitempty"`

	Generations []geometry `json:"generations"` // the last generation is the current one
	Files       []fileInfo `json:"files"`       // ascending by born, then node
	Versions    []verInfo  `json:"versions"`    // ascending by number

	Twice bool  `json:"twice,omitempty"` // the record was written to both files
	Top   int64 `json:"top,omitempty"`   // highest number of a version that was dropped while it was the newest; numbers up to it are not used again
}

type spec struct {
	Name  string    `json:"name"`
	Type  string    `json:"type"`
	Shape []int64   `json:"shape"`
	Chunk int       `json:"chunk"`
	Extra float64   `json:"extra"`
	Every bool      `json:"every_regrid"`
	Keep  Retention `json:"keep"`
}

// specOf converts a Spec to its form in the record; public converts it back.
func specOf(s *Spec) spec {
	return spec{s.Name, s.Type.String(), s.Shape, s.Chunk, s.Extra, s.EveryRegrid, s.Keep}
}

func (s *spec) public() (Spec, error) {
	t, err := parseType(s.Type)
	return Spec{Name: s.Name, Type: t, Shape: s.Shape, Chunk: s.Chunk, Extra: s.Extra, EveryRegrid: s.Every, Keep: s.Keep}, err
}

// fileInfo describes one file: chunks of some segments, written by one process for one version.
type fileInfo struct {
	Name string `json:"name"`
	Node int    `json:"node"` // node that wrote the file; for a store in memory, the node that has it (the next nodes have copies)
	Gen  int    `json:"generation"`
	Born int64  `json:"born"` // the version for which the file was written
	From int64  `json:"from"` // oldest version of its entries; lower than Born if clean moved entries to this file
	Size int64  `json:"size"`
	Sum  string `json:"sum"` // MetaSum of the file, in hex
	Segs []int  `json:"segments"`
}

// VersionInfo describes a committed version.
type VersionInfo struct {
	Number     int64   `json:"number"`
	Label      string  `json:"label,omitempty"`
	Time       int64   `json:"time_ns"` // ns since 1970, UTC
	Generation int     `json:"generation"`
	Shape      []int64 `json:"shape"`
	Changed    int64   `json:"changed"` // size of the chunks that changed in this version, in bytes
	Written    int64   `json:"written"` // size of the files that this version wrote, in bytes
	Tainted    bool    `json:"tainted,omitempty"`
}

// verInfo is a version in the form of the record.
type verInfo struct {
	VersionInfo
	Sum string `json:"sum,omitempty"` // sum of the digests of all chunks, in hex
}

func (r *record) versions() []VersionInfo {
	out := make([]VersionInfo, len(r.Versions))
	for i := range r.Versions {
		out[i] = r.Versions[i].VersionInfo
		out[i].Shape = slices.Clone(out[i].Shape)
	}
	return out
}

// order returns the byte order of the elements of a generation.
func (r *record) order(g *geometry) string {
	if g.Order != "" {
		return g.Order
	}
	return r.Order
}

func (r *record) clone() *record {
	c := *r
	c.Generations, c.Files, c.Versions = slices.Clone(r.Generations), slices.Clone(r.Files), slices.Clone(r.Versions)
	c.Spec.Shape = slices.Clone(r.Spec.Shape)
	return &c
}

func (r *record) version(n int64) (*verInfo, bool) {
	i, ok := slices.BinarySearchFunc(r.Versions, n, func(v verInfo, n int64) int { return cmp.Compare(v.Number, n) })
	if !ok {
		return nil, false
	}
	return &r.Versions[i], true
}

// find does the same as version, but returns an error if there is no such version.
func (r *record) find(n int64) (*verInfo, error) {
	v, ok := r.version(n)
	if !ok {
		return nil, fmt.Errorf("array %s: version %d: %w", r.Spec.Name, n, ErrNoVersion)
	}
	return v, nil
}

// newest returns the newest untainted version, or nil if all versions are tainted.
func (r *record) newest() *verInfo {
	for i := len(r.Versions) - 1; i >= 0; i-- {
		if !r.Versions[i].Tainted {
			return &r.Versions[i]
		}
	}
	return nil
}

// top returns the highest number that any version has or had.
func (r *record) top() int64 { return max(r.Top, r.Versions[len(r.Versions)-1].Number) }

// drop removes a version. Its number is not reused.
func (r *record) drop(version int64) {
	r.Top = max(r.Top, version*btoi(version == r.top()))
	r.Versions = slices.DeleteFunc(r.Versions, func(v verInfo) bool { return v.Number == version })
}

// goes returns an error unless the version may be dropped. It may be dropped if it is not the only version and not the newest
// untainted version.
func (r *record) goes(version int64) error {
	v, err := r.find(version)
	if err == nil && (len(r.Versions) == 1 || r.newest() == v) {
		err = fault.Usage("array %s: version %d is the newest untainted version or the only version, and cannot be dropped", r.Spec.Name, version)
	}
	return err
}

// empty reports whether only version 0 was committed.
func (r *record) empty() bool {
	return len(r.Versions) == 1 && r.Versions[0].Number == 0 && len(r.Files) == 0
}

func (r *record) generation(id int) (*geometry, bool) {
	for i := range r.Generations {
		if r.Generations[i].ID == id {
			return &r.Generations[i], true
		}
	}
	return nil, false
}

func (r *record) encode() ([]byte, error) {
	r.Twice = true
	return records.Encode(r)
}

func decodeRecord(b []byte, name string) (*record, error) {
	var r record
	if err := records.Decode(b, name, &r, &r.SealHead); err != nil {
		return nil, err
	}
	return &r, r.check(name)
}

// check checks that every field has a valid value.
func (r *record) check(name string) error {
	bad := func(field, format string, args ...any) error {
		return fault.At(name, 0, field, ErrCorrupt, format, args...)
	}
	s, err := r.Spec.public()
	if err != nil {
		return bad("type", "%q, want the name of an element type", r.Spec.Type)
	}
	if err := s.Validate(); err != nil {
		return bad("array", "%v", err)
	}
	if r.Spec.Chunk == 0 || r.Seq < 1 || r.Order != "little" && r.Order != "big" {
		return bad("array", "chunk %d, seq %d, byte order %q", r.Spec.Chunk, r.Seq, r.Order)
	}
	if len(r.Generations) == 0 {
		return bad("generations", "none, want at least one")
	}
	ce := s.chunkElems()
	for i, g := range r.Generations {
		if i > 0 && g.ID <= r.Generations[i-1].ID || g.Capacity < 0 || g.Capacity > maxElems || g.Segs < 1 || g.Segs > 1<<24 ||
			g.Seg < ce || g.Seg%ce != 0 || g.Seg/ce > maxSegChunks || g.Seg*int64(g.Segs) < g.Capacity ||
			g.Order != "" && g.Order != "little" && g.Order != "big" {
			return bad("generations", "%+v", g)
		}
	}
	for i := range r.Files {
		f := &r.Files[i]
		g, ok := r.generation(f.Gen)
		if !ok || f.Name != filepath.Base(f.Name) || !nameRE.MatchString(f.Name) || !isData(f.Name) || f.Size < 0 || f.Node < 0 || f.From < 0 || f.From > f.Born || len(f.Sum) != 32 {
			return bad("files", "%+v", *f)
		}
		for _, s := range f.Segs {
			if s < 0 || s >= g.Segs {
				return bad("files", "%s has segment %d, want 0 to %d", f.Name, s, g.Segs-1)
			}
		}
	}
	if len(r.Versions) == 0 {
		return bad("versions", "none, want at least one") // there is always a newest version, which is never dropped
	}
	for i, v := range r.Versions {
		g, ok := r.generation(v.Generation)
		if !ok || r.Top < 0 || i > 0 && v.Number <= r.Versions[i-1].Number || v.Number < 0 || len(v.Shape) != len(r.Spec.Shape) || elems(v.Shape) < 0 || elems(v.Shape) > g.Capacity {
			return bad("versions", "%+v", v)
		}
	}
	return nil
}
