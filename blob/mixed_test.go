package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestMixedDatasets replaces a file of a dataset by a file of another dataset. Reads must return an error that names the wrong
// file. Recover and appends must leave the files as they are.
func TestMixedDatasets(t *testing.T) {
	ctx := context.Background()
	type mixture struct {
		name  string
		other leg // the session that writes the other dataset
		seed  int64
		file  string // suffix of the replaced file
		from  string // suffix of the other dataset's file
	}
	for _, way := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, x := range []mixture{
			{"other values", leg{to: 3, ranks: 3}, 2, ".0001", ".0001"},
			{"other values in the first", leg{to: 3, ranks: 3}, 2, ".0000", ".0000"},
			{"fewer records", leg{to: 2, ranks: 3}, 2, ".0001", ".0001"},
			{"more records", leg{to: 5, ranks: 3}, 2, ".0001", ".0001"},
			{"other ranks", leg{to: 3, ranks: 4}, 1, ".0001", ".0001"},
			{"other maps", leg{to: 3, ranks: 3, way: 1}, 1, ".0001", ".0001"},
			{"another subfile", leg{to: 3, ranks: 3}, 1, ".0001", ".0000"},
			{"an added set", leg{to: 5, ranks: 2}, 2, ".0000", "+1.0000"},
			{"manifest", leg{to: 3, ranks: 3}, 2, ".manifest", ".manifest"},
			{"manifest of more records", leg{to: 4, ranks: 3}, 2, ".manifest", ".manifest"},
		} {
			t.Run(fmt.Sprintf("%v/%s", way, x.name), func(t *testing.T) {
				mem := vfs.NewMem()
				write := func(l leg, seed int64, base string, add bool) {
					t.Helper()
					m := dealtModel(l.to, l.ranks, l.way)
					m.seed = seed
					o := &dataset.Settings{Options: dataset.Options{Layout: way, Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}}
					must(run(l.ranks, func(ctx context.Context, c comm.Comm) error {
						if add {
							return m.add(ctx, c, base, o)
						}
						return m.create(ctx, c, base, o)
					}))
				}
				write(leg{to: 3, ranks: 3}, 1, "d.nc", false)
				if strings.HasPrefix(x.from, "+") {
					write(leg{to: 3, ranks: 3}, x.seed, "e.nc", false)
					write(x.other, x.seed, "e.nc", true)
				} else {
					write(x.other, x.seed, "e.nc", false)
				}
				b, err := slurp(mem, "e.nc"+x.from)
				must(err)
				must(rewrite(mem, "d.nc"+x.file, b))
				files := map[string][]byte{}
				for _, n := range []string{"d.nc.0000", "d.nc.0001", "e.nc.0000"} {
					files[n], err = slurp(mem, n)
					must(err)
				}
				wrong := []string{"d.nc" + x.file}
				if x.file == ".manifest" {
					wrong = []string{"d.nc.0000", "d.nc.0001"}
				}
				bad := checkErrors(mem, "d.nc")
				for _, n := range wrong {
					if !slices.ContainsFunc(bad, func(f dataset.Finding) bool { return f.File == n }) {
						t.Errorf("no finding of %s: %v", n, bad)
					}
				}
				for _, f := range bad {
					if f.File != "" && f.File != "d.nc.manifest" && !slices.Contains(wrong, f.File) {
						t.Errorf("%s is right: %v", f.File, f)
					}
				}
				var fe *dataset.FormatError
				if _, err := canonicalOf(mem, "d.nc"); !errors.As(err, &fe) || !slices.Contains(wrong, fe.File) {
					t.Errorf("read: %v, want an error of %v", err, wrong)
				}
				_, err = resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem})
				for n, was := range files {
					if b, rerr := slurp(mem, n); rerr != nil || !bytes.Equal(b, was) {
						t.Errorf("recover (%v) has changed %s: %v", err, n, rerr)
					}
				}
				if len(checkErrors(mem, "d.nc")) == 0 {
					t.Error("good, after it was recovered")
				}
			})
		}
	}
}

// TestMixedWithoutManifest combines subfiles of two runs, without a manifest. Check must notice this if the subfiles' headers,
// maps, or values of variables without a decomposition differ.
func TestMixedWithoutManifest(t *testing.T) {
	for _, way := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, x := range []struct {
			name  string
			other leg
			seed  int64
			good  bool
			reads bool // the headers are equal, so reads find no fault
		}{
			{"the same", leg{to: 3, ranks: 4}, 1, true, true},
			{"other values", leg{to: 3, ranks: 4}, 2, false, true},
			{"fewer records", leg{to: 2, ranks: 4}, 1, false, false},
			{"other ranks", leg{to: 3, ranks: 5}, 1, false, false},
			{"other maps", leg{to: 3, ranks: 4, way: 1}, 1, false, true},
		} {
			mem := vfs.NewMem()
			for base, l := range map[string]leg{"d.nc": {to: 3, ranks: 4}, "e.nc": x.other} {
				m := dealtModel(l.to, l.ranks, l.way)
				if m.seed = 1; base == "e.nc" {
					m.seed = x.seed
				}
				o := &dataset.Settings{Options: dataset.Options{Layout: way, Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}}
				must(run(l.ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, base, o) }))
				must(mem.Remove(base + ".manifest"))
			}
			b := need(slurp(mem, "e.nc.0001"))
			must(rewrite(mem, "d.nc.0001", b))
			if _, err := canonicalOf(mem, "d.nc"); x.reads != (err == nil) {
				t.Errorf("%v, %s: read: %v", way, x.name, err)
			}
			if bad := checkErrors(mem, "d.nc"); x.good != (len(bad) == 0) {
				t.Errorf("%v, %s: %v", way, x.name, bad)
			}
		}
	}
}

// TestMixedHeaders checks how headers of subfiles are compared. The order of attributes must be equal too.
func TestMixedHeaders(t *testing.T) {
	of := func(names ...string) *dataset.Place {
		s := dataset.NewSchema()
		for _, n := range names {
			s.GlobalAtt(n, "x")
		}
		p := dataset.NewPlace(dataset.VariableCentric, false, 0)
		p.SetHeader(s.BlobHeader(&layout.Shape{Blobs: 1, Ranks: 2, Subfiles: 2}), 0, s, &layout.Shape{Blobs: 1, Ranks: 2, Subfiles: 2})
		return p
	}
	a := of("title", "source")
	if err := read.SameDataset(a, of("title", "source"), false); err != nil {
		t.Error(err)
	}
	for _, b := range []*dataset.Place{of("source", "title"), of("title"), of("title", "source", "history")} {
		if read.SameDataset(a, b, false) == nil {
			t.Errorf("%v is taken for %v", b.Schema.Atts, a.Schema.Atts)
		}
	}
}
