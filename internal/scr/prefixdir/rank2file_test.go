package prefixdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/fault"
	"blobio/scr/kvtree"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var sameTree = cmp.Comparer(func(a, b *kvtree.Tree) bool { return a.Len() == b.Len() && a.Equal(b) })

// TestMapLimits exceeds the maximum number of ranks and the maximum size of a part.
func TestMapLimits(t *testing.T) {
	for _, c := range []struct {
		ranks, name int
		parts       int
	}{
		{1, 10, 1},
		{8192, 10, 1},
		{8193, 10, 2},
		{20000, 10, 3},
		{10, 300_000, 4}, // 3 entries of 300,000 bytes in a part
		{2, 2 << 20, 2},  // one entry exceeds the size of a part
	} {
		d := memDir()
		make := func(rank int) ([]File, error) {
			return []File{{Path: fmt.Sprintf("%s/%d", strings.Repeat("x", c.name), rank), HasSize: true, Size: int64(rank)}}, nil
		}
		must(t, d.Datasets.WriteMap(1, c.ranks, make))
		list, err := d.FS.ReadDir(d.Datasets.Dir(1))
		must(t, err)
		if len(list) != c.parts+1 {
			t.Errorf("%d ranks of %d bytes: %d parts, want %d", c.ranks, c.name, len(list)-1, c.parts)
		}
		for _, e := range list {
			if i, _ := e.Info(); i.Size() > mapBytes+100 && c.name < mapBytes {
				t.Errorf("%s has %d bytes", e.Name(), i.Size())
			}
		}
		m, err := d.Datasets.ReadMap(d.Datasets.Place(1))
		must(t, err)
		if m.Ranks != c.ranks || m.Listed != c.ranks || m.Files[c.ranks-1][0].Size != int64(c.ranks-1) {
			t.Errorf("%d ranks: %d, listed %d", c.ranks, m.Ranks, m.Listed)
		}
		must(t, m.Check(Dataset{ID: 1, Files: int64(c.ranks), Size: int64(c.ranks) * int64(c.ranks-1) / 2}))
		if c.ranks <= 8193 { // read the map in the way that the original SCR reads it
			if n := gathered(t, d, filepath.Join(d.Datasets.Dir(1), mapName), ""); n != c.ranks {
				t.Errorf("a gather of %d ranks", n)
			}
		}
	}
}

// TestMapLevels sets small limits to get several levels.
func TestMapLevels(t *testing.T) {
	d := memDir()
	must(t, d.Datasets.Create(1))
	w := mapWriter{d: &d.Datasets, dir: d.Datasets.Dir(1), ranks: 100, bytes: 1 << 20, entries: 3}
	must(t, w.write(func(rank int) ([]File, error) { return []File{{Path: fmt.Sprint("f", rank)}}, nil }))
	root, err := kvtree.ReadFile(d.FS, filepath.Join(w.dir, mapName), nil)
	must(t, err)
	if l, err := root.Value("LEVEL").Int(); l != 4 || err != nil { // 100 > 3^4
		t.Errorf("level %d, %v", l, err)
	}
	m, err := d.Datasets.ReadMap(d.Datasets.Place(1))
	must(t, err)
	must(t, m.Check(Dataset{Files: 100}))
	if n := gathered(t, d, filepath.Join(w.dir, mapName), ""); n != 100 {
		t.Errorf("a gather of %d ranks", n)
	}
	// No part of the larger older map may be left.
	must(t, d.Datasets.WriteMap(1, 1, func(int) ([]File, error) { return nil, nil }))
	if list, err := d.FS.ReadDir(w.dir); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestMapRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := memDir()
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		want := map[int][]File{}
		for r := range ranks {
			for i := range rapid.IntRange(0, 3).Draw(t, "files") {
				f := File{Path: fmt.Sprintf("d/%d.%d", r, i), HasSize: rapid.Bool().Draw(t, "size"), HasCRC: rapid.Bool().Draw(t, "crc"),
					Failed: rapid.Bool().Draw(t, "failed"), NoFetch: rapid.Bool().Draw(t, "nofetch")}
				if f.HasCRC {
					f.CRC = rapid.Uint32().Draw(t, "crc")
				}
				for n := range rapid.IntRange(0, 3).Draw(t, "segments") {
					s := Segment{fmt.Sprintf(".scr/ctr.%d.scr", n), rapid.Int64Range(0, 1<<40).Draw(t, "off"), rapid.Int64Range(0, 1<<40).Draw(t, "len")}
					f.Segments = append(f.Segments, s)
					if f.HasSize {
						f.Size += s.Length
					}
				}
				want[r] = append(want[r], f)
			}
		}
		if err := d.Datasets.WriteMap(7, ranks, func(r int) ([]File, error) { return want[r], nil }); err != nil {
			t.Fatal(err)
		}
		m, err := d.Datasets.ReadMap(d.Datasets.Place(7))
		if err != nil {
			t.Fatal(err)
		}
		for r := range ranks {
			if diff := cmp.Diff(want[r], m.Files[r], sameTree); diff != "" {
				t.Fatalf("rank %d: %s", r, diff)
			}
		}
	})
}

func TestMapDamaged(t *testing.T) {
	fresh := func() *Dir {
		d := memDir()
		must(t, d.Datasets.Create(1))
		w := mapWriter{d: &d.Datasets, dir: d.Datasets.Dir(1), ranks: 4, bytes: 1 << 20, entries: 2}
		must(t, w.write(func(rank int) ([]File, error) { return []File{{Path: fmt.Sprint("f", rank)}}, nil }))
		return d
	}
	edit := func(d *Dir, name string, change func(t *kvtree.Tree)) {
		file := filepath.Join(d.Datasets.Dir(1), name)
		tree, err := kvtree.ReadFile(d.FS, file, nil)
		must(t, err)
		change(tree)
		must(t, kvtree.WriteFile(d.FS, file, tree))
	}
	for what, c := range map[string]struct {
		file   string
		change func(t *kvtree.Tree)
		want   error
	}{
		"twice":        {mapName, func(t *kvtree.Tree) { t.GetKV("RANK", "2").Value("FILE").SetStr(".0.0") }, fault.ErrCorrupt},
		"outside":      {mapName, func(t *kvtree.Tree) { t.GetKV("RANK", "2").Value("FILE").SetStr("/../../x") }, fault.ErrCorrupt},
		"no offset":    {mapName, func(t *kvtree.Tree) { t.GetKV("RANK", "2").Value("OFFSET").SetStr("-1") }, fault.ErrCorrupt},
		"far":          {mapName, func(t *kvtree.Tree) { t.GetKV("RANK", "2").Value("OFFSET").SetStr("99999999") }, fault.ErrTruncated},
		"level":        {mapName, func(t *kvtree.Tree) { t.Value("LEVEL").SetInt(2) }, fault.ErrCorrupt},
		"levels":       {mapName, func(t *kvtree.Tree) { t.Value("LEVEL").SetInt(999) }, fault.ErrCorrupt},
		"itself":       {mapName, func(t *kvtree.Tree) { t.GetKV("RANK", "2").Value("FILE").SetStr("rank2file") }, fault.ErrCorrupt},
		"rank":         {mapName + ".0.2", func(t *kvtree.Tree) { t.SetKV("RANK", "4") }, fault.ErrCorrupt},
		"rank twice":   {mapName + ".0.2", func(t *kvtree.Tree) { t.SetKV("RANK", "1") }, fault.ErrCorrupt},
		"absolute":     {mapName + ".0.2", func(t *kvtree.Tree) { t.GetKV("RANK", "3").SetKV("FILE", "/etc/passwd") }, fault.ErrCorrupt},
		"up":           {mapName + ".0.2", func(t *kvtree.Tree) { t.GetKV("RANK", "3").SetKV("FILE", "a/../../b") }, fault.ErrCorrupt},
		"size":         {mapName + ".0.2", func(t *kvtree.Tree) { t.GetKV("RANK", "3").SetKV("FILE", "b").Value("SIZE").SetStr("x") }, fault.ErrCorrupt},
		"segment gone": {mapName + ".0.2", func(t *kvtree.Tree) { t.GetKV("RANK", "3").SetKV("FILE", "b").SetKV("SEG", "1") }, fault.ErrCorrupt},
	} {
		d := fresh()
		edit(d, c.file, c.change)
		if _, err := d.Datasets.ReadMap(d.Datasets.Place(1)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	// An empty part adds no rank. Therefore a repeated reference to an empty part cannot be detected by a duplicate rank. It must
	// be rejected, because otherwise a small map could take very long to read.
	d := fresh()
	edit(d, mapName+".0.2", func(t *kvtree.Tree) { t.Get("RANK").Unset("2"); t.Get("RANK").Unset("3") })
	edit(d, mapName, func(t *kvtree.Tree) { t.GetKV("RANK", "0").Value("FILE").SetStr(".0.2") })
	if _, err := d.Datasets.ReadMap(d.Datasets.Place(1)); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "two references") {
		t.Errorf("an empty part twice: %v", err)
	}
	d = fresh()
	edit(d, mapName, func(t *kvtree.Tree) { t.Value("LEVEL").SetInt(2) })
	if _, err := d.Datasets.ReadMap(d.Datasets.Place(1)); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "LEVEL: 0, want 1") {
		t.Errorf("a part of a level that is too low: %v", err)
	}
	d = fresh()
	must(t, d.FS.Remove(filepath.Join(d.Datasets.Dir(1), mapName+".0.2")))
	if _, err := d.Datasets.ReadMap(d.Datasets.Place(1)); !errors.Is(err, fault.ErrMissing) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("part gone: %v", err)
	}
	d = fresh()
	edit(d, mapName+".0.2", func(t *kvtree.Tree) { t.Get("RANK").Unset("3") })
	m, err := d.Datasets.ReadMap(d.Datasets.Place(1))
	must(t, err)
	if err := m.Check(Dataset{Files: 3}); !errors.Is(err, fault.ErrMissing) {
		t.Errorf("rank gone: %v", err)
	}
	if _, err := FilesTree([]File{{Path: "a"}, {Path: "a"}}); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("a file twice: %v", err)
	}
}

func FuzzFiles(f *testing.F) {
	for _, list := range [][]File{nil, {{Path: "a", HasSize: true, Size: 3, Segments: []Segment{{"c", 0, 1}, {"d", 5, 2}}}}, {{Path: "a", NoFetch: true}}} {
		t, err := FilesTree(list)
		if err != nil {
			f.Fatal(err)
		}
		b, err := kvtree.Pack(t)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := kvtree.Unpack(b, &kvtree.Options{MaxBytes: 1 << 16, MaxElements: 1 << 12, MaxDepth: 64})
		if err != nil {
			return
		}
		list, err := ParseFiles(tree, "f")
		if err != nil {
			return
		}
		again, err := FilesTree(list)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseFiles(again, "f")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, got, sameTree); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzIndex(f *testing.F) {
	x := memDir().Index.New()
	for id := 1; id < 4; id++ {
		if err := errors.Join(x.Add(ckpt(id), true), x.MarkFlushed(ckpt(id).Name, day), x.SetCurrent(ckpt(id).Name)); err != nil {
			f.Fatal(err)
		}
	}
	b, err := kvtree.Pack(x.Tree)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := kvtree.Unpack(b, &kvtree.Options{MaxBytes: 1 << 16, MaxElements: 1 << 12, MaxDepth: 64})
		if err != nil {
			return
		}
		x, err := parseIndex(tree, "f", day.Location())
		if err != nil {
			return
		}
		for _, e := range x.Candidates() {
			if _, ok := x.Entry(e.Name); !ok {
				continue // two datasets have the same name, and the index can refer to only one of them
			}
			if err := x.Remove(e.Name); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// gathered counts the ranks of a map in the way that the original SCR reads it. It accepts only whole records.
func gathered(t *testing.T, d *Dir, prefix, suffix string) int {
	t.Helper()
	file, err := kvtree.ReadFile(d.FS, prefix+suffix, nil)
	must(t, err)
	level, err := file.Value("LEVEL").Int()
	must(t, err)
	entries := file.Get("RANK")
	if level == 0 {
		return entries.Len()
	}
	n := 0
	for _, entry := range entries.All() {
		next, err := entry.Value("FILE").Str()
		must(t, err)
		n += gathered(t, d, prefix, next)
	}
	return n
}
