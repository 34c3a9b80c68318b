package salvage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/scr/redset"
)

// ours describes a dataset in node caches that this library wrote, with checksums.
type ours struct {
	scheme  redset.Scheme
	nodes   int
	perNode int
	bypass  bool
	sparse  bool // every third rank has no files
}

func (o ours) has(rank int) bool { return !o.sparse || rank%3 != 1 }

const ownPrefix = "/p/sim"

func (o ours) ranks() int { return o.nodes * o.perNode }

func ownName(rank int) string { return fmt.Sprintf("out/step.%d/part_%d", rank%2, rank) }

func ownContent(rank int) []byte { return content(rank, 11, rank) }

func (o ours) node(m vfs.FS, i int) Node {
	return Node{Name: fmt.Sprint("n", i), FS: vfs.NewBind(m, []vfs.Bind{{At: "/local", To: fmt.Sprint("/n", i)}}), Catalog: "/local/cindex.scrinfo"}
}

// make writes the files that a run leaves, with dataset 2, which is a checkpoint and output.
func (o ours) make(t testing.TB) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	must(t, m.MkdirAll(ownPrefix))
	for i := range o.nodes {
		must(t, m.MkdirAll(fmt.Sprintf("/n%d/scr.dataset.2/.scr", i)))
	}
	dir := "/local/scr.dataset.2"
	ds := record.Dataset{ID: 2, Name: "out", Created: time.Unix(5, 0), Ckpt: 2, Checkpoint: true, Output: true, Complete: true}
	for r := range o.ranks() {
		if o.has(r) {
			ds.Files++
			ds.Size += int64(len(ownContent(r)))
		}
	}
	must(t, comm.Run(context.Background(), o.ranks(), nil, func(ctx context.Context, c comm.Comm) error {
		r := c.Rank()
		n := o.node(m, r/o.perNode)
		abs := path.Join(ownPrefix, ownName(r))
		at := path.Join(dir, path.Base(abs))
		if o.bypass {
			at = abs
		}
		if err := n.FS.MkdirAll(path.Dir(at)); err != nil {
			return err
		}
		var names []string
		if o.has(r) {
			names = append(names, at)
			if err := vfs.WriteFile(n.FS, at, ownContent(r)); err != nil {
				return err
			}
		}
		meta := record.Meta{Orig: ownName(r), Path: path.Dir(abs), Name: path.Base(abs), Size: int64(len(ownContent(r))), Ranks: c.Size(), Complete: true}
		set, err := redset.New(ctx, c, redset.Options{Scheme: o.scheme, Group: n.Name, SetSize: o.nodes})
		if err != nil {
			return err
		}
		if !o.bypass {
			if err := set.Encode(ctx, n.FS, names, path.Join(cachedir.MetaDir(dir), cachedir.DataGroup)); err != nil {
				return err
			}
			meta.CRC, meta.HasCRC = set.Sums()[at], true
		}
		fm := cachedir.NewFilemap()
		if o.has(r) {
			fm.Put(cachedir.MapFile{Name: at, Meta: meta})
		}
		name := cachedir.FilemapName(dir, r)
		if err := fm.Write(n.FS, name); err != nil {
			return err
		}
		return set.Encode(ctx, n.FS, []string{name}, path.Join(cachedir.MetaDir(dir), cachedir.MapGroup))
	}))
	for i := range o.nodes {
		n := o.node(m, i)
		c := cachedir.NewCatalog()
		c.Put(cachedir.Cached{ID: 2, Dataset: ds, Path: dir, Bypass: o.bypass})
		must(t, c.Write(n.FS, n.Catalog))
	}
	syncAll(t, m, "/")
	return m
}

func (o ours) intact(m vfs.FS) error {
	for r := range o.ranks() {
		if !o.has(r) {
			continue
		}
		got, err := vfs.ReadFile(m, path.Join(ownPrefix, ownName(r)), 1<<20)
		if err != nil {
			return err
		}
		if string(got) != string(ownContent(r)) {
			return fmt.Errorf("%s is not what was written", ownName(r))
		}
	}
	return nil
}

func (o ours) run(m vfs.FS, lost ...int) (*RunReport, *prefixdir.Dir, error) {
	d := prefixdir.Open(m, ownPrefix)
	var nodes []Node
	for i := range o.nodes {
		if !slices.Contains(lost, i) {
			nodes = append(nodes, o.node(m, i))
		}
	}
	rep, err := Run(context.Background(), RunOptions{Prefix: d, Nodes: nodes})
	return rep, d, err
}

// TestOwnLosses tries all losses of nodes and checks that the scheme survives as many as it should.
func TestOwnLosses(t *testing.T) {
	for _, c := range []struct {
		ours
		survives func(lost []int) bool
	}{
		{ours{scheme: redset.XOR, nodes: 4, perNode: 2}, func(l []int) bool { return len(l) <= 1 }},
		{ours{scheme: redset.RS, nodes: 4, perNode: 1}, func(l []int) bool { return len(l) <= 2 }},
		{ours{scheme: redset.Partner, nodes: 4, perNode: 2}, func(l []int) bool {
			for _, n := range l {
				if slices.Contains(l, (n+1)%4) {
					return false
				}
			}
			return true
		}},
		{ours{scheme: redset.Single, nodes: 3, perNode: 2}, func(l []int) bool { return len(l) == 0 }},
		{ours{scheme: redset.XOR, nodes: 3, perNode: 2, bypass: true}, func(l []int) bool { return len(l) <= 1 }},
		{ours{scheme: redset.XOR, nodes: 3, perNode: 2, sparse: true}, func(l []int) bool { return len(l) <= 1 }},
	} {
		start := c.make(t)
		for set := range 1 << c.nodes {
			var lost []int
			for i := range c.nodes {
				if set>>i&1 == 1 {
					lost = append(lost, i)
				}
			}
			m := start.CrashClone(vfs.CrashOptions{})
			rep, d, err := c.run(m, lost...)
			if err != nil {
				t.Fatalf("%+v without %v: %v", c.ours, lost, err)
			}
			e := entry(t, d, "out")
			if !c.survives(lost) {
				if e.Complete || rep.Safe != 0 || len(lost) < c.nodes && (len(rep.Tried) != 1 || rep.Tried[0].Err == nil) {
					t.Fatalf("%+v without %v: %+v", c.ours, lost, rep)
				}
				continue
			}
			if !e.Complete || !e.Current || rep.Safe != 2 {
				t.Fatalf("%+v without %v: %+v", c.ours, lost, rep.Tried)
			}
			res := rep.Tried[0].Result
			if !c.bypass && (!res.Verified || !c.sparse && len(res.Rebuilt) != c.perNode*len(lost)) || c.bypass && len(res.Rebuilt) != 0 {
				t.Fatalf("%+v without %v: %+v", c.ours, lost, res)
			}
			if err := c.intact(m); err != nil {
				t.Fatalf("%+v without %v: %v", c.ours, lost, err)
			}
		}
	}
}

// A flipped byte in a file in the cache of a remaining node must be repaired, or the dataset must be rejected.
func TestOwnFlips(t *testing.T) {
	for _, o := range []ours{{scheme: redset.XOR, nodes: 3, perNode: 2}, {scheme: redset.Partner, nodes: 3, perNode: 1}} {
		start := o.make(t)
		for _, lost := range [][]int{nil, {2}} {
			for i, name := range filesOf(t, start, "/n1") {
				m := start.CrashClone(vfs.CrashOptions{})
				flip(t, m, name, int64(61*i+40))
				rep, d, err := o.run(m, lost...)
				must(t, err)
				e := entry(t, d, "out")
				if e.Complete {
					if err := o.intact(m); err != nil {
						t.Fatalf("%+v without %v: %s: %v", o, lost, name, err)
					}
				} else if lost == nil {
					t.Errorf("%+v: %s: one byte cannot be mended: %v", o, name, rep.Tried[0].Err)
				}
			}
		}
	}
}

// A dataset must not be listed if its files in the prefix directory have changed since they were written.
func TestOwnBypassGone(t *testing.T) {
	o := ours{scheme: redset.XOR, nodes: 3, perNode: 1, bypass: true}
	m := o.make(t)
	must(t, m.Remove(path.Join(ownPrefix, ownName(1))))
	rep, d, err := o.run(m)
	must(t, err)
	if e := entry(t, d, "out"); e.Complete || !errors.Is(rep.Tried[0].Err, fault.ErrMissing) {
		t.Fatalf("%+v", rep)
	}
}

// A truncated file in the prefix directory is treated as lost, even for the node that wrote it. Its checksum must not be
// recorded as the expected checksum.
func TestOwnBypassCut(t *testing.T) {
	o := ours{scheme: redset.XOR, nodes: 3, perNode: 1, bypass: true}
	m := o.make(t)
	name := path.Join(ownPrefix, ownName(1))
	f, err := m.OpenRW(name)
	must(t, err)
	must(t, errors.Join(f.Truncate(100), f.Close()))
	got, err := Scavenge(context.Background(), ScavengeOptions{Node: o.node(m, 1), Prefix: prefixdir.Open(m, ownPrefix), ID: 2})
	must(t, err)
	if r := got.Ranks[0]; len(r.Files) != 0 || !strings.Contains(r.Lost[name], "100 bytes, want ") {
		t.Errorf("%+v", r)
	}
}
