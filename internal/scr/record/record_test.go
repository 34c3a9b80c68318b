package record

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var sameTree = cmp.Comparer(func(a, b *kvtree.Tree) bool { return a.Len() == b.Len() && a.Equal(b) })

func TestDatasetVector(t *testing.T) {
	file := filepath.Join(testfiles.Dir(t, "scr", "xor_1_after_crash"), "prefix/.scr/scr.dataset.3/summary.scr")
	tree, err := kvtree.ReadFile(nil, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := ParseDataset(tree.Get("DSET"), file)
	if err != nil {
		t.Fatal(err)
	}
	want := Dataset{ID: 3, Name: "ckpt.3", User: "user1", JobName: "simulation123", JobID: "1145655", Created: time.UnixMicro(1795225582888824),
		Ckpt: 3, Checkpoint: true, Files: 8, Size: 8444, Complete: true}
	if diff := cmp.Diff(want, d, sameTree); diff != "" {
		t.Error(diff)
	}
	a, _ := kvtree.Pack(tree.Get("DSET"))
	b, _ := kvtree.Pack(d.Tree())
	if string(a) != string(b) {
		t.Errorf("made again:\n%x\nwant\n%x", b, a)
	}
}

func TestMetaVector(t *testing.T) {
	file := filepath.Join(testfiles.Dir(t, "scr", "xor_1_after_crash"),
		"nodes/node1/user1/scr.1145655/scr.dataset.4/.scr/filemap_1")
	tree, err := kvtree.ReadFile(nil, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, sub := range tree.Get("FILE").All() {
		m, err := ParseMeta(sub.Get("META"), file)
		if err != nil {
			t.Fatal(err)
		}
		if m.Size != 1037 || m.Ranks != 4 || !m.Complete || m.Stat.Mode != 0o100644 || m.Stat.Mtime.Nanosecond() == 0 || m.Extra != nil {
			t.Errorf("%+v", m)
		}
		a, _ := kvtree.Pack(sub.Get("META"))
		b, _ := kvtree.Pack(m.Tree())
		if string(a) != string(b) {
			t.Errorf("made again:\n%q\nwant\n%q", b, a)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d files", n)
	}
}

// TestGenerationA uses the example of the original documentation.
func TestGenerationA(t *testing.T) {
	tree := kvtree.New()
	for key, v := range map[string]string{"FILE": "rank_0.ckpt", "TYPE": "FULL", "COMPLETE": "1", "SIZE": "524294", "CRC": "0x1b39e4e4", "CKPT": "6",
		"RANKS": "4", "ORIG": "ckpt.6/rank_0.ckpt", "ORIGPATH": "/p/ckpt.6", "ORIGNAME": "rank_0.ckpt", "SPECIAL": "x"} {
		tree.Value(key).SetStr(v)
	}
	m, err := ParseMeta(tree, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Meta{Orig: "ckpt.6/rank_0.ckpt", Path: "/p/ckpt.6", Name: "rank_0.ckpt", Size: 524294, Ranks: 4, Complete: true, Ckpt: 6,
		File: "rank_0.ckpt", Type: "FULL", CRC: 0x1b39e4e4, HasCRC: true, Extra: kvtree.New()}
	want.Extra.Value("SPECIAL").SetStr("x")
	if diff := cmp.Diff(want, m, sameTree); diff != "" {
		t.Error(diff)
	}
	d := kvtree.New()
	d.Value("CKPT").SetStr("6")
	if ds, err := ParseDataset(d, ""); err != nil || !ds.Checkpoint || ds.Output {
		t.Errorf("%+v, %v", ds, err)
	}
}

func TestBadValues(t *testing.T) {
	for key, v := range map[string]string{"ID": "x", "CKPT": "-1", "FILES": "-1", "SIZE": "1e3", "COMPLETE": "2", "FLAG_CKPT": "yes", "CREATED": ""} {
		tree := kvtree.New()
		tree.Value(key).SetStr(v)
		_, err := ParseDataset(tree, "f")
		var fe *fault.FormatError
		if !errors.As(err, &fe) || fe.Field != "DSET/"+key || fe.File != "f" {
			t.Errorf("%s = %q: %v", key, v, err)
		}
	}
	two := kvtree.New()
	two.SetKV("NAME", "a")
	two.SetKV("NAME", "b")
	if _, err := ParseDataset(two, ""); !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("two names: %v", err)
	}
	mode := kvtree.New()
	mode.Value("MODE").SetStr("4294967296")
	if _, err := ParseMeta(mode, ""); !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("mode of 33 bits: %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z/. ]{0,9}`)
		n := rapid.Int64Range(0, 1<<60)
		at := func(l string) time.Time {
			return time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, l), rapid.Int64Range(0, 999999999).Draw(t, l))
		}
		m := Meta{Orig: text.Draw(t, "orig"), Path: text.Draw(t, "path"), Name: text.Draw(t, "name"), Size: n.Draw(t, "size"),
			Ranks: rapid.IntRange(0, 1<<20).Draw(t, "ranks"), Complete: rapid.Bool().Draw(t, "complete"), HasCRC: rapid.Bool().Draw(t, "crc")}
		if m.HasCRC {
			m.CRC = rapid.Uint32().Draw(t, "crc")
		}
		if rapid.Bool().Draw(t, "stat") {
			m.HasStat = true
			m.Stat = vfs.Meta{Size: m.Size, Mode: rapid.Uint32().Draw(t, "mode"), UID: rapid.Uint32().Draw(t, "uid"), Atime: at("a"), Ctime: at("c"), Mtime: at("m")}
		}
		b, err := kvtree.Pack(m.Tree())
		if err != nil {
			t.Fatal(err)
		}
		tree, err := kvtree.Unpack(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseMeta(tree, "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got, sameTree); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestDatasetID(t *testing.T) {
	for name, want := range map[string]int{"scr.dataset.12": 12, DefaultName(3): 3, "scr.dataset.0": 0, "scr.dataset.012": 0, "scr.dataset.-1": 0, "dataset.1": 0} {
		if id, ok := DatasetID(name); ok != (want > 0) || ok && id != want {
			t.Errorf("%s: %d, %v", name, id, ok)
		}
	}
}
