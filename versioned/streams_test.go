package versioned

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// V8: each array has its own versions.
func TestStreams(t *testing.T) {
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Int64, Shape: []int64{10}, Chunk: 512}, nil)
		if err != nil {
			return err
		}
		b, err := Create(ctx, c, nil, Spec{Name: "b", Type: Int64, Shape: []int64{10}, Chunk: 512}, nil)
		if err != nil {
			return err
		}
		for step := int64(1); step <= 6; step++ {
			if c.Rank() == 0 {
				for _, x := range []*Array{a, b} {
					if err := Put(ctx, x, []int64{0}, []int64{1}, []int64{step}); err != nil {
						return err
					}
				}
			}
			if _, err := a.Inc(ctx, 1, ""); err != nil {
				return err
			}
			if step%3 == 0 {
				if _, err := b.Inc(ctx, 1, ""); err != nil {
					return err
				}
			}
		}
		if a.Newest() != 6 || b.Newest() != 2 {
			return fmt.Errorf("%d, %d", a.Newest(), b.Newest())
		}
		for v := int64(1); v <= 5; v++ {
			if err := a.Drop(ctx, v); err != nil {
				return err
			}
		}
		if err := a.Drop(ctx, 6); !errors.Is(err, ErrUsage) {
			return fmt.Errorf("the newest: %w", err)
		}
		got := []int64{0}
		if err := GetAt(ctx, b, 1, []int64{0}, []int64{1}, got); err != nil || got[0] != 3 {
			return fmt.Errorf("%v, %v", got, err)
		}
		if err := GetAt(ctx, a, 6, []int64{0}, []int64{1}, got); err != nil || got[0] != 6 {
			return fmt.Errorf("%v, %v", got, err)
		}
		if err := GetAt(ctx, a, 5, []int64{0}, []int64{1}, got); !errors.Is(err, ErrNoVersion) {
			return err
		}
		return nil
	})
}

// V11: what a node had is read from the copy on the next one.
func TestCopies(t *testing.T) {
	disks := []*vfs.Mem{vfs.NewMem(), vfs.NewMem(), vfs.NewMem()}
	ranks(t, 6, func(ctx context.Context, c comm.Comm) error {
		fsys := disks[c.Rank()/2]
		if err := fsys.MkdirAll("d"); err != nil {
			return err
		}
		st := &Store{Dir: "d", FS: fsys, Private: true, Copies: 1}
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: Float64, Shape: []int64{6000}, Chunk: 512}, nil)
		if err != nil {
			return err
		}
		if c.Rank() == 3 {
			if err := Put(ctx, a, []int64{0}, []int64{6000}, seq(0, 6000, 1)); err != nil {
				return err
			}
		}
		if _, err := a.Inc(ctx, 1, ""); err != nil {
			return err
		}
		if c.Rank() == 2 { // node 1 loses its files in the middle of the run
			list, err := fsys.ReadDir("d/a")
			if err != nil {
				return err
			}
			for _, e := range list {
				if isData(e.Name()) {
					if err := fsys.Remove("d/a/" + e.Name()); err != nil {
						return err
					}
				}
			}
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		got := make([]float64, 6000)
		if err := GetAt(ctx, a, 1, []int64{0}, []int64{6000}, got); err != nil || !slices.Equal(got, seq(0, 6000, 1)) {
			return fmt.Errorf("version 1 without the files of node 1: %v", err)
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		return a.Close(ctx)
	})
	disks[1] = vfs.NewMem() // node 1 is lost, with all that it had
	ranks(t, 6, func(ctx context.Context, c comm.Comm) error {
		fsys := disks[c.Rank()/2]
		if err := fsys.MkdirAll("d"); err != nil {
			return err
		}
		a, err := Open(ctx, c, &Store{Dir: "d", FS: fsys, Private: true, Copies: 1}, "a", nil)
		if err != nil {
			return err
		}
		got := make([]float64, 6000)
		if err := Get(ctx, a, []int64{0}, []int64{6000}, got); err != nil || !slices.Equal(got, seq(0, 6000, 1)) {
			return fmt.Errorf("current state: %v", err)
		}
		if err := GetAt(ctx, a, 1, []int64{0}, []int64{6000}, got); err != nil || !slices.Equal(got, seq(0, 6000, 1)) {
			return fmt.Errorf("version 1: %v", err)
		}
		if n, err := a.Inc(ctx, 1, ""); err != nil || n != 2 {
			return fmt.Errorf("%d, %v", n, err)
		}
		return a.Close(ctx)
	})
}

// V13: what may stay, and how much room it takes.
func TestRetention(t *testing.T) {
	const elems, keep = 4096, 3
	mem := vfs.NewMem()
	if err := mem.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, &Store{Dir: "d", FS: mem}, Spec{Name: "a", Type: Float64, Shape: []int64{elems}, Chunk: 512, Keep: Retention{Last: keep, Every: 10}}, nil)
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewSource(1))
		state := map[int64][]float64{}
		now := make([]float64, elems)
		for v := int64(1); v <= 60; v++ {
			for range 20 {
				k := rng.Intn(elems - 64)
				for i := range 64 {
					now[k+i] = float64(v*1000 + int64(i))
				}
			}
			state[v] = slices.Clone(now)
			if c.Rank() == 0 {
				if err := Put(ctx, a, []int64{0}, []int64{elems}, now); err != nil {
					return err
				}
			}
			if _, err := a.Inc(ctx, 1, ""); err != nil {
				return err
			}
			var want []int64
			for u := range v + 1 {
				if u%10 == 0 || u > v-keep {
					want = append(want, u)
				}
			}
			var have []int64
			for _, x := range a.Versions() {
				have = append(have, x.Number)
			}
			if !slices.Equal(have, want) {
				return fmt.Errorf("after %d there are %v, want %v", v, have, want)
			}
			got := make([]float64, elems)
			for _, u := range want {
				if u == 0 {
					continue
				}
				if err := GetAt(ctx, a, u, []int64{0}, []int64{elems}, got); err != nil || !slices.Equal(got, state[u]) {
					return fmt.Errorf("after %d, version %d: %v", v, u, err)
				}
			}
			if c.Rank() == 0 {
				size := int64(0)
				list, _ := mem.ReadDir("d/a")
				for _, e := range list {
					info, err := e.Info()
					if err != nil {
						return err
					}
					size += info.Size()
				}
				// a fifth more for tables and metadata, which are much for chunks of 512 bytes
				if limit := int64(len(want)+1) * elems * 8 * 6 / 5; size > limit {
					return fmt.Errorf("after %d: %d bytes in %d files for %d versions, want at most %d", v, size, len(list), len(want), limit)
				}
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
		}
		return a.Close(ctx)
	})
}
