package versioned

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// The record is in two files, so that the loss of one is not that of the array. Replacing the first one commits a version, drops one, or starts a generation.
const (
	recordName = "versions"
	secondName = "versions.second"
)

var recordNames = []string{recordName, secondName}

// records are told from other files by this.
var records = durable.Seal{Pkg: "versioned", Format: "blobio versions", Version: 1}

// record is all that is known of an array beside the chunks.
type record struct {
	durable.SealHead
	Spec  spec   `json:"array"`
	Order string `json:"byte_order"` // of the elements: little or big
	Key   string `json:"key,omitempty"`

	Generations []geometry `json:"generations"` // the last one is the current one
	Files       []fileInfo `json:"files"`       // ascending by born, then node
	Versions    []verInfo  `json:"versions"`    // ascending by number

	Sets []protection `json:"protected,omitempty"` // redundancy over the files

	Twice bool `json:"twice,omitempty"` // it was written to both files
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

// fileInfo is one file: chunks of some segments, written by one process for one version.
type fileInfo struct {
	Name string `json:"name"`
	Node int    `json:"node"` // whose store has it; copies are on the next nodes
	Gen  int    `json:"generation"`
	Born int64  `json:"born"` // the version it was written for
	From int64  `json:"from"` // the oldest version that any of its entries may be of; less than Born where cleaning moved some
	Size int64  `json:"size"`
	Sum  string `json:"sum"` // of its metadata, hex
	Segs []int  `json:"segments"`

	block *block // what is in it, if it is no file: see direct.go
}

// verInfo is one committed version.
type verInfo struct {
	Number  int64   `json:"number"`
	Label   string  `json:"label,omitempty"`
	Time    int64   `json:"time_ns"`
	Gen     int     `json:"generation"`
	Shape   []int64 `json:"shape"`
	Changed int64   `json:"changed"`       // bytes of chunks that were new
	Written int64   `json:"written"`       // bytes of its files
	Sum     string  `json:"sum,omitempty"` // of the digests of all chunks, hex; see about
}

func (r *record) clone() *record {
	c := *r
	c.Generations, c.Files, c.Versions = slices.Clone(r.Generations), slices.Clone(r.Files), slices.Clone(r.Versions)
	c.Sets = slices.Clone(r.Sets)
	c.Spec.Shape = slices.Clone(r.Spec.Shape)
	return &c
}

func (r *record) version(n int64) (*verInfo, bool) {
	i, ok := slices.BinarySearchFunc(r.Versions, n, func(v verInfo, n int64) int {
		if v.Number < n {
			return -1
		} else if v.Number > n {
			return 1
		}
		return 0
	})
	if !ok {
		return nil, false
	}
	return &r.Versions[i], true
}

// empty says that nothing was committed but version 0.
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

// check holds every field against what it can be.
func (r *record) check(name string) error {
	bad := func(field, format string, args ...any) error {
		return formatErr(name, 0, field, ErrCorrupt, format, args...)
	}
	t, err := ParseType(r.Spec.Type)
	if err != nil {
		return bad("type", "%q", r.Spec.Type)
	}
	s := Spec{Name: r.Spec.Name, Type: t, Shape: r.Spec.Shape, Chunk: r.Spec.Chunk, Extra: r.Spec.Extra, Keep: r.Spec.Keep}
	if err := s.Validate(); err != nil {
		return bad("array", "%v", err)
	}
	if r.Spec.Chunk == 0 || r.Seq < 1 || r.Order != "little" && r.Order != "big" {
		return bad("array", "chunk %d, seq %d, byte order %q", r.Spec.Chunk, r.Seq, r.Order)
	}
	if len(r.Generations) == 0 {
		return bad("generations", "none")
	}
	ce := int64(r.Spec.Chunk / t.Size())
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
	for _, p := range r.Sets {
		if p.Prefix != filepath.Base(p.Prefix) || !strings.HasPrefix(p.Prefix, "g") || !strings.HasSuffix(p.Prefix, ".") || !nameRE.MatchString(p.Prefix) || p.Members < 1 || p.Members > 1<<24 {
			return bad("protected", "%+v", p)
		}
	}
	if len(r.Versions) == 0 {
		return bad("versions", "none") // the newest one is never dropped
	}
	for i, v := range r.Versions {
		g, ok := r.generation(v.Gen)
		if !ok || i > 0 && v.Number <= r.Versions[i-1].Number || v.Number < 0 || len(v.Shape) != len(r.Spec.Shape) || elems(v.Shape) < 0 || elems(v.Shape) > g.Capacity {
			return bad("versions", "%+v", v)
		}
	}
	return nil
}

// readRecord returns the newest one of a directory that is sound. ErrMissing: there is none, and no file of a version either; where there are such files a record
// was lost, which is an error of the class ErrCorrupt.
func readRecord(fsys vfs.FS, dir string) (*record, error) {
	rec, bad := readRecords(fsys, dir)
	if rec != nil {
		return rec, nil
	}
	for _, err := range bad {
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	list, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if dataRE.MatchString(e.Name()) { // written after the first record
			return nil, formatErr(filepath.Join(dir, recordName), -1, "record", ErrCorrupt, "absent, but versions are there (%s); \"blobio versions rebuild\" makes it anew", e.Name())
		}
	}
	return nil, pkg.Errorf("%s: no array of this name: %w", dir, ErrMissing)
}

// readRecords reads both files: the newest sound record, nil if there is none, and by file what is wrong with it; of one that is sound but
// older that it is.
func readRecords(fsys vfs.FS, dir string) (best *record, bad []error) {
	var recs []*record
	for _, n := range recordNames {
		name := filepath.Join(dir, n)
		b, err := vfs.ReadFile(fsys, name, durable.MaxSeal)
		var r *record
		if err == nil {
			r, err = decodeRecord(b, name)
		}
		if err != nil {
			r = nil
		}
		if r != nil && (best == nil || r.Seq > best.Seq) {
			best = r
		}
		recs, bad = append(recs, r), append(bad, err)
	}
	for i, r := range recs {
		if r != nil && r.Seq < best.Seq {
			bad[i] = formatErr(filepath.Join(dir, recordNames[i]), 0, "seq", ErrCorrupt, "%d, that of the other record is %d", r.Seq, best.Seq)
		}
	}
	return best, bad
}

// lastSeq is that of the newest sound record in a directory, 0 if there is none. As a rule only the beginning of each is read.
func lastSeq(fsys vfs.FS, dir string) (last int64, err error) {
	for _, n := range recordNames {
		seq, err := seqOf(fsys, filepath.Join(dir, n))
		if err != nil {
			return 0, err
		}
		last = max(last, seq)
	}
	return last, nil
}

func seqOf(fsys vfs.FS, name string) (int64, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := make([]byte, 128)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return 0, err
	}
	var seq int64
	if _, err := fmt.Sscanf(string(b[:n]), `{"format":"`+records.Format+`","version":`+strconv.Itoa(records.Version)+`,"seq":%d,`, &seq); err == nil {
		return seq, nil
	}
	if b, err = vfs.ReadFile(fsys, name, durable.MaxSeal); err != nil {
		return 0, err
	}
	rec, err := decodeRecord(b, name) // of another writer, which may put the fields in another order
	switch {
	case err == nil:
		return rec.Seq, nil
	case damaged(err) && !errors.Is(err, ErrVersion): // what is written next mends it; that of a newer program is whole
		return 0, nil
	}
	return 0, err
}

// recordWriter is the owner of what is written to replace the record. Programs that write an array at once are told apart by the numbers of
// their commits.
const recordWriter = "versioned"

// writeRecord replaces the record, both files of it. After an UnsureError
// nobody knows which one a power loss would leave.
func writeRecord(fsys vfs.FS, dir string, b []byte, sync bool) error {
	names := make([]string, len(recordNames))
	for i, n := range recordNames {
		names[i] = filepath.Join(dir, n)
	}
	return durable.ReplaceAll(fsys, names, b, durable.ReplaceOptions{Owner: recordWriter, Sync: sync, SyncDir: sync})
}
