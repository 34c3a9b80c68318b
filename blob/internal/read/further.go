package read

import (
	"encoding/binary"
	"fmt"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// The writer of a growing file writes data before a commit, and sets the number of records in the header after the commit. If a
// header counts more records than manifest and log, and the file is long enough for these records, commits were lost.

// LostCommits returns an error if p counts and contains more records than are committed. If the file is too short for that many
// records, the number in the header is damaged, and nothing is lost.
func (p *FilePart) LostCommits(records int64) error {
	return LostCommits(p.Place, p.Name, p.Size, p.Records, records)
}

func LostCommits(pl *dataset.Place, name string, size, have, records int64) error {
	if !pl.Grows || have <= records || !Reaches(pl, size, have) {
		return nil
	}
	return fault.At(name, layout.NumrecsAt, "numrecs", dataset.ErrCorrupt, "%d, want at most %d according to the manifest and its log: commits are lost, or the file belongs to another dataset", have, records)
}

// Reaches reports whether a file of size bytes is long enough for at least one record and for this number of records.
func Reaches(pl *dataset.Place, size, records int64) bool {
	any := false
	for v := range pl.Header.Vars {
		if !pl.Header.IsRecord(v) {
			continue
		}
		off, n := pl.Header.At.Extent(v, 0)
		next, _ := pl.Header.At.Extent(v, 1)
		if stride := next - off; stride <= 0 || size-off-n < 0 || records-1 > (size-off-n)/stride {
			return false
		}
		any = true
	}
	return any
}

// LostSets returns an error if a dataset whose commits add sets has several sets without a log entry. The files of a set get
// their final names before its entry is written, so a dead writer leaves at most one set without an entry. A second set without
// an entry shows that entries are lost.
func LostSets(fsys vfs.FS, base string, m *subfile.Manifest) error {
	if m.Log == "" {
		return nil
	}
	set := subfile.SetBase(base, len(m.Sets)+1)
	name := subfile.Name(set, 0)
	for _, f := range []string{name, subfile.ManifestName(set)} { // a set with a manifest is another dataset
		if _, err := fsys.Stat(f); (err == nil) != (f == name) {
			return nil
		}
	}
	if is, err := dataset.HoldsSubfile(fsys)(name, 0); !is {
		return err
	}
	return fault.At(subfile.LogName(base, m.Log), -1, "commit", dataset.ErrCorrupt, "the last set in the log is %d, but %s exists, so commits are lost", len(m.Sets)-1, name)
}

// counts returns the number of records in the header of a growing subfile, or 0 if the header cannot be read.
func (p *FilePart) counts() int64 {
	f, done, err := p.Raw()
	if err != nil {
		return 0
	}
	defer done()
	var b [layout.NumrecsLen]byte
	if layout.ReadFull(f, b[:], layout.NumrecsAt, p.Name, "numrecs") != nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b[:]))
}

// lostCommits checks the last set with LostCommits when the reader is opened. It ignores headers that cannot be read, because
// the call that needs such a header returns the error.
func (r *Data) lostCommits() error {
	if r.Files.Manifest == nil {
		return nil
	}
	if !r.Layout.Traits().Grows {
		return LostSets(r.Files.Fs, r.Files.Base, r.Files.Manifest)
	}
	last := r.Sets[len(r.Sets)-1]
	if r.Files.Manifest.Log == "" { // the writer has finished: each subfile has the size of the manifest, without further records
		p, err := last.lead()
		if err != nil {
			return nil
		}
		return p.LostCommits(last.Records)
	}
	r.Files.parallel(len(last.Parts), func(i int) {
		if p := last.Parts[i]; p.Name != "" && p.counts() > last.Records {
			_ = p.Load()
		}
	})
	for _, p := range last.Parts {
		if p.Place == nil {
			continue
		}
		if err := p.LostCommits(last.Records); err != nil {
			return err
		}
	}
	return nil
}

// Orphaned returns an error if a dataset without a manifest shows traces of a lost manifest.
func Orphaned(fsys vfs.FS, base string) error {
	sets, err := subfile.Orphans(fsys, base, dataset.HoldsSubfile(fsys))
	if err != nil {
		return err
	}
	if len(sets) > 0 {
		return fault.At(subfile.ManifestName(base), -1, "manifest", dataset.ErrMissing, "missing, but %s exists, the first of %d files of sets that need a manifest", sets[0], len(sets))
	}
	_, log, err := subfile.LogRecords(fsys, base)
	if err == nil && log != "" {
		err = fault.At(subfile.ManifestName(base), -1, "manifest", dataset.ErrMissing, "missing, but %s exists and holds commits", log)
	}
	return err
}

// A header without a checksum is compared with the contents of the file, because a flipped bit in a length must not turn a
// small file into a huge array of fill values or zeros.

const (
	sparse      = 1024    // maximum ratio of an array's elements to the elements in its blobs
	fewElements = 1 << 20 // arrays up to this size are always accepted
)

// Plausible returns an error if the header of a set without checksums gives implausible dimensions for map d (counted from 0).
func (s *Set) Plausible(d int) error {
	var lead *FilePart
	here, owned := int64(0), int64(0)
	for _, p := range s.Parts {
		if p.Table == nil || d >= p.Place.Header.Maps {
			continue
		}
		if here++; lead == nil {
			lead = p
		}
		owned += p.Place.Shape.Elems[d]
	}
	if lead == nil {
		return nil
	}
	return dense(lead.Place, lead.Name, d, owned/here*int64(len(s.Parts))) // missing subfiles are assumed to have as many elements as the others
}

// dense returns an error if map d (counted from 0) covers too many elements. owned is the number of elements in all blobs.
func dense(p *dataset.Place, name string, d int, owned int64) error {
	elems := dataset.Product(p.Schema.DecompDims(dataset.DecompID(d + 1)))
	if elems <= fewElements || elems/sparse <= owned {
		return nil
	}
	longest := p.Schema.Decomps[d][0]
	for _, i := range p.Schema.Decomps[d] {
		if p.Schema.Dims[i].Len > p.Schema.Dims[longest].Len {
			longest = i
		}
	}
	dim := &p.Schema.Dims[longest]
	return fault.At(name, p.Header.Locate().DimLen(int(longest)), fmt.Sprintf("dimension %q", dim.Name), dataset.ErrCorrupt,
		"length %d gives D%d %d elements, want at most %d times the %d elements in the blobs", dim.Len, d+1, elems, sparse, owned)
}

// roomForRecords returns an error if a file is too short for the number of records in its header. The last record may be
// incomplete.
func roomForRecords(p *dataset.Place, name string, records int64) error {
	size := p.RecordBytes()
	if size > 0 && records-1 > p.FileLen/size {
		return fault.At(name, p.Header.Off+layout.NumrecsAt, "numrecs", dataset.ErrTruncated, "%d records of %d bytes, but the file ends at %d", records, size, p.FileLen)
	}
	return nil
}
