package versioned

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
)

func boxes(rng *rand.Rand, n, ranks int) []BoxInfo {
	out := make([]BoxInfo, n)
	for i := range out {
		for d := range 2 {
			out[i].Lo[d] = int32(rng.Intn(100))
			out[i].Hi[d] = out[i].Lo[d] + int32(rng.Intn(9))
		}
		out[i].Owner = int32(rng.Intn(ranks))
	}
	return out
}

// value returns the value that cell k of a box has in a save.
func value(level, box, k int, save int64) float64 {
	return float64(level*1e6) + float64(box*1e3) + float64(k) + float64(save)/1024
}

func boxData(l *LevelInfo, box int, save int64) []float64 {
	out := make([]float64, l.Offsets[box+1]-l.Offsets[box])
	for k := range out {
		out[k] = value(l.Level, box, k, save)
	}
	return out
}

// native converts a level's bytes, which are always little-endian, to numbers of this machine. It changes got.
func native(got []float64) []float64 {
	if elem.HostBig {
		elem.Swap(bytesOf(got), bytesOf(got), 8)
	}
	return got
}

func own(h *Hierarchy, level int, save int64) map[int][]float64 {
	l := h.Info(level)
	m := map[int][]float64{}
	for i, b := range l.Boxes {
		if int(b.Owner) == h.c.Rank() {
			m[i] = boxData(&l, i, save)
		}
	}
	return m
}

func hierarchySpec(cadence ...int) HierarchySpec {
	return HierarchySpec{Name: "amr", Dim: 2, Comps: []string{"rho", "u"}, Subcycling: Subcycling{Levels: len(cadence), Ratio: 2}, Dx: 1,
		Config: Config{Cadence: cadence}, Chunk: 512}
}

// TestHierarchy checks tables, boxes, snapshots and reads in one history of saves, regrids and restores.
func TestHierarchy(t *testing.T) {
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("d"))
	count := vfs.Count(mem)
	st := &Store{Dir: "d", FS: count}
	old := map[int64][]BoxInfo{}
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		h, err := CreateHierarchy(ctx, c, st, hierarchySpec(1, 1), nil)
		must(t, err)
		rng := rand.New(rand.NewSource(1)) // the same numbers on all ranks
		for save := int64(1); save <= 4; save++ {
			for l := range 2 {
				if save%2 == 1 { // regrid before saves 1 and 3
					if _, err := h.Regrid(ctx, l, boxes(rng, 3+rng.Intn(9), c.Size())); err != nil {
						return err
					}
				}
				n, err := h.Save(ctx, l, float64(save), 0.5, save, own(h, l, save))
				if err != nil || n != save {
					return fmt.Errorf("%d, %v", n, err)
				}
				if c.Rank() == 0 && l == 0 {
					old[save] = h.Info(0).Boxes
				}
			}
			if save == 2 {
				if g, err := h.Snapshot(ctx); err != nil || g != 1 {
					return fmt.Errorf("snapshot %d, %v", g, err)
				}
			}
		}
		must(t, c.Barrier(ctx))
		// Each version has its own table, in which boxes and offsets agree. Without a regrid the table does not change.
		sums := map[int64]string{}
		for save := int64(1); save <= 4; save++ {
			tb, err := h.Table(ctx, 0, save)
			must(t, err)
			if !slices.Equal(tb.Boxes, old[save]) || tb.Time != float64(save) || tb.Epoch != (save+1)/2 {
				return fmt.Errorf("table of version %d: %+v", save, tb)
			}
			cells := int64(0)
			for i, b := range tb.Boxes {
				cells += b.Cells() * 2
				got := make([]float64, tb.Offsets[i+1]-tb.Offsets[i])
				if err := h.Box(ctx, 0, save, tb, i, got); err != nil || !slices.Equal(got, boxData(tb, i, save)) {
					return fmt.Errorf("version %d box %d: %v", save, i, err)
				}
			}
			if tb.Offsets[len(tb.Boxes)] != cells || !slices.IsSorted(tb.Offsets) {
				return fmt.Errorf("offsets %v for %d numbers", tb.Offsets, cells)
			}
			sums[save] = string(tb.table())
		}
		if sums[1] != sums[2] || sums[2] == sums[3] {
			return errors.New("the table changes at a regrid, and then only")
		}
		// The snapshot restores version 2 of the levels, although there are newer versions.
		must(t, h.RestoreSnapshot(ctx, 1))
		if h.Info(0).Time != 2 || h.Info(1).Time != 2 {
			return fmt.Errorf("restored times %v, %v", h.Info(0).Time, h.Info(1).Time)
		}
		// A10
		if _, err := h.Save(ctx, 0, 3, 0.5, 5, own(h, 0, 5)); err != nil {
			return err
		}
		if _, err := h.Snapshot(ctx); !errors.Is(err, ErrNotSynchronised) {
			return fmt.Errorf("snapshot of levels at 3 and 2: %w", err)
		}
		return h.Close(ctx)
	})
	// Open the last snapshot on another number of ranks.
	ranks(t, 5, func(ctx context.Context, c comm.Comm) error {
		h, err := OpenHierarchy(ctx, c, st, "amr", nil)
		must(t, err)
		if h.Info(1).Time != 2 || len(h.Snapshots()) != 1 {
			return fmt.Errorf("%+v", h.Info(1))
		}
		l := h.Info(1)
		for i := range l.Boxes {
			lo, hi := l.dataRange(i)
			got := make([]float64, (hi-lo)/8)
			err := h.levels[1].getBytes(ctx, []int64{lo}, []int64{hi}, bytesOf(got))
			if err != nil || !slices.Equal(native(got), boxData(&l, i, 2)) {
				return fmt.Errorf("box %d: %v", i, err)
			}
		}
		return h.Close(ctx)
	})
}

// TestPutBox: a level that is saved at once and a level whose boxes are put one by one give the same version. Put works only
// if every step of every level is saved.
func TestPutBox(t *testing.T) {
	var got [2][]byte
	for i, perBox := range []bool{false, true} {
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			s := hierarchySpec(1)
			s.Config.PerBox = perBox
			h, err := CreateHierarchy(ctx, c, nil, s, nil)
			must(t, err)
			if _, err := h.Regrid(ctx, 0, boxes(rand.New(rand.NewSource(3)), 7, 2)); err != nil {
				return err
			}
			data := own(h, 0, 1)
			if perBox {
				for b, d := range data {
					must(t, h.Put(ctx, 0, b, d))
				}
				data = nil
			} else if err := h.Put(ctx, 0, 0, nil); !errors.Is(err, errCadence) {
				return fmt.Errorf("box by box: %w", err)
			}
			if _, err := h.Save(ctx, 0, 1, 1, 1, data); err != nil {
				return err
			}
			if c.Rank() == 0 {
				n := elems(h.levels[0].state.shape)
				got[i] = make([]byte, n)
				return h.levels[0].getBytesAt(ctx, 1, []int64{0}, []int64{n}, got[i])
			}
			return nil
		})
	}
	if !slices.Equal(got[0], got[1]) || len(got[0]) < levelHeader {
		t.Error("different versions")
	}
	s := hierarchySpec(1, 2)
	s.Config.PerBox = true
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		if _, err := CreateHierarchy(ctx, c, nil, s, nil); !errors.Is(err, errCadence) {
			return fmt.Errorf("cadence 1,2: %w", err)
		}
		return nil
	})
}

func TestLevelHeaderRefuses(t *testing.T) {
	l := LevelInfo{Level: 1, Dim: 2, Comps: 1, Boxes: boxes(rand.New(rand.NewSource(1)), 5, 2)}
	l.layout()
	all := append(l.header(crc32.Checksum(l.table(), castagnoli)), l.table()...)
	have := l.used()
	for i := range len(all) * 8 {
		b := slices.Clone(all)
		b[i/8] ^= 1 << (i % 8)
		if i/8 >= 84 && i/8 < levelHeader {
			continue // bytes that no box uses are zeros
		}
		if _, err := readTable("x", have, func(lo, hi int64, dst []byte) error { copy(dst, b[lo:hi]); return nil }); err == nil {
			t.Fatalf("bit %d unnoticed", i)
		}
	}
}
