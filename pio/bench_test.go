package pio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// BenchmarkWrite compares what this package costs over the calls of blob that it makes: many record variables of one decomposition, which is cyclic
// over columns of levels.
func BenchmarkWrite(b *testing.B) {
	const ranks, vars, levels, columns = 16, 40, 72, 5400
	var lists [ranks][]int64
	var runs [ranks][]decomp.Req
	for r := range ranks {
		for l := range int64(levels) {
			for c := int64(r) * 4; c < columns; c += ranks * 4 {
				for k := range min(4, columns-c) {
					lists[r] = append(lists[r], l*columns+c+k+1)
				}
				runs[r] = append(runs[r], decomp.Req{Offset: l*columns + c, Length: min(4, columns-c)})
			}
		}
	}
	dir, err := os.MkdirTemp("/dev/shm", "pio")
	if err != nil {
		dir = b.TempDir()
	}
	defer os.RemoveAll(dir)
	path := dir + "/a.nc"
	run := func(b *testing.B, f func(ctx context.Context, c comm.Comm, data []float32) error) {
		b.SetBytes(4 * vars * levels * columns)
		for b.Loop() {
			err := comm.Run(b.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
				return f(ctx, c, make([]float32, len(lists[c.Rank()])))
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("blob", func(b *testing.B) {
		run(b, func(ctx context.Context, c comm.Comm, data []float32) error {
			s := blob.NewSchema()
			time, lev, col := s.Dim("time", blob.Unlimited), s.Dim("lev", levels), s.Dim("col", columns)
			d := s.Decomp(lev, col)
			for v := range vars {
				s.Var(fmt.Sprint("v", v), cdf5.Float, []blob.DimID{time, lev, col}, blob.Decomposed(d))
			}
			w, err := blob.Create(ctx, c, path, s, []blob.Part{{Decomp: d, Runs: runs[c.Rank()]}}, &blob.Options{Force: true, Durability: blob.DurableNone})
			if err != nil {
				return err
			}
			for v := range vars {
				err = errors.Join(err, blob.Put(w, blob.VarID(v), 0, data))
			}
			return errors.Join(err, w.Close(ctx))
		})
	})
	for _, buffer := range []int64{0, 1 << 20} {
		b.Run(fmt.Sprint("pio-", buffer), func(b *testing.B) {
			run(b, func(ctx context.Context, c comm.Comm, data []float32) error {
				s, err := NewSystem(ctx, c, nil)
				if err != nil {
					return err
				}
				d, err := s.InitDecomp(ctx, cdf5.Float, []int64{levels, columns}, lists[c.Rank()], nil)
				if err != nil {
					return err
				}
				f, err := s.Create(ctx, path, with(func(o *FileOptions) { o.Buffer = buffer }))
				if err != nil {
					return err
				}
				for i, n := range []int64{Unlimited, levels, columns} {
					_, e := f.DefDim(fmt.Sprint("d", i), n)
					err = errors.Join(err, e)
				}
				for v := range vars {
					_, e := f.DefVar(fmt.Sprint("v", v), cdf5.Float, []int{0, 1, 2})
					err = errors.Join(err, e)
				}
				err = errors.Join(err, f.EndDef())
				for v := range vars {
					err = errors.Join(err, f.WriteDarray(ctx, v, d, data, nil))
				}
				return errors.Join(err, f.Close(ctx))
			})
		})
	}
}
