package salvage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

const (
	prefix  = "/p/lscratchb/user1/simulation123"
	catalog = "/nodelocal/user1/scr.1145655/cindex.scrinfo"
)

var must = testfiles.Must

// cluster is a prefix directory and its nodes, as SCR wrote them, copied into memory.
type cluster struct{ *vfs.Mem }

func load(t testing.TB, vector string) cluster {
	t.Helper()
	m := vfs.NewMem()
	from := testfiles.Dir(t, "scr", vector)
	must(t, filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		to := "/" + filepath.ToSlash(rel)
		if rest, ok := strings.CutPrefix(to, "/prefix"); ok {
			to = prefix + rest
		}
		if e.IsDir() {
			return m.MkdirAll(to)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return vfs.WriteFile(m, to, data)
	}))
	syncAll(t, m, "/")
	return cluster{m}
}

func syncAll(t testing.TB, m *vfs.Mem, dir string) {
	list, err := m.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		if e.IsDir() {
			syncAll(t, m, path.Join(dir, e.Name()))
		}
	}
	must(t, m.SyncDir(dir))
}

func nodeOn(fsys vfs.FS, i int) Node {
	return Node{Name: fmt.Sprint("node", i), FS: vfs.NewBind(fsys, []vfs.Bind{{At: "/nodelocal", To: fmt.Sprint("/nodes/node", i)}}), Catalog: catalog}
}

func nodesOn(fsys vfs.FS, ids ...int) (all []Node) {
	for _, i := range ids {
		all = append(all, nodeOn(fsys, i))
	}
	return all
}

// content returns the bytes that the application of the test vectors wrote.
func content(rank, step, file int) []byte {
	b := make([]byte, 1000+37*rank)
	x := uint64(rank)<<40 ^ uint64(step)<<20 ^ uint64(file) ^ 0x9e3779b97f4a7c15
	var w [8]byte
	for i := 0; i < len(b); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.LittleEndian.PutUint64(w[:], x)
		copy(b[i:], w[:])
	}
	return b
}

// intact returns an error unless all files of a checkpoint are in the prefix directory
// with the bytes that were written.
func intact(fsys vfs.FS, step, files int) error {
	for rank := range 4 {
		for f := range files {
			name := fmt.Sprintf("%s/ckpt.%d/rank_%d.%d.ckpt", prefix, step, rank, f)
			got, err := vfs.ReadFile(fsys, name, 1<<20)
			if err != nil {
				return err
			}
			if string(got) != string(content(rank, step, f)) {
				return fmt.Errorf("%s is not what was written", name)
			}
		}
	}
	return nil
}

func entry(t testing.TB, d *prefixdir.Dir, name string) prefixdir.Entry {
	t.Helper()
	x, _, _, err := d.Index.Load()
	must(t, err)
	e, _ := x.Entry(name)
	return e
}

var vectors = []struct {
	name  string
	files int
}{{"xor_1_after_crash", 2}, {"partner_1_after_crash", 1}}

var now = func() time.Time { return time.Unix(1.8e9, 0) }

func scavengeAll(ctx context.Context, fsys vfs.FS, ids ...int) error {
	for _, n := range nodesOn(fsys, ids...) {
		if _, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: prefixdir.Open(fsys, prefix), ID: 4, Workers: 1}); err != nil {
			return err
		}
	}
	return nil
}

func salvageAll(ctx context.Context, fsys vfs.FS, ids ...int) error {
	if err := scavengeAll(ctx, fsys, ids...); err != nil {
		return err
	}
	_, err := Index(ctx, Options{Prefix: prefixdir.Open(fsys, prefix), ID: 4, Current: true, Now: now})
	return err
}

// flip changes the byte at an offset of a file.
func flip(t testing.TB, fsys vfs.FS, name string, at int64) {
	t.Helper()
	f, err := fsys.OpenRW(name)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	b := []byte{0}
	_, err = f.ReadAt(b, at%size)
	must(t, err)
	b[0] ^= 0x10
	_, err = f.WriteAt(b, at%size)
	must(t, errors.Join(err, f.Close()))
}

func filesOf(t testing.TB, fsys vfs.FS, dir string) (names []string) {
	list, err := fsys.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		if name := path.Join(dir, e.Name()); e.IsDir() {
			names = append(names, filesOf(t, fsys, name)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}
