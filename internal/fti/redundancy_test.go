package fti

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/gf16"
	"blobio/internal/base/vfs"
)

// TestVectors: a run of FTI restarts after the loss of nodes, and all lost files have FTI's bytes again.
func TestVectors(t *testing.T) {
	for level := 2; level <= 3; level++ {
		backup := backupOf(level)
		for id, lost := range map[int][]int{2: {1}, 6: {0, 2}} {
			m := ftiRun(t, level, id, "")
			name := func(rank int, k kind) string {
				return fmt.Sprintf("Local/node%d/run/l%d/Ckpt%d-%s%d.fti", rank, level, id, k, rank)
			}
			vector := func(rank int, k kind) []byte {
				b, err := os.ReadFile(fmt.Sprintf("../../testdata/fti/tiny/head/l%d-4ranks/cp%d__node%d-Ckpt%d-%s%d.fti", level, id, rank, id, k, rank))
				must(t, err)
				return b
			}
			for _, n := range lost {
				must(t, vfs.RemoveAll(m, fmt.Sprintf("Local/node%d", n)))
			}
			must(t, job(m, func(context.Context, comm.Comm, *Session) error { return nil }))
			for rank := range ranks {
				for _, k := range []kind{ckpt, backup} {
					got, err := vfs.ReadFile(m, name(rank, k), 1<<20)
					want := vector(rank, k)
					if k == parity { // FTI leaves some fields of the file block undefined
						f, derr := ffformat.Decode(bytes.NewReader(want), int64(len(want)), "", nil)
						must(t, derr)
						for x := range ffformat.Check(context.Background(), bytes.NewReader(got), int64(len(got)), name(rank, k), nil) {
							if x.Severity > 0 {
								t.Errorf("%+v", x)
							}
						}
						want, got = want[:f.FB.FileSize], got[:min(len(got), int(f.FB.FileSize))]
					}
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s differs, %v", name(rank, k), err)
					}
				}
			}
		}
	}
}

// TestPosixLost: a run of FTI's POSIX mode restarts after the loss of nodes. The largest file is lost, whose size is odd, so that
// parity lacks half of the last word.
func TestPosixLost(t *testing.T) {
	for level := 2; level <= 3; level++ {
		backup := backupOf(level)
		for _, lost := range [][]int{{1}, {0, 2}} {
			dir := t.TempDir()
			name := func(rank int, k kind) string {
				return filepath.Join(dir, fmt.Sprintf("Local/node%d/run/l%d/Ckpt7-%s%d.fti", rank, level, k, rank))
			}
			put := func(name string, b []byte) {
				must(t, os.MkdirAll(filepath.Dir(name), 0o700))
				must(t, os.WriteFile(name, b, 0o600))
			}
			var data [ranks][]byte
			full := 0
			for rank := range ranks {
				data[rank] = bytes.Repeat([]byte{byte(3 + 17*rank), 'x', byte(rank)}, 10+2*rank)
				if rank == lost[0] {
					data[rank] = bytes.Repeat([]byte{byte(rank), 5, 'y'}, 21)
				}
				full = max(full, len(data[rank]))
			}
			var backups [ranks][]byte
			meta := "[ckpt_info]\nckpt_id = 7\n"
			for rank, b := range data {
				put(name(rank, ckpt), b)
				meta += fmt.Sprintf("[%d]\nckpt_file_name = Ckpt7-Rank%d.fti\nckpt_file_size = %d\nckpt_file_maxs = %d\nckpt_checksum = %x\nvar0_id = 3\nvar0_size = %d\nvar0_pos = 0\n",
					rank, rank, len(b), full, md5.Sum(b), len(b))
				b := data[(rank+ranks-1)%ranks]
				if level == 3 {
					b = make([]byte, full)
					for j := range data {
						gf16.NewFactor(gf16.Code(ranks, rank, j)).AddTo(b, append(data[j], make([]byte, full-len(data[j]))...))
					}
					meta += fmt.Sprintf("rsed_checksum = %x\n", md5.Sum(b))
				}
				put(name(rank, backup), b)
				backups[rank] = b
			}
			put(filepath.Join(dir, fmt.Sprintf("Meta/run/l%d/sector0-group0.fti", level)), []byte(meta))
			put(filepath.Join(dir, "config"), []byte(strings.NewReplacer("\nCkpt_dir = ", "\nCkpt_dir = "+dir+"/", "\nGlbl_dir = ", "\nGlbl_dir = "+dir+"/",
				"\"Meta\"", dir+"/Meta", "Failure = 0", "Failure = 1", "NONE", "run").Replace(fmt.Sprintf(template, ""))))
			if level == 3 {
				f, err := vfs.OS.Open(name(3, parity))
				must(t, err)
				if _, _, err := (&files{fs: vfs.OS}).parity(context.Background(), f, f.Name(), 7); err == nil {
					t.Error("parity of FTI's POSIX mode belongs to a checkpoint of blobio")
				}
				must(t, f.Close())
			}
			for _, n := range lost {
				must(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("Local/node%d", n))))
			}
			must(t, comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
				s, err := Open(ctx, c, filepath.Join(dir, "config"), nil)
				if err != nil {
					return err
				}
				want := data[c.Rank()]
				got := make([]byte, len(want))
				err = errors.Join(s.Protect(3, got, int64(len(got))), s.Recover(ctx))
				if !bytes.Equal(got, want) {
					err = errors.Join(err, fmt.Errorf("rank %d: %q", c.Rank(), got))
				}
				s.last.close()
				return errors.Join(err, s.release())
			}))
			for rank := range ranks {
				if b, err := os.ReadFile(name(rank, backup)); err != nil || !bytes.Equal(b, backups[rank]) {
					t.Errorf("level %d, %v lost: %s differs, %v", level, lost, name(rank, backup), err)
				}
			}
		}
	}
}

// TestPairs: two nodes of two ranks each survive the loss of one node.
func TestPairs(t *testing.T) {
	for level := 2; level <= 3; level++ {
		m := disk(t, "node_size = 2\ngroup_size = 2")
		must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return write(ctx, c, s, 1, 1, level) }))
		for _, lost := range []string{"Local/node1", "Local/node0"} {
			must(t, vfs.RemoveAll(m, lost))
			if got, err := stepOf(m); err != nil || got != 1 {
				t.Errorf("level %d, %s lost: step %d, %v", level, lost, got, err)
			}
		}
	}
}

// TestDamagedCopy: if a file and its copy are damaged, the restart takes an older checkpoint. If only the file is damaged, it is
// rebuilt. If there is no older checkpoint, the error names both files.
func TestDamagedCopy(t *testing.T) {
	m := disk(t, "")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
		return errors.Join(write(ctx, c, s, 1, 1, 4), write(ctx, c, s, 2, 2, 2))
	}))
	flip(t, m, "Local/node1/*/l2/Ckpt2-Rank1.fti")
	if got, err := stepOf(m); err != nil || got != 2 {
		t.Errorf("step %d, %v", got, err)
	}
	flip(t, m, "Local/node1/*/l2/Ckpt2-Rank1.fti")
	flip(t, m, "Local/node2/*/l2/Ckpt2-Pcof2.fti")
	if got, err := stepOf(m); err != nil || got != 1 {
		t.Errorf("with a damaged copy: step %d, %v", got, err)
	}
	must(t, vfs.RemoveAll(m, "Global"))
	_, err := stepOf(m)
	for _, want := range []string{"the file of rank 1 and its copy on rank 2 are lost", "Ckpt2-Rank1.fti", "Ckpt2-Pcof2.fti", "MD5"} {
		if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), want) {
			t.Errorf("without level 4: %v, want %s", err, want)
		}
	}
}
