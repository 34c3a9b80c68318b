package blocks

import (
	"os"
	"strings"
	"testing"

	"blobio/amr"
	"blobio/blob"
	"blobio/cdf5"
)

// spoil changes elements of a variable of a canonical file.
func spoil(t *testing.T, name, variable string, at int64, b ...byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := cdf5.DecodeHeader(f, info.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	off, _ := h.Extent(h.VarIndex(variable), 0)
	if _, err := f.WriteAt(b, off+at); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	m, blocks := toy(21, 2)
	for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
		name := temp(t)
		writeToy(t, name, m, deal(blocks, 3, 0), &Options{Form: form, Durability: blob.DurableNone})
		for f := range Check(t.Context(), name, nil) {
			random := strings.Contains(f.Msg, "values in leaves") || strings.Contains(f.Msg, "positions in leaves")
			if f.Severity != blob.Note && !strings.Contains(f.Msg, "more than one level") && !random {
				t.Errorf("%v: %v", form, f)
			}
		}
	}
	for _, c := range []struct {
		variable string
		at       int64
		b        []byte
		want     string
		warning  bool
	}{
		{"block_level", 3, []byte{9}, "is of level", false},
		{"block_order", 7, []byte{9}, "says that it is number", true},
		{"block_parent", 8*8 + 7, []byte{1}, "says that its parent", false},
		{"block_parent", 0, []byte{0x7f}, "want less than", false},
		{"block_leaf", 0, []byte{1}, "is called a leaf", false},
		{"block_leaf", int64(len(blocks)) - 1, []byte{0}, "has no children here", true},
		{"block_lower", 1, []byte{0x55}, "its index says", true},
		{"block_index", 0, []byte{0x80}, "block 0: ", false},
		{"block_index", 24, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "are both", false},
		{"block_adapt_start", 15, []byte{1}, "want them to start", false},
		{"block_adapt_count", 0, []byte{0xff}, "rows from", false},
		{"block_adapt_size", 0, []byte{0x7f}, "bytes for", false},
		{"block_particle_dark_count", 15, []byte{0x77}, "want them to start", false},
		{"field_fint16", 33, []byte{0x77}, "checksum mismatch", false},
		{"particle_dark_is_copy", 2, []byte{0x77, 0x78}, "checksum mismatch", false},
		{"block_cost", 9, []byte{0x77}, "checksum mismatch", false},
		{"attr_text", 3, []byte{0x77}, "checksum mismatch", false},
		{"block_crc", 7, []byte{0x77}, "checksum mismatch", false},
	} {
		name := temp(t)
		writeToy(t, name, m, deal(blocks, 1, 0), &Options{Durability: blob.DurableNone})
		spoil(t, name, c.variable, c.at, c.b...)
		hit := false
		for f := range Check(t.Context(), name, nil) {
			if strings.Contains(f.String(), c.want) {
				hit = true
				if (f.Severity == blob.Warning) != c.warning {
					t.Errorf("%s: %v", c.variable, f)
				}
			}
		}
		if !hit {
			t.Errorf("%s: no finding with %q", c.variable, c.want)
			for f := range Check(t.Context(), name, nil) {
				t.Log(f)
			}
		}
	}
	src, err := Select(t.Context(), &Memory{m, blocks}, Selection{Keep: func(x amr.Index, leaf bool) bool { return leaf }})
	if err != nil {
		t.Fatal(err)
	}
	name := temp(t)
	if err := Convert(t.Context(), src, name, nil); err != nil {
		t.Fatal(err)
	}
	warnings := 0
	for f := range Check(t.Context(), name, nil) {
		if f.Severity == blob.Error {
			t.Error(f)
		}
		if f.Severity == blob.Warning {
			warnings++
		}
	}
	if warnings == 0 {
		t.Error("leaves only, but nothing says that a program cannot restart from them")
	}
}

// FuzzOpen: whatever is in the file, reading it ends with blocks or an error.
func FuzzOpen(f *testing.F) {
	m, blocks := toy(4, 1)
	dir := f.TempDir()
	name := dir + "/seed.nc"
	writeToy(f, name, m, deal(blocks, 1, 0), &Options{Durability: blob.DurableNone})
	seed, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, []byte{}, len(seed))
	f.Add(40, []byte{0xff, 0xff}, len(seed))
	f.Add(len(seed)/2, []byte{0x80}, len(seed)-3)
	f.Fuzz(func(t *testing.T, at int, b []byte, length int) {
		x := append([]byte(nil), seed...)
		if at < 0 || at > len(x) || length < 0 || length > len(x) {
			return
		}
		copy(x[at:], b)
		file := t.TempDir() + "/f.nc"
		if err := os.WriteFile(file, x[:length], 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := Open(t.Context(), file, nil)
		if err != nil {
			return
		}
		defer d.Close()
		for i := range d.Len() {
			if b, err := d.Block(t.Context(), i); err == nil && b.Validate(d.Meta()) != nil {
				t.Errorf("block %d was read, but is %v", i, b.Validate(d.Meta()))
			}
		}
		if _, err := d.Range(t.Context(), 0, d.Len()); err == nil {
			for range Check(t.Context(), file, nil) {
				continue
			}
		}
	})
}
