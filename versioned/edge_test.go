package versioned

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
)

// memStore returns a store in directory "d" of a file system in memory.
func memStore(t *testing.T) (*vfs.Mem, *Store) {
	t.Helper()
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("d"))
	return mem, &Store{Dir: "d", FS: mem}
}

// TestVersionNumbers: version numbers reach the end of int64 without wrapping around.
func TestVersionNumbers(t *testing.T) {
	mem, st := memStore(t)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Int8, Shape: []int64{5}}, nil)
		must(t, err)
		for i, step := range []int64{1 << 31, 1 << 31, math.MaxInt64 - 1<<32} {
			must(t, Put(ctx, a, []int64{0}, []int64{1}, []int8{int8(i + 1)}))
			if _, err := a.Inc(ctx, step, ""); err != nil {
				return fmt.Errorf("step %d: %w", step, err)
			}
		}
		if n, err := a.Inc(ctx, 1, ""); !errors.Is(err, fault.ErrUsage) {
			return fmt.Errorf("after the last number: %d, %v", n, err)
		}
		return a.Close(ctx)
	})
	sound(t, openOne(t, mem, "a"))
}

// TestLabels: a label is stored unchanged or refused.
func TestLabels(t *testing.T) {
	mem, st := memStore(t)
	const label = "line\nand \"quote\""
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Int8, Shape: []int64{5}}, nil)
		must(t, err)
		if _, err := a.Inc(ctx, 1, "\xff"); !errors.Is(err, fault.ErrUsage) {
			return fmt.Errorf("a label that is not UTF-8: %w", err)
		}
		if _, err = a.Inc(ctx, 1, label); err != nil {
			return err
		}
		return a.Close(ctx)
	})
	if all := openOne(t, mem, "a").Versions(); len(all) != 2 || all[0].Label != "" || all[1].Label != label {
		t.Errorf("%+v", all)
	}
}

// TestCheckAfterDrop: Check verifies a chunk even if the version that wrote the chunk was dropped.
func TestCheckAfterDrop(t *testing.T) {
	mem, st := memStore(t)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a := floats(ctx, t, c, st, 640, nil)
		must(t, Put(ctx, a, []int64{0}, []int64{640}, seq(1, 640, 1)))
		inc(ctx, t, a)
		must(t, Put(ctx, a, []int64{0}, []int64{1}, []float64{7}))
		inc(ctx, t, a)
		must(t, a.Drop(ctx, 1))
		return a.Close(ctx)
	})
	f, err := mem.OpenRW("d/a/" + dataName(1, 1, 0))
	must(t, err)
	b := []byte{0}
	size, _ := f.Size()
	for off := int64(0); off < size; off++ { // element 320, whose value is 321.0
		if _, err := f.ReadAt(b, off); err != nil {
			t.Fatal(err)
		}
		if off == 320*8+1 {
			b[0] ^= 1
			if _, err := f.WriteAt(b, off); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.Close()
	must(t, vfs.WriteFile(mem, "d/a/notes", []byte("mine")))
	v := openOne(t, mem, "a")
	all := ""
	for f := range v.Check(bg, nil) {
		all += f.String() + "\n"
	}
	for _, want := range []string{"version 2", "notes"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the findings:\n%s", want, all)
		}
	}
	for line := range strings.Lines(all) {
		if strings.Contains(line, "notes") && strings.Contains(line, "removes it") {
			t.Errorf("nobody removes that: %s", line)
		}
	}
}

// tableOf decodes a level from a table. It sets the right checksums. have is the size of the level's array in bytes.
func tableOf(l *LevelInfo, table []byte, have int64) (*LevelInfo, error) {
	b := append(l.header(crc32.Checksum(table, castagnoli)), table...)
	return readTable("amr.level0", have, func(lo, hi int64, dst []byte) error { copy(dst, b[lo:hi]); return nil })
}

// TestLevelTableRefused: a level table with impossible contents is refused, even with right checksums. Examples are boxes with
// more cells than numbers, an empty box with many rows, and offsets that do not match the boxes.
func TestLevelTableRefused(t *testing.T) {
	const all = math.MaxInt32
	for _, box := range []BoxInfo{{Lo: [3]int32{-all - 1, -all - 1, 0}, Hi: [3]int32{all, all, 0}}, // 2^64 cells
		{Lo: [3]int32{5, -1 << 31, -1 << 31}, Hi: [3]int32{4, all, all}}} {
		l := LevelInfo{Dim: 3, Comps: 1, Boxes: []BoxInfo{box}}
		l.layout()
		if got, err := tableOf(&l, l.table(), 1<<20); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	l := LevelInfo{Dim: 2, Comps: 1, Ratio: 2, Boxes: []BoxInfo{{Hi: [3]int32{1, 0, 0}}, {Hi: [3]int32{2, 0, 0}}}}
	l.layout()
	for i := -1; i < 3; i++ {
		table := l.table()
		if i >= 0 {
			table[2*boxLen+8*i] ^= 1
		}
		if _, err := tableOf(&l, table, l.used()); (err == nil) != (i < 0) || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("offset %d: %v", i, err)
		}
	}
}

// TestHugeRecord: a record that would need too much memory is refused.
func TestHugeRecord(t *testing.T) {
	base := func() *record {
		return &record{SealHead: records.Head(1), Order: "little",
			Spec:        spec{Name: "a", Type: "int8", Shape: []int64{maxElems}, Chunk: 512},
			Generations: []geometry{{ID: 1, Capacity: maxElems, Seg: maxElems, Segs: 1}},
			Versions:    []verInfo{{VersionInfo: VersionInfo{Generation: 1, Shape: []int64{maxElems}}}}}
	}
	for name, r := range map[string]*record{"a segment of 2^47 chunks": base(),
		"no version": func() *record {
			r := base()
			r.Spec.Shape, r.Versions = []int64{5}, nil
			r.Generations[0] = newGeometry(1, 5, 1, 512)
			return r
		}(),
		"a file that is the record": func() *record {
			r := base()
			r.Spec.Shape, r.Versions[0].Shape = []int64{5}, []int64{5}
			r.Generations[0] = newGeometry(1, 5, 1, 512)
			r.Files = []fileInfo{{Name: recordName, Gen: 1, Sum: strings.Repeat("0", 32)}}
			return r
		}()} {
		b, err := r.encode()
		must(t, err)
		if _, err := decodeRecord(b, "x"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mem, st := memStore(t)
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		if _, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Int8, Shape: []int64{1 << 55}, Chunk: 512, Extra: 1000}, nil); !errors.Is(err, fault.ErrUsage) {
			return fmt.Errorf("2^55 elements: %w", err)
		}
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: elem.Int8, Shape: []int64{5}, Chunk: 512}, nil)
		must(t, err)
		if _, err := a.Reserve(ctx, 1<<55); !errors.Is(err, fault.ErrUsage) {
			return fmt.Errorf("2^55 elements: %w", err)
		}
		inc(ctx, t, a)
		return a.Close(ctx)
	})
	if list, err := arrays.List("d", mem); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}
