package crashtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"blobio/internal/base/vfs"
)

var errBoom = errors.New("boom")

// saver replaces the file f, with the bugs that its fields name.
type saver struct{ noSync, noSyncDir, inPlace, deaf bool }

func (p saver) run(fsys vfs.FS) error {
	name := "f.new"
	if p.inPlace {
		name = "f"
	}
	open := fsys.Create
	if p.inPlace {
		open = fsys.OpenRW
	}
	f, err := open(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(bytes.Repeat([]byte("new"), 4000), 0)
	if err == nil && !p.noSync {
		if err = f.Sync(); p.deaf {
			err = nil
		}
	}
	if err = errors.Join(err, f.Close()); err == nil && !p.inPlace {
		err = fsys.Rename(name, "f")
	}
	if err == nil && !p.noSyncDir {
		err = fsys.SyncDir(".")
	}
	return err
}

func saved(m *vfs.Mem) string {
	f, err := m.Open("f")
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	size, _ := f.Size()
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil {
		return err.Error()
	}
	for _, word := range []string{"old", "new"} {
		if bytes.Equal(b, bytes.Repeat([]byte(word), 4000)) {
			return word
		}
	}
	return "half"
}

func old(t *testing.T) *vfs.Mem {
	m := vfs.NewMem()
	f, err := m.Create("f")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte("old"), 4000), 0)
	if err := errors.Join(err, f.Sync(), f.Close(), m.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCuts: the correct program passes, and each bug is found.
func TestCuts(t *testing.T) {
	for _, c := range []struct {
		p   saver
		bad bool // expects a state that is neither old nor new
		end bool // expects that the last state is always new
	}{
		{saver{}, false, true},
		{saver{noSync: true}, true, false},
		{saver{noSyncDir: true}, false, false},
		{saver{inPlace: true}, true, true},
	} {
		start := old(t)
		s := &Scenario{Start: []*vfs.Mem{start}, Run: One(c.p.run), Torn: 20}
		bad, end, was := false, true, 0
		cuts := s.Cuts(t)
		for _, k := range cuts {
			got := saved(k.Mem[0])
			bad = bad || got != "old" && got != "new"
			if k.Last {
				end = end && got == "new"
			}
			if got == "old" {
				was++
			}
		}
		if bad != c.bad || end != c.end || was == 0 {
			t.Errorf("%+v: bad %v, at the end %v, old %d times", c.p, bad, end, was)
		}
		if got := saved(start); got != "old" {
			t.Errorf("the start is %s", got)
		}
		if ops := 5 - b(c.p.noSync) - b(c.p.noSyncDir) - 2*b(c.p.inPlace); len(cuts) != 21*(ops+1) {
			t.Errorf("%+v: %d states, want %d", c.p, len(cuts), 21*(ops+1))
		}
	}
}

func b(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestFaults: each operation fails once in each way. Fault.Err is the error of the operation unless the program ignores it.
func TestFaults(t *testing.T) {
	for _, p := range []saver{{}, {deaf: true}} {
		s := &Scenario{Start: []*vfs.Mem{old(t)}, Run: One(p.run)}
		var kinds []vfs.OpKind
		silent := 0
		for f := range s.Faults(t, Fails(errBoom), Short(errBoom), Dies(errBoom)) {
			if f.Way.Name == "error" {
				kinds = append(kinds, f.Op.Kind)
			}
			if f.Err == nil {
				silent++
			} else if !errors.Is(f.Err, f.Way.Err) || !errors.Is(f.Err, errBoom) {
				t.Errorf("%s: %v", f.When, f.Err)
			}
			switch got := saved(f.Mem[0]); {
			case got != "old" && got != "new":
				t.Errorf("%s: %s", f.When, got)
			case (got == "new") != (f.Op.Kind == vfs.OpSyncDir || f.Err == nil):
				t.Errorf("%s: %s, %v", f.When, got, f.Err)
			}
		}
		if want := []vfs.OpKind{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpClose, vfs.OpRename, vfs.OpSyncDir}; !slices.Equal(kinds, want) {
			t.Errorf("failed: %v, want %v", kinds, want)
		}
		if want := 2 * b(p.deaf); silent != want { // the way "end" also makes the close fail, and the program does not ignore this error
			t.Errorf("%+v: %d are silent, want %d", p, silent, want)
		}
	}
}

// TestWays: a short write does half of its bytes, and a dead program does no operation.
func TestWays(t *testing.T) {
	size := func(m *vfs.Mem) int64 {
		st, err := m.Stat("f.new")
		if err != nil {
			return -1
		}
		return st.Size()
	}
	s := &Scenario{Run: One(saver{}.run)}
	tried := 0
	for f := range s.Faults(t, ShortWrite(errBoom)) {
		if n := size(f.Mem[0]); n != 6000 || f.N != 2 || f.Of != 6 {
			t.Errorf("%s of %d: %d bytes", f.When, f.Of, n)
		}
		tried++
	}
	if tried != 1 {
		t.Errorf("%d short writes", tried)
	}
	s = &Scenario{Run: func(d *Disks) error {
		err := saver{}.run(d.FS[0])
		if err != nil {
			if e := d.FS[0].Remove("f.new"); !errors.Is(e, errBoom) {
				return fmt.Errorf("the dead remove files: %v", e)
			}
		}
		return err
	}, Only: func(op vfs.Op) bool { return op.Kind == vfs.OpWrite }}
	for f := range s.Faults(t, Dies(errBoom)) {
		if n := size(f.Mem[0]); n != 0 || !errors.Is(f.Err, errBoom) {
			t.Errorf("%s: %d bytes, %v", f.When, n, f.Err)
		}
	}
}

// TestSamples: the seed draws the sample. A sample has one of each Every consecutive operations and all operations that Always
// selects. The samples of all seeds together have all operations.
func TestSamples(t *testing.T) {
	run := One(func(fsys vfs.FS) error {
		for i := range 50 {
			if err := fsys.Mkdir(fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return errors.Join(fsys.SyncDir("."), fsys.Remove("0"))
	})
	ofCuts := func(s *Scenario) (l []string) {
		for _, c := range s.Cuts(t) {
			l = append(l, c.Op.String())
		}
		return l
	}
	ofFaults := func(s *Scenario) (l []string) {
		for f := range s.Faults(t, Fails(errBoom)) {
			l = append(l, f.Op.String())
		}
		return l
	}
	for name, of := range map[string]func(*Scenario) []string{"cuts": ofCuts, "faults": ofFaults} {
		seen := map[string]bool{}
		for seed := range int64(60) {
			s := &Scenario{Run: run, Every: 5, Seed: seed, Always: func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir }, Last: 1}
			l := of(s)
			if !slices.Equal(l, of(s)) {
				t.Errorf("%s: seed %d draws differently", name, seed)
			}
			if len(l) < 10 || len(l) > 14 {
				t.Errorf("%s: seed %d draws %d", name, seed, len(l))
			}
			if !slices.ContainsFunc(l, func(s string) bool { return s == "#51 syncdir ." }) {
				t.Errorf("%s: seed %d: %v", name, seed, l)
			}
			for _, op := range l {
				seen[op] = true
			}
		}
		if n := len(seen); n != 52 && n != 53 { // cuts include the end, too
			t.Errorf("%s: %d of 52", name, n)
		}
	}
}

// TestManyDisks: all disks lose power at one moment, and operations are counted over all disks. A mark shows the program's
// progress.
func TestManyDisks(t *testing.T) {
	step := int64(0)
	s := &Scenario{
		Start: []*vfs.Mem{vfs.NewMem(), vfs.NewMem()},
		Mark:  func() int64 { return step - 1 },
		Run: func(d *Disks) error {
			defer func() { step = 0 }()
			for i, fsys := range d.FS {
				if err := errors.Join(fsys.Mkdir("d"), fsys.SyncDir(".")); err != nil {
					return err
				}
				if _, err := d.Mem[i].Stat("d"); err != nil {
					return err
				}
				step++
			}
			return nil
		},
	}
	for _, c := range s.Cuts(t) {
		_, err0 := c.Mem[0].Stat("d")
		_, err1 := c.Mem[1].Stat("d")
		if len(c.Mem) != 2 || err0 != nil || !errors.Is(err1, fs.ErrNotExist) || c.Mark != 0 {
			t.Errorf("%s: %v, %v, mark %d", c.When, err0, err1, c.Mark)
		}
	}
	n := int64(0)
	for f := range s.Faults(t, Fails(errBoom)) {
		if n++; f.N != n {
			t.Errorf("%s", f.When)
		}
	}
	if n != 4 {
		t.Errorf("%d faults, want 4", n)
	}
}
