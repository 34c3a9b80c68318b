package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
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
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// packedSample writes the toy dataset in compressed form, in chunks of 64 bytes. Some pieces have one chunk, and others have
// several.
func packedSample(t testing.TB, subfiles int, manifest bool, method dataset.Method) *sample {
	s := writeSampleWith(t, newToy(3), &dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: subfiles, Compress: dataset.Compress{Method: method}}, Knobs: dataset.Knobs{Chunk: 64}}, manifest, 2)
	s.name = fmt.Sprintf("%v-%d-manifest=%v", method, subfiles, manifest)
	return s
}

// TestCompressedIsAnother checks that a reader of the uncompressed format does not find its HDF5 datasets in a compressed file.
func TestCompressedIsAnother(t *testing.T) {
	s := packedSample(t, 1, true, dataset.AutoCompression)
	file := s.files[s.subfile(0)]
	hf := need(h5.NewFile(bytes.NewReader(file), int64(len(file)), "d.nc.0000"))
	for _, name := range []string{layout.HeaderBlob, layout.DataBlob} {
		if _, err := hf.Dataset("/" + name); !errors.Is(err, fault.ErrMissing) {
			t.Errorf("%s: %v, want ErrMissing", name, err)
		}
	}
	for _, name := range []string{layout.HeaderPacked, layout.DataPacked, layout.IndexPacked} {
		if _, err := hf.Dataset("/" + name); err != nil {
			t.Error(err)
		}
	}
	if m := manifestOf(memOf(t, s.files), sampleBase); m.Codec != dataset.ManifestCodec {
		t.Errorf("codec %q", m.Codec)
	}
	// Readers must reject an unknown codec.
	b := bytes.Replace(s.files[subfile.ManifestName(sampleBase)], []byte(dataset.ManifestCodec), []byte("blobio-zstd-2"), 1)
	o := s.look(t, "codec", s.with(subfile.ManifestName(sampleBase), b))
	if len(o.faults) == 0 {
		t.Error("another codec: no finding")
	}
}

func TestCompressUsage(t *testing.T) {
	for text, want := range map[string]dataset.Compress{"off": {}, "auto": {Method: dataset.AutoCompression}, "zstd": {Method: dataset.Zstd}, "zstd:4": {Method: dataset.Zstd, Level: 4},
		"shuffle": {Method: dataset.ShuffleZstd}, "shuffle+zstd:2": {Method: dataset.ShuffleZstd, Level: 2}, "auto:3": {Method: dataset.AutoCompression, Level: 3}} {
		got, err := dataset.ParseCompress(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := dataset.ParseCompress(got.String()); err != nil || again != got {
			t.Errorf("%q: %v is not read again: %v", text, got, err)
		}
	}
	for _, text := range []string{"", "gzip", "zstd:5", "zstd:0", "zstd:x", "off:1", "none"} {
		if c, err := dataset.ParseCompress(text); !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	mem := vfs.NewMem()
	m := tinyModel(1, 1)
	auto := dataset.Compress{Method: dataset.AutoCompression}
	try := func(what string, err error) {
		if !errors.Is(err, dataset.ErrUsage) || !strings.Contains(err.Error(), "only process-centric files can be compressed") {
			t.Errorf("%s: %v, want a wrong argument", what, err)
		}
	}
	try("create", run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		return m.create(ctx, c, "d.nc", &dataset.Settings{Options: dataset.Options{Compress: auto}, Knobs: dataset.Knobs{Fs: mem}})
	}))
	m.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Subfiles: 1}, Knobs: dataset.Knobs{Fs: mem}})
	try("append", run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		return m.upTo(2).add(ctx, c, "d.nc", &dataset.Settings{Options: dataset.Options{Compress: auto, Subfiles: 1}, Knobs: dataset.Knobs{Fs: mem}})
	}))
	r := opened(t, mem, "d.nc", nil)
	try("convert", convert.Convert(context.Background(), r, "c.nc", &convert.ConvertOptions{Compress: auto}))
	try("convert to blobs", convert.Convert(context.Background(), r, "c.nc", &convert.ConvertOptions{Compress: auto, Blobs: true}))
	if err := (&dataset.Settings{Options: dataset.Options{Compress: dataset.Compress{Method: 7}}}).Validate(); !errors.Is(err, dataset.ErrUsage) {
		t.Error(err)
	}
}

// TestCompressedAgain puts values again after a flush, as a whole and in part. Check must then report the unused space as a
// note.
func TestCompressedAgain(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		mem := vfs.NewMem()
		s := dataset.NewSchema()
		tm, col, k := s.Dim("time", dataset.Unlimited), s.Dim("ncol", 400), s.Dim("k", 100)
		d := s.Decomp(col)
		x := s.Var("x", cdf5.Double, []dataset.DimID{tm, col}, dataset.Decomposed(d))
		y := s.Var("y", cdf5.Int, []dataset.DimID{tm, k})
		o := &dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 1, Subfiles: 1, Compress: dataset.Compress{Method: dataset.AutoCompression}}, Knobs: dataset.Knobs{Fs: mem, Chunk: 64}}
		noError(t, run(2, func(ctx context.Context, c comm.Comm) error {
			c = isolateIf(c, isolate)
			w := need(write.CreateWith(ctx, c, "d.nc", s, []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 200 * int64(c.Rank()), Length: 200}}}}, o))
			v := make([]float64, 200)
			z := make([]int32, 100)
			for round := range 3 {
				for i := range v {
					v[i] = float64(round) + float64(i)/7
				}
				for i := range z {
					z[i] = int32(i * (round + 1))
				}
				must(write.Put(w, x, 0, v))
				from := int64(30 * round)
				must(write.PutAt(w, y, 0, []int64{from}, []int64{100 - from}, z[from:]))
				must(w.Flush(ctx))
				clear(v)
				clear(z)
			}
			return w.Close(ctx)
		}))
		r := need(read.OpenWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: mem}))
		got, z := make([]float64, 400), make([]int32, 100)
		must(r.Read(context.Background(), "x", nil, nil, got))
		must(r.Read(context.Background(), "y", nil, nil, z))
		for i := range got {
			if want := 2 + float64(i%200)/7; got[i] != want {
				t.Fatalf("x[%d] = %v, want %v", i, got[i], want)
			}
		}
		for i := range z {
			if want := int32(i * (min(i/30, 2) + 1)); z[i] != want {
				t.Fatalf("y[%d] = %v, want %v", i, z[i], want)
			}
		}
		r.Close()
		notes := 0
		for f := range check.CheckWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: mem}) {
			if f.Severity != dataset.Note {
				t.Error(f)
			}
			if f.Field == layout.DataPacked {
				notes++
			}
		}
		if notes != 1 {
			t.Errorf("%d notes of bytes that belong to nothing", notes)
		}
	}
}

// TestCompressedChoice checks the choices of "auto": noise is not compressed, smooth fields are shuffled first, and fields of
// few different values are not shuffled.
func TestCompressedChoice(t *testing.T) {
	const n = 64 << 10
	s := dataset.NewSchema()
	col := s.Dim("ncol", n)
	d := s.Decomp(col)
	names := []string{"noise", "smooth", "few"}
	for _, name := range names {
		s.Var(name, cdf5.Float, []dataset.DimID{col}, dataset.Decomposed(d))
	}
	mem := vfs.NewMem()
	rnd := rand.New(rand.NewSource(1))
	data := [3][]float32{make([]float32, n), make([]float32, n), make([]float32, n)}
	for i := range n {
		data[0][i] = math.Float32frombits(rnd.Uint32())
		data[1][i] = 280 + 20*float32(math.Sin(float64(i)/3000))
		if rnd.Intn(5) == 0 {
			data[2][i] = float32([]float64{1e20, 0.37, -4.125, 288.15}[rnd.Intn(4)])
		}
	}
	noError(t, run(1, func(ctx context.Context, c comm.Comm) error {
		w := need(write.CreateWith(ctx, c, "d.nc", s, []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 0, Length: n}}}}, &dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.AutoCompression}}, Knobs: dataset.Knobs{Fs: mem}}))
		for v := range data {
			must(write.Put(w, dataset.VarID(v), 0, data[v]))
		}
		return w.Close(ctx)
	}))
	r := opened(t, mem, "d.nc", nil)
	want := map[string]string{"noise": "none", "smooth": "shuffle+zstd", "few": "zstd"}
	for x, err := range r.Now().Data.Extents(context.Background()) {
		must(err)
		if w, ok := want[x.Name]; ok {
			t.Logf("%s: %s, %d bytes for %d", x.Name, x.Codec, x.Bytes, x.Content)
			if x.Codec != w {
				t.Errorf("%s: %s, want %s", x.Name, x.Codec, w)
			}
			if x.Content != 4*n {
				t.Errorf("%s: content %d", x.Name, x.Content)
			}
		}
	}
	for v, name := range names {
		got := make([]float32, n)
		must(r.Read(context.Background(), name, nil, nil, got))
		if !bytes.Equal(elem.Bytes(got), elem.Bytes(data[v])) {
			t.Errorf("%s: other values", name)
		}
	}
}
