package vfs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// mapFile returns a file of n bytes of the operating system, and those; it skips where files cannot be mapped.
func mapFile(t *testing.T, n int) (File, []byte) {
	t.Helper()
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 3)
	}
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := OS.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	m, err := Map(f, 0, 1)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("files cannot be mapped here")
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f, b
}

// TestMap: any range, also after parts were dropped and the file was closed; beyond the end it is an error.
func TestMap(t *testing.T) {
	const size = 100001
	f, b := mapFile(t, size)
	for _, r := range [][2]int64{{0, size}, {0, 1}, {size - 1, 1}, {4096, 4096}, {4095, 5000}, {33333, 44444}} {
		m, err := Map(f, r[0], r[1])
		if err != nil {
			t.Fatal(err)
		}
		want := b[r[0] : r[0]+r[1]]
		for _, d := range [][2]int64{{0, 0}, {0, r[1]}, {r[1] / 3, r[1] / 2}} {
			m.Drop(d[0], d[1])
			if !bytes.Equal(m.Bytes(), want) {
				t.Errorf("%v, %v dropped: other bytes", r, d)
			}
		}
		if err := m.Close(); err != nil || m.Bytes() != nil {
			t.Errorf("close: %v, %d bytes", err, len(m.Bytes()))
		}
	}
	for _, r := range [][2]int64{{0, size + 1}, {size, 1}, {1 << 40, 1}} {
		if _, err := Map(f, r[0], r[1]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v: error %v, want ErrUnexpectedEOF", r, err)
		}
	}
	for _, r := range [][2]int64{{0, 0}, {-1, 5}, {5, -1}, {1 << 62, 1 << 62}} {
		if _, err := Map(f, r[0], r[1]); err == nil {
			t.Errorf("%v: no error", r)
		}
	}
	m, err := Map(f, 5, 9)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Bytes(), b[5:14]) {
		t.Error("closed: other bytes")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Map(f, 0, 1); err == nil {
		t.Error("a closed file was mapped")
	}
}

// TestMapShorter: a page that is gone is a panic that can be recovered.
func TestMapShorter(t *testing.T) {
	f, b := mapFile(t, 100000)
	m, err := Map(f, 0, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := os.Truncate(f.Name(), 10); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if _, ok := recover().(interface{ Addr() uintptr }); !ok {
			t.Error("no fault with an address")
		}
	}()
	if m.Bytes()[9] != b[9] {
		t.Error("another byte")
	}
	t.Log(m.Bytes()[99999])
}

// TestMapThrough: wrappers let maps through, a fault stops them; files in memory have none.
func TestMapThrough(t *testing.T) {
	f, b := mapFile(t, 5000)
	dir := filepath.Dir(f.Name())
	for what, fsys := range map[string]FS{"fault": FailNth(OS, 100, ErrNoSpace), "bind": NewBind(OS, []Bind{{At: "/elsewhere", To: dir}})} {
		name := f.Name()
		if what == "bind" {
			name = "/elsewhere/f"
		}
		g, err := fsys.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Map(g, 1, 4000)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !bytes.Equal(m.Bytes(), b[1:4001]) {
			t.Errorf("%s: other bytes", what)
		}
		if err := errors.Join(m.Close(), g.Close()); err != nil {
			t.Error(err)
		}
	}
	g, err := NoSync(OS).OpenRW(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	m, err := Map(g, 0, 5000)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Close(), g.Close()); err != nil {
		t.Error(err)
	}
	c := Count(NewFault(OS, FailOn(OpMap, "f", 2, ErrNoSpace)))
	if g, err = c.Open(f.Name()); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if m, err = Map(g, 0, 5000); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := Map(g, 0, 5000); !errors.Is(err, ErrNoSpace) {
		t.Errorf("error %v, want that of the hook", err)
	}
	if c.Kind(OpMap) != 2 || c.Bytes(OpMap) != 10000 {
		t.Errorf("%d maps of %d bytes, want 2 of 10000", c.Kind(OpMap), c.Bytes(OpMap))
	}
	mem := Count(NewMem())
	if err := WriteFile(mem, "f", b); err != nil {
		t.Fatal(err)
	}
	if g, err = mem.Open("f"); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := Map(g, 0, 5); !errors.Is(err, errors.ErrUnsupported) || mem.Kind(OpMap) != 0 {
		t.Errorf("error %v, want ErrUnsupported, and no operation", err)
	}
}
