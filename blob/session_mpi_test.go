//go:build mpi && cgo && linux

package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/watch"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/mpitest"
)

// mpiSessions returns the sessionCases of four processes.
func mpiSessions() (l []sessionCase) {
	for _, sc := range sessionCases() {
		if sc.apart && sc.ranks != 1 && sc.ranks != 2 && sc.model(1).ranks >= 3 {
			sc.ranks = jobRanks
			sc.o.Workers = 1
			l = append(l, sc)
		}
	}
	return l
}

// TestSessionsUnderMPI kills a rank of a job with commits, at any operation. Meanwhile one reader opens the dataset repeatedly,
// and another reader refreshes it until the writer has finished or died. Both must see only complete commits, and never fewer
// records than before. Afterwards all successful commits must be present, and the next writer must be able to continue.
func TestSessionsUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	for i, sc := range mpiSessions() {
		for _, who := range []int{0, jobRanks / 2} {
			t.Run(fmt.Sprintf("%s/rank %d", sc.name, who), func(t *testing.T) {
				m := sc.model(4)
				run := func(n int) (left *vfs.Mem, out string, ops int, seen int64) {
					dir := t.TempDir()
					stop := make(chan struct{})
					var told [2]chan error
					most := [2]int64{-1, -1}
					for k := range told {
						told[k] = make(chan error, 1)
						go func() {
							told[k] <- []func(string, *model, chan struct{}, *int64) error{follow, followOn}[k](dir+"/d.nc", m, stop, &most[k])
						}()
					}
					out, err := runJob(t, 2*time.Minute, "TestInJobSession", envJobDir+"="+dir, envJobDo+"="+strconv.Itoa(i), fmt.Sprintf("%s=%d,%d", envKill, who, n))
					close(stop)
					for k := range told {
						if rerr := <-told[k]; rerr != nil {
							t.Fatalf("killed at operation %d: a reader: %v\n%s", n, rerr, out)
						}
					}
					ops = int(highest(out, "operations", 0))
					if errors.Is(err, mpitest.ErrHung) || (err == nil) != strings.Contains(out, "operations ") || n == 0 && err != nil {
						t.Fatalf("killed at operation %d: %v, %d operations\n%s", n, err, ops, out)
					}
					return loaded(t, dir), out, ops, max(most[0], most[1])
				}
				_, _, ops, _ := run(0)
				for n := 1 + i%3; n <= ops; n += times(max(4, ops/3), 1) {
					left, out, _, seen := run(n)
					when := fmt.Sprintf("killed at operation %d", n)
					told := highest(out, "committed", -1)
					have := recordsSeen(t, left, when, m)
					if have < told || have < seen {
						t.Fatalf("%s: %d records, %d were committed and %d seen: %v", when, have, told, seen, names(left, "."))
					}
					next := sc
					next.apart = false // a single process continues, with the same number of subfiles
					next.o.Subfiles, next.o.Aggregators, next.o.OwnMin = max(sc.o.Subfiles, 1), 0, 0
					next.goOnAfter(t, crash{fs: left, when: when}, m, have)
				}
			})
		}
	}
}

// followOn waits for new records with one reader, until the reader reports that no more will come.
func followOn(base string, m *model, stop chan struct{}, most *int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	for {
		r, err := read.Open(ctx, base, nil)
		if err == nil {
			defer r.Close()
			for _, err := range r.NewRecords(ctx, 0) {
				if died := new(watch.WriterDiedError); errors.As(err, &died) {
					return nil
				} else if err != nil {
					return err
				}
				n := r.Now().Data.Records
				got, err := convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1, Records: &read.Range{End: n}})
				if err != nil || n < *most || !bytes.Equal(got, m.upTo(n).canonical(false)) {
					return fmt.Errorf("refreshed: %d records, %d before: %w", n, *most, err)
				}
				*most = n
			}
			return nil
		}
		if !errors.Is(err, dataset.ErrNotCommitted) && !read.IsGone(err) {
			return err
		}
		select {
		case <-stop: // the job has ended without a commit
			return nil
		case <-time.After(time.Millisecond):
		}
	}
}

func TestInJobSession(t *testing.T) {
	if os.Getenv(envJobDir) == "" || os.Getenv(envJobDo) == "" {
		t.Skip("runs under mpirun, see TestSessionsUnderMPI")
	}
	must(os.Chdir(os.Getenv(envJobDir)))
	i := need(strconv.Atoi(os.Getenv(envJobDo)))
	sc := mpiSessions()[i]
	var who, n int
	need(fmt.Sscanf(os.Getenv(envKill), "%d,%d", &who, &n))
	must(mpi.Run(t.Context(), nil, func(ctx context.Context, c comm.Comm) error {
		fsys := vfs.OS
		var ops atomic.Int64
		if c.Rank() == who {
			fsys = doomed(n, &ops)
		}
		sc.apart = false // they are
		m := sc.model(4)
		o := sc.with(fsys, false)
		err := sc.writeCommits(ctx, c, m, o, false, func(n int64) { fmt.Printf("committed %d\n", n) })
		if err == nil && c.Rank() == who {
			fmt.Printf("operations %d\n", ops.Load())
		}
		return err
	}))
}
