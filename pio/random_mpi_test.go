//go:build mpi && cgo && linux

package pio

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/blob"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/internal/comm/mpitest"
)

// envJobDir is the working directory of a job; the test binary runs itself under mpirun.
const envJobDir = "BLOBIO_TEST_JOB"

// TestRandomUnderMPI is TestRandom with processes; one process alone then reads their files.
func TestRandomUnderMPI(t *testing.T) {
	launcher := mpitest.Launcher(t)
	for _, ranks := range []int{1, 2, 4, 7} {
		if ranks != 2 && !mpitest.OpenMPI(launcher) {
			continue
		}
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			exe, err := os.Executable()
			must(err)
			env := []string{envJobDir + "=" + t.TempDir(), "BLOBIO_MPIRUN=" + launcher}
			out, err := mpitest.Run(t, ranks, 2*time.Minute, env, exe, "-test.run", "^TestInJobRandom$", "-test.v")
			if err != nil || strings.Count(out, "--- PASS: TestInJobRandom") != ranks {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

func TestInJobRandom(t *testing.T) {
	dir := os.Getenv(envJobDir)
	if dir == "" {
		t.Skip("runs under mpirun, see TestRandomUnderMPI")
	}
	job, err := mpi.Init(nil)
	must(err)
	defer func() { must(job.Finalize(context.Background())) }()
	ctx, c := t.Context(), job.World()
	for seed := range uint64(8) {
		g := newProgramme(seed, filepath.Join(dir, fmt.Sprint(seed)))
		m := &model{atts: map[string]float64{}}
		for leg := range legs {
			now, said, err := g.leg(ctx, c, leg, m)
			if err := comm.Agree(ctx, c, err); err != nil {
				t.Fatalf("seed %d, leg %d: %v\n%s", seed, leg, err, strings.Join(said, "\n"))
			}
			m = now
			if c.Rank() == 0 {
				s, err := NewSystem(ctx, comm.Self(), nil)
				must(err)
				f, err := s.Open(ctx, g.path, nil)
				must(err)
				if err := (&player{m: m, s: s, f: f, ctx: ctx}).look(); err != nil {
					t.Errorf("seed %d, leg %d, read alone: %v", seed, leg, err)
				}
				must(f.Close(ctx))
				for x := range blob.Check(ctx, g.path, nil) {
					if x.Severity > blob.Note {
						t.Errorf("seed %d, leg %d: %v", seed, leg, x)
					}
				}
			}
			must(c.Barrier(ctx))
		}
	}
}
