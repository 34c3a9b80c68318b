package read

import (
	"fmt"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/base/fault"
)

// What a header without a checksum promises is held against what the file holds: a bit of a length must not make
// an endless array of fill values or zeros out of a small file.

const (
	sparse      = 1024    // an array may have so many times the elements that its blobs hold
	fewElements = 1 << 20 // or so many
)

// Plausible says what is wrong with map d, from 0, of a set without checksums.
func (s *Set) Plausible(d int) error {
	var lead *FilePart
	here, owned := int64(0), int64(0)
	for _, p := range s.Parts {
		if p.Table == nil || d >= p.Place.NumMaps() {
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
	return dense(lead.Place, lead.Name, d, owned/here*int64(len(s.Parts))) // what is missing holds as much
}

// dense says so if map d, from 0, is over more elements than can be if all blobs hold so many.
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
	return fault.At(name, p.Locate().DimLen(int(longest)), fmt.Sprintf("dimension %q", dim.Name), dataset.ErrCorrupt,
		"%d: D%d has %d elements then, want at most %d times the %d that the blobs hold", dim.Len, d+1, elems, sparse, owned)
}

// roomForRecords says so if a file cannot hold as many records as its header says; the last may be cut.
func roomForRecords(p *dataset.Place, name string, records int64) error {
	size := p.RecordBytes()
	if size > 0 && records-1 > p.FileLen/size {
		return fault.At(name, p.HeaderOff+layout.NumrecsAt, "numrecs", dataset.ErrTruncated, "%d records of %d bytes, but the file ends at %d", records, size, p.FileLen)
	}
	return nil
}
