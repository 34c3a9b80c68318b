package blob

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// TestTiles checks reads of an array that is larger than a tile of the reader. Each rank owns strips of every row. The test
// reads the whole array, and parts that begin at any row.
func TestTiles(t *testing.T) {
	const ranks, rows, cols, strip = 5, 20, 1 << 16, 7
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		m := ints(t, dataset.Settings{Options: dataset.Options{Layout: l}}, []int64{rows, cols}, ranks, func(rank int64) (runs []decomp.Req) {
			for r := range int64(rows) {
				for at := rank * strip; at < cols; at += ranks * strip {
					runs = append(runs, decomp.Req{Offset: r*cols + at, Length: min(strip, cols-at)})
				}
			}
			return runs
		}, itself)
		r := opened(t, m, sampleBase, &read.OpenOptions{Workers: 2})
		for _, part := range [][2]int64{{0, rows}, {3, rows - 4}} {
			got := make([]int32, part[1]*cols)
			noError(t, r.Read(t.Context(), "A", []int64{part[0], 0}, []int64{part[1], cols}, got))
			for i, is := range got {
				if want := int32(part[0]*cols) + int32(i); is != want {
					t.Fatalf("%v, from row %d on: element %d is %d, want %d", l, part[0], i, is, want)
				}
			}
		}
	}
}

// TestUnevenRecords checks the files of a killed run in which nodes have written different numbers of records. The records that
// all nodes have written are readable.
func TestUnevenRecords(t *testing.T) {
	ctx := context.Background()
	for _, short := range []string{".0000", ".0001"} {
		toy := newToy(4)
		name := filepath.Join(t.TempDir(), "a.nc")
		noError(t, comm.Run(ctx, 4, nil, func(ctx context.Context, c comm.Comm) error {
			return toy.write(ctx, c, name, 3, &dataset.Settings{Options: dataset.Options{Subfiles: 2}})
		}))
		noError(t, os.Remove(subfile.ManifestName(name)))
		b := need(os.ReadFile(name + short))
		binary.BigEndian.PutUint64(b[layout.NumrecsAt:], 2)
		noError(t, os.WriteFile(name+short, b, 0o666))
		readAll := func(o *read.OpenOptions) (int64, []float64, error) {
			r, err := read.Open(ctx, name, o)
			if err != nil {
				return 0, nil, err
			}
			defer r.Close()
			flux := make([]float64, r.Now().Data.Records*toyCol)
			return r.Now().Data.Records, flux, r.Read(ctx, "FLUX", nil, nil, flux)
		}
		if _, _, err := readAll(nil); !errors.Is(err, dataset.ErrMissing) || !strings.Contains(err.Error(), "the run did not finish") {
			t.Errorf("%s is short: %v, want ErrMissing", short, err)
		}
		n, flux, err := readAll(&read.OpenOptions{AllowMissing: true})
		if err != nil || n != 2 {
			t.Fatalf("%s is short, AllowMissing: %d records, %v", short, n, err)
		}
		for i, v := range flux {
			rec, at := int64(i/toyCol), int64(i%toyCol)
			if want := value(toy.flux, rec, at); at < toyCol-2 && v != want {
				t.Errorf("%s is short: FLUX[%d, %d] = %v, want %v", short, rec, at, v, want)
			}
		}
		said := false
		for f := range check.Check(ctx, name, nil) {
			said = said || f.Severity >= dataset.Error && strings.Contains(f.Msg, "the run did not finish")
		}
		if !said {
			t.Errorf("%s is short: check does not say so", short)
		}
	}
}

// TestUnwrittenTail checks a canonical file that ends within its last variable, as PnetCDF may write it. The file can be read.
// A file that ends before its last variable is truncated.
func TestUnwrittenTail(t *testing.T) {
	ctx := context.Background()
	out := canonicalToy(t, 2)
	whole := need(os.ReadFile(out))
	const last = 4 * toyCol // NEVER, int
	for _, c := range []struct {
		cut      int
		severity dataset.Severity
		ok       bool
	}{{0, dataset.Note, true}, {4, dataset.Warning, true}, {last, dataset.Warning, true}, {last + 4, dataset.Error, false}} {
		noError(t, os.WriteFile(out, whole[:len(whole)-c.cut], 0o666))
		worst := dataset.Note
		for f := range check.Check(ctx, out, nil) {
			worst = max(worst, f.Severity)
		}
		if worst != c.severity {
			t.Errorf("%d bytes cut: check says %v, want %v", c.cut, worst, c.severity)
		}
		x, err := read.Open(ctx, out, nil)
		noError(t, err)
		want := int64(c.cut)
		if !c.ok {
			want = 0
		}
		if got := x.Now().Data.Unwritten(); got != want {
			t.Errorf("%d bytes cut: Unwritten = %d, want %d", c.cut, got, want)
		}
		got := make([]int32, 2*toyCol)
		err = x.Read(ctx, "NEVER", nil, nil, got)
		if c.ok {
			for i, v := range got {
				want := int32(-99)
				if i >= 2*toyCol-c.cut/4 {
					want = 0
				}
				if err != nil || v != want {
					t.Fatalf("%d bytes cut: NEVER[%d] = %d, %v, want %d", c.cut, i, v, err, want)
				}
			}
		} else {
			date := make([]byte, 16)
			if err := x.Read(ctx, "date_written", nil, nil, date); !errors.Is(err, dataset.ErrTruncated) {
				t.Errorf("%d bytes cut: the variable before the last: %v, want ErrTruncated", c.cut, err)
			}
		}
		x.Close()
	}
}

// TestNumbersWithAMissingSubfile checks that blobs keep their numbers if a subfile is missing.
func TestNumbersWithAMissingSubfile(t *testing.T) {
	ctx := context.Background()
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		toy := newToy(8)
		name := filepath.Join(t.TempDir(), "a")
		noError(t, comm.Run(ctx, 8, nil, func(ctx context.Context, c comm.Comm) error {
			return toy.write(ctx, c, name, 1, &dataset.Settings{Options: dataset.Options{Layout: l, Subfiles: 4}})
		}))
		noError(t, os.Remove(name+".0002"))
		r := need(read.Open(ctx, name, &read.OpenOptions{AllowMissing: true}))
		var ranks []int
		for b, err := range r.Now().Elems.Blobs(ctx, "T", 0) {
			noError(t, err)
			ranks = append(ranks, b.Rank)
		}
		if want := []int{0, 1, 2, 3, 6, 7}; len(ranks) != 6 || ranks[4] != want[4] || ranks[5] != want[5] {
			t.Errorf("%v: ranks %v, want %v", l, ranks, want)
		}
		r.Close()
	}
}

// canonicalToy writes a toy dataset with as many records as ranks, converts it to an ordinary file, and returns that file's
// name.
func canonicalToy(t *testing.T, ranks int) string {
	t.Helper()
	ctx := context.Background()
	toy, dir := newToy(ranks), t.TempDir()
	name, out := filepath.Join(dir, "a.nc"), filepath.Join(dir, "c.nc")
	noError(t, comm.Run(ctx, ranks, nil, func(ctx context.Context, c comm.Comm) error {
		return toy.write(ctx, c, name, int64(ranks), new(dataset.Settings))
	}))
	r := opened(t, vfs.OS, name, nil)
	noError(t, convert.Convert(ctx, r, out, nil))
	return out
}

// TestMapsDropped checks that the reader keeps no more map bytes than OpenOptions.Maps allows, apart from the last map, and
// that all values are right.
func TestMapsDropped(t *testing.T) {
	const maps, ranks, n = 6, 2, 40_000
	ctx, fsys := t.Context(), vfs.NewMem()
	noError(t, comm.Run(ctx, ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s := dataset.NewSchema()
		x := s.Dim("x", n)
		var parts []write.Part
		for k := range maps {
			d := s.Decomp(x)
			s.Var(fmt.Sprintf("v%d", k), cdf5.Int, []dataset.DimID{x}, dataset.Decomposed(d))
			p := write.Part{Decomp: d}
			for i := int64(0); i < n; i++ { // the owners are irregular
				if (uint64(i+n*int64(k))*0x9e3779b97f4a7c15)>>40%ranks == uint64(c.Rank()) {
					p.Runs = append(p.Runs, decomp.Req{Offset: i, Length: 1})
				}
			}
			parts = append(parts, p)
		}
		w := need(write.CreateWith(ctx, c, "d.nc", s, parts, &dataset.Settings{Knobs: dataset.Knobs{Fs: fsys}}))
		for k := range maps {
			data := make([]int32, len(parts[k].Runs))
			for i, q := range parts[k].Runs {
				data[i] = int32(q.Offset) + int32(k)
			}
			must(write.Put(w, dataset.VarID(k), 0, data))
		}
		return w.Close(ctx)
	}))
	r := opened(t, fsys, "d.nc", &read.OpenOptions{Maps: 1 << 20})
	one := int64(0)
	for round := range 3 {
		for k := range maps {
			got := make([]int32, n)
			noError(t, r.Read(ctx, fmt.Sprintf("v%d", k), nil, nil, got))
			for i, x := range got {
				if x != int32(i+k) {
					t.Fatalf("round %d: v%d[%d] = %d, want %d", round, k, i, x, i+k)
				}
			}
			sum, kept := int64(0), 0
			for i := range r.Data.Families[0].Maps {
				if g, ok := r.Maps.Cache.Get(&r.Data.Families[0].Maps[i]); ok {
					sum, kept = sum+2*g.M.MemSize(), kept+1
					one = max(one, 2*g.M.MemSize())
				}
			}
			if _, ok := r.Maps.Cache.Get(&r.Data.Families[0].Maps[k]); !ok || sum > 1<<20 && kept > 1 {
				t.Fatalf("after v%d: %d maps of %d bytes are kept", k, kept, sum)
			}
		}
	}
	if one*maps <= 1<<20 {
		t.Fatalf("all maps together are %d bytes: nothing was to be dropped", one*maps)
	}
}
