package bench

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// restarts has other ranks read a variable than those that wrote it, an equal part each: each rank alone, and all together. They share no
// heap, as if each were a process. Opening the dataset and finding who has what is on the clock.
func (s *session) restarts(ctx context.Context, t *task, names map[blob.Layout]string, data string, v, ranks int) error {
	cv := &t.c.Vars[v]
	typ, _ := cv.FileType(t.Float)
	elems := t.c.Elems(v)
	for _, together := range []bool{false, true} {
		how := "each alone"
		if together {
			how = "together"
		}
		var runners []runner
		for _, l := range layouts {
			whole := cdf5.NewSlice(typ, int(elems))
			r, err := blob.Open(ctx, names[l], nil)
			if err != nil {
				return err
			}
			shape := t.c.Shape(v)
			start, count := make([]int64, len(shape)+1), append([]int64{1}, shape...)
			if !cv.Record {
				start, count = start[1:], count[1:]
			}
			if err := r.Read(ctx, cv.Name, start, count, whole); err != nil {
				return err
			}
			if err := r.Close(); err != nil {
				return err
			}
			want, _ := cdf5.Bytes(whole)
			runners = append(runners, runner{
				row:   &Row{Data: data, What: fmt.Sprintf("read on %d other ranks, %s", ranks, how), Who: l.String(), Ranks: t.Ranks, Bytes: elems * int64(typ.Size())},
				bound: s.rawReads(names[l] + ".0000"),
				run: func(ctx context.Context) (Took, error) {
					got := make([]any, ranks)
					for i := range got {
						got[i] = cdf5.NewSlice(typ, int(decomp.Regular([]int64{elems}, ranks).Count(i)))
					}
					begun := time.Now()
					err := comm.Run(ctx, ranks, nil, func(ctx context.Context, c comm.Comm) error {
						return restart(ctx, comm.Isolate(c), names[l], cv.Name, elems, together, got[c.Rank()])
					})
					took := time.Since(begun)
					at := 0
					for i := range got {
						b, _ := cdf5.Bytes(got[i])
						if err == nil && !bytes.Equal(b, want[at:at+len(b)]) {
							err = fmt.Errorf("%s: rank %d of %d has read wrong bytes of %s", names[l], i, ranks, cv.Name)
						}
						at += len(b)
					}
					return Took{Seconds: took.Seconds()}, err
				}})
		}
		if err := s.race(ctx, true, runners...); err != nil {
			return err
		}
	}
	return nil
}

// restart reads the part of one rank of the first record of a variable.
func restart(ctx context.Context, c comm.Comm, name, v string, elems int64, together bool, got any) error {
	r, err := blob.OpenComm(ctx, c, name, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	runs := decomp.Regular([]int64{elems}, c.Size()).AppendReqs(nil, c.Rank())
	if together {
		return r.Collective(c).Plan(runs).Read(ctx, blob.Get{Name: v, Into: got})
	}
	return comm.Agree(ctx, c, r.ReadRuns(ctx, v, 0, runs, got))
}
