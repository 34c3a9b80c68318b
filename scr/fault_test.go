package scr

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/record"
)

// TestMoveFile moves a file to another node. The file must appear, durably, only if every byte arrived unchanged. A file that is
// unreadable, shorter than announced, or damaged in transit must be skipped as if it was lost.
func TestMoveFile(t *testing.T) {
	const name, size = "/local/user1/scr.77/scr.dataset.1/f", 1000
	data := content(1, 0, 0)[:size]
	send := func(ctx context.Context, s *Session) error {
		o := outbox{j: s.job, to: 1, buf: make([]byte, movePiece)}
		if err := o.file(ctx, name, size); err != nil {
			return err
		}
		_, err := s.c.Recv(ctx, 1, tagAck)
		return err
	}
	for what, from := range map[string]func(ctx context.Context, s *Session) error{
		"whole": func(ctx context.Context, s *Session) error {
			return errors.Join(s.fs.MkdirAll(path.Dir(name)), put(s.fs, name, data), send(ctx, s))
		},
		"unreadable": send,
		"shorter": func(ctx context.Context, s *Session) error {
			return errors.Join(s.fs.MkdirAll(path.Dir(name)), put(s.fs, name, data[:500]), send(ctx, s))
		},
		"damaged": func(ctx context.Context, s *Session) error {
			other := bytes.Clone(data)
			other[17]++
			if err := s.c.Send(ctx, 1, tagData, other); err != nil {
				return err
			}
			if err := s.c.Send(ctx, 1, tagData, binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))); err != nil {
				return err
			}
			_, err := s.c.Recv(ctx, 1, tagAck)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			cl := newCluster(t, "node0", "node1")
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				if rank == 0 {
					return from(ctx, s)
				}
				var failed error
				err := (&mover{s.job}).recvFile(ctx, 0, name, record.Meta{Size: size, Stat: vfs.Meta{Mode: 0o600}}, &failed)
				if failed != nil {
					t.Errorf("%v", failed)
				}
				return err
			})
			after := cl.fs.(*vfs.Mem).CrashClone(vfs.CrashOptions{})
			if got, err := vfs.ReadFile(after, "/nodes/node1"+name, 1<<20); what == "whole" && !bytes.Equal(got, data) {
				t.Errorf("%d bytes after a power cut, %v", len(got), err)
			} else if what != "whole" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it was taken: %d bytes, %v", len(got), err)
			}
			if n := len(tree(t, cl.fs, "/nodes/node1"+path.Dir(name))); what != "whole" && n > 0 {
				t.Errorf("%d files are left", n)
			}
		})
	}
}

// TestNameOutlivesPower renames a file in the cache and writes a map without the old name. A power loss must not restore the old
// name.
func TestNameOutlivesPower(t *testing.T) {
	mem := vfs.NewMem()
	wr := &writer{job: &job{c: comm.Self(), fs: vfs.NewBind(mem, nil)}}
	w := &writing{cachedSet: &cachedSet{Cached: cachedir.Cached{Path: "/cache/set"}, maps: cachedir.NewFilemap()}}
	f := cachedir.MapFile{Name: "/cache/set/x"}
	w.maps.Put(f)
	file := cachedir.FilemapName(w.Path, 0)
	err := errors.Join(
		durable.MkdirAll(mem, cachedir.MetaDir(w.Path), true),
		durable.Replace(mem, f.Name, []byte("x"), durable.ReplaceOptions{Sync: true, SyncDir: true}),
		w.maps.Write(wr.fs, file),
		wr.rename(w, f, true),
		w.maps.Write(wr.fs, file))
	must(t, err)
	after := mem.CrashClone(vfs.CrashOptions{})
	m, err := cachedir.ReadFilemap(after, file)
	if err != nil || m.Len() != 1 {
		t.Fatal(m, err)
	}
	for _, f := range m.Files() {
		if _, err := after.Stat(f.Name); err != nil {
			t.Error(err)
		}
	}
}

// TestRemoveOwnFolder: a damaged file map names a file outside of the dataset's folder. The deletion of the dataset must spare it.
func TestRemoveOwnFolder(t *testing.T) {
	mem := vfs.NewMem()
	d := &cachedSet{Cached: cachedir.Cached{Path: "/cache/scr.dataset.1"}, maps: cachedir.NewFilemap()}
	mkdirs(t, mem, d.Path)
	own, other := d.Path+"/x", d.Path+"/../y"
	for _, name := range []string{own, other} {
		must(t, put(mem, name, []byte("x")))
		d.maps.Put(cachedir.MapFile{Name: name})
	}
	must(t, (&cache{job: &job{fs: vfs.NewBind(mem, nil)}}).removeOwn(d))
	if _, err := mem.Stat(own); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v, want it deleted", own, err)
	}
	if _, err := mem.Stat(other); err != nil {
		t.Error(err)
	}
}

// TestRemainsOfOlder cuts the power of all nodes while the oldest cached dataset is deleted. The newest is damaged and cannot be
// rebuilt. The remains of the oldest look like a dataset of fewer ranks, which is saved to the prefix directory. The restart must
// still use the newest, which was flushed.
func TestRemainsOfOlder(t *testing.T) {
	cl := fourNodes(t).set("SCR_COPY_TYPE", "XOR", "SCR_FLUSH", "1", "SCR_CACHE_SIZE", "2")
	must(t, cl.checkpoints(1, 2))
	dir := func(node, id int) string {
		return fmt.Sprintf("/nodes/node%d/local/user1/scr.77/scr.dataset.%d", node, id)
	}
	cl.log = &bytes.Buffer{}
	for n := range 2 {
		must(t, vfs.RemoveAll(cl.fs, dir(n, 2)))
	}
	must(t, vfs.RemoveAll(cl.fs, dir(3, 1)))
	removed := 0
	for n := range 3 {
		list, err := cl.fs.ReadDir(dir(n, 1) + "/.scr")
		must(t, err)
		for _, e := range list {
			if strings.HasPrefix(e.Name(), "filemap") {
				must(t, cl.fs.Remove(dir(n, 1)+"/.scr/"+e.Name()))
				removed++
			}
		}
	}
	if removed == 0 {
		t.Fatal("no file maps")
	}
	cl.mustRestart(2)
	if !strings.Contains(cl.log.String(), "a different number of ranks") {
		t.Errorf("the remains were not taken for another dataset: %s", cl.log)
	}
	cl.mustRestart(2) // and again
}

// TestFaults lets each operation of the file system fail, once or from then on. Either all ranks or none must get an error, and
// no call may hang. A new run on repaired disks must find the completed datasets.
func TestFaults(t *testing.T) {
	for _, bypass := range []string{"0", "1"} {
		t.Run("bypass "+bypass, func(t *testing.T) {
			t.Parallel()
			testFaults(t, bypass)
		})
	}
}

func testFaults(t *testing.T, bypass string) {
	var p progress
	at := func(fsys vfs.FS) *cluster {
		cl := fourNodes(t).set("SCR_FLUSH", "2", "SCR_CACHE_BYPASS", bypass)
		cl.fs, cl.ready = fsys, true
		return cl
	}
	start := fourNodes(t).fs.(*vfs.Mem)
	for _, node := range fourNodes(t).nodes {
		mkdirs(t, start, "/nodes/"+node+"/local")
	}
	sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Every: crashtest.Times(607, 3), Run: func(d *crashtest.Disks) error {
		p = progress{}
		cl := at(d.FS[0])
		cl.conf = d.Mem[0]
		return cl.matrixRun(&p)
	}}
	full := crashtest.Fails(syscall.ENOSPC)
	mixed := crashtest.Dies(syscall.EIO)
	var k atomic.Int64
	mixed.Hook = func(vfs.Op) error {
		if k.Add(1)%2 == 0 {
			return syscall.ENOSPC
		}
		return syscall.EIO
	}
	for f := range sc.Faults(t, full, mixed) {
		if err := f.Err; err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "error") {
			t.Logf("%s: %v", f.When, err)
		}
		got, err := at(f.Mem[0]).restart()
		if err != nil {
			t.Errorf("%s: the next run: %v", f.When, err)
			continue
		}
		if got < p.done || got > max(p.began, matrixLast) {
			t.Errorf("%s: restarted from %d, %d were completed; the run said %v", f.When, got, p.done, f.Err)
		}
	}
}

// TestUnreadable checks that a checkpoint is not deleted if its files cannot be read in one run. The next run must find it,
// unless the run in between continued from an older checkpoint.
func TestUnreadable(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		cl := fourNodes(t).set("SCR_COPY_TYPE", "SINGLE", "SCR_FLUSH", "2")
		must(t, cl.checkpoints(1, 3))
		sick := *cl
		sick.ready, sick.conf = true, cl.fs
		sick.fs = vfs.NewFault(cl.fs, func(op vfs.Op) error {
			if op.Kind == vfs.OpOpen && strings.HasSuffix(op.Name, "scr.dataset.3/rank_1.0.ckpt") {
				return syscall.EIO
			}
			return nil
		})
		if goesOn {
			sick.mustRestart(2)
			cl.mustRestart(2)
			continue
		}
		must(t, sick.run(func(ctx context.Context, s *Session, rank int) error {
			if r, ok, err := s.HaveRestart(ctx); err != nil || !ok || r.Ckpt != 2 {
				t.Errorf("%+v %v %v", r, ok, err)
			}
			return nil
		}))
		cl.mustRestart(3)
	}
}
