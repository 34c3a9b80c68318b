package transfer

import (
	"blobio/internal/base/fault"
	"fmt"
	"math"
)

// Job is a file to be copied.
type Job struct {
	Src string // in Options.FS; not used if In is set
	Dst string // in Options.DstFS; replaced if it is there; not used if Out is set
	// Size is what the data have, in bytes; -1: it is not known. A source of another size is an error, before anything
	// is copied.
	Size int64
	// CRC is the CRC-32 (IEEE) that the data have. Other data are an error that wraps ErrChecksum, and do not appear as
	// Dst.
	CRC    uint32
	HasCRC bool
	// Out, unless nil, are the ranges of files that get the bytes, one after the other, instead of Dst: places in
	// containers. Their lengths are those of the data together. The files are made where they are not there, and never
	// cut; they are written in place, so what is in them after a failure is not known.
	Out []Segment
	// In, unless nil, are the ranges of files from which the bytes come, one after the other, instead of Src.
	In []Segment
	// Meta gives Dst the permissions and times of Src, and the owner where the process may. Nothing is done with In or
	// Out.
	Meta bool
}

// Segment is a range of bytes in a file.
type Segment struct {
	File   string
	Offset int64 // bytes
	Length int64 // bytes
}

// Result is what became of a job.
type Result struct {
	Size    int64  // of the data, in bytes
	CRC     uint32 // CRC-32 (IEEE) of the data
	Done    bool   // false in the results of CopyAll and Wait: the job was not finished
	Skipped bool   // the destination was there already, whole; see Start
}

// String names source and destination.
func (j Job) String() string {
	from, to := j.Src, j.Dst
	if j.In != nil {
		from = fmt.Sprintf("%d segments", len(j.In))
		if len(j.In) > 0 {
			from += " from " + j.In[0].File
		}
	}
	if j.Out != nil {
		to = fmt.Sprintf("%d segments", len(j.Out))
		if len(j.Out) > 0 {
			to += " from " + j.Out[0].File
		}
	}
	return from + " to " + to
}

// Validate returns an error that wraps ErrUsage if the job makes no sense.
func (j Job) Validate() error {
	switch {
	case j.In == nil && j.Src == "":
		return fault.Usage("a job without source")
	case j.Out == nil && j.Dst == "":
		return fault.Usage("a job without destination")
	case j.Size < -1:
		return fault.Usage("size %d", j.Size)
	}
	in, err := sum(j.In)
	if err != nil {
		return err
	}
	out, err := sum(j.Out)
	switch {
	case err != nil:
		return err
	case j.In != nil && j.Size >= 0 && in != j.Size:
		return fault.Usage("segments of the source have %d bytes, the data %d", in, j.Size)
	case j.Out != nil && j.Size >= 0 && out != j.Size:
		return fault.Usage("segments of the destination have %d bytes, the data %d", out, j.Size)
	}
	return nil
}

// sum checks segments and adds their lengths.
func sum(segs []Segment) (int64, error) {
	var n int64
	for _, s := range segs {
		if s.File == "" || s.Offset < 0 || s.Length < 0 || s.Offset > math.MaxInt64-s.Length || n > math.MaxInt64-s.Length {
			return 0, fault.Usage("segment of %d bytes at %d of %q", s.Length, s.Offset, s.File)
		}
		n += s.Length
	}
	return n, nil
}
