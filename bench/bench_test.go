package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/e3smcases"
)

// small is the F case at ne=8 (3,458 columns, 67 MB in float) on 16 ranks.
func small(b *testing.B) *rates {
	b.Helper()
	r := &rates{o: RatesOptions{Dir: b.TempDir(), Ne: 8, Ranks: 16}}
	var err error
	if r.maps, err = e3smcases.GenF(8, 72, 16); err != nil {
		b.Fatal(err)
	}
	c, err := e3smcases.Load("F_h0")
	if err != nil {
		b.Fatal(err)
	}
	if r.c, err = c.WithMapDims(r.maps); err != nil {
		b.Fatal(err)
	}
	if r.s, err = r.c.Schema(true); err != nil {
		b.Fatal(err)
	}
	if err := r.fill(); err != nil {
		b.Fatal(err)
	}
	return r
}

func bytesOf(r *rates) (n int64) {
	for _, vars := range r.data {
		for _, d := range vars {
			raw, _ := cdf5.Bytes(d)
			n += int64(len(raw))
		}
	}
	return n
}

func BenchmarkWrite(b *testing.B) {
	r := small(b)
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		b.Run(l.String(), func(b *testing.B) {
			b.SetBytes(bytesOf(r))
			b.ReportAllocs()
			for b.Loop() {
				if err := r.write(context.Background(), l, filepath.Join(r.o.Dir, "w"+l.String())); err != nil {
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
		name := filepath.Join(r.o.Dir, "r"+l.String())
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

func BenchmarkConvert(b *testing.B) {
	r := small(b)
	ctx := context.Background()
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		name := filepath.Join(r.o.Dir, "c"+l.String())
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
				b.SetBytes(bytesOf(r))
				o.Force, o.Durability = true, blob.DurableNone
				for b.Loop() {
					if err := blob.Convert(ctx, d, filepath.Join(r.o.Dir, "out.nc"), &o); err != nil {
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
		name := filepath.Join(r.o.Dir, "k"+l.String())
		if err := r.write(ctx, l, name); err != nil {
			b.Fatal(err)
		}
		b.Run(l.String(), func(b *testing.B) {
			b.SetBytes(bytesOf(r))
			for b.Loop() {
				for f := range blob.Check(ctx, name, nil) {
					b.Fatal(f)
				}
			}
		})
	}
}
