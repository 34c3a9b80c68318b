package scr

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

const vectorPrefix = "/p/lscratchb/user1/simulation123"

// realCluster returns the files of a run of the original SCR as a cluster on which a run can continue.
func realCluster(t *testing.T, name string, nodes ...string) *cluster {
	dir := testfiles.Dir(t, "scr", name)
	cl := newCluster(t, nodes...)
	cl.set("SCR_PREFIX", vectorPrefix, "SCR_CACHE_BASE", "/nodelocal", "SCR_CNTL_BASE", "/nodelocal", "SCR_JOB_ID", "1145655",
		"SCR_JOB_NAME", "simulation123")
	if strings.HasPrefix(name, "partner") {
		cl.set("SCR_COPY_TYPE", "PARTNER")
		cl.files = 1
	}
	copyTree(t, cl.fs, filepath.Join(dir, "prefix"), vectorPrefix)
	list, err := os.ReadDir(filepath.Join(dir, "nodes"))
	must(t, err)
	for _, e := range list {
		copyTree(t, cl.fs, filepath.Join(dir, "nodes", e.Name()), "/nodes/"+e.Name()+"/nodelocal")
	}
	return cl
}

func copyTree(t *testing.T, fsys vfs.FS, from, to string) {
	must(t, filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		name := path.Join(to, filepath.ToSlash(rel))
		if d.IsDir() {
			return fsys.MkdirAll(name)
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return put(fsys, name, b)
	}))
}

// realContent returns the bytes that the program that made the test vectors writes into a file.
func realContent(ckpt, rank, file int) []byte {
	b := content(ckpt, rank, 0)
	x := uint64(rank)<<40 ^ uint64(ckpt)<<20 ^ uint64(file) ^ 0x9e3779b97f4a7c15
	for i := 0; i < len(b); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		for k := 0; k < 8 && i+k < len(b); k++ {
			b[i+k] = byte(x >> (8 * k))
		}
	}
	return b
}

// readReal restarts from a checkpoint of the original SCR and checks its bytes.
func readReal(ctx context.Context, cl *cluster, s *Session, rank, want int) error {
	r, err := s.StartRestart(ctx)
	if err != nil {
		return err
	}
	if r.Name != fmt.Sprintf("ckpt.%d", want) {
		return fmt.Errorf("offered %s, want ckpt.%d", r.Name, want)
	}
	for i := range cl.files {
		name, err := s.Route(path.Join(vectorPrefix, fileName(want, rank, i)))
		if err != nil {
			return err
		}
		b, err := vfs.ReadFile(cl.fs, name, 1<<20)
		if err != nil {
			return err
		}
		if !bytes.Equal(b, realContent(want, rank, i)) {
			cl.t.Errorf("rank %d, file %d: wrong bytes", rank, i)
		}
	}
	return s.CompleteRestart(ctx, true)
}

// TestRealRestart continues runs of the original SCR on the same nodes, with a lost node, and with only the prefix directory.
func TestRealRestart(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []string
		lose  []string
		want  int
	}{
		{"xor_1_after_crash", []string{"node0", "node1", "node2", "node3"}, nil, 4},
		{"xor_1_after_crash", []string{"node0", "node1", "node4", "node3"}, []string{"node2"}, 4},
		{"xor_1_after_crash", []string{"node3", "node2", "node1", "node0"}, nil, 4},
		{"xor_1_after_crash", []string{"node0", "node1", "node4", "node5"}, []string{"node2", "node3"}, 3},
		{"xor_1_after_crash", []string{"a", "b", "c", "d"}, nil, 3},
		{"partner_1_after_crash", []string{"node0", "node1", "node2", "node3"}, nil, 4},
		{"partner_1_after_crash", []string{"node0", "node1", "node2", "node7"}, []string{"node3"}, 4},
		{"partner_1_after_crash", []string{"node0", "x", "node2", "y"}, []string{"node1", "node3"}, 4},
		{"partner_1_after_crash", []string{"node0", "x", "y", "node3"}, []string{"node1", "node2"}, 3},
		{"xor_2_restarted_finalized", []string{"node0", "node1", "node4", "node3"}, nil, 6},
		{"xor_2_restarted_finalized", []string{"e", "f", "g", "h"}, nil, 6},
	} {
		t.Run(fmt.Sprintf("%s/%s", c.name, strings.Join(c.nodes, "-")), func(t *testing.T) {
			cl := realCluster(t, c.name, c.nodes...)
			cl.lose(c.lose...)
			must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
				must(t, readReal(ctx, cl, s, rank, c.want))
				// The numbering continues.
				must(t, cl.write(ctx, s, rank, c.want+1))
				if s.cache.ids.ckpt != c.want+1 && c.want != 3 {
					t.Errorf("checkpoint number %d after %d", s.cache.ids.ckpt, c.want)
				}
				return s.Close(ctx)
			}))
			cl.mustRestart(c.want + 1)
		})
	}
}

// TestTreesAsReal checks that the files that this library writes have the same trees of keys as the files of the original SCR.
// Additional keys are allowed only where SCR looks up keys by name.
func TestTreesAsReal(t *testing.T) {
	for _, c := range []struct{ vector, scheme string }{{"xor_1_after_crash", "XOR"}, {"partner_1_after_crash", "PARTNER"}} {
		t.Run(c.vector, func(t *testing.T) {
			want := realCluster(t, c.vector, "node0")
			got := fourNodes(t).set("SCR_PREFIX", vectorPrefix, "SCR_CACHE_BASE", "/nodelocal", "SCR_CNTL_BASE", "/nodelocal",
				"SCR_JOB_ID", "1145655", "SCR_JOB_NAME", "simulation123", "SCR_COPY_TYPE", c.scheme)
			got.files = want.files
			mkdirs(t, got.fs, vectorPrefix)
			must(t, got.run(func(ctx context.Context, s *Session, rank int) error {
				for n := 1; n <= 4; n++ {
					must(t, s.Start(ctx, fmt.Sprintf("ckpt.%d", n), Checkpoint))
					for i := range got.files {
						name, err := s.Route(fileName(n, rank, i))
						must(t, err)
						must(t, put(got.fs, name, realContent(n, rank, i)))
					}
					must(t, s.Complete(ctx, true))
				}
				return nil
			}))
			for _, dir := range []string{vectorPrefix, "/nodes"} {
				ours, theirs := tree(t, got.fs, dir), tree(t, want.fs, dir)
				for name := range theirs {
					if name == ".scr/log" || strings.HasSuffix(name, "app.conf") || strings.HasSuffix(name, "halt.scr") {
						continue
					}
					if _, ok := ours[name]; !ok {
						t.Errorf("%s/%s is not written", dir, name)
						continue
					}
					compareFiles(t, got.fs, want.fs, path.Join(dir, name))
				}
				for name := range ours {
					if _, ok := theirs[name]; !ok {
						if strings.HasSuffix(name, ".redsum") || name == ".scr/index.lock" {
							continue // only this library writes this file
						}
						t.Errorf("%s/%s is written, but not by the reference", dir, name)
					}
				}
			}
		})
	}
}

// compareFiles compares two versions of a file. It compares the keys of trees, and the values that do not depend on time. It
// compares all other bytes directly.
func compareFiles(t *testing.T, ours, theirs vfs.FS, name string) {
	a, err := vfs.ReadFile(ours, name, 1<<20)
	must(t, err)
	b, err := vfs.ReadFile(theirs, name, 1<<20)
	must(t, err)
	ra, erra := kvtree.Decode(a, nil)
	rb, errb := kvtree.Decode(b, nil)
	if errb != nil {
		if !bytes.Equal(a, b) {
			t.Errorf("%s: bytes differ", name)
		}
		return
	}
	if erra != nil {
		t.Errorf("%s: %v", name, erra)
		return
	}
	compareTrees(t, name, ra.Tree, rb.Tree)
	if !strings.Contains(name, "reddescmap") && !bytes.Equal(a[ra.Size:], b[rb.Size:]) {
		t.Errorf("%s: payload differs", name)
	}
}

// varies reports whether the value of a key depends on the time and the place of the run.
func varies(key string) bool {
	for _, p := range []string{"ATIME_", "CTIME_", "MTIME_", "CREATED", "FLUSHED", "FETCHED", "UID", "GID", "MODE"} {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

func compareTrees(t *testing.T, at string, ours, theirs *kvtree.Tree) {
	for key, sub := range theirs.All() {
		if !ours.Has(key) {
			t.Errorf("%s: key %q is missing", at, key)
			continue
		}
		if !varies(key) && !(key == "CHUNK" || key == "SIZE") || !strings.Contains(at, "reddescmap") && !varies(key) {
			compareTrees(t, at+"/"+key, ours.Get(key), sub)
		}
	}
	for key := range ours.All() {
		if !theirs.Has(key) && !extraKey(at, key) {
			t.Errorf("%s: key %q is not one of the reference", at, key)
		}
	}
}

// extraKey reports whether a key, or a file in a list, exists only in this library. SCR ignores such keys.
func extraKey(at, key string) bool {
	return key == "DSET" && strings.HasSuffix(at, "/reddescmap.er.er") || key == "CRC" && strings.Contains(at, "filemap_") || (key == "CRC" || key == "SIZE") && strings.Contains(at, "rank2file")
}
