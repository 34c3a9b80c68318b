package redset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/crashtest"
	"blobio/internal/vfs"
)

// silent is a Comm of processes of one node that cannot send messages.
type silent struct{ comm.Comm }

func (s silent) Send(context.Context, int, int, []byte) error { return errors.New("a message") }

func (s silent) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	c, err := s.Comm.Split(ctx, color, key)
	return silent{c}, err
}

func (s silent) SharedMemory(ctx context.Context, n int) (comm.Memory, error) {
	return comm.SharedMemory(ctx, s.Comm, n)
}

func (s silent) Apart() bool { return true }

// TestNearby: processes of one node encode and rebuild without a message between them, and make the files that ranks of one
// process make. What one of them cannot write is an error on all.
func TestNearby(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the system does not tell files apart")
	}
	const n = 4
	for _, o := range crashtest.Some(t, 3, []Options{{Scheme: XOR}, {Scheme: Partner, Replicas: 2}, {Scheme: RS, K: 2}, {Scheme: XOR, SetSize: 2}}) {
		dir := t.TempDir()
		run := func(way string, wrap func(comm.Comm) comm.Comm, f func(ctx context.Context, c comm.Comm, own string) error) error {
			return comm.Run(t.Context(), n, nil, func(ctx context.Context, c comm.Comm) error {
				own := filepath.Join(dir, way, fmt.Sprint(c.Rank()))
				if err := os.MkdirAll(own, 0o777); err != nil {
					return err
				}
				return f(ctx, wrap(c), own)
			})
		}
		names := func(c comm.Comm, own string) (v []string) {
			for i := range 2 + c.Rank()%2 {
				v = append(v, filepath.Join(own, fmt.Sprint("file", i)))
			}
			return v
		}
		encode := func(fsys vfs.FS) func(ctx context.Context, c comm.Comm, own string) error {
			return func(ctx context.Context, c comm.Comm, own string) error {
				for i, name := range names(c, own) {
					if err := os.WriteFile(name, bytes.Repeat([]byte{byte(c.Rank()), byte(i), 7}, 100_000*i+1000*c.Rank()), 0o666); err != nil {
						return err
					}
				}
				o := o
				o.Group, o.Root = fmt.Sprint("node", c.Rank()), own
				var files []string
				for _, name := range names(c, own) {
					files = append(files, filepath.Base(name))
				}
				s, err := New(ctx, c, o)
				if err != nil {
					return err
				}
				return s.Encode(ctx, fsys, files, filepath.Join(own, "rs."))
			}
		}
		near := func(c comm.Comm) comm.Comm { return silent{comm.Isolate(c)} }
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", o.label(), err)
			}
		}
		must(run("near", near, encode(vfs.OS)))
		want := payloads(t, filepath.Join(dir, "near"))
		must(run("one", func(c comm.Comm) comm.Comm { return c }, encode(vfs.OS)))
		if got := payloads(t, filepath.Join(dir, "one")); len(got) == 0 || fmt.Sprint(keys(got)) != fmt.Sprint(keys(want)) {
			t.Fatalf("%s: %v, want %v", o.label(), keys(got), keys(want))
		}
		same(t, tails(payloads(t, filepath.Join(dir, "one"))), tails(want))
		must(os.RemoveAll(filepath.Join(dir, "near", "1")))
		must(run("near", near, func(ctx context.Context, c comm.Comm, own string) error {
			_, err := Recover(ctx, c, vfs.OS, filepath.Join(own, "rs."), &RecoverOptions{Root: own})
			return err
		}))
		same(t, payloads(t, filepath.Join(dir, "near")), want)

		err := run("full", near, func(ctx context.Context, c comm.Comm, own string) error {
			fsys := vfs.OS
			if c.Rank() == 2 {
				fsys = vfs.NoSync(vfs.NewFault(vfs.OS, vfs.FailOn(vfs.OpRename, "", 1, vfs.ErrNoSpace)))
			}
			err := encode(fsys)(ctx, comm.Isolate(c.(silent).Comm), own)
			if !errors.Is(err, vfs.ErrNoSpace) {
				return fmt.Errorf("rank %d: %v", c.Rank(), err)
			}
			return nil
		})
		must(err)
	}
}

// TestNotNearby: files that other processes of the node do not find by their names are asked for, as on another node.
func TestNotNearby(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system may not have such names")
	}
	for _, o := range []Options{{Scheme: XOR}, {Scheme: Partner}} {
		dir := t.TempDir()
		cl := &cluster{n: 2}
		content := func(r int) []byte { return bytes.Repeat([]byte{byte(r), 3, 7}, 200_000) }
		for _, what := range []string{"encode", "recover"} {
			err := cl.run("isolated", func(ctx context.Context, c comm.Comm) error {
				own := filepath.Join(dir, fmt.Sprint(c.Rank()))
				name, prefix := filepath.Join(own, "f\xff"), filepath.Join(own, "rs.")
				if what == "recover" {
					if c.Rank() == 1 {
						must(t, os.Remove(name))
					}
					if _, err := Recover(ctx, c, vfs.OS, prefix, nil); err != nil {
						return err
					}
					if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, content(c.Rank())) {
						return fmt.Errorf("%d bytes, %w", len(b), err)
					}
					return nil
				}
				must(t, errors.Join(os.Mkdir(own, 0o777), os.WriteFile(name, content(c.Rank()), 0o666)))
				s, err := New(ctx, c, o)
				must(t, err)
				return s.Encode(ctx, vfs.OS, []string{name}, prefix)
			})
			if err != nil {
				t.Fatalf("%s: %s: %v", o.label(), what, err)
			}
		}
	}
}

// shaken is a Comm of processes of one node, where something happens when they have opened each other's files.
type shaken struct {
	comm.Comm
	opens bool
	then  func() error
}

func (s *shaken) Apart() bool { return true }

func (s *shaken) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	c, err := s.Comm.Split(ctx, color, key)
	return &shaken{Comm: c, then: s.then}, err
}

func (s *shaken) SharedMemory(ctx context.Context, n int) (comm.Memory, error) {
	s.opens = true
	return comm.SharedMemory(ctx, s.Comm, n)
}

func (s *shaken) Send(context.Context, int, int, []byte) error { return errors.New("a message") }

func (s *shaken) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	v, err := s.Comm.AllreduceInt64(ctx, v, op)
	if s.opens {
		s.opens = false
		err = errors.Join(err, s.then(), s.Comm.Barrier(ctx))
	}
	return v, err
}

// TestNearbyChanges: a file that becomes shorter, or is another, while processes of the node use it, is an error on all of
// them when they encode, and one more to rebuild when they rebuild.
func TestNearbyChanges(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the system does not tell files apart")
	}
	const size = 1 << 20
	content := func(r int) []byte { return bytes.Repeat([]byte{byte(r), 3, 7, 1}, size/4) }
	for what, change := range map[string]func(name string) error{
		"cut to nothing": func(name string) error { return os.Truncate(name, 0) },
		"cut":            func(name string) error { return os.Truncate(name, size-1) },
		"replaced": func(name string) error {
			return errors.Join(os.WriteFile(name+".new", nil, 0o666), os.Rename(name+".new", name))
		},
		"removed": os.Remove,
	} {
		for _, o := range crashtest.Some(t, 1, []Options{{Scheme: RS, K: 2}, {Scheme: Partner, Replicas: 2}, {Scheme: XOR, SetSize: 2}}) {
			dir := t.TempDir()
			cl := &cluster{n: 4}
			run := func(then func(name string) error, f func(ctx context.Context, c comm.Comm, name, prefix string) error) {
				t.Helper()
				err := cl.run("isolated", func(ctx context.Context, c comm.Comm) error {
					own := filepath.Join(dir, fmt.Sprint(c.Rank()))
					name := filepath.Join(own, "f")
					once := true
					return f(ctx, &shaken{Comm: c, then: func() error {
						if c.Rank() != 1 || then == nil || !once {
							return nil
						}
						once = false
						return then(name)
					}}, name, filepath.Join(own, "rs."))
				})
				if err != nil {
					t.Fatalf("%s: %s: %v", what, o.label(), err)
				}
			}
			encode := func(ctx context.Context, c comm.Comm, name, prefix string) error {
				if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, content(c.Rank()), 0o666)); err != nil {
					return err
				}
				s, err := New(ctx, c, o)
				if err != nil {
					return err
				}
				return s.Encode(ctx, vfs.OS, []string{name}, prefix)
			}
			run(change, func(ctx context.Context, c comm.Comm, name, prefix string) error {
				err := encode(ctx, c, name, prefix)
				if what == "removed" && errors.Is(err, os.ErrNotExist) {
					err = ErrChanged
				}
				left, _ := filepath.Glob(prefix + "*")
				if !errors.Is(err, ErrChanged) || len(left) > 0 {
					return fmt.Errorf("rank %d: %v, %v are there", c.Rank(), err, left)
				}
				return nil
			})
			run(nil, encode)
			must(t, os.Remove(filepath.Join(dir, "3", "f")))
			run(change, func(ctx context.Context, c comm.Comm, name, prefix string) error {
				_, err := Recover(ctx, c, vfs.OS, prefix, nil)
				b, err1 := os.ReadFile(name)
				if err := errors.Join(err, err1); err != nil || !bytes.Equal(b, content(c.Rank())) {
					return fmt.Errorf("rank %d: %d bytes, %v", c.Rank(), len(b), err)
				}
				return nil
			})
		}
	}
}

// payloads are the files below a directory, by name.
func payloads(t *testing.T, dir string) map[string][]byte {
	v := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		v[rel], err = os.ReadFile(name)
		return err
	})
	must(t, err)
	return v
}

// tails are the ends of redundancy files with payload: headers hold times.
func tails(files map[string][]byte) map[string][]byte {
	v := map[string][]byte{}
	for name, b := range files {
		if strings.Contains(name, ".grp_") && len(b) > 200_000 {
			v[name] = b[len(b)-200_000:]
		}
	}
	return v
}

func keys(m map[string][]byte) []string {
	var v []string
	for k := range m {
		v = append(v, k)
	}
	sort.Strings(v)
	return v
}
