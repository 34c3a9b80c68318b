package versioned

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

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
