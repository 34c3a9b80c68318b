package scr

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
)

// TestMoveErrors checks that a failure on one side of a move causes an error, and that the other side does not wait forever.
func TestMoveErrors(t *testing.T) {
	d := &cachedSet{Cached: cachedir.Cached{ID: 1, Path: "/local/user1/scr.77/scr.dataset.1"}}
	run := func(name string, from, to func(ctx context.Context, s *Session) error) {
		t.Run(name, func(t *testing.T) {
			each(t, newCluster(t, "node0", "node1"), func(ctx context.Context, s *Session, rank int) error {
				if rank == 0 {
					return from(ctx, s)
				}
				return to(ctx, s)
			})
		})
	}
	send := func(ctx context.Context, s *Session) error { return (&mover{s.job}).sendFiles(ctx, d, 1) }
	recv := func(ctx context.Context, s *Session) error {
		if err := (&mover{s.job}).recvFiles(ctx, d, 0); err == nil {
			t.Error("no error on the side that receives")
		}
		return nil
	}
	for what, b := range map[string][]byte{"no list": nil, "garbage": []byte("garbage"), "no record": {0, 0, 0, 1, '0', 0, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 0}} {
		run(what, func(ctx context.Context, s *Session) error {
			if err := s.c.Send(ctx, 1, tagList, b); err != nil {
				return err
			}
			ok, err := s.c.Recv(ctx, 1, tagAck)
			if len(ok) != 1 || ok[0] != 0 {
				t.Errorf("answer %v", ok)
			}
			return err
		}, recv)
	}
	run("refused", send, func(ctx context.Context, s *Session) error {
		if _, err := s.c.Recv(ctx, 0, tagList); err != nil {
			return err
		}
		return s.c.Send(ctx, 0, tagAck, []byte{0})
	})
}

// TestParseNames checks that all ranks get an error if the first rank of a device cannot read a list.
func TestParseNames(t *testing.T) {
	if _, err := parseNames([][]byte{[]byte("garbage")}, cachedir.MapGroup); err == nil {
		t.Error("no error")
	}
}

// TestCloseRestoring checks that files unpacked for a restart are removed at the end of the session. If the run is killed, the
// next session must remove them.
func TestCloseRestoring(t *testing.T) {
	for _, how := range []string{"complete", "close", "killed"} {
		cl := fourNodes(t).set("SCR_FLUSH", "1", "SCR_GLOBAL_RESTART", "1", "SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", "2500")
		must(t, cl.checkpoints(1, 1))
		scratch := func() (n int) {
			for _, node := range cl.nodes {
				for name := range tree(t, cl.fs, "/nodes/"+node) {
					if strings.Contains(name, "/"+scratchPrefix) {
						n++
					}
				}
				list, _ := cl.fs.ReadDir("/nodes/" + node + "/local/user1/scr.77")
				for _, e := range list {
					if strings.HasPrefix(e.Name(), scratchPrefix) {
						n++
					}
				}
			}
			return n
		}
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			if r, err := s.StartRestart(ctx); err != nil || !r.InPlace {
				t.Errorf("%+v %v", r, err)
				return err
			}
			if _, err := s.Route(fileName(1, rank, 0)); err != nil {
				return err
			}
			must(t, s.c.Barrier(ctx))
			if rank == 0 && scratch() == 0 {
				t.Error("nothing was unpacked: the test shows nothing")
			}
			must(t, s.c.Barrier(ctx))
			switch how {
			case "complete":
				return s.CompleteRestart(ctx, true)
			case "close":
				return s.Close(ctx)
			}
			return nil
		})
		if how == "killed" {
			if scratch() == 0 {
				t.Error("a killed run left nothing")
			}
			each(t, cl, func(ctx context.Context, s *Session, rank int) error { return nil })
		}
		if n := scratch(); n != 0 {
			t.Errorf("%s: %d names are left", how, n)
		}
	}
}

// TestAnnounceFailed announces a flush that then fails to begin. The flush file must not show it as running.
func TestAnnounceFailed(t *testing.T) {
	for _, async := range []string{"0", "1"} {
		cl := fourNodes(t).set("SCR_FLUSH", "0", "SCR_FLUSH_ASYNC", async, "SCR_USE_CONTAINERS", "1", "SCR_CONTAINER_SIZE", "1000")
		bad := vfs.NewFault(cl.fs, func(op vfs.Op) error {
			if strings.HasSuffix(op.Name, "/ctr.0.scr") {
				return fs.ErrPermission
			}
			return nil
		})
		cl.fs = bad
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			must(t, cl.write(ctx, s, rank, 1))
			d := s.cache.find("ckpt.1")
			err := s.flush.now(ctx, d)
			if async == "1" {
				err = s.flush.start(ctx, d)
			}
			if !errors.Is(err, fs.ErrPermission) && rank == 0 || err == nil {
				t.Errorf("%v", err)
			}
			return s.c.Barrier(ctx)
		})
		f, err := prefixdir.Open(cl.fs, testPrefix).Flush.Load()
		must(t, err)
		if f.Is(1, prefixdir.Flushing) || f.Is(1, prefixdir.SyncFlushing) || !f.Is(1, prefixdir.Cache) {
			e, _ := f.Entry(1)
			t.Errorf("async %s: %+v", async, e)
		}
	}
}

// TestCatalogLost checks that no cached dataset is lost if the catalogue is missing, damaged or unreadable, on one node or on
// all. The catalogue must be rebuilt from the caches, and no folder may be deleted.
func TestCatalogLost(t *testing.T) {
	for k, scheme := range []string{"SINGLE", "XOR"} {
		for i, how := range []string{"missing", "damaged", "unreadable", "missing everywhere"} {
			if !crashtest.Long() && i%2 != k {
				continue
			}
			t.Run(scheme+"/"+how, func(t *testing.T) {
				cl := fourNodes(t).set("SCR_COPY_TYPE", scheme, "SCR_FLUSH", "0")
				must(t, cl.checkpoints(1, 3))
				name := func(node string) string { return "/nodes/" + node + "/local/user1/scr.77/cindex.scrinfo" }
				mem := cl.fs
				before := tree(t, mem, "/nodes/node1/local/user1/scr.77/scr.dataset.3")
				switch how {
				case "missing":
					must(t, mem.Remove(name("node1")))
				case "damaged":
					flip(t, mem, name("node1"), 30)
				case "unreadable":
					dead := true
					cl.fs = vfs.NewFault(mem, func(op vfs.Op) error {
						if op.Name == name("node1") && op.Kind == vfs.OpRead && dead {
							return syscall.EIO
						}
						if op.Kind == vfs.OpRename && op.New == name("node1") {
							dead = false // another file replaces the unreadable file
						}
						return nil
					})
					cl.conf = mem
				default:
					for _, n := range cl.nodes {
						must(t, mem.Remove(name(n)))
					}
				}
				cl.mustRestart(3)
				if after := tree(t, mem, "/nodes/node1/local/user1/scr.77/scr.dataset.3"); len(after) < len(before) {
					t.Errorf("%d files of %d are left", len(after), len(before))
				}
				must(t, cl.checkpoints(4, 5))
				cl.mustRestart(5)
			})
		}
	}
}

// TestCatalogLostStale checks that files of an older dataset with the same number are recognized even without a catalogue.
func TestCatalogLostStale(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "0")
	must(t, cl.checkpoints(1, 2))
	// node3 is absent with its files of the datasets 1 and 2, and another run uses these numbers again.
	const dir, away = "/nodes/node3/local", "/away"
	must(t, cl.fs.Rename(dir, away))
	cl.lose("node0", "node1", "node2")
	next := cl.on("node0", "node1", "node2", "node4")
	must(t, next.checkpoints(1, 2))
	must(t, cl.fs.Rename(away, dir))
	must(t, cl.fs.Remove(dir+"/user1/scr.77/cindex.scrinfo"))
	cl.mustRestart(2)
}

// TestUnlistedKept checks a folder that neither the catalogue nor its own files describe, as the original SCR writes it. If the
// catalogue is lost, such a folder must be neither used nor deleted.
func TestUnlistedKept(t *testing.T) {
	cl := fourNodes(t).set("SCR_FLUSH", "0")
	must(t, cl.checkpoints(1, 2))
	dir := "/nodes/node1/local/user1/scr.77/"
	must(t, cl.fs.Remove(dir+"cindex.scrinfo"))
	must(t, cachedir.WriteState(cl.fs, dir+"scr.dataset.2", cachedir.MapGroup, cachedir.StateEncoded)) // as the original SCR writes it
	before := tree(t, cl.fs, dir+"scr.dataset.2")
	cl.log = &bytes.Buffer{}
	cl.mustRestart(2)
	after := tree(t, cl.fs, dir+"unlisted.1.scr.dataset.2")
	if len(after) != len(before) {
		t.Errorf("kept %v of %v", after, before)
	}
	cl.mustRestart(2)
}
