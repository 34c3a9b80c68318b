package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/dyn"
)

// sample is the F case at ne=8 (3,458 columns, 67 MB in float) on 16 ranks.
type sample struct {
	*task
	data []rankData
	dir  string
	size int64 // bytes of the data
}

func small(b *testing.B) *sample {
	b.Helper()
	j := Job{Case: "F_h0", Ranks: 16, Float: true, FileMem: true, Maps: MapSource{Ne: 8}}
	t, err := j.load()
	if err != nil {
		b.Fatal(err)
	}
	r := &sample{task: t, dir: b.TempDir()}
	if r.data, err = t.fillAll(); err != nil {
		b.Fatal(err)
	}
	for _, d := range r.data {
		r.size += d.bytes()
	}
	return r
}

func (r *sample) write(ctx context.Context, l blob.Layout, name string) error {
	o := &blob.Options{Layout: l, Force: true, Durability: blob.DurableNone, Retain: blob.LendUntilClose}
	return comm.Run(ctx, r.Ranks, nil, func(ctx context.Context, c comm.Comm) error {
		w, err := blob.Create(ctx, c, name, r.s, r.parts(c), o)
		if err != nil {
			return err
		}
		for v, recs := range r.data[c.Rank()] {
			if recs[0] == nil {
				continue
			}
			if err := dyn.Put(w, blob.VarID(v), 0, recs[0]); err != nil {
				return err
			}
		}
		return w.Close(ctx)
	})
}

func BenchmarkWrite(b *testing.B) {
	r := small(b)
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		b.Run(l.String(), func(b *testing.B) {
			b.SetBytes(r.size)
			b.ReportAllocs()
			for b.Loop() {
				if err := r.write(context.Background(), l, filepath.Join(r.dir, "w"+l.String())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	r := small(b)
	ctx := context.Background()
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		name := filepath.Join(r.dir, "r"+l.String())
		if err := r.write(ctx, l, name); err != nil {
			b.Fatal(err)
		}
		d, err := blob.Open(ctx, name, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer d.Close()
		ncol := d.Schema().Dims()[5].Len
		for _, k := range []struct {
			what         string
			start, count []int64
			n            int64
		}{
			{"variable", []int64{0, 0, 0}, []int64{1, 72, ncol}, 72 * ncol},
			{"level", []int64{0, 40, 0}, []int64{1, 1, ncol}, ncol},
			{"column", []int64{0, 0, 100}, []int64{1, 72, 1}, 72},
		} {
			b.Run(fmt.Sprintf("%v/%s", l, k.what), func(b *testing.B) {
				dst := make([]float32, k.n)
				b.SetBytes(4 * k.n)
				for b.Loop() {
					if err := d.Read(ctx, "T", k.start, k.count, dst); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkVerify reads variables for the first time from files that the system has cached: what the comparison of checksums costs.
func BenchmarkVerify(b *testing.B) {
	r := small(b)
	ctx := context.Background()
	names := []string{"T", "U", "V", "Q", "OMEGA", "Z3"}
	modes := map[string]blob.Verification{"once": blob.VerifyOnce, "whole": blob.VerifyWhole, "never": blob.VerifyNever}
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		name := filepath.Join(r.dir, "v"+l.String())
		if err := r.write(ctx, l, name); err != nil {
			b.Fatal(err)
		}
		for _, levels := range []int64{72, 1} {
			for how, mode := range modes {
				b.Run(fmt.Sprintf("%v/levels=%d/%s", l, levels, how), func(b *testing.B) {
					var dst []float32
					for b.Loop() {
						b.StopTimer()
						d, err := blob.Open(ctx, name, &blob.OpenOptions{Verify: mode})
						if err != nil {
							b.Fatal(err)
						}
						ncol := d.Schema().Dims()[5].Len
						if dst == nil {
							dst = make([]float32, levels*ncol)
							b.SetBytes(int64(len(names)) * 4 * levels * ncol)
						}
						b.StartTimer()
						for _, v := range names {
							if err := d.Read(ctx, v, []int64{0, 0, 0}, []int64{1, levels, ncol}, dst); err != nil {
								b.Fatal(err)
							}
						}
						b.StopTimer()
						d.Close()
						b.StartTimer()
					}
				})
			}
		}
	}
}

func BenchmarkConvert(b *testing.B) {
	r := small(b)
	ctx := context.Background()
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		name := filepath.Join(r.dir, "c"+l.String())
		if err := r.write(ctx, l, name); err != nil {
			b.Fatal(err)
		}
		for _, o := range []blob.ConvertOptions{{}, {Blobs: true, Layout: blob.VariableCentric}, {Blobs: true, Layout: blob.ProcessCentric}} {
			to := blob.Canonical
			if o.Blobs {
				to = o.Layout
			}
			b.Run(fmt.Sprintf("%v-to-%v", l, to), func(b *testing.B) {
				d, err := blob.Open(ctx, name, nil)
				if err != nil {
					b.Fatal(err)
				}
				defer d.Close()
				b.SetBytes(r.size)
				o.Force, o.Durability = true, blob.DurableNone
				out := filepath.Join(r.dir, fmt.Sprintf("%v-%v.nc", l, to))
				for b.Loop() {
					if err := blob.Convert(ctx, d, out, &o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	r := small(b)
	ctx := context.Background()
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		name := filepath.Join(r.dir, "k"+l.String())
		if err := r.write(ctx, l, name); err != nil {
			b.Fatal(err)
		}
		b.Run(l.String(), func(b *testing.B) {
			b.SetBytes(r.size)
			for b.Loop() {
				for f := range blob.Check(ctx, name, nil) {
					b.Fatal(f)
				}
			}
		})
	}
}
