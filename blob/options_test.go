package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestOptionsHash checks that the hash depends on every option, except on options that concern a single process. The test finds
// new fields by reflection.
func TestOptionsHash(t *testing.T) {
	own := []string{"Memory", "Workers", "MaxOpen"}
	var base dataset.Options
	was := base.Hash("a")
	if base.Hash("b") == was {
		t.Error("another name has the same hash")
	}
	seen := 0
	var vary func(path string, o *dataset.Options, v reflect.Value)
	vary = func(path string, o *dataset.Options, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				vary(path+"."+v.Type().Field(i).Name, o, v.Field(i))
			}
			return
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(1)
		case reflect.Uint8:
			v.SetUint(1)
		default:
			t.Errorf("%s is a %v: two that are alike may not print alike, so hash must say how it is compared", path, v.Kind())
			return
		}
		seen++
		if o.Hash("a") == was {
			t.Errorf("options with %s = %v have the hash of those without", path, v)
		}
		v.SetZero()
	}
	for i := range reflect.TypeFor[dataset.Options]().NumField() {
		name := reflect.TypeFor[dataset.Options]().Field(i).Name
		if k := slices.Index(own, name); k >= 0 {
			own = slices.Delete(own, k, k+1)
			continue
		}
		o := base
		vary(name, &o, reflect.ValueOf(&o).Elem().Field(i))
	}
	if len(own) > 0 || seen < 15 {
		t.Errorf("%d fields are compared; of a process alone, but not there: %v", seen, own)
	}
	o := dataset.Options{Memory: 1, Workers: 1, MaxOpen: 1}
	if o.Hash("a") != was {
		t.Error("options that are each process's own are compared")
	}
}

// TestOptionsBounds checks that invalid options are errors before any file is made.
func TestOptionsBounds(t *testing.T) {
	m := tinyModel(1, 2)
	for name, tc := range map[string]struct {
		o    dataset.Settings
		want error
	}{
		"workers":         {dataset.Settings{Options: dataset.Options{Workers: math.MaxInt}}, dataset.ErrUsage},
		"workers below 0": {dataset.Settings{Options: dataset.Options{Workers: -1}}, dataset.ErrUsage},
		"records":         {dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: math.MaxInt64}}, dataset.ErrTooLarge},
		"records, packed": {dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 1 << 40, Compress: dataset.Compress{Method: dataset.Zstd}}}, dataset.ErrTooLarge},
		"level":           {dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.Zstd, Level: 5}}}, dataset.ErrUsage},
		"no method":       {dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Level: 1}}}, dataset.ErrUsage},
	} {
		mem := vfs.NewMem()
		tc.o.Fs, tc.o.Durability = mem, dataset.DurableNone
		errs, _ := eachRank(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, "d.nc", &tc.o) })
		for r, err := range errs {
			if !errors.Is(err, tc.want) {
				t.Errorf("%s: rank %d: %v, want %v", name, r, err, tc.want)
			}
		}
		if l := names(mem, "."); len(l) > 0 {
			t.Errorf("%s: left are %v", name, l)
		}
	}
	mem := vfs.NewMem()
	m.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Durability: dataset.DurableNone}, Knobs: dataset.Knobs{Fs: mem}})
	if _, err := read.OpenWith(context.Background(), "d.nc", &read.OpenOptions{Workers: math.MaxInt}, dataset.Knobs{Fs: mem}); !errors.Is(err, dataset.ErrUsage) {
		t.Errorf("open: %v", err)
	}
	r := opened(t, mem, "d.nc", nil)
	for name, o := range map[string]*convert.ConvertOptions{
		"workers": {Workers: math.MaxInt},
		"ranks":   {Blobs: true, Ranks: math.MaxInt32},
	} {
		if _, err := convertBytes(context.Background(), r, o); !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("convert, %s: %v", name, err)
		}
	}
}

// TestAppendAlike checks that Append returns an error on all ranks if their arguments differ, and changes no file.
func TestAppendAlike(t *testing.T) {
	m := tinyModel(1, 2)
	for name, change := range map[string]func(o *dataset.Settings, base *string){
		"records":     func(o *dataset.Settings, _ *string) { o.Records = 5 },
		"compression": func(o *dataset.Settings, _ *string) { o.Compress.Method = dataset.Zstd },
		"durability":  func(o *dataset.Settings, _ *string) { o.Durability = dataset.DurableCommit },
		"name":        func(_ *dataset.Settings, base *string) { *base = "e.nc" },
	} {
		for _, isolate := range []bool{false, true} {
			mem := vfs.NewMem()
			o := dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2, Durability: dataset.DurableNone}, Knobs: dataset.Knobs{Fs: mem}}
			for _, base := range []string{"d.nc", "e.nc"} {
				must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, base, &o) }))
			}
			before := memFiles(t, mem)
			errs, _ := eachRank(m.ranks, func(ctx context.Context, c comm.Comm) error {
				c = isolateIf(c, isolate)
				p, base := o, "d.nc"
				if c.Rank() == 3 {
					change(&p, &base)
				}
				return m.upTo(3).add(ctx, c, base, &p)
			})
			for r, err := range errs {
				if !errors.Is(err, dataset.ErrUsage) {
					t.Errorf("%s, isolate %v: rank %d: %v, want %v", name, isolate, r, err, dataset.ErrUsage)
				}
			}
			after := memFiles(t, mem)
			if len(after) != len(before) {
				t.Errorf("%s, isolate %v: left are %v", name, isolate, names(mem, "."))
			}
		}
	}
}

// TestConvertRecordsOfNothing converts a small file that has a huge number of empty records. The conversion takes long, but
// needs little memory. Impossible numbers of records are errors.
func TestConvertRecordsOfNothing(t *testing.T) {
	for _, records := range []int64{1 << 23, 1 << 57} {
		s := dataset.NewSchema()
		tm, lev, col := s.Dim("time", dataset.Unlimited), s.Dim("lev", 4), s.Dim("ncol", 1000)
		d := s.Decomp(lev, col)
		s.Var("x", cdf5.Double, []dataset.DimID{tm, lev, col}, dataset.Decomposed(d))
		s.Var("y", cdf5.Float, []dataset.DimID{lev, col}, dataset.Decomposed(d))
		b := need(craft(t, dataset.ProcessCentric, s, &layout.Shape{Ranks: 2, Subfiles: 1, Blobs: 2, Elems: []int64{0}, MaxReqs: []int64{2}}, records, 40))
		mem := memOf(t, map[string][]byte{"d.nc.0000": b})
		r := need(read.OpenWith(context.Background(), "d.nc", &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: mem}))
		for name, o := range map[string]*convert.ConvertOptions{"canonical": {}, "variable-centric": {Blobs: true}, "process-centric": {Blobs: true, Layout: dataset.ProcessCentric},
			"compressed": {Blobs: true, Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.Zstd}}} {
			heapOf(t, name, func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				o.Workers, o.Memory = 1, 8<<20
				o.Progress = func(int64, int64) { cancel() }
				want := context.Canceled
				if records > 1<<40 {
					want = dataset.ErrTooLarge
				}
				if _, err := convertBytes(ctx, r, o); !errors.Is(err, want) {
					t.Errorf("%d records to %s: %v, want %v", records, name, err, want)
				}
			})
		}
		r.Close()
	}
}

// TestDiffValues checks that Diff finds differences that a comparison in float64 would miss.
func TestDiffValues(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	var r [2]*read.Reader
	for k := range r {
		s := dataset.NewSchema()
		x := s.Dim("x", 2)
		i := s.Var("i", cdf5.Int64, []dataset.DimID{x})
		u := s.Var("u", cdf5.UInt64, []dataset.DimID{x})
		f := s.Var("f", cdf5.Double, []dataset.DimID{x})
		s.Var(fmt.Sprint("own", k), cdf5.Int, []dataset.DimID{x})
		name := filepath.Join(dir, fmt.Sprint(k))
		noError(t, comm.Run(ctx, 1, nil, func(ctx context.Context, c comm.Comm) error {
			w := need(write.Create(ctx, c, name, s, nil, nil))
			must(write.Put(w, i, 0, []int64{1<<60 + int64(k), -5}))
			must(write.Put(w, u, 0, []uint64{math.MaxUint64 - uint64(k), 5}))
			must(write.Put(w, f, 0, []float64{[]float64{math.Inf(1), 5}[k], math.NaN()}))
			return w.Close(ctx)
		}))
		var err error
		if r[k], err = read.Open(ctx, name, nil); err != nil {
			t.Fatal(err)
		}
		defer r[k].Close()
	}
	const (
		inf = `1 of 2 values differ; the first at [0]: +Inf against 5; the largest difference is +Inf`
	)
	for _, c := range []struct {
		o    check.DiffOptions
		want []string
	}{
		{check.DiffOptions{Vars: []string{"i"}}, []string{`1 of 2 values differ; the first at [0]: 1152921504606846976 against 1152921504606846977; the largest difference is 1`}},
		{check.DiffOptions{Vars: []string{"u"}}, []string{`1 of 2 values differ; the first at [0]: 18446744073709551615 against 18446744073709551614; the largest difference is 1`}},
		{check.DiffOptions{Vars: []string{"i", "u"}, AbsTol: 1}, nil},
		{check.DiffOptions{Vars: []string{"f"}}, []string{inf}},
		{check.DiffOptions{Vars: []string{"f"}, RelTol: 1e-6, AbsTol: 1e300}, []string{inf}},
		{check.DiffOptions{Vars: []string{"own0", "own1"}}, []string{`variable "own1" is only in the second`, `variable "own0" is only in the first`}},
	} {
		c.o.ValueOnly = true
		var got []string
		for f := range check.Diff(ctx, r[0], r[1], &c.o) {
			got = append(got, f.Msg)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v:\ngot  %q\nwant %q", c.o, got, c.want)
		}
	}
}
