package blob

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// The corpus consists of good small datasets, and of copies of them with one fault each.

const sampleBase = "d.nc"

// long selects the whole corpus; otherwise tests use a part of it.
var long = crashtest.Long()

// A sample is a good dataset with its files in memory.
type sample struct {
	name     string
	layout   dataset.Layout
	manifest bool
	files    map[string][]byte
	schema   *dataset.Schema
	want     map[string][]float64 // elements of each numeric variable
	text     map[string][]byte    // bytes of each char variable
	records  int64
}

var sampleCache sync.Map // name → *sample; samples are immutable

// newSample writes the toy dataset with 2 records. The last of its 3 ranks owns nothing.
func newSample(t testing.TB, layout dataset.Layout, subfiles int, manifest bool) *sample {
	name := fmt.Sprintf("%v-%d-manifest=%v", layout, subfiles, manifest)
	if s, ok := sampleCache.Load(name); ok {
		return s.(*sample)
	}
	s := writeSample(t, newToy(3), layout, subfiles, manifest, 2)
	s.name = name
	sampleCache.Store(name, s)
	return s
}

func writeSample(t testing.TB, toy *toy, layout dataset.Layout, subfiles int, manifest bool, records int64) *sample {
	t.Helper()
	return writeSampleWith(t, toy, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: subfiles}}, manifest, records)
}

func writeSampleWith(t testing.TB, toy *toy, o *dataset.Settings, manifest bool, records int64) *sample {
	t.Helper()
	m := vfs.NewMem()
	o.Durability, o.Workers, o.Fs = dataset.DurableNone, 1, m
	ctx := context.Background()
	noError(t, comm.Run(ctx, toy.ranks, nil, func(ctx context.Context, c comm.Comm) error {
		parts := toy.parts(c.Rank())
		for d := len(parts); d < len(toy.maps); d++ {
			parts = append(parts, write.Part{Decomp: dataset.DecompID(d + 1), Runs: toy.maps[d].AppendReqs(nil, c.Rank())})
		}
		w := need(write.CreateWith(ctx, c, sampleBase, toy.s, parts, o))
		for rec := range records {
			must(toy.put(w, c.Rank(), rec, rec == 0))
		}
		return w.Close(ctx)
	}))
	s := &sample{layout: o.Layout, manifest: manifest, files: memFiles(t, m), schema: toy.s, records: records}
	if !manifest {
		delete(s.files, subfile.ManifestName(sampleBase))
	}
	s.want, s.text = map[string][]float64{}, map[string][]byte{}
	r, err := read.OpenWith(ctx, sampleBase, nil, dataset.Knobs{Fs: m})
	noError(t, err)
	defer r.Close()
	for v := range toy.s.Vars {
		sv := &toy.s.Vars[v]
		n := toy.s.Elems(dataset.VarID(v))
		if sv.Record {
			n *= records
		}
		if sv.Type == cdf5.Char {
			s.text[sv.Name] = make([]byte, n)
			err = r.Read(ctx, sv.Name, nil, nil, s.text[sv.Name])
		} else {
			s.want[sv.Name] = make([]float64, n)
			err = r.Read(ctx, sv.Name, nil, nil, s.want[sv.Name])
		}
		noError(t, err)
	}
	return s
}

func samples(t testing.TB) (out []*sample) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, subfiles := range []int{1, 2} {
			for _, manifest := range []bool{true, false} {
				out = append(out, newSample(t, layout, subfiles, manifest))
			}
		}
	}
	return out
}

// someSamples returns the samples for the large tests: all in the long run, otherwise one of each layout.
func someSamples(t testing.TB) []*sample {
	all := samples(t)
	return append(crashtest.Some(t, 1, all[:4]), crashtest.Some(t, 1, all[4:])...)
}

// eachSample runs f for each of someSamples, some of them in parallel. Each f has its own random numbers.
func eachSample(t *testing.T, seed int64, f func(t *testing.T, s *sample, rnd *rand.Rand)) {
	for _, s := range someSamples(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			f(t, s, rand.New(rand.NewSource(seed)))
		})
	}
}

func memFiles(t testing.TB, m *vfs.Mem) map[string][]byte {
	t.Helper()
	entries := need(m.ReadDir("."))
	out := map[string][]byte{}
	for _, e := range entries {
		out[e.Name()] = need(slurp(m, e.Name()))
	}
	return out
}

func memOf(t testing.TB, files map[string][]byte) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	for name, b := range files {
		if strings.HasSuffix(name, "/") {
			noError(t, m.MkdirAll(strings.TrimSuffix(name, "/")))
			continue
		}
		if d := path.Dir(name); d != "." {
			noError(t, m.MkdirAll(d))
		}
		noError(t, vfs.WriteFile(m, name, b))
	}
	return m
}

// with returns a copy of the files in which one file is replaced, or removed if b is nil.
func (s *sample) with(name string, b []byte) map[string][]byte {
	files := maps.Clone(s.files)
	if b == nil {
		delete(files, name)
	} else {
		files[name] = b
	}
	return files
}

// patch returns a copy of the files in which b overwrites bytes of one file.
func (s *sample) patch(name string, off int64, b []byte) map[string][]byte {
	return s.with(name, patched(s.files[name], off, b))
}

func patched(file []byte, off int64, b []byte) []byte {
	c := slices.Clone(file)
	copy(c[off:], b)
	return c
}

func flipped(file []byte, off int64, bit uint) []byte {
	return patched(file, off, []byte{file[off] ^ 1<<bit})
}

func (s *sample) subfile(i int) string { return subfile.Name(sampleBase, i) }

// order returns the byte order of the sample's headers and data.
func (s *sample) order() binary.ByteOrder {
	if s.layout == dataset.ProcessCentric {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// place decodes the positions and maps of a subfile of the undamaged dataset.
func (s *sample) place(t testing.TB, name string) (*dataset.Place, *layout.Ranks) {
	t.Helper()
	f := need(memOf(t, s.files).Open(name))
	pl, _, err := dataset.DecodePlace(f, int64(len(s.files[name])), name, 0)
	noError(t, err)
	tab := need(layout.ReadTable(f, &pl.Place, name, layout.Listed{}, nil))
	return pl, tab
}

func TestSamplesAreGood(t *testing.T) {
	all := samples(t)
	for _, method := range []dataset.Method{dataset.AutoCompression, dataset.Zstd, dataset.ShuffleZstd} {
		all = append(all, packedSample(t, 2, true, method), packedSample(t, 2, false, method))
	}
	for _, s := range all {
		o := s.run(t, faulty{name: "good", files: s.files, at: -1})
		if len(o.errs) > 0 || len(o.wrong) > 0 {
			t.Errorf("%s: %v %v", s.name, o.errs, o.wrong)
		}
		for _, f := range o.findings {
			if f.Severity != dataset.Note {
				t.Errorf("%s: %v", s.name, f)
			}
		}
	}
}
