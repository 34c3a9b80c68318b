package transfer

import (
	"blobio/internal/base/fault"
	"cmp"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
)

// Job describes a file to copy.
type Job struct {
	Src string // path in Options.FS; not used if In is set
	Dst string // path in Options.DstFS; an existing file is replaced; not used if Out is set
	// Size is the size of the data in bytes; -1 means unknown. If the source has a different size, the job fails before any data is
	// copied.
	Size int64
	// CRC is the expected CRC-32 (IEEE), if HasCRC is set. If the data have another CRC-32, the error wraps ErrChecksum, and Dst is
	// not created.
	CRC    uint32
	HasCRC bool
	// Out holds the file ranges (in containers) that get the bytes in order. If Out is not nil, it replaces Dst. The lengths of the
	// ranges must add up to the size of the data. Missing files are created, and files are never truncated. Ranges are written in
	// place, and after a failure their content is undefined.
	Out []Segment
	// In holds the file ranges that provide the bytes in order. If In is not nil, it replaces Src.
	In []Segment
	// Meta gives Dst the permissions and times of Src, and its owner if the process may set it. Meta is ignored with In or Out.
	Meta bool
}

// Segment is a range of bytes in a file.
type Segment struct {
	File   string
	Offset int64 // in bytes
	Length int64 // in bytes
}

// Result is the result of a job.
type Result struct {
	Size    int64  // size of the data in bytes
	CRC     uint32 // CRC-32 (IEEE) of the data
	Done    bool   // in results of CopyAll and Wait, false means that the job is unfinished
	Skipped bool   // the destination was already whole; see Engine.Resume
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

// Validate returns an error that wraps ErrUsage if the job is invalid.
func (j Job) Validate() error {
	switch {
	case j.In == nil && j.Src == "":
		return fault.Usage("job has no source")
	case j.Out == nil && j.Dst == "":
		return fault.Usage("job has no destination")
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
		return fault.Usage("segments of the source have %d bytes, want %d", in, j.Size)
	case j.Out != nil && j.Size >= 0 && out != j.Size:
		return fault.Usage("segments of the destination have %d bytes, want %d", out, j.Size)
	}
	return nil
}

// sum checks segments and returns their total length.
func sum(segs []Segment) (int64, error) {
	var n int64
	for _, s := range segs {
		if s.File == "" || s.Offset < 0 || s.Length < 0 || s.Offset > math.MaxInt64-s.Length || n > math.MaxInt64-s.Length {
			return 0, fault.Usage("segment of %d bytes at offset %d of file %q: a number is negative or too large, or the name is empty", s.Length, s.Offset, s.File)
		}
		n += s.Length
	}
	return n, nil
}

// validateAll checks the jobs, and that no two of them write the same bytes.
func validateAll(jobs []Job) error {
	names := map[string]int{}
	type place struct {
		Segment
		job int
	}
	var places []place
	for i := range jobs {
		j := &jobs[i]
		if err := j.Validate(); err != nil {
			return &JobError{Index: i, Job: *j, Err: err}
		}
		if j.Out == nil {
			name := filepath.Clean(j.Dst)
			if first, ok := names[name]; ok {
				return &JobError{Index: i, Job: *j, Err: fault.Usage("job %d already has the same destination", first)}
			}
			names[name] = i
			continue
		}
		for _, s := range j.Out {
			if s.Length > 0 {
				s.File = filepath.Clean(s.File)
				places = append(places, place{s, i})
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
	for i, p := range places {
		if first, ok := names[p.File]; ok {
			return &JobError{Index: p.job, Job: jobs[p.job], Err: fault.Usage("segment in %s, which is the destination of job %d", p.File, first)}
		}
		if i > 0 && places[i-1].File == p.File && places[i-1].Offset+places[i-1].Length > p.Offset {
			return &JobError{Index: p.job, Job: jobs[p.job], Err: fault.Usage("the segment at offset %d of %s overlaps a segment of job %d", p.Offset, p.File, places[i-1].job)}
		}
	}
	return nil
}

// JobError reports the failure of one of several jobs.
type JobError struct {
	Index int // index in the list of jobs
	Job   Job
	Err   error
}

// Error implements error.
func (e *JobError) Error() string {
	return fmt.Sprintf("job %d (%s): %v", e.Index, e.Job.String(), e.Err)
}

// Unwrap returns the reason.
func (e *JobError) Unwrap() error { return e.Err }

// FailedError lists the files that a transfer process could not copy.
type FailedError struct{ Items []Item }

// Error implements error.
func (e *FailedError) Error() string {
	if len(e.Items) == 0 {
		return "some files could not be copied"
	}
	s := fmt.Sprintf("%s: %s", e.Items[0].Src, e.Items[0].Error)
	if n := len(e.Items) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// maxSegments is the maximum number of segments of a file. A larger number shows that the container size is wrong.
const maxSegments = 1 << 20

// ContainerName returns the name of the n-th container of a dataset with metadata folder dir.
func ContainerName(dir string, n int64) string { return path.Join(dir, fmt.Sprintf("ctr.%d.scr", n)) }

// Pack returns the container ranges of bytes offset ... offset+length-1 of a stream that is cut into containers of size bytes. The
// result is never nil, even if length is 0.
func Pack(size, offset, length int64, dir string) ([]Segment, error) {
	switch {
	case size <= 0 || offset < 0 || length < 0 || offset > math.MaxInt64-length:
		return nil, fault.Usage("%d bytes at offset %d in containers of %d bytes: a number is negative or too large, or the container size is not positive", length, offset, size)
	case length/size >= maxSegments:
		return nil, fmt.Errorf("%d bytes in containers of %d bytes: %w: more than %d segments", length, size, fault.ErrTooLarge, maxSegments)
	}
	segs := []Segment{}
	for length > 0 {
		in := offset % size
		n := min(length, size-in)
		segs = append(segs, Segment{File: ContainerName(dir, offset/size), Offset: in, Length: n})
		offset += n
		length -= n
	}
	return segs, nil
}
