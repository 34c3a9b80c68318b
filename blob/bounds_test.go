package blob

import (
	"context"
	"errors"
	"math"
	"testing"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/vfs"
)

// TestOptionsBounds: what could not be held is an error before anything is made.
func TestOptionsBounds(t *testing.T) {
	m := tinyModel(1, 2)
	for name, tc := range map[string]struct {
		o    settings
		want error
	}{
		"workers":         {settings{Options: Options{Workers: math.MaxInt}}, ErrUsage},
		"workers below 0": {settings{Options: Options{Workers: -1}}, ErrUsage},
		"records":         {settings{Options: Options{Layout: ProcessCentric, Records: math.MaxInt64}}, ErrTooLarge},
		"records, packed": {settings{Options: Options{Layout: ProcessCentric, Records: 1 << 40, Compress: Compress{Method: Zstd}}}, ErrTooLarge},
		"level":           {settings{Options: Options{Layout: ProcessCentric, Compress: Compress{Method: Zstd, Level: 5}}}, ErrUsage},
		"no method":       {settings{Options: Options{Layout: ProcessCentric, Compress: Compress{Level: 1}}}, ErrUsage},
	} {
		mem := vfs.NewMem()
		tc.o.fs, tc.o.Durability = mem, DurableNone
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
	m.writeTo(t, mem, &settings{Options: Options{Durability: DurableNone}, knobs: knobs{fs: mem}})
	if _, err := openWith(context.Background(), "d.nc", &OpenOptions{Workers: math.MaxInt}, knobs{fs: mem}); !errors.Is(err, ErrUsage) {
		t.Errorf("open: %v", err)
	}
	r, err := openWith(context.Background(), "d.nc", nil, knobs{fs: mem})
	must(err)
	defer r.Close()
	for name, o := range map[string]*ConvertOptions{
		"workers": {Workers: math.MaxInt},
		"ranks":   {Blobs: true, Ranks: math.MaxInt32},
	} {
		if _, err := convertBytes(context.Background(), r, o); !errors.Is(err, ErrUsage) {
			t.Errorf("convert, %s: %v", name, err)
		}
	}
}

// TestAppendAlike: ranks that pass different things to Append are told so, each of them, and nothing is changed.
func TestAppendAlike(t *testing.T) {
	m := tinyModel(1, 2)
	for name, change := range map[string]func(o *settings, base *string){
		"records":     func(o *settings, _ *string) { o.Records = 5 },
		"compression": func(o *settings, _ *string) { o.Compress.Method = Zstd },
		"durability":  func(o *settings, _ *string) { o.Durability = DurableCommit },
		"name":        func(_ *settings, base *string) { *base = "e.nc" },
	} {
		for _, isolate := range []bool{false, true} {
			mem := vfs.NewMem()
			o := settings{Options: Options{Layout: ProcessCentric, Subfiles: 2, Durability: DurableNone}, knobs: knobs{fs: mem}}
			for _, base := range []string{"d.nc", "e.nc"} {
				must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, base, &o) }))
			}
			before := memFiles(t, mem)
			errs, _ := eachRank(m.ranks, func(ctx context.Context, c comm.Comm) error {
				if isolate {
					c = comm.Isolate(c)
				}
				p, base := o, "d.nc"
				if c.Rank() == 3 {
					change(&p, &base)
				}
				return m.upTo(3).add(ctx, c, base, &p)
			})
			for r, err := range errs {
				if !errors.Is(err, ErrUsage) {
					t.Errorf("%s, isolate %v: rank %d: %v, want %v", name, isolate, r, err, ErrUsage)
				}
			}
			after := memFiles(t, mem)
			if len(after) != len(before) {
				t.Errorf("%s, isolate %v: left are %v", name, isolate, names(mem, "."))
			}
		}
	}
}

// TestConvertRecordsOfNothing: a small file may promise any number of records that no rank has anything of. Converting it
// takes long, but no memory by their number, and sizes that cannot be are errors.
func TestConvertRecordsOfNothing(t *testing.T) {
	for _, records := range []int64{1 << 23, 1 << 57} {
		s := NewSchema()
		tm, lev, col := s.Dim("time", Unlimited), s.Dim("lev", 4), s.Dim("ncol", 1000)
		d := s.Decomp(lev, col)
		s.Var("x", cdf5.Double, []DimID{tm, lev, col}, Decomposed(d))
		s.Var("y", cdf5.Float, []DimID{lev, col}, Decomposed(d))
		b := need(craft(t, ProcessCentric, s, &layout.Shape{Ranks: 2, Subfiles: 1, Blobs: 2, Elems: []int64{0}, MaxReqs: []int64{2}}, records, 40))
		mem := memOf(t, map[string][]byte{"d.nc.0000": b})
		r, err := openWith(context.Background(), "d.nc", &OpenOptions{Workers: 1}, knobs{fs: mem})
		must(err)
		for name, o := range map[string]*ConvertOptions{"canonical": {}, "variable-centric": {Blobs: true}, "process-centric": {Blobs: true, Layout: ProcessCentric},
			"compressed": {Blobs: true, Layout: ProcessCentric, Compress: Compress{Method: Zstd}}} {
			heapOf(t, name, func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				o.Workers, o.Memory = 1, 8<<20
				o.Progress = func(int64, int64) { cancel() }
				want := context.Canceled
				if records > 1<<40 {
					want = ErrTooLarge
				}
				if _, err := convertBytes(ctx, r, o); !errors.Is(err, want) {
					t.Errorf("%d records to %s: %v, want %v", records, name, err, want)
				}
			})
		}
		r.Close()
	}
}
