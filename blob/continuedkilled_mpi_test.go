//go:build mpi && cgo && linux

package blob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/mpitest"
	"blobio/internal/subfile"
)

// TestContinuedKilledUnderMPI kills one rank of a job that continues a dataset of another number of ranks, with commits and new
// variables. The dataset must have all successful commits, and a third number of ranks must be able to continue it.
func TestContinuedKilledUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for since := int64(times(1, 0)); since < 2; since++ {
			t.Run(fmt.Sprintf("%v-since=%d", l, since), func(t *testing.T) {
				all := leg{to: 4, ranks: 1, since: since}.model()
				run := func(who, n int) (*vfs.Mem, string, int) {
					t.Helper()
					dir := t.TempDir()
					t.Chdir(dir)
					must(leg{to: 1, ranks: 3, subfiles: 2}.sail(vfs.OS, dataset.Settings{Options: dataset.Options{Layout: l}}, false, false))
					out, err := runJob(t, 2*time.Minute, "TestInJobContinuing", envJobDir+"="+dir, fmt.Sprintf("%s=%d,%d,%d", envKill, who, n, since))
					ops := int(highest(out, "operations", 0))
					if errors.Is(err, mpitest.ErrHung) || (err == nil) != (ops > 0) || n == 0 && err != nil {
						t.Fatalf("rank %d killed at operation %d: %v\n%s", who, n, err, out)
					}
					return loaded(t, dir), out, ops
				}
				for _, who := range [][]int{{2}, {0}, {0, 2}}[times(int(l), 2)] { // one or both ranks that lead a subfile
					whole, _, ops := run(who, 0)
					if n := recordsSeen(t, whole, "nobody killed", all); n != 3 {
						t.Fatalf("%d records, want 3", n)
					}
					for n := max(ops/3, 1); n <= ops; n += times(max(ops/3, 1), 3) {
						left, out, _ := run(who, n)
						when, told := fmt.Sprintf("rank %d killed at operation %d", who, n), highest(out, "committed", 1)
						have := recordsSeen(t, left, when, all)
						if have < told {
							t.Fatalf("%s: %d records, %d were committed: %v", when, have, told, names(left, "."))
						}
						if err := (leg{to: have + 1, ranks: 2, way: 1, subfiles: 1, since: since}).sail(left, dataset.Settings{}, false, true); err != nil {
							t.Fatalf("%s: append after it: %v\nfiles: %v", when, err, names(left, "."))
						}
						if n := recordsSeen(t, left, when+", and append", all); n != have+1 {
							t.Errorf("%s: %d records after an append, want %d", when, n, have+1)
						}
					}
				}
			})
		}
	}
}

func TestInJobContinuing(t *testing.T) {
	if os.Getenv(envJobDir) == "" || os.Getenv(envKill) == "" {
		t.Skip("runs under mpirun, see TestContinuedKilledUnderMPI")
	}
	must(os.Chdir(os.Getenv(envJobDir)))
	var who, n int
	l := leg{to: 3, way: 1}
	need(fmt.Sscanf(os.Getenv(envKill), "%d,%d,%d", &who, &n, &l.since))
	must(mpi.Run(t.Context(), nil, func(ctx context.Context, c comm.Comm) error {
		fsys := vfs.OS
		var ops atomic.Int64
		if c.Rank() == who {
			fsys = doomed(n, &ops)
		}
		l.ranks = c.Size()
		m := l.model()
		w, err := m.append(ctx, c, "d.nc", &dataset.Settings{Options: dataset.Options{Subfiles: 2, Grouping: subfile.Blocks, Workers: 1}, Knobs: dataset.Knobs{Fs: fsys}})
		must(err)
		for rec := w.Puts.Records(); rec < m.records; rec++ {
			must(errors.Join(m.putRecord(w, rec, c.Rank(), false), w.Commit(ctx)))
			fmt.Printf("committed %d\n", w.Committed())
		}
		if err = w.Close(ctx); err == nil && c.Rank() == who {
			fmt.Printf("operations %d\n", ops.Load())
		}
		return err
	}))
}
