package blob

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"blobio/internal/vfs"
)

// lies is where an element of a canonical file is: bytes [from, to) of the file are [off, off+to-from) of the subfile, and begin at byte at of an extent.
type lies struct {
	from, to int64
	file     string
	off, at  int64
	e        extent
}

// liesOf lists all elements of a canonical file that somebody owns.
func liesOf(t *testing.T, f *CanonicalFile) (out []lies) {
	t.Helper()
	r := f.r
	for v := range r.schema.vars {
		sv := &r.schema.vars[v]
		size, recs := int64(sv.Type.Size()), int64(1)
		if sv.Record {
			recs = r.records
		}
		for rec := range recs {
			s, srec := r.setOf(VarID(v), rec)
			must(r.loadSet(t.Context(), s))
			id, err := s.variable(VarID(v), sv)
			must(err)
			begin, _ := f.at.Extent(v, rec)
			add := func(p *filePart, j int, elem, pos int64) {
				off, _, at := p.place.Spot(p.table, j, int32(id), srec)
				out = append(out, lies{begin + elem*size, begin + (elem+1)*size, p.name, off + pos*size, at + pos*size,
					extent{p, p.place.fileVar(id), srec}})
			}
			if sv.Decomp == 0 {
				for i := range r.schema.Elems(VarID(v)) {
					add(s.firstPart(), 0, i, i)
				}
				continue
			}
			ix, err := r.mapIndex(t.Context(), sv.Decomp)
			must(err)
			for o := range ix.Range(0, r.schema.Elems(VarID(v))) {
				p, j := s.owner(o.Rank)
				for i := range o.Len {
					add(p, j, o.Off+i, o.Pos+i)
				}
			}
		}
	}
	return out
}

// hit says of each byte of the file whether it is of what is compared together with the byte at off of a subfile; whether none is.
func hit(list []lies, size int64, file string, off int64) (out []bool, ok bool) {
	out = make([]bool, size)
	for _, x := range list {
		if x.file != file || off < x.off || off >= x.off+x.to-x.from {
			continue
		}
		lo, hi := int64(0), x.e.bytes()
		if fine := x.e.p.fine; fine != nil && len(fine.Of(x.e.p.info.Pieces, x.e.p.place.Header, x.e.v, x.e.rec)) > 0 {
			lo = (x.at + off - x.off) / fine.Size * fine.Size
			hi = min(hi, lo+fine.Size)
		}
		for _, y := range list {
			if y.e == x.e && y.at < hi && y.at+y.to-y.from > lo {
				ok = true
				for b := y.from; b < y.to; b++ {
					out[b] = true
				}
			}
		}
	}
	return out, ok
}

// readsExactly reads ranges anywhere: those that touch a bad byte fail if strict, all others are right, and so is what is before the fault.
func readsExactly(t *testing.T, f *CanonicalFile, want []byte, bad []bool, strict bool, what string, rnd *rand.Rand) {
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
		got, err := f.ReadAt(b, off)
		switch {
		case err != nil && errors.Is(err, io.EOF):
			t.Fatalf("%s: %d bytes at %d of %d: %v", what, n, off, size, err)
		case err != nil && !touched:
			t.Fatalf("%s: %d bytes at %d touch nothing that is damaged: %v", what, n, off, err)
		case err == nil && touched && strict:
			t.Fatalf("%s: %d bytes at %d are damaged: no error", what, n, off)
		case err == nil && got != len(b):
			t.Fatalf("%s: %d bytes at %d: %d read", what, n, off, got)
		}
		if err == nil && touched {
			continue // not compared: only a part of what has a checksum was read
		}
		if err != nil && slices.Contains(bad[off:off+int64(got)], true) {
			t.Fatalf("%s: %d bytes at %d: %d of them right, but some are damaged", what, n, off, got)
		}
		if !bytes.Equal(b[:got], want[off:off+int64(got)]) {
			t.Fatalf("%s: %d bytes at %d: %s", what, n, off, firstDiff(b[:got], want[off:off+int64(got)]))
		}
	}
}

// TestCanonicalDamage: one byte of a subfile is flipped, or a subfile goes: exactly the reads fail that touch what is compared with the same
// checksum, or what it held; all else is read as it is.
func TestCanonicalDamage(t *testing.T) {
	for k, h := range histories() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			files := h.write(t)
			open := func(files map[string][]byte, o OpenOptions) (*Reader, *CanonicalFile, *vfs.Mem) {
				mem := memOf(t, files)
				r, err := openWith(t.Context(), sampleBase, &o, knobs{fs: mem})
				if err != nil {
					t.Fatal(err)
				}
				f, err := r.Canonical(nil)
				if err != nil {
					t.Fatal(err)
				}
				return r, f, mem
			}
			r, f, _ := open(files, OpenOptions{})
			defer r.Close()
			want := make([]byte, f.Size())
			if _, err := f.ReadAt(want, 0); err != nil {
				t.Fatal(err)
			}
			list := liesOf(t, f)
			if len(list) < 100 {
				t.Fatalf("%d elements", len(list))
			}
			rnd := rand.New(rand.NewPCG(7, uint64(k)))
			for range times(6, 60) {
				x := list[rnd.IntN(len(list))]
				off := x.off + rnd.Int64N(x.to-x.from)
				bad, ok := hit(list, f.Size(), x.file, off)
				if !ok {
					t.Fatalf("byte %d of %s is of no element", off, x.file)
				}
				flip := maps.Clone(files)
				flip[x.file] = flipped(files[x.file], off, uint(rnd.IntN(8)))
				for _, verify := range []Verification{VerifyWhole, VerifyOnce, VerifyAlways} {
					r, f, _ := open(flip, OpenOptions{Verify: verify, Workers: 1 + rnd.IntN(3)})
					readsExactly(t, f, want, bad, verify != VerifyWhole, x.file, rnd)
					if n, err := f.ReadAt(make([]byte, f.Size()), 0); !errors.Is(err, ErrChecksum) || slices.Contains(bad[:n], true) {
						t.Fatalf("%v: read as a whole: %d bytes, %v", verify, n, err)
					}
					r.Close()
				}
			}
			for _, name := range slices.Sorted(maps.Keys(files)) {
				bad, held := make([]bool, f.Size()), false
				for _, x := range list {
					if x.file == name {
						held = true
						from, to := x.from, x.to
						if h.o.Subfiles == 1 { // nothing tells what is in the set
							s := f.stretch(from)
							from, to = s.off, s.off+s.n
						}
						for b := from; b < to; b++ {
							bad[b] = true
						}
					}
				}
				if !held {
					continue
				}
				r, f, mem := open(files, OpenOptions{})
				lead := r.sets[0].parts[0].name == name // is open
				must(mem.Remove(name))
				readsExactly(t, f, want, bad, !lead, "without "+name, rnd)
				r.Close()
			}
		})
	}
}

// TestCanonicalMissing: with AllowMissing what a missing subfile held is fill values, as Read and Convert have them.
func TestCanonicalMissing(t *testing.T) {
	for _, h := range histories() {
		if h.o.Subfiles < 2 {
			continue
		}
		files := h.write(t)
		delete(files, sampleBase+".0001")
		r, err := openWith(t.Context(), sampleBase, &OpenOptions{AllowMissing: true}, knobs{fs: memOf(t, files)})
		if err != nil {
			t.Fatal(err)
		}
		for _, zero := range []bool{false, true} {
			want, err := convertBytes(t.Context(), r, &ConvertOptions{FillMissing: true, ZeroFill: zero})
			if err != nil {
				t.Fatal(err)
			}
			f, err := r.Canonical(&CanonicalOptions{ZeroFill: zero})
			if err != nil {
				t.Fatal(err)
			}
			readsExactly(t, f, want, make([]bool, len(want)), true, h.name, rand.New(rand.NewPCG(1, 2)))
		}
		r.Close()
	}
}
