package versioned

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// HierarchySpec describes the levels of an AMR run.
type HierarchySpec struct {
	Name       string // name of the hierarchy; its arrays are Name.level0, ..., and Name.global
	Dim        int    // 1 to 3
	Comps      []string
	Subcycling Subcycling
	Dx         float64 // cell size of level 0
	Domain     BoxInfo // domain of level 0
	Periodic   [3]bool
	Config     Config // cadence, allocation, and other settings
	Chunk      int    // chunk size of the arrays; default 64 KiB
	// Keep is the retention of the levels' versions. The versions that a snapshot uses are kept as long as the snapshot.
	Keep Retention
	// Snapshots is the retention of the snapshots. The zero value means Keep.
	Snapshots Retention
}

// Hierarchy keeps the levels of an AMR run. Each level is an array with its own versions. Another array holds the global
// metadata: for each snapshot, the versions of the levels. All methods except Box, Put and Info are collective.
type Hierarchy struct {
	c      comm.Comm
	spec   HierarchySpec
	levels []*Array
	global snapshots
	now    []LevelInfo // tables of the current state, by level
	sums   []uint32    // checksums of these tables
	saved  []mark      // for each level, the version to which its state was last saved or restored
}

// snapshots is the array with the global metadata. It has one version for each snapshot. named and the following fields hold the
// content of the snapshots that was read.
type snapshots struct {
	*Array
	named map[int64][]int64 // for each snapshot, the versions of the levels
	times map[int64]float64
}

// mark is a version of a level and the number of the regrid that made its boxes.
type mark struct{ version, epoch int64 }

// lay computes the offsets of a level's new boxes and returns the level's table.
func (h *Hierarchy) lay(level int) []byte {
	h.now[level].layout()
	t := h.now[level].table()
	h.sums[level] = crc32.Checksum(t, castagnoli)
	return t
}

func (s *HierarchySpec) array(name string, bytes int64, extra float64) Spec {
	return Spec{Name: name, Type: elem.Uint8, Shape: []int64{bytes}, Chunk: s.Chunk, Extra: extra,
		EveryRegrid: s.Config.EveryRegrid, Keep: s.Keep}
}

// Spec returns the HierarchySpec passed to CreateHierarchy.
func (h *Hierarchy) Spec() HierarchySpec { return h.spec }

// Array returns the array of a level.
func (h *Hierarchy) Array(level int) *Array { return h.levels[level] }

// Info returns the table of a level's current state. The caller must not change it.
func (h *Hierarchy) Info(level int) LevelInfo { return h.now[level] }

// Version returns the version to which a level's current state was last saved or restored.
func (h *Hierarchy) Version(level int) int64 { return h.saved[level].version }

// SnapshotTime returns the time of a snapshot, or false if the snapshot is absent or damaged.
func (h *Hierarchy) SnapshotTime(snapshot int64) (time float64, ok bool) {
	time, ok = h.global.times[snapshot]
	return time, ok
}

// Current reads a box of a level's current state. Any rank may own the box. Current is not collective.
func (h *Hierarchy) Current(ctx context.Context, level, box int, dst []float64) error {
	if err := h.has(level); err != nil {
		return err
	}
	return h.now[level].read(box, dst, func(lo, hi int64, b []byte) error {
		return h.levels[level].getBytes(ctx, []int64{lo}, []int64{hi}, b)
	})
}

// Regrid replaces the boxes of a level. After that the caller must put their data. If the boxes do not fit, Regrid reallocates
// the array of the level. All ranks must pass the same boxes.
func (h *Hierarchy) Regrid(ctx context.Context, level int, boxes []BoxInfo) (again bool, err error) {
	bad := h.has(level)
	if bad == nil && len(boxes) > maxBoxes {
		bad = fault.Usage("level %d: %d boxes, want at most %d", level, len(boxes), maxBoxes)
	}
	for i := range boxes {
		if bad == nil && (boxes[i].Cells() <= 0 || boxes[i].Owner < 0 || int(boxes[i].Owner) >= h.c.Size()) {
			bad = fault.Usage("level %d: box %d: %+v is empty or has an owner that is not one of the %d ranks", level, i, boxes[i], h.c.Size())
		}
	}
	if bad == nil {
		next := LevelInfo{Comps: len(h.spec.Comps), Boxes: boxes}
		if i := next.overfull(maxElems / 16); i >= 0 {
			bad = fault.Usage("level %d: box %d: %+v is too large", level, i, boxes[i])
		}
	}
	if err := comm.Agree(ctx, h.c, bad); err != nil {
		return false, err
	}
	l := &h.now[level]
	was, sum := *l, h.sums[level]
	l.Boxes = slices.Clone(boxes)
	l.Epoch++
	table := h.lay(level)
	if again, err = h.levels[level].Reserve(ctx, l.used()); err != nil {
		*l, h.sums[level] = was, sum // the array has not changed
		return again, err
	}
	if h.c.Rank() == 0 {
		err = h.levels[level].putBytes(ctx, []int64{levelHeader}, []int64{tableBytes(len(boxes))}, table)
	}
	return again, comm.Agree(ctx, h.c, err)
}

// Put stores the data of one box for the next Save: one component after the other, x fastest. If the average of finer levels
// changes a box after its Put, the caller must put the box again. Put is not collective. It returns errCadence unless every level
// is saved at every step and Config.PerBox is set. Otherwise pass the data to Save.
func (h *Hierarchy) Put(ctx context.Context, level, box int, data []float64) error {
	if !h.spec.Config.Cadence.EveryStep() || !h.spec.Config.PerBox {
		return fmt.Errorf("hierarchy %s: %w", h.spec.Name, errCadence)
	}
	return h.put(ctx, level, box, data)
}

func (h *Hierarchy) put(ctx context.Context, level, box int, data []float64) error {
	if err := h.has(level); err != nil {
		return err
	}
	lo, hi, err := h.now[level].boxRange(box, len(data))
	if err != nil {
		return err
	}
	b := bytesOf(data)
	if elem.HostBig { // the array is little-endian
		b = slices.Clone(b)
		elem.Swap(b, b, 8)
	}
	return h.levels[level].putBytes(ctx, []int64{lo}, []int64{hi}, b)
}

// Save commits a level at the beginning of the level's step, after the values of finer levels were averaged to it and after a
// regrid. When the cadence requires a save of a level, the program must call Save for this level and for all finer levels, which
// are at the same time. own has the data of this rank's boxes, by box. It is nil if the caller has put all boxes one by one.
func (h *Hierarchy) Save(ctx context.Context, level int, time, dt float64, step int64, own map[int][]float64) (int64, error) {
	if err := h.has(level); err != nil { // all ranks take this branch
		return 0, comm.Agree(ctx, h.c, err)
	}
	var bad error
	for box, data := range own {
		if err := h.put(ctx, level, box, data); err != nil && bad == nil {
			bad = err
		}
	}
	l := &h.now[level]
	was := *l
	l.Time, l.Dt, l.Step = time, dt, step
	if h.c.Rank() == 0 && bad == nil {
		bad = h.levels[level].putBytes(ctx, []int64{0}, []int64{levelHeader}, l.header(h.sums[level]))
	}
	n, err := h.levels[level].inc(ctx, 1, "step "+strconv.FormatInt(step, 10), bad)
	if err != nil {
		*l = was
		return n, err
	}
	h.saved[level] = mark{n, l.Epoch}
	return n, nil
}

func (h *Hierarchy) has(level int) error {
	if level < 0 || level >= len(h.levels) {
		return fault.Usage("hierarchy %s: level %d, want a level below %d", h.spec.Name, level, len(h.levels))
	}
	return nil
}

// Table reads the table of a level in a version.
func (h *Hierarchy) Table(ctx context.Context, level int, version int64) (*LevelInfo, error) {
	if err := h.has(level); err != nil {
		return nil, err
	}
	a := h.levels[level]
	v, err := a.cat.record().find(version)
	if err != nil {
		return nil, err
	}
	return readTable(a.spec.Name, v.Shape[0], func(lo, hi int64, dst []byte) error {
		return a.getBytesAt(ctx, version, []int64{lo}, []int64{hi}, dst)
	})
}

func readTable(name string, have int64, get func(lo, hi int64, dst []byte) error) (*LevelInfo, error) {
	if have < levelHeader {
		return nil, fault.At(name, have, "header", fault.ErrTruncated, "%d bytes, want %d", have, levelHeader)
	}
	b := make([]byte, levelHeader)
	if err := get(0, levelHeader, b); err != nil {
		return nil, err
	}
	l, boxes, sum, err := decodeLevelHeader(b, name, have)
	if err != nil {
		return nil, err
	}
	t := make([]byte, tableBytes(boxes)-levelHeader)
	if err := get(levelHeader, tableBytes(boxes), t); err != nil {
		return nil, err
	}
	return l, l.decodeTable(t, name, boxes, sum, have)
}

// Box reads one box of a level in a version. table is a result of Table, so Box need not read the table again.
func (h *Hierarchy) Box(ctx context.Context, level int, version int64, table *LevelInfo, box int, dst []float64) error {
	if err := h.has(level); err != nil {
		return err
	}
	return table.read(box, dst, func(lo, hi int64, b []byte) error {
		return h.levels[level].getBytesAt(ctx, version, []int64{lo}, []int64{hi}, b)
	})
}

// RestoreLevel makes a version of a level the current state of the level, including the boxes.
func (h *Hierarchy) RestoreLevel(ctx context.Context, level int, version int64) error {
	if err := h.has(level); err != nil { // all ranks take this branch
		return comm.Agree(ctx, h.c, err)
	}
	if err := h.levels[level].Restore(ctx, version); err != nil {
		return err
	}
	v, _ := h.levels[level].cat.record().version(version)
	if v.Shape[0] < levelHeader || version == 0 {
		h.now[level].Boxes = nil // a version older than the first save has no boxes
		h.lay(level)
		h.saved[level] = mark{version, h.now[level].Epoch}
		return nil
	}
	a := h.levels[level] // the state of the array now is the version, and it was verified
	t, err := readTable(a.spec.Name, v.Shape[0], func(lo, hi int64, dst []byte) error {
		return a.getBytes(ctx, []int64{lo}, []int64{hi}, dst)
	})
	if err := comm.Agree(ctx, h.c, err); err != nil {
		return err
	}
	h.now[level] = *t
	h.lay(level)
	h.saved[level] = mark{version, t.Epoch}
	return nil
}
