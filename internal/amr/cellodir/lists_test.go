package cellodir_test

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
)

func TestFileNames(t *testing.T) {
	for _, c := range []struct {
		files int
		want  string
	}{
		{1, "block_data-0"}, {2, "block_data-0"}, {10, "block_data-0"}, {11, "block_data-00"}, {100, "block_data-00"}, {101, "block_data-000"},
		{1001, "block_data-000"}, {1002, "block_data-0000"}, {10000, "block_data-0000"}, {10001, "block_data-00000"}, {1000001, "block_data-000000"},
	} {
		if got := cellodir.FileName(0, c.files); got != c.want {
			t.Errorf("file 0 of %d is %s, want %s", c.files, got, c.want)
		}
	}
	if got := cellodir.FileName(1000, 1001); got != "block_data-1000" {
		t.Error(got)
	}
}

// TestFileList: a list is refused if it names a file outside of the directory, or a file twice.
func TestFileList(t *testing.T) {
	for text, want := range map[string]error{
		"2\na\nb\n": nil, " 2 a\tb": nil,
		"": fault.ErrTruncated, "2\na\n": fault.ErrTruncated, "99999\na\n": fault.ErrTruncated,
		"0\n": fault.ErrCorrupt, "a\n": fault.ErrCorrupt, "1\na\nb\n": fault.ErrCorrupt, "3\na\nb\na\n": fault.ErrCorrupt,
		"1\n..\n": fault.ErrCorrupt, "1\n.\n": fault.ErrCorrupt, "1\n../a\n": fault.ErrCorrupt, "1\n/a\n": fault.ErrCorrupt, "1\na\\b\n": fault.ErrCorrupt, "1\na\x00\n": fault.ErrCorrupt,
	} {
		names, err := cellodir.DecodeFileList([]byte(text), "x")
		if !errors.Is(err, want) || want == nil && !reflect.DeepEqual(names, []string{"a", "b"}) {
			t.Errorf("%q: %q, %v, want %v", text, names, err, want)
		}
	}
}

// TestFileRule: FileStart agrees with Enzo-E's rule, which computes the file of a block.
func TestFileRule(t *testing.T) {
	if got := []int64{cellodir.FileStart(0, 4, 10), cellodir.FileStart(1, 4, 10), cellodir.FileStart(2, 4, 10), cellodir.FileStart(3, 4, 10)}; !reflect.DeepEqual(got, []int64{0, 3, 5, 8}) {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 500).Draw(t, "n")
		files := rapid.IntRange(1, 600).Draw(t, "files")
		for i := range n {
			f := int(i * int64(files) / n) // Enzo-E's rule
			if i < cellodir.FileStart(f, files, n) || i >= cellodir.FileStart(f+1, files, n) {
				t.Fatalf("block %d of %d is in file %d of %d, which has %d to %d", i, n, f, files, cellodir.FileStart(f, files, n), cellodir.FileStart(f+1, files, n))
			}
		}
	})
}

func FuzzFileList(f *testing.F) {
	for _, s := range []string{"3\nblock_data-0\nblock_data-1\nblock_data-2\n", "2 a b", "1\n../x\n", "99999999999\n", "", "2\na\na\n", "1 a b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		names, err := cellodir.DecodeFileList(b, "x")
		if err != nil {
			if e := new(fault.FormatError); !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(b)) {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := cellodir.DecodeFileList(cellodir.EncodeFileList(names), "x")
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
		l, err := cellodir.DecodeBlockList(b, "x")
		if err != nil {
			if e := new(fault.FormatError); !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(b)) {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := cellodir.DecodeBlockList(cellodir.EncodeBlockList(l), "x")
		if err != nil || len(again) != len(l) {
			t.Fatalf("%v, %v, %v", l, again, err)
		}
		for i := range l {
			if again[i].Name != l[i].Name || again[i].Level != l[i].Level {
				t.Fatalf("%v, %v", l[i], again[i])
			}
		}
	})
}
