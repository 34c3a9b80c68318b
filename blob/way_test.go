package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// TestWays: with which way a writer begins, which ways its flushes try, and which one it chooses, the same on all ranks; and
// that the file is that of ranks that share a heap.
func TestWays(t *testing.T) {
	const (
		ranks   = 4
		records = 7
		big     = 1000 * time.Millisecond
	)
	s, v, parts := asyncModel(ranks)
	takes := func(own, windows time.Duration) func(int, bool) time.Duration {
		return func(_ int, isOwn bool) time.Duration {
			if isOwn {
				return own
			}
			return windows
		}
	}
	mid := int64(200) // bytes; those of a piece are more
	for _, tc := range []struct {
		name   string
		o      settings
		crowd  int // as rank 2 sees it
		took   func(rank int, own bool) time.Duration
		start  Pieces
		tried  string // o: own writes, w: windows
		chosen Pieces
	}{
		{"own", settings{knobs: knobs{ownMin: mid}}, 0, takes(big, 2*big), Pieces{mid, "default"}, "owow", Pieces{mid, "measured: own writes 1s, windows 2s"}},
		{"windows", settings{knobs: knobs{ownMin: mid}}, 0, takes(big, big/2), Pieces{mid, "default"}, "owow", Pieces{NoOwnMin, "measured: own writes 1s, windows 500ms"}},
		{"hardly faster", settings{knobs: knobs{ownMin: mid}}, 0, takes(big, big-big/20), Pieces{mid, "default"}, "owow", Pieces{mid, "measured: own writes 1s, windows 950ms"}},
		{"crowded", settings{knobs: knobs{ownMin: mid}}, 1 << 20, takes(2*big, big), Pieces{NoOwnMin, "1048576 processes share fewer cores"}, "wowo", Pieces{NoOwnMin, "measured: own writes 2s, windows 1s"}},
		{"crowded, own", settings{knobs: knobs{ownMin: mid}}, 1 << 20, takes(big, 2*big), Pieces{NoOwnMin, "1048576 processes share fewer cores"}, "wowo", Pieces{mid, "measured: own writes 1s, windows 2s"}},
		{"slowest rank", settings{knobs: knobs{ownMin: mid}}, 0, func(rank int, own bool) time.Duration {
			if rank == 3 && !own {
				return 9 * big
			}
			return takes(big, big/2)(rank, own)
		}, Pieces{mid, "default"}, "owow", Pieces{mid, "measured: own writes 1s, windows 9s"}},
		{"small", settings{}, 0, takes(big, big/2), Pieces{ownMinShared, "default"}, "", Pieces{ownMinShared, "default"}},
		{"set", settings{Options: Options{OwnMin: mid}}, 1 << 20, takes(big, big/2), Pieces{mid, "set"}, "", Pieces{mid, "set"}},
		{"messages", settings{knobs: knobs{ownMin: mid, messages: true}}, 1 << 20, takes(big, big/2), Pieces{ownMinMessages, "default for messages"}, "", Pieces{ownMinMessages, "default for messages"}},
		{"process-centric", settings{knobs: knobs{ownMin: mid}, Options: Options{Layout: ProcessCentric, Records: records}}, 1 << 20, takes(big, big/2), Pieces{mid, "default"}, "owow",
			Pieces{NoOwnMin, "measured: own writes 1s, windows 500ms"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want []byte
			for _, apart := range []bool{false, true} {
				mem := vfs.NewMem()
				tried := make([]strings.Builder, ranks)
				start, chosen := make([]Pieces, ranks), make([]Pieces, ranks)
				noError(t, run(ranks, func(ctx context.Context, c comm.Comm) error {
					r, o := c.Rank(), tc.o
					o.fs, o.Subfiles = mem, 1
					o.timed = func(own bool, _ time.Duration) time.Duration {
						if own {
							tried[r].WriteByte('o')
						} else {
							tried[r].WriteByte('w')
						}
						return tc.took(r, own)
					}
					if r == 2 {
						o.crowd = tc.crowd
					}
					if apart {
						c = comm.Isolate(c)
					}
					w := need(createWith(ctx, c, "d.nc", s, parts(r), &o))
					defer w.Abort()
					start[r] = w.Pieces()
					for rec := range int64(records) {
						x := slices.Repeat([]float64{float64(rec)*100 + float64(r)}, int(w.Count(1)))
						must(Put(w, v, rec, x))
						must(w.Flush(ctx))
					}
					chosen[r] = w.Pieces()
					return w.Close(ctx)
				}))
				got := need(slurp(mem, subfile.Name("d.nc", 0)))
				if !apart {
					want = got
					if p := chosen[0]; p.OwnMin != 0 {
						t.Errorf("of ranks that share a heap: %+v", p)
					}
					continue
				}
				for _, f := range checkErrors(mem, "d.nc") {
					t.Error(f)
				}
				if !bytes.Equal(got, want) {
					t.Error(firstDiff(got, want))
				}
				for r := range ranks {
					if got, want := fmt.Sprint(start[r], tried[r].String(), chosen[r]), fmt.Sprint(tc.start, tc.tried, tc.chosen); got != want {
						t.Errorf("rank %d: %s, want %s", r, got, want)
					}
				}
			}
		})
	}
}

// TestWaysOfTeams: a team that tries both ways hears of both, also where another of the job has only windows to write.
func TestWaysOfTeams(t *testing.T) {
	const (
		ranks = 4
		small = 10 // elements; of ranks 0 and 1, which have a subfile of their own
		large = 100
		mid   = 200 // bytes
	)
	s := NewSchema()
	tm, col := s.Dim("time", Unlimited), s.Dim("ncol", ranks*large)
	d := s.Decomp(col)
	v := s.Var("v", cdf5.Double, []DimID{tm, col}, Decomposed(d))
	for windows, want := range map[time.Duration]Pieces{
		2 * time.Second: {mid, "measured: own writes 1s, windows 2s"},
		time.Second / 2: {NoOwnMin, "measured: own writes 1s, windows 500ms"},
	} {
		mem := vfs.NewMem()
		noError(t, run(ranks, func(ctx context.Context, c comm.Comm) error {
			r, n := c.Rank(), int64(small)
			want := want
			if r >= ranks/2 {
				n = large
			} else {
				want = Pieces{mid, "default"}
			}
			o := settings{knobs: knobs{fs: mem, ownMin: mid}, Options: Options{Subfiles: 2}}
			o.timed = func(own bool, _ time.Duration) time.Duration {
				if own {
					return time.Second
				}
				return windows
			}
			w := need(createWith(ctx, comm.Isolate(c), "d.nc", s, []Part{{d, []decomp.Req{{Offset: int64(r) * large, Length: n}}}}, &o))
			defer w.Abort()
			for rec := range int64(7) {
				must(errors.Join(Put(w, v, rec, make([]float64, n)), w.Flush(ctx)))
			}
			if got := w.Pieces(); got != want {
				t.Errorf("rank %d: %+v, want %+v", r, got, want)
			}
			return w.Close(ctx)
		}))
	}
}
