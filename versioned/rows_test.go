package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// TestCompletion: the caller can reuse the buffer when a put has returned. After a fence all ranks see the put. If several ranks
// put to one element in one epoch, the element gets one of the values, never a mixture.
func TestCompletion(t *testing.T) {
	const n, times = 300, 50
	ranks(t, 4, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, nil, Spec{Name: "a", Type: elem.Uint64, Shape: []int64{n}, Chunk: 512}, nil)
		must(t, err)
		buf := make([]uint64, n)
		for k := range times {
			word := uint64(c.Rank()+1) * 0x0101010101010101 // a mixture of values would have several of these bytes
			for i := range buf {
				buf[i] = word
			}
			must(t, Put(ctx, a, []int64{0}, []int64{n}, buf))
			clear(buf) // reuse the buffer at once
			must(t, a.Fence(ctx))
			must(t, Get(ctx, a, []int64{0}, []int64{n}, buf))
			for i, v := range buf {
				if r := v & 0xff; v != r*0x0101010101010101 || r < 1 || r > 4 {
					return fmt.Errorf("time %d, element %d: %x", k, i, v)
				}
			}
			must(t, a.Fence(ctx))
		}
		return a.Close(ctx)
	})
}

// TestStoresAgree: reads give the same bits from every kind of store. If the store outlives the array, reads by other ranks after
// Open do so, too.
func TestStoresAgree(t *testing.T) {
	const n, incs = 1000, 5
	key := []byte("an AES key of 32 bytes, or so...")
	for name, o := range map[string]*Options{"raw": nil, "zstd": {Compress: true}, "encrypted": {Key: key}, "both": {Compress: true, Key: key}} {
		disk := vfs.NewMem()
		must(t, disk.MkdirAll("d"))
		for kind, st := range map[string]Store{"memory": {}, "memory with a partner": {Copies: 1}, "with two": {Copies: 2}, "a directory": {Dir: "d", FS: disk}} {
			compare := func(ctx context.Context, a *Array) error {
				got := make([]float64, n)
				for v := int64(1); v <= incs; v++ {
					if err := GetAt(ctx, a, v, []int64{0}, []int64{n}, got); err != nil || !slices.Equal(got, seq(int(v), n, 1/float64(v))) {
						return fmt.Errorf("%s, %s: version %d: %v", name, kind, v, err)
					}
				}
				return nil
			}
			ranks(t, 6, func(ctx context.Context, c comm.Comm) error {
				a := floats(ctx, t, c, &st, n, o)
				for v := 1; v <= incs; v++ {
					if c.Rank() == v%6 {
						must(t, Put(ctx, a, []int64{0}, []int64{n}, seq(v, n, 1/float64(v))))
					}
					inc(ctx, t, a)
				}
				must(t, compare(ctx, a))
				return a.Close(ctx)
			})
			if st.Dir == "" {
				continue
			}
			ranks(t, 5, func(ctx context.Context, c comm.Comm) error {
				a, err := Open(ctx, c, &st, "a", o)
				must(t, err)
				must(t, compare(ctx, a))
				return a.Close(ctx)
			})
			v, err := OpenView("d/a", disk, keyOf(o))
			must(t, err)
			for f := range v.Check(bg, nil) {
				t.Errorf("%s, %s: %v", name, kind, f)
			}
			v.Close()
		}
	}
}

func keyOf(o *Options) []byte {
	if o == nil {
		return nil
	}
	return o.Key
}

// TestOpenStartsAGeneration: the first version after Open writes all chunks, and older versions stay readable.
func TestOpenStartsAGeneration(t *testing.T) {
	_, st := memStore(t)
	var changed [2]int64
	for round := range 2 {
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			var a *Array
			var err error
			if round == 0 {
				a, err = Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{6400}, Chunk: 512}, nil)
			} else {
				a, err = Open(ctx, c, st, "a", nil)
			}
			must(t, err)
			if round == 0 && c.Rank() == 0 {
				must(t, Put(ctx, a, []int64{0}, []int64{6400}, seq(1, 6400, 1)))
			}
			for range 2 { // the second version has no changes
				inc(ctx, t, a)
			}
			v := a.Versions()
			if c.Rank() == 0 {
				changed[round] = v[len(v)-2].Changed
			}
			if last := v[len(v)-1]; last.Changed != 0 || last.Generation != round+1 {
				return fmt.Errorf("%+v", last)
			}
			return a.Close(ctx)
		})
	}
	if changed[0] != 6400*8 || changed[1] != changed[0] {
		t.Errorf("first versions of the generations changed %d bytes", changed)
	}
}

// TestWhatIsVerified: GetAt, Restore and a View verify all data that they read, even if they need only a part of a chunk.
func TestWhatIsVerified(t *testing.T) {
	for name, o := range map[string]*Options{"raw": nil, "encrypted": {Key: []byte("0123456789abcdef")}} {
		mem, st := memStore(t)
		ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{64}, Chunk: 512}, o)
			must(t, err)
			must(t, Put(ctx, a, []int64{0}, []int64{64}, seq(1, 64, 1)))
			inc(ctx, t, a)
			spoil(t, mem, "d/a/"+dataName(1, 1, 0)) // damages the chunk somewhere
			one, all := make([]float64, 1), make([]float64, 64)
			if err := GetAt(ctx, a, 1, []int64{2}, []int64{3}, one); !errors.Is(err, ErrChecksum) {
				return fmt.Errorf("%s: a part: %w", name, err)
			}
			if err := GetAt(ctx, a, 1, []int64{0}, []int64{64}, all); !errors.Is(err, ErrChecksum) {
				return fmt.Errorf("%s: the whole chunk: %w", name, err)
			}
			if err := a.Restore(ctx, 1); !errors.Is(err, ErrChecksum) {
				return fmt.Errorf("%s: Restore: %w", name, err)
			}
			v, err := OpenView("d/a", mem, keyOf(o))
			must(t, err)
			defer v.Close()
			if err := v.Get(ctx, 1, []int64{2}, []int64{3}, bytesOf(one)); !errors.Is(err, ErrChecksum) {
				return fmt.Errorf("%s: View: %w", name, err)
			}
			return nil
		})
	}
}

// TestRestoreOfDamaged: if a rank's part of a version is damaged, Restore fails on all ranks.
func TestRestoreOfDamaged(t *testing.T) {
	for hit := range 3 {
		mem, st := memStore(t)
		if err := comm.Run(bg, 3, &comm.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) error {
			a := floats(ctx, t, c, st, 192, nil)
			lo := int64(c.Rank()) * 64
			must(t, Put(ctx, a, []int64{lo}, []int64{lo + 64}, seq(1, 64, 1)))
			inc(ctx, t, a)
			if c.Rank() == hit {
				spoil(t, mem, "d/a/"+dataName(1, 1, hit))
			}
			must(t, c.Barrier(ctx))
			if err := a.Restore(ctx, 1); !errors.Is(err, ErrChecksum) {
				return fmt.Errorf("rank %d is damaged: %w", hit, err)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestRemote: without a shared heap, ranks read and restore versions in the memory of other processes and in a directory.
func TestRemote(t *testing.T) {
	_, shared := memStore(t)
	for kind, st := range map[string]*Store{"memory": nil, "copies": {Copies: 1}, "shared": shared} {
		ranks(t, 4, func(ctx context.Context, c comm.Comm) error {
			c = commtest.Isolate(c)
			a := floats(ctx, t, c, st, 256, nil)
			lo := int64(c.Rank()) * 64
			must(t, Put(ctx, a, []int64{lo}, []int64{lo + 64}, seq(c.Rank(), 64, 1)))
			inc(ctx, t, a)
			got := make([]float64, 64)
			if err := GetAt(ctx, a, 1, []int64{lo}, []int64{lo + 64}, got); err != nil || !slices.Equal(got, seq(c.Rank(), 64, 1)) {
				return fmt.Errorf("%s: its own: %v", kind, err)
			}
			far := (lo + 128) % 256 // this element is on another node
			want := seq((c.Rank()+2)%4, 64, 1)
			if err := GetAt(ctx, a, 1, []int64{far}, []int64{far + 64}, got); err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("%s: another's: %v, %v", kind, got, err)
			}
			if again, err := a.Reserve(ctx, 1000); err != nil || !again { // the elements are now in other segments
				return fmt.Errorf("%s: %v, %v", kind, again, err)
			}
			inc(ctx, t, a)
			if err := a.Restore(ctx, 1); err != nil {
				return fmt.Errorf("%s: restored: %w", kind, err)
			}
			if err := Get(ctx, a, []int64{far}, []int64{far + 64}, got); err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("%s: restored: %v, %v", kind, got, err)
			}
			return a.Close(ctx)
		})
	}
}
