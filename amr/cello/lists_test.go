package cello

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestFileNames(t *testing.T) {
	for _, c := range []struct {
		files int
		want  string
	}{
		{1, "block_data-0"}, {2, "block_data-0"}, {10, "block_data-0"}, {11, "block_data-00"}, {100, "block_data-00"}, {101, "block_data-000"},
		{1001, "block_data-000"}, {1002, "block_data-0000"}, {10000, "block_data-0000"}, {10001, "block_data-00000"}, {1000001, "block_data-000000"},
	} {
		if got := fileName(0, c.files); got != c.want {
			t.Errorf("file 0 of %d is %s, want %s", c.files, got, c.want)
		}
	}
	if got := fileName(1000, 1001); got != "block_data-1000" {
		t.Error(got)
	}
}

// TestFileList: what is no list of files of the directory itself, each once, is refused.
func TestFileList(t *testing.T) {
	for text, want := range map[string]error{
		"2\na\nb\n": nil, " 2 a\tb": nil,
		"": ErrTruncated, "2\na\n": ErrTruncated, "99999\na\n": ErrTruncated,
		"0\n": ErrCorrupt, "a\n": ErrCorrupt, "1\na\nb\n": ErrCorrupt, "3\na\nb\na\n": ErrCorrupt,
		"1\n..\n": ErrCorrupt, "1\n.\n": ErrCorrupt, "1\n../a\n": ErrCorrupt, "1\n/a\n": ErrCorrupt, "1\na\\b\n": ErrCorrupt, "1\na\x00\n": ErrCorrupt,
	} {
		names, err := decodeFileList([]byte(text), "x")
		if !errors.Is(err, want) || want == nil && !reflect.DeepEqual(names, []string{"a", "b"}) {
			t.Errorf("%q: %q, %v, want %v", text, names, err, want)
		}
	}
}

// TestFileRule: the two forms of the rule agree.
func TestFileRule(t *testing.T) {
	if got := []int64{fileStart(0, 4, 10), fileStart(1, 4, 10), fileStart(2, 4, 10), fileStart(3, 4, 10)}; !reflect.DeepEqual(got, []int64{0, 3, 5, 8}) {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 500).Draw(t, "n")
		files := rapid.IntRange(1, 600).Draw(t, "files")
		for i := range n {
			f := int(i * int64(files) / n) // the rule of the original
			if i < fileStart(f, files, n) || i >= fileStart(f+1, files, n) {
				t.Fatalf("block %d of %d is in file %d of %d, which has %d to %d", i, n, f, files, fileStart(f, files, n), fileStart(f+1, files, n))
			}
		}
	})
}

func FuzzFileList(f *testing.F) {
	for _, s := range []string{"3\nblock_data-0\nblock_data-1\nblock_data-2\n", "2 a b", "1\n../x\n", "99999999999\n", "", "2\na\na\n", "1 a b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		names, err := decodeFileList(b, "x")
		if err != nil {
			if e := new(FormatError); !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(b)) {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := decodeFileList(encodeFileList(names), "x")
		if err != nil || !reflect.DeepEqual(again, names) {
			t.Fatalf("%q, %q, %v", names, again, err)
		}
	})
}

func FuzzBlockList(f *testing.F) {
	for _, s := range []string{"B_ -2\nB0_0 -1\nB00:0_00:1 1\n", "", "B", "B 1 B", "x 1", "B 99"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decodeBlockList(b, "x")
		if err != nil {
			if e := new(FormatError); !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(b)) {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := decodeBlockList(encodeBlockList(l), "x")
		if err != nil || len(again) != len(l) {
			t.Fatalf("%v, %v, %v", l, again, err)
		}
		for i := range l {
			if again[i].name != l[i].name || again[i].level != l[i].level {
				t.Fatalf("%v, %v", l[i], again[i])
			}
		}
	})
}

func FuzzAdapt(f *testing.F) {
	a := adaptBuffer{Rank: 3, Valid: true, Neighbours: make([]levelInfo, 5)}
	b, err := a.bytes()
	must(err)
	f.Add(b)
	f.Add(make([]byte, 4000))
	f.Add([]byte{27})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := decodeAdapt(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		out, err := a.bytes()
		if err != nil {
			t.Fatal(err)
		}
		c, err := decodeAdapt(out)
		if err != nil || !reflect.DeepEqual(a, c) {
			t.Fatalf("%+v, %+v, %v", a, c, err)
		}
		if !bytes.Equal(out[:adaptSelf], b[:adaptSelf]) {
			t.Fatal("the front differs")
		}
	})
}

func FuzzManifest(f *testing.F) {
	m := manifest{ID: "x", Datasets: []string{"field_a"}, Files: []manifestFile{{Name: "a", Size: 10, Blocks: 1, Groups: []uint32{1}, Data: []uint32{7}}}}
	b, err := m.encode()
	must(err)
	f.Add(b)
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeManifest(b, "x"); err == nil {
			if _, err := m.encode(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
