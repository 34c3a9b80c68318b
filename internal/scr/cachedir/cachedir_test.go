package cachedir

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

func TestVectors(t *testing.T) {
	for _, vector := range []string{"xor_1_after_crash", "xor_2_restarted_finalized", "partner_1_after_crash"} {
		for n := range 5 {
			dir := filepath.Join(testfiles.Dir(t, "scr", vector, "nodes"), fmt.Sprintf("node%d", n))
			if _, err := os.Stat(dir); err != nil {
				continue
			}
			t.Run(fmt.Sprint(vector, n), func(t *testing.T) {
				_, fsys := node(t, vector, n)
				c, err := ReadCatalog(fsys, catalog)
				must(t, err)
				must(t, c.Write(fsys, "/again"))
				sameTree(t, fsys, catalog, "/again")
				fresh := NewCatalog()
				if len(c.Entries()) != 2 {
					t.Fatalf("%d datasets", len(c.Entries()))
				}
				for _, e := range c.Entries() {
					fresh.Put(e)
					datasetVector(t, fsys, e)
				}
				must(t, fresh.Write(fsys, "/fresh"))
				sameTree(t, fsys, catalog, "/fresh")
				all, err := Survey(fsys, catalog, control)
				must(t, err)
				if len(all) != 2 {
					t.Fatalf("holdings: %+v", all)
				}
				for _, h := range all {
					if !h.Listed || h.Gone || h.Err != nil || len(h.Ranks) != 1 || !h.Ranks[0].Whole() || len(h.Ranks[0].Redundancy) != 4 || len(h.Ranks[0].Files) == 0 {
						t.Errorf("holding %+v", h)
					}
				}
			})
		}
	}
}

func datasetVector(t *testing.T, fsys vfs.FS, e Cached) {
	t.Helper()
	list, err := fsys.ReadDir(MetaDir(e.Path))
	must(t, err)
	ranks := 0
	for _, x := range list {
		rank, ok := RankOf(x.Name())
		name := FilemapName(e.Path, rank)
		if !ok || path.Base(name) != x.Name() {
			continue
		}
		ranks++
		m, err := ReadFilemap(fsys, name)
		must(t, err)
		fresh := NewFilemap()
		for _, f := range m.Files() {
			fresh.Put(f)
		}
		for i, f := range fresh.Files() { // replacing the entries in reverse keeps the order
			fresh.Put(fresh.Files()[fresh.Len()-1-i])
			if want := fmt.Sprintf("rank_%d.%d.ckpt", rank, i); path.Base(f.Name) != want {
				t.Errorf("file %d is %s, want %s", i, f.Name, want)
			}
		}
		must(t, fresh.Write(fsys, "/map"))
		sameTree(t, fsys, name, "/map")
	}
	if ranks != 1 {
		t.Errorf("%d file maps", ranks)
	}
	must(t, fsys.MkdirAll(MetaDir("/x")))
	for _, g := range []string{MapGroup, DataGroup} {
		files, err := ReadShuffile(fsys, e.Path, g)
		must(t, err)
		must(t, WriteShuffile(fsys, "/x", g, files))
		state, err := ReadState(fsys, e.Path, g)
		must(t, err)
		must(t, WriteState(fsys, "/x", g, state))
		for _, end := range []string{"shuffile", "er"} {
			a, err := vfs.ReadFile(fsys, GroupFile(e.Path, g, end), 1<<20)
			must(t, err)
			b, err := vfs.ReadFile(fsys, GroupFile("/x", g, end), 1<<20)
			must(t, err)
			if string(a) != string(b) {
				t.Errorf("%s%s is not written as it was", g, end)
			}
		}
		if state != StateEncoded {
			t.Errorf("state %d", state)
		}
	}
}

// TestPutIsCheap checks that Put does not encode a record. Complete changes the record of each file several times and writes it
// once.
func TestPutIsCheap(t *testing.T) {
	m, f := NewFilemap(), MapFile{Name: "/c/a", Meta: record.Meta{Orig: "a", Path: "/c", Name: "a", Ranks: 2, Size: 10, Complete: true}}
	m.Put(f)
	if n := testing.AllocsPerRun(10, func() { m.Put(f) }); n > 1 {
		t.Errorf("%v allocations, want at most 1", n)
	}
	f.Meta.Size = 11
	m.Put(f)
	got, err := ParseFilemap(m.Tree(), "map")
	must(t, err)
	if g, ok := got.File(f.Name); !ok || g.Meta.Size != 11 {
		t.Errorf("%+v %v", g, ok)
	}
}

func TestSurvey(t *testing.T) {
	m := vfs.NewMem()
	dir := cached(t, m)
	c := NewCatalog()
	c.Put(Cached{ID: 9, Dataset: record.Dataset{Name: "lost"}, Path: "/c/scr.dataset.9"})
	must(t, c.Write(m, "/cindex"))
	look := func() []Holding {
		t.Helper()
		all, err := Survey(m, "/cindex", "/c", "/not/there")
		must(t, err)
		return all
	}
	all := look()
	if len(all) != 2 || all[0].ID != 7 || all[0].Listed || all[0].Path != dir || all[1].ID != 9 || !all[1].Gone || !all[1].Listed {
		t.Fatalf("%+v", all)
	}
	r := all[0].Ranks
	if len(r) != 2 || r[0].Rank != 3 || !r[0].Whole() || len(r[0].Redundancy) != 3 || r[1].Rank != 11 || r[1].Map != nil || r[1].Whole() {
		t.Fatalf("%+v", r)
	}
	if !slices.Equal(r[0].Files, []string{dir + "/a", dir + "/3/b"}) {
		t.Fatalf("files %v", r[0].Files)
	}
	half := meta(4)
	half.Complete = false
	incomplete := RankHolding{Map: NewFilemap()}
	incomplete.Map.Put(MapFile{dir + "/a", half})
	if incomplete.fill(m); incomplete.Whole() || len(incomplete.Files) != 0 {
		t.Fatalf("a file that was not completed: %+v", incomplete)
	}
	write(t, m, "/short", "a")
	must(t, m.Rename("/short", dir+"/a"))
	if r := look()[0].Ranks[0]; r.Whole() || !slices.Equal(r.Missing, []string{dir + "/a"}) {
		t.Fatalf("a short file: %+v", r)
	}
	f, err := m.OpenRW(FilemapName(dir, 3))
	must(t, err)
	_, err = f.WriteAt([]byte{0xff}, 30)
	must(t, errors.Join(err, f.Close()))
	if r := look()[0].Ranks[0]; r.Map != nil || !errors.Is(r.Err, fault.ErrChecksum) {
		t.Fatalf("a damaged map: %+v", r)
	}
	write(t, m, "/cindex2", "damage")
	all, err = Survey(m, "/cindex2", "/c")
	if !fault.IsDamage(err) || len(all) != 1 || all[0].ID != 7 {
		t.Fatalf("a damaged catalogue: %v, %+v", err, all)
	}
	if all, err := Survey(m, "/none"); err != nil || len(all) != 0 {
		t.Fatalf("no catalogue: %v, %v", all, err)
	}
}

// TestRebuild checks that a rebuilt catalogue lists exactly the datasets that are complete and
// protected.
func TestRebuild(t *testing.T) {
	m := vfs.NewMem()
	put := func(id, state int, complete bool, says string) {
		dir := fmt.Sprintf("/c/scr.dataset.%d", id)
		must(t, m.MkdirAll(MetaDir(dir)))
		e := Cached{ID: id, Path: says, Dataset: record.Dataset{Name: "d", Complete: complete}}
		if says == "" {
			e.Path = dir
		}
		must(t, writeState(m, dir, MapGroup, state, e.tree()))
	}
	put(1, StateEncoded, true, "")
	put(2, StateEncoded, false, "")
	put(3, StateCorrupt, true, "")
	put(4, StateEncoded, true, "/c/scr.dataset.1")
	c, unknown, err := Rebuild(m, "/c", "/not/there")
	must(t, err)
	if e, ok := c.Entry(1); !ok || c.Len() != 1 || e.Path != "/c/scr.dataset.1" {
		t.Errorf("%+v", c.Entries())
	}
	if want := []string{"/c/scr.dataset.2", "/c/scr.dataset.3", "/c/scr.dataset.4"}; !slices.Equal(unknown, want) {
		t.Errorf("unknown: %v", unknown)
	}
}

// TestOldMaps uses hand-made maps of generations A and B, because no original files exist.
func TestOldMaps(t *testing.T) {
	m := vfs.NewMem()
	dir := "/tmp/user1/scr.1/scr.dataset.5"
	for _, n := range []string{"r0", "r1", ".scr/xor.0_1_of_4.scr"} {
		write(t, m, dir+"/"+n, "1234")
	}
	add := func(tree *kvtree.Tree, rank, n int, files map[string]string) {
		tree.SetAt(nil, "DSET", "5", "RANK", fmt.Sprint(rank))
		sub := tree.Touch("RANK", fmt.Sprint(rank), "DSET", "5")
		sub.Value("FILES").SetInt(n)
		sub.Set("DSETDESC", record.Dataset{ID: 5, Name: "scr.dataset.5", Files: 4, Created: time.Unix(1, 0)}.Tree())
		for name, typ := range files {
			x := meta(4)
			x.Type = typ
			sub.SetKV("FILE", dir+"/"+name).Set("META", x.Tree())
		}
	}
	own, partner := kvtree.New(), kvtree.New()
	add(own, 0, 2, map[string]string{"r0": "USER", ".scr/xor.0_1_of_4.scr": "XOR"})
	add(own, 2, 1, map[string]string{"r2": "USER"})
	add(partner, 1, 1, map[string]string{"r1": "PARTNER"})
	must(t, m.MkdirAll("/cntl"))
	must(t, kvtree.WriteFile(m, "/cntl/filemap_0.scrinfo", own))
	must(t, kvtree.WriteFile(m, "/cntl/filemap_1.scrinfo", partner))
	master := kvtree.New()
	master.SetKV("Filemap", "/cntl/filemap_0.scrinfo")
	master.SetKV("Filemap", "/cntl/filemap_9.scrinfo")
	check := func(what string) {
		t.Helper()
		all, err := Survey(m, "/cntl/filemap.scrinfo")
		must(t, err)
		if len(all) != 1 || !all[0].Old || all[0].ID != 5 || all[0].Path != dir || all[0].Dataset.Files != 4 || len(all[0].Ranks) != 3 {
			t.Fatalf("%s: %+v", what, all)
		}
		r := all[0].Ranks
		if !r[0].Whole() || len(r[0].Redundancy) != 1 || len(r[0].Files) != 1 || !r[1].Whole() || r[2].Whole() || len(r[2].Missing) != 1 {
			t.Fatalf("%s: %+v", what, r)
		}
	}
	check("without a list")
	must(t, kvtree.WriteFile(m, "/cntl/filemap.scrinfo", master))
	check("with a list")
	if all, err := Survey(m, "/cntl/filemap_1.scrinfo"); err != nil || len(all) != 1 || len(all[0].Ranks) != 1 {
		t.Fatalf("one map: %v %v", all, err)
	}
	bad := kvtree.New()
	bad.SetAt(nil, "RANK", "x")
	must(t, kvtree.WriteFile(m, "/cntl/filemap_0.scrinfo", bad))
	if _, err := Survey(m, "/cntl/filemap.scrinfo"); !fault.IsDamage(err) {
		t.Fatalf("a damaged map: %v", err)
	}
}

func TestRankOf(t *testing.T) {
	for name, want := range map[string]int{
		"filemap_0": 0, "filemap_12": 12, "reddesc.er.3.redset": 3, "reddescmap.er.3.redset": 3, "reddesc.er.3.redsum": 3,
		"reddesc.er.40.xor.grp_1_of_1.mem_1_of_4.redset": 40, "filemap_": -1, "filemap_01": -1, "filemap_-1": -1, "filemap_x": -1,
		"filemap_99999999999": -1, "reddesc.er.er": -1, "reddesc.er.shuffile": -1, "reddesc.er.x.redset": -1, "reddesc.er.3.redset.tmp": -1,
		"": -1, "filemap_0.scrinfo": -1,
	} {
		got, ok := RankOf(name)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("RankOf(%q) = %d, %v", name, got, ok)
		}
	}
}
