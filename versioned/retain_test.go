package versioned

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
)

// TestWholeFilesStay: if almost all data of a file are needed, the file is not rewritten, even if the tables and metadata bring
// the total size over the limit.
func TestWholeFilesStay(t *testing.T) {
	const chunks, perChunk, last = 512, 64, 16
	_, st := memStore(t)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{chunks * perChunk}, Chunk: 8 * perChunk, Keep: Retention{Last: last}}, nil)
		must(t, err)
		for v := 1; v <= last+4; v++ {
			must(t, Put(ctx, a, []int64{0}, []int64{chunks * perChunk}, seq(1, chunks*perChunk, float64(v))))
			inc(ctx, t, a)
		}
		rec, size := a.cat.record(), int64(0)
		for _, f := range rec.Files {
			if size += f.Size; f.From != f.Born {
				return fmt.Errorf("%s has chunks from version %d on", f.Name, f.From)
			}
		}
		if limit := int64((last + 1) * chunks * perChunk * 8); len(rec.Files) != last || size <= limit {
			return fmt.Errorf("%d files of %d bytes: over %d the test would see something", len(rec.Files), size, limit)
		}
		return a.Close(ctx)
	})
}

// TestOldFilesThatCannotBeRead: some versions of an older generation are dropped. If it is unknown which files the remaining
// versions need, all files of the generation stay.
func TestOldFilesThatCannotBeRead(t *testing.T) {
	mem, st := memStore(t)
	for round := range 3 { // each round is a generation
		ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
			a, err := Open(ctx, c, st, "a", nil)
			if round == 0 {
				a, err = Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{128}, Chunk: 512, Keep: Retention{Last: 4}}, nil)
			}
			must(t, err)
			for range []int{2, 1, 1}[round] { // versions 1 and 2, 3, 4
				must(t, Put(ctx, a, []int64{0}, []int64{128}, seq(1, 128, float64(a.Newest()+1))))
				inc(ctx, t, a)
			}
			return a.Close(ctx)
		})
		if round == 1 {
			f, err := mem.OpenRW("d/a/" + dataName(1, 1, 0))
			must(t, err)
			size, err := f.Size()
			must(t, errors.Join(err, f.Truncate(size-1), f.Close()))
		}
	}
	rec, err := readRecord(mem, "d/a")
	must(t, err)
	var versions []int64
	for _, v := range rec.Versions {
		versions = append(versions, v.Number)
	}
	if !slices.Equal(versions, []int64{1, 2, 3, 4}) {
		t.Fatalf("versions %v: the test needs that 0 went", versions)
	}
	for _, v := range []int64{1, 2} {
		name := dataName(1, v, 0)
		if _, err := mem.Stat("d/a/" + name); err != nil || !slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Name == name }) {
			t.Errorf("version %d: %s is gone, %v", v, name, err)
		}
	}
}

// TestRetention checks which versions are kept, and how much space they need.
func TestRetention(t *testing.T) {
	const elems, keep = 4096, 3
	mem := vfs.NewMem()
	must(t, mem.MkdirAll("d"))
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, &Store{Dir: "d", FS: mem}, Spec{Name: "a", Type: elem.Float64, Shape: []int64{elems}, Chunk: 512, Keep: Retention{Last: keep, Every: 10}}, nil)
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
				// Add one fifth for tables and metadata, which need much space for chunks of 512 bytes.
				if limit := int64(len(want)+1) * elems * 8 * 6 / 5; size > limit {
					return fmt.Errorf("after %d: %d bytes in %d files for %d versions, want at most %d", v, size, len(list), len(want), limit)
				}
			}
			must(t, c.Barrier(ctx))
		}
		return a.Close(ctx)
	})
}

// TestCostOfChange: a version writes only changed chunks.
func TestCostOfChange(t *testing.T) {
	for _, o := range []*Options{nil, {Compress: true}, {Key: []byte("0123456789abcdef")}} {
		ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
			a := floats(ctx, t, c, nil, 100*64, o)
			first, second := seq(0, 6400, 1), seq(0, 6400, 1)
			second[64*17+3] = -1
			for _, s := range [][]float64{first, second} {
				if c.Rank() == 0 {
					must(t, Put(ctx, a, []int64{0}, []int64{6400}, s))
				}
				inc(ctx, t, a)
			}
			v := a.Versions()
			if v[2].Changed != 512 || v[1].Changed != 51200 || v[2].Written > 512+2048 {
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
