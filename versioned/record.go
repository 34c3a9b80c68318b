package versioned

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

// records is the seal by which records are recognised.
var records = durable.Seal{Format: "blobio versions", Version: 1}

// record is all that is known of an array beside the chunks.
type record struct {
	durable.SealHead
	Spec  spec   `json:"array"`
	Order string `json:"byte_order"` // of the elements: little or big
	Key   string `json:"key,omitempty"`

	Generations []geometry `json:"generations"` // the last one is the current one
	Files       []fileInfo `json:"files"`       // ascending by born, then node
	Versions    []verInfo  `json:"versions"`    // ascending by number

	Twice bool  `json:"twice,omitempty"` // it was written to both files
	Top   int64 `json:"top,omitempty"`   // the highest number that a version had which was dropped as the newest one; no other gets it
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

// specOf is a Spec as the record has it; public is the reverse.
func specOf(s *Spec) spec {
	return spec{s.Name, s.Type.String(), s.Shape, s.Chunk, s.Extra, s.EveryRegrid, s.Keep}
}

func (s *spec) public() (Spec, error) {
	t, err := parseType(s.Type)
	return Spec{Name: s.Name, Type: t, Shape: s.Shape, Chunk: s.Chunk, Extra: s.Extra, EveryRegrid: s.Every, Keep: s.Keep}, err
}

// fileInfo is one file: chunks of some segments, written by one process for one version.
type fileInfo struct {
	Name string `json:"name"`
	Node int    `json:"node"` // that wrote it; in memory, whose it is: copies are on the next nodes
	Gen  int    `json:"generation"`
	Born int64  `json:"born"` // the version it was written for
	From int64  `json:"from"` // the oldest version that any of its entries may be of; less than Born where cleaning moved some
	Size int64  `json:"size"`
	Sum  string `json:"sum"` // of its metadata, hex
	Segs []int  `json:"segments"`
}

// VersionInfo describes a committed version.
type VersionInfo struct {
	Number     int64   `json:"number"`
	Label      string  `json:"label,omitempty"`
	Time       int64   `json:"time_ns"` // since 1970, UTC
	Generation int     `json:"generation"`
	Shape      []int64 `json:"shape"`
	Changed    int64   `json:"changed"` // bytes of the chunks that were new in it
	Written    int64   `json:"written"` // bytes of the files that it wrote
	Tainted    bool    `json:"tainted,omitempty"`
}

// verInfo is a version as the record has it.
type verInfo struct {
	VersionInfo
	Sum string `json:"sum,omitempty"` // of the digests of all chunks, hex; see about
}

func (r *record) versions() []VersionInfo {
	out := make([]VersionInfo, len(r.Versions))
	for i := range r.Versions {
		out[i] = r.Versions[i].VersionInfo
		out[i].Shape = slices.Clone(out[i].Shape)
	}
	return out
}

// order is the byte order of the elements of a generation.
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

// find is version with the error for one that is not there.
func (r *record) find(n int64) (*verInfo, error) {
	v, ok := r.version(n)
	if !ok {
		return nil, fmt.Errorf("array %s: version %d: %w", r.Spec.Name, n, ErrNoVersion)
	}
	return v, nil
}

// newest is the newest version that is not tainted, nil if all are.
func (r *record) newest() *verInfo {
	for i := len(r.Versions) - 1; i >= 0; i-- {
		if !r.Versions[i].Tainted {
			return &r.Versions[i]
		}
	}
	return nil
}

// top is the highest number that any version has or had.
func (r *record) top() int64 { return max(r.Top, r.Versions[len(r.Versions)-1].Number) }

// drop takes a version away. Newest one or not, its number is not given again.
func (r *record) drop(version int64) {
	r.Top = max(r.Top, version*btoi(version == r.top()))
	r.Versions = slices.DeleteFunc(r.Versions, func(v verInfo) bool { return v.Number == version })
}

// goes says that a version may be dropped: there is another one, and it is not the newest of those that are not tainted.
func (r *record) goes(version int64) error {
	v, err := r.find(version)
	if err == nil && (len(r.Versions) == 1 || r.newest() == v) {
		err = fault.Usage("array %s: version %d is the newest version", r.Spec.Name, version)
	}
	return err
}

// empty reports whether nothing was committed but version 0.
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

// check checks every field for values that are possible.
func (r *record) check(name string) error {
	bad := func(field, format string, args ...any) error {
		return fault.At(name, 0, field, ErrCorrupt, format, args...)
	}
	s, err := r.Spec.public()
	if err != nil {
		return bad("type", "%q", r.Spec.Type)
	}
	if err := s.Validate(); err != nil {
		return bad("array", "%v", err)
	}
	if r.Spec.Chunk == 0 || r.Seq < 1 || r.Order != "little" && r.Order != "big" {
		return bad("array", "chunk %d, seq %d, byte order %q", r.Spec.Chunk, r.Seq, r.Order)
	}
	if len(r.Generations) == 0 {
		return bad("generations", "none")
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
				return bad("files", "%s has segment %d, there are %d", f.Name, s, g.Segs)
			}
		}
	}
	if len(r.Versions) == 0 {
		return bad("versions", "none") // the newest one is never dropped
	}
	for i, v := range r.Versions {
		g, ok := r.generation(v.Generation)
		if !ok || r.Top < 0 || i > 0 && v.Number <= r.Versions[i-1].Number || v.Number < 0 || len(v.Shape) != len(r.Spec.Shape) || elems(v.Shape) < 0 || elems(v.Shape) > g.Capacity {
			return bad("versions", "%+v", v)
		}
	}
	return nil
}
