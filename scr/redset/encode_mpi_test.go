//go:build mpi && cgo && linux

package redset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/mpitest"
)

const (
	envJob     = "BLOBIO_TEST_REDSET_JOB"      // directory of the job
	envPerNode = "BLOBIO_TEST_REDSET_PER_NODE" // number of the job's ranks on each node
)

// TestRebuildUnderMPI runs real processes. They encode with each scheme, lose as much as the scheme survives, and rebuild it.
// If more is lost, all processes must get an error.
func TestRebuildUnderMPI(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	for _, perNode := range []string{"1", "4"} { // with messages only, and with access to each other's files
		out, err := mpitest.Run(t, 4, 5*time.Minute, []string{envJob + "=" + t.TempDir(), envPerNode + "=" + perNode}, exe, "-test.run", "^TestInJobRebuild$", "-test.v")
		if err != nil || strings.Count(out, "--- PASS: TestInJobRebuild") != 4 {
			t.Fatalf("%s ranks of a node: %v\n%s", perNode, err, out)
		}
	}
}

func TestInJobRebuild(t *testing.T) {
	dir := os.Getenv(envJob)
	if dir == "" {
		t.Skip("runs under mpirun, see TestRebuildUnderMPI")
	}
	perNode, err := strconv.Atoi(os.Getenv(envPerNode))
	must(t, err)
	err = mpi.Run(t.Context(), &mpi.Options{RanksPerNode: perNode}, func(ctx context.Context, c comm.Comm) error {
		for i, x := range []struct {
			o    Options
			lost []int
			good bool
		}{
			{Options{Scheme: XOR}, []int{2}, true},
			{Options{Scheme: XOR}, []int{0, 3}, false},
			{Options{Scheme: Partner}, []int{1}, true},
			{Options{Scheme: Partner, Replicas: 2}, []int{1, 2}, true},
			{Options{Scheme: RS, K: 2}, []int{0, 3}, true},
			{Options{Scheme: RS, K: 3}, []int{0, 1, 2}, true},
			{Options{Scheme: RS, K: 2}, []int{0, 1, 2}, false},
		} {
			if err := rebuild(ctx, c, filepath.Join(dir, fmt.Sprint(i)), x.o, x.lost, x.good); err != nil {
				return fmt.Errorf("case %d: %w", i, err)
			}
		}
		return nil
	})
	must(t, err)
}

func rebuild(ctx context.Context, c comm.Comm, dir string, o Options, lost []int, good bool) error {
	own := filepath.Join(dir, fmt.Sprint(c.Rank()))
	if err := os.MkdirAll(own, 0o777); err != nil {
		return err
	}
	content := map[string][]byte{}
	var files []string
	for i := range 3 {
		name := filepath.Join(own, fmt.Sprintf("file%d", i))
		content[name] = bytes.Repeat([]byte{byte(c.Rank()), byte(i), 7}, 100_000*i+1000*c.Rank())
		if err := os.WriteFile(name, content[name], 0o666); err != nil {
			return err
		}
		files = append(files, name)
	}
	o.Group = fmt.Sprint("node", c.Rank())
	s, err := New(ctx, c, o)
	if err != nil {
		return err
	}
	prefix := filepath.Join(own, "rs.")
	if err := s.Encode(ctx, vfs.OS, files, prefix); err != nil {
		return err
	}
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	for _, r := range lost {
		if r == c.Rank() {
			if err := errors.Join(os.RemoveAll(own), os.Mkdir(own, 0o777)); err != nil {
				return err
			}
		}
	}
	_, err = Recover(ctx, c, vfs.OS, prefix, nil)
	if !good {
		var le *LostError
		if !errors.As(err, &le) && (err == nil || !errors.Is(err, fault.ErrMissing)) {
			return fmt.Errorf("rank %d: %v, want a LostError", c.Rank(), err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	for name, want := range content {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s: %d bytes, want %d (%v)", name, len(got), len(want), err)
		}
	}
	return nil
}
