package kvtree_test

import (
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

// TestRemovedInside checks that the packed form of a node contains nothing of removed keys.
func TestRemovedInside(t *testing.T) {
	for _, n := range []int{3, 40} {
		tree, want := kvtree.New(), kvtree.New()
		for i := range n {
			tree.Value("k" + strconv.Itoa(i)).SetInt(i)
			if i != 1 {
				want.Value("k" + strconv.Itoa(i)).SetInt(i)
			}
		}
		tree.Unset("k1")
		b, err := kvtree.Pack(tree)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := kvtree.Unpack(b, nil); err != nil || !back.Equal(want) {
			t.Errorf("%d keys: %v", n, err)
		}
	}
}

// TestCloneIsApart checks that changing a clone does not change the original, at any depth.
func TestCloneIsApart(t *testing.T) {
	a := kvtree.New()
	a.SetAt(counter(1), "x", "y")
	b := a.Clone()
	b.At("x", "y").Value("N").SetInt(2)
	b.At("x").Unset("y")
	if !a.At("x", "y").Equal(counter(1)) {
		t.Error("the original has changed")
	}
}

func TestKeyWithNUL(t *testing.T) {
	for _, key := range []string{"\x00", "\x00a", "a\x00", "a\x00b"} {
		tree := kvtree.New()
		tree.Set(key, nil)
		if _, err := kvtree.Encode(tree); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// TestElementsOfAllNodes checks that MaxElements limits the elements of all nodes together, and the cost of merging
// duplicate keys.
func TestElementsOfAllNodes(t *testing.T) {
	tree := kvtree.New()
	for i := range 3 {
		for k := range 3 {
			tree.SetKVInt(strconv.Itoa(i), k)
		}
	}
	b, err := kvtree.Pack(tree)
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]error{11: kvtree.ErrTooLarge, 12: nil} {
		if _, err := kvtree.Unpack(b, &kvtree.Options{MaxElements: most}); !errors.Is(err, want) {
			t.Errorf("12 elements, limit %d: %v", most, err)
		}
	}
	node := func(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }
	b = node(nil, 10) // ten times the key K; the first K has ten elements, and merging each other K moves them
	for i := range 10 {
		b = append(b, "K\x00"...)
		if i > 0 {
			b = node(b, 0)
			continue
		}
		b = node(b, 10)
		for k := range 10 {
			b = node(append(b, strconv.Itoa(k)+"\x00"...), 0)
		}
	}
	if _, err := kvtree.Unpack(b, &kvtree.Options{MaxElements: 30}); !errors.Is(err, kvtree.ErrTooLarge) {
		t.Errorf("90 elements moved, limit 30: %v", err)
	}
	got, err := kvtree.Unpack(b, nil)
	if err != nil || got.Len() != 1 || got.Get("K").Len() != 10 {
		t.Errorf("a key given again without elements: %v %v", got.Get("K").Keys(), err)
	}
}

// twoFaced returns other bytes from the second read on.
type twoFaced struct {
	first, later []byte
	reads        int
}

func (f *twoFaced) ReadAt(b []byte, off int64) (int, error) {
	from := f.later
	if f.reads++; f.reads == 1 {
		from = f.first
	}
	return strings.NewReader(string(from)).ReadAt(b, off)
}

// TestChangedWhileRead checks that a record whose header changes between two reads is rejected.
func TestChangedWhileRead(t *testing.T) {
	first, err := kvtree.Encode(counter(1))
	if err != nil {
		t.Fatal(err)
	}
	later := append([]byte(nil), first...)
	later[19] = 0 // the flags say that there is no CRC
	r := &twoFaced{first: first, later: later}
	if _, err := kvtree.ReadRecord(r, 0, int64(len(first)), nil); !errors.Is(err, kvtree.ErrCorrupt) {
		t.Errorf("%v, want %v", err, kvtree.ErrCorrupt)
	}
}

// TestFailedWriteLeavesNothing checks that a failed WriteFile leaves no temporary file.
func TestFailedWriteLeavesNothing(t *testing.T) {
	boom := errors.New("boom")
	mem := vfs.NewMem()
	if err := kvtree.WriteFile(vfs.NewFault(mem, vfs.FailOn(vfs.OpRename, "", 1, boom)), "f", counter(1)); !errors.Is(err, boom) {
		t.Error(err)
	}
	if list, err := mem.ReadDir("."); err != nil || len(list) != 0 {
		t.Errorf("%v are left, %v", list, err)
	}
}

// toldOpen signals that a file was opened for writing.
type toldOpen struct {
	vfs.FS
	opened chan struct{}
}

func (f *toldOpen) OpenRW(name string) (vfs.File, error) {
	g, err := f.FS.OpenRW(name)
	select {
	case f.opened <- struct{}{}:
	default:
	}
	return g, err
}

// TestUpdateOfReplacedFile replaces a file while an Update waits for its lock. The Update must change the new file.
func TestUpdateOfReplacedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	ctx := context.Background()
	name := filepath.Join(t.TempDir(), "f")
	if err := kvtree.WriteFile(nil, name, counter(1)); err != nil {
		t.Fatal(err)
	}
	fsys := &toldOpen{vfs.OS, make(chan struct{}, 1)}
	done := make(chan error, 1)
	stop := errors.New("no change")
	err := kvtree.Update(ctx, nil, name, nil, func(*kvtree.Tree) error {
		go func() {
			done <- kvtree.Update(ctx, fsys, name, nil, func(t *kvtree.Tree) error {
				n, err := t.Value("N").Int()
				t.Value("N").SetInt(n + 1)
				return err
			})
		}()
		<-fsys.opened // Update has opened the old file
		return errors.Join(stop, kvtree.WriteFile(nil, name, counter(100)))
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	tree, err := kvtree.ReadFile(nil, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := tree.Value("N").Int(); err != nil || n != 101 {
		t.Errorf("N is %d, want 101: %v", n, err)
	}
}
