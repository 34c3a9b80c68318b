package redset

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// metaFS gives files the metadata recorded in the test vectors, because programs cannot set the change time.
type metaFS struct {
	vfs.FS
	meta map[string]Meta // by base name
	mu   sync.Mutex
	set  map[string]Meta
}

func (m *metaFS) FileMeta(name string) (Meta, error) {
	if v, ok := m.meta[filepath.Base(name)]; ok {
		return v, nil
	}
	return Meta{}, os.ErrNotExist
}

func (m *metaFS) SetFileMeta(name string, v Meta) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set[filepath.Base(name)] = v
	return nil
}

// Rename moves the metadata too.
func (m *metaFS) Rename(from, to string) error {
	m.mu.Lock()
	if v, ok := m.set[filepath.Base(from)]; ok {
		delete(m.set, filepath.Base(from))
		m.set[filepath.Base(to)] = v
	}
	m.mu.Unlock()
	return m.FS.Rename(from, to)
}

type vector struct {
	name   string
	ranks  int
	o      Options
	losses map[string]bool // recoverable
}

var vectorCases = []vector{
	{"single4", 4, Options{Scheme: Single}, map[string]bool{"2": false}},
	{"partner4", 4, Options{Scheme: Partner, SetSize: 4}, map[string]bool{"2": true, "1_3": true}},
	{"xor4", 4, Options{Scheme: XOR, SetSize: 4}, map[string]bool{"0": true, "2": true, "3": true, "1_2": false}},
	{"rs4k2", 4, Options{Scheme: RS, SetSize: 4, K: 2}, map[string]bool{"2": true, "1_2": true, "0_3": true, "0_1_2": false}},
	{"xor8s4", 8, Options{Scheme: XOR, SetSize: 4}, map[string]bool{"1_6": true}},
}

// load returns the files of a directory tree by path.
func load(t testing.TB, dir string) map[string][]byte {
	v := map[string][]byte{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			v[filepath.ToSlash(rel)], err = os.ReadFile(path)
		}
		return err
	})
	must(t, err)
	return v
}

// toMem returns a file system in memory with the given files.
func toMem(t testing.TB, files map[string][]byte) *vfs.Mem {
	m := vfs.NewMem()
	for name, b := range files {
		must(t, m.MkdirAll(filepath.Dir(name)))
		must(t, vfs.WriteFile(m, name, b))
	}
	return m
}

// fromMem is the inverse of toMem.
func fromMem(t testing.TB, m vfs.FS, dir string) map[string][]byte {
	v := map[string][]byte{}
	var walk func(string)
	walk = func(dir string) {
		entries, err := m.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			name := filepath.ToSlash(filepath.Join(dir, e.Name()))
			if e.IsDir() {
				walk(name)
			} else if v[name], err = vfs.ReadFile(m, name, 1<<30); err != nil {
				t.Fatal(err)
			}
		}
	}
	walk(dir)
	return v
}

// vectorMeta returns the metadata of all files that the headers of a test vector contain.
func vectorMeta(t testing.TB, files map[string][]byte) map[string]Meta {
	v := map[string]Meta{}
	for name, b := range files {
		p, ok := parseName(strings.TrimPrefix(name, "rs."))
		if !ok {
			continue
		}
		h, err := parseHeader(name, p, b)
		must(t, err)
		for _, d := range h.descs {
			for _, f := range d.files {
				v[filepath.Base(f.name)] = f.meta
			}
		}
	}
	return v
}

// modes are the ways in which ranks can access the bytes of other ranks.
var modes = map[string]func(comm.Comm) comm.Comm{
	"shared":   func(c comm.Comm) comm.Comm { return c },
	"isolated": commtest.Isolate,
}

func run(t testing.TB, mode string, n int, f func(ctx context.Context, c comm.Comm) error) error {
	t.Helper()
	return comm.Run(context.Background(), n, nil, func(ctx context.Context, c comm.Comm) error { return f(ctx, modes[mode](c)) })
}

// TestVectorsEncode checks that redundancy files equal those that SCR wrote, byte for byte.
func TestVectorsEncode(t *testing.T) {
	for _, v := range vectorCases {
		want := load(t, testfiles.Dir(t, "redset", v.name, "orig"))
		meta := vectorMeta(t, want)
		data := map[string][]byte{}
		for name, b := range want {
			if strings.HasPrefix(name, "data/") {
				data[name] = b
			}
		}
		for mode := range modes {
			t.Run(v.name+"/"+mode, func(t *testing.T) {
				fsys := &metaFS{FS: toMem(t, data), meta: meta, set: map[string]Meta{}}
				err := run(t, mode, v.ranks, func(ctx context.Context, c comm.Comm) error {
					o := v.o
					o.Group = fmt.Sprint("node", c.Rank())
					s, err := New(ctx, c, o)
					must(t, err)
					return s.Encode(ctx, fsys, strings.Fields(string(want[fmt.Sprint("files.", c.Rank())])), "rs.")
				})
				must(t, err)
				got := fromMem(t, fsys, ".")
				for name, b := range want {
					if strings.HasSuffix(name, ".redset") && !bytes.Equal(got[name], b) {
						t.Errorf("%s: %d bytes, want %d, or other ones", name, len(got[name]), len(b))
					}
				}
				for name := range got {
					if _, ok := want[name]; !ok && !strings.HasSuffix(name, sumSuffix) {
						t.Errorf("%s: should not be there", name)
					}
				}
			})
		}
	}
}

// TestVectorsRecover rebuilds what SCR lost in its test. Redundancy files must have their original content. When SCR
// rebuilds them, it leaves stale entries in them.
func TestVectorsRecover(t *testing.T) {
	for _, v := range vectorCases {
		for loss, fine := range v.losses {
			for _, mode := range []string{"shared", "isolated", "offline"} {
				t.Run(v.name+"/"+loss+"/"+mode, func(t *testing.T) {
					before := load(t, testfiles.Dir(t, "redset", v.name, "lost_"+loss))
					want := load(t, testfiles.Dir(t, "redset", v.name, "orig"))
					fsys := &metaFS{FS: toMem(t, before), set: map[string]Meta{}}
					var err error
					if mode == "offline" {
						_, err = Offline(context.Background(), fsys, "rs.", nil)
					} else {
						err = run(t, mode, v.ranks, func(ctx context.Context, c comm.Comm) error {
							_, err := Recover(ctx, c, fsys, "rs.", nil)
							return err
						})
					}
					got := fromMem(t, fsys, ".")
					if !fine {
						var lost *LostError
						if !as(err, &lost) {
							t.Errorf("error %v, want a LostError", err)
						}
						same(t, got, before)
						return
					}
					must(t, err)
					for name, b := range want {
						if (strings.HasSuffix(name, ".redset") || strings.HasPrefix(name, "data/")) && !bytes.Equal(got[name], b) {
							t.Errorf("%s: %d bytes, want %d, or other ones", name, len(got[name]), len(b))
						}
						if _, ok := before[name]; ok || !strings.HasPrefix(name, "data/") {
							continue
						}
						if m := fsys.set[filepath.Base(name)]; m.Mode != 0o100640 || m.Mtime.Unix()/100 != 17000000 {
							t.Errorf("%s: metadata %+v", name, m)
						}
					}
				})
			}
		}
	}
}
