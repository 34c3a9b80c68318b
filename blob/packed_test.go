package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/elem"
	"blobio/internal/h5"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// packedSample is the toy dataset compressed, in chunks of 64 bytes: pieces of one and of several.
func packedSample(t testing.TB, subfiles int, manifest bool, method Method) *sample {
	s := writeSampleWith(t, newToy(3), &settings{Options: Options{Layout: ProcessCentric, Subfiles: subfiles, Compress: Compress{Method: method}}, knobs: knobs{chunk: 64}}, manifest, 2)
	s.name = fmt.Sprintf("%v-%d-manifest=%v", method, subfiles, manifest)
	return s
}

func TestCompressedSamples(t *testing.T) {
	for _, method := range []Method{AutoCompression, Zstd, ShuffleZstd} {
		for _, manifest := range []bool{true, false} {
			s := packedSample(t, 2, manifest, method)
			o := s.run(t, faulty{name: "good", files: s.files, at: -1})
			if len(o.errs) > 0 || len(o.wrong) > 0 || len(o.faults) > 0 {
				t.Errorf("%s: %v %v %v", s.name, o.errs, o.wrong, o.faults)
			}
		}
	}
}

// TestCompressedFlipped: no byte of header, data and index may change without a finding.
func TestCompressedFlipped(t *testing.T) {
	rnd := rand.New(rand.NewSource(5))
	for _, s := range []*sample{packedSample(t, 1, true, ShuffleZstd), packedSample(t, 2, true, AutoCompression)} {
		name := s.subfile(0)
		file := s.files[name]
		pl, _ := s.place(t, name)
		for at := pl.HeaderOff; at < int64(len(file)); at++ {
			if at == pl.HeaderOff+pl.HeaderLen {
				at = pl.DataOff // zeros up to a page
			}
			if !long && rnd.Intn(8) > 0 {
				continue
			}
			o := s.run(t, faulty{name: fmt.Sprintf("byte %#x", at), files: s.with(name, flipped(file, at, uint(rnd.Intn(8)))), at: -1})
			inPad := at >= pl.DataOff+pl.Packed.Stored && at < pl.Packed.IndexOff
			if len(o.faults) == 0 && !inPad {
				t.Errorf("%s: byte %#x: no finding", s.name, at)
			}
			if len(o.wrong) > 0 && at >= pl.DataOff {
				t.Errorf("%s: byte %#x: read as if nothing was: %v", s.name, at, o.wrong)
			}
		}
	}
}

func TestCompressedTruncated(t *testing.T) {
	s := packedSample(t, 1, false, ShuffleZstd)
	name := s.subfile(0)
	file := s.files[name]
	for n := range len(file) {
		if n%7 != 0 && !long {
			continue
		}
		if o := s.run(t, faulty{name: fmt.Sprintf("%d bytes", n), files: s.with(name, file[:n]), at: -1}); len(o.faults) == 0 {
			t.Errorf("%d of %d bytes: no finding", n, len(file))
		}
	}
}

// resealed gives a changed index right checksums.
func resealed(file []byte, idx int64) []byte {
	le := binary.LittleEndian
	b := file[idx:]
	le.PutUint32(b[24:], crc32.ChecksumIEEE(b[layout.IndexHead:]))
	le.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
	return file
}

// TestCompressedHostile: an index that was made to be wrong, with good checksums.
func TestCompressedHostile(t *testing.T) {
	le := binary.LittleEndian
	for _, manifest := range []bool{true, false} {
		s := packedSample(t, 1, manifest, ShuffleZstd)
		name := s.subfile(0)
		good := s.files[name]
		pl, _ := s.place(t, name)
		idx := pl.Packed.IndexOff
		ents := idx + layout.IndexHead + pl.TableLen()
		n := pl.Packed.Index.Total
		if n < 20 {
			t.Fatalf("%d entries", n)
		}
		type change struct {
			what string
			at   int64 // where a finding must point; -1 not held
			f    func(b []byte)
		}
		entry := func(b []byte, k int64) []byte { return b[ents+k*layout.IndexEntryLen:] }
		list := []change{
			{"version", idx + 8, func(b []byte) { le.PutUint32(b[idx+8:], 2) }},
			{"chunk", idx + 12, func(b []byte) { le.PutUint32(b[idx+12:], 128) }},
			{"entries", idx + 16, func(b []byte) { le.PutUint64(b[idx+16:], uint64(n+1)) }},
			{"entries, very many", idx + 16, func(b []byte) { le.PutUint64(b[idx+16:], math.MaxUint64) }},
			{"magic", idx, func(b []byte) { b[idx] = 'B' }},
			{"nreqs", idx + layout.IndexHead, func(b []byte) { le.PutUint32(b[idx+layout.IndexHead:], 1<<30) }},
			{"nreqs below 0", idx + layout.IndexHead, func(b []byte) { le.PutUint32(b[idx+layout.IndexHead:], 1<<31) }},
			{"start", idx + layout.IndexHead + 4, func(b []byte) { b[idx+layout.IndexHead+4] = 3 }},
			{"count", idx + layout.IndexHead + 12, func(b []byte) { le.PutUint64(b[idx+layout.IndexHead+12:], 1<<60) }},
			{"form", ents + 3*layout.IndexEntryLen, func(b []byte) { entry(b, 3)[12] = 9 }},
			{"never written", ents + 3*layout.IndexEntryLen, func(b []byte) { entry(b, 3)[12] = 0 }},
			{"zeros", ents + 3*layout.IndexEntryLen + 13, func(b []byte) { entry(b, 3)[14] = 1 }},
			{"offset", ents + 4*layout.IndexEntryLen, func(b []byte) { le.PutUint64(entry(b, 4), 1<<62) }},
			{"offset below 0", ents + 4*layout.IndexEntryLen, func(b []byte) { le.PutUint64(entry(b, 4), 1<<63) }},
			{"stored", ents + 4*layout.IndexEntryLen, func(b []byte) { le.PutUint32(entry(b, 4)[8:], math.MaxUint32) }},
			{"stored nothing", ents + 4*layout.IndexEntryLen, func(b []byte) { le.PutUint32(entry(b, 4)[8:], 0) }},
			{"two of one", -1, func(b []byte) { copy(entry(b, 1)[:layout.IndexEntryLen], entry(b, 0)) }},
			{"sum of the content", -1, func(b []byte) { entry(b, n-1)[20]++ }},
			{"sum of the stored", -1, func(b []byte) { entry(b, n-1)[16]++ }},
		}
		for _, c := range list {
			b := slices.Clone(good)
			c.f(b)
			o := s.run(t, faulty{name: c.what, files: s.with(name, resealed(b, idx)), at: -1})
			if len(o.faults) == 0 {
				t.Errorf("%s, manifest %v: no finding", c.what, manifest)
			} else if c.at >= 0 {
				o.foundAt(t, s.name+": "+c.what, name, c.at)
			}
			if len(o.wrong) > 0 {
				t.Errorf("%s, manifest %v: wrong without a word: %v", c.what, manifest, o.wrong)
			}
		}
		rnd := rand.New(rand.NewSource(9)) // and anything, anywhere
		for range times(300, 20000) {
			b := slices.Clone(good)
			for range 1 + rnd.Intn(3) {
				at := idx + rnd.Int63n(pl.Packed.IndexLen-7)
				switch rnd.Intn(3) {
				case 0:
					b[at] ^= 1 << rnd.Intn(8)
				case 1:
					le.PutUint32(b[at:], uint32(absurd[rnd.Intn(len(absurd))]))
				default:
					le.PutUint64(b[at:], absurd[rnd.Intn(len(absurd))])
				}
			}
			s.run(t, faulty{name: "index at random", files: s.with(name, resealed(b, idx)), at: -1})
		}
	}
}

// TestCompressedSmallFileLargePromise: a file of some KiB whose chunks all say that they are large.
func TestCompressedSmallFileLargePromise(t *testing.T) {
	const n = 1 << 30
	s := NewSchema()
	col := s.Dim("ncol", n)
	d := s.Decomp(col)
	s.Var("x", cdf5.Byte, []DimID{col}, Decomposed(d))
	b := decomp.NewBuilder([]int64{n}, 1)
	must(b.Set(0, []decomp.Req{{Offset: 0, Length: n}}))
	m, err := b.Map()
	must(err)
	e, err := newEngine(&settings{Options: Options{Layout: ProcessCentric, Compress: Compress{Method: Zstd}, Buffer: 1 << 20, Workers: 1}, knobs: knobs{chunk: layout.MaxChunk}}, nil, s,
		&layout.Shape{Ranks: 1, Subfiles: 1, Blobs: 1, Elems: []int64{n}, MaxReqs: []int64{1}, Wide: []bool{false}},
		&team{all: tableOf(1, 1, func(int, int) (int64, int64) { return n, 1 })}, []*rankRow{{runs: [][]decomp.Req{m.AppendReqs(nil, 0)}}})
	must(err)
	must(e.settle(0))
	x, err := layout.NewIndex(&e.place.Place, e.table, layout.MaxChunk)
	must(err)
	x.Entries = make([]layout.Entry, x.Total)
	data := make([]byte, 600)
	e.pack.end = int64(len(data))
	for k := range x.Entries { // all are the same 512 bytes
		x.Entries[k] = layout.Entry{Off: 8, Stored: 512, Form: layout.FormZstd, Sum: crc32.ChecksumIEEE(data[8:520])}
	}
	le := binary.LittleEndian
	le.PutUint32(data[4:], n)
	for k := range 2 {
		x.Entries[k] = layout.Entry{Off: int64(4 * k), Stored: 4, Form: layout.FormRaw, Sum: crc32.ChecksumIEEE(data[4*k : 4*k+4]), Content: crc32.ChecksumIEEE(data[4*k : 4*k+4])}
	}
	mem := vfs.NewMem()
	f, err := mem.Create("d.nc.0000")
	must(err)
	_, err = f.WriteAt(data, e.place.DataOff)
	must(err)
	must(e.sealPacked(f, x, 0))
	must(f.Close())
	before := allocated()
	r, err := openWith(context.Background(), "d.nc", &OpenOptions{Workers: 1}, knobs{fs: mem})
	must(err)
	defer r.Close()
	if _, err := r.RankBlob(context.Background(), "x", 0, 0); !errors.Is(err, ErrCorrupt) {
		t.Errorf("blob: %v, want ErrCorrupt", err)
	}
	if bad := checkErrors(mem, "d.nc"); len(bad) == 0 {
		t.Error("no finding")
	}
	if got := allocated() - before; got > 96<<20 && !raceEnabled { // buffers of the largest chunk; with the race detector pools forget
		t.Errorf("%d MiB allocated for a file of %d bytes", got>>20, len(data))
	}
}

// TestCompressedSame: the bytes do not depend on workers, buffers, memory, nor on who shares a heap.
func TestCompressedSame(t *testing.T) {
	m := tinyModel(3, 3)
	for _, method := range []Method{AutoCompression, Zstd, ShuffleZstd} {
		for _, fixed := range []bool{false, true} {
			var want map[string][]byte
			for k, o := range []settings{{Options: Options{Workers: 1}}, {Options: Options{Workers: 2}}, {Options: Options{Workers: 5, Buffer: 1 << 20}}, {}, {Options: Options{Memory: 400}}, {Options: Options{Aggregators: 1}}} {
				mem := vfs.NewMem()
				o.Layout, o.fs, o.Compress, o.chunk, o.Subfiles, o.Retain = ProcessCentric, mem, Compress{Method: method}, 8, 2, LendUntilClose
				if fixed {
					o.Records = m.records
				}
				if err := comm.Run(context.Background(), m.ranks, &comm.Options{RanksPerNode: k}, func(ctx context.Context, c comm.Comm) error {
					if k > 2 {
						c = comm.Isolate(c)
					}
					return m.create(ctx, c, "d.nc", &o)
				}); err != nil {
					t.Fatal(err)
				}
				got := memFiles(t, mem)
				delete(got, subfile.ManifestName("d.nc"))
				if want == nil {
					want = got
				}
				for name, b := range got {
					if !bytes.Equal(b, want[name]) {
						t.Errorf("%v, fixed %v, %d: %s: %s", method, fixed, k, name, firstDiff(b, want[name]))
					}
				}
			}
		}
	}
}

// TestCompressedIsAnother: whoever looks for the datasets of the plain form finds none of them.
func TestCompressedIsAnother(t *testing.T) {
	s := packedSample(t, 1, true, AutoCompression)
	file := s.files[s.subfile(0)]
	hf, err := h5.NewFile(bytes.NewReader(file), int64(len(file)), "d.nc.0000")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{layout.HeaderBlob, layout.DataBlob} {
		if _, err := hf.Dataset("/" + name); !errors.Is(err, h5.ErrMissing) {
			t.Errorf("%s: %v, want ErrMissing", name, err)
		}
	}
	for _, name := range []string{layout.HeaderPacked, layout.DataPacked, layout.IndexPacked} {
		if _, err := hf.Dataset("/" + name); err != nil {
			t.Error(err)
		}
	}
	if m := manifestOf(memOf(t, s.files), sampleBase); m.Codec != manifestCodec {
		t.Errorf("codec %q", m.Codec)
	}
	// A codec that is not known is refused.
	b := bytes.Replace(s.files[subfile.ManifestName(sampleBase)], []byte(manifestCodec), []byte("blobio-zstd-2"), 1)
	o := s.look(t, "codec", s.with(subfile.ManifestName(sampleBase), b))
	if len(o.faults) == 0 {
		t.Error("another codec: no finding")
	}
}

func TestCompressUsage(t *testing.T) {
	for text, want := range map[string]Compress{"off": {}, "auto": {Method: AutoCompression}, "zstd": {Method: Zstd}, "zstd:4": {Zstd, 4},
		"shuffle": {Method: ShuffleZstd}, "shuffle+zstd:2": {ShuffleZstd, 2}, "auto:3": {AutoCompression, 3}} {
		got, err := ParseCompress(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := ParseCompress(got.String()); err != nil || again != got {
			t.Errorf("%q: %v is not read again: %v", text, got, err)
		}
	}
	for _, text := range []string{"", "gzip", "zstd:5", "zstd:0", "zstd:x", "off:1", "none"} {
		if c, err := ParseCompress(text); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	mem := vfs.NewMem()
	m := tinyModel(1, 1)
	auto := Compress{Method: AutoCompression}
	try := func(what string, err error) {
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "CDF-5 has no compressed data") {
			t.Errorf("%s: %v, want a wrong argument", what, err)
		}
	}
	try("create", run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		return m.create(ctx, c, "d.nc", &settings{Options: Options{Compress: auto}, knobs: knobs{fs: mem}})
	}))
	m.writeTo(t, mem, &settings{Options: Options{Subfiles: 1}, knobs: knobs{fs: mem}})
	try("append", run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		return m.upTo(2).add(ctx, c, "d.nc", &settings{Options: Options{Compress: auto, Subfiles: 1}, knobs: knobs{fs: mem}})
	}))
	r, err := openWith(context.Background(), "d.nc", nil, knobs{fs: mem})
	must(err)
	defer r.Close()
	try("convert", Convert(context.Background(), r, "c.nc", &ConvertOptions{Compress: auto}))
	try("convert to blobs", Convert(context.Background(), r, "c.nc", &ConvertOptions{Compress: auto, Blobs: true}))
	if err := (&settings{Options: Options{Compress: Compress{Method: 7}}}).Validate(); !errors.Is(err, ErrUsage) {
		t.Error(err)
	}
}

// TestCompressedSets: a plain set behind a compressed one, and one again.
func TestCompressedSets(t *testing.T) {
	mem := vfs.NewMem()
	m := tinyModel(4, 3)
	for k, c := range []Compress{{Method: ShuffleZstd}, {}, {Method: Zstd, Level: 2}} {
		o := &settings{Options: Options{Layout: ProcessCentric, Subfiles: 2, Compress: c}, knobs: knobs{fs: mem, chunk: 8}}
		if err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
			if k == 0 {
				return m.upTo(1).create(ctx, c, "d.nc", o)
			}
			return m.upTo(int64(k+1)).add(ctx, c, "d.nc", o)
		}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := canonicalOf(mem, "d.nc")
	must(err)
	if want := m.canonical(false); !bytes.Equal(got, want) {
		t.Error(firstDiff(got, want))
	}
	for f := range checkWith(context.Background(), "d.nc", nil, knobs{fs: mem}) {
		if f.Severity != Note {
			t.Error(f)
		}
	}
}

// TestCompressedAgain: what is put again in another flush, whole or in part, and the note of what it leaves.
func TestCompressedAgain(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		mem := vfs.NewMem()
		s := NewSchema()
		tm, col, k := s.Dim("time", Unlimited), s.Dim("ncol", 400), s.Dim("k", 100)
		d := s.Decomp(col)
		x := s.Var("x", cdf5.Double, []DimID{tm, col}, Decomposed(d))
		y := s.Var("y", cdf5.Int, []DimID{tm, k})
		o := &settings{Options: Options{Layout: ProcessCentric, Records: 1, Subfiles: 1, Compress: Compress{Method: AutoCompression}}, knobs: knobs{fs: mem, chunk: 64}}
		if err := run(2, func(ctx context.Context, c comm.Comm) error {
			if isolate {
				c = comm.Isolate(c)
			}
			w, err := createWith(ctx, c, "d.nc", s, []Part{{d, []decomp.Req{{Offset: 200 * int64(c.Rank()), Length: 200}}}}, o)
			if err != nil {
				return err
			}
			v := make([]float64, 200)
			z := make([]int32, 100)
			for round := range 3 {
				for i := range v {
					v[i] = float64(round) + float64(i)/7
				}
				for i := range z {
					z[i] = int32(i * (round + 1))
				}
				if err := Put(w, x, 0, v); err != nil {
					return err
				}
				from := int64(30 * round)
				if err := PutAt(w, y, 0, []int64{from}, []int64{100 - from}, z[from:]); err != nil {
					return err
				}
				if err := w.Flush(ctx); err != nil {
					return err
				}
				clear(v)
				clear(z)
			}
			return w.Close(ctx)
		}); err != nil {
			t.Fatal(err)
		}
		r, err := openWith(context.Background(), "d.nc", nil, knobs{fs: mem})
		must(err)
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
		for f := range checkWith(context.Background(), "d.nc", nil, knobs{fs: mem}) {
			if f.Severity != Note {
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

// TestCompressedChoice: noise is left alone, smooth fields are shuffled, fields of few values are not.
func TestCompressedChoice(t *testing.T) {
	const n = 64 << 10
	s := NewSchema()
	col := s.Dim("ncol", n)
	d := s.Decomp(col)
	names := []string{"noise", "smooth", "few"}
	for _, name := range names {
		s.Var(name, cdf5.Float, []DimID{col}, Decomposed(d))
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
	if err := run(1, func(ctx context.Context, c comm.Comm) error {
		w, err := createWith(ctx, c, "d.nc", s, []Part{{d, []decomp.Req{{Offset: 0, Length: n}}}}, &settings{Options: Options{Layout: ProcessCentric, Compress: Compress{Method: AutoCompression}}, knobs: knobs{fs: mem}})
		if err != nil {
			return err
		}
		for v := range data {
			if err := Put(w, VarID(v), 0, data[v]); err != nil {
				return err
			}
		}
		return w.Close(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	r, err := openWith(context.Background(), "d.nc", nil, knobs{fs: mem})
	must(err)
	defer r.Close()
	want := map[string]string{"noise": "none", "smooth": "shuffle+zstd", "few": "zstd"}
	for x, err := range r.Extents(context.Background()) {
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

func FuzzOpenCompressed(f *testing.F) {
	for _, method := range []Method{AutoCompression, ShuffleZstd} {
		s := packedSample(f, 1, false, method)
		file := s.files[s.subfile(0)]
		f.Add(file)
		f.Add(file[:len(file)-30])
		pl, _ := s.place(f, s.subfile(0))
		for _, at := range []int64{pl.DataOff, pl.Packed.IndexOff + 13, pl.Packed.IndexOff + layout.IndexHead, int64(len(file)) - 10} {
			f.Add(flipped(file, at, 0))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// With checksums of its own the fuzzer would not come far.
		if k := bytes.LastIndex(b, []byte(layout.IndexMagic)); k >= 0 && len(b)-k > layout.IndexHead {
			b = resealed(slices.Clone(b), int64(k))
		}
		fuzzSubfile(t, b)
	})
}

// TestCompressedListsOfNothing: a file of some KiB whose rank has millions of requests, all but one of no elements: its lists are zeros, which compress
// to nothing. It is read only if the reader has memory for them.
func TestCompressedListsOfNothing(t *testing.T) {
	const nreqs, n = 1 << 22, 8
	s := NewSchema()
	col := s.Dim("ncol", n)
	d := s.Decomp(col)
	s.Var("x", cdf5.Byte, []DimID{col}, Decomposed(d))
	o := (&settings{Options: Options{Layout: ProcessCentric, Compress: Compress{Method: Zstd}, Buffer: 1 << 20, Workers: 1}, knobs: knobs{chunk: layout.MaxChunk}}).withDefaults()
	e, err := newEngine(&o, newProcess(&o), s, &layout.Shape{Ranks: 1, Subfiles: 1, Blobs: 1, Elems: []int64{n}, MaxReqs: []int64{nreqs}, Wide: []bool{false}},
		&team{all: tableOf(1, 1, func(int, int) (int64, int64) { return n, nreqs })}, []*rankRow{{runs: [][]decomp.Req{{{Offset: 0, Length: n}}}}})
	must(err)
	must(e.settle(0))
	x, err := layout.NewIndex(&e.place.Place, e.table, layout.MaxChunk)
	must(err)
	x.Entries = make([]layout.Entry, x.Total)
	mem := vfs.NewMem()
	f, err := mem.Create("d.nc.0000")
	must(err)
	put := func(first int64, content []byte) {
		for k := first; len(content) > 0; k++ {
			c := content[:min(len(content), layout.MaxChunk)]
			content = content[len(c):]
			z, err := e.proc.zstd.Encode(nil, c, 1)
			must(err)
			form := uint8(layout.FormZstd)
			if len(z) > len(c) {
				z, form = c, layout.FormRaw
			}
			_, err = f.WriteAt(z, e.place.DataOff+e.pack.end)
			must(err)
			x.Entries[k] = layout.Entry{Off: e.pack.end, Stored: uint32(len(z)), Form: form, Sum: crc32.ChecksumIEEE(z), Content: crc32.ChecksumIEEE(c)}
			e.pack.end += int64(len(z))
		}
	}
	lengths := make([]byte, 4*nreqs)
	lengths[0] = n
	for w, content := range [][]byte{make([]byte, 4*nreqs), lengths} {
		first, _, _ := x.List(0, w, 0)
		put(first, content)
	}
	first, _, _ := x.Piece(0, 0, 0)
	put(first, []byte("abcdefgh"))
	must(e.sealPacked(f, x, 0))
	must(f.Close())
	heapOf(t, "lists of nothing", func() {
		r, err := openWith(context.Background(), "d.nc", &OpenOptions{Workers: 1, Memory: 64 << 20}, knobs{fs: mem})
		must(err)
		defer r.Close()
		if err := r.Read(context.Background(), "x", nil, nil, make([]int8, n)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("read: %v, want ErrTooLarge", err)
		}
	})
	r, err := openWith(context.Background(), "d.nc", &OpenOptions{Workers: 1}, knobs{fs: mem})
	must(err)
	defer r.Close()
	got := make([]int8, n)
	if err := r.Read(context.Background(), "x", nil, nil, got); err != nil || got[7] != 'h' {
		t.Errorf("read with memory: %v %v", got, err)
	}
}
