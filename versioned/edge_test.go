package versioned

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// memStore is a directory "d" of a file system in memory.
func memStore(t *testing.T) (*vfs.Mem, *Store) {
	t.Helper()
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("d"))
	return mem, &Store{Dir: "d", FS: mem}
}

// Numbers of versions are those of int64, and do not wrap around.
func TestVersionNumbers(t *testing.T) {
	mem, st := memStore(t)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: Int8, Shape: []int64{5}}, nil)
		must(t, err)
		for i, step := range []int64{1 << 31, 1 << 31, math.MaxInt64 - 1<<32} {
			must(t, Put(ctx, a, []int64{0}, []int64{1}, []int8{int8(i + 1)}))
			if _, err := a.Inc(ctx, step, ""); err != nil {
				return fmt.Errorf("step %d: %w", step, err)
			}
		}
		if n, err := a.Inc(ctx, 1, ""); !errors.Is(err, ErrUsage) {
			return fmt.Errorf("after the last number: %d, %v", n, err)
		}
		return a.Close(ctx)
	})
	v, err := OpenView("d/a", &ViewOptions{FS: mem})
	must(t, err)
	defer v.Close()
	for f := range v.Check(bg, nil) {
		t.Error(f)
	}
}

// A label is kept as it is, or refused.
func TestLabels(t *testing.T) {
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Int8, Shape: []int64{5}}, nil)
		must(t, err)
		if _, err := a.Inc(ctx, 1, "\xff"); !errors.Is(err, ErrUsage) {
			return fmt.Errorf("a label that is not UTF-8: %w", err)
		}
		_, err = a.Inc(ctx, 1, "line\nand \"quote\"")
		return err
	})
	mem, st := memStore(t)
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: Int8, Shape: []int64{5}}, nil)
		must(t, err)
		if _, err = a.Inc(ctx, 1, "line\nand \"quote\""); err != nil {
			return err
		}
		return a.Close(ctx)
	})
	v, err := OpenView("d/a", &ViewOptions{FS: mem})
	must(t, err)
	defer v.Close()
	if all := v.Versions(); len(all) != 2 || all[0].Label != "" || all[1].Label != "line\nand \"quote\"" {
		t.Errorf("%+v", all)
	}
}

// A chunk is looked at also when the version that wrote it was dropped.
func TestCheckAfterDrop(t *testing.T) {
	mem, st := memStore(t)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: Float64, Shape: []int64{640}, Chunk: 512}, nil)
		must(t, err)
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
	for off := int64(0); off < size; off++ { // element 320: 321.0
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
	v, err := OpenView("d/a", &ViewOptions{FS: mem})
	must(t, err)
	defer v.Close()
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

// A level table whose boxes have more cells than there are numbers.
func TestHugeBoxes(t *testing.T) {
	const all = math.MaxInt32
	l := LevelInfo{Dim: 3, Comps: 1, Boxes: []BoxInfo{{Lo: [3]int32{-all - 1, -all - 1, 0}, Hi: [3]int32{all, all, 0}}}}
	l.layout() // 2^64 cells
	b := append(l.header(crc32.Checksum(l.table(), castagnoli)), l.table()...)
	got, err := readTable("x", 1<<20, func(lo, hi int64, dst []byte) error { copy(dst, b[lo:hi]); return nil })
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A record that a reader would need all memory for.
func TestHugeRecord(t *testing.T) {
	base := func() *record {
		return &record{SealHead: records.Head(1), Order: "little",
			Spec:        spec{Name: "a", Type: "int8", Shape: []int64{maxElems}, Chunk: 512},
			Generations: []geometry{{ID: 1, Capacity: maxElems, Seg: maxElems, Segs: 1}},
			Versions:    []verInfo{{Gen: 1, Shape: []int64{maxElems}}}}
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
		if _, err := Create(ctx, c, st, Spec{Name: "a", Type: Int8, Shape: []int64{1 << 55}, Chunk: 512, Extra: 1000}, nil); !errors.Is(err, ErrUsage) {
			return fmt.Errorf("2^55 elements: %w", err)
		}
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Int8, Shape: []int64{5}, Chunk: 512}, nil)
		must(t, err)
		if _, err := a.Reserve(ctx, 1<<55); !errors.Is(err, ErrUsage) {
			return fmt.Errorf("2^55 elements: %w", err)
		}
		inc(ctx, t, a)
		return a.Close(ctx)
	})
	if list, err := List("d", mem); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// A1: offsets that are not those of the boxes are refused, even with the right sums.
func TestOffsetsFitBoxes(t *testing.T) {
	l := LevelInfo{Dim: 2, Comps: 1, Ratio: 2, Boxes: []BoxInfo{{Hi: [3]int32{1, 0, 0}}, {Hi: [3]int32{2, 0, 0}}}}
	l.layout()
	good := l.table()
	for i := -1; i < 3; i++ {
		table := slices.Clone(good)
		if i >= 0 {
			table[2*boxLen+8*i] ^= 1
		}
		b := append(l.header(crc32.Checksum(table, castagnoli)), table...)
		b = append(b, make([]byte, l.used()-int64(len(b)))...)
		_, err := readTable("amr.level0", int64(len(b)), func(lo, hi int64, dst []byte) error { copy(dst, b[lo:hi]); return nil })
		if (err == nil) != (i < 0) || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("offset %d: %v", i, err)
		}
	}
}
