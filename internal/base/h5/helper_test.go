package h5

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// build lays out b and returns the file with this data for each dataset, or zeros.
func build(t testing.TB, b *Builder, data map[*DatasetBuilder][]byte) []byte {
	t.Helper()
	l, err := b.Layout()
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, l.Size)
	for _, p := range l.Pieces {
		copy(file[p.Off:], p.Data)
	}
	for _, s := range b.stamps {
		s.Encode(file[s.Offset():][:s.t.Len()])
	}
	for d, raw := range data {
		if int64(len(raw)) != d.Bytes() {
			t.Fatalf("%d bytes for a dataset of %d", len(raw), d.Bytes())
		}
		copy(file[d.Offset():], raw)
	}
	return file
}

func group(t testing.TB, b *Builder, name string, fill func(*Builder)) {
	t.Helper()
	tpl, err := NewTemplate(fill)
	if err != nil {
		t.Fatal(err)
	}
	b.Stamp(name, tpl)
}

func members(t testing.TB, f *File, path string) *Group {
	t.Helper()
	o, err := f.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	g, err := o.Group()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func openBytes(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := NewFile(bytes.NewReader(b), int64(len(b)), "test.h5")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func openPath(t testing.TB, path string) *File {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	fi, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFile(r, fi.Size(), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
