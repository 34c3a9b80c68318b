package vfs

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
)

var errIO = errors.New("the disk is gone")

// program does every kind of operation at least once and returns the first error.
func program(fsys FS) (err error) {
	steps := []func() error{
		func() error { return fsys.Mkdir("d") },
		func() error { return fsys.MkdirAll("d/e") },
		func() error { return WriteFile(fsys, "d/f", []byte("content")) },
		func() error { return fsys.Rename("d/f", "d/g") },
		func() error { return SyncParent(fsys, "d/g") },
		func() error {
			f, err := fsys.OpenRW("d/g")
			if err != nil {
				return err
			}
			err = errors.Join(f.Allocate(0, 100), f.Truncate(3), Lock(f, true))
			_, werr := f.WritevAt([][]byte{[]byte("a"), []byte("b")}, 3)
			return errors.Join(err, werr, f.Close())
		},
		func() error { _, err := ReadFile(fsys, "d/g", 100); return err },
		func() error { _, err := fsys.Stat("d/g"); return err },
		func() error { _, err := fsys.ReadDir("d"); return err },
		func() error { return SetMeta(fsys, "d/g", Meta{Mode: ModeRegular}) },
		func() error { return fsys.Remove("d/g") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// TestFailNth: each operation of a program fails once, and the program returns the error.
func TestFailNth(t *testing.T) {
	c := Count(NewMem())
	ok(t, program(c))
	for k := range numKinds {
		if c.Kind(k) == 0 {
			t.Errorf("the program does no %v", k)
		}
	}
	if c.Bytes(OpWrite) != 9 || c.Bytes(OpRead) != 5 {
		t.Errorf("wrote %d bytes, read %d; want 9, 5", c.Bytes(OpWrite), c.Bytes(OpRead))
	}
	for n := int64(1); n <= c.Ops(); n++ {
		err := program(FailNth(NewMem(), n, errIO))
		if err == nil {
			// The error of closing a file after reads may be dropped.
			var last Op
			_ = program(NewFault(NewMem(), func(op Op) error {
				if op.Seq == n {
					last = op
				}
				return nil
			}))
			if last.Kind != OpClose {
				t.Errorf("%v failed, and nobody noticed", last)
			}
			continue
		}
		wantIs(t, "FailNth", err, errIO)
		wantIs(t, "FailFrom", program(FailFrom(NewMem(), n, errIO)), errIO)
	}
	ok(t, program(FailNth(NewMem(), c.Ops()+1, errIO)))
}

func TestFailFrom(t *testing.T) {
	fsys := FailFrom(NewMem(), 2, errIO)
	ok(t, fsys.Mkdir("a"))
	for range 3 {
		if err := fsys.Mkdir("b"); !errors.Is(err, errIO) {
			t.Errorf("%v, want %v", err, errIO)
		}
	}
}

func TestFailOn(t *testing.T) {
	for _, k := range []struct {
		kind    OpKind
		pattern string
		n       int64
		fails   bool
	}{
		{OpRename, "g", 1, true}, {OpRename, "f", 1, true}, {OpRename, "f", 2, false}, {OpWrite, "", 2, true},
		{OpWrite, "g*", 1, true}, {OpWrite, "g*", 2, false}, {OpWrite, "*.nc", 0, false}, {OpSync, "", 0, true},
	} {
		err := program(NewFault(NewMem(), FailOn(k.kind, k.pattern, k.n, errIO)))
		if errors.Is(err, errIO) != k.fails || (err != nil) != k.fails {
			t.Errorf("%+v: %v", k, err)
		}
		if k.fails && !strings.Contains(err.Error(), k.kind.String()+" d/") {
			t.Errorf("%+v: %q does not say what failed", k, err)
		}
	}
}

func TestShortWrite(t *testing.T) {
	m := NewMem()
	fsys := NewFault(m, func(op Op) error {
		if op.Kind == OpWrite || op.Kind == OpRead {
			return &ShortWrite{N: 4, Err: errIO}
		}
		return nil
	})
	f, err := fsys.Create("f")
	ok(t, err)
	n, err := f.WritevAt([][]byte{[]byte("abc"), []byte("def"), []byte("ghi")}, 0)
	if n != 4 || !errors.Is(err, errIO) {
		t.Errorf("%d, %v", n, err)
	}
	if s := content(t, m, "f"); s != "abcd" {
		t.Errorf("%q", s)
	}
	k, err := f.WriteAt([]byte("xy"), 10)
	if k != 2 || !errors.Is(err, errIO) {
		t.Errorf("%d, %v", k, err)
	}
	b := make([]byte, 10)
	k, err = f.ReadAt(b, 0)
	if k != 4 || !errors.Is(err, errIO) || errors.Is(err, io.EOF) || string(b[:4]) != "abcd" || b[4] != 0 {
		t.Errorf("%d, %v, %q", k, err, b)
	}
}

// TestFailedClose: a failed Close still releases the handle.
func TestFailedClose(t *testing.T) {
	m := NewMem()
	f, err := NewFault(m, FailOn(OpClose, "", 1, errIO)).Create("f")
	ok(t, err)
	wantIs(t, "Close", f.Close(), errIO)
	wantIs(t, "second Close", f.Close(), fs.ErrClosed)
}

func TestOpString(t *testing.T) {
	for want, op := range map[string]Op{
		"#3 write f [10, 15)": {Seq: 3, Kind: OpWrite, Name: "f", Off: 10, N: 5},
		"#1 rename a to b":    {Seq: 1, Kind: OpRename, Name: "a", New: "b"},
		"#2 truncate f 7":     {Seq: 2, Kind: OpTruncate, Name: "f", N: 7},
		"#4 OpKind(99) x":     {Seq: 4, Kind: 99, Name: "x"},
	} {
		if op.String() != want {
			t.Errorf("%q, want %q", op, want)
		}
	}
	for k := range numKinds {
		if k.String() == "" || k.Changes() == (k == OpRead || k == OpOpen || k == OpStat || k == OpReadDir || k == OpClose || k == OpLock) {
			t.Errorf("%v", k)
		}
	}
}
