//go:build cgo && unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"blobio/blob"
	"blobio/capi/internal/edge"
	"blobio/comm"
)

// statsVariable is the environment variable that requests a line on standard error for each closed file, with byte counts
// and times.
const statsVariable = "BLOBIO_STATS"

// statsOut returns where the line goes, or nil if no line is requested.
func statsOut() (io.Writer, error) {
	switch v := os.Getenv(statsVariable); v {
	case "", "0":
		return nil, nil
	case "1":
		return os.Stderr, nil
	default:
		return nil, edge.Usage("%s is %q, want 1 or 0", statsVariable, v)
	}
}

// stats counts the bytes of puts, and the time of calls on a writer.
type stats struct {
	out    io.Writer // nil if no line is requested
	bytes  int64
	define time.Duration // time of enddef
	put    time.Duration
	commit time.Duration // time of flush, commit, and waiting for them
	close  time.Duration
}

// spend starts a clock. stop adds the elapsed time to *phase.
func spend(phase *time.Duration) (stop func()) {
	start := time.Now()
	return func() { *phase += time.Since(start) }
}

// putting counts a put of n elements.
func (s *stats) putting(v *blob.Variable, n int64) (stop func()) {
	s.bytes += max(n, 0) * int64(v.Type.Size())
	return spend(&s.put)
}

// report writes the line after closing a file, and returns closed, the error of closing. Collective.
func (s *stats) report(ctx context.Context, c comm.Comm, path string, closed error) error {
	if s.out == nil {
		return closed
	}
	if err := comm.Agree(ctx, c, closed); err != nil {
		return err
	}
	var got [3][]int64
	for i, op := range []comm.Op{comm.Min, comm.Sum, comm.Max} {
		var err error
		if got[i], err = c.AllreduceInt64(ctx, []int64{int64(s.define), int64(s.put), int64(s.commit), int64(s.close), s.bytes}, op); err != nil {
			return err
		}
	}
	if c.Rank() != 0 {
		return nil
	}
	line := fmt.Sprintf("blobio: %s: %d ranks, %d bytes put; seconds (least, mean, most of a rank)", path, c.Size(), got[1][4])
	for i, name := range []string{"define", "put", "commit", "close"} {
		line += fmt.Sprintf(" %s %.3f %.3f %.3f", name, float64(got[0][i])/1e9, float64(got[1][i])/1e9/float64(c.Size()), float64(got[2][i])/1e9)
	}
	_, err := fmt.Fprintln(s.out, line)
	return err
}
