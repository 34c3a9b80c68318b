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

// V6, V7, V9, V10: versions, labels; old ones do not change.
func TestVersions(t *testing.T) {
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Int32, Shape: []int64{300}, Chunk: 512}, nil)
		must(t, err)
		fill := func(v int32) error {
			if c.Rank() == 1 {
				must(t, Put(ctx, a, []int64{0}, []int64{300}, slices.Repeat([]int32{v}, 300)))
			}
			return nil
		}
		must(t, fill(11))
		if n, err := a.Inc(ctx, 1, ""); n != 1 || err != nil {
			return fmt.Errorf("%d, %v", n, err)
		}
		must(t, fill(66))
		if n, err := a.Inc(ctx, 5, "pre-regrid"); n != 6 || err != nil {
			return fmt.Errorf("%d, %v", n, err)
		}
		must(t, fill(99))
		must(t, a.Fence(ctx))
		v := a.Versions()
		if len(v) != 3 || v[0].Number != 0 || v[1].Number != 1 || v[2].Number != 6 || v[2].Label != "pre-regrid" {
			return fmt.Errorf("%+v", v)
		}
		got := make([]int32, 2)
		for number, want := range map[int64]int32{0: 0, 1: 11, 6: 66} {
			if err := GetAt(ctx, a, number, []int64{149}, []int64{151}, got); err != nil || got[0] != want || got[1] != want {
				return fmt.Errorf("version %d: %v, %v", number, got, err)
			}
		}
		if err := GetAt(ctx, a, 3, []int64{0}, []int64{2}, got); !errors.Is(err, ErrNoVersion) {
			return fmt.Errorf("version 3: %w", err)
		}
		if _, err := a.Inc(ctx, 0, ""); !errors.Is(err, ErrUsage) {
			return fmt.Errorf("step 0: %w", err)
		}
		must(t, a.Drop(ctx, 0))
		// Back to version 1, and on from there.
		must(t, a.Restore(ctx, 1))
		if err := Get(ctx, a, []int64{298}, []int64{300}, got); err != nil || got[1] != 11 {
			return fmt.Errorf("restored %v, %v", got, err)
		}
		if n, err := a.Inc(ctx, 1, ""); n != 7 || err != nil {
			return fmt.Errorf("%d, %v", n, err)
		}
		if err := GetAt(ctx, a, 7, []int64{0}, []int64{2}, got); err != nil || got[0] != 11 {
			return fmt.Errorf("%v, %v", got, err)
		}
		return a.Close(ctx)
	})
}

// V8: each array has its own versions.
func TestStreams(t *testing.T) {
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Int64, Shape: []int64{10}, Chunk: 512}, nil)
		must(t, err)
		b, err := Create(ctx, c, nil, Spec{Name: "b", Type: Int64, Shape: []int64{10}, Chunk: 512}, nil)
		must(t, err)
		for step := int64(1); step <= 6; step++ {
			if c.Rank() == 0 {
				for _, x := range []*Array{a, b} {
					must(t, Put(ctx, x, []int64{0}, []int64{1}, []int64{step}))
				}
			}
			inc(ctx, t, a)
			if step%3 == 0 {
				inc(ctx, t, b)
			}
		}
		if a.Newest() != 6 || b.Newest() != 2 {
			return fmt.Errorf("%d, %d", a.Newest(), b.Newest())
		}
		for v := int64(1); v <= 5; v++ {
			must(t, a.Drop(ctx, v))
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

// V13: what may stay, and how much room it takes.
func TestRetention(t *testing.T) {
	const elems, keep = 4096, 3
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("d"))
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, &Store{Dir: "d", FS: mem}, Spec{Name: "a", Type: Float64, Shape: []int64{elems}, Chunk: 512, Keep: Retention{Last: keep, Every: 10}}, nil)
		must(t, err)
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
				must(t, Put(ctx, a, []int64{0}, []int64{elems}, now))
			}
			inc(ctx, t, a)
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
					must(t, err)
					size += info.Size()
				}
				// a fifth more for tables and metadata, which are much for chunks of 512 bytes
				if limit := int64(len(want)+1) * elems * 8 * 6 / 5; size > limit {
					return fmt.Errorf("after %d: %d bytes in %d files for %d versions, want at most %d", v, size, len(list), len(want), limit)
				}
			}
			must(t, c.Barrier(ctx))
		}
		return a.Close(ctx)
	})
}

// V15: a version costs what changed.
func TestCostOfChange(t *testing.T) {
	for _, o := range []*Options{nil, {Codec: Zstd}, {Key: []byte("0123456789abcdef")}, {Form: Flat}} {
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, nil, Spec{Name: "a", Type: Float64, Shape: []int64{100 * 64}, Chunk: 512}, o)
			must(t, err)
			first, second := seq(0, 6400, 1), seq(0, 6400, 1)
			second[64*17+3] = -1
			for _, s := range [][]float64{first, second} {
				if c.Rank() == 0 {
					must(t, Put(ctx, a, []int64{0}, []int64{6400}, s))
				}
				inc(ctx, t, a)
			}
			v := a.Versions()
			changed := v[2].Changed
			if o != nil && o.Form == Flat {
				changed -= 99 * 512
			}
			if changed != 512 || v[1].Changed != 51200 || (o == nil || o.Form == Log) && v[2].Written > 512+2048 {
				return fmt.Errorf("%+v: %+v", o, v)
			}
			got := make([]float64, 6400)
			for i, s := range [][]float64{first, second} {
				if err := GetAt(ctx, a, int64(i+1), []int64{0}, []int64{6400}, got); err != nil || !slices.Equal(got, s) {
					return fmt.Errorf("version %d: %v", i+1, err)
				}
			}
			return a.Close(ctx)
		})
	}
}
