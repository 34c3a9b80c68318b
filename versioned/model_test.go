package versioned

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// TestHistories runs random histories against a model: puts, incs, gets, drops, reallocations, restores, and openings on another
// number of ranks.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := vfs.NewMem()
		must(t, mem.MkdirAll("d"))
		o := &Options{Compress: rapid.Bool().Draw(t, "compress"), maxOpen: 3}
		if rapid.Bool().Draw(t, "key") {
			o.Key = bytes.Repeat([]byte{7}, 32)
		}
		length := rapid.Int64Range(0, 500).Draw(t, "length")
		spec := Spec{Name: "a", Type: elem.Int32, Shape: []int64{length}, Chunk: 512,
			Extra: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "extra"), EveryRegrid: rapid.Bool().Draw(t, "every"),
			Keep: Retention{Last: rapid.IntRange(0, 3).Draw(t, "last"), Every: rapid.Int64Range(0, 3).Draw(t, "modulus")}}
		type op struct {
			kind   int
			lo, hi int64
			value  int32
		}
		now := make([]int32, length)
		versions := map[int64][]int32{0: slices.Clone(now)}
		numbers := []int64{0}
		next := int32(1)
		created := false
		for range rapid.IntRange(1, 3).Draw(t, "sessions") {
			n := rapid.IntRange(1, 4).Draw(t, "ranks")
			ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
				return op{kind: rapid.IntRange(0, 9).Draw(t, "kind"), lo: rapid.Int64Range(0, 600).Draw(t, "lo"), hi: rapid.Int64Range(0, 600).Draw(t, "hi")}
			}), 1, 12).Draw(t, "ops")
			isolate := rapid.Bool().Draw(t, "isolate")
			// The model runs first. It chooses each operation and computes the expected state after the operation.
			type step struct {
				op
				state    []int32
				versions map[int64][]int32
				drop     int64
			}
			if created { // changes that were not committed are lost
				now = slices.Clone(versions[numbers[len(numbers)-1]])
			}
			start := slices.Clone(now)
			var plan []step
			for _, p := range ops {
				st := step{op: p, drop: -1}
				switch {
				case p.kind <= 3: // put
					st.lo = min(p.lo, int64(len(now)))
					st.hi = min(max(p.hi, st.lo), int64(len(now)))
					next++
					st.value = next
					for i := st.lo; i < st.hi; i++ {
						now[i] = next*1000 + int32(i)
					}
				case p.kind <= 6: // inc
					num := numbers[len(numbers)-1] + 1 + p.lo%2
					st.lo = 1 + p.lo%2
					all := append(slices.Clone(numbers), num)
					versions[num] = slices.Clone(now)
					numbers = nil
					for i, v := range all {
						if spec.Keep.Last == 0 || i >= len(all)-spec.Keep.Last || spec.Keep.Every > 0 && v%spec.Keep.Every == 0 {
							numbers = append(numbers, v)
						}
					}
				case p.kind == 7: // drop
					if len(numbers) > 1 {
						k := int(p.lo) % (len(numbers) - 1)
						st.drop = numbers[k]
						numbers = slices.Delete(slices.Clone(numbers), k, k+1)
					}
				case p.kind == 8: // reserve
					st.hi = p.hi
					old := now
					now = make([]int32, p.hi)
					copy(now, old)
				default: // restore
					st.drop = numbers[int(p.lo)%len(numbers)]
					now = slices.Clone(versions[st.drop])
				}
				st.state = slices.Clone(now)
				st.versions = map[int64][]int32{}
				for _, v := range numbers {
					st.versions[v] = versions[v]
				}
				plan = append(plan, st)
			}
			err := comm.Run(bg, n, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
				if isolate {
					c = commtest.Isolate(c)
				}
				var a *Array
				var err error
				st := &Store{Dir: "d", FS: mem}
				if created {
					a, err = Open(ctx, c, st, "a", o)
				} else {
					a, err = Create(ctx, c, st, spec, o)
				}
				if err != nil {
					return err
				}
				if err := same(ctx, a, start); err != nil {
					return fmt.Errorf("at the start: %w", err)
				}
				for i, p := range plan {
					switch {
					case p.kind <= 3:
						if c.Rank() == i%n {
							buf := make([]int32, p.hi-p.lo)
							for k := range buf {
								buf[k] = p.value*1000 + int32(p.lo) + int32(k)
							}
							err = Put(ctx, a, []int64{p.lo}, []int64{p.hi}, buf)
						}
						if ferr := a.Fence(ctx); err == nil {
							err = ferr
						}
					case p.kind <= 6:
						_, err = a.Inc(ctx, p.lo, "")
					case p.kind == 7:
						if p.drop >= 0 {
							err = a.Drop(ctx, p.drop)
						}
					case p.kind == 8:
						_, err = a.Reserve(ctx, p.hi)
					default:
						err = a.Restore(ctx, p.drop)
					}
					if err != nil {
						return fmt.Errorf("op %d %+v: %w", i, p.op, err)
					}
					if err := same(ctx, a, p.state); err != nil {
						return fmt.Errorf("after op %d %+v: %w", i, p.op, err)
					}
					if v := a.Versions(); len(v) != len(p.versions) {
						return fmt.Errorf("after op %d %+v: %d versions, want %d", i, p.op, len(v), len(p.versions))
					}
					for v, want := range p.versions {
						got := make([]int32, len(want))
						if err := GetAt(ctx, a, v, []int64{0}, []int64{int64(len(want))}, got); err != nil || !slices.Equal(got, want) {
							return fmt.Errorf("after op %d %+v: version %d: %v %v, want %v", i, p.op, v, err, got, want)
						}
					}
					if err := a.Fence(ctx); err != nil {
						return err
					}
				}
				return a.Close(ctx)
			})
			must(t, err)
			created = true
			v, err := OpenView("d/a", mem, o.Key)
			must(t, err)
			for f := range v.Check(bg, nil) {
				t.Fatalf("check: %v", f)
			}
			v.Close()
		}
	})
}

func same(ctx context.Context, a *Array, want []int32) error {
	if elems(a.state.shape) != int64(len(want)) {
		return fmt.Errorf("%d elements, want %d", elems(a.state.shape), len(want))
	}
	got := make([]int32, len(want))
	if err := Get(ctx, a, []int64{0}, []int64{int64(len(want))}, got); err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%v, want %v", got, want)
	}
	return a.Fence(ctx)
}
