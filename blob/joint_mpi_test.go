//go:build mpi && cgo && linux

package blob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/comm/mpitest"
)

// TestJointUnderMPI checks that the processes of a job can read a dataset together that another job wrote.
func TestJointUnderMPI(t *testing.T) {
	open := mpitest.OpenMPI(mpitest.Launcher(t))
	m := scattered(24, 500)
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		dir := t.TempDir()
		for name, b := range memFiles(t, scatteredDataset(m, layout, 5)) {
			must(os.WriteFile(filepath.Join(dir, name), b, 0o644))
		}
		for _, ranks := range []int{1, 2, 4, 7, 16} {
			if !open && ranks > 2 {
				continue
			}
			exe := need(os.Executable())
			out, err := mpitest.Run(t, ranks, 5*time.Minute, []string{envJobDir + "=" + dir}, exe, "-test.run", "^TestInJobJoint$", "-test.v")
			if err != nil || strings.Count(out, "--- PASS: TestInJobJoint") != ranks {
				t.Fatalf("%v, %d processes: %v\n%s", layout, ranks, err, out)
			}
		}
	}
}

func TestInJobJoint(t *testing.T) {
	job := startJob(t)
	c, ctx := job.World(), t.Context()
	m := scattered(24, 500)
	r := need(read.OpenComm(ctx, c, filepath.Join(os.Getenv(envJobDir), "d"), nil))
	k := r.Collective(c)
	k.Share, k.Span = 1<<12, 1<<10
	mine := decomp.Regular([]int64{m.Elems()}, c.Size()).AppendReqs(nil, c.Rank())
	if c.Rank() == 1 {
		mine = nil
	}
	if err := readScattered(ctx, k, mine); err != nil {
		t.Error(err)
	}
	if err := comm.Agree(ctx, c, r.Close()); err != nil {
		t.Error(err)
	}
}
