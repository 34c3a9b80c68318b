package salvage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// Run saves the dataset of a whole run from any 3 of the 4 nodes.
func TestRunVectors(t *testing.T) {
	for _, v := range vectors {
		for lost := range 4 {
			t.Run(fmt.Sprint(v.name, lost), func(t *testing.T) {
				c := load(t, v.name)
				d := prefixdir.Open(c, prefix)
				ids := slices.DeleteFunc([]int{0, 1, 2, 3}, func(i int) bool { return i == lost })
				rep, err := Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, ids...), Now: now})
				must(t, err)
				if rep.Safe != 4 || rep.Current != "ckpt.4" || len(rep.Tried) != 1 || len(rep.Tried[0].Result.Rebuilt) != v.files {
					t.Fatalf("%+v", rep)
				}
				must(t, intact(c, 4, v.files))
				must(t, intact(c, 3, v.files))
				e := entry(t, d, "ckpt.4")
				if !e.Complete || !e.Current || e.Flushed.IsZero() || e.Dataset.Files != int64(4*v.files) {
					t.Fatalf("%+v", e)
				}
				p, err := d.Datasets.Locate(e)
				must(t, err)
				m, err := d.Datasets.ReadMap(p)
				must(t, err)
				must(t, m.Check(e.Dataset))
				f, err := d.Flush.Read()
				must(t, err)
				if f.NeedFlush(4) {
					t.Error("still to be flushed")
				}
				rep, err = Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, ids...), Now: now})
				must(t, err)
				if rep.Safe != 4 || len(rep.Tried) != 0 {
					t.Fatalf("again: %+v", rep)
				}
			})
		}
	}
}

// TestRunGone checks that a dataset is saved again if the index lists it as complete but
// one of its files is missing.
func TestRunGone(t *testing.T) {
	c := load(t, "xor_1_after_crash")
	d := prefixdir.Open(c, prefix)
	run := func() *RunReport {
		rep, err := Run(t.Context(), RunOptions{Prefix: d, Nodes: nodesOn(c, 0, 1, 2, 3), Now: now})
		must(t, err)
		return rep
	}
	run()
	p, err := d.Datasets.Locate(entry(t, d, "ckpt.4"))
	must(t, err)
	m, err := d.Datasets.ReadMap(p)
	must(t, err)
	must(t, c.Remove(path.Join(p.Data, m.Paths()[0])))
	if rep := run(); rep.Safe != 4 || len(rep.Tried) != 1 || rep.Tried[0].Err != nil {
		t.Errorf("%+v", rep)
	}
	must(t, intact(c, 4, 2))
}

// If two nodes are lost, the dataset cannot be saved. The older checkpoint, which is
// already safe, must stay current.
func TestRunLost(t *testing.T) {
	c := load(t, "xor_1_after_crash")
	d := prefixdir.Open(c, prefix)
	rep, err := Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, 0, 2)})
	must(t, err)
	if rep.Safe != 3 || rep.Current != "ckpt.3" || len(rep.Tried) != 1 || !errors.Is(rep.Tried[0].Err, fault.ErrMissing) {
		t.Fatalf("%+v", rep)
	}
	if e := entry(t, d, "ckpt.4"); e.Complete {
		t.Fatalf("%+v", e)
	}
	s, err := ScanDataset(context.Background(), Options{Prefix: d, ID: 4}, false)
	must(t, err)
	if in := s.Inspect(); s.Size != 4 || !slices.Equal(in.Missing, []int{1, 3}) || len(in.Invalid) != 0 || in.OK() {
		t.Fatalf("%+v", in)
	}
	// A lost node returns.
	rep, err = Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, 3)})
	must(t, err)
	if rep.Safe != 4 || rep.Current != "ckpt.4" {
		t.Fatalf("with one more: %+v", rep)
	}
	must(t, intact(c, 4, 2))
}

// Run must find the files after the prefix directory was moved.
func TestMoved(t *testing.T) {
	ctx := context.Background()
	c := load(t, "xor_1_after_crash")
	must(t, c.MkdirAll("/new"))
	d := prefixdir.Open(c, "/new")
	for _, n := range nodesOn(c, 1, 2, 3) {
		_, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d, ID: 4, Was: prefix})
		must(t, err)
	}
	res, err := Index(ctx, Options{Prefix: d, ID: 4, Was: prefix, Current: true})
	must(t, err)
	files, bytes := res.Totals()
	if files != 8 || bytes != 8444 || res.Ranks != 4 || !slices.Equal(res.Rebuilt, []string{"ckpt.4/rank_0.0.ckpt", "ckpt.4/rank_0.1.ckpt"}) || len(res.Meta) == 0 {
		t.Errorf("%+v", res)
	}
	must(t, c.Rename("/new/ckpt.4/rank_0.0.ckpt", "/x")) // the other files exist
	if _, err := vfs.ReadFile(c, "/new/ckpt.4/rank_0.1.ckpt", 1<<20); err != nil {
		t.Error(err)
	}
}

// Output is saved oldest first. A checkpoint newer than lost output is not saved.
func TestRunOutputs(t *testing.T) {
	c := load(t, "xor_1_after_crash")
	d := prefixdir.Open(c, prefix)
	f, err := d.Flush.Read()
	must(t, err)
	// Dataset 4 is output, and no node has it.
	e, _ := f.Entry(4)
	ds := e.Dataset
	ds.Output, ds.Checkpoint = true, true
	must(t, f.Put(ds, prefixdir.Cache))
	must(t, d.Flush.Write(f))
	asked := []int{}
	rep, err := Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, 0, 1), Scavenge: func(ctx context.Context, o ScavengeOptions) (*Copied, error) {
		if o.Name == "node0" {
			asked = append(asked, o.ID)
			return &Copied{}, nil
		}
		return nil, errors.New("unreachable")
	}})
	must(t, err)
	if !slices.Equal(asked, []int{4}) || rep.Safe != 3 || len(rep.Tried) != 1 || rep.Tried[0].Nodes["node1"] == nil {
		t.Fatalf("asked for %v: %+v", asked, rep)
	}
	rep, err = Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, 0, 1, 2)})
	must(t, err)
	if rep.Safe != 4 || rep.Current != "ckpt.4" || len(rep.Tried) != 1 {
		t.Fatalf("%+v", rep)
	}
	must(t, intact(c, 4, 2))
}

// Deleting a dataset also removes all its scavenged files.
func TestDelete(t *testing.T) {
	ctx := context.Background()
	c := load(t, "xor_1_after_crash")
	must(t, salvageAll(ctx, c, 0, 1, 2))
	d := prefixdir.Open(c, prefix)
	must(t, d.Delete(ctx, "ckpt.4"))
	for _, dir := range []string{prefix + "/ckpt.4", d.Datasets.Dir(4)} {
		if _, err := c.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, left are %v", dir, err, filesOf(t, c, dir))
		}
	}
}

// For a salvaged dataset, index and summary must equal those that SCR wrote.
func TestAsReference(t *testing.T) {
	ctx := context.Background()
	for _, v := range vectors {
		c := load(t, v.name)
		must(t, c.MkdirAll("/new"))
		d, real := prefixdir.Open(c, "/new"), prefixdir.Open(c, prefix)
		for _, n := range nodesOn(c, 0, 1, 2) {
			_, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d, ID: 3, Was: prefix})
			must(t, err)
		}
		_, err := Index(ctx, Options{Prefix: d, ID: 3, Was: prefix, Current: true})
		must(t, err)
		paths := func(d *prefixdir.Dir) (all []string) {
			m, err := d.Datasets.ReadMap(d.Datasets.Place(3))
			must(t, err)
			for rank, list := range m.Files {
				for _, f := range list {
					all = append(all, fmt.Sprint(rank, " ", f.Path))
				}
			}
			slices.Sort(all)
			return all
		}
		if got, want := paths(d), paths(real); !slices.Equal(got, want) {
			t.Errorf("%s: map %v, want %v", v.name, got, want)
		}
		ours, err := d.Datasets.ReadSummary(d.Datasets.Place(3))
		must(t, err)
		theirs, err := real.Datasets.ReadSummary(real.Datasets.Place(3))
		must(t, err)
		if !ours.Tree.Equal(theirs.Tree) {
			t.Errorf("%s: another summary", v.name)
		}
		a, b := entry(t, d, "ckpt.3"), entry(t, real, "ckpt.3")
		if a.ID != b.ID || a.Complete != b.Complete || a.Current != b.Current || !a.Dataset.Tree().Equal(b.Dataset.Tree()) {
			t.Errorf("%s: entry %+v, want %+v", v.name, a, b)
		}
	}
}
