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
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/process"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// TestCompressedFlipped checks that Check finds a flipped byte in the header, the data or the index of a compressed file.
func TestCompressedFlipped(t *testing.T) {
	rnd := rand.New(rand.NewSource(5))
	for _, s := range []*sample{packedSample(t, 1, true, dataset.ShuffleZstd), packedSample(t, 2, true, dataset.AutoCompression)} {
		name := s.subfile(0)
		file := s.files[name]
		pl, _ := s.place(t, name)
		for at := pl.Header.Off; at < int64(len(file)); at++ {
			if at == pl.Header.Off+pl.Header.Len {
				at = pl.DataOff // skips the zeros between header and data
			}
			if !long && rnd.Intn(80) > 0 {
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
	s := packedSample(t, 1, false, dataset.ShuffleZstd)
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

// resealed computes valid checksums for a changed index.
func resealed(file []byte, idx int64) []byte {
	le := binary.LittleEndian
	b := file[idx:]
	le.PutUint32(b[24:], crc32.ChecksumIEEE(b[layout.IndexHead:]))
	le.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
	return file
}

// TestCompressedHostile checks indexes with wrong entries and valid checksums.
func TestCompressedHostile(t *testing.T) {
	le := binary.LittleEndian
	for _, manifest := range []bool{true, false} {
		s := packedSample(t, 1, manifest, dataset.ShuffleZstd)
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
			at   int64 // required offset of a finding; -1: any
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
		rnd := rand.New(rand.NewSource(9)) // random changes of the index
		for range times(60, 3000) {
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

// TestCompressedSmallFileLargePromise checks a file of some KiB in which all chunks claim to be large.
func TestCompressedSmallFileLargePromise(t *testing.T) {
	const n = 1 << 30
	s := dataset.NewSchema()
	col := s.Dim("ncol", n)
	d := s.Decomp(col)
	s.Var("x", cdf5.Byte, []dataset.DimID{col}, dataset.Decomposed(d))
	b := decomp.NewBuilder([]int64{n}, 1)
	must(b.Set(0, []decomp.Req{{Offset: 0, Length: n}}))
	m := need(b.Map())
	e := need(write.NewEngine(&dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.Zstd}, Buffer: 1 << 20, Workers: 1}, Knobs: dataset.Knobs{Chunk: layout.MaxChunk}}, nil, s,
		&layout.Shape{Ranks: 1, Subfiles: 1, Blobs: 1, Elems: []int64{n}, MaxReqs: []int64{1}, Wide: []bool{false}},
		&write.Team{All: write.TableOf(1, 1, func(int, int) (int64, int64) { return n, 1 })}, []*write.RankRow{{Runs: [][]decomp.Req{m.AppendReqs(nil, 0)}}}))
	must(e.Layout.Settle(0))
	x := need(layout.NewIndex(&e.Layout.Place.Place, e.Layout.Table, layout.MaxChunk))
	x.Entries = make([]layout.Entry, x.Total)
	data := make([]byte, 600)
	e.Pack.End = int64(len(data))
	for k := range x.Entries { // all entries refer to the same 512 bytes
		x.Entries[k] = layout.Entry{Off: 8, Stored: 512, Form: layout.FormZstd, Sum: crc32.ChecksumIEEE(data[8:520])}
	}
	le := binary.LittleEndian
	le.PutUint32(data[4:], n)
	for k := range 2 {
		x.Entries[k] = layout.Entry{Off: int64(4 * k), Stored: 4, Form: layout.FormRaw, Sum: crc32.ChecksumIEEE(data[4*k : 4*k+4]), Content: crc32.ChecksumIEEE(data[4*k : 4*k+4])}
	}
	mem := vfs.NewMem()
	f := need(mem.Create("d.nc.0000"))
	need(f.WriteAt(data, e.Layout.Place.DataOff))
	must(e.Seal.Packed(f, x, 0))
	must(f.Close())
	before := allocated()
	r := opened(t, mem, "d.nc", &read.OpenOptions{Workers: 1})
	if _, err := r.Now().Elems.RankBlob(context.Background(), "x", 0, 0); !errors.Is(err, dataset.ErrCorrupt) {
		t.Errorf("blob: %v, want ErrCorrupt", err)
	}
	if bad := checkErrors(mem, "d.nc"); len(bad) == 0 {
		t.Error("no finding")
	}
	if got := allocated() - before; got > 96<<20 && !raceEnabled { // memory for buffers of one large chunk; with the race detector sync.Pool drops buffers
		t.Errorf("%d MiB allocated for a file of %d bytes", got>>20, len(data))
	}
}

func FuzzOpenCompressed(f *testing.F) {
	for _, method := range []dataset.Method{dataset.AutoCompression, dataset.ShuffleZstd} {
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
		// Without valid checksums the fuzzer would not get past them.
		if k := bytes.LastIndex(b, []byte(layout.IndexMagic)); k >= 0 && len(b)-k > layout.IndexHead {
			b = resealed(slices.Clone(b), int64(k))
		}
		fuzzSubfile(t, b)
	})
}

// TestCompressedListsOfNothing checks a file of some KiB with millions of requests, of which all but one are empty. Its lists
// are zeros and compress to almost nothing. A reader accepts the file only if its memory limit allows these lists.
func TestCompressedListsOfNothing(t *testing.T) {
	const nreqs, n = 1 << 20, 8
	s := dataset.NewSchema()
	col := s.Dim("ncol", n)
	d := s.Decomp(col)
	s.Var("x", cdf5.Byte, []dataset.DimID{col}, dataset.Decomposed(d))
	o := (&dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.Zstd}, Buffer: 1 << 20, Workers: 1}, Knobs: dataset.Knobs{Chunk: layout.MaxChunk}}).WithDefaults()
	e := need(write.NewEngine(&o, process.NewProcess(&o), s, &layout.Shape{Ranks: 1, Subfiles: 1, Blobs: 1, Elems: []int64{n}, MaxReqs: []int64{nreqs}, Wide: []bool{false}},
		&write.Team{All: write.TableOf(1, 1, func(int, int) (int64, int64) { return n, nreqs })}, []*write.RankRow{{Runs: [][]decomp.Req{{{Offset: 0, Length: n}}}}}))
	must(e.Layout.Settle(0))
	x := need(layout.NewIndex(&e.Layout.Place.Place, e.Layout.Table, layout.MaxChunk))
	x.Entries = make([]layout.Entry, x.Total)
	mem := vfs.NewMem()
	f := need(mem.Create("d.nc.0000"))
	put := func(first int64, content []byte) {
		for k := first; len(content) > 0; k++ {
			c := content[:min(len(content), layout.MaxChunk)]
			content = content[len(c):]
			z := need(e.Proc.Zstd.Encode(nil, c, 1))
			form := uint8(layout.FormZstd)
			if len(z) > len(c) {
				z, form = c, layout.FormRaw
			}
			need(f.WriteAt(z, e.Layout.Place.DataOff+e.Pack.End))
			x.Entries[k] = layout.Entry{Off: e.Pack.End, Stored: uint32(len(z)), Form: form, Sum: crc32.ChecksumIEEE(z), Content: crc32.ChecksumIEEE(c)}
			e.Pack.End += int64(len(z))
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
	must(e.Seal.Packed(f, x, 0))
	must(f.Close())
	heapOf(t, "lists of nothing", func() {
		r := need(read.OpenWith(context.Background(), "d.nc", &read.OpenOptions{Workers: 1, Memory: 16 << 20}, dataset.Knobs{Fs: mem}))
		defer r.Close()
		if err := r.Read(context.Background(), "x", nil, nil, make([]int8, n)); !errors.Is(err, dataset.ErrTooLarge) {
			t.Errorf("read: %v, want ErrTooLarge", err)
		}
	})
	r := opened(t, mem, "d.nc", &read.OpenOptions{Workers: 1})
	got := make([]int8, n)
	if err := r.Read(context.Background(), "x", nil, nil, got); err != nil || got[7] != 'h' {
		t.Errorf("read with memory: %v %v", got, err)
	}
}

// TestCompressedEntries checks that a read of a chunk returns an error if the chunk's index entry has a wrong checksum or an
// unknown form.
func TestCompressedEntries(t *testing.T) {
	le := binary.LittleEndian
	forms := map[byte]int{}
	for _, method := range []dataset.Method{dataset.Zstd, dataset.ShuffleZstd} {
		s := packedSample(t, 1, false, method)
		name := s.subfile(0)
		pl, _ := s.place(t, name)
		idx := pl.Packed.IndexOff
		ents := idx + layout.IndexHead + pl.TableLen()
		for k := int64(0); k < pl.Packed.Index.Total; k += int64(times(3, 1)) {
			at := ents + k*layout.IndexEntryLen
			forms[s.files[name][at+12]]++
			for what, c := range map[string]struct {
				change func(entry []byte)
				want   error
			}{
				"sum of the stored bytes": {func(e []byte) { le.PutUint32(e[16:], le.Uint32(e[16:])^1) }, dataset.ErrChecksum},
				"sum of the content":      {func(e []byte) { le.PutUint32(e[20:], le.Uint32(e[20:])^1) }, dataset.ErrChecksum},
				"form":                    {func(e []byte) { e[14] = 1 }, dataset.ErrCorrupt},
			} {
				b := slices.Clone(s.files[name])
				c.change(b[at : at+layout.IndexEntryLen])
				o := s.run(t, faulty{name: fmt.Sprintf("%s of entry %d", what, k), files: s.with(name, resealed(b, idx)), at: -1})
				if len(o.errs) == 0 || !errors.Is(o.errs[0], c.want) {
					t.Errorf("%v: %s of entry %d: reading: %v, want %v", method, what, k, o.errs, c.want)
				}
				if len(o.faults) == 0 {
					t.Errorf("%v: %s of entry %d: no finding", method, what, k)
				}
			}
		}
	}
	for f := byte(1); f < layout.FormCount; f++ {
		if forms[f] == 0 {
			t.Errorf("no entry of form %d: %v", f, forms)
		}
	}
}

// TestCompressedHead checks that readers verify each field of the index head, and the version in the header.
func TestCompressedHead(t *testing.T) {
	s := packedSample(t, 1, false, dataset.ShuffleZstd)
	name := s.subfile(0)
	pl, _ := s.place(t, name)
	base, fields := s.header(t, name)
	i := slices.IndexFunc(fields, func(f hdrField) bool { return f.kind == "attribute value" && f.of == layout.AttPacked })
	at := base + fields[i].off
	for _, v := range []uint64{0, layout.PackedVersion + 1, 1 << 31} {
		o := s.run(t, faulty{fmt.Sprintf("version %d", int32(v)), s.patch(name, at, s.number(4, v)), name, at})
		if len(o.errs) == 0 || !errors.Is(o.errs[0], dataset.ErrVersion) {
			t.Errorf("version %d: %v", int32(v), o.errs)
		}
	}
	for k := int64(0); k < layout.IndexHead; k++ {
		o := s.run(t, faulty{name: fmt.Sprintf("byte %d of the head", k), files: s.with(name, flipped(s.files[name], pl.Packed.IndexOff+k, 2)), at: -1})
		if len(o.errs) == 0 || len(o.faults) == 0 {
			t.Errorf("byte %d of the head: %v, %v", k, o.errs, o.faults)
		}
	}
}
