package ffformat

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestUpdateFaults: the error of every operation is returned, and the Writer continues as if the update had never begun.
func TestUpdateFaults(t *testing.T) {
	ctx := context.Background()
	for l := LayoutA; l <= LayoutF; l++ {
		for n := int64(1); ; n++ {
			eio := errors.New("input/output error")
			w, err := NewWriter(&Options{Layout: l, BlockSize: 512, Workers: 1})
			must(t, err)
			mem := vfs.NewMem()
			s := newSlot(t, mem, "good")
			vars := []VarSize{{1, 3000}, {2, 0}, {3, 100}}
			bufs := []VarBuf{{1, make([]byte, 3000)}, {2, nil}, {3, make([]byte, 100)}}
			update := func(f vfs.File, id int32, bufs []VarBuf, vars []VarSize) (*Result, error) {
				u, err := w.Begin(f, UpdateOptions{CkptID: id, Vars: vars})
				if err != nil {
					return nil, err
				}
				defer u.Abort()
				if err := u.AddAll(ctx, bufs); err != nil {
					return nil, err
				}
				return u.Finish(ctx)
			}
			if _, err := update(s.f, 1, bufs, vars); err != nil {
				t.Fatal(err)
			}
			bad, err := mem.Create("bad")
			must(t, err)
			bad.Close()
			faulty := vfs.FailNth(mem, n+1, eio)
			if bad, err = faulty.OpenRW("bad"); err != nil {
				t.Fatal(err)
			}
			_, err = update(bad, 2, []VarBuf{{1, make([]byte, 6000)}, {2, make([]byte, 9)}, {3, nil}}, []VarSize{{1, 6000}, {2, 9}, {3, 0}})
			if err != nil && !errors.Is(err, eio) {
				t.Fatalf("layout %v, operation %d: %v", l, n, err)
			}
			failed := err != nil
			if failed {
				if _, err := update(s.f, 3, bufs, vars); err != nil {
					t.Fatal(err)
				}
				s.holds(t, map[int32][]byte{1: bufs[0].Data, 2: nil, 3: bufs[2].Data}, 3)
				size, _ := s.f.Size()
				if w, _ := w.FileSize(vars); l != LayoutB && size != w {
					t.Fatalf("layout %v: %d bytes, want %d", l, size, w)
				}
				continue
			}
			if n < 4 {
				t.Fatalf("layout %v: operation %d failed, and nobody saw it", l, n)
			}
			break
		}
	}
}

// TestShrinkToBlockMultiple: after a chunk shrinks to a whole number of blocks, its last block is still complete. (FTI fails
// here: defect 4.)
func TestShrinkToBlockMultiple(t *testing.T) {
	w, err := NewWriter(&Options{BlockSize: 512})
	must(t, err)
	s := newSlot(t, vfs.NewMem(), "f")
	data := bytes.Repeat([]byte{1}, 1300)
	for i, n := range []int{1300, 1024, 512, 1024, 1300} {
		for k := range data {
			data[k] += byte(i)
		}
		s.prev = update(t, w, s.f, UpdateOptions{CkptID: int32(i), Prev: s.prev, Differential: true}, []VarBuf{{1, data[:n]}}).Digests
		s.holds(t, map[int32][]byte{1: data[:n]}, int32(i))
	}
}

// TestUndo: after Undo, the next update makes the same file as if the reverted update had not been made, although the reverted
// update has extended the file. Digests of another state do not match.
func TestUndo(t *testing.T) {
	for _, l := range []Layout{LayoutA, LayoutE, LayoutF} {
		w, err := NewWriter(&Options{Layout: l})
		must(t, err)
		dst, bytesOf := created(t)
		write := func(id int32, prev *Digests, n int) *Result {
			t.Helper()
			return update(t, w, dst, UpdateOptions{CkptID: id, Timestamp: 42, Prev: prev, Vars: []VarSize{{1, int64(n)}}}, []VarBuf{{1, bytes.Repeat([]byte{7}, n)}})
		}
		first := write(1, nil, 1000)
		want := bytesOf()
		second := write(2, first.Digests, 5000)
		if err := first.Digests.Match(second.File); !errors.Is(err, ErrChecksum) {
			t.Errorf("%v: digests of another state: %v", l, err)
		}
		w.Undo()
		third := write(1, nil, 1000)
		if got := bytesOf(); !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes, want the %d of the first time", l, len(got), len(want))
		}
		if err := first.Digests.Match(third.File); err != nil {
			t.Errorf("%v: %v", l, err)
		}
	}
}

// TestUpdateLeavesNothing: however an update ends, no hashing goroutine remains.
func TestUpdateLeavesNothing(t *testing.T) { crashtest.Bubble(t, testUpdateLeavesNothing) }

func testUpdateLeavesNothing(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var vars []VarBuf
	for i := range int32(8) {
		vars = append(vars, VarBuf{i, make([]byte, 1<<20)}) // enough data for the use of lanes
	}
	for i := range 30 {
		w, err := NewWriter(nil)
		must(t, err)
		dst, _ := created(t)
		u, err := w.Begin(dst, UpdateOptions{CkptID: 1, Fresh: true})
		must(t, err)
		ctx := t.Context()
		if i%3 == 1 {
			ctx = ended
		}
		if err := u.AddAll(ctx, vars); (err != nil) != (i%3 == 1) {
			t.Fatal(err)
		}
		if i%3 == 2 {
			u.Abort()
		} else if _, err := u.Finish(ctx); (err != nil) != (i%3 == 1) {
			t.Fatal(err)
		}
	}
}
