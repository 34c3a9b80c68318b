package versioned

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

var bg = context.Background()

// ranks runs f on n ranks, two on a node.
func ranks(t *testing.T, n int, f func(ctx context.Context, c comm.Comm) error) {
	t.Helper()
	must(t, comm.Run(bg, n, &comm.Options{RanksPerNode: 2}, f))
}

func seq(lo, n int, f float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f * float64(lo+i)
	}
	return out
}

// TestCopies: if a node has lost files from its memory, or if they are damaged, they are read and restored from the copy on the
// next node. If the copy is gone, too, all ranks get an error.
func TestCopies(t *testing.T) {
	const n = 768 // two chunks of each rank
	state := make([]float64, n)
	for i := range state {
		state[i] = float64(1 + btoi(i%128 < 64)) // the first chunk is from version 2, the second from version 1
	}
	for what, ok := range map[string]bool{"nothing": true, "a node": true, "a file": true, "a byte": true, "a file of each": false, "a byte of each": false} {
		ranks(t, 6, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, &Store{Copies: 1}, Spec{Name: "a", Type: elem.Float64, Shape: []int64{n}, Chunk: 512}, &Options{maxOpen: 1})
			must(t, err)
			for v := range int64(2) {
				lo := int64(c.Rank()) * 128
				must(t, Put(ctx, a, []int64{lo}, []int64{lo + 128 - 64*v}, slices.Repeat([]float64{float64(v + 1)}, int(128-64*v))))
				inc(ctx, t, a)
			}
			name := a.nodes.file(dataName(1, 1, 2)) // a file of node 1, copied to node 2
			mem := a.nodes.store.fs.(*vfs.Mem)
			if own := c.Rank() == 2; own || c.Rank() == 4 && strings.HasSuffix(what, "of each") {
				switch what {
				case "a node":
					err = errors.Join(mem.Remove(name), mem.Remove(a.nodes.file(dataName(1, 2, 2))))
				case "a file", "a file of each":
					err = mem.Remove(name)
				case "a byte", "a byte of each":
					spoil(t, mem, name)
				}
			}
			must(t, comm.Agree(ctx, c, err))
			got := make([]float64, n)
			err = GetAt(ctx, a, 2, []int64{0}, []int64{n}, got)
			if (err == nil) != ok || ok && !slices.Equal(got, state) {
				return fmt.Errorf("%s lost: version 2: %v, %v", what, got, err)
			}
			if err := a.Restore(ctx, 2); (err == nil) != ok {
				return fmt.Errorf("%s lost: restored: %v", what, err)
			}
			if err := Get(ctx, a, []int64{0}, []int64{n}, got); ok && (err != nil || !slices.Equal(got, state)) {
				return fmt.Errorf("%s lost: %v, %v", what, got, err)
			}
			if n, err := a.Inc(ctx, 1, ""); err != nil || n != 3 {
				return fmt.Errorf("%s lost: %d, %w", what, n, err)
			}
			must(t, c.Barrier(ctx))
			return a.Close(ctx)
		})
	}
}

// TestReserve changes the length of an array, and reads versions of older generations.
func TestReserve(t *testing.T) {
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: elem.Float64, Shape: []int64{100}, Chunk: 512, Extra: 0.5}, nil)
		must(t, err)
		allocs := 0
		state := map[int64][]float64{}
		for i, need := range []int64{100, 120, 90, 151, 140} {
			again, err := a.Reserve(ctx, need)
			must(t, err)
			if again {
				allocs++
			}
			got := make([]float64, need)
			must(t, Get(ctx, a, []int64{0}, []int64{need}, got))
			if i > 0 { // existing elements are kept, and new elements are zeros
				old := state[a.Newest()]
				want := append(slices.Clone(old[:min(len(old), int(need))]), make([]float64, max(0, int(need)-len(old)))...)
				if !slices.Equal(got, want) {
					return fmt.Errorf("after reserving %d: %v, want %v", need, got, want)
				}
			}
			must(t, a.Fence(ctx))
			if c.Rank() == 1 {
				must(t, Put(ctx, a, []int64{0}, []int64{need}, seq(0, int(need), float64(i+1))))
			}
			n, err := a.Inc(ctx, 1, "")
			must(t, err)
			state[n] = seq(0, int(need), float64(i+1))
		}
		if allocs != 1 || a.state.geo.Capacity != 227 {
			return fmt.Errorf("%d times anew, capacity %d", allocs, a.state.geo.Capacity)
		}
		for n, want := range state {
			got := make([]float64, len(want))
			if err := GetAt(ctx, a, n, []int64{0}, []int64{int64(len(want))}, got); err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("version %d: %v", n, err)
			}
			if err := GetAt(ctx, a, n, []int64{0}, []int64{int64(len(want)) + 1}, append(got, 0)); !errors.Is(err, fault.ErrRange) {
				return fmt.Errorf("beyond version %d: %w", n, err)
			}
		}
		if err := a.Restore(ctx, 1); err != nil || elems(a.state.shape) != 100 {
			return fmt.Errorf("%d, %v", elems(a.state.shape), err)
		}
		return a.Close(ctx)
	})
}

func sub(x, y []int64) []int64 {
	out := slices.Clone(x)
	for d := range out {
		out[d] -= y[d]
	}
	return out
}

func TestBoxes(t *testing.T) {
	for _, shape := range [][]int64{{37}, {5, 31}, {4, 5, 19}, {3, 4, 5, 7}, {1, 64, 1, 3}, {0, 4}} {
		ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, nil, Spec{Name: "a", Type: elem.Int32, Shape: shape, Chunk: 512}, nil)
			must(t, err)
			n := elems(shape)
			model := make([]int32, n)
			rng := rand.New(rand.NewSource(n))
			for d := range shape { // one dimension is out of range, so no element is written
				for _, by := range []int64{-1, shape[d]} {
					lo, hi := make([]int64, len(shape)), make([]int64, len(shape))
					for k := range hi {
						hi[k] = min(1, shape[k])
					}
					lo[d], hi[d] = by, by+1
					if err := Put(ctx, a, lo, hi, slices.Repeat([]int32{9}, int(elems(sub(hi, lo))))); !errors.Is(err, fault.ErrRange) {
						return fmt.Errorf("shape %v [%v %v): %w", shape, lo, hi, err)
					}
				}
			}
			must(t, a.Fence(ctx))
			for k := range 50 {
				lo, hi := make([]int64, len(shape)), make([]int64, len(shape))
				for d := range shape {
					lo[d] = rng.Int63n(shape[d] + 1)
					hi[d] = lo[d] + rng.Int63n(shape[d]-lo[d]+1)
				}
				var buf []int32
				err := runs(shape, lo, hi, func(off, m, at int64) error {
					if at != int64(len(buf)) {
						return fmt.Errorf("run at %d, want %d", at, len(buf))
					}
					for i := range m {
						model[off+i] = int32(k*1000 + int(off+i))
						buf = append(buf, model[off+i])
					}
					return nil
				})
				must(t, err)
				if c.Rank() == k%3 {
					if err := Put(ctx, a, lo, hi, buf); err != nil {
						return fmt.Errorf("shape %v [%v %v): %w", shape, lo, hi, err)
					}
				}
				must(t, a.Fence(ctx))
				got := make([]int32, len(buf))
				if err := Get(ctx, a, lo, hi, got); err != nil || !slices.Equal(got, buf) {
					return fmt.Errorf("shape %v [%v %v): %v", shape, lo, hi, err)
				}
				must(t, a.Fence(ctx))
			}
			inc(ctx, t, a)
			got := make([]int32, n)
			if err := GetAt(ctx, a, 1, make([]int64, len(shape)), shape, got); err != nil || !slices.Equal(got, model) {
				return fmt.Errorf("shape %v: whole: %v", shape, err)
			}
			return a.Close(ctx)
		})
	}
}
