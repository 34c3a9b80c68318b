package pio

import (
	"context"
	"fmt"
	"strings"
	"time"

	"blobio/comm"
)

// phase is what a rank spends its time with.
type phase int

const (
	copying    phase = iota // what is written, to the log
	assembling              // records of several writes, with what is exchanged for that
	writing                 // to the files, and committing
	reading
	converting // to a canonical file
	phases
)

var phaseNames = [phases]string{"copy", "assemble", "write", "read", "convert"}

// stats are those of a file on one rank.
type stats struct {
	spent       [phases]time.Duration
	wrote, read int64 // bytes of this rank: of what was put, and of what was asked for
	commits     int64
	anew        int64 // of commits: with everything that was there before
}

// spend starts the clock of a phase; what it returns stops it.
func (s *stats) spend(p phase) (stop func()) {
	start := time.Now()
	return func() { s.spent[p] += time.Since(start) }
}

// report writes the line of FileOptions.Stats. Collective.
func (f *File) report(ctx context.Context) error {
	if f.opt.Stats == nil {
		return nil
	}
	n := []int64{f.stats.wrote, f.stats.read}
	for _, d := range f.stats.spent {
		n = append(n, int64(d))
	}
	var got [3][]int64
	for i, op := range []comm.Op{comm.Min, comm.Sum, comm.Max} {
		var err error
		if got[i], err = f.s.c.AllreduceInt64(ctx, n, op); err != nil {
			return err
		}
	}
	if f.s.c.Rank() != f.s.root() {
		return nil
	}
	ranks := float64(f.s.c.Size())
	var b strings.Builder
	fmt.Fprintf(&b, "blobio: %s: %d ranks, %d bytes written in %d commits, %d of them anew, %d bytes read; seconds (least, mean, most of a rank)",
		f.path, f.s.c.Size(), got[1][0], f.stats.commits, f.stats.anew, got[1][1])
	for p, name := range phaseNames {
		least, sum, most := float64(got[0][2+p])/1e9, float64(got[1][2+p])/1e9, float64(got[2][2+p])/1e9
		fmt.Fprintf(&b, " %s %.3f %.3f %.3f", name, least, sum/ranks, most)
	}
	_, err := fmt.Fprintln(f.opt.Stats, b.String())
	return err
}
