//go:build mpi && cgo && linux && !386 && !arm

package mount

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/decomp"
	"blobio/internal/comm/mpitest"
)

const (
	envGrow   = "BLOBIO_TEST_GROW" // directory and layout of a job
	jobRanks  = 4
	mostGrown = 200 // maximum records of a job
)

// TestFollowedUnderMPI kills a rank of a committing MPI job at random instants, with kill -9. One reader follows the dataset
// through the library, another reader through the mount. Neither of them may get a torn record or a decreasing number of records.
// The death is reported, and afterwards both have the committed data. BLOBIO_LONG=1 uses 200 instants.
func TestFollowedUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	root := t.TempDir()
	at, _, log := mountedAt(t, root, nil)
	runs := 4
	if v := os.Getenv("BLOBIO_LONG"); v != "" && v != "0" {
		runs = 200
	}
	ends := map[string]int{}
	total := int64(0)
	for i := range runs {
		sub := fmt.Sprintf("job%d", i)
		dir := filepath.Join(root, sub)
		ok(t, os.Mkdir(dir, 0o777))
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		job := make(chan string, 1)
		go func() {
			out, err := mpitest.Run(t, jobRanks, 3*time.Minute, []string{envGrow + "=" + dir + " " + strconv.Itoa(i%2)}, os.Args[0], "-test.run=^TestInJobGrow$", "-test.v")
			job <- fmt.Sprintf("%v\n%s", err, out)
		}()
		stop, seen := make(chan struct{}), make(chan error, 1)
		last := int64(0)
		go func() { seen <- viewed(filepath.Join(at, sub, "d.nc"), stop, &last) }()
		records, err := killed(ctx, dir, rand.Int64N(int64(400*time.Millisecond)))
		close(stop)
		merr := <-seen
		said := <-job
		cancel()
		if err != nil || merr != nil {
			t.Fatalf("run %d: library: %v; mount: %v\n%s", i, err, merr, said)
		}
		s, err := blob.NewWatch(nil, filepath.Join(dir, "d.nc")).Settle(t.Context())
		ok(t, err)
		if s.State != blob.Died && s.State != blob.Finished || s.Records != records || last != records {
			t.Fatalf("run %d: %+v, the library has %d records, the mount %d\n%s", i, s, records, last, said)
		}
		ends[s.State.String()]++
		total += records
	}
	t.Logf("%v, %d records; the mount says %q", ends, total, log.String())
}

// killed waits for the first commit of the job, kills one of its ranks after a delay, and follows the dataset until its death is
// reported.
func killed(ctx context.Context, dir string, after int64) (records int64, err error) {
	base := filepath.Join(dir, "d.nc")
	var r *blob.Reader
	for r == nil {
		r, err = blob.Open(ctx, base, &blob.OpenOptions{Verify: blob.VerifyAlways})
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, blob.ErrNotCommitted) {
			time.Sleep(time.Millisecond)
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
		} else if err != nil {
			return 0, err
		}
	}
	defer r.Close()
	b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("pid.", after%jobRanks)))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, err
	}
	kill := time.AfterFunc(time.Duration(after), func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	defer kill.Stop() // another process may reuse the id after the job has ended
	data := make([]float64, growing)
	for rec, err := range r.NewRecords(ctx, 0) {
		if died := new(blob.WriterDiedError); errors.As(err, &died) {
			return died.Status.Records, nil
		} else if err != nil {
			return records, err
		}
		if err := r.Read(ctx, "T", []int64{rec, 0}, []int64{1, growing}, data); err != nil {
			return records, err
		}
		for i, v := range data {
			if v != float64(rec*growing+int64(i)) {
				return records, fmt.Errorf("record %d: element %d is %v", rec, i, v)
			}
		}
		records = rec + 1
	}
	return records, nil
}

// viewed opens the growing file of the mount and reads it repeatedly until stop is closed, then once more.
func viewed(path string, stop chan struct{}, last *int64) error {
	var f *os.File
	for ended := false; ; {
		select {
		case <-stop:
			ended = true
		default:
		}
		var err error
		if f == nil {
			if f, err = os.Open(path); err == nil {
				defer f.Close()
			} else if !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		if f != nil {
			n, err := view(f, headOf(f))
			if err != nil || n < *last {
				return fmt.Errorf("%d records behind %d: %w", n, *last, err)
			}
			*last = n
		}
		if ended {
			return nil
		}
	}
}

// headOf returns the offset of the records, after a header of constant length.
func headOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size() % (8 * growing)
}

func TestInJobGrow(t *testing.T) {
	dir, layout, is := strings.Cut(os.Getenv(envGrow), " ")
	if !is {
		t.Skip("runs under mpirun, see TestFollowedUnderMPI")
	}
	o := blob.Options{Heartbeat: time.Second, Durability: blob.DurableData}
	if layout == "1" {
		o.Layout, o.Records = blob.ProcessCentric, mostGrown
	}
	ok(t, mpi.Run(t.Context(), nil, func(ctx context.Context, c comm.Comm) error {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("pid.", c.Rank())), []byte(strconv.Itoa(os.Getpid())), 0o666); err != nil {
			return err
		}
		s := blob.NewSchema()
		tm, col := s.Dim("time", blob.Unlimited), s.Dim("ncol", growing)
		d := s.Decomp(col)
		v := s.Var("T", cdf5.Double, []blob.DimID{tm, col}, blob.Decomposed(d))
		const n = growing / jobRanks
		w, err := blob.Create(ctx, c, filepath.Join(dir, "d.nc"), s, []blob.Part{{Decomp: d, Runs: []decomp.Req{{Offset: int64(c.Rank() * n), Length: n}}}}, &o)
		if err != nil {
			return err
		}
		defer w.Abort()
		data := make([]float64, n)
		for rec := range int64(mostGrown) {
			for i := range data {
				data[i] = float64(rec*growing + int64(c.Rank()*n+i))
			}
			if err := errors.Join(blob.Put(w, v, rec, data), w.Commit(ctx)); err != nil {
				return err
			}
		}
		return w.Close(ctx)
	}))
}
