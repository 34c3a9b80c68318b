package ffformat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// slotFile is one of the files that a Writer updates.
type slotFile struct {
	f    vfs.File
	prev *Digests
}

func newSlot(t rapid.TB, fsys vfs.FS, name string) *slotFile {
	f, err := fsys.Create(name)
	must(t, err)
	return &slotFile{f: f}
}

// holds fails the test unless the file is a sound checkpoint with exactly these variables.
func (s *slotFile) holds(t rapid.TB, want map[int32][]byte, id int32) *Reader {
	size, err := s.f.Size()
	must(t, err)
	for f := range Check(context.Background(), s.f, size, s.f.Name(), nil) {
		if f.Severity >= Error {
			t.Fatalf("%v", f)
		}
	}
	r, err := NewReader(s.f, size, s.f.Name(), nil)
	must(t, err)
	if l := r.File().Layout; l.table().fb.ckptID.len > 0 && r.File().FB.CkptID != id {
		t.Fatalf("checkpoint %d, want %d", r.File().FB.CkptID, id)
	}
	if s.prev != nil {
		must(t, s.prev.Match(r.File()))
	}
	for v, data := range want {
		got := make([]byte, len(data))
		for _, o := range []*Options{nil, {Digests: s.prev}} {
			clear(got)
			must(t, r.ReadVars(context.Background(), []VarBuf{{v, got}}, o))
			if !bytes.Equal(got, data) {
				t.Fatalf("variable %d differs", v)
			}
		}
	}
	for _, v := range r.File().Vars() {
		if len(want[v.ID]) != int(v.Size) {
			t.Fatalf("variable %d of %d bytes, want %d", v.ID, v.Size, len(want[v.ID]))
		}
	}
	return r
}

// TestUpdateHistories runs random histories of growing, shrinking, new and changing variables. The updates go to several files in
// turn. They are full or differential, write all variables at once or one by one, and use every layout and hash. After each
// update the file holds exactly the variables, and unchanged blocks were not written.
func TestUpdateHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		o := &Options{
			Layout: rapid.SampledFrom([]Layout{LayoutA, LayoutB, LayoutC0, LayoutC, LayoutD, LayoutE, LayoutF, LayoutF, LayoutF}).Draw(t, "layout"), BlockSize: 512,
			Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
		}
		if o.Layout == LayoutF && rapid.Bool().Draw(t, "fast") {
			o.Hash = Fast
		}
		w, err := NewWriter(o)
		must(t, err)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		fsys := vfs.NewMem()
		slots := []*slotFile{newSlot(t, fsys, "0"), newSlot(t, fsys, "1")}[:rapid.IntRange(1, 2).Draw(t, "slots")]
		data := map[int32][]byte{}
		var order []int32
		var recent *Digests
		for cp := int32(1); cp <= int32(rapid.IntRange(1, 9).Draw(t, "checkpoints")); cp++ {
			if len(order) == 0 || rng.IntN(3) == 0 {
				order = append(order, rng.Int32())
			}
			for _, id := range order {
				switch b := data[id]; rng.IntN(4) {
				case 0: // change the size
					n := rng.IntN(5000)
					c := make([]byte, n)
					copy(c, b)
					for i := len(b); i < n; i++ {
						c[i] = byte(rng.Uint32())
					}
					data[id] = c
				case 1: // some bytes
					for range rng.IntN(4) {
						if len(b) > 0 {
							b[rng.IntN(len(b))]++
						}
					}
				}
			}
			s := slots[int(cp)%len(slots)]
			full := rng.IntN(4) == 0
			uo := UpdateOptions{CkptID: cp, Timestamp: int64(cp), Prev: s.prev, Recent: recent, Differential: !full, Fresh: s.prev == nil && cp <= 2}
			if full {
				uo.Prev = nil
			}
			var bufs []VarBuf
			for _, id := range order {
				uo.Vars = append(uo.Vars, VarSize{id, int64(len(data[id]))})
				bufs = append(bufs, VarBuf{id, data[id]})
			}
			if rng.IntN(5) == 0 { // an aborted update has no effect
				u, err := w.Begin(newSlot(t, fsys, fmt.Sprint("x", cp)).f, UpdateOptions{Vars: []VarSize{{99, 700}, {order[0], 9000}}})
				must(t, err)
				must(t, u.Add(ctx, order[0], make([]byte, 9000)))
				if rng.IntN(2) == 0 {
					if _, err := u.Finish(ctx); !errors.Is(err, fault.ErrUsage) {
						t.Fatalf("%v, want fault.ErrUsage: a variable is missing", err)
					}
				}
				u.Abort()
			}
			u, err := w.Begin(s.f, uo)
			must(t, err)
			if rng.IntN(2) == 0 {
				err = u.AddAll(ctx, bufs)
			} else {
				rng.Shuffle(len(bufs), func(i, j int) { bufs[i], bufs[j] = bufs[j], bufs[i] })
				for _, b := range bufs {
					err = errors.Join(err, u.Add(ctx, b.ID, b.Data))
				}
			}
			must(t, err)
			res, err := u.Finish(ctx)
			must(t, err)
			s.prev = res.Digests
			recent = res.Digests
			r := s.holds(t, data, cp)
			if s.prev != nil {
				back := marshalled(t, s.prev)
				must(t, back.Match(r.File()))
				s.prev = back
			}
			if rng.IntN(4) == 0 { // a restart
				if w, err = NewWriter(o); err != nil {
					t.Fatal(err)
				}
				must(t, w.Resume(r.File()))
			}
		}
		// Update once more without changes. Only metadata are written.
		if s := slots[0]; s.prev != nil && len(slots) == 1 {
			uo := UpdateOptions{CkptID: 100, Timestamp: 100, Prev: s.prev, Recent: recent, Differential: true}
			var bufs []VarBuf
			for _, id := range order {
				uo.Vars = append(uo.Vars, VarSize{id, int64(len(data[id]))})
				bufs = append(bufs, VarBuf{id, data[id]})
			}
			res := update(t, w, s.f, uo, bufs)
			if res.Stats.Dirty != 0 || res.Stats.MD5 != 0 {
				t.Fatalf("nothing changed: %+v", res.Stats)
			}
			s.prev = nil
			s.holds(t, data, 100)
		}
	})
}

// TestUpdateDirtyRuns: only the changed blocks are written, and adjacent blocks are written together.
func TestUpdateDirtyRuns(t *testing.T) {
	for _, hash := range []Hash{MD5, Fast} {
		w, err := NewWriter(&Options{Hash: hash, BlockSize: 1000})
		must(t, err)
		mem := vfs.Count(vfs.NewMem())
		data := make([]byte, 10500) // 10 blocks and a half
		s := newSlot(t, mem, "f")
		write := func(prev *Digests) *Result {
			return update(t, w, s.f, UpdateOptions{CkptID: 1, Prev: prev}, []VarBuf{{7, data}})
		}
		first := write(nil)
		if first.Stats.Dirty != 11 || first.Stats.Written != first.File.Size {
			t.Errorf("first: %+v", first.Stats)
		}
		for _, at := range []int{0, 1999, 2000, 10499} {
			data[at]++
		}
		before := mem.Kind(vfs.OpWrite)
		res := write(first.Digests)
		// There is one write for blocks 0 to 2, one for the last block, and one for the metadata.
		if want := (Stats{Data: 10500, Written: 3000 + 500 + res.File.FB.MetaSize, Blocks: 11, Dirty: 4, MD5: first.Stats.MD5}); res.Stats != want || mem.Kind(vfs.OpWrite)-before != 3 {
			t.Errorf("%+v, want %+v in 3 writes", res.Stats, want)
		}
		s.prev = res.Digests
		s.holds(t, map[int32][]byte{7: data}, 1)
	}
}

// TestUpdateRecentSparesMD5: if a chunk equals its newest state in another file, it is written without being hashed again.
func TestUpdateRecentSparesMD5(t *testing.T) {
	w, err := NewWriter(&Options{BlockSize: 512})
	must(t, err)
	mem := vfs.NewMem()
	a, b := newSlot(t, mem, "a"), newSlot(t, mem, "b")
	vars := []VarBuf{{1, make([]byte, 5000)}, {2, make([]byte, 3000)}}
	var recent *Digests
	for i, s := range []*slotFile{a, b} {
		vars[1].Data[17]++
		res := update(t, w, s.f, UpdateOptions{CkptID: 1, Recent: recent, Fresh: true}, vars)
		if want := []int64{8000, 3000}[i]; res.Stats.MD5 != want {
			t.Errorf("file %d: MD5 of %d bytes, want %d", i, res.Stats.MD5, want)
		}
		recent = res.Digests
		s.prev = recent
		s.holds(t, map[int32][]byte{1: vars[0].Data, 2: vars[1].Data}, 1)
	}
}

func TestWriterRefuses(t *testing.T) {
	for _, o := range []Options{
		{Layout: 9}, {Hash: 2}, {Hash: Fast, Layout: LayoutC},
		{BlockSize: 100}, {BlockSize: 1 << 21}, {Workers: -1},
	} {
		if _, err := NewWriter(&o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v, want fault.ErrUsage", o, err)
		}
	}
	w, err := NewWriter(&Options{Layout: LayoutB})
	must(t, err)
	s := newSlot(t, vfs.NewMem(), "f")
	if _, err := w.Begin(s.f, UpdateOptions{}); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("layout B without sizes: %v", err)
	}
	u, err := w.Begin(s.f, UpdateOptions{Vars: []VarSize{{1, 10}}})
	must(t, err)
	if _, err := w.Begin(s.f, UpdateOptions{Vars: []VarSize{{1, 10}}}); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("two at once: %v", err)
	}
	if err := u.Add(context.Background(), 1, make([]byte, 9)); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("another size than Begin was told: %v", err)
	}
	if err := u.Add(context.Background(), 1, make([]byte, 10)); !errors.Is(err, fault.ErrBroken) {
		t.Errorf("after an error: %v", err)
	}
	if _, err := u.Finish(context.Background()); !errors.Is(err, fault.ErrBroken) {
		t.Errorf("after an error: %v", err)
	}
	for l := LayoutA; l <= LayoutF; l++ {
		if w, err = NewWriter(&Options{Layout: l}); err != nil {
			t.Fatal(err)
		}
		if u, err = w.Begin(s.f, UpdateOptions{Vars: []VarSize{{1, 10}}}); err != nil {
			t.Fatal(err)
		}
		must(t, u.Add(context.Background(), 1, make([]byte, 10)))
		if err := u.Add(context.Background(), 1, make([]byte, 10)); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("layout %v: a variable twice: %v", l, err)
		}
	}
}

// TestWriterLayoutEIsSmall: a size over 2 GiB is refused before the first write.
func TestWriterLayoutEIsSmall(t *testing.T) {
	w, err := NewWriter(&Options{Layout: LayoutE})
	must(t, err)
	c := vfs.Count(vfs.NewMem())
	f, err := c.Create("f")
	must(t, err)
	u, err := w.Begin(f, UpdateOptions{})
	must(t, err)
	big := make([]byte, 1<<28)
	var bufs []VarBuf
	for i := range int32(8) {
		bufs = append(bufs, VarBuf{i, big})
	}
	if err := u.AddAll(context.Background(), bufs); !errors.Is(err, fault.ErrRange) {
		t.Fatalf("%v, want fault.ErrRange", err)
	}
	if n := c.Kind(vfs.OpWrite); n != 0 {
		t.Errorf("%d writes", n)
	}
}
