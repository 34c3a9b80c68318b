package blob

import (
	"context"
	"errors"
	"slices"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/h5"
)

// otherSample writes a toy dataset that change has modified.
func otherSample(t testing.TB, lay dataset.Layout, ranks int, records int64, change func(*toy)) *sample {
	toy := newToy(ranks)
	if change != nil {
		change(toy)
	}
	return writeSample(t, toy, lay, 2, true, records)
}

func TestCorpusSets(t *testing.T) {
	for _, lay := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		others := map[string]*sample{
			"ranks":     otherSample(t, lay, 5, 2, nil),
			"records":   otherSample(t, lay, 3, 1, nil),
			"attribute": otherSample(t, lay, 3, 2, func(x *toy) { x.s.GlobalAtt("more", 1) }),
			"dimension": otherSample(t, lay, 3, 2, func(x *toy) { x.s.Dims[3].Len = 8; x.s.Dims = append(x.s.Dims, cdf5.Dim{Name: "extra", Len: 3}) }),
			"type":      otherSample(t, lay, 3, 2, func(x *toy) { x.s.Vars[x.never].Type, x.s.Vars[x.never].Atts = cdf5.Float, nil }),
			"name":      otherSample(t, lay, 3, 2, func(x *toy) { x.s.Vars[x.never].Name = "never" }),
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
				{"first missing", s.with(s.subfile(0), nil), dataset.ErrMissing},
				{"last missing", s.with(s.subfile(1), nil), dataset.ErrMissing},
				{"empty", s.with(s.subfile(1), []byte{}), dataset.ErrTruncated},
				{"first empty", s.with(s.subfile(0), []byte{}), dataset.ErrTruncated},
				{"text", s.with(s.subfile(1), []byte("netcdf d {\ndimensions:\n\ttime = UNLIMITED ;\n}\n")), dataset.ErrCorrupt},
				{"first is text", s.with(s.subfile(0), []byte("x")), dataset.ErrCorrupt},
				{"CDF-9", s.patch(s.subfile(1), 0, []byte("CDF\x09")), dataset.ErrNotFormat},
				{"HDF5 without the datasets", s.with(s.subfile(1), foreignHDF5(t, "T", false)), dataset.ErrCorrupt},
				{"only header_blob", s.with(s.subfile(0), foreignHDF5(t, layout.HeaderBlob, false)), dataset.ErrCorrupt},
				{"netCDF-4", s.with(s.subfile(0), foreignHDF5(t, "T", true)), dataset.ErrCorrupt}, // has no dimension scales
				{"a directory", dirInstead(s, s.subfile(0)), dataset.ErrNotFormat},
				{"a directory at the end", dirInstead(s, s.subfile(1)), dataset.ErrNotFormat},
				{"one too many", s.with(s.subfile(2), s.files[s.subfile(1)]), nil},
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
					if _, there := c.files[s.subfile(i)]; c.class == dataset.ErrMissing && !there &&
						!slices.ContainsFunc(o.faults, func(f dataset.Finding) bool { return f.Err == dataset.ErrMissing && f.File == s.subfile(i) }) {
						t.Errorf("%s: %s: it is not said that %s is missing: %v", s.name, c.name, s.subfile(i), o.faults)
					}
				}
			}
			// These faults keep every header valid, so only the manifest can reveal them.
			swapped := s.with(s.subfile(0), s.files[s.subfile(1)])
			swapped[s.subfile(1)] = s.files[s.subfile(0)]
			pl, tab := s.place(t, s.subfile(0))
			off, n := pl.Piece(0, 0, tab, 0)
			for name, files := range map[string]map[string][]byte{
				"other values": s.patch(s.subfile(0), off, make([]byte, n)),
				"swapped":      swapped,
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

func (t *toy) swapTwo() {
	v := t.s.Vars
	v[t.flux], v[t.never] = v[t.never], v[t.flux]
	t.flux, t.never = t.never, t.flux
}

// oneMore adds a decomposition that no variable uses.
func (t *toy) oneMore() {
	t.s.Decomp(1)
	t.maps = append(t.maps, decomp.Regular([]int64{toyLev}, t.ranks))
}

func canonicalSample(t testing.TB) *sample {
	s := newSample(t, dataset.VariableCentric, 1, false)
	m := memOf(t, s.files)
	ctx := context.Background()
	r := opened(t, m, sampleBase, nil)
	noError(t, convert.Convert(ctx, r, "out.nc", nil))
	b := memFiles(t, m)["out.nc"]
	return &sample{files: map[string][]byte{s.subfile(0): b, s.subfile(1): b}}
}

// foreignHDF5 makes an HDF5 file with one dataset of the given name.
func foreignHDF5(t testing.TB, name string, netCDF4 bool) []byte {
	b := h5.NewBuilder()
	if netCDF4 {
		b.Attr("_NCProperties", h5.FixedString(len("version=2")+1), nil, "version=2")
	}
	b.Dataset(name, h5.Uint8, []int64{8}, nil)
	l := need(b.Layout())
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
