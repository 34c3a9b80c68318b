//go:build mpi && cgo && linux

package blob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/mpitest"
)

// TestFailuresUnderMPI lets one rank fail in any phase. All ranks must soon get an error, and the dataset must have the old
// content or the new content.
func TestFailuresUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	for _, test := range []string{"TestInJobFaults", "TestInJobArguments"} {
		t.Run(test, func(t *testing.T) {
			out, err := runJob(t, 15*time.Minute, test, envJobDir+"="+t.TempDir())
			if err != nil || strings.Count(out, "--- PASS: "+test) != jobRanks {
				t.Fatalf("%v\n%s", err, out)
			}
			for l := range strings.Lines(out) {
				if strings.Contains(l, "sessions") {
					t.Log(strings.TrimSpace(l))
				}
			}
		})
	}
}

func TestInJobFaults(t *testing.T) {
	job := startJob(t)
	world := job.World()
	counts := map[string]int{}
	for i, s := range sessions() {
		for who := range jobRanks {
			step := times(1+i%2, 1)
			for n := 1; ; n += step {
				name := fmt.Sprintf("s%d-%d-%d", i, who, n)
				dir := newDir(t, world, name, s.begin)
				all := inJob(t, job, dir, jobRanks/s.nodes, func(ctx context.Context, c comm.Comm) (note string, err error) {
					fsys := vfs.OS
					if c.Rank() == who {
						fsys = vfs.NewFault(fsys, func(op vfs.Op) error {
							if op.Seq != int64(n) {
								return nil
							}
							note = op.String()
							if mayIgnore(op) {
								note = "?" + note
							}
							return errDisk
						})
					}
					err = s.write(ctx, c, fsys)
					return note, err
				})
				hit := all[who].note
				if hit == "" {
					break
				}
				if world.Rank() == 0 {
					bad := 0
					for r, o := range all {
						if o.err != "" {
							bad++
						}
						if o.err != "" && !strings.Contains(o.err, errDisk.Error()) {
							t.Fatalf("%v: rank %d fails in %s: rank %d says %q", s, who, hit, r, o.err)
						}
						if o.took > time.Minute {
							t.Fatalf("%v: rank %d fails in %s: rank %d took %v", s, who, hit, r, o.took)
						}
					}
					if bad != 0 && bad != jobRanks || bad == 0 && hit[0] != '?' {
						t.Fatalf("%v: rank %d fails in %s: %+v", s, who, hit, all)
					}
					state := s.look(t, dir, fmt.Sprintf("rank %d fails in %s", who, hit), n)
					if bad == 0 && state != "now" {
						t.Fatalf("%v: rank %d fails in %s: no error, but the dataset reads as %q", s, who, hit, state)
					}
					counts[state]++
					must(os.RemoveAll(dir))
				}
			}
		}
	}
	if world.Rank() == 0 {
		fmt.Printf("sessions: %v\n", counts)
		if counts["was"] < 50 || counts["now"] == 0 {
			t.Errorf("%v", counts)
		}
	}
}

// TestInJobArguments checks wrong arguments, panics, and ranks that stop early.
func TestInJobArguments(t *testing.T) {
	job := startJob(t)
	world := job.World()
	m := tinyModel(1, 2)
	count, longest := 0, time.Duration(0)
	if world.Rank() == 0 {
		defer func() { fmt.Printf("sessions: %d, the longest took %v\n", count, longest) }()
	}
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, nodes := range []int{1, 2} {
			for i, f := range rankFaults(m) {
				name := fmt.Sprintf("%v, %d nodes, %s", l, nodes, f.name)
				dir := newDir(t, world, fmt.Sprintf("a%d-%d-%d", l, nodes, i), func() error { return nil })
				all := inJob(t, job, dir, jobRanks/nodes, func(ctx context.Context, c comm.Comm) (string, error) {
					err := f.f(ctx, c, &dataset.Settings{Options: dataset.Options{Layout: l, Workers: 1}, Knobs: dataset.Knobs{Fs: vfs.OS}})
					if f.want != nil && err != nil && !errors.Is(err, f.want) && f.want != errMine {
						return "", fmt.Errorf("%w instead of %w", err, f.want)
					}
					return "", err
				})
				if world.Rank() != 0 {
					continue
				}
				for r, o := range all {
					if o.err == "" || strings.Contains(o.err, " instead of ") {
						t.Errorf("%s: rank %d: %q", name, r, o.err)
					}
					if f.want == errMine && !strings.Contains(o.err, "mine") || f.name == "panic" && !strings.Contains(o.err, "panic: no") {
						t.Errorf("%s: rank %d: %q", name, r, o.err)
					}
					if o.took > time.Minute {
						t.Errorf("%s: rank %d took %v", name, r, o.took)
					}
				}
				mem := loaded(t, dir)
				if state := seen(t, crash{fs: mem, when: name}, "d.nc", nil, nil); state != "none" {
					t.Errorf("%s: a dataset is there: %v", name, names(mem, "."))
				}
				count, longest = count+1, max(longest, all[0].took)
			}
		}
	}
}
