package pio

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"blobio/comm"
)

// phase is a category of time spent.
type phase int

const (
	copying    phase = iota // copying data to the log
	assembling              // assembling records of several writes, including messages between ranks
	writing                 // writing to the files and committing
	reading
	converting // converting to a canonical file
	phases
)

var phaseNames = [phases]string{"copy", "assemble", "write", "read", "convert"}

// stats are the counters of a file on one rank.
type stats struct {
	spent       [phases]time.Duration
	wrote, read int64 // this rank's bytes
	commits     int64
	anew        int64 // commits that rewrote the dataset
}

// spend starts the clock of a phase; stop stops it.
func (s *stats) spend(p phase) (stop func()) {
	start := time.Now()
	return func() { s.spent[p] += time.Since(start) }
}

// report writes the line of FileOptions.Stats. Collective.
func (s *stats) report(ctx context.Context, sys *System, path string, out io.Writer) error {
	if out == nil {
		return nil
	}
	n := []int64{s.wrote, s.read}
	for _, d := range s.spent {
		n = append(n, int64(d))
	}
	var got [3][]int64
	for i, op := range []comm.Op{comm.Min, comm.Sum, comm.Max} {
		var err error
		if got[i], err = sys.c.AllreduceInt64(ctx, n, op); err != nil {
			return err
		}
	}
	if sys.c.Rank() != sys.root() {
		return nil
	}
	ranks := float64(sys.c.Size())
	var b strings.Builder
	fmt.Fprintf(&b, "blobio: %s: %d ranks, %d bytes written in %d commits, %d of them anew, %d bytes read; seconds (least, mean, most of a rank)",
		path, sys.c.Size(), got[1][0], s.commits, s.anew, got[1][1])
	for p, name := range phaseNames {
		least, sum, most := float64(got[0][2+p])/1e9, float64(got[1][2+p])/1e9, float64(got[2][2+p])/1e9
		fmt.Fprintf(&b, " %s %.3f %.3f %.3f", name, least, sum/ranks, most)
	}
	_, err := fmt.Fprintln(out, b.String())
	return err
}
