package blob

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/h5"
	"blobio/internal/vfs"
	"blobio/subfile"
)

func TestCorpusTruncated(t *testing.T) {
	rnd := rand.New(rand.NewSource(3))
	for _, s := range someSamples(t) {
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
				for v := range pl.schema.vars {
					off, n := pl.piece(VarID(v), 0, tab, j)
					near(off)
					near(off + n)
				}
				for m := range layout.MapVars {
					off, n := pl.MapPiece(1, m, tab, j)
					near(off)
					near(off + n)
				}
			}
			for range len(file) / 50 {
				lengths[rnd.Int63n(int64(len(file)))] = true
			}
			for n := range int64(len(file)) {
				if !lengths[n] && !long {
					continue
				}
				if !long && i == 0 && s.files[s.subfile(1)] != nil && n%8 != 0 {
					continue
				}
				o := s.run(t, faulty{name: fmt.Sprintf("%s truncated to %d bytes", name, n), files: s.with(name, file[:n]), at: -1})
				if len(o.faults) == 0 {
					t.Errorf("%s: %s truncated to %d of %d bytes: no finding", s.name, name, n, len(file))
				}
			}
		}
	}
}

// TestCorpusStructureBits flips bits of what is not header and not data: HDF5
// metadata, and every entry of the maps.
func TestCorpusStructureBits(t *testing.T) {
	rnd := rand.New(rand.NewSource(4))
	for _, s := range someSamples(t) {
		for i := 0; s.files[s.subfile(i)] != nil; i++ {
			name := s.subfile(i)
			file := s.files[name]
			pl, tab := s.place(t, name)
			for at := range pl.HeaderOff {
				if !long && rnd.Intn(4) > 0 {
					continue
				}
				for _, bit := range bitsOf(rnd) {
					s.run(t, faulty{name: fmt.Sprintf("%s: bit %d of byte %#x of the HDF5 metadata", name, bit, at), files: s.with(name, flipped(file, at, bit)), at: -1})
				}
			}
			for d := range pl.NumMaps() {
				for j := range pl.Shape.Blobs {
					for m := range layout.MapVars {
						off, n := pl.MapPiece(d, m, tab, j)
						used := n
						if m >= layout.MapOffsets {
							used = 4 * tab.Nreqs[j*pl.NumMaps()+d]
						}
						for k := range used {
							if !long && m >= layout.MapOffsets && rnd.Intn(6) > 0 {
								continue
							}
							for _, bit := range bitsOf(rnd) {
								what := fmt.Sprintf("%s: bit %d of byte %d of D%d.%s[%d]", name, bit, k, d+1, layout.MapVarDefs[m].Name, j)
								o := s.run(t, faulty{name: what, files: s.with(name, flipped(file, off+k, bit)), at: -1})
								// A flipped offset can be just another map, and more requests can be without
								// elements; with any other entry something no longer adds up.
								if len(o.faults) == 0 && (s.manifest || m != layout.MapOffsets && (len(o.wrong) > 0 || m != layout.MapNreqs)) {
									t.Errorf("%s: %s: no finding; wrong: %v", s.name, what, o.wrong)
								}
							}
						}
					}
				}
			}
		}
	}
}

// TestCorpusData flips bits of data: only the manifest can tell, and it tells
// the variable and the record.
func TestCorpusData(t *testing.T) {
	rnd := rand.New(rand.NewSource(5))
	for _, lay := range []Layout{VariableCentric, ProcessCentric} {
		s := newSample(t, lay, 2, true)
		for i := range 2 {
			name := s.subfile(i)
			pl, tab := s.place(t, name)
			for v := range pl.schema.vars {
				for j := range pl.Shape.Blobs {
					off, n := pl.piece(VarID(v), int64(j%2), tab, j)
					if n == 0 || pl.schema.vars[v].Record == false && j%2 == 1 {
						continue
					}
					if !pl.schema.vars[v].Record {
						off, n = pl.piece(VarID(v), 0, tab, j)
					}
					at := off + rnd.Int63n(n)
					what := fmt.Sprintf("%s: a bit of %s, blob %d", name, pl.schema.vars[v].Name, j)
					o := s.run(t, faulty{name: what, files: s.with(name, flipped(s.files[name], at, 3)), at: -1})
					field := fmt.Sprintf("variable %q", pl.schema.vars[v].Name)
					if pl.schema.vars[v].Record {
						field += fmt.Sprintf(" record %d", j%2)
					}
					if len(o.faults) != 1 || o.faults[0].Field != field || o.faults[0].File != name || !errors.Is(o.faults[0].Err, ErrChecksum) {
						t.Errorf("%s: %s: want one finding on %s, got %v", s.name, what, field, o.faults)
					}
				}
			}
		}
	}
}

func TestCorpusMaps(t *testing.T) {
	for _, s := range samples(t) {
		for i := 0; s.files[s.subfile(i)] != nil; i++ {
			name := s.subfile(i)
			pl, tab := s.place(t, name)
			for d := range pl.NumMaps() {
				elems := uint64(product(pl.schema.DecompDims(DecompID(d + 1))))
				for j := range pl.Shape.Blobs {
					q, count := uint64(tab.Nreqs[j*pl.NumMaps()+d]), uint64(tab.Count[j*pl.NumMaps()+d])
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
					if s.layout == VariableCentric && j > 0 && count > 0 {
						// The sum of the counts no longer is the next start, or the whole.
						next := int64(-1)
						if j == pl.Shape.Blobs-1 {
							next = pl.NelemsAt(d)
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
						hit(layout.MapLengths, k, 0, field(layout.MapLengths, 0)) // the sum of the row
						for _, v := range []uint64{math.MaxUint32, 1 << 31, elems, math.MaxInt32} {
							hit(layout.MapOffsets, k, v, 0)
						}
					}
				}
			}
		}
	}
}

// TestCorpusOverlap has two owners of an element. Reading gives the one of the
// highest rank; Check names both.
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
		i := slices.IndexFunc(o.faults, func(f Finding) bool { return f.Field == "D1" && strings.Contains(f.Msg, "owned by several") })
		if i < 0 || !strings.Contains(o.faults[i].Msg, "blob 0 of "+name) || !strings.Contains(o.faults[i].Msg, "blob 1 of "+name) {
			t.Errorf("%s: no finding of both owners: %v", s.name, o.faults)
		}
		if s.manifest {
			if len(o.errs) == 0 || !errors.Is(o.errs[0], ErrChecksum) {
				t.Errorf("%s: want a checksum mismatch of the map, got %v", s.name, o.errs)
			}
		} else if len(o.errs) > 0 || !slices.Contains(o.wrong, "area") {
			t.Errorf("%s: want the other owner's values, got %v and %v", s.name, o.errs, o.wrong)
		}
	}
}

// TestCorpusZeroLength has a request without elements: it is of no use, and does no harm.
func TestCorpusZeroLength(t *testing.T) {
	for _, s := range samples(t) {
		name := s.subfile(0)
		pl, tab := s.place(t, name)
		off, _ := pl.MapPiece(0, layout.MapLengths, tab, 0)
		file := patched(s.files[name], off, s.number(4, 2))
		file = patched(file, off+4, s.number(4, 0)) // the neighbour's element is taken over
		o := s.run(t, faulty{name: "zero length", files: s.with(name, file), at: -1})
		if s.manifest {
			if len(o.errs) == 0 || !errors.Is(o.errs[0], ErrChecksum) {
				t.Errorf("%s: want a checksum mismatch of the map, got %v", s.name, o.errs)
			}
		} else if len(o.errs) > 0 {
			t.Errorf("%s: %v", s.name, o.errs)
		}
	}
}

// other writes a dataset that differs from the toy in what change does.
func otherSample(t testing.TB, lay Layout, ranks int, records int64, change func(*toy)) *sample {
	toy := newToy(ranks)
	if change != nil {
		change(toy)
	}
	return writeSample(t, toy, lay, 2, true, records)
}

func TestCorpusSets(t *testing.T) {
	for _, lay := range []Layout{VariableCentric, ProcessCentric} {
		others := map[string]*sample{
			"ranks":     otherSample(t, lay, 5, 2, nil),
			"records":   otherSample(t, lay, 3, 1, nil),
			"attribute": otherSample(t, lay, 3, 2, func(x *toy) { x.s.GlobalAtt("more", 1) }),
			"dimension": otherSample(t, lay, 3, 2, func(x *toy) { x.s.dims[3].Len = 8; x.s.dims = append(x.s.dims, cdf5.Dim{Name: "extra", Len: 3}) }),
			"type":      otherSample(t, lay, 3, 2, func(x *toy) { x.s.vars[x.never].Type, x.s.vars[x.never].Atts = cdf5.Float, nil }),
			"name":      otherSample(t, lay, 3, 2, func(x *toy) { x.s.vars[x.never].Name = "never" }),
			"order":     otherSample(t, lay, 3, 2, func(x *toy) { x.swapTwo() }),
			"decomp":    otherSample(t, lay, 3, 2, func(x *toy) { x.oneMore() }),
			"canonical": canonicalSample(t),
			"layout":    newSample(t, 1-lay, 2, true),
		}
		for _, manifest := range []bool{true, false} {
			s := newSample(t, lay, 2, manifest)
			one := newSample(t, lay, 1, manifest)
			type c struct {
				name  string
				files map[string][]byte
				class error
			}
			cases := []c{
				{"first missing", s.with(s.subfile(0), nil), ErrMissing},
				{"last missing", s.with(s.subfile(1), nil), ErrMissing},
				{"empty", s.with(s.subfile(1), []byte{}), ErrTruncated},
				{"first empty", s.with(s.subfile(0), []byte{}), ErrTruncated},
				{"text", s.with(s.subfile(1), []byte("netcdf d {\ndimensions:\n\ttime = UNLIMITED ;\n}\n")), ErrNotFormat},
				{"first is text", s.with(s.subfile(0), []byte("x")), ErrNotFormat},
				{"CDF-9", s.patch(s.subfile(1), 0, []byte("CDF\x09")), ErrNotFormat},
				{"HDF5 without the datasets", s.with(s.subfile(1), foreignHDF5(t, "T", false)), ErrNotFormat},
				{"only header_blob", s.with(s.subfile(0), foreignHDF5(t, layout.HeaderBlob, false)), ErrNotFormat},
				{"netCDF-4", s.with(s.subfile(0), foreignHDF5(t, "T", true)), ErrNotFormat},
				{"a directory", dirInstead(s, s.subfile(0)), ErrNotFormat},
				{"a directory at the end", dirInstead(s, s.subfile(1)), ErrNotFormat},
				{"one too many", addFile(s, s.subfile(2), s.files[s.subfile(1)]), nil},
				{"twice the same", s.with(s.subfile(1), s.files[s.subfile(0)]), nil},
				{"of a dataset of one subfile", s.with(s.subfile(1), one.files[one.subfile(0)]), nil},
			}
			for name, x := range others {
				cases = append(cases, c{"mixed with another " + name, s.with(s.subfile(1), x.files[x.subfile(1)]), nil},
					c{"led by another " + name, s.with(s.subfile(0), x.files[x.subfile(0)]), nil})
			}
			for _, c := range cases {
				o := s.run(t, faulty{name: c.name, files: c.files, at: -1})
				harmless := c.name == "one too many" && manifest
				switch {
				case harmless:
					if len(o.errs)+len(o.wrong)+len(o.faults) > 0 {
						t.Errorf("%s: %s: %v %v %v", s.name, c.name, o.errs, o.wrong, o.faults)
					}
				case len(o.errs) == 0:
					t.Errorf("%s: %s: no error; wrong: %v", s.name, c.name, o.wrong)
				case c.class != nil && !errors.Is(o.errs[0], c.class) && !(c.name == "CDF-9"):
					t.Errorf("%s: %s: %v, want the class %q", s.name, c.name, o.errs[0], c.class)
				case len(o.faults) == 0:
					t.Errorf("%s: %s: no finding", s.name, c.name)
				}
				for i := range 2 {
					if _, there := c.files[s.subfile(i)]; c.class == ErrMissing && !there &&
						!slices.ContainsFunc(o.faults, func(f Finding) bool { return f.Err == ErrMissing && f.File == s.subfile(i) }) {
						t.Errorf("%s: %s: it is not said that %s is missing: %v", s.name, c.name, s.subfile(i), o.faults)
					}
				}
			}
			// Other values of the same schema, or subfiles in another order: only the manifest can tell.
			pl, tab := s.place(t, s.subfile(0))
			off, n := pl.piece(0, 0, tab, 0)
			for name, files := range map[string]map[string][]byte{
				"other values": s.patch(s.subfile(0), off, make([]byte, n)),
				"swapped":      swapFiles(s, s.subfile(0), s.subfile(1)),
			} {
				o := s.run(t, faulty{name: name, files: files, at: -1})
				if manifest && len(o.faults) == 0 {
					t.Errorf("%s: %s: no finding", s.name, name)
				}
				if name == "swapped" && !manifest && (len(o.wrong) > 0 || len(o.errs) > 0) {
					t.Errorf("%s: swapped subfiles are numbered otherwise, but hold the same: %v %v", s.name, o.errs, o.wrong)
				}
			}
		}
	}
}

// swapTwo lets two variables trade places in the file.
func (t *toy) swapTwo() {
	v := t.s.vars
	v[t.flux], v[t.never] = v[t.never], v[t.flux]
	t.flux, t.never = t.never, t.flux
}

// oneMore adds a decomposition that no variable uses.
func (t *toy) oneMore() {
	t.s.Decomp(1)
	t.maps = append(t.maps, decomp.Regular([]int64{toyLev}, t.ranks))
}

func canonicalSample(t testing.TB) *sample {
	s := newSample(t, VariableCentric, 1, false)
	m := memOf(t, s.files)
	ctx := context.Background()
	r, err := openWith(ctx, sampleBase, nil, knobs{fs: m})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := Convert(ctx, r, "out.nc", nil); err != nil {
		t.Fatal(err)
	}
	b := memFiles(t, m)["out.nc"]
	return &sample{files: map[string][]byte{s.subfile(0): b, s.subfile(1): b}}
}

// foreignHDF5 is a file with one dataset of that name.
func foreignHDF5(t testing.TB, name string, netCDF4 bool) []byte {
	b := h5.NewBuilder()
	if netCDF4 {
		b.Root().Attr("_NCProperties", h5.FixedString(len("version=2")+1), nil, "version=2")
	}
	b.Root().Dataset(name, h5.Uint8, []int64{8}, nil)
	l, err := b.Layout()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, l.Size)
	for _, p := range l.Pieces {
		copy(out[p.Off:], p.Data)
	}
	return out
}

func dirInstead(s *sample, name string) map[string][]byte {
	files := s.with(name, nil)
	files[name+"/"] = nil
	return files
}

func addFile(s *sample, name string, b []byte) map[string][]byte {
	files := maps.Clone(s.files)
	files[name] = b
	return files
}

func swapFiles(s *sample, a, b string) map[string][]byte {
	files := maps.Clone(s.files)
	files[a], files[b] = files[b], files[a]
	return files
}

// TestCorpusTwoFaults plants two faults that have nothing to do with each
// other: Check must name both places.
func TestCorpusTwoFaults(t *testing.T) {
	for _, lay := range []Layout{VariableCentric, ProcessCentric} {
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
				j := 0 // the one blob of subfile 1 holds nothing, or the last
				if tab.Nreqs[0] == 0 {
					continue
				}
				at, _ := pl.MapPiece(0, layout.MapStart, tab, j)
				plants = append(plants, plant{name, at, s.number(8, 7)})
				at, _ = pl.MapPiece(0, layout.MapOffsets, tab, j)
				plants = append(plants, plant{name, at, s.number(4, 1<<31)})
				at, _ = pl.MapPiece(1, layout.MapLengths, tab, j)
				plants = append(plants, plant{name, at + 4, s.number(4, math.MaxUint32)})
				if manifest && lay == VariableCentric {
					off, _ := pl.piece(0, 0, tab, j)
					ext, _ := pl.At.Extent(pl.fileVar(0), 0)
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

func TestCorpusManifest(t *testing.T) {
	rnd := rand.New(rand.NewSource(6))
	for _, lay := range []Layout{VariableCentric, ProcessCentric} {
		s := newSample(t, lay, 2, true)
		name := subfile.ManifestName(sampleBase)
		file := s.files[name]
		// Damage of the file is found by its own checksum, whatever it hits.
		for n := range len(file) {
			o := s.run(t, faulty{name: fmt.Sprintf("manifest of %d bytes", n), files: s.with(name, file[:n]), at: -1})
			if len(o.errs) == 0 || len(o.faults) == 0 || o.faults[0].File != name {
				t.Errorf("%s: manifest cut at %d: %v, %v", s.name, n, o.errs, o.faults)
			}
			if !long && rnd.Intn(3) > 0 {
				continue
			}
			for _, bit := range bitsOf(rnd) {
				o := s.run(t, faulty{name: fmt.Sprintf("manifest: bit %d of byte %d", bit, n), files: s.with(name, flipped(file, int64(n), bit)), at: -1})
				if (len(o.errs) == 0 || len(o.faults) == 0) && len(o.wrong) > 0 {
					t.Errorf("%s: manifest bit %d of byte %d: %v", s.name, bit, n, o.wrong)
				}
			}
		}
		// One that sums up right, but does not tell the truth.
		for what, change := range map[string]func(m *subfile.Manifest){
			"layout":           func(m *subfile.Manifest) { m.Layout = (1 - lay).String() },
			"unknown layout":   func(m *subfile.Manifest) { m.Layout = "round" },
			"codec":            func(m *subfile.Manifest) { m.Codec = "zstd" },
			"records":          func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = 3, 3 },
			"records apart":    func(m *subfile.Manifest) { m.Records = 3 },
			"fewer records":    func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = 1, 1 },
			"absurd records":   func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = 1<<62, 1<<62 },
			"most records":     func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = math.MaxInt64, math.MaxInt64 },
			"negative records": func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = -1, -1 },
			"ranks":            func(m *subfile.Manifest) { m.Ranks++ },
			"no ranks":         func(m *subfile.Manifest) { m.Ranks = 0 },
			"no sets":          func(m *subfile.Manifest) { m.Sets = nil },
			"no subfiles":      func(m *subfile.Manifest) { m.Sets[0].Subfiles = nil },
			"one subfile":      func(m *subfile.Manifest) { m.Sets[0].Subfiles = m.Sets[0].Subfiles[:1] },
			"one subfile more": func(m *subfile.Manifest) { m.Sets[0].Subfiles = append(m.Sets[0].Subfiles, m.Sets[0].Subfiles[1]) },
			"the set twice":    func(m *subfile.Manifest) { x := m.Sets[0]; x.First = 2; m.Sets = append(m.Sets, x); m.Records = 4 },
			"a set of nothing": func(m *subfile.Manifest) { x := m.Sets[0]; x.First, x.Records = 2, 0; m.Sets = append(m.Sets, x) },
			"many sets": func(m *subfile.Manifest) {
				for range 2000 {
					m.Sets = append(m.Sets, subfile.SetInfo{Base: "x", First: 2, Subfiles: m.Sets[0].Subfiles})
				}
			},
			"other base":        func(m *subfile.Manifest) { m.Sets[0].Base = "e.nc" },
			"base elsewhere":    func(m *subfile.Manifest) { m.Sets[0].Base = "../d.nc" },
			"base is empty":     func(m *subfile.Manifest) { m.Base = "" },
			"size":              func(m *subfile.Manifest) { m.Sets[0].Subfiles[1].Size++ },
			"smaller size":      func(m *subfile.Manifest) { m.Sets[0].Subfiles[1].Size-- },
			"absurd size":       func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Size = math.MaxInt64 },
			"negative size":     func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Size = -1 },
			"header length":     func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].HeaderLen-- },
			"absurd header":     func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].HeaderLen = math.MaxInt64 },
			"header offset":     func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].HeaderOff++ },
			"header checksum":   func(m *subfile.Manifest) { m.Sets[0].Subfiles[1].HeaderCRC ^= 1 },
			"extent checksum":   func(m *subfile.Manifest) { m.Sets[0].Subfiles[1].Extents[3] ^= 1 << 31 },
			"an extent less":    func(m *subfile.Manifest) { e := &m.Sets[0].Subfiles[1].Extents; *e = (*e)[:len(*e)-1] },
			"an extent more":    func(m *subfile.Manifest) { e := &m.Sets[0].Subfiles[1].Extents; *e = append(*e, 0) },
			"no extents":        func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Extents = nil },
			"absurd extents":    func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Extents = make(subfile.CRCs, 1<<18) },
			"blobs":             func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Blobs = []int64{1, 2, 3} },
			"absurd blobs":      func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Blobs = make([]int64, 1<<16) },
			"blobs beyond":      func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Blobs = []int64{0, math.MaxInt64} },
			"negative blobs":    func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Blobs = []int64{-5} },
			"an earlier blob":   func(m *subfile.Manifest) { b := firstBlob(m); *b-- },
			"a later blob":      func(m *subfile.Manifest) { b := firstBlob(m); *b++ },
			"map prints absent": func(m *subfile.Manifest) { m.Maps = nil },
			"map prints":        func(m *subfile.Manifest) { m.Maps[1] = "0" },
		} {
			m, err := subfile.Decode(file, name)
			if err != nil {
				t.Fatal(err)
			}
			change(m)
			b, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			for _, where := range []string{name, subfile.NextName(sampleBase)} {
				files := s.with(name, nil)
				files[where] = b
				o := s.run(t, faulty{name: where + ": " + what, files: files, at: -1})
				if len(o.faults) == 0 {
					t.Errorf("%s: %s: %s: no finding; %v", s.name, where, what, o.findings)
				}
			}
		}
		b := []byte(strings.Replace(string(file), `"blobio_manifest":1`, `"blobio_manifest":2`, 1))
		line := slices.Index(b, '\n') + 1
		b = append(b[:line:line], fmt.Sprintf("{\"crc32\":\"%08x\"}\n", crc32.ChecksumIEEE(b[:line]))...)
		o := s.run(t, faulty{name: "version 2", files: s.with(name, b), at: -1})
		if len(o.errs) != 1 || !errors.Is(o.errs[0], ErrVersion) {
			t.Errorf("version 2: %v", o.errs)
		}
		// An old manifest beside a torn next one is in force; nothing is lost.
		o = s.run(t, faulty{name: "torn next", files: addFile(s, subfile.NextName(sampleBase), file[:100]), at: -1})
		if len(o.errs) > 0 || len(o.faults) > 0 || len(o.findings) == 0 {
			t.Errorf("torn next: %v %v", o.errs, o.findings)
		}
		files := s.with(name, nil)
		files[subfile.NextName(sampleBase)] = file[:100]
		o = s.run(t, faulty{name: "only a torn next", files: files, at: -1})
		if len(o.errs) != 1 || !errors.Is(o.errs[0], ErrNotCommitted) {
			t.Errorf("only a torn next: %v", o.errs)
		}
	}
}

// firstBlob is where the manifest has the first blob; of a layout that has no such list there is one then.
func firstBlob(m *subfile.Manifest) *int64 {
	sf := &m.Sets[0].Subfiles[0]
	if len(sf.Blobs) == 0 {
		sf.Blobs = []int64{4096}
	}
	return &sf.Blobs[0]
}

// TestCorpusReadDamage holds what a reader gets where a disk gives an error.
func TestCorpusReadDamage(t *testing.T) {
	eio := errors.New("input/output error")
	for _, s := range someSamples(t) {
		for n := int64(1); ; n++ {
			fsys := vfs.FailNth(memOf(t, s.files), n, eio)
			var o outcome
			ctx := context.Background()
			r, err := openWith(ctx, sampleBase, &OpenOptions{Workers: 1}, knobs{fs: fsys})
			if err == nil {
				s.readAll(ctx, r, &o)
				r.Close()
				err = errors.Join(o.errs...)
			}
			if len(o.wrong) > 0 && err == nil {
				t.Fatalf("%s: operation %d fails: %v", s.name, n, o.wrong)
			}
			for range checkWith(ctx, sampleBase, &CheckOptions{Workers: 1}, knobs{fs: vfs.FailNth(memOf(t, s.files), n, eio)}) {
			}
			if err == nil {
				if n < 5 {
					t.Fatalf("%s: operation %d failed, and nobody saw it", s.name, n)
				}
				break
			}
			if !errors.Is(err, eio) {
				t.Fatalf("%s: operation %d: %v does not wrap the cause", s.name, n, err)
			}
		}
	}
}
