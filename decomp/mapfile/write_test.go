package mapfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
)

func writeCDF(t testing.TB, f *File, o *WriteOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	must(WriteCDF(&b, f, o))
	return b.Bytes()
}

// WriteCDF writes the same bytes as dat2decomp for the same maps.
func TestWriteCDFEqualsShipped(t *testing.T) {
	for _, c := range []struct {
		out string
		in  []string
	}{
		{"map_f_case_16p.nc", datNames},
		{"map_f_case_16p.nc", []string{"map_f_case_16p.h5"}},
		{"map_f_case_16p.nc", []string{"map_f_case_16p.nc"}},
		{"map_g_case_16p.nc", []string{"map_g_case_16p.nc4"}},
		{"map_i_case_16p.nc", []string{"map_i_case_16p.nc"}},
	} {
		f := openShared(t, c.in...)
		for i := range f.Maps {
			f.Maps[i].FullyCovered = nil // computed by WriteCDF
		}
		f.CommandLine = openShared(t, c.out).CommandLine
		got := writeCDF(t, f, nil)
		want := need(os.ReadFile(testfiles.Captured(t, "maps", c.out)))
		if !bytes.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Errorf("%v: %d bytes, want %d; the first difference is at %#x", c.in, len(got), len(want), i)
		}
	}
}

// genFile draws a file with a few maps and fillers.
func genFile(t *rapid.T) *File {
	f := &File{Procs: rapid.IntRange(1, 5).Draw(t, "procs"), CommandLine: rapid.SampledFrom([]string{"", "./dat2nc -r"}).Draw(t, "cmd")}
	fillers := rapid.Bool().Draw(t, "fillers")
	for range rapid.IntRange(1, 3).Draw(t, "maps") {
		dims := rapid.SliceOfN(rapid.Int64Range(1, 30), 1, 3).Draw(t, "dims")
		n := int64(1)
		for _, d := range dims {
			n *= d
		}
		b := decomp.NewBuilder(dims, f.Procs)
		var starts []int64
		for p := range f.Procs {
			reqs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) decomp.Req {
				o := rapid.Int64Range(0, n-1).Draw(t, "off")
				return decomp.Req{Offset: o, Length: rapid.Int64Range(1, min(4, n-o)).Draw(t, "len")}
			}), 1, 20).Draw(t, "reqs")
			must(b.Set(p, reqs))
			starts = append(starts, rapid.Int64Range(0, int64(len(reqs))).Draw(t, "fill start"))
		}
		m := need(b.Map())
		r := Raw{Reqs: m}
		if fillers {
			r.FillStarts = starts
		}
		f.Maps = append(f.Maps, r)
	}
	return f
}

func TestWriteRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFile(t)
		o := &WriteOptions{Wide: rapid.Bool().Draw(t, "wide")}
		for name, write := range map[string]func(*bytes.Buffer) error{
			"CDF-5": func(b *bytes.Buffer) error { return WriteCDF(b, f, o) },
			"HDF5":  func(b *bytes.Buffer) error { return WriteHDF5(b, f, o) },
		} {
			var b bytes.Buffer
			must(write(&b))
			got := need(Read(bytes.NewReader(b.Bytes()), int64(b.Len()), name))
			if got.Format != name || got.Procs != f.Procs || got.CommandLine != f.CommandLine || len(got.Maps) != len(f.Maps) {
				t.Fatalf("%+v, want %+v", got, f)
			}
			for i := range f.Maps {
				if !got.Maps[i].Reqs.Equal(f.Maps[i].Reqs) || got.Maps[i].FullyCovered == nil {
					t.Fatalf("%s: D%d differs", name, i+1)
				}
				for p := range f.Procs {
					if got.Maps[i].FillStart(p) != f.Maps[i].FillStart(p) {
						t.Fatalf("%s: D%d: fill starts differ", name, i+1)
					}
				}
			}
		}
	})
}

func TestWriteReadDat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFile(t)
		var b bytes.Buffer
		must(WriteDat(&b, &f.Maps[0]))
		got, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len()), "x.dat")
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		r := &got.Maps[0]
		if !slices.Equal(r.Dims(), f.Maps[0].Dims()) || got.Procs != f.Procs {
			t.Fatalf("%v %d", r.Dims(), got.Procs)
		}
		for p := range f.Procs {
			var want []int64
			for i, q := range f.Maps[0].Reqs.AppendReqs(nil, p) {
				if int64(i) < f.Maps[0].FillStart(p) {
					for k := range q.Length {
						want = append(want, q.Offset+k)
					}
				}
			}
			for _, m := range []*decomp.Map{r.Reqs, r.Elems} {
				var have []int64
				for q := range m.Reqs(p) {
					for k := range q.Length {
						have = append(have, q.Offset+k)
					}
				}
				if !slices.Equal(have, want) {
					t.Fatalf("process %d: %v, want %v", p, have, want)
				}
			}
		}
	})
}

func TestWriteRefuses(t *testing.T) {
	big := decomp.NewBuilder([]int64{1 << 32}, 1)
	must(big.Set(0, []decomp.Req{{Offset: 1<<32 - 1, Length: 1}}))
	m := need(big.Map())
	f := need(FromMaps(m))
	if err := WriteCDF(new(bytes.Buffer), f, nil); !errors.Is(err, fault.ErrTooLarge) {
		t.Errorf("offset 2^32-1: %v", err)
	}
	b := writeCDF(t, f, &WriteOptions{Wide: true})
	if g, err := Read(bytes.NewReader(b), int64(len(b)), ""); err != nil || !g.Maps[0].Reqs.Equal(m) {
		t.Errorf("wide map: %v", err)
	}
	none, _ := decomp.NewBuilder([]int64{5}, 2).Map()
	for name, f := range map[string]*File{
		"no maps":         {Procs: 1},
		"no processes":    {Maps: []Raw{{Reqs: m}}},
		"other processes": {Procs: 3, Maps: []Raw{{Reqs: m}}},
		"no requests":     {Procs: 2, Maps: []Raw{{Reqs: none}}},
		"fill starts":     {Procs: 1, Maps: []Raw{{Reqs: m, FillStarts: []int64{1, 2}}}},
		"raw":             {Procs: 1, Maps: []Raw{{Reqs: m, Elems: none}}},
	} {
		if err := WriteHDF5(new(bytes.Buffer), f, nil); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := FromMaps(m, none); !errors.Is(err, fault.ErrUsage) {
		t.Error(err)
	}
	full := failing{}
	if err := WriteCDF(full, f, &WriteOptions{Wide: true}); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := WriteHDF5(full, f, &WriteOptions{Wide: true}); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := WriteDat(full, &f.Maps[0]); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

var errFull = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// room is a writer that accepts a limited number of bytes.
type room struct{ left int }

func (w *room) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestWriteErrors: an error of the io.Writer is returned, at any offset.
func TestWriteErrors(t *testing.T) {
	f := small(t)
	for name, write := range map[string]func(w io.Writer) error{
		"CDF":  func(w io.Writer) error { return WriteCDF(w, f, nil) },
		"HDF5": func(w io.Writer) error { return WriteHDF5(w, f, nil) },
		"text": func(w io.Writer) error { return WriteDat(w, &f.Maps[0]) },
	} {
		var all bytes.Buffer
		must(write(&all))
		for n := 0; n < all.Len(); n += 1 + all.Len()/200 {
			if err := write(&room{n}); !errors.Is(err, errFull) {
				t.Fatalf("%s: room for %d of %d bytes: %v", name, n, all.Len(), err)
			}
		}
		if err := write(&room{all.Len() - 1}); !errors.Is(err, errFull) {
			t.Errorf("%s: without room for the last byte: %v", name, err)
		}
	}
}
