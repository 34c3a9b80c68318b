package transfer

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sample is the transfer file that SCR's guide prints.
func sample() *kvtree.Tree {
	t := kvtree.New()
	t.SetKV("FLAG", "DONE")
	t.Value("STATE").SetStr("STOPPED")
	t.Value("COMMAND").SetStr("RUN")
	t.Value("BW").SetDouble(52428800)
	t.Value("PERCENT").SetDouble(0)
	files := t.Touch("FILES")
	for _, x := range []struct {
		name string
		size uint64
	}{{"rank_0.ckpt.scr", 124}, {"rank_0.ckpt", 524294}} {
		f := files.Touch("/tmp/user1/scr.1001186/index.0/dataset.1/" + x.name)
		f.Value("WRITTEN").SetUint64(x.size)
		f.Value("SIZE").SetUint64(x.size)
		f.Value("DESTINATION").SetStr("/p/lscratchb/user1/simulation123/scr.dataset.1/" + x.name)
	}
	return t
}

func TestFileOfTheGuide(t *testing.T) {
	f, err := Parse(sample(), "transfer.scrinfo")
	if err != nil {
		t.Fatal(err)
	}
	want := File{
		Items: []Item{
			{Src: "/tmp/user1/scr.1001186/index.0/dataset.1/rank_0.ckpt.scr", Dst: "/p/lscratchb/user1/simulation123/scr.dataset.1/rank_0.ckpt.scr", Size: 124, Written: 124},
			{Src: "/tmp/user1/scr.1001186/index.0/dataset.1/rank_0.ckpt", Dst: "/p/lscratchb/user1/simulation123/scr.dataset.1/rank_0.ckpt", Size: 524294, Written: 524294},
		},
		BW: 52428800, Command: CommandRun, State: StateStopped, Done: true,
	}
	f.Tree = nil
	if d := cmp.Diff(want, *f); d != "" {
		t.Error(d)
	}
	if !f.Items[0].Whole() {
		t.Error("not whole")
	}
}

// Unchanged items keep their bytes, and unknown keys are kept.
func TestFileUnchanged(t *testing.T) {
	tree := sample()
	tree.Value("SOMETHING").SetStr("else")
	tree.Get("FILES").Touch("/tmp/user1/scr.1001186/index.0/dataset.1/rank_0.ckpt").Value("MORE").SetStr("1")
	before, err := kvtree.Encode(tree)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(tree, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.fill(tree); err != nil {
		t.Fatal(err)
	}
	if after, err := kvtree.Encode(tree); err != nil || string(after) != string(before) {
		t.Error("the bytes changed", err)
	}
}

func TestFileEmpty(t *testing.T) {
	f, err := ReadFile(context.Background(), vfs.NewMem(), "/none", true)
	if err != nil || len(f.Items) != 0 || f.Command != "" || f.State != "" || f.Done {
		t.Error(f, err)
	}
}

func TestFileDamaged(t *testing.T) {
	const src = "/tmp/user1/scr.1001186/index.0/dataset.1/rank_0.ckpt"
	item := func(f func(t *kvtree.Tree)) func(t *kvtree.Tree) {
		return func(t *kvtree.Tree) { f(t.At("FILES", src)) }
	}
	for name, x := range map[string]struct {
		spoil func(t *kvtree.Tree)
		want  error
		field string
	}{
		"command":       {func(t *kvtree.Tree) { t.Value("COMMAND").SetStr("JUMP") }, fault.ErrCorrupt, "COMMAND"},
		"two commands":  {func(t *kvtree.Tree) { t.SetKV("COMMAND", "STOP") }, fault.ErrCorrupt, "COMMAND"},
		"state":         {func(t *kvtree.Tree) { t.Value("STATE").SetStr("run") }, fault.ErrCorrupt, "STATE"},
		"bw":            {func(t *kvtree.Tree) { t.Value("BW").SetStr("fast") }, fault.ErrCorrupt, "BW"},
		"bw nan":        {func(t *kvtree.Tree) { t.Value("BW").SetStr("nan") }, fault.ErrCorrupt, "BW"},
		"percent":       {func(t *kvtree.Tree) { t.Value("PERCENT").SetStr("-1") }, fault.ErrCorrupt, "PERCENT"},
		"no size":       {item(func(t *kvtree.Tree) { t.Unset("SIZE") }), kvtree.ErrMissing, "FILES/" + src + "/SIZE"},
		"size":          {item(func(t *kvtree.Tree) { t.Value("SIZE").SetStr("9223372036854775808") }), kvtree.ErrRange, "FILES/" + src + "/SIZE"},
		"size negative": {item(func(t *kvtree.Tree) { t.Value("SIZE").SetStr("-5") }), nil, "FILES/" + src + "/SIZE"},
		"written":       {item(func(t *kvtree.Tree) { t.Value("WRITTEN").SetStr("524295") }), fault.ErrCorrupt, "FILES/" + src + "/WRITTEN"},
		"destination":   {item(func(t *kvtree.Tree) { t.Unset("DESTINATION") }), kvtree.ErrMissing, "FILES/" + src + "/DESTINATION"},
		"relative":      {item(func(t *kvtree.Tree) { t.Value("DESTINATION").SetStr("../f") }), fault.ErrCorrupt, "FILES/" + src + "/DESTINATION"},
		"crc":           {item(func(t *kvtree.Tree) { t.Value("CRC").SetStr("0x100000000") }), nil, "FILES/" + src + "/CRC"},
		"source":        {func(t *kvtree.Tree) { t.Get("FILES").Touch("f") }, fault.ErrCorrupt, "FILES/f/"},
	} {
		tree := sample()
		x.spoil(tree)
		_, err := Parse(tree, "transfer.scrinfo")
		var fe *fault.FormatError
		if !errors.As(err, &fe) || fe.Field != x.field || fe.File != "transfer.scrinfo" || x.want != nil && !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUpdateFile(t *testing.T) {
	ctx := context.Background()
	name := filepath.Join(t.TempDir(), FileName)
	want := []Item{
		{Src: "/a/0", Dst: "/b/0", Size: 10, Written: 3, CRC: 0, HasCRC: true},
		{Src: "/a/1", Dst: "/b/1", Size: 0, Meta: true, Error: "it failed"},
		{Src: "/a/2", Dst: "/b/2", Size: math.MaxInt64, CRC: 0xfedcba98, HasCRC: true},
	}
	err := UpdateFile(ctx, nil, name, false, func(f *File) error {
		f.Items, f.BW, f.Percent, f.Command = want, 1e6, 12.5, CommandRun
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(ctx, nil, name, false)
	if err != nil || f.BW != 1e6 || f.Percent != 12.5 || f.Command != CommandRun || f.State != "" || f.Done || f.Failed {
		t.Fatal(f, err)
	}
	if d := cmp.Diff(want, f.Items); d != "" {
		t.Error(d)
	}
	// Items and marks can be removed.
	err = UpdateFile(ctx, nil, name, false, func(f *File) error {
		f.Items = f.Items[1:2]
		f.Items[0].Error, f.Items[0].Meta = "", false
		f.State, f.Done, f.Failed = StateRunning, true, true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if f, err = ReadFile(ctx, nil, name, false); err != nil || !f.Done || !f.Failed || f.State != StateRunning {
		t.Fatal(f, err)
	}
	if d := cmp.Diff([]Item{{Src: "/a/1", Dst: "/b/1"}}, f.Items); d != "" {
		t.Error(d)
	}
	boom := errors.New("boom")
	if err := UpdateFile(ctx, nil, name, false, func(f *File) error { f.Items = nil; return boom }); !errors.Is(err, boom) {
		t.Error(err)
	}
	for _, i := range []Item{{Src: "a", Dst: "/b"}, {Src: "/a", Dst: "b"}, {Src: "/a", Dst: "/b", Size: -1}, {Src: "/a", Dst: "/b", Written: 1}, {Src: "/a/1", Dst: "/x"}} {
		err := UpdateFile(ctx, nil, name, false, func(f *File) error { f.Items = append(f.Items, i); return nil })
		if !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", i, err)
		}
	}
}

func TestFileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &File{BW: float64(rapid.IntRange(0, 1e9).Draw(t, "bw")), Percent: float64(rapid.IntRange(0, 100).Draw(t, "percent")),
			Command: rapid.SampledFrom([]Command{"", CommandRun, CommandStop, CommandExit}).Draw(t, "command"),
			State:   rapid.SampledFrom([]State{"", StateRunning, StateStopped, StateExiting}).Draw(t, "state"),
			Done:    rapid.Bool().Draw(t, "done"), Failed: rapid.Bool().Draw(t, "failed")}
		name := rapid.StringMatching(`(/[a-z ./\n]{1,10}){1,3}`)
		seen := map[string]bool{}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			i := Item{Src: name.Draw(t, "src"), Dst: name.Draw(t, "dst"), Size: rapid.Int64Range(0, math.MaxInt64).Draw(t, "size"),
				HasCRC: rapid.Bool().Draw(t, "has"), Meta: rapid.Bool().Draw(t, "meta"),
				Error: rapid.SampledFrom([]string{"", "no"}).Draw(t, "error")}
			i.Written = rapid.Int64Range(0, i.Size).Draw(t, "written")
			if i.HasCRC {
				i.CRC = rapid.Uint32().Draw(t, "crc")
			}
			if !seen[i.Src] {
				seen[i.Src] = true
				f.Items = append(f.Items, i)
			}
		}
		tree := kvtree.New()
		if err := f.fill(tree); err != nil {
			t.Fatal(err)
		}
		b, err := kvtree.Encode(tree)
		if err != nil {
			t.Fatal(err)
		}
		back, err := kvtree.Decode(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Parse(back.Tree, "")
		if err != nil {
			t.Fatal(err)
		}
		g.Tree = nil
		if d := cmp.Diff(f, g); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, tree := range []*kvtree.Tree{kvtree.New(), sample()} {
		b, err := kvtree.Pack(tree)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	full := &File{Items: []Item{{Src: "/a", Dst: "/b", Size: 7, Written: 3, CRC: 5, HasCRC: true, Meta: true, Error: "x"}}, Failed: true}
	tree := kvtree.New()
	if err := full.fill(tree); err != nil {
		f.Fatal(err)
	}
	b, err := kvtree.Pack(tree)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := kvtree.Unpack(b, nil)
		if err != nil {
			return
		}
		file, err := Parse(tree, "f")
		if err != nil {
			var fe *fault.FormatError
			if !errors.As(err, &fe) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		// Any file that can be read can be written again with the same meaning.
		if err := file.fill(tree); err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		again, err := Parse(tree, "f")
		if err != nil {
			t.Fatal(err)
		}
		file.Tree, again.Tree = nil, nil
		if d := cmp.Diff(file, again); d != "" {
			t.Fatal(d)
		}
	})
}

// TestFileSegments checks that container ranges are kept and that invalid ones are rejected.
func TestFileSegments(t *testing.T) {
	ctx, name := context.Background(), filepath.Join(t.TempDir(), FileName)
	want := []Segment{{"/p/ctr.0.scr", 7, 3}, {"/p/ctr.1.scr", 0, 10}, {"/p/ctr.2.scr", 0, 1}}
	put := func(i Item) error {
		return UpdateFile(ctx, vfs.OS, name, false, func(f *File) error { f.Put(i); return nil })
	}
	for range 2 {
		if err := put(Item{Src: "/c/a", Dst: want[0].File, Size: 14, Out: want}); err != nil {
			t.Fatal(err)
		}
		f, err := ReadFile(ctx, vfs.OS, name, false)
		if err != nil || len(f.Items) != 1 || !slices.Equal(f.Items[0].Out, want) {
			t.Fatalf("%+v %v", f, err)
		}
	}
	if err := put(Item{Src: "/c/a", Dst: "/p/x", Size: 15, Out: want}); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("%v", err)
	}
	for what, change := range map[string]func(t *kvtree.Tree){
		"relative": func(t *kvtree.Tree) { t.Get("FILES").Get("/c/a").Get("SEG").Get("1").Value("FILE").SetStr("x") },
		"short":    func(t *kvtree.Tree) { t.Get("FILES").Get("/c/a").Get("SEG").Get("1").Value("LENGTH").SetInt(9) },
		"long": func(t *kvtree.Tree) {
			t.Get("FILES").Get("/c/a").Get("SEG").Get("1").Value("LENGTH").SetStr("9223372036854775807")
		},
		"hole":     func(t *kvtree.Tree) { t.Get("FILES").Get("/c/a").Get("SEG").Unset("1") },
		"no place": func(t *kvtree.Tree) { t.Get("FILES").Get("/c/a").Get("SEG").Get("1").Unset("OFFSET") },
	} {
		tr, err := kvtree.ReadFile(vfs.OS, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		change(tr)
		if _, err := Parse(tr, name); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
