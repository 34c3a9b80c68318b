package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"blobio/blob"
	"blobio/internal/vfs"
	"blobio/kvtree"
)

// Severities of findings of scr check.
const (
	sevError   = "error"
	sevWarning = "warning"
	sevNote    = "note"
)

// scrFinding is something that scr check found.
type scrFinding struct {
	Severity string `json:"severity"`
	Dataset  int    `json:"dataset,omitempty"`
	File     string `json:"file"`
	Field    string `json:"field,omitempty"`
	Found    string `json:"found"`
	Wanted   string `json:"wanted,omitempty"`
	Class    string `json:"class,omitempty"`
}

// String is the finding on a line.
func (f scrFinding) String() string {
	s := f.Severity + ": " + clean(f.File)
	if f.Field != "" {
		s += ": " + f.Field
	}
	s += ": " + f.Found
	if f.Wanted != "" {
		s += ", want " + f.Wanted
	}
	return s
}

// classOf names the class of an error.
func classOf(err error) string {
	for _, c := range []error{blob.ErrTruncated, blob.ErrChecksum, blob.ErrCorrupt, blob.ErrNotFormat, blob.ErrMissing, kvtree.ErrVersion} {
		if errors.Is(err, c) {
			return c.Error()
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return blob.ErrMissing.Error()
	}
	return ""
}

// findingOf makes a finding of an error about a file.
func findingOf(sev string, id int, file string, err error) scrFinding {
	f := scrFinding{Severity: sev, Dataset: id, File: file, Class: classOf(err)}
	var fe *kvtree.FormatError
	var pe *fs.PathError
	switch {
	case errors.As(err, &fe):
		if fe.File != "" {
			f.File = fe.File
		}
		f.Field, f.Found = fe.Field, fe.Msg
		if fe.Offset >= 0 {
			f.Field = fmt.Sprintf("%#x: %s", fe.Offset, fe.Field)
		}
		if f.Found == "" && fe.Err != nil {
			f.Found = fe.Err.Error()
		}
	case errors.Is(err, fs.ErrNotExist):
		if errors.As(err, &pe) {
			f.File = pe.Path
		}
		f.Found, f.Wanted = "absent", "a file"
	default:
		f.Found = errorText(err)
	}
	return f
}

// scrJob is a file that is to be read.
type scrJob struct {
	size int64
	sums bool // do compares all of it with checksums
	do   func(ctx context.Context, read func(n int)) []scrFinding
}

// runJobs does jobs at once, with a bar over their bytes. Findings are in the order of the jobs; verified are the bytes that match
// checksums.
func (e *env) runJobs(ctx context.Context, stage string, workers int, jobs []scrJob) (out []scrFinding, verified int64, err error) {
	if workers <= 0 {
		workers = min(runtime.NumCPU(), 16)
	}
	var total int64
	for _, j := range jobs {
		total += j.size
	}
	p := e.newProgress()
	defer p.end()
	var done, next atomic.Int64
	found := make([][]scrFinding, len(jobs))
	var wg sync.WaitGroup
	for range min(workers, len(jobs)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) || ctx.Err() != nil {
					return
				}
				found[i] = jobs[i].do(ctx, func(n int) { p.at(stage, done.Add(int64(n)), total) })
			}
		}()
	}
	wg.Wait()
	for i, f := range found {
		if jobs[i].sums && len(f) == 0 {
			verified += jobs[i].size
		}
		out = append(out, f...)
	}
	return out, verified, ctx.Err()
}

// section reads a file once, from an offset to an end, and counts what it reads.
type section struct {
	ctx  context.Context
	f    vfs.File
	at   int64
	end  int64
	read func(n int)
}

func (s *section) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.at >= s.end {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), s.end-s.at)]
	n, err := s.f.ReadAt(b, s.at)
	s.at += int64(n)
	s.read(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// crcOf is the CRC-32 and the length of a stream.
func crcOf(r io.Reader) (uint32, int64, error) {
	h := crc32.NewIEEE()
	n, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{r}, make([]byte, 1<<20))
	return h.Sum32(), n, err
}
