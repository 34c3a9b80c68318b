package blob

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"blobio/decomp"
	"blobio/internal/base/codec"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"

	"pgregory.net/rapid"
)

// element reads the element at a Spot from the file's bytes, big-endian.
func element(file []byte, x *read.Spot, size int) ([]byte, error) {
	b := slices.Clone(file[x.Offset : x.Offset+x.Bytes])
	if x.Codec != "" {
		content := make([]byte, x.Content)
		switch {
		case strings.Contains(x.Codec, "deflate"):
			z, err := zlib.NewReader(bytes.NewReader(b))
			if err == nil {
				_, err = io.ReadFull(z, content)
			}
			if err != nil {
				return nil, err
			}
		case strings.Contains(x.Codec, "zstd"):
			if err := codec.NewZstd(codec.Options{Window: 1 << 20, Concurrency: 1, MaxContent: len(content)}).Decode(content, b); err != nil {
				return nil, err
			}
		case x.Codec == "none" || x.Codec == "shuffle": // the later codec did not reduce the size, so it was not applied
			copy(content, b)
		default:
			return nil, fmt.Errorf("codec %q", x.Codec)
		}
		if strings.HasPrefix(x.Codec, "shuffle") {
			codec.Unshuffle(content, slices.Clone(content), size)
		}
		b = content[x.Within : x.Within+int64(size)]
	}
	if !x.Big {
		elem.Swap(b, b, size)
	}
	return b, nil
}

// TestWhere checks in any layout that the bytes of an element are at the position that Where returns, and that the returned
// request contains the element.
func TestWhere(t *testing.T) {
	checks(t, 1000)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := drawModel(t, 0)
		fsys := vfs.NewMem()
		t.Logf("%d ranks, %d records, vars %+v, %s", m.ranks, m.records, m.s.Vars, drawWrite(t, m, fsys, "d.nc"))
		r := need(read.OpenWith(ctx, "d.nc", &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: fsys}))
		defer r.Close()
		for v := range r.Data.Schema.Vars {
			sv := &r.Data.Schema.Vars[v]
			shape := r.Data.Schema.Shape(dataset.VarID(v))
			if sv.Record {
				shape = append([]int64{r.Data.Records}, shape...)
			}
			if dataset.Product(shape) == 0 {
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
				x := need(r.Now().Elems.Where(ctx, sv.Name, index))
				owner := m.owners(dataset.VarID(v))[at]
				if (x == nil) != (owner < 0) {
					t.Fatalf("%q%v: %+v, the owner is %d", sv.Name, index, x, owner)
				}
				if x == nil {
					continue
				}
				want := make([]byte, sv.Type.Size())
				must(r.ReadBytes(ctx, sv.Name, index, slices.Repeat([]int64{1}, len(index)), want, true))
				if got, err := element(need(slurp(fsys, x.File)), x, len(want)); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%q%v at %+v: %x, want %x (%v)", sv.Name, index, x, got, want, err)
				}
				if sv.Decomp == 0 {
					continue
				}
				mp := need(r.Now().Maps.Map(ctx, sv.Decomp))
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

// TestWhereRefuses checks that Where returns an error for an index, a variable or a file that does not exist.
func TestWhereRefuses(t *testing.T) {
	for _, h := range crashtest.Some(t, 2, histories()) {
		r := opened(t, memOf(t, h.write(t)), sampleBase, nil)
		v, _ := r.Data.Schema.VarID("T")
		shape := append([]int64{r.Data.Records}, r.Data.Schema.Shape(v)...)
		for _, index := range [][]int64{nil, {0}, make([]int64, len(shape)+1), slices.Repeat([]int64{-1}, len(shape)), shape} {
			if _, err := r.Now().Elems.Where(t.Context(), "T", index); !errors.Is(err, dataset.ErrUsage) {
				t.Errorf("%s: index %v: %v", h.name, index, err)
			}
		}
		if _, err := r.Now().Elems.Where(t.Context(), "none", nil); !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("%s: no variable: %v", h.name, err)
		}
		for _, f := range r.Now().Data.List() {
			hd, err := r.Now().Data.StoredHeader(f)
			if err != nil || hd.VarIndex("D1.nreqs") < 0 {
				t.Errorf("%s: header of %s: %v", h.name, f.Name, err)
			}
		}
		if _, err := r.Now().Data.StoredHeader(read.File{Set: 9}); !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("%s: no such file: %v", h.name, err)
		}
	}
}

// TestWhereInNetCDF4 checks that each element of a netCDF-4 file is at the position that Where returns, in one of the file's
// Extents.
func TestWhereInNetCDF4(t *testing.T) {
	m := tinyModel(1, 3)
	for _, n := range []convert.NetCDF4Options{{}, {ChunkBytes: 24}, {Deflate: 1, ChunkBytes: 24}, {Deflate: 6}, {Zstd: 3, NoShuffle: true}} {
		mem := vfs.NewMem()
		m.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Subfiles: 1}, Knobs: dataset.Knobs{Fs: mem}})
		file := need(nc4Of(t, mem, 1, convert.ConvertOptions{NetCDF4: &n}))
		r := opened(t, mem, "out.nc", nil)
		var extents []read.Extent
		for e, err := range r.Now().Data.Extents(t.Context()) {
			must(err)
			extents = append(extents, e)
		}
		coded, several := false, false
		for v := range r.Data.Schema.Vars {
			sv := &r.Data.Schema.Vars[v]
			shape := r.Data.Schema.Shape(dataset.VarID(v))
			if sv.Record {
				shape = append([]int64{r.Data.Records}, shape...)
			}
			for at := range dataset.Product(shape) {
				index := make([]int64, len(shape))
				for i, rest := len(shape)-1, at; i >= 0; i-- {
					index[i], rest = rest%shape[i], rest/shape[i]
				}
				x, err := r.Now().Elems.Where(t.Context(), sv.Name, index)
				if err != nil || x == nil {
					t.Fatalf("%+v: %q%v: %+v, %v", n, sv.Name, index, x, err)
				}
				want := make([]byte, sv.Type.Size())
				must(r.ReadBytes(t.Context(), sv.Name, index, slices.Repeat([]int64{1}, len(index)), want, true))
				if got, err := element(file, x, len(want)); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%+v: %q%v at %+v: %x, want %x (%v)", n, sv.Name, index, x, got, want, err)
				}
				k := slices.IndexFunc(extents, func(e read.Extent) bool {
					return e.Name == sv.Name && x.Offset >= e.Offset && x.Offset+x.Bytes <= e.Offset+e.Bytes && e.Codec == x.Codec &&
						(!sv.Record && e.Record == -1 || sv.Record && x.Record >= e.Record && x.Record < e.Record+e.Records)
				})
				if k < 0 {
					t.Fatalf("%+v: %q%v at %+v is in none of %+v", n, sv.Name, index, x, extents)
				}
				coded, several = coded || x.Codec != "", several || extents[k].Records > 1
			}
		}
		if coded != (n.Deflate > 0) && n.Zstd == 0 || n.ChunkBytes == 0 && !several {
			t.Errorf("%+v: compressed elements %v, a chunk of several records %v", n, coded, several)
		}
	}
}
