package scr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/salvage"
	"blobio/scr/kvtree"
	"blobio/scr/redset"
)

// oldCaches creates caches with checkpoint id as SCR 1 or 2 leaves them, with one rank on each node.
func oldCaches(t *testing.T, cl *cluster, gen redset.Generation, scheme string, id int) {
	const control = "/local/user1/scr.77"
	dir := path.Join(control, fmt.Sprintf("scr.dataset.%d", id))
	n := len(cl.nodes)
	binds := make([]vfs.FS, n)
	for r, node := range cl.nodes {
		mkdirs(t, cl.fs, "/nodes/"+node+"/local")
		binds[r] = vfs.NewBind(cl.fs, []vfs.Bind{{At: "/local", To: "/nodes/" + node + "/local"}})
		must(t, binds[r].MkdirAll(dir+"/.scr"))
	}
	ds := record.Dataset{ID: id, Name: fmt.Sprintf("ckpt.%d", id), User: "user1", JobID: "77", Ckpt: id, Checkpoint: true, Complete: true, Files: int64(n * cl.files)}
	meta := func(r, i int, kind string) record.Meta {
		m := record.Meta{Orig: fileName(id, r, i), Path: path.Join(testPrefix, path.Dir(fileName(id, r, i))), Name: path.Base(fileName(id, r, i)),
			Size: int64(len(content(id, r, i))), Ranks: n, Complete: true, Ckpt: id, File: path.Base(fileName(id, r, i)), Type: kind}
		if gen == redset.GenA {
			m.Path, m.Name = "", ""
		}
		return m
	}
	for r := range n {
		for i := range cl.files {
			ds.Size += int64(len(content(id, r, i)))
		}
	}
	desc := ds.Tree()
	if gen == redset.GenA {
		for _, k := range []string{"NAME", "FLAG_CKPT", "FLAG_OUTPUT"} {
			desc.Unset(k)
		}
	}
	red := make([][]string, n)
	if scheme == "XOR" {
		prefix := dir + "/.scr/"
		if gen == redset.GenA {
			prefix = dir + "/"
		}
		must(t, comm.Run(context.Background(), n, nil, func(ctx context.Context, c comm.Comm) error {
			r := c.Rank()
			var files []string
			for i := range cl.files {
				name := path.Join(dir, path.Base(fileName(id, r, i)))
				must(t, put(binds[r], name, content(id, r, i)))
				files = append(files, name)
			}
			s, err := redset.New(ctx, c, redset.Options{Scheme: redset.XOR, Generation: gen, Group: cl.nodes[r], Dataset: desc,
				FileMeta: func(name string) *kvtree.Tree {
					_, i, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".ckpt"), ".")
					k, _ := strconv.Atoi(i)
					return meta(r, k, "USER").Tree()
				}})
			must(t, err)
			must(t, s.Encode(ctx, binds[r], files, prefix))
			list, err := redset.Files(binds[r], prefix, r)
			for _, name := range list { // SCR 1 and 2 write no checksums
				if strings.HasSuffix(name, ".redsum") {
					err = errors.Join(err, binds[r].Remove(name))
				} else {
					red[r] = append(red[r], name)
				}
			}
			return err
		}))
	}
	for at := range n {
		name := control + "/filemap_0.scrinfo"
		tree, err := kvtree.ReadFile(binds[at], name, nil)
		if err != nil {
			tree = kvtree.New()
		}
		put1 := func(r int, kind string) {
			d := kvtree.New()
			d.Set("DSETDESC", desc.Clone())
			for i := range cl.files {
				file := path.Join(dir, path.Base(fileName(id, r, i)))
				must(t, put(binds[at], file, content(id, r, i)))
				d.SetAt(meta(r, i, kind).Tree(), "FILE", file, "META")
			}
			if r == at {
				for _, x := range red[r] {
					st, err := binds[at].Stat(x)
					must(t, err)
					d.SetAt(record.Meta{File: path.Base(x), Type: "XOR", Size: st.Size(), Complete: true, Ranks: n}.Tree(), "FILE", x, "META")
				}
			}
			d.Value("FILES").SetInt(d.Get("FILE").Len())
			tree.SetAt(d, "RANK", strconv.Itoa(r), "DSET", strconv.Itoa(id))
			tree.SetAt(kvtree.New(), "DSET", strconv.Itoa(id), "RANK", strconv.Itoa(r))
		}
		put1(at, "USER")
		if scheme == "PARTNER" {
			put1((at+n-1)%n, "PARTNER")
		}
		must(t, kvtree.WriteFile(binds[at], name, tree))
		master := kvtree.New()
		master.SetKV("Filemap", name)
		must(t, kvtree.WriteFile(binds[at], path.Join(control, cachedir.MasterName), master))
	}
}

// TestOldCaches checks that a run continues from caches of SCR 1 or 2, even if as many nodes are lost as the scheme allows. If
// more are lost, it continues from an older checkpoint in the caches. Package salvage must save these caches too.
func TestOldCaches(t *testing.T) {
	for i, c := range []struct {
		scheme string
		lose   []string
		want   int
	}{
		{"SINGLE", nil, 2}, {"PARTNER", nil, 2}, {"PARTNER", []string{"node1"}, 2}, {"PARTNER", []string{"node0", "node2"}, 2}, {"XOR", nil, 2}, {"XOR", []string{"node1"}, 2},
		{"XOR", []string{"node3"}, 2}, {"XOR", []string{"node0", "node3"}, 0}, {"SINGLE", []string{"node0"}, 0}, {"PARTNER", []string{"node1", "node2"}, 0},
	} {
		for _, offline := range []bool{false, true} {
			if !crashtest.Long() && offline != (i%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s/lost %d/offline %v", c.scheme, len(c.lose), offline), func(t *testing.T) {
				cl := fourNodes(t).set("SCR_FLUSH", "0")
				cl.log = &bytes.Buffer{}
				oldCaches(t, cl, redset.GenB, c.scheme, 1)
				oldCaches(t, cl, redset.GenB, c.scheme, 2)
				cl.lose(c.lose...)
				if offline {
					var nodes []salvage.Node
					for _, n := range cl.nodes {
						nodes = append(nodes, salvage.Node{Name: n, Catalog: "/local/user1/scr.77/cindex.scrinfo", Caches: []string{"/local/user1/scr.77"},
							FS: vfs.NewBind(cl.fs, []vfs.Bind{{At: "/local", To: "/nodes/" + n + "/local"}})})
					}
					rep, err := salvage.Run(context.Background(), salvage.RunOptions{Prefix: prefixdir.Open(cl.fs, testPrefix), Nodes: nodes})
					must(t, err)
					if rep.Safe != c.want {
						t.Errorf("%+v", rep)
					}
					cl.lose(cl.nodes...)
				}
				cl.mustRestart(c.want)
				if c.want == 0 || offline {
					return
				}
				must(t, cl.checkpoints(c.want+1, c.want+2))
				cl.mustRestart(c.want + 2)
				if t.Failed() {
					t.Log(cl.log)
				}
			})
		}
	}
}

// TestOldCachesA does the same with generation A, which has neither dataset names nor dataset folders.
func TestOldCachesA(t *testing.T) {
	for _, lose := range []string{"", "node2"} {
		cl := fourNodes(t).set("SCR_FLUSH", "0")
		oldCaches(t, cl, redset.GenA, "XOR", 3)
		if lose != "" {
			cl.lose(lose)
		}
		each(t, cl, func(ctx context.Context, s *Session, rank int) error {
			r, err := s.StartRestart(ctx)
			must(t, err)
			if r.Name != "scr.dataset.3" || r.Ckpt != 3 {
				return fmt.Errorf("%+v", r)
			}
			for i := range cl.files {
				name, err := s.Route(path.Join(r.Name, path.Base(fileName(3, rank, i))))
				must(t, err)
				if b, err := vfs.ReadFile(cl.fs, name, 1<<20); err != nil || !bytes.Equal(b, content(3, rank, i)) {
					return errors.Join(err, fmt.Errorf("rank %d: wrong bytes", rank))
				}
			}
			return s.CompleteRestart(ctx, true)
		})
	}
}
