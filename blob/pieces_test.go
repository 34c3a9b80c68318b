package blob

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/checksum"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
	"blobio/internal/subfile"
)

// pieceSums computes the checksums that a manifest should have, from the files: for each subfile, the sums of its extents and of
// pieces of the given size.
func pieceSums(t testing.TB, files map[string][]byte, piece int64) (extents, pieces map[string]subfile.CRCs) {
	t.Helper()
	r := opened(t, memOf(t, files), sampleBase, nil)
	bytesOf := map[string][][]byte{} // bytes of each extent of each file
	for e, err := range r.Now().Data.Extents(t.Context()) {
		noError(t, err)
		if e.Name == "header" {
			continue
		}
		p := r.Data.Sets[e.Set].Parts[e.Subfile]
		v := p.Place.Header.VarIndex(e.Name)
		o := p.Place.Header.ExtentOrder()
		x := o.Index(v, e.Record-r.Data.Sets[e.Set].First)
		for int64(len(bytesOf[p.Name])) <= x {
			bytesOf[p.Name] = append(bytesOf[p.Name], nil)
		}
		bytesOf[p.Name][x] = append(bytesOf[p.Name][x], files[p.Name][e.Offset:e.Offset+e.Bytes]...)
	}
	extents, pieces = map[string]subfile.CRCs{}, map[string]subfile.CRCs{}
	for name, list := range bytesOf {
		for _, b := range list {
			extents[name] = append(extents[name], crc32.ChecksumIEEE(b))
			for rest := b; int64(len(b)) > piece && len(rest) > 0; rest = rest[min(int(piece), len(rest)):] {
				pieces[name] = append(pieces[name], crc32.ChecksumIEEE(rest[:min(int(piece), len(rest))]))
			}
		}
	}
	return extents, pieces
}

// TestPieces checks that the manifest has the right checksums, whatever the writer's options are.
func TestPieces(t *testing.T) {
	ways := map[string]func(o *dataset.Settings){
		"windows":  func(o *dataset.Settings) {},
		"own":      func(o *dataset.Settings) { o.OwnMin = 1 },
		"messages": func(o *dataset.Settings) { o.Messages = true },
		"stripes":  func(o *dataset.Settings) { o.Messages, o.Stripe = true, dataset.Stripe{Size: 4096} },
		"small":    func(o *dataset.Settings) { o.Buffer = 64 << 10 },
		"copies":   func(o *dataset.Settings) { o.Retain = dataset.CopyOnPut },
		"unknown":  func(o *dataset.Settings) { o.Records = 0 },
	}
	n := 0
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
			for _, ranks := range crashtest.Some(t, 2, []int{1, 3, 4}) {
				for _, separate := range []bool{false, true} {
					n++
					piece := []int64{7, 64, 100, 333}[n%4]
					again, async := n%3 == 0, n%5 < 2
					what := fmt.Sprintf("%s, %v, %d ranks, separate %v, pieces of %d, again %v, async %v", way, layout, ranks, separate, piece, again, async)
					m, toy := vfs.NewMem(), newToy(ranks)
					o := dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 1 + ranks/4, Records: 3, Durability: dataset.DurableNone}, Knobs: dataset.Knobs{Piece: piece, Fs: m}}
					ways[way](&o)
					records := func(ctx context.Context, w *write.Writer, rank int, from, to int64) error {
						for rec := from; rec < to; rec++ {
							must(toy.put(w, rank, rec, rec == 0))
							flush := w.Flush
							if async {
								flush = w.FlushAsync
							}
							must(flush(ctx))
							if again && rank%2 == 0 {
								must(toy.put(w, rank, rec, false))
							}
						}
						return w.Close(ctx)
					}
					if err := comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
						c = isolateIf(c, separate)
						w, err := write.CreateWith(ctx, c, sampleBase, toy.s, toy.parts(c.Rank()), &o)
						must(err)
						must(records(ctx, w, c.Rank(), 0, 3))
						p := o
						p.Records, p.Piece = 2*min(o.Records, 1), 0 // Append takes the size of pieces from the manifest
						if w, err = resume.AppendWith(ctx, c, sampleBase, toy.parts(c.Rank()), &p); err != nil {
							return err
						}
						return records(ctx, w, c.Rank(), 3, 5)
					}); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					samePieces(t, what, memFiles(t, m), piece)
				}
			}
		}
	}
}

// samePieces compares a manifest's checksums with checksums computed from the files.
func samePieces(t *testing.T, what string, files map[string][]byte, piece int64) {
	t.Helper()
	name := subfile.ManifestName(sampleBase)
	m := need(subfile.Decode(files[name], name))
	if m.Piece != piece {
		t.Errorf("%s: the manifest has pieces of %d bytes", what, m.Piece)
	}
	extents, pieces := pieceSums(t, files, piece)
	for _, s := range m.Sets {
		for k, f := range s.Subfiles {
			name := subfile.Name(s.Base, k)
			if !slices.Equal(f.Extents, extents[name]) {
				t.Errorf("%s: %s: checksums %08x, those of the file are %08x", what, name, f.Extents, extents[name])
			}
			if !slices.Equal(f.Pieces, pieces[name]) {
				t.Errorf("%s: %s: checksums of pieces %08x, those of the file are %08x", what, name, f.Pieces, pieces[name])
			}
		}
	}
	onlyNotes(t, what, memOf(t, files), sampleBase)
}

// TestCheckPieces checks that Check names a damaged piece, and finds a manifest that contradicts itself.
func TestCheckPieces(t *testing.T) {
	cut := slices.DeleteFunc(histories(), func(h history) bool { return h.o.Piece == 0 })
	for _, h := range crashtest.Some(t, 2, cut) {
		files := h.write(t)
		for _, x := range whereIs(t, files) {
			if x.Name != "T" || x.Bytes < 3*h.o.Piece || x.Rank > 0 {
				continue
			}
			bad := maps.Clone(files)
			bad[x.File] = flipped(flipped(files[x.File], x.Offset+h.o.Piece+3, 3), x.Offset+h.o.Piece+30, 1)
			var said []dataset.Finding
			for f := range check.CheckWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: memOf(t, bad)}) {
				if f.Severity >= dataset.Error {
					said = append(said, f)
				}
			}
			if len(said) != 1 || said[0].Offset != x.Offset+h.o.Piece || said[0].Err != dataset.ErrChecksum || !strings.Contains(said[0].Msg, "checksum of bytes 100 to 199 is") {
				t.Errorf("%s: damage behind %#x: %v", h.name, x.Offset+h.o.Piece, said)
			}
		}
		name := subfile.ManifestName(sampleBase)
		m, err := subfile.Decode(files[name], name)
		noError(t, err)
		for what, change := range map[string]func(f *subfile.Subfile){
			"another": func(f *subfile.Subfile) { f.Pieces[len(f.Pieces)-1]++ },
			"fewer":   func(f *subfile.Subfile) { f.Pieces = f.Pieces[1:] },
			"more":    func(f *subfile.Subfile) { f.Pieces = append(f.Pieces, 0) },
		} {
			c, err := subfile.Decode(files[name], name)
			noError(t, err)
			change(&c.Sets[0].Subfiles[0])
			bad := maps.Clone(files)
			if bad[name], err = c.Encode(); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(slices.Collect(check.CheckWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: memOf(t, bad)})), func(f dataset.Finding) bool { return f.Severity >= dataset.Error }) {
				t.Errorf("%s: %s checksum: Check finds nothing", h.name, what)
			}
			if _, errs := readout(t, bad); errors.Join(errs...) == nil {
				t.Errorf("%s: %s checksum: all can be read", h.name, what)
			}
		}
		m.Piece = 1 << 62
		bad := maps.Clone(files)
		if bad[name], err = m.Encode(); err != nil {
			t.Fatal(err)
		}
		if _, errs := readout(t, bad); errors.Join(errs...) == nil {
			t.Errorf("%s: pieces of 2^62 bytes: all can be read", h.name)
		}
	}
}

// TestLargeExtents checks extents of several MiB. Errors must name the damaged piece, and a read of a hyperslab must read only
// the pieces that it needs.
func TestLargeExtents(t *testing.T) {
	const elems = 1200000 // 4.6 MiB of int
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		files := memFiles(t, flat(t, layout, elems))
		samePieces(t, layout.String(), files, checksum.DefaultPiece)
		e := whereIs(t, files)[1].Extent // of rank 1
		e.Offset += 4000
		element := int64(elems/2 + 1000)
		piece := element * 4 / checksum.DefaultPiece
		files[e.File] = flipped(files[e.File], e.Offset, 0)
		fs := memOf(t, files)
		for _, verify := range []read.Verification{read.VerifyAlways, read.VerifyOnce} {
			n := vfs.Count(fs)
			r := need(read.OpenWith(t.Context(), sampleBase, &read.OpenOptions{Verify: verify}, dataset.Knobs{Fs: n}))
			for k := int64(0); k*checksum.DefaultPiece < elems*4; k++ {
				for i := range int64(3) {
					at := min(k*checksum.DefaultPiece/4+100+i*70000, elems-1)
					got := []int32{0}
					before := n.Bytes(vfs.OpRead)
					err := r.Read(t.Context(), "A", []int64{at}, []int64{1}, got)
					cost := n.Bytes(vfs.OpRead) - before
					if bad := k == piece; bad && !errors.Is(err, dataset.ErrChecksum) || !bad && (err != nil || got[0] != int32(at)) {
						t.Errorf("%v: element %d, of piece %d (%d is damaged): %v, %v", layout, at, k, piece, got, err)
					}
					most := int64(checksum.DefaultPiece + 100000) // the first read also reads headers and maps
					if verify == read.VerifyOnce && i > 0 && k != piece {
						most = 4
					}
					if k == piece {
						most *= 2 // a read is repeated if a checksum differs
					}
					if cost > most {
						t.Errorf("%v: element %d: %d bytes were read", layout, at, cost)
					}
				}
			}
			// A read of the whole variable fails because of the damaged piece.
			got := make([]int32, elems)
			if err := r.Read(t.Context(), "A", nil, nil, got); !errors.Is(err, dataset.ErrChecksum) {
				t.Errorf("%v: whole: %v", layout, err)
			}
			r.Close()
		}
		r := need(read.OpenWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: fs}))
		got := make([]int32, 2*checksum.DefaultPiece/4) // contains the whole damaged piece
		if err := r.Read(t.Context(), "A", []int64{piece*checksum.DefaultPiece/4 - 1000}, []int64{int64(len(got))}, got); !errors.Is(err, dataset.ErrChecksum) {
			t.Errorf("%v: a slab with the whole of the damaged piece: %v", layout, err)
		}
		r.Close()
	}
}

// TestConvertInParts converts a record in several parts, each smaller than a piece. Convert must still verify the piece, and a
// rank that converts the whole record must not read any byte twice for this.
func TestConvertInParts(t *testing.T) {
	const elems, stride = 1 << 21, 1 << 10 // 8 MiB of int
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, piece := range crashtest.Some(t, 1, []int64{0, 1 << 40}) { // pieces of the default size (1 MiB), and none
			files := memFiles(t, ints(t, dataset.Settings{Options: dataset.Options{Layout: layout}, Knobs: dataset.Knobs{Piece: piece}}, []int64{elems}, 2, func(rank int64) (runs []decomp.Req) {
				for at := rank * stride; at < elems; at += 2 * stride {
					runs = append(runs, decomp.Req{Offset: at, Length: stride})
				}
				return runs
			}, itself))
			e := whereIs(t, files)[1].Extent
			for _, damaged := range []bool{false, true} {
				if damaged {
					files[e.File] = flipped(files[e.File], e.Offset+e.Bytes/2, 0)
				}
				for _, k := range crashtest.Some(t, 2, []int{0, 1, 2, 3}) {
					blobs, ranks := k%2 == 1, 1+k/2*2
					what := fmt.Sprintf("%v, pieces of %d, to blobs %v by %d ranks, damaged %v", layout, piece, blobs, ranks, damaged)
					fs := memOf(t, files)
					convertTo := func(v read.Verification) (moved int64, err error) {
						n := vfs.Count(fs)
						err = comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
							r, err := read.OpenWith(ctx, sampleBase, &read.OpenOptions{Verify: v}, dataset.Knobs{Fs: n})
							if err != nil {
								return err
							}
							defer r.Close()
							return convert.ConvertComm(ctx, commtest.Isolate(c), r, "out.nc", &convert.ConvertOptions{Blobs: blobs, Ranks: 5, Memory: 8 << 20, Workers: 2, Durability: dataset.DurableNone, Force: true})
						})
						return n.Bytes(vfs.OpRead), err
					}
					moved, err := convertTo(read.VerifyWhole)
					if damaged && !errors.Is(err, dataset.ErrChecksum) || !damaged && err != nil {
						t.Errorf("%s: %v", what, err)
					}
					if damaged || ranks > 1 {
						continue
					}
					least := need(convertTo(read.VerifyNever))
					if most := least + 1<<17; moved > most {
						t.Errorf("%s: %d bytes are read, want at most %d", what, moved, most)
					}
				}
			}
		}
	}
}

// TestConvertLargeRecords converts a range of large records, each in several parts. The output must begin with the first record
// of the range.
func TestConvertLargeRecords(t *testing.T) {
	const elems = 5 << 19
	m := vfs.NewMem()
	s := dataset.NewSchema()
	tm, x := s.Dim("time", dataset.Unlimited), s.Dim("x", elems)
	d := s.Decomp(x)
	id := s.Var("A", cdf5.Short, []dataset.DimID{tm, x}, dataset.Decomposed(d))
	want := make([]int16, elems)
	for i := range want {
		want[i] = int16(i % 10007)
	}
	w := need(write.CreateWith(t.Context(), comm.Self(), sampleBase, s, []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 0, Length: elems}}}}, &dataset.Settings{Options: dataset.Options{Retain: dataset.LendUntilClose, Durability: dataset.DurableNone}, Knobs: dataset.Knobs{Fs: m}}))
	must(errors.Join(write.Put(w, id, 0, make([]int16, elems)), write.Put(w, id, 1, want), w.Close(t.Context())))
	r := opened(t, m, sampleBase, nil)
	noError(t, convert.Convert(t.Context(), r, "out.nc", &convert.ConvertOptions{Blobs: true, Ranks: 3, Records: &read.Range{First: 1, End: 2}, Memory: 8 << 20, Durability: dataset.DurableNone}))
	out := opened(t, m, "out.nc", nil)
	got := make([]int16, elems)
	if err := out.Read(t.Context(), "A", nil, nil, got); err != nil || !slices.Equal(got, want) {
		t.Errorf("record 1 is not what was converted: %v", err)
	}
}
