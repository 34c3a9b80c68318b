package blob

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// addSeeds gives a fuzz target good subfiles, and subfiles with one fault.
func addSeeds(f *testing.F, lay dataset.Layout) {
	for _, ranks := range []int{1, 3} {
		s := writeSample(f, newToy(ranks), lay, 1, false, 1)
		file := s.files[s.subfile(0)]
		f.Add(file)
		f.Add(file[:len(file)-100])
		pl, tab := s.place(f, s.subfile(0))
		for m := range layout.MapVars {
			off, _ := pl.MapPiece(1, m, tab, 0)
			f.Add(patched(file, off, []byte{0xff, 0xff, 0xff, 0xff}))
			f.Add(flipped(file, off+3, 0))
		}
		f.Add(patched(file, pl.Header.Off+layout.NumrecsAt, s.number(8, 1<<40)))
	}
	// With a smaller subfile the fuzzer can change more of it.
	tiny := dataset.NewSchema()
	tm, col := tiny.Dim("t", dataset.Unlimited), tiny.Dim("c", 3)
	tiny.Var("x", cdf5.Short, []dataset.DimID{tm, col}, dataset.Decomposed(tiny.Decomp(col)))
	tiny.Var("y", cdf5.Double, []dataset.DimID{tm})
	h := tiny.BlobHeader(&layout.Shape{Ranks: 1, Subfiles: 1, Blobs: 1, Elems: []int64{3}, MaxReqs: []int64{1}})
	h.NumRecs = 1
	must(h.Layout(nil))
	data := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if lay == dataset.VariableCentric {
		b := need(h.AppendTo(nil, dataset.OrderOf(true), false))
		f.Add(append(b, data...))
	} else {
		b := need(h.AppendTo(nil, dataset.OrderOf(false), true))
		p := dataset.NewPlace(lay, false, 0)
		p.SetHeader(h, int64(len(b)), tiny, new(layout.Shape))
		le := []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		l := need(p.Container(int64(len(le))))
		file := make([]byte, p.DataOff+int64(len(le)))
		for _, q := range l.Pieces {
			copy(file[q.Off:], q.Data)
		}
		copy(file[p.Header.Off:], b)
		copy(file[p.DataOff:], le)
		f.Add(file)
	}
}

func FuzzOpenVariableCentric(f *testing.F) {
	addSeeds(f, dataset.VariableCentric)
	f.Fuzz(fuzzSubfile)
}

func FuzzOpenProcessCentric(f *testing.F) {
	addSeeds(f, dataset.ProcessCentric)
	f.Fuzz(fuzzSubfile)
}

// fuzzSubfile checks a subfile of any bytes. There must be no panic, errors must have a class, and memory must be in proportion
// to the file. If Check finds nothing, the dataset must convert to an ordinary netCDF file that reads the same.
func fuzzSubfile(t *testing.T, b []byte) {
	if len(b) > 1<<20 {
		return
	}
	lookAround(t, "fuzz", b)
	m := memOf(t, map[string][]byte{subfile.Name(sampleBase, 0): b})
	if err := convertAndCompare(m); err != nil {
		t.Error(err)
	}
}

// convertAndCompare converts a dataset to a canonical file and compares both. It does nothing if Check finds errors or if the
// arrays are large.
func convertAndCompare(m *vfs.Mem) error {
	ctx := context.Background()
	for f := range check.CheckWith(ctx, sampleBase, &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: m}) {
		if f.Severity >= dataset.Error {
			return nil
		}
	}
	r, err := read.OpenWith(ctx, sampleBase, &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: m})
	if err != nil {
		return fmt.Errorf("open after a clean check: %w", err)
	}
	defer r.Close()
	left := int64(1 << 20)
	for v := range r.Data.Schema.Vars {
		n := r.Data.Schema.Elems(dataset.VarID(v))
		if r.Data.Schema.Vars[v].Record {
			if n > left/max(r.Data.Records, 1) {
				return nil
			}
			n *= r.Data.Records
		}
		if left -= n; left < 0 {
			return nil
		}
	}
	if err := convert.Convert(ctx, r, "out.nc", &convert.ConvertOptions{Workers: 1}); err != nil {
		if errors.Is(err, cdf5.ErrTooLarge) || errors.Is(err, dataset.ErrUsage) {
			return nil
		}
		return fmt.Errorf("convert after a clean check: %w", err)
	}
	c, err := read.OpenWith(ctx, "out.nc", &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: m})
	if err != nil {
		return fmt.Errorf("open what was converted: %w", err)
	}
	defer c.Close()
	for d := range check.Diff(ctx, r, c, nil) {
		return fmt.Errorf("converted: %v", d)
	}
	return nil
}

// TestCorpusManyFaults makes up to four faults in fields of a header and of the maps, because a fuzzer seldom hits them.
func TestCorpusManyFaults(t *testing.T) {
	rounds := 60
	if long {
		rounds = 4000
	}
	eachSample(t, 7, func(t *testing.T, s *sample, rnd *rand.Rand) {
		name := s.subfile(0)
		base, fields := s.header(t, name)
		pl, tab := s.place(t, name)
		for round := range rounds {
			file := s.files[name]
			what := fmt.Sprintf("round %d:", round)
			for range 1 + rnd.Intn(4) {
				var off int64
				n := 4
				if rnd.Intn(2) == 0 {
					f := fields[rnd.Intn(len(fields))]
					if f.n != 4 && f.n != 8 || f.kind == "name" {
						continue
					}
					off, n = base+f.off, f.n
					what += fmt.Sprintf(" %s %q", f.kind, f.of)
				} else {
					d, m, j := rnd.Intn(pl.Header.Maps), rnd.Intn(layout.MapVars), rnd.Intn(pl.Shape.Blobs)
					o, size := pl.MapPiece(d, m, tab, j)
					if size == 0 {
						continue
					}
					if m == layout.MapStart || m == layout.MapCount {
						n = 8
					}
					off = o + rnd.Int63n(size/int64(n))*int64(n)
					what += fmt.Sprintf(" D%d.%s[%d]", d+1, layout.MapVarDefs[m].Name, j)
				}
				var v uint64
				switch rnd.Intn(3) {
				case 0:
					v = uint64(rnd.Intn(8))
				case 1:
					v = absurd[rnd.Intn(len(absurd))]
				default: // a neighbouring field's value
					k := max(0, off-int64(n)*int64(rnd.Intn(4)))
					file = patched(file, off, file[k:k+int64(n)])
					continue
				}
				file = patched(file, off, s.number(n, v))
			}
			files := s.with(name, file)
			s.run(t, faulty{name: what, files: files, at: -1})
			if err := convertAndCompare(memOf(t, files)); err != nil {
				t.Errorf("%s: %s: %v", s.name, what, err)
			}
		}
	})
}
