package blob

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/codec"
	"blobio/internal/crashtest"
	"blobio/internal/vfs"
)

// element reads what a Spot points at, without the Reader, high byte first.
func element(fsys vfs.FS, x *Spot, size int) ([]byte, error) {
	file, err := slurp(fsys, x.File)
	if err != nil {
		return nil, err
	}
	b := slices.Clone(file[x.Offset : x.Offset+x.Bytes])
	if x.Codec != "" {
		content := make([]byte, x.Content)
		if x.Codec == "none" {
			copy(content, b)
		} else if err := codec.NewZstd(codec.Options{Window: 1 << 20, Concurrency: 1, MaxContent: len(content)}).Decode(content, b); err != nil {
			return nil, err
		}
		if strings.HasPrefix(x.Codec, "shuffle") {
			flat := slices.Clone(content)
			codec.Unshuffle(content, flat, size)
		}
		b = content[x.Within : x.Within+int64(size)]
	}
	if !x.Big {
		cdf5.Swap(b, b, size)
	}
	return b, nil
}

// TestWhere: the bytes of an element are where Where says, in any layout, and the request says so, too.
func TestWhere(t *testing.T) {
	checks(t, 1000)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := drawModel(t, 0)
		fsys := vfs.NewMem()
		t.Logf("%d ranks, %d records, vars %+v, %s", m.ranks, m.records, m.s.vars, drawWrite(t, m, fsys, "d.nc"))
		r, err := openWith(ctx, "d.nc", &OpenOptions{Workers: 1}, knobs{fs: fsys})
		must(err)
		defer r.Close()
		for v := range r.schema.vars {
			sv := &r.schema.vars[v]
			shape := r.schema.Shape(VarID(v))
			if sv.Record {
				shape = append([]int64{r.records}, shape...)
			}
			if product(shape) == 0 {
				continue
			}
			for range 3 {
				index, at := make([]int64, len(shape)), int64(0)
				for i, n := range shape {
					index[i] = rapid.Int64Range(0, n-1).Draw(t, "index")
					if i > 0 || !sv.Record {
						at = at*n + index[i]
					}
				}
				x := need(r.Where(ctx, sv.Name, index))
				owner := m.owners(VarID(v))[at]
				if (x == nil) != (owner < 0) {
					t.Fatalf("%q%v: %+v, the owner is %d", sv.Name, index, x, owner)
				}
				if x == nil {
					continue
				}
				want := make([]byte, sv.Type.Size())
				must(r.ReadBytes(ctx, sv.Name, index, slices.Repeat([]int64{1}, len(index)), want, true))
				if got, err := element(fsys, x, len(want)); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%q%v at %+v: %x, want %x (%v)", sv.Name, index, x, got, want, err)
				}
				if sv.Decomp == 0 {
					continue
				}
				mp := need(r.Map(ctx, sv.Decomp))
				reqs := mp.AppendReqs(nil, x.Rank)
				if reqs[x.Request] != x.Run || at < x.Run.Offset || at >= x.Run.Offset+x.Run.Length {
					t.Fatalf("%q%v: request %d is %+v, said to be %+v, element %d", sv.Name, index, x.Request, reqs[x.Request], x.Run, at)
				}
				for _, other := range x.Also {
					if other >= x.Rank || !slices.ContainsFunc(mp.AppendReqs(nil, other), func(q decomp.Req) bool { return at >= q.Offset && at < q.Offset+q.Length }) {
						t.Fatalf("%q%v: rank %d is said to have it, too, beside %d", sv.Name, index, other, x.Rank)
					}
				}
			}
		}
	})
}

// TestWhereAppended: records that an append added lie in its own files.
func TestWhereAppended(t *testing.T) {
	for _, h := range crashtest.Some(t, 2, histories()) {
		fsys := memOf(t, h.write(t))
		r, err := openWith(t.Context(), sampleBase, nil, knobs{fs: fsys})
		must(err)
		v, _ := r.schema.VarID("T")
		shape := append([]int64{r.records}, r.schema.Shape(v)...)
		seen := map[string]bool{}
		for rec := range r.records {
			index := make([]int64, len(shape))
			index[0] = rec
			x, err := r.Where(t.Context(), "T", index)
			if err != nil {
				t.Fatalf("%s: %v", h.name, err)
			}
			if x == nil {
				continue
			}
			want := make([]byte, r.schema.vars[v].Type.Size())
			must(r.ReadBytes(t.Context(), "T", index, slices.Repeat([]int64{1}, len(index)), want, true))
			if got, err := element(fsys, x, len(want)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: record %d at %+v: %x, want %x (%v)", h.name, rec, x, got, want, err)
			}
			seen[x.File] = true
		}
		if len(r.sets) > 1 && len(seen) < 2 {
			t.Errorf("%s: all records are in %v", h.name, seen)
		}
		for _, index := range [][]int64{nil, {0}, make([]int64, len(shape)+1), slices.Repeat([]int64{-1}, len(shape)), shape} {
			if _, err := r.Where(t.Context(), "T", index); !errors.Is(err, ErrUsage) {
				t.Errorf("%s: index %v: %v", h.name, index, err)
			}
		}
		if _, err := r.Where(t.Context(), "none", nil); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: no variable: %v", h.name, err)
		}
		for _, f := range r.Files() {
			hd, err := r.StoredHeader(f)
			if err != nil || r.schema.NumDecomps() > 0 && hd.VarIndex("D1.nreqs") < 0 {
				t.Errorf("%s: header of %s: %v", h.name, f.Name, err)
			}
		}
		if _, err := r.StoredHeader(File{Set: 9}); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: no such file: %v", h.name, err)
		}
		r.Close()
	}
}
