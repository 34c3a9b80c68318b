package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// history is a way to write the toy dataset with 3 records.
type history struct {
	name     string
	o        Options
	first    int64 // records of Create; the others are appended, each by itself
	separate bool  // ranks share no heap
}

func histories() (out []history) {
	for _, piece := range []int64{0, 100} { // of one piece, of many
		for _, layout := range []Layout{VariableCentric, ProcessCentric} {
			for _, subfiles := range []int{1, 2} {
				o := Options{Layout: layout, Subfiles: subfiles, piece: piece}
				name := fmt.Sprintf("%v-%d-piece=%d", layout, subfiles, piece)
				out = append(out, history{name: name, o: o, first: 3}, history{name: name + "-appended", o: o, first: 1})
				if layout == ProcessCentric {
					o.Records = 3
					out = append(out, history{name: name + "-known", o: o, first: 3})
				}
			}
		}
	}
	return out
}

// write returns the files of the dataset.
func (h history) write(t testing.TB) map[string][]byte {
	t.Helper()
	m := vfs.NewMem()
	toy := newToy(3)
	o := h.o
	o.Durability, o.fs = DurableNone, m
	if err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		if h.separate {
			c = comm.Isolate(c)
		}
		if err := toy.write(ctx, c, sampleBase, h.first, &o); err != nil {
			return err
		}
		for rec := h.first; rec < 3; rec++ {
			w, err := Append(ctx, c, sampleBase, toy.parts(c.Rank()), &o)
			if err != nil {
				return err
			}
			if err := toy.put(w, c.Rank(), rec, false); err != nil {
				return err
			}
			if err := w.Close(ctx); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", h.name, err)
	}
	return memFiles(t, m)
}

// slabs is what is read of a variable's record: all of it, and some elements.
type slab struct {
	name string
	rec  int64
	v    VarID
}

// readings are ways to read one record of a variable. Each returns the bytes of what it read, or an error.
var readings = []struct {
	name string
	o    OpenOptions
	read func(ctx context.Context, r *Reader, s slab) ([]float64, error)
}{
	{"whole", OpenOptions{}, readWhole},
	{"hyperslab", OpenOptions{Verify: VerifyAlways}, func(ctx context.Context, r *Reader, s slab) ([]float64, error) {
		start, count := s.corner(r)
		out := make([]float64, product(count))
		return out, r.Read(ctx, s.name, start, count, out)
	}},
	{"runs", OpenOptions{Verify: VerifyOnce}, func(ctx context.Context, r *Reader, s slab) (out []float64, err error) {
		n := r.schema.Elems(s.v)
		var runs []decomp.Req
		for at := int64(0); at < n; at += 11 {
			runs = append(runs, decomp.Req{Offset: at, Length: 1})
		}
		for range 2 { // what is known to be good is not compared again, and stays so
			out = make([]float64, len(runs))
			if err := r.ReadRuns(ctx, s.name, s.rec, runs, out); err != nil {
				return nil, err
			}
		}
		return out, nil
	}},
	{"blobs", OpenOptions{}, func(ctx context.Context, r *Reader, s slab) (out []float64, err error) {
		if r.schema.vars[s.v].Decomp == 0 {
			return nil, nil
		}
		for b, err := range r.Blobs(ctx, s.name, s.rec) {
			if err != nil {
				return nil, err
			}
			raw, _ := cdf5.Bytes(b.Data)
			n, typ, _ := cdf5.SliceLen(b.Data)
			x := make([]float64, n)
			if err := cdf5.FromFile(x, raw, hostBig, typ); err != nil {
				return nil, err
			}
			out = append(out, x...)
		}
		return out, nil
	}},
	{"rank's blob", OpenOptions{Verify: VerifyAlways}, func(ctx context.Context, r *Reader, s slab) ([]float64, error) {
		if r.schema.vars[s.v].Decomp == 0 {
			return nil, nil
		}
		b, err := r.RankBlob(ctx, s.name, s.rec, 1)
		if err != nil {
			return nil, err
		}
		n, typ, _ := cdf5.SliceLen(b.Data)
		raw, _ := cdf5.Bytes(b.Data)
		out := make([]float64, n)
		return out, cdf5.FromFile(out, raw, hostBig, typ)
	}},
}

func readWhole(ctx context.Context, r *Reader, s slab) ([]float64, error) {
	start, count := s.box(r)
	if r.schema.vars[s.v].Type == cdf5.Char {
		b := make([]byte, product(count))
		if err := r.Read(ctx, s.name, start, count, b); err != nil {
			return nil, err
		}
		out := make([]float64, len(b))
		for i := range b {
			out[i] = float64(b[i])
		}
		return out, nil
	}
	out := make([]float64, product(count))
	return out, r.Read(ctx, s.name, start, count, out)
}

// box is all of the record.
func (s slab) box(r *Reader) (start, count []int64) {
	shape := r.schema.Shape(s.v)
	start, count = make([]int64, len(shape)), slices.Clone(shape)
	if r.schema.vars[s.v].Record {
		start, count = append([]int64{s.rec}, start...), append([]int64{1}, count...)
	}
	return start, count
}

// corner is some elements of it, not next to each other.
func (s slab) corner(r *Reader) (start, count []int64) {
	start, count = s.box(r)
	last := len(count) - 1
	if last == 0 && r.schema.vars[s.v].Record {
		return start, count
	}
	start[last] = count[last] / 2
	count[last] = 1
	return start, count
}

func (s slab) String() string { return fmt.Sprintf("%s[%d]", s.name, s.rec) }

func slabsOf(r *Reader) (out []slab) {
	for v := range r.schema.vars {
		recs := int64(1)
		if r.schema.vars[v].Record {
			recs = r.records
		}
		for rec := range recs {
			out = append(out, slab{r.schema.vars[v].Name, rec, VarID(v)})
		}
	}
	return out
}

// readout is what each reading gave of each slab, in order.
func readout(t testing.TB, files map[string][]byte) (values [][]float64, errs []error) {
	t.Helper()
	fs := memOf(t, files)
	for _, way := range readings {
		o := way.o
		o.fs, o.Workers = fs, 1
		r, err := Open(t.Context(), sampleBase, &o)
		if err != nil {
			return nil, []error{err}
		}
		for _, s := range slabsOf(r) {
			if r.schema.vars[s.v].Type == cdf5.Char && way.name != "whole" {
				continue
			}
			x, err := way.read(t.Context(), r, s)
			values, errs = append(values, x), append(errs, err)
		}
		r.Close()
	}
	return values, errs
}

// labels are the slabs of the values of readout.
func labels(t testing.TB, files map[string][]byte) (ways []string, out []slab) {
	r, err := Open(t.Context(), sampleBase, &OpenOptions{fs: memOf(t, files)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, way := range readings {
		for _, s := range slabsOf(r) {
			if r.schema.vars[s.v].Type != cdf5.Char || way.name == "whole" {
				ways, out = append(ways, way.name), append(out, s)
			}
		}
	}
	return ways, out
}

// convertTo converts to canonical form, or to blobs and from there to canonical form, and returns the file.
func convertTo(t testing.TB, files map[string][]byte, blobs bool, o OpenOptions) ([]byte, error) {
	t.Helper()
	fs := memOf(t, files)
	o.fs, o.Workers = fs, 1
	r, err := Open(t.Context(), sampleBase, &o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c := ConvertOptions{Workers: 1, Durability: DurableNone}
	if blobs {
		c.Blobs, c.Layout, c.Ranks = true, ProcessCentric, 2
		c.DropUncovered = true
		if err := Convert(t.Context(), r, "again.h5", &c); err != nil {
			if n := leftovers(t, fs, "again.h5"); len(n) > 0 {
				t.Errorf("left over by a conversion that failed: %v", n)
			}
			return nil, err
		}
		q, err := Open(t.Context(), "again.h5", &OpenOptions{fs: fs})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		r, c = q, ConvertOptions{Workers: 1, Durability: DurableNone}
	}
	if err := Convert(t.Context(), r, "out.nc", &c); err != nil {
		if n := leftovers(t, fs, "out.nc"); len(n) > 0 {
			t.Errorf("left over by a conversion that failed: %v", n)
		}
		return nil, err
	}
	return memFiles(t, fs)["out.nc"], nil
}

func leftovers(t testing.TB, m *vfs.Mem, name string) (out []string) {
	for n := range memFiles(t, m) {
		if strings.Contains(n, name) {
			out = append(out, n)
		}
	}
	return out
}

// TestFlips: no flipped bit of any subfile gives wrong values without an error, in no way to read, convert or compare; and
// what the bit is not in can still be read.
func TestFlips(t *testing.T) {
	for k, h := range histories() {
		if raceEnabled && !long && k%4 != 0 {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			files := h.write(t)
			want, errs := readout(t, files)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			ways, slabs := labels(t, files)
			canonical, err := convertTo(t, files, false, OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			places := whereIs(t, files)
			for _, name := range slices.Sorted(maps.Keys(files)) {
				if !strings.HasPrefix(name, sampleBase+".0") && !strings.HasPrefix(name, sampleBase+"+") {
					continue
				}
				for _, at := range places.sample(name, len(files[name]), k) {
					what := fmt.Sprintf("byte %#x of %s", at, name)
					bad := maps.Clone(files)
					bad[name] = flipped(files[name], int64(at), uint(at%8))
					in, isData := places.at(name, int64(at))
					got, errs := readout(t, bad)
					if len(got) == 0 && isData {
						t.Fatalf("%s: a bit of %v, but nothing can be opened: %v", what, in, errs[0])
					}
					missed := 0
					for i := range got {
						mine := isData && in.name == slabs[i].name && in.rec == slabs[i].rec
						switch {
						case errs[i] == nil && !slices.Equal(got[i], want[i]):
							t.Errorf("%s (of %v): %s of %v: wrong values, no error", what, in, ways[i], slabs[i])
						case errs[i] != nil && isData && !mine:
							t.Errorf("%s (of %v): %s of %v: %v", what, in, ways[i], slabs[i], errs[i])
						case errs[i] != nil && isData && !errors.Is(errs[i], ErrChecksum):
							t.Errorf("%s (of %v): %s of %v: %v, want %v", what, in, ways[i], slabs[i], errs[i], ErrChecksum)
						case errs[i] == nil && mine && ways[i] == "whole" && !in.copy:
							missed++
						}
					}
					if missed > 0 {
						t.Errorf("%s (of %v): read as a whole without an error", what, in)
					}
					for _, blobs := range []bool{false, true} {
						out, err := convertTo(t, bad, blobs, OpenOptions{})
						if err == nil && !bytes.Equal(out, canonical) && !blobs {
							t.Errorf("%s (of %v): the conversion differs", what, in)
						}
						if err == nil && isData && !in.copy {
							t.Errorf("%s (of %v): converted (to blobs: %v) without an error", what, in, blobs)
						}
					}
					if d := diffOf(t, files, bad); len(d) > 0 && (d[0].Err == nil || len(d) > 1) {
						t.Errorf("%s (of %v): differences instead of an error: %v", what, in, d)
					}
				}
			}
		})
	}
}

func diffOf(t testing.TB, a, b map[string][]byte) []Finding {
	t.Helper()
	x, err := Open(t.Context(), sampleBase, &OpenOptions{fs: memOf(t, a)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	y, err := Open(t.Context(), sampleBase, &OpenOptions{fs: memOf(t, b)})
	if err != nil {
		return nil
	}
	defer y.Close()
	return slices.Collect(Diff(t.Context(), x, y, nil))
}

// whereabouts says what lies where in the files of a dataset.
type whereabouts []struct {
	Extent
	copied bool
}

// holder is what a byte belongs to.
type holder struct {
	name string
	rec  int64
	copy bool // a copy of a variable that is not decomposed, which nobody reads
}

func whereIs(t testing.TB, files map[string][]byte) (w whereabouts) {
	t.Helper()
	r, err := Open(t.Context(), sampleBase, &OpenOptions{fs: memOf(t, files)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.Extents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Map || e.Name == "header" {
			continue
		}
		v, _ := r.schema.VarID(e.Name)
		w = append(w, struct {
			Extent
			copied bool
		}{e, r.schema.vars[v].Decomp == 0 && e.Subfile > 0})
	}
	return w
}

// sample chooses bytes of a file: of the extents of data, and of all else. k is different for each dataset.
func (w whereabouts) sample(name string, size, k int) (list []int) {
	step, some := 401, 4
	if raceEnabled {
		step, some = 4*step, 4*some
	}
	if long {
		step, some = 1, 1
	}
	for at := k % step; at < size; at += step {
		list = append(list, at)
	}
	for i, e := range w {
		if e.File == name && e.Bytes > 0 && i%some == k%some {
			list = append(list, int(e.Offset+int64(k*7+i)%e.Bytes))
		}
	}
	return list
}

func (w whereabouts) at(file string, off int64) (holder, bool) {
	for _, e := range w {
		if e.File == file && off >= e.Offset && off < e.Offset+e.Bytes {
			return holder{e.Name, max(e.Record, 0), e.copied}, true
		}
	}
	return holder{}, false
}

// TestSaving: what is damaged can be had all the same, and is not called good.
func TestSaving(t *testing.T) {
	for _, h := range histories() {
		files := h.write(t)
		var e Extent
		for _, x := range whereIs(t, files) {
			if x.Name == "T" && x.Bytes > 0 {
				e = x.Extent
				break
			}
		}
		files[e.File] = flipped(files[e.File], e.Offset, 3)
		fs := memOf(t, files)
		r, err := Open(t.Context(), sampleBase, &OpenOptions{fs: fs, Verify: VerifyNever})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range slabsOf(r) {
			if _, err := readWhole(t.Context(), r, s); err != nil {
				t.Errorf("%s: %v: %v", h.name, s, err)
			}
		}
		for _, base := range []string{"once.nc", "twice.nc"} {
			if err := Convert(t.Context(), r, base, &ConvertOptions{Blobs: true, Ranks: 2, DropUncovered: true}); err != nil {
				t.Fatalf("%s: %v", h.name, err)
			}
			r.Close()
			if r, err = Open(t.Context(), base, &OpenOptions{fs: fs}); err != nil {
				t.Fatal(err)
			}
			if !r.Manifest().Unverified {
				t.Errorf("%s: %s: not marked", h.name, base)
			}
			said := slices.Collect(Check(t.Context(), base, &CheckOptions{fs: fs}))
			if !slices.ContainsFunc(said, func(f Finding) bool { return f.Severity == Warning && f.Field == "unverified" }) {
				t.Errorf("%s: %s: Check does not warn: %v", h.name, base, said)
			}
		}
		r.Close()
	}
}

// TestAppendToDamaged: an append gives nothing that was committed a new checksum.
func TestAppendToDamaged(t *testing.T) {
	for _, h := range histories() {
		if h.first == 3 {
			continue
		}
		files := h.write(t)
		for _, x := range whereIs(t, files) {
			if x.Bytes == 0 || x.Rank > 0 {
				continue
			}
			bad := maps.Clone(files)
			bad[x.File] = flipped(files[x.File], x.Offset, 3)
			fs := memOf(t, bad)
			toy, o := newToy(3), h.o
			o.Durability, o.fs = DurableNone, fs
			if err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
				w, err := Append(ctx, c, sampleBase, toy.parts(c.Rank()), &o)
				if err != nil {
					return err
				}
				if err := toy.put(w, c.Rank(), 3, false); err != nil {
					return err
				}
				return w.Close(ctx)
			}); err != nil {
				t.Fatalf("%s: %v", h.name, err)
			}
			var faults []Finding
			for f := range Check(t.Context(), sampleBase, &CheckOptions{fs: fs}) {
				if f.Severity == Error {
					faults = append(faults, f)
				}
			}
			if len(faults) != 1 || faults[0].Err != ErrChecksum || !strings.Contains(faults[0].Field, `"`+x.Name+`"`) {
				t.Errorf("%s: a bit of %s of record %d: %v", h.name, x.Name, x.Record, faults)
			}
		}
	}
}

// TestOldManifest: a manifest without checksums of pieces is compared by whole extents, and an append leaves it so.
func TestOldManifest(t *testing.T) {
	for _, h := range histories() {
		if h.o.piece == 0 || h.first == 3 {
			continue
		}
		files := h.write(t)
		name := subfile.ManifestName(sampleBase)
		m, err := subfile.Decode(files[name], name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Piece != h.o.piece {
			t.Fatalf("%s: pieces of %d bytes", h.name, m.Piece)
		}
		m.Piece = 0
		for i := range m.Sets {
			for k := range m.Sets[i].Subfiles {
				m.Sets[i].Subfiles[k].Pieces = nil
			}
		}
		if files[name], err = m.Encode(); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(files[name], []byte("piece")) {
			t.Fatalf("%s: an old manifest has no such field: %s", h.name, files[name])
		}
		fs := memOf(t, files)
		toy, o := newToy(3), h.o
		o.Durability, o.fs = DurableNone, fs
		if err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
			w, err := Append(ctx, c, sampleBase, toy.parts(c.Rank()), &o)
			if err != nil {
				return err
			}
			if err := toy.put(w, c.Rank(), 3, false); err != nil {
				return err
			}
			return w.Close(ctx)
		}); err != nil {
			t.Fatalf("%s: %v", h.name, err)
		}
		for f := range Check(t.Context(), sampleBase, &CheckOptions{fs: fs}) {
			if f.Severity != Note {
				t.Errorf("%s: %v", h.name, f)
			}
		}
		files = memFiles(t, fs)
		if _, errs := readout(t, files); errors.Join(errs...) != nil {
			t.Errorf("%s: %v", h.name, errors.Join(errs...))
		}
		for _, x := range whereIs(t, files) {
			if x.Name != "T" || x.Bytes == 0 {
				continue
			}
			bad := maps.Clone(files)
			bad[x.File] = flipped(files[x.File], x.Offset+x.Bytes-1, 6)
			if _, errs := readout(t, bad); !errors.Is(errors.Join(errs...), ErrChecksum) {
				t.Errorf("%s: a bit of T of record %d: %v", h.name, x.Record, errs)
			}
		}
	}
}

// TestTable: what says where the blobs lie is compared with its checksums before anything is read by it, even if its numbers agree.
func TestTable(t *testing.T) {
	s := newSample(t, VariableCentric, 1, true)
	name := s.subfile(0)
	pl, tab := s.place(t, name)
	file := slices.Clone(s.files[name])
	put := func(m, j int, v int64) {
		off, n := pl.mapPiece(0, m, tab, j)
		putInt(file[off:], s.order(), n, v)
	}
	put(mapCount, 0, tab.count[0]-1) // an element goes to the next
	put(mapStart, 1, tab.start[pl.nd()]-1)
	put(mapCount, 1, tab.count[pl.nd()]+1)
	r, err := Open(t.Context(), sampleBase, &OpenOptions{fs: memOf(t, s.with(name, file))})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Read(t.Context(), "scale", nil, nil, make([]float32, toyLev)); !errors.Is(err, ErrChecksum) {
		t.Errorf("%v, want %v", err, ErrChecksum)
	}
}

// TestReplacedBeforeDamaged: bytes that differ because another dataset has taken the name are not called damage.
func TestReplacedBeforeDamaged(t *testing.T) {
	s := newSample(t, VariableCentric, 1, true)
	name, manifest := s.subfile(0), subfile.ManifestName(sampleBase)
	m := memOf(t, s.files)
	r, err := Open(t.Context(), sampleBase, &OpenOptions{fs: m})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	scale := make([]float32, toyLev)
	if err := r.Read(t.Context(), "scale", nil, nil, scale); err != nil {
		t.Fatal(err)
	}
	damage := func(file string, b []byte, off int64) {
		f, err := m.OpenRW(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt(b, off); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range whereIs(t, s.files) {
		if e.Name == "scale" {
			damage(name, []byte{1, 2, 3}, e.Offset)
		}
	}
	if err := r.Read(t.Context(), "scale", nil, nil, scale); !errors.Is(err, ErrChecksum) {
		t.Errorf("damaged: %v, want %v", err, ErrChecksum)
	}
	other, err := subfile.Decode(s.files[manifest], manifest)
	if err != nil {
		t.Fatal(err)
	}
	other.ID = strings.Repeat("5", len(other.ID))
	b, err := other.Encode()
	if err != nil {
		t.Fatal(err)
	}
	damage(manifest, b, 0)
	if err := r.Read(t.Context(), "scale", nil, nil, scale); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("replaced: %v, want that it was replaced", err)
	}
}
