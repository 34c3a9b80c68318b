//go:build mpi && cgo && linux

package versioned

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/base/elem"
	"blobio/internal/comm/mpitest"
)

const envJob = "BLOBIO_TEST_VERSIONED_JOB" // environment variable with the directory of a job

// TestArraysUnderMPI runs jobs of 2 and 4 processes with one-sided accesses, and with versions in a directory and in memory.
// Afterwards a job with one process more or less opens the array.
func TestArraysUnderMPI(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	dir := t.TempDir()
	for i, n := range []int{4, 2} {
		out, err := mpitest.Run(t, n, 5*time.Minute, []string{envJob + "=" + dir}, exe, "-test.run", "^TestInJobArrays$", "-test.v")
		if err != nil || strings.Count(out, "--- PASS: TestInJobArrays") != n {
			t.Fatalf("job %d of %d processes: %v\n%s", i, n, err, out)
		}
	}
}

func TestInJobArrays(t *testing.T) {
	dir := os.Getenv(envJob)
	if dir == "" {
		t.Skip("runs under mpirun, see TestArraysUnderMPI")
	}
	err := mpi.Run(t.Context(), &mpi.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) error {
		if err := oneSided(ctx, c, &Store{Dir: dir}); err != nil {
			return err
		}
		for i, st := range []*Store{nil, {Copies: 1}, {Dir: filepath.Join(dir, fmt.Sprint("s", c.Size()))}} { // the order is the same in all processes
			if err := versionsOf(ctx, c, st); err != nil {
				return fmt.Errorf("store %d: %w", i, err)
			}
		}
		return nil
	})
	must(t, err)
}

// oneSided opens the array that a job of another size has made. It accesses parts of other ranks, which take no action.
func oneSided(ctx context.Context, c comm.Comm, st *Store) error {
	const n = 1000
	a, err := Open(ctx, c, st, "a", nil)
	if errors.Is(err, ErrMissing) {
		a, err = Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{n}, Chunk: 512}, nil)
	}
	if err != nil {
		return err
	}
	got := make([]float64, n)
	for v := int64(1); v <= a.Newest(); v++ {
		if err := GetAt(ctx, a, v, []int64{0}, []int64{n}, got); err != nil || !slices.Equal(got[8:], seq(int(v)+8, n-8, 1)) {
			return fmt.Errorf("version %d of the job before: %v", v, err)
		}
	}
	version := a.Newest() + 1
	if c.Rank() == 1 {
		if err := Put(ctx, a, []int64{0}, []int64{n}, seq(int(version), n, 1)); err != nil {
			return err
		}
		if err := Put(ctx, a, []int64{0}, []int64{8}, make([]float64, 8)); err != nil {
			return err
		}
	}
	if err := a.Fence(ctx); err != nil {
		return err
	}
	at := int64(c.Rank()) // each rank has one element, next to elements of other ranks
	if err := Put(ctx, a, []int64{at}, []int64{at + 1}, []float64{float64(at + 1)}); err != nil {
		return err
	}
	if err := a.Fence(ctx); err != nil {
		return err
	}
	want := seq(int(version), n, 1)
	clear(want[:8])
	copy(want, seq(1, c.Size(), 1))
	if err := Get(ctx, a, []int64{0}, []int64{n}, got); err != nil || !slices.Equal(got, want) {
		return fmt.Errorf("%v ...: %w", got[:9], err)
	}
	if v, err := a.Inc(ctx, 1, ""); err != nil || v != version {
		return fmt.Errorf("%d, %w", v, err)
	}
	if err := GetAt(ctx, a, version, []int64{0}, []int64{2}, got[:2]); err != nil || !slices.Equal(got[:2], want[:2]) {
		return fmt.Errorf("%v, %w", got[:2], err)
	}
	return a.Close(ctx)
}

// versionsOf commits versions, reads this rank's and other ranks' parts of them, and restores a version after a reallocation.
func versionsOf(ctx context.Context, c comm.Comm, st *Store) error {
	n := int64(64 * c.Size())
	a, err := Create(ctx, c, st, Spec{Name: "b", Type: elem.Float64, Shape: []int64{n}, Chunk: 512}, nil)
	if err != nil {
		return err
	}
	lo := int64(c.Rank()) * 64
	for v := range 3 {
		if err := Put(ctx, a, []int64{lo}, []int64{lo + 64}, seq(1000*v+int(lo), 64, 1)); err != nil {
			return err
		}
		if _, err := a.Inc(ctx, 1, ""); err != nil {
			return err
		}
	}
	got := make([]float64, n)
	if err := GetAt(ctx, a, 2, []int64{lo}, []int64{lo + 64}, got[:64]); err != nil || got[0] != float64(1000+lo) {
		return fmt.Errorf("its own: %v, %w", got[0], err)
	}
	if err := GetAt(ctx, a, 2, []int64{0}, []int64{n}, got); err != nil || !slices.Equal(got, seq(1000, int(n), 1)) {
		return fmt.Errorf("all: %w", err)
	}
	if again, err := a.Reserve(ctx, 5*n); err != nil || !again {
		return fmt.Errorf("%v, %w", again, err)
	}
	if _, err := a.Inc(ctx, 1, ""); err != nil {
		return err
	}
	if err := a.Restore(ctx, 2); err != nil {
		return err
	}
	if err := Get(ctx, a, []int64{0}, []int64{n}, got); err != nil || !slices.Equal(got, seq(1000, int(n), 1)) {
		return fmt.Errorf("restored: %w", err)
	}
	return a.Close(ctx)
}
