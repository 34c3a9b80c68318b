package salvage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
)

// State is the state of a scavenged file in the prefix directory.
type State uint8

// The states.
const (
	Absent  State = iota
	Wrong         // exists with another size, or the application never completed it
	Damaged       // exists, but its bytes differ from the bytes that were copied or written
	Present       // exists with the right size; its bytes are not verified
	Good          // exists, and its bytes match a checksum
)

// String returns the name of a state in lower case.
func (s State) String() string {
	if s > Good {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return [...]string{"absent", "wrong", "damaged", "present", "good"}[s]
}

// FileScan describes a file of the application.
type FileScan struct {
	Path   string // relative to the prefix directory
	Size   int64  // recorded size in bytes
	CRC    uint32 // CRC-32 of the existing bytes, if HasCRC
	HasCRC bool
	State  State
	Meta   record.Meta

	at string // current path, with the hidden or the final name
}

// RankScan describes the files of a rank in the prefix directory.
type RankScan struct {
	Rank       int
	Map        *cachedir.Filemap // nil: missing or damaged
	Files      []FileScan        // files in the map, in the order of the map
	Redundancy []string          // names in the metadata folder
	Damaged    []string          // files that have changed since they were copied, including the file map
	Err        error             // why the map cannot be used
}

// Scan describes the files of a scavenged dataset in the prefix directory.
type Scan struct {
	ID      int
	Dataset record.Dataset // ID is 0 if the record is unknown
	Size    int            // number of ranks of the run that wrote the dataset, 0: unknown
	Ranks   []RankScan     // ranks that have any files, ascending
	Invalid []string       // descriptions of contradictions
	Outside bool           // Invalid includes a file outside of the prefix directory; setting Was may help
	Unread  []string       // damaged checksum records; without them less can be verified
}

// Datasets returns the numbers of the datasets that have scavenged files, in ascending order.
func Datasets(d *prefixdir.Dir) ([]int, error) {
	list, err := d.FS.ReadDir(d.File(""))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var ids []int
	for _, e := range list {
		id, ok := record.DatasetID(e.Name())
		if !ok || !e.IsDir() {
			continue
		}
		sub, err := d.FS.ReadDir(d.Datasets.Dir(id))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(sub, func(e fs.DirEntry) bool { _, ok := cachedir.RankOf(e.Name()); return ok }) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// ScanDataset checks the files of a scavenged dataset. If sizes is set, it compares only sizes. Otherwise it reads all bytes
// and compares them with the known checksums. Damage is part of the result, not an error.
func ScanDataset(ctx context.Context, o Options, sizes bool) (*Scan, error) {
	p, err := newTarget(o.Prefix, o.Was, o.ID)
	if err != nil {
		return nil, err
	}
	p.claims = &claims{ds: record.Dataset{ID: o.ID}}
	sc := scanner{target: p, bytes: !sizes, seen: map[string]uint32{}}
	return sc.scan(ctx)
}

// scanner scans a dataset. It may scan again after repairs.
type scanner struct {
	target
	bytes bool
	made  map[string]bool   // files that were rebuilt in this call
	seen  map[string]uint32 // CRCs of the files already read, by name; a repaired file is removed
}

func (sc *scanner) scan(ctx context.Context) (*Scan, error) {
	s := &Scan{ID: sc.id}
	list, err := sc.fs.ReadDir(sc.meta)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ranks := map[int]*RankScan{}
	records := map[int]sums{}
	of := func(rank int) *RankScan {
		if ranks[rank] == nil {
			ranks[rank] = &RankScan{Rank: rank}
		}
		return ranks[rank]
	}
	for _, e := range list {
		name := sc.metaFile(e.Name())
		if rank, ok := rankOfSums(e.Name()); ok {
			r, err := readSums(sc.fs, name)
			if fault.IsDamage(err) {
				s.Unread = append(s.Unread, err.Error())
				continue
			} else if err != nil {
				return nil, err
			}
			records[rank] = r
			s.know(r.dataset)
			continue
		}
		rank, ok := cachedir.RankOf(e.Name())
		switch {
		case !ok:
		case name == sc.filemap(rank):
			r := of(rank)
			if r.Map, r.Err = cachedir.ReadFilemap(sc.fs, name); fault.IsDamage(r.Err) {
				r.Damaged = append(r.Damaged, e.Name())
			} else if r.Err != nil {
				return nil, r.Err
			}
		default:
			r := of(rank)
			r.Redundancy = append(r.Redundancy, e.Name())
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(ranks)) {
		r := ranks[rank]
		if err := sc.rank(ctx, s, r, records[rank]); err != nil {
			return nil, err
		}
		s.Ranks = append(s.Ranks, *r)
	}
	s.unique()
	if s.Dataset.ID == 0 {
		s.Dataset, err = sc.dataset()
	}
	return s, err
}

// know uses the dataset record of a rank.
func (s *Scan) know(ds record.Dataset) {
	switch {
	case ds.ID == 0:
	case s.Dataset.ID == 0:
		s.Dataset = ds
	case !sameDataset(s.Dataset, ds):
		s.Invalid = append(s.Invalid, fmt.Sprintf("copies belong to two datasets: %.80q and %.80q", s.Dataset.Name, ds.Name))
	}
}

// dataset reads the record of the dataset from the index or the flush file.
func (p target) dataset() (record.Dataset, error) {
	x, err := p.dir.Index.Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !fault.IsDamage(err) {
		return record.Dataset{}, err
	}
	if err == nil {
		for _, e := range x.Entries() {
			if e.ID == p.id && e.Dataset.Complete {
				return e.Dataset, nil
			}
		}
	}
	f, err := p.dir.Flush.Read()
	if fault.IsDamage(err) {
		return record.Dataset{}, nil
	}
	if err != nil {
		return record.Dataset{}, err
	}
	e, _ := f.Entry(p.id)
	return e.Dataset, nil
}

func (sc *scanner) rank(ctx context.Context, s *Scan, r *RankScan, rec sums) error {
	for _, n := range r.Redundancy {
		if e, ok := rec.meta[n]; ok && sc.bytes {
			good, _, err := sc.same(ctx, sc.metaFile(n), e)
			if err != nil {
				return err
			}
			if !good {
				r.Damaged = append(r.Damaged, n)
			}
		}
	}
	if r.Map == nil {
		return nil
	}
	for _, f := range r.Map.Files() {
		rel, err := sc.relative(f.Meta)
		if err != nil {
			r.Err = err
			s.Outside = s.Outside || errors.Is(err, ErrOutside)
			s.Invalid = append(s.Invalid, err.Error())
			return nil
		}
		x := FileScan{Path: rel, Size: f.Meta.Size, Meta: f.Meta}
		if err := sc.file(ctx, &x, rec); err != nil {
			return err
		}
		r.Files = append(r.Files, x)
		if n := f.Meta.Ranks; n > 0 && s.Size == 0 {
			s.Size = n
		} else if n > 0 && n != s.Size {
			s.Invalid = append(s.Invalid, fmt.Sprintf("files come from a run with %d ranks and from a run with %d ranks", s.Size, n))
		}
	}
	return nil
}

// file determines the state of an application file.
func (sc *scanner) file(ctx context.Context, x *FileScan, rec sums) error {
	want := expect{x.Size, x.Meta.CRC, x.Meta.HasCRC}
	if e, ok := rec.files[x.Path]; ok && !want.hasCRC {
		want = e
	}
	name, foreign, err := sc.locate(ctx, x.Path, want)
	if err != nil {
		return err
	}
	x.at = name
	if foreign {
		x.State = Damaged
		return nil
	}
	st, err := sc.fs.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !x.Meta.Complete || !st.Mode().IsRegular() || st.Size() != x.Size:
		x.State = Wrong
		return nil
	}
	x.State = Present
	if !sc.bytes {
		return nil
	}
	good, crc, err := sc.same(ctx, name, want)
	if err != nil {
		return err
	}
	x.CRC, x.HasCRC = crc, true
	switch {
	case !good:
		x.State = Damaged
	case want.hasCRC:
		x.State = Good
	}
	return nil
}

// same reports whether a file has the expected size and checksum. It reads each file at most once.
func (sc *scanner) same(ctx context.Context, name string, want expect) (bool, uint32, error) {
	crc, ok := sc.seen[name]
	if !ok {
		c, size, err := vfs.SumFile(ctx, sc.fs, name)
		if err != nil {
			return false, 0, err
		}
		crc = c
		if size != want.size && want.size >= 0 {
			return false, crc, nil
		}
		sc.seen[name] = crc
	}
	return !want.hasCRC || crc == want.crc, crc, nil
}

// unique finds files that two ranks claim.
func (s *Scan) unique() {
	owner := map[string]int{}
	for _, r := range s.Ranks {
		for _, f := range r.Files {
			if o, ok := owner[f.Path]; ok {
				s.Invalid = append(s.Invalid, fmt.Sprintf("%.200q belongs to both rank %d and rank %d", f.Path, o, r.Rank))
			}
			owner[f.Path] = r.Rank
		}
	}
}

// Report lists the faults of a scanned dataset.
type Report struct {
	Missing  []int          // ranks whose map or one of whose files is missing, damaged or of another size
	Files    map[int]string // for each rank in Missing, the first such file
	Invalid  []string       // contradictions that cannot be repaired
	Verified bool           // all files match their checksums
}

// OK reports whether no file is missing and there is no contradiction.
func (r Report) OK() bool { return len(r.Missing) == 0 && len(r.Invalid) == 0 }

// Inspect lists the missing and wrong files.
func (s *Scan) Inspect() Report {
	rep := Report{Files: map[int]string{}, Verified: true, Invalid: slices.Clone(s.Invalid)}
	byRank := map[int]RankScan{}
	n := s.Size
	for _, r := range s.Ranks {
		byRank[r.Rank] = r
		if s.Size > 0 && r.Rank >= s.Size {
			rep.Invalid = append(rep.Invalid, fmt.Sprintf("a file of rank %d exists, but the run had %d ranks", r.Rank, s.Size))
		}
		if s.Size == 0 {
			n = max(n, r.Rank+1)
		}
	}
	for rank := range n {
		r, ok := byRank[rank]
		switch {
		case !ok || r.Map == nil && r.Err == nil:
			rep.Files[rank] = "file map"
		case r.Err != nil:
			rep.Files[rank] = r.Err.Error()
		}
		for _, f := range r.Files {
			if f.State < Present && rep.Files[rank] == "" {
				rep.Files[rank] = f.Path + " is " + f.State.String()
			}
			rep.Verified = rep.Verified && f.State == Good
		}
		if rep.Files[rank] != "" {
			rep.Missing = append(rep.Missing, rank)
			rep.Verified = false
		}
	}
	return rep
}
