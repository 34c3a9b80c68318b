package versioned

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// TestReadWhileMoved: a kept version stays readable while commits move its chunks out of old files and remove these files.
func TestReadWhileMoved(t *testing.T) {
	const chunks, per, steps = 40, 64, 60
	// Each chunk is unchanged for 30 of 40 versions, so that files stay only because of a few needed chunks.
	last := func(v, k int64) float64 {
		for ; v > 0 && (v+k)%40 < 30; v-- {
		}
		return float64(v)
	}
	for _, way := range []struct {
		name    string
		files   bool
		isolate bool
	}{{"memory", false, false}, {"windows", false, true}, {"files", true, false}} {
		t.Run(way.name, func(t *testing.T) {
			var st *Store
			if way.files {
				st = &Store{Dir: "d", FS: vfs.NewMem()}
			}
			err := comm.Run(bg, 2, nil, func(ctx context.Context, c comm.Comm) error {
				if way.isolate {
					c = commtest.Isolate(c)
				}
				a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{chunks * per}, Chunk: 512, Keep: Retention{Last: 2}},
					&Options{maxOpen: 2})
				must(t, err)
				var wg sync.WaitGroup
				var bad error
				done := make(chan struct{})
				wg.Go(func() {
					got := make([]float64, chunks*per)
					for n := 0; bad == nil; n++ {
						select {
						case <-done:
							return
						default:
						}
						all := a.Versions()
						v := all[n%len(all)].Number
						err := GetAt(ctx, a, v, []int64{0}, []int64{chunks * per}, got)
						if !slices.ContainsFunc(a.Versions(), func(x VersionInfo) bool { return x.Number == v }) {
							continue
						}
						for i, x := range got {
							if want := last(v, int64(i/per)); err == nil && x != want {
								err = fmt.Errorf("element %d is %v, want %v", i, x, want)
							}
						}
						if err != nil {
							bad = fmt.Errorf("version %d, which is there: %w", v, err)
						}
					}
				})
				for v := int64(1); v <= steps && err == nil; v++ {
					for k := int64(c.Rank()); k < chunks && err == nil; k += 2 {
						if last(v, k) == float64(v) {
							err = Put(ctx, a, []int64{k * per}, []int64{k*per + per}, slices.Repeat([]float64{float64(v)}, per))
						}
					}
					if err == nil {
						_, err = a.Inc(ctx, 1, "")
					}
				}
				close(done)
				wg.Wait()
				if err == nil {
					err = bad
				}
				must(t, err)
				must(t, c.Barrier(ctx))
				return a.Close(ctx)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestIncFails: if a commit in memory fails on one rank, all ranks get an error. There is no new version, and the next version
// has all changes.
func TestIncFails(t *testing.T) {
	err := comm.Run(bg, 3, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: elem.Int64, Shape: []int64{3}, Chunk: 512}, nil)
		must(t, err)
		for v := int64(1); v <= 3; v++ {
			must(t, Put(ctx, a, []int64{int64(c.Rank())}, []int64{int64(c.Rank()) + 1}, []int64{v}))
			var own error
			if c.Rank() == 1 && v == 2 {
				own = fault.ErrRange
			}
			n, err := a.inc(ctx, 1, "", own)
			if v == 2 {
				if !errors.Is(err, fault.ErrRange) || a.Newest() != 1 {
					return fmt.Errorf("%d, %v: newest %d", n, err, a.Newest())
				}
				continue
			}
			must(t, err)
		}
		got := make([]int64, 3)
		if err := GetAt(ctx, a, 2, []int64{0}, []int64{3}, got); err != nil || a.Newest() != 2 || got[0] != 3 || got[1] != 3 || got[2] != 3 {
			return fmt.Errorf("%v, newest %d: %w", got, a.Newest(), err)
		}
		return a.Close(ctx)
	})
	must(t, err)
}

// TestMovedChunkIsVerified: before a chunk of an older version is moved out of a file, it is verified. A damaged chunk does not
// get into a new file, and the commit that would move the chunk fails.
func TestMovedChunkIsVerified(t *testing.T) {
	const n, chunks = 512, 8
	for name, o := range map[string]*Options{"raw": nil, "zstd": {Compress: true}, "encrypted": {Key: []byte("0123456789abcdef")}} {
		for _, damaged := range []bool{false, true} {
			mem, st := memStore(t)
			ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
				a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{n}, Chunk: 512, Keep: Retention{Last: 1}}, o)
				must(t, err)
				commit := func(from, to int64, x int) error {
					if c.Rank() == 0 {
						rng, data := rand.New(rand.NewSource(int64(x))), make([]float64, to-from) // random bits, which cannot be compressed
						for i := range data {
							data[i] = math.Float64frombits(rng.Uint64())
						}
						if err := Put(ctx, a, []int64{from}, []int64{to}, data); err != nil {
							return err
						}
					}
					_, err := a.Inc(ctx, 1, "")
					return err
				}
				must(t, commit(0, n, 1))
				if c.Rank() == 0 && damaged {
					spoil(t, mem, "d/a/"+dataName(1, 1, 0)) // damages the last chunk
				}
				moved := false
				for v := 2; v < 9; v++ { // all chunks except the last change, until the first file is nearly empty
					err := commit(0, n-n/chunks, 100*v)
					if damaged && errors.Is(err, ErrChecksum) {
						if a.Newest() != int64(v-1) {
							return fmt.Errorf("version %d", a.Newest())
						}
						moved = true
						break
					}
					must(t, err)
					rec := a.cat.record()
					if !slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Born == 1 }) {
						if moved = true; damaged {
							return fmt.Errorf("%s: version %d was committed with a damaged chunk", name, v)
						}
					}
				}
				if !moved {
					return fmt.Errorf("%s, damaged %v: no chunk was written again", name, damaged)
				}
				return nil
			})
		}
	}
}
