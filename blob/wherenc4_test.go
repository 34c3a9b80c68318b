package blob

import (
	"bytes"
	"compress/zlib"
	"io"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/internal/codec"
	"blobio/internal/vfs"
)

// plainNC4 reads the element that a Spot of a netCDF-4 file points at, without h5, high byte first.
func plainNC4(t *testing.T, file []byte, x *Spot, size int) []byte {
	t.Helper()
	b := slices.Clone(file[x.Offset : x.Offset+x.Bytes])
	if x.Codec != "" {
		content := make([]byte, x.Content)
		switch {
		case strings.Contains(x.Codec, "deflate"):
			z, err := zlib.NewReader(bytes.NewReader(b))
			must(err)
			_, err = io.ReadFull(z, content)
			must(err)
		case strings.Contains(x.Codec, "zstd"):
			must(codec.NewZstd(codec.Options{MaxContent: len(content)}).Decode(content, b))
		case x.Codec == "shuffle": // what came behind it made it no smaller
			content = b
		default:
			t.Fatalf("codec %q", x.Codec)
		}
		if strings.HasPrefix(x.Codec, "shuffle") {
			codec.Unshuffle(content, slices.Clone(content), size)
		}
		b = content[x.Within : x.Within+int64(size)]
	}
	if !x.Big {
		cdf5.Swap(b, b, size)
	}
	return b
}

// TestWhereInNetCDF4: each element of a netCDF-4 file is where Where says, in one of its Extents.
func TestWhereInNetCDF4(t *testing.T) {
	m := tinyModel(1, 3)
	for _, n := range []NetCDF4Options{{}, {ChunkBytes: 24}, {Deflate: 1, ChunkBytes: 24}, {Deflate: 6}, {Zstd: 3, NoShuffle: true}} {
		mem := vfs.NewMem()
		m.writeTo(t, mem, &settings{Options: Options{Subfiles: 1}, knobs: knobs{fs: mem}})
		file := need(nc4Of(t, mem, 1, ConvertOptions{NetCDF4: &n}))
		r, err := openWith(t.Context(), "out.nc", nil, knobs{fs: mem})
		must(err)
		defer r.Close()
		var extents []Extent
		for e, err := range r.Extents(t.Context()) {
			must(err)
			extents = append(extents, e)
		}
		coded, several := false, false
		for v := range r.schema.vars {
			sv := &r.schema.vars[v]
			shape := r.schema.Shape(VarID(v))
			if sv.Record {
				shape = append([]int64{r.records}, shape...)
			}
			for at := range product(shape) {
				index := make([]int64, len(shape))
				for i, rest := len(shape)-1, at; i >= 0; i-- {
					index[i], rest = rest%shape[i], rest/shape[i]
				}
				x, err := r.Where(t.Context(), sv.Name, index)
				if err != nil || x == nil {
					t.Fatalf("%+v: %q%v: %+v, %v", n, sv.Name, index, x, err)
				}
				want := make([]byte, sv.Type.Size())
				must(r.ReadBytes(t.Context(), sv.Name, index, slices.Repeat([]int64{1}, len(index)), want, true))
				if got := plainNC4(t, file, x, len(want)); !bytes.Equal(got, want) {
					t.Fatalf("%+v: %q%v at %+v: %x, want %x", n, sv.Name, index, x, got, want)
				}
				k := slices.IndexFunc(extents, func(e Extent) bool {
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
