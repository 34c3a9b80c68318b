package blob

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
)

func TestCorpusTruncated(t *testing.T) {
	eachSample(t, 3, func(t *testing.T, s *sample, rnd *rand.Rand) {
		for i := 0; s.files[s.subfile(i)] != nil; i++ {
			name := s.subfile(i)
			file := s.files[name]
			base, fields := s.header(t, name)
			lengths := map[int64]bool{}
			near := func(at int64) {
				for k := at - 1; k <= at+1; k++ {
					if k >= 0 && k < int64(len(file)) {
						lengths[k] = true
					}
				}
			}
			near(0)
			near(int64(len(file)))
			for _, f := range fields {
				near(base + f.off)
			}
			pl, tab := s.place(t, name)
			for j := range pl.Shape.Blobs {
				for v := range pl.Schema.Vars {
					off, n := pl.Piece(dataset.VarID(v), 0, tab, j)
					near(off)
					near(off + n)
				}
				for m := range layout.MapVars {
					off, n := pl.MapPiece(1, m, tab, j)
					near(off)
					near(off + n)
				}
			}
			for range len(file) / times(300, 50) {
				lengths[rnd.Int63n(int64(len(file)))] = true
			}
			for n := range int64(len(file)) {
				if !lengths[n] && !long {
					continue
				}
				if !long && i == 0 && s.files[s.subfile(1)] != nil && n%32 != 0 {
					continue
				}
				o := s.run(t, faulty{name: fmt.Sprintf("%s truncated to %d bytes", name, n), files: s.with(name, file[:n]), at: -1})
				if len(o.faults) == 0 {
					t.Errorf("%s: %s truncated to %d of %d bytes: no finding", s.name, name, n, len(file))
				}
			}
		}
	})
}

// TestCorpusStructureBits flips bits of map entries and of HDF5 metadata.
func TestCorpusStructureBits(t *testing.T) {
	eachSample(t, 4, func(t *testing.T, s *sample, rnd *rand.Rand) {
		for i := 0; s.files[s.subfile(i)] != nil; i++ {
			name := s.subfile(i)
			file := s.files[name]
			pl, tab := s.place(t, name)
			for at := range pl.Header.Off {
				if !long && rnd.Intn(40) > 0 {
					continue
				}
				for _, bit := range bitsOf(rnd) {
					s.run(t, faulty{name: fmt.Sprintf("%s: bit %d of byte %#x of the HDF5 metadata", name, bit, at), files: s.with(name, flipped(file, at, bit)), at: -1})
				}
			}
			for d := range pl.Header.Maps {
				for j := range pl.Shape.Blobs {
					for m := range layout.MapVars {
						off, n := pl.MapPiece(d, m, tab, j)
						used := n
						if m >= layout.MapOffsets {
							used = 4 * tab.Nreqs[j*pl.Header.Maps+d]
						}
						for k := range used {
							if !long && (m >= layout.MapOffsets && rnd.Intn(40) > 0 || rnd.Intn(2) > 0) {
								continue
							}
							for _, bit := range bitsOf(rnd) {
								what := fmt.Sprintf("%s: bit %d of byte %d of D%d.%s[%d]", name, bit, k, d+1, layout.MapVarDefs[m].Name, j)
								o := s.run(t, faulty{name: what, files: s.with(name, flipped(file, off+k, bit)), at: -1})
								// A flipped offset can give another valid map, and an additional request can be empty. Any other flipped map entry is
								// inconsistent, so Check must find it.
								if len(o.faults) == 0 && (s.manifest || m != layout.MapOffsets && (len(o.wrong) > 0 || m != layout.MapNreqs)) {
									t.Errorf("%s: %s: no finding; wrong: %v", s.name, what, o.wrong)
								}
							}
						}
					}
				}
			}
		}
	})
}

// TestCorpusData flips bits of data. Only the manifest's checksums reveal them, and the error names the variable and the
// record.
func TestCorpusData(t *testing.T) {
	rnd := rand.New(rand.NewSource(5))
	for _, lay := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		s := newSample(t, lay, 2, true)
		for i := range 2 {
			name := s.subfile(i)
			pl, tab := s.place(t, name)
			for v := range pl.Schema.Vars {
				for j := range pl.Shape.Blobs {
					off, n := pl.Piece(dataset.VarID(v), int64(j%2), tab, j)
					if n == 0 || pl.Schema.Vars[v].Record == false && j%2 == 1 {
						continue
					}
					if !pl.Schema.Vars[v].Record {
						off, n = pl.Piece(dataset.VarID(v), 0, tab, j)
					}
					at := off + rnd.Int63n(n)
					what := fmt.Sprintf("%s: a bit of %s, blob %d", name, pl.Schema.Vars[v].Name, j)
					o := s.run(t, faulty{name: what, files: s.with(name, flipped(s.files[name], at, 3)), at: -1})
					field := fmt.Sprintf("variable %q", pl.Schema.Vars[v].Name)
					if pl.Schema.Vars[v].Record {
						field += fmt.Sprintf(" record %d", j%2)
					}
					if len(o.faults) != 1 || o.faults[0].Field != field || o.faults[0].File != name || !errors.Is(o.faults[0].Err, dataset.ErrChecksum) {
						t.Errorf("%s: %s: want one finding on %s, got %v", s.name, what, field, o.faults)
					}
				}
			}
		}
	}
}

func TestCorpusMaps(t *testing.T) {
	for _, s := range someSamples(t) {
		for i := 0; s.files[s.subfile(i)] != nil; i++ {
			name := s.subfile(i)
			pl, tab := s.place(t, name)
			for d := range pl.Header.Maps {
				elems := uint64(dataset.Product(pl.Schema.DecompDims(dataset.DecompID(d + 1))))
				for j := range pl.Shape.Blobs {
					q, count := uint64(tab.Nreqs[j*pl.Header.Maps+d]), uint64(tab.Count[j*pl.Header.Maps+d])
					field := func(m int, k int64) int64 {
						off, _ := pl.MapPiece(d, m, tab, j)
						return off + k*4
					}
					hit := func(m int, k int64, v uint64, at int64) {
						t.Helper()
						n := 4
						if m == layout.MapStart || m == layout.MapCount {
							n = 8
						}
						off := field(m, k)
						if at == 0 {
							at = off
						}
						o := s.run(t, faulty{fmt.Sprintf("%s: D%d.%s[%d][%d] is %d", name, d+1, layout.MapVarDefs[m].Name, j, k, int64(v)),
							s.patch(name, off, s.number(n, v)), name, at})
						if len(o.faults) == 0 {
							t.Errorf("%s: no finding", name)
						}
					}
					for _, v := range []uint64{uint64(pl.Shape.MaxReqs[d]) + 1, math.MaxInt32, math.MaxUint32, 1 << 31} {
						hit(layout.MapNreqs, 0, v, 0)
					}
					for _, v := range []uint64{uint64(pl.Shape.Elems[d]) + 1, math.MaxInt64, math.MaxUint64, 1 << 63, 1 << 40} {
						hit(layout.MapCount, 0, v, 0)
						hit(layout.MapStart, 0, v, 0)
					}
					if s.layout == dataset.VariableCentric && j > 0 && count > 0 {
						// With this count, the counts no longer add up to the next start or to the total.
						next := int64(-1)
						if j == pl.Shape.Blobs-1 {
							next = pl.Header.NelemsAt(d)
						}
						hit(layout.MapCount, 0, count-1, next)
					}
					for k := range int64(q) {
						if k > 1 && k < int64(q)-1 {
							continue
						}
						for _, v := range []uint64{math.MaxUint32, 1 << 31, elems + 1, math.MaxInt32} {
							hit(layout.MapLengths, k, v, 0)
						}
						hit(layout.MapLengths, k, 0, field(layout.MapLengths, 0)) // the sum of the lengths is wrong
						for _, v := range []uint64{math.MaxUint32, 1 << 31, elems, math.MaxInt32} {
							hit(layout.MapOffsets, k, v, 0)
						}
					}
				}
			}
		}
	}
}

// TestCorpusOverlap gives an element two owners. A read returns the value of the highest rank, and Check names both ranks.
func TestCorpusOverlap(t *testing.T) {
	for _, s := range samples(t) {
		name := s.subfile(0)
		pl, tab := s.place(t, name)
		if pl.Shape.Blobs < 2 {
			continue
		}
		a, _ := pl.MapPiece(0, layout.MapOffsets, tab, 0)
		b, _ := pl.MapPiece(0, layout.MapOffsets, tab, 1)
		o := s.run(t, faulty{name: "overlap", at: -1, files: s.patch(name, b, s.files[name][a:a+4])})
		i := slices.IndexFunc(o.findings, func(f dataset.Finding) bool { return f.Field == "D1" && strings.Contains(f.Msg, "owned by several") })
		if i < 0 || o.findings[i].Severity != dataset.Warning || !strings.Contains(o.findings[i].Msg, "blob 0 of "+name) || !strings.Contains(o.findings[i].Msg, "blob 1 of "+name) {
			t.Errorf("%s: no finding of both owners: %v", s.name, o.findings)
		}
		if s.manifest {
			if len(o.errs) == 0 || !errors.Is(o.errs[0], dataset.ErrChecksum) {
				t.Errorf("%s: want a checksum mismatch of the map, got %v", s.name, o.errs)
			}
		} else if len(o.errs) > 0 || !slices.Contains(o.wrong, "area") {
			t.Errorf("%s: want the other owner's values, got %v and %v", s.name, o.errs, o.wrong)
		}
	}
}

// TestCorpusZeroLength checks that a request of length 0 does no harm.
func TestCorpusZeroLength(t *testing.T) {
	for _, s := range samples(t) {
		name := s.subfile(0)
		pl, tab := s.place(t, name)
		off, _ := pl.MapPiece(0, layout.MapLengths, tab, 0)
		file := patched(s.files[name], off, s.number(4, 2))
		file = patched(file, off+4, s.number(4, 0)) // the first request takes the element of the second
		o := s.run(t, faulty{name: "zero length", files: s.with(name, file), at: -1})
		if s.manifest {
			if len(o.errs) == 0 || !errors.Is(o.errs[0], dataset.ErrChecksum) {
				t.Errorf("%s: want a checksum mismatch of the map, got %v", s.name, o.errs)
			}
		} else if len(o.errs) > 0 {
			t.Errorf("%s: %v", s.name, o.errs)
		}
	}
}

// TestCorpusTwoFaults makes two unrelated faults. Check must report both positions.
func TestCorpusTwoFaults(t *testing.T) {
	for _, lay := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, manifest := range []bool{true, false} {
			s := newSample(t, lay, 2, manifest)
			type plant struct {
				file string
				at   int64
				b    []byte
			}
			var plants []plant
			for i := range 2 {
				name := s.subfile(i)
				pl, tab := s.place(t, name)
				j := 0
				if tab.Nreqs[0] == 0 {
					continue
				}
				at, _ := pl.MapPiece(0, layout.MapStart, tab, j)
				plants = append(plants, plant{name, at, s.number(8, 7)})
				at, _ = pl.MapPiece(0, layout.MapOffsets, tab, j)
				plants = append(plants, plant{name, at, s.number(4, 1<<31)})
				at, _ = pl.MapPiece(1, layout.MapLengths, tab, j)
				plants = append(plants, plant{name, at + 4, s.number(4, math.MaxUint32)})
				if manifest && lay == dataset.VariableCentric {
					off, _ := pl.Piece(0, 0, tab, j)
					ext, _ := pl.Header.At.Extent(pl.Header.FileVar(0), 0)
					plants = append(plants, plant{name, ext, []byte{s.files[name][off] ^ 1}})
				}
			}
			for i, a := range plants {
				for _, b := range plants[i+1:] {
					files := s.patch(a.file, a.at, a.b)
					files[b.file] = patched(files[b.file], b.at, b.b)
					what := fmt.Sprintf("%s: faults at %s %#x and %s %#x", s.name, a.file, a.at, b.file, b.at)
					o := s.look(t, what, files)
					s.judge(t, what, o)
					o.foundAt(t, what, a.file, a.at)
					o.foundAt(t, what, b.file, b.at)
				}
			}
		}
	}
}
