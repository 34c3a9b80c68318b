package subfile

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Versions of the manifest. Version 2 has a log or room for records: a program that knows only version 1 would ignore the
// commits in the log, and would expect data in the room for records. Version 3 has attributes, a set whose maps differ from the
// maps of the first set, or several sets with growing files. An older program would put elements in wrong places.
const (
	plainVersion = 1
	logVersion   = 2
	setsVersion  = 3
	addedVersion = 4 // variables are added; an older program would miss them
)

// maxManifest is the maximum length of a manifest in bytes.
const maxManifest = 1 << 30

// A Manifest lists the parts of a whole dataset. Its file has one JSON object and a line feed. A second object follows, with the
// CRC-32 (IEEE) and a copy of the first, and a line feed. A truncated file fails the check.
type Manifest struct {
	Version    int       `json:"blobio_manifest"`      // plainVersion to addedVersion
	Prepared   bool      `json:"prepared"`             // all bytes of the dataset are durable
	ID         string    `json:"id"`                   // 32 random hex digits, new for each Create
	Writer     string    `json:"writer,omitempty"`     // tag of the writer that committed this record, part of the partial subfile names; empty: their names have no tag
	Log        string    `json:"log,omitempty"`        // tag of a writer that continues after this commit, in the log LogName; empty: the dataset is finished
	Commits    int64     `json:"commits,omitempty"`    // number of commits of the writer Log; 0 without Log
	Held       *HeldBack `json:"held_back,omitempty"`  // records held back by the last commit; nil: none, or no Log
	Session    string    `json:"session,omitempty"`    // tag of the writer whose log was folded into this record; empty: none
	Died       bool      `json:"died,omitempty"`       // the writer Session did not finish, and another program folded its log
	Layout     string    `json:"layout"`               // "variable-centric" or "process-centric"
	Base       string    `json:"base"`                 // base name without directory; in the file, the name at the time of writing (see own)
	Records    int64     `json:"records"`              // committed records of all sets
	Ranks      int       `json:"ranks"`                // number of ranks that wrote the first set
	Maps       []string  `json:"maps,omitempty"`       // fingerprint of each decomposition map of the first set, D1 first; see docs/format-manifest.md
	Codec      string    `json:"codec,omitempty"`      // compression; empty: none
	Piece      int64     `json:"piece,omitempty"`      // bytes per piece of Subfile.Pieces; 0: no pieces
	Atts       []AttInfo `json:"atts,omitempty"`       // attributes added or changed after the headers were written
	Finals     bool      `json:"finals,omitempty"`     // in an announcement: subfiles are written under their final names
	Unverified bool      `json:"unverified,omitempty"` // made from data whose checksums were not verified
	Sets       []SetInfo `json:"sets"`                 // one for Create, and one for each append or commit that cannot grow the existing files

	was     string         // Base as in the file
	flaw    error          // damage of one of the two copies in the file
	settled bool           // every subfile has its final name
	coarse  bool           // Grow has dropped the piece checksums
	pieces  int            // number of piece checksums; only in a clone
	atts    map[attKey]int // index of each attribute in Atts; nil: not computed. If computed, no other manifest shares the list Atts
}

// SetInfo describes the subfiles of one set.
type SetInfo struct {
	Base     string    `json:"base"`            // file name without directory: SetBase of the manifest's base
	First    int64     `json:"first"`           // first dataset record in this set
	Records  int64     `json:"records"`         // number of records
	Room     int64     `json:"room,omitempty"`  // number of records for which the files have space, if above Records
	Ranks    int       `json:"ranks,omitempty"` // ranks that wrote the set, if its maps differ from the first set; 0: the manifest's Ranks and Maps apply
	Maps     []string  `json:"maps,omitempty"`
	Added    []string  `json:"added,omitempty"` // variables that earlier sets lack
	Subfiles []Subfile `json:"subfiles"`
}

// AttInfo is an attribute that the file headers lack or have with another value.
type AttInfo struct {
	Var  string `json:"var,omitempty"` // name of the variable; empty: attribute of the dataset
	Name string `json:"name"`
	Type string `json:"type"` // CDF-5 type: "char", "double", ...
	Data []byte `json:"data"` // values in sequence, big-endian
}

// attKey identifies an attribute.
type attKey struct{ of, name string }

// AddAtts adds attributes to a manifest and replaces attributes of the same name.
func (m *Manifest) AddAtts(list []AttInfo) {
	if len(list) == 0 {
		return
	}
	if m.atts == nil {
		m.Atts, m.atts = slices.Clone(m.Atts), map[attKey]int{}
		for k := len(m.Atts) - 1; k >= 0; k-- {
			m.atts[attKey{m.Atts[k].Var, m.Atts[k].Name}] = k
		}
	}
	for _, a := range list {
		key := attKey{a.Var, a.Name}
		if k, ok := m.atts[key]; ok {
			m.Atts[k] = a
			continue
		}
		m.atts[key] = len(m.Atts)
		m.Atts = append(m.Atts, a)
	}
}

// Places returns the number of records for which the files of the set have space.
func (s *SetInfo) Places() int64 { return max(s.Room, s.Records) }

// MapsOf returns the number of ranks that wrote a set and the fingerprints of its maps.
func (m *Manifest) MapsOf(s *SetInfo) (ranks int, prints []string) {
	if s.Ranks != 0 {
		return s.Ranks, s.Maps
	}
	return m.Ranks, m.Maps
}

// SameMaps reports whether a set has these map fingerprints and numbers of ranks and subfiles. If so, the files of the set
// contain these maps.
func (m *Manifest) SameMaps(s *SetInfo, ranks, subfiles int, prints []string) bool {
	n, p := m.MapsOf(s)
	return n == ranks && len(s.Subfiles) == subfiles && slices.Equal(p, prints)
}

// Last returns the last set: the only one whose files may grow.
func (m *Manifest) Last() *SetInfo { return &m.Sets[len(m.Sets)-1] }

// Subfile describes one file.
type Subfile struct {
	Size      int64   `json:"size"`             // bytes that belong to the dataset; later bytes are an unfinished append
	HeaderOff int64   `json:"header_off"`       // offset of the header (CDF-5 header, or header_blob) in the file
	HeaderLen int64   `json:"header_len"`       // length of the header in bytes
	HeaderCRC CRC     `json:"header_crc"`       // CRC-32 of the header with zeros in place of numrecs, because an append changes numrecs
	Blobs     []int64 `json:"blobs,omitempty"`  // process-centric: file offset of each rank's blob, then the end of the last blob
	Extents   CRCs    `json:"extents"`          // CRC-32 of each extent: the fixed variables in definition order, then the record variables record by record; see docs/format-manifest.md
	Pieces    CRCs    `json:"pieces,omitempty"` // CRC-32 of each piece of Manifest.Piece bytes, for extents longer than a piece. The last piece of an extent may be shorter. Empty: no pieces
}

// CRC is a checksum, written as 8 hex digits.
type CRC uint32

// MarshalText implements encoding.TextMarshaler.
func (c CRC) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%08x", uint32(c)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *CRC) UnmarshalText(b []byte) error {
	var list CRCs
	if len(b) != 8 {
		return fmt.Errorf("checksum %q, want 8 hex digits", b)
	}
	if err := list.UnmarshalText(b); err != nil {
		return err
	}
	*c = CRC(list[0])
	return nil
}

// CRCs is a list of checksums, written as one string with 8 hex digits for each.
type CRCs []uint32

// MarshalText implements encoding.TextMarshaler.
func (c CRCs) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 8*len(c))
	for _, v := range c {
		b = hex.AppendEncode(b, binary.BigEndian.AppendUint32(nil, v))
	}
	return b, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *CRCs) UnmarshalText(b []byte) error {
	if len(b)%8 != 0 {
		return fmt.Errorf("checksums have %d hex digits, want a multiple of 8", len(b))
	}
	*c = make(CRCs, len(b)/8)
	var v [4]byte
	for i := range *c {
		if _, err := hex.Decode(v[:], b[8*i:8*i+8]); err != nil {
			return err
		}
		(*c)[i] = binary.BigEndian.Uint32(v[:])
	}
	return nil
}

// manifests identifies the format of manifests.
var manifests = durable.Manifest{Field: "blobio_manifest", Version: addedVersion, Oldest: plainVersion, Twice: true}

// Encode returns the bytes of the manifest's file.
func (m *Manifest) Encode() ([]byte, error) {
	m.Version = plainVersion
	if m.Log != "" || slices.ContainsFunc(m.Sets, func(s SetInfo) bool { return s.Room != 0 }) {
		m.Version = logVersion
	}
	if m.Layout == "variable-centric" && len(m.Sets) > 1 || len(m.Atts) > 0 || slices.ContainsFunc(m.Sets, func(s SetInfo) bool { return s.Ranks != 0 }) {
		m.Version = setsVersion
	}
	if slices.ContainsFunc(m.Sets, func(s SetInfo) bool { return len(s.Added) > 0 }) {
		m.Version = addedVersion
	}
	return manifests.Encode(m)
}

// Decode is the reverse of Encode. It does not change the names of sets. name is for error messages.
func Decode(b []byte, name string) (*Manifest, error) {
	m := new(Manifest)
	flaw, err := manifests.Decode(b, name, m, &m.Version)
	if err != nil {
		return nil, err
	}
	m.flaw = flaw
	if err := m.validate(name); err != nil {
		return nil, err
	}
	return m, nil
}

// maxRecords bounds the records of a manifest, so that sums cannot overflow.
const maxRecords = 1 << 62

// validate checks whether the fields of the manifest are consistent. It reads no other file.
func (m *Manifest) validate(name string) error {
	corrupt := func(field, format string, args ...any) error {
		return bad(name, -1, field, fault.ErrCorrupt, format, args...)
	}
	if !plainName(m.Base) {
		return corrupt("base", "%q, want a file name without directory", m.Base)
	}
	if m.Layout != "variable-centric" && m.Layout != "process-centric" {
		return corrupt("layout", "%q, want variable-centric or process-centric", m.Layout)
	}
	if m.Writer != "" && !durable.IsTag(m.Writer) {
		return corrupt("writer", "%q, want a w and 8 hexadecimal digits", m.Writer)
	}
	if m.Ranks < 1 {
		return corrupt("ranks", "%d, want at least 1", m.Ranks)
	}
	if len(m.Sets) == 0 {
		return corrupt("sets", "none, want at least one")
	}
	if m.Piece < 0 {
		return corrupt("piece", "%d, want at least 0", m.Piece)
	}
	switch {
	case m.Log != "" && !durable.IsTag(m.Log):
		return corrupt("log", "%q, want a w and 8 hexadecimal digits", m.Log)
	case m.Session != "" && !durable.IsTag(m.Session):
		return corrupt("session", "%q, want a w and 8 hexadecimal digits", m.Session)
	case m.Commits < 0 || (m.Commits > 0) != (m.Log != ""):
		return corrupt("commits", "%d, want at least 1 with a log, 0 without", m.Commits)
	}
	if err := m.Held.holds(m.Records); err != nil {
		return corrupt("held_back", "%v", err)
	}
	for k := range m.Atts {
		if m.Atts[k].Name == "" {
			return corrupt(fmt.Sprintf("atts[%d].name", k), "none")
		}
	}
	recs := int64(0)
	for i := range m.Sets {
		if err := m.validateSet(name, i, recs); err != nil {
			return err
		}
		recs += m.Sets[i].Records
	}
	if recs != m.Records {
		return corrupt("records", "%d records, but the sets hold %d", m.Records, recs)
	}
	return nil
}

// validateSet checks set i. recs is the number of records before it.
func (m *Manifest) validateSet(name string, i int, recs int64) error {
	corrupt := func(field, format string, args ...any) error {
		return bad(name, -1, field, fault.ErrCorrupt, format, args...)
	}
	s := &m.Sets[i]
	set := fmt.Sprintf("sets[%d].", i)
	switch {
	case !plainName(s.Base):
		return corrupt(set+"base", "%q, want a file name without directory", s.Base)
	case s.Records < 0 || s.Records > maxRecords-recs:
		return corrupt(set+"records", "%d, want 0..%d", s.Records, maxRecords-recs)
	case s.Room != 0 && (s.Room < s.Records || s.Room > maxRecords || m.Layout == "variable-centric"):
		return corrupt(set+"room", "%d, want none in a variable-centric dataset, otherwise %d..%d", s.Room, s.Records, int64(maxRecords))
	case s.First != recs:
		return corrupt(set+"first", "%d, want %d, the number of previous records", s.First, recs)
	case m.Prepared && m.number(i) != i:
		return corrupt(set+"base", "%q, want %q", s.Base, SetBase(m.Base, i))
	case s.Ranks < 0 || s.Ranks > 0 && i == 0:
		return corrupt(set+"ranks", "%d, want none in the first set, at least 0 in later sets", s.Ranks)
	case s.Ranks == 0 && len(s.Maps) > 0 || s.Ranks > 0 && len(s.Maps) != len(m.Maps):
		return corrupt(set+"maps", "%d fingerprints for %d ranks, but the manifest has %d fingerprints", len(s.Maps), s.Ranks, len(m.Maps))
	case len(s.Added) > 0 && i == 0:
		return corrupt(set+"added", "%d variables, want none in the first set", len(s.Added))
	case len(s.Subfiles) == 0:
		return corrupt(set+"subfiles", "none, want at least one")
	}
	if ranks, _ := m.MapsOf(s); len(s.Subfiles) > ranks {
		return corrupt(set+"subfiles", "%d subfiles for %d ranks, want at most one per rank", len(s.Subfiles), ranks)
	}
	for k := range s.Subfiles {
		f := &s.Subfiles[k]
		if f.Size < 0 || f.HeaderOff < 0 || f.HeaderLen < 0 || f.HeaderOff > f.Size || f.HeaderLen > f.Size-f.HeaderOff {
			return corrupt(fmt.Sprintf("%ssubfiles[%d]", set, k), "header of %d bytes at offset %d does not fit in a file of %d bytes", f.HeaderLen, f.HeaderOff, f.Size)
		}
		if len(f.Blobs) > 0 && m.Layout == "variable-centric" {
			return corrupt(fmt.Sprintf("%ssubfiles[%d].blobs", set, k), "%d offsets, want none in a variable-centric dataset", len(f.Blobs))
		}
		if len(f.Pieces) > 0 && m.Piece == 0 {
			return corrupt(fmt.Sprintf("%ssubfiles[%d].pieces", set, k), "%d checksums, but the size of a piece is 0", len(f.Pieces))
		}
		most := f.Size
		if m.Codec != "" { // offsets refer to the uncompressed file
			most = 1 << 62
		}
		for b, off := range f.Blobs {
			if off < 0 || off > most || b > 0 && off < f.Blobs[b-1] {
				return corrupt(fmt.Sprintf("%ssubfiles[%d].blobs[%d]", set, k, b), "%d, want ascending offsets up to %d", off, most)
			}
		}
	}
	return nil
}

// plainName reports whether s names a file in the manifest's own directory.
func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

// own changes the names of the sets to the names for the dataset base. Users copy and rename datasets, so the names in the
// manifest may be old.
func (m *Manifest) own(base string) {
	for k := range m.Sets {
		m.Sets[k].Base = SetBase(filepath.Base(base), m.number(k))
	}
	m.was, m.Base = m.Base, filepath.Base(base)
}

// Was returns the base name, without directory, that the dataset had when the manifest was written.
func (m *Manifest) Was() string { return m.was }

// number returns the number of set k of the manifest in the dataset. In an announcement, the only set has the number that its
// name contains. In other records, the number is k. Then the name may not contain it: if an older version appended to a copy of
// a dataset, earlier sets have the name of the original.
func (m *Manifest) number(k int) int {
	rest, ok := strings.CutPrefix(m.Sets[k].Base, m.Base)
	if ok && rest == "" {
		return 0
	}
	if n, err := strconv.ParseUint(strings.TrimPrefix(rest, "+"), 10, 31); ok && err == nil && rest == SetBase("", int(n)) {
		return int(n)
	}
	return k
}

// readManifest reads and checks one manifest file of the dataset base.
func readManifest(fsys vfs.FS, base, name string) (*Manifest, error) {
	m, _, err := readSeal(fsys, base, name)
	return m, err
}

// readSeal is readManifest, and also reports whether a crash or another program can have left an invalid file.
func readSeal(fsys vfs.FS, base, name string) (m *Manifest, torn bool, err error) {
	b, err := readAll(fsys, name)
	if err != nil {
		return nil, false, err
	}
	if m, err = Decode(b, name); err != nil {
		return nil, manifests.Torn(b, 0) || !manifests.In(b), err
	}
	m.own(base)
	return m, false, nil
}

// readAll returns the bytes of a manifest or a log.
func readAll(fsys vfs.FS, name string) (b []byte, err error) {
	err = vfs.Again(func() (read, err error) {
		f, err := fsys.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		b, read = manifestBytes(f, name)
		return read, nil
	})
	return b, err
}

func manifestBytes(f vfs.File, name string) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxManifest {
		return nil, bad(name, 0, "size", fault.ErrCorrupt, "%d bytes, want at most %d", size, int64(maxManifest))
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			return nil, bad(name, int64(n), "size", fault.ErrTruncated, "only %d of %d bytes could be read", n, size)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// Lists reports whether the record lists a file, named without directory.
func (m *Manifest) Lists(name string) (is bool) {
	m.eachName(func(n string) { is = is || n == name })
	return is
}

// eachName calls f with the names, without directory, of all subfiles.
func (m *Manifest) eachName(f func(name string)) {
	if m == nil {
		return
	}
	for _, s := range m.Sets {
		for i := range s.Subfiles {
			f(Name(s.Base, i))
		}
	}
}
