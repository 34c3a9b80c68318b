package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/vfs"
)

// flipMiddle flips a byte in the middle of a file.
func flipMiddle(t *testing.T, mem *vfs.Mem, name string) {
	t.Helper()
	f, err := mem.OpenRW(name)
	must(t, err)
	defer f.Close()
	size, err := f.Size()
	must(t, err)
	b := []byte{0}
	_, err = f.ReadAt(b, size/2)
	b[0] ^= 4
	if _, werr := f.WriteAt(b, size/2); err != nil || werr != nil {
		t.Fatal(err, werr)
	}
}

// TestNewestClean: NewestClean finds the newest clean version, with few tests if errors persist and bisect is true, and
// otherwise by a scan. It skips damaged versions, whichever rank finds the damage.
func TestNewestClean(t *testing.T) {
	const versions = 24
	mem, st := memStore(t)
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, taintSpec, nil)
		must(t, err)
		for n := int64(1); n <= versions; n++ {
			s := make([]float64, 640)
			for i := range s {
				s[i] = float64(n)
			}
			must(t, advanceTo(ctx, c, a, n, s))
		}
		return errors.Join(a.Taint(ctx, 23), a.Close(ctx))
	})
	list, err := mem.ReadDir("d/a")
	must(t, err)
	for _, n := range []int{11, 12, 20} { // each file is damaged in the part of another rank
		for _, e := range list {
			if strings.HasPrefix(e.Name(), fmt.Sprintf("g1-v%d-", n)) {
				flipMiddle(t, mem, "d/a/"+e.Name())
			}
		}
	}
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		a, err := Open(ctx, c, st, "a", nil)
		must(t, err)
		find := func(bisect bool, bad func(n int64) bool) (n int64, looks int, err error) {
			n, err = a.NewestClean(ctx, bisect, func(ctx context.Context, v int64) (bool, error) {
				looks++
				lo, hi := int64(c.Rank())*640/int64(c.Size()), int64(c.Rank()+1)*640/int64(c.Size())
				got := make([]float64, hi-lo)
				if err := GetAt(ctx, a, v, []int64{lo}, []int64{hi}, got); err != nil {
					return false, err
				}
				return got[0] == float64(v) && (c.Rank() != 1 || !bad(v)), nil // only one rank sees the error
			})
			return n, looks, err
		}
		for first := int64(1); first <= versions+1; first++ {
			want := first - 1
			if want == 23 {
				want = 22 // tainted
			}
			for want == 20 || want == 12 || want == 11 {
				want--
			}
			for _, bisect := range []bool{false, true} {
				n, looks, err := find(bisect, func(n int64) bool { return n >= first })
				if err != nil || n != want || bisect && looks > 8 {
					return fmt.Errorf("bad from %d on: version %d, want %d, by %d looks, bisect %v: %w", first, n, want, looks, bisect, err)
				}
			}
		}
		if n, looks, err := find(false, func(n int64) bool { return n != 24 && n != 7 && n != 0 }); n != 24 || looks != 1 || err != nil {
			return fmt.Errorf("scan: %d, %d looks, %w", n, looks, err)
		}
		if n, _, err := find(false, func(n int64) bool { return n != 7 && n != 0 }); n != 7 || err != nil {
			return fmt.Errorf("scan: %d, %w", n, err)
		}
		for _, bisect := range []bool{false, true} {
			if _, _, err := find(bisect, func(n int64) bool { return true }); !errors.Is(err, ErrNoVersion) {
				return fmt.Errorf("none is clean: %w", err)
			}
		}
		_, err = a.NewestClean(ctx, false, func(ctx context.Context, v int64) (bool, error) {
			if c.Rank() == 2 {
				return false, fs.ErrPermission
			}
			return true, nil
		})
		if !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("an error of one rank: %w", err)
		}
		return a.Close(ctx)
	})
}

func TestNewestCleanSnapshot(t *testing.T) {
	_, st := memStore(t)
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		h, err := CreateHierarchy(ctx, c, st, hierarchySpec(1), nil)
		must(t, err)
		if _, err := h.Regrid(ctx, 0, []BoxInfo{{Hi: [3]int32{3, 3, 0}}}); err != nil {
			return err
		}
		for n := int64(1); n <= 6; n++ {
			for range 2 { // make version numbers different from snapshot numbers
				if _, err := h.Save(ctx, 0, float64(n), 1, n, own(h, 0, n)); err != nil {
					return err
				}
			}
			if _, err := h.Snapshot(ctx); err != nil {
				return err
			}
		}
		must(t, h.Taint(ctx, -1, 5))
		n, err := h.NewestClean(ctx, true, func(ctx context.Context, s *Snapshot) (bool, error) {
			table, err := h.Table(ctx, 0, s.Versions[0])
			if err != nil {
				return false, err
			}
			d := make([]float64, table.Offsets[1])
			if err := h.Box(ctx, 0, s.Versions[0], table, 0, d); err != nil {
				return false, err
			}
			return d[0] == value(0, 0, 0, s.Snapshot) && s.Snapshot < 6, nil
		})
		if err != nil || n != 4 {
			return fmt.Errorf("snapshot %d, %w", n, err)
		}
		return errors.Join(h.RestoreSnapshot(ctx, n), h.Close(ctx))
	})
}
