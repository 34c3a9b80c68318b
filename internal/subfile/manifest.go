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

// Versions of the manifest. A manifest that names a log, or room for records, has the second: a program that knows only the first must neither take the commits of
// the log for unwritten space, nor expect the records. A manifest has the third if a set has other maps than the first set, if several sets have files that grow, or if it has attributes:
// an older program would put elements where they do not belong.
const (
	plainVersion = 1
	logVersion   = 2
	setsVersion  = 3
	addedVersion = 4 // variables are added: an older program would leave them out
)

// maxManifest bounds how much of a manifest is read, in bytes.
const maxManifest = 1 << 30

// A Manifest lists the parts of a whole dataset. On disk it is one JSON
// object and a line feed, then a second object with the CRC-32 (IEEE) of all
// bytes of the first, a copy of the first, and a line feed; a file cut short anywhere fails.
type Manifest struct {
	Version    int       `json:"blobio_manifest"`      // plainVersion to addedVersion
	Prepared   bool      `json:"prepared"`             // every byte that it describes is durable
	ID         string    `json:"id"`                   // random, one per Create: 32 hex digits
	Writer     string    `json:"writer,omitempty"`     // tag of the writer that committed this record: it is in the names of partial subfiles; empty: they have none
	Log        string    `json:"log,omitempty"`        // tag of a writer that goes on after this commit: LogName has its further ones; empty: the dataset is finished
	Commits    int64     `json:"commits,omitempty"`    // of that writer so far; 0 without Log
	Held       *HeldBack `json:"held_back,omitempty"`  // by the last of them; nil: nothing, or no Log
	Session    string    `json:"session,omitempty"`    // tag of the writer whose log was made a part of this record; empty: there was none
	Died       bool      `json:"died,omitempty"`       // that writer did not come to its end, another program did this
	Layout     string    `json:"layout"`               // "variable-centric" or "process-centric"
	Base       string    `json:"base"`                 // base name without directory. In a file it is the one that the dataset had then: see own
	Records    int64     `json:"records"`              // committed records, of all sets together
	Ranks      int       `json:"ranks"`                // ranks that wrote it, its first set
	Maps       []string  `json:"maps,omitempty"`       // fingerprint of each decomposition map of the first set, D1 first: docs/format-manifest.md
	Codec      string    `json:"codec,omitempty"`      // compression; empty: none
	Piece      int64     `json:"piece,omitempty"`      // bytes of a piece of Subfile.Pieces; 0: there are none
	Atts       []AttInfo `json:"atts,omitempty"`       // given, or changed, behind the headers
	Finals     bool      `json:"finals,omitempty"`     // of an announcement: subfiles are written under their final names
	Unverified bool      `json:"unverified,omitempty"` // made from data that were not compared with their checksums
	Sets       []SetInfo `json:"sets"`                 // one for Create, one more for each append, or commit, that cannot add to the files before

	was     string         // Base as it is in the file
	flaw    error          // one of its two copies in the file is damaged
	settled bool           // every subfile has its final name
	coarse  bool           // Grow has left out checksums of pieces
	pieces  int            // how many of them there are; of a clone
	atts    map[attKey]int // where each is in Atts, which then nobody else has; nil: not known
}

// SetInfo describes the subfiles of one set.
type SetInfo struct {
	Base     string    `json:"base"`            // without directory: SetBase of the manifest's
	First    int64     `json:"first"`           // first record of the dataset that is in this set
	Records  int64     `json:"records"`         // how many
	Room     int64     `json:"room,omitempty"`  // for how many there are places in the files, if for more than there are
	Ranks    int       `json:"ranks,omitempty"` // that wrote it, if it has other maps than the first set; 0: the manifest's ranks and maps hold
	Maps     []string  `json:"maps,omitempty"`
	Added    []string  `json:"added,omitempty"` // variables that the sets before do not have
	Subfiles []Subfile `json:"subfiles"`
}

// AttInfo is an attribute that the headers of the files do not have, or have with another value.
type AttInfo struct {
	Var  string `json:"var,omitempty"` // empty: of the dataset
	Name string `json:"name"`
	Type string `json:"type"` // of CDF-5: "char", "double", ...
	Data []byte `json:"data"` // the values one after the other, high byte first
}

// attKey identifies an attribute.
type attKey struct{ of, name string }

// AddAtts adds attributes to a manifest; they replace attributes of the same name.
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

// Places returns for how many records the files of the set have places.
func (s *SetInfo) Places() int64 { return max(s.Room, s.Records) }

// MapsOf returns how many ranks wrote a set, and the fingerprints of its maps.
func (m *Manifest) MapsOf(s *SetInfo) (ranks int, prints []string) {
	if s.Ranks != 0 {
		return s.Ranks, s.Maps
	}
	return m.Ranks, m.Maps
}

// SameMaps reports whether a set has these maps, for that many ranks in that many subfiles. If so, files that hold the maps of the one hold the maps of the other.
func (m *Manifest) SameMaps(s *SetInfo, ranks, subfiles int, prints []string) bool {
	n, p := m.MapsOf(s)
	return n == ranks && len(s.Subfiles) == subfiles && slices.Equal(p, prints)
}

// Last returns the last set: the only one whose files may grow.
func (m *Manifest) Last() *SetInfo { return &m.Sets[len(m.Sets)-1] }

// Subfile describes one file.
type Subfile struct {
	Size      int64   `json:"size"`             // bytes that belong to the dataset; a longer file has an unfinished append behind them
	HeaderOff int64   `json:"header_off"`       // offset of the header (CDF-5 header, or header_blob) in the file
	HeaderLen int64   `json:"header_len"`       // its bytes
	HeaderCRC CRC     `json:"header_crc"`       // CRC-32 of the header with numrecs as zeros, which an append changes
	Blobs     []int64 `json:"blobs,omitempty"`  // process-centric: file offset of each rank's blob, and the end of the last
	Extents   CRCs    `json:"extents"`          // CRC-32 of each extent: of the fixed variables in definition order, then record by record of the record variables, see docs/format-manifest.md
	Pieces    CRCs    `json:"pieces,omitempty"` // CRC-32 of each Manifest.Piece bytes of each extent that is longer than that, in the order of the extents; the last of an extent may be shorter. Empty: of none
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

// CRCs is a list of checksums, written as one string of 8 hex digits each.
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

// manifests is the form by which manifests are recognised.
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

// Decode is the reverse of Encode: names are those that are written in it. name is used in errors.
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

// maxRecords bounds the records of a manifest, so that sums of them cannot wrap.
const maxRecords = 1 << 62

// validate checks a manifest by itself. The files are compared with it
// when they are opened.
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

// validateSet checks set i, before which there are recs records.
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
		return corrupt(set+"room", "%d, want none if variable-centric, else %d..%d", s.Room, s.Records, int64(maxRecords))
	case s.First != recs:
		return corrupt(set+"first", "%d, want %d, the number of previous records", s.First, recs)
	case m.Prepared && m.number(i) != i:
		return corrupt(set+"base", "%q, want %q", s.Base, SetBase(m.Base, i))
	case s.Ranks < 0 || s.Ranks > 0 && i == 0:
		return corrupt(set+"ranks", "%d, want none in the first set, else at least 0", s.Ranks)
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
			return corrupt(fmt.Sprintf("%ssubfiles[%d].pieces", set, k), "%d checksums of pieces of 0 bytes", len(f.Pieces))
		}
		most := f.Size
		if m.Codec != "" { // offsets count bytes of the plain file
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

// plainName reports whether a name means a file in the manifest's own directory.
func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

// own gives the sets the names that they have beside the manifest of the dataset base, whatever its name was when it was written: a dataset is copied and
// renamed by the names of its files.
func (m *Manifest) own(base string) {
	for k := range m.Sets {
		m.Sets[k].Base = SetBase(filepath.Base(base), m.number(k))
	}
	m.was, m.Base = m.Base, filepath.Base(base)
}

// Was returns the base name, without directory, that the dataset had when the manifest was written.
func (m *Manifest) Was() string { return m.was }

// number returns the number in the dataset of the k-th set of the manifest. An announcement has only one set, whose name has the number; otherwise it is k. In a
// copy to which an older version has appended, sets before have the name of the original.
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

// readSeal is readManifest, and says of one that is not whole whether a crash can have left it, or another program.
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

// Lists reports whether a file, named without directory, is one of the record's.
func (m *Manifest) Lists(name string) (is bool) {
	m.eachName(func(n string) { is = is || n == name })
	return is
}

// eachName calls f with the names of all subfiles, without directory.
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
