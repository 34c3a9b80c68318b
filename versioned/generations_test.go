package versioned

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// roomOf returns the total size of an array's data files on some disks.
func roomOf(t tester, disks []*vfs.Mem, dir string) (bytes int64) {
	for _, m := range disks {
		list, err := m.ReadDir(dir)
		must(t, err)
		for _, e := range list {
			if info, err := e.Info(); err == nil && isData(e.Name()) {
				bytes += info.Size()
			}
		}
	}
	return bytes
}

// TestRetentionOfGenerations: when a version of an older generation is dropped, by retention or Drop, its space is freed at
// once, and not only when the last version of the generation is dropped. The remaining versions stay readable.
func TestRetentionOfGenerations(t *testing.T) {
	const n, keep = 1024, 4
	const size = n * 8
	for _, kind := range []string{"memory", "shared", "isolated"} {
		for _, how := range []string{"reserve", "open", "drop"} {
			if how != "reserve" && kind == "memory" {
				continue // no version is left to open
			}
			disks := emptyDisk(t)
			var st *Store
			if kind != "memory" {
				st = &Store{Dir: "d", FS: disks[0]}
			}
			spec := Spec{Name: "a", Type: elem.Float64, Shape: []int64{n}, Chunk: 512, Keep: Retention{Last: keep}}
			if how == "drop" {
				spec.Keep = Retention{}
			}
			commit := func(ctx context.Context, a *Array, v int64) error {
				if a.c.Rank() == 1 {
					if err := Put(ctx, a, []int64{0}, []int64{n}, seq(int(v), n, 3)); err != nil {
						return err
					}
				}
				if got, err := a.Inc(ctx, 1, ""); err != nil || got != v {
					return fmt.Errorf("version %d: %w", got, err)
				}
				got := make([]float64, n)
				for _, x := range a.Versions() {
					if err := GetAt(ctx, a, x.Number, []int64{0}, []int64{n}, got); x.Number > 0 && (err != nil || !slices.Equal(got, seq(int(x.Number), n, 3))) {
						return fmt.Errorf("after %d, version %d: %v", v, x.Number, err)
					}
				}
				return a.c.Barrier(ctx)
			}
			room := func(ctx context.Context, a *Array, versions int64) error {
				if err := a.c.Barrier(ctx); err != nil { // all unneeded files have been removed
					return err
				}
				var have int64
				if kind == "memory" {
					for _, f := range a.cat.record().Files {
						have += f.Size
					}
				} else {
					have = roomOf(t, disks, "d/a")
				}
				// Chunks are small here, so tables and metadata need much space. Each file also has a description.
				if limit := versions*size*5/4 + 2048*int64(len(a.cat.record().Files)); have > limit {
					return fmt.Errorf("%s, %s: %d bytes, want at most %d for %d versions", kind, how, have, limit, versions)
				}
				return a.c.Barrier(ctx)
			}
			run := func(f func(ctx context.Context, c comm.Comm) error) {
				t.Helper()
				ranks(t, 4, func(ctx context.Context, c comm.Comm) error {
					if kind == "isolated" {
						c = commtest.Isolate(c)
					}
					return f(ctx, c)
				})
			}
			v := int64(1)
			run(func(ctx context.Context, c comm.Comm) error {
				a, err := Create(ctx, c, st, spec, nil)
				if err != nil {
					return err
				}
				for v := v; v <= 6; v++ {
					if err := commit(ctx, a, v); err != nil {
						return err
					}
				}
				if how == "reserve" {
					if _, err := a.Reserve(ctx, n+900); err != nil { // exceeds the capacity
						return err
					}
					if _, err := a.Reserve(ctx, n); err != nil {
						return err
					}
					for v := int64(7); v <= 12; v++ {
						if err := commit(ctx, a, v); err != nil {
							return err
						}
						if err := room(ctx, a, keep+1); err != nil {
							return fmt.Errorf("after %d: %w", v, err)
						}
					}
				}
				return a.Close(ctx)
			})
			if how == "reserve" {
				continue
			}
			run(func(ctx context.Context, c comm.Comm) error {
				a, err := Open(ctx, c, st, "a", nil)
				if err != nil {
					return err
				}
				for v := int64(7); v <= 9; v++ {
					if err := commit(ctx, a, v); err != nil {
						return err
					}
					if how == "open" {
						if err := room(ctx, a, keep+1); err != nil {
							return fmt.Errorf("after %d: %w", v, err)
						}
					}
				}
				if how == "drop" {
					for i, d := range []int64{2, 6, 1, 4, 8} {
						if err := a.Drop(ctx, d); err != nil {
							return err
						}
						if err := room(ctx, a, int64(8-i)); err != nil {
							return fmt.Errorf("without %d: %w", d, err)
						}
					}
				}
				return a.Close(ctx)
			})
		}
	}
}

// TestByteOrders: an array was made by a machine with the other byte order. This machine opens the array and commits versions.
// Each generation has the byte order of its machine.
func TestByteOrders(t *testing.T) {
	const n = 100
	mem, st := memStore(t)
	first := seq(1, n, 0.5)
	swapped := slices.Clone(first)
	elem.Swap(bytesOf(swapped), bytesOf(swapped), 8)
	for job := range 4 {
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			var a *Array
			var err error
			if job == 0 {
				a, err = Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{n}, Chunk: 512}, nil)
			} else {
				a, err = Open(ctx, c, st, "a", nil)
			}
			must(t, err)
			got := make([]float64, n)
			for v := int64(1); v <= int64(job); v++ {
				want := first
				if v > 1 {
					want = seq(int(v), n, 0.5)
				}
				if err := GetAt(ctx, a, v, []int64{0}, []int64{n}, got); err != nil || !slices.Equal(got, want) {
					return fmt.Errorf("job %d, version %d: %v, %v", job, v, got, err)
				}
			}
			if err := Get(ctx, a, []int64{0}, []int64{n}, got); job == 1 && (err != nil || !slices.Equal(got, first)) {
				return fmt.Errorf("job %d, the state: %v, %v", job, got, err)
			}
			must(t, a.Fence(ctx))
			if c.Rank() == 1 {
				now := seq(job+1, n, 0.5)
				if job == 0 { // write it as the other machine would
					now = swapped
				}
				must(t, Put(ctx, a, []int64{0}, []int64{n}, now))
			}
			inc(ctx, t, a)
			return a.Close(ctx)
		})
		if job > 0 {
			continue
		}
		rec, err := readRecord(mem, "d/a")
		must(t, err)
		if rec.Order = "big"; elem.HostBig {
			rec.Order = "little"
		}
		must(t, writeRecord(mem, "d/a", rec, true))
	}
	v := openOne(t, mem, "a")
	sound(t, v)
	rec := v.rec.clone()
	rec.Generations[1].Order = "middle"
	if b, err := rec.encode(); err != nil {
		t.Fatal(err)
	} else if _, err := decodeRecord(b, "x"); err == nil {
		t.Error("a byte order of its own is taken")
	}
}
