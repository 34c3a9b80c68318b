package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// lies is the place of one element. Bytes [from, to) of the canonical file are bytes [off, off+n) of the subfile. In a
// compressed subfile the latter are the chunk that contains the element. at is the element's offset in its extent.
type lies struct {
	v        dataset.VarID
	from, to int64
	file     string
	off, n   int64
	at       int64
	e        read.VarExtent
}

// liesOf lists all elements of a canonical file that some rank owns.
func liesOf(t *testing.T, f *read.CanonicalFile) (out []lies) {
	t.Helper()
	r := f.R
	for v := range r.Data.Schema.Vars {
		sv := &r.Data.Schema.Vars[v]
		size, recs := int64(sv.Type.Size()), int64(1)
		if sv.Record {
			recs = r.Data.Records
		}
		for rec := range recs {
			s, srec := r.Data.SetOf(dataset.VarID(v), rec)
			must(s.Load(t.Context()))
			id := need(s.Variable(dataset.VarID(v), sv))
			begin, _ := f.At.Extent(v, rec)
			add := func(p *read.FilePart, j int, elem, pos int64) {
				off, _, at := p.Place.Spot(p.Table, j, int32(id), srec)
				x := lies{dataset.VarID(v), begin + elem*size, begin + (elem+1)*size, p.Name, off + pos*size, size, at + pos*size, read.VarExtent{P: p, V: p.Place.Header.FileVar(int(id)), Rec: srec}}
				if p.Un != nil {
					f, done, err := p.Raw()
					must(err)
					x.off, x.n, _, _, _, err = p.Un.Chunk(f, x.e.V, srec, j, pos*size)
					must(err)
					done()
				}
				out = append(out, x)
			}
			if sv.Decomp == 0 {
				for i := range r.Data.Schema.Elems(dataset.VarID(v)) {
					add(s.FirstPart(), 0, i, i)
				}
				continue
			}
			ix := need(r.Maps.Index(t.Context(), r.Data.Sets[0], sv.Decomp))
			for o := range ix.Range(0, r.Data.Schema.Elems(dataset.VarID(v))) {
				p, j := s.Owner(o.Rank)
				for i := range o.Len {
					add(p, j, o.Off+i, o.Pos+i)
				}
			}
		}
	}
	return out
}

// hit finds the bytes of the canonical file that become unreadable if the byte at off of a subfile is damaged, because one
// checksum covers both. ok is false if no checksum covers the damaged byte.
func hit(list []lies, size int64, file string, off int64) (out []bool, ok bool) {
	out = make([]bool, size)
	for _, x := range list {
		if x.file != file || off < x.off || off >= x.off+x.n {
			continue
		}
		if x.e.P.Un != nil { // each chunk of a compressed file has its own checksum
			ok = true
			spoil(out, x.from, x.to)
			continue
		}
		lo, hi := int64(0), x.e.Bytes()
		if fine := x.e.P.Fine; fine != nil && len(fine.Of(x.e.P.Info.Pieces, &x.e.P.Place.Header, x.e.V, x.e.Rec)) > 0 {
			lo = (x.at + off - x.off) / fine.Size * fine.Size
			hi = min(hi, lo+fine.Size)
		}
		for _, y := range list {
			if y.e == x.e && y.at < hi && y.at+y.to-y.from > lo {
				ok = true
				spoil(out, y.from, y.to)
			}
		}
	}
	return out, ok
}

func spoil(bad []bool, from, to int64) {
	for b := from; b < to; b++ {
		bad[b] = true
	}
}

// demand is the required result of reads that touch damage.
type demand int

const (
	mustFail  demand = iota
	mayDiffer        // a read of only a part of the checksummed data may return wrong values
	mayFail          // reads fail or return right values
)

// readsExactly reads random ranges. Reads that touch a bad byte must meet the demand; all other reads, and the bytes before the
// fault, must be right.
func readsExactly(t *testing.T, f *read.CanonicalFile, want []byte, bad []bool, how demand, what string, rnd *rand.Rand) {
	t.Helper()
	size := int64(len(want))
	if f.Size() != size {
		t.Fatalf("%s: %d bytes, want %d", what, f.Size(), size)
	}
	buf := make([]byte, size)
	for k := range 60 {
		off := rnd.Int64N(size)
		n := min(1+rnd.Int64N(64), size-off)
		switch {
		case k == 30:
			off, n = 0, size
		case k%3 == 0:
			n = 1 + rnd.Int64N(size-off)
		}
		touched := slices.Contains(bad[off:off+n], true)
		b := buf[:n]
		for i := range b {
			b[i] = 0x5a
		}
		if k%4 == 1 {
			got, err := f.Prove(t.Context(), off, off+n)
			if err == nil && (got < n || touched && how == mustFail) || err != nil && (!touched || got >= n || how == mustFail && slices.Contains(bad[off:off+got], true)) {
				t.Fatalf("%s: %d bytes at %d, some of them damaged: %v: %d can be read, %v", what, n, off, touched, got, err)
			}
		}
		got, err := f.ReadAt(b, off)
		switch {
		case err != nil && errors.Is(err, io.EOF):
			t.Fatalf("%s: %d bytes at %d of %d: %v", what, n, off, size, err)
		case err != nil && !touched:
			t.Fatalf("%s: %d bytes at %d touch nothing that is damaged: %v", what, n, off, err)
		case err == nil && touched && how == mustFail:
			t.Fatalf("%s: %d bytes at %d are damaged: no error", what, n, off)
		case err == nil && got != len(b):
			t.Fatalf("%s: %d bytes at %d: %d read", what, n, off, got)
		}
		if err == nil && touched && how == mayDiffer {
			continue
		}
		if err != nil && how != mayFail && slices.Contains(bad[off:off+int64(got)], true) {
			t.Fatalf("%s: %d bytes at %d: %d of them right, but some are damaged", what, n, off, got)
		}
		if !bytes.Equal(b[:got], want[off:off+int64(got)]) {
			t.Fatalf("%s: %d bytes at %d: %s", what, n, off, firstDiff(b[:got], want[off:off+int64(got)]))
		}
	}
}

// damaged is a dataset to damage.
type damaged struct {
	history
	files map[string][]byte
	want  []byte
	list  []lies
	owned []bool // bytes of want that belong to an element with an owner
	maps  []read.Extent
	sets  map[string]int // index of the set of each subfile
}

// damagedOnes returns histories of datasets, plain and compressed, in which every subfile contains data.
func damagedOnes() (out []history) {
	for _, h := range histories() {
		if h.o.Grouping = subfile.Blocks; h.o.Subfiles > 1 {
			h.o.Grouping = subfile.RoundRobin
		}
		if out = append(out, h); h.o.Layout == dataset.ProcessCentric && h.o.Piece > 0 && h.o.Records == 0 {
			h.o.Compress, h.o.Chunk = dataset.Compress{Method: dataset.ShuffleZstd}, 64
			h.name += "-compressed"
			out = append(out, h)
		}
	}
	return out
}

func (h history) toDamage(t *testing.T) *damaged {
	t.Helper()
	d := &damaged{history: h, files: h.write(t), sets: map[string]int{}}
	r, f, _, err := d.open(t, d.files, read.OpenOptions{})
	must(err)
	defer r.Close()
	d.want, d.owned = make([]byte, f.Size()), make([]bool, f.Size())
	need(f.ReadAt(d.want, 0))
	if d.list = liesOf(t, f); len(d.list) < 100 {
		t.Fatalf("%d elements", len(d.list))
	}
	for _, x := range d.list {
		spoil(d.owned, x.from, x.to)
	}
	for e, err := range r.Now().Data.Extents(t.Context()) {
		must(err)
		if e.Map {
			d.maps = append(d.maps, e)
		}
	}
	for i, s := range r.Data.Sets {
		for _, p := range s.Parts {
			d.sets[p.Name] = i
		}
	}
	return d
}

func (d *damaged) open(t *testing.T, files map[string][]byte, o read.OpenOptions) (*read.Reader, *read.CanonicalFile, *vfs.Mem, error) {
	t.Helper()
	mem := memOf(t, files)
	r, err := read.OpenWith(t.Context(), sampleBase, &o, dataset.Knobs{Fs: mem})
	if err != nil {
		return nil, nil, nil, err
	}
	f := need(r.Canonical(nil))
	return r, f, mem, nil
}

// without returns the bytes of the canonical file that become unreadable if a subfile, or its part of decomposition dec (0:
// all), is lost. These are the elements in the subfile. The first set has the maps for all sets: if a map is lost, elements
// without an owner are unreadable too, because the lost map might contain them. The same holds for any set with a single
// subfile.
func (d *damaged) without(f *read.CanonicalFile, name string, dec dataset.DecompID) []bool {
	bad := make([]bool, f.Size())
	set, index := d.sets[name], -1
	for _, p := range f.R.Data.Sets[set].Parts {
		if p.Name == name {
			index = p.Index
		}
	}
	mine := func(v dataset.VarID, s int) bool {
		of := f.R.Data.Schema.Vars[v].Decomp
		return (s == set || set == 0) && (dec == 0 || dec == of)
	}
	for _, x := range d.list {
		s := d.sets[x.file]
		decomposed := f.R.Data.Schema.Vars[x.v].Decomp != 0
		if mine(x.v, s) && x.e.P.Index == index && (decomposed || d.o.Subfiles == 1) { // every subfile has a copy of variables without a decomposition
			spoil(bad, x.from, x.to)
		}
	}
	for v := range f.R.Data.Schema.Vars {
		for rec := range f.R.Data.Records {
			if set > 0 && d.o.Subfiles > 1 {
				break
			}
			set, _ := f.R.Data.SetOf(dataset.VarID(v), rec)
			if f.R.Data.Schema.Vars[v].Decomp == 0 || !mine(dataset.VarID(v), slices.Index(f.R.Data.Sets, set)) || rec > 0 && !f.R.Data.Schema.Vars[v].Record {
				continue
			}
			begin, n := f.At.Extent(v, rec)
			for b := begin; b < begin+n; b++ {
				bad[b] = bad[b] || !d.owned[b]
			}
		}
	}
	return bad
}

// touched returns the bytes of the canonical file that depend on a byte of a subfile, and what reads of them must do if it is
// damaged.
func (d *damaged) touched(f *read.CanonicalFile, name string, off int64) ([]bool, demand) {
	if bad, ok := hit(d.list, f.Size(), name, off); ok {
		return bad, mustFail
	}
	for _, e := range d.maps {
		var dec dataset.DecompID
		var list string
		need(fmt.Sscanf(e.Name, "D%d.%s", &dec, &list))
		if e.File == name && off >= e.Offset && off < e.Offset+e.Bytes && (list == "offsets" || list == "lengths") && d.o.Compress.Method == dataset.NoCompression {
			return d.without(f, name, dec), mayFail
		}
	}
	bad := d.without(f, name, 0)
	for _, x := range d.list { // the index of a compressed file has the checksum of each chunk
		if x.file == name && x.e.P.Un != nil {
			spoil(bad, x.from, x.to)
		}
	}
	return bad, mayFail
}

// readsParts reads parts of variables, like ncks, DAP2 and xarray. Exactly the reads of damaged data must fail.
func readsParts(t *testing.T, f *read.CanonicalFile, want []byte, bad []bool, how demand, toFile bool, what string, rnd *rand.Rand) {
	t.Helper()
	marks := make([]byte, len(bad))
	for i, b := range bad {
		if b {
			marks[i] = 1
		}
	}
	for range 12 {
		v := dataset.VarID(rnd.IntN(len(f.R.Data.Schema.Vars)))
		sv := &f.R.Data.Schema.Vars[v]
		sub, lists := read.Subset{}, map[string][]int64{}
		for _, id := range sv.Dims {
			dim := f.R.Data.Schema.Dims[id]
			n := dim.Len
			if n == dataset.Unlimited {
				n = f.R.Data.Records
			}
			s := read.Span{First: rnd.Int64N(n), Stride: 1 + rnd.Int64N(3)}
			s.Count = 1 + rnd.Int64N((n-1-s.First)/s.Stride+1)
			for k := range s.Count {
				lists[dim.Name] = append(lists[dim.Name], s.First+k*s.Stride)
			}
			sub[dim.Name] = read.Index{s}
		}
		var all, of []byte // all records of the variable
		recs := int64(1)
		if sv.Record {
			recs = f.R.Data.Records
		}
		for rec := range recs {
			off, n := f.At.Extent(int(v), rec)
			all, of = append(all, want[off:off+n]...), append(of, marks[off:off+n]...)
		}
		is, touched := pick(f.R, v, all, lists), slices.Contains(pick(f.R, v, of, lists), 1)
		w, err := f.R.View([]string{sv.Name}, sub)
		must(err)
		got := make([]byte, len(is))
		err = w.ReadBytes(t.Context(), sv.Name, nil, nil, got, true)
		switch {
		case err != nil && !touched:
			t.Fatalf("%s: %v of %q touches nothing that is damaged: %v", what, sub, sv.Name, err)
		case err == nil && touched && how == mustFail:
			t.Fatalf("%s: %v of %q is damaged: no error", what, sub, sv.Name)
		case err == nil && !(touched && how == mayDiffer) && !bytes.Equal(got, is):
			t.Fatalf("%s: %v of %q: %s", what, sub, sv.Name, firstDiff(got, is))
		}
		if toFile {
			for _, blobs := range []bool{false, true} {
				o := &convert.ConvertOptions{Vars: []string{sv.Name}, Subset: sub, Blobs: blobs, Ranks: 2, DropUncovered: true, Durability: dataset.DurableNone, Force: true, Workers: 1}
				if !blobs {
					o.Ranks, o.DropUncovered = 0, false
				}
				if err := convert.ConvertWith(t.Context(), comm.Self(), f.R, "part.nc", o, dataset.Knobs{Fs: vfs.NewMem()}); (err != nil) != touched {
					t.Fatalf("%s: %v of %q converted, to blobs: %v: %v", what, sub, sv.Name, blobs, err)
				}
			}
		}
	}
}

// TestCanonicalDamage flips one byte of any file. If it is a data byte, exactly the reads covered by its checksum fail. If it
// is another byte, only reads that need this file may fail. All other reads are right.
func TestCanonicalDamage(t *testing.T) {
	for k, h := range crashtest.Some(t, 2, damagedOnes()) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			d := h.toDamage(t)
			good, whole, _, err := d.open(t, d.files, read.OpenOptions{})
			must(err)
			defer good.Close()
			must(good.Data.Sets[0].Load(t.Context()))
			names := slices.Sorted(maps.Keys(d.sets))
			rnd := rand.New(rand.NewPCG(7, uint64(k)))
			for i := range times(4, 200) {
				name := names[rnd.IntN(len(names))]
				off := rnd.Int64N(int64(len(d.files[name])))
				if i%2 == 0 {
					x := d.list[rnd.IntN(len(d.list))]
					name, off = x.file, x.off+rnd.Int64N(x.n)
				}
				bad, how := d.touched(whole, name, off)
				what := fmt.Sprintf("byte %#x of %s", off, name)
				flip := maps.Clone(d.files)
				flip[name] = flipped(d.files[name], off, uint(rnd.IntN(8)))
				for _, verify := range []read.Verification{read.VerifyWhole, read.VerifyOnce, read.VerifyAlways} {
					r, f, _, err := d.open(t, flip, read.OpenOptions{Verify: verify, Workers: 1 + rnd.IntN(3), MissingLater: true})
					if err != nil {
						if how == mustFail || h.o.Subfiles > 1 {
							t.Fatalf("%s: %v", what, err)
						}
						continue
					}
					how := how
					if verify == read.VerifyWhole && how == mustFail && h.o.Compress.Method == dataset.NoCompression {
						how = mayDiffer
					}
					readsExactly(t, f, d.want, bad, how, what, rnd)
					readsParts(t, f, d.want, bad, how, how != mayFail, what, rnd)
					n, err := f.ReadAt(make([]byte, f.Size()), 0)
					if slices.Contains(bad[:n], true) && how != mayFail || err == nil && how != mayFail || err != nil && how == mustFail && !errors.Is(err, dataset.ErrChecksum) {
						t.Fatalf("%s: %v: read as a whole: %d bytes, %v", what, verify, n, err)
					}
					r.Close()
				}
			}
		})
	}
}

// TestCanonicalGone removes a subfile before or after the open, or truncates it. Exactly the reads that need the subfile fail.
func TestCanonicalGone(t *testing.T) {
	for k, h := range crashtest.Some(t, 2, damagedOnes()) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			d := h.toDamage(t)
			rnd := rand.New(rand.NewPCG(8, uint64(k)))
			good, whole, _, err := d.open(t, d.files, read.OpenOptions{})
			must(err)
			defer good.Close()
			must(good.Data.Sets[0].Load(t.Context()))
			for _, name := range slices.Sorted(maps.Keys(d.sets)) {
				bad := d.without(whole, name, 0)
				r, f, mem, err := d.open(t, d.files, read.OpenOptions{})
				must(err)
				how := mustFail
				if r.Data.Sets[0].Parts[0].Name == name {
					how = mayFail // the file is already open
				}
				must(mem.Remove(name))
				readsExactly(t, f, d.want, bad, how, "without "+name, rnd)
				readsParts(t, f, d.want, bad, how, false, "without "+name, rnd)
				r.Close()

				files := maps.Clone(d.files)
				for _, left := range []int64{-1, 0, rnd.Int64N(int64(len(files[name])))} {
					what := fmt.Sprintf("%d bytes of %s", left, name)
					if delete(files, name); left >= 0 {
						files[name] = d.files[name][:left]
					}
					r, f, _, err := d.open(t, files, read.OpenOptions{MissingLater: true})
					if err != nil {
						if h.o.Subfiles > 1 || d.sets[name] > 0 {
							t.Fatalf("%s: %v", what, err)
						}
						continue
					}
					readsExactly(t, f, d.want, bad, mustFail, what, rnd)
					readsParts(t, f, d.want, bad, mustFail, false, what, rnd)
					r.Close()
				}
			}
		})
	}
}

// TestCanonicalMissing checks that AllowMissing gives fill values for the data of a missing subfile, the same as Read and
// Convert give.
func TestCanonicalMissing(t *testing.T) {
	for _, h := range crashtest.Some(t, 2, histories()) {
		if h.o.Subfiles < 2 {
			continue
		}
		files := h.write(t)
		delete(files, sampleBase+".0001")
		r := need(read.OpenWith(t.Context(), sampleBase, &read.OpenOptions{AllowMissing: true}, dataset.Knobs{Fs: memOf(t, files)}))
		for _, zero := range []bool{false, true} {
			want := need(convertBytes(t.Context(), r, &convert.ConvertOptions{FillMissing: true, ZeroFill: zero}))
			f := need(r.Canonical(&read.CanonicalOptions{ZeroFill: zero}))
			readsExactly(t, f, want, make([]bool, len(want)), mustFail, h.name, rand.New(rand.NewPCG(1, 2)))
		}
		r.Close()
	}
}
