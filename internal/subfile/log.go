package subfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"blobio/internal/base/crccat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// An Entry is a later commit of an active writer. It has the additions to the previous state. In the log, an entry is an object,
// a line feed, and a second object with the checksum and a copy of the first, as in a manifest. An entry has Subfiles or Sets,
// never both. An entry with Atts or Held may have neither Subfiles nor Sets.
type Entry struct {
	Version  int       `json:"blobio_commit"` // 1; 2 with Atts; 3 with Held alone
	ID       string    `json:"id"`            // ID of the dataset
	Commit   int64     `json:"commit"`        // previous commit number plus one
	Records  int64     `json:"records"`       // records of the dataset after this commit
	Subfiles []Growth  `json:"subfiles,omitempty"`
	Sets     []SetInfo `json:"sets,omitempty"` // added sets
	Atts     []AttInfo `json:"atts,omitempty"` // new or changed attributes
	Held     *HeldBack `json:"held_back,omitempty"`
}

// HeldBack describes the records that a commit left out although ranks had put them, and the missing variable.
type HeldBack struct {
	Record int64  `json:"record"` // the first record held back; equals the number of committed records
	Put    int64  `json:"put"`    // one more than the last record put
	Var    string `json:"var"`    // the missing variable
	Rank   int    `json:"rank"`   // the rank that had not put the variable; -1: no rank had put it
}

// String is "records 3 to 5 are held back: rank 1 has not put "T" of record 3".
func (h *HeldBack) String() string {
	s := fmt.Sprintf("record %d is", h.Record)
	if h.Put-h.Record > 1 {
		s = fmt.Sprintf("records %d to %d are", h.Record, h.Put-1)
	}
	who := "no rank has"
	if h.Rank >= 0 {
		who = fmt.Sprintf("rank %d has not", h.Rank)
	}
	return fmt.Sprintf("%s held back: %s put %q of record %d", s, who, h.Var, h.Record)
}

// holds checks that h fits a state with this number of records.
func (h *HeldBack) holds(records int64) error {
	if h != nil && (h.Record != records || h.Put <= h.Record || h.Put > maxRecords || h.Rank < -1 || h.Var == "") {
		return fmt.Errorf("records %d to %d are held back, because %q of rank %d is missing, but the number of committed records is %d", h.Record, h.Put, h.Var, h.Rank, records)
	}
	return nil
}

// Growth is a commit's addition to a subfile of the last set.
type Growth struct {
	Size    int64 `json:"size"`             // new size of the file, as in Subfile
	Extents CRCs  `json:"extents"`          // checksums of the added extents
	Pieces  CRCs  `json:"pieces,omitempty"` // checksums of the pieces of these extents
}

var entries = durable.Manifest{Field: "blobio_commit", Version: heldVersion, Oldest: 1, Twice: true}

// attsVersion is the version of an entry with attributes. A reader that knows only version 1 would ignore the attributes.
const attsVersion = 2

// heldVersion is the version of an entry that has only Held. A reader that knows only older versions would report the entry as
// damaged.
const heldVersion = 3

// entryStart is the beginning of each entry.
var entryStart = []byte(`{"blobio_commit":`)

// Encode returns the bytes of the entry in the log.
func (e *Entry) Encode() ([]byte, error) {
	if e.Version = 1; len(e.Atts) > 0 {
		e.Version = attsVersion
	} else if len(e.Subfiles)+len(e.Sets) == 0 {
		e.Version = heldVersion
	}
	return entries.Encode(e)
}

// Clone returns a copy of m. Entries applied to the copy do not change m.
func (m *Manifest) Clone() *Manifest {
	c := *m
	c.Atts, c.atts = slices.Clone(m.Atts), nil
	c.Sets, c.pieces = slices.Clone(m.Sets), 0
	for i := range c.Sets {
		s := &c.Sets[i]
		s.Subfiles = slices.Clone(s.Subfiles)
		for k := range s.Subfiles {
			f := &s.Subfiles[k]
			f.Extents, f.Pieces = slices.Clip(f.Extents), slices.Clip(f.Pieces)
			c.pieces += len(f.Pieces)
		}
	}
	return &c
}

// limit drops the piece checksums of an added set if the manifest would have more than crccat.MaxPieces of them.
func (m *Manifest) limit(s *SetInfo) {
	n := 0
	for k := range s.Subfiles {
		n += len(s.Subfiles[k].Pieces)
	}
	if m.coarse = m.pieces+n > crccat.MaxPieces; !m.coarse {
		m.pieces += n
		return
	}
	for k := range s.Subfiles {
		s.Subfiles[k].Pieces = nil
	}
}

// grow adds records to the last set.
func (m *Manifest) grow(records int64, by []Growth) {
	s := &m.Sets[len(m.Sets)-1]
	s.Records += records - m.Records
	m.Records = records
	n := 0
	for k := range by {
		n += len(by[k].Pieces)
	}
	if m.pieces+n > crccat.MaxPieces && !m.coarse { // a set has checksums for all its pieces or for none
		m.coarse = true
		for k := range s.Subfiles {
			m.pieces -= len(s.Subfiles[k].Pieces)
			s.Subfiles[k].Pieces = nil
		}
	}
	for k := range by {
		f := &s.Subfiles[k]
		f.Size = by[k].Size
		f.Extents = append(f.Extents, by[k].Extents...)
		if !m.coarse {
			f.Pieces = append(f.Pieces, by[k].Pieces...)
			m.pieces += len(by[k].Pieces)
		}
	}
}

// Apply changes m, which Clone returned, to the state after the entry e.
func (m *Manifest) Apply(e *Entry) error { return m.apply(e, LogName(m.Base, m.Log), -1) }

func (m *Manifest) apply(e *Entry, name string, off int64) error {
	corrupt := func(field, format string, args ...any) error {
		return bad(name, off, field, fault.ErrCorrupt, format, args...)
	}
	switch {
	case e.ID != m.ID:
		return corrupt("id", "%q, but the manifest has %q", e.ID, m.ID)
	case e.Commit != m.Commits+1:
		return corrupt("commit", "%d, want %d", e.Commit, m.Commits+1)
	case e.Records < m.Records || e.Records > maxRecords:
		return corrupt("records", "%d, want %d..%d", e.Records, m.Records, int64(maxRecords))
	case len(e.Subfiles)+len(e.Sets) == 0 && (len(e.Atts) > 0 || e.Held != nil) && e.Records == m.Records:
	case (len(e.Subfiles) > 0) == (len(e.Sets) > 0):
		return corrupt("subfiles", "%d subfiles and %d sets, want only one of the two", len(e.Subfiles), len(e.Sets))
	}
	for k := range e.Atts {
		if e.Atts[k].Name == "" {
			return corrupt(fmt.Sprintf("atts[%d].name", k), "none")
		}
	}
	if err := e.Held.holds(e.Records); err != nil {
		return corrupt("held_back", "%v", err)
	}
	m.Commits, m.Held = e.Commit, e.Held
	m.AddAtts(e.Atts)
	if len(e.Subfiles)+len(e.Sets) == 0 {
		return nil
	}
	if len(e.Sets) > 0 {
		recs := m.Records
		for i := range e.Sets {
			if n := len(e.Sets[i].Added); n > 0 { // only a manifest of version 4 may list added variables
				return corrupt(fmt.Sprintf("sets[%d].added", i), "%d variables, want none in a log", n)
			}
			m.Sets = append(m.Sets, e.Sets[i])
			if err := m.validateSet(name, len(m.Sets)-1, recs); err != nil {
				return err
			}
			m.Last().Base = SetBase(m.Base, len(m.Sets)-1) // the dataset may have been renamed
			recs += e.Sets[i].Records
			m.limit(&m.Sets[len(m.Sets)-1])
		}
		if recs != e.Records {
			return corrupt("records", "%d records, but the sets hold %d", e.Records, recs)
		}
		m.Records = recs
		return nil
	}
	s := &m.Sets[len(m.Sets)-1]
	if len(e.Subfiles) != len(s.Subfiles) {
		return corrupt("subfiles", "%d subfiles, but the set has %d", len(e.Subfiles), len(s.Subfiles))
	}
	added := e.Records - m.Records
	if m.Layout != "variable-centric" && added > s.Room-s.Records {
		return corrupt("records", "%d records, but the set has room for only %d more than %d", e.Records, max(s.Room-s.Records, 0), m.Records)
	}
	for k := range e.Subfiles {
		if g := &e.Subfiles[k]; g.Size < s.Subfiles[k].Size {
			return corrupt(fmt.Sprintf("subfiles[%d].size", k), "%d, less than the previous size %d", g.Size, s.Subfiles[k].Size)
		} else if len(g.Pieces) > 0 && m.Piece == 0 {
			return corrupt(fmt.Sprintf("subfiles[%d].pieces", k), "%d checksums, but the size of a piece is 0", len(g.Pieces))
		}
	}
	m.grow(e.Records, e.Subfiles)
	return nil
}

// applyLog applies the entries in b, the bytes of the log. It returns the length of the entries, and an error (flaw) for each
// entry with one damaged copy. An incomplete last entry is ignored. Complete bytes that are not an entry are an error, because a
// commit that readers have seen may be lost.
func (m *Manifest) applyLog(b []byte, name string) (n int64, flaws []error, err error) {
	last := byte('\n') // last byte of the previous entry
	for len(b) > 0 {
		e := new(Entry)
		k, flaw, err := entries.DecodeFirst(b, name, n, e, &e.Version)
		switch {
		case err == nil:
			if flaw != nil {
				flaws = append(flaws, flaw)
			}
		case !errors.Is(err, fault.ErrChecksum): // the entry is complete but damaged
			return n, flaws, err
		default:
			if at := laterEntry(b, name, m.Commits+1); at > 0 {
				return n, flaws, bad(name, n, "commit", fault.ErrCorrupt, "the commit is incomplete, but a complete commit follows at %d: %v", n+int64(at), err)
			}
			if k := int64(entries.Length(b)); k > 0 && int64(len(b)) > k {
				return n, flaws, bad(name, n, "commit", fault.ErrCorrupt, "the commit is incomplete, but the next commit begins at %d, so this commit was on disk: %v", n+k, err)
			}
			if last != '\n' {
				return n, flaws, bad(name, n, "commit", fault.ErrCorrupt, "the commit is incomplete, and the end of the previous commit, which was on disk, is damaged: %v", err)
			}
			if !entries.Torn(b, n) {
				return n, flaws, bad(name, n, "commit", fault.ErrCorrupt, "the completely written commit is damaged, so commits may be lost: %v", err)
			}
			return n, flaws, nil
		}
		if err := m.apply(e, name, n); err != nil {
			return n, flaws, err
		}
		n, last, b = n+int64(k), b[k-1], b[k:]
	}
	return n, flaws, nil
}

// laterEntry returns the offset in b of a later whole entry, or of a whole copy of an entry with a commit number above commit. It
// returns 0 if there is no such entry. The line feed before an entry may be damaged, so an entry may begin inside a line. The
// search is linear: the text of entryStart cannot occur inside a whole entry, because JSON escapes quotes.
func laterEntry(b []byte, name string, commit int64) int {
	for at := 0; ; {
		end := bytes.IndexByte(b[at:], '\n') + 1
		if end == 0 {
			return 0
		}
		if k := bytes.LastIndex(b[at:at+end], entryStart); k > 0 || k == 0 && at > 0 {
			e := new(Entry)
			if _, _, err := entries.DecodeFirst(b[at+k:], name, 0, e, &e.Version); err == nil || entries.DecodeCopy(b[at+k:], e) && e.Commit > commit {
				return at + k
			}
		}
		at += end
	}
}

// readLog applies the log that the record names. With force it applies the entries before the damage in a damaged log.
func (s *State) readLog(fsys vfs.FS, base string, force bool) error {
	name := LogName(base, s.Record.Log)
	b, err := readAll(fsys, name)
	if err != nil {
		return err
	}
	m := s.Record.Clone()
	var flaws []error
	if s.LogEnd, flaws, err = m.applyLog(b, name); err != nil {
		if !force {
			return err
		}
		s.Lost = err
	}
	s.Flaws = append(s.Flaws, flaws...)
	s.Manifest, s.LogTorn = m, int64(len(b))-s.LogEnd
	return nil
}
