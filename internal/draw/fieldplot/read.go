package fieldplot

import (
	"context"

	"blobio/decomp"
	"blobio/internal/cdf5/slab"
)

// window is the number of elements read at once.
const window = 1 << 20

// each reads all elements along the dimensions in over, with the other dimensions fixed. It calls f for each window of
// consecutive elements, with the index of the first one. In this file, values are unpacked numbers.
func (a *array) each(ctx context.Context, over []string, f func(first int64, values []float64) error) error {
	start, count := make([]int64, len(a.dims)), make([]int64, len(a.dims))
	var along []int // indices of the dimensions over
	for i, d := range a.dims {
		start[i], count[i] = d.index, 1
		for _, name := range over {
			if name == d.name {
				start[i], count[i] = 0, d.n
				along = append(along, i)
			}
		}
	}
	var buf []float64
	first := int64(0)
	read := func(n int64) error {
		if int64(len(buf)) < n {
			buf = make([]float64, n)
		}
		if err := a.mean.Read(buf[:n], func(stored any) error { return a.data.Reader.Read(ctx, a.v.Name, start, count, stored) }); err != nil {
			return err
		}
		first += n
		return f(first-n, buf[:n])
	}
	var walk func(k int) error
	walk = func(k int) error { // walks along[k] and later dimensions
		rest := int64(1)
		for _, i := range along[k+1:] {
			rest *= a.dims[i].n
		}
		i := along[k]
		step := max(1, window/rest)
		for lo := int64(0); lo < a.dims[i].n; lo += step {
			start[i], count[i] = lo, min(step, a.dims[i].n-lo)
			var err error
			if rest > window {
				err = walk(k + 1)
			} else {
				err = read(count[i] * rest)
			}
			if err != nil {
				return err
			}
		}
		start[i], count[i] = 0, a.dims[i].n
		return nil
	}
	return walk(0)
}

// picks returns at most n indices of a dimension, spread evenly.
func picks(of, n int64) []int64 {
	if n >= of {
		n = of
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = (2*int64(i) + 1) * of / (2 * n)
	}
	return out
}

// sample reads the elements at chosen indices along dimensions x and y, or only along x if y is empty. The other dimensions are
// fixed. The result is in rows of y.
func (a *array) sample(ctx context.Context, x string, xs []int64, y string, ys []int64) ([]float64, error) {
	take := make([]slab.Index, len(a.dims))
	shape := make([]int64, len(a.dims))
	list := make([][]int64, len(a.dims))
	hull := int64(1)
	for i, d := range a.dims {
		shape[i], list[i] = d.n, []int64{d.index}
		switch d.name {
		case x:
			list[i] = xs
		case y:
			list[i] = ys
		}
		hull *= list[i][len(list[i])-1] - list[i][0] + 1
		take[i] = spans(list[i])
	}
	n := int64(len(xs) * max(len(ys), 1))
	out := make([]float64, n)
	var err error
	if hull <= 4*window || hull <= 4*n {
		err = a.sampleHull(ctx, list, hull, out)
	} else {
		err = a.sampleRuns(ctx, shape, take, out)
	}
	if err != nil || y == "" {
		return out, err
	}
	for _, d := range a.dims { // out is in the order of the variable; transpose it if x is slower than y
		if d.name == y {
			return out, nil
		}
		if d.name == x {
			break
		}
	}
	turned := make([]float64, n)
	for j := range ys {
		for i := range xs {
			turned[j*len(xs)+i] = out[i*len(ys)+j]
		}
	}
	return turned, nil
}

// sampleHull reads everything between the first and last index of each dimension, and selects elements.
func (a *array) sampleHull(ctx context.Context, list [][]int64, hull int64, out []float64) error {
	start, count := make([]int64, len(list)), make([]int64, len(list))
	for i, l := range list {
		start[i], count[i] = l[0], l[len(l)-1]-l[0]+1
	}
	all := make([]float64, hull)
	if err := a.mean.Read(all, func(stored any) error { return a.data.Reader.Read(ctx, a.v.Name, start, count, stored) }); err != nil {
		return err
	}
	k := 0
	var walk func(i int, off int64)
	walk = func(i int, off int64) {
		if i == len(list) {
			out[k] = all[off]
			k++
			return
		}
		for _, x := range list[i] {
			walk(i+1, off*count[i]+x-start[i])
		}
	}
	walk(0, 0)
	return nil
}

// sampleRuns reads the chosen elements individually, record by record.
func (a *array) sampleRuns(ctx context.Context, shape []int64, take []slab.Index, out []float64) error {
	records := slab.Index{{First: 0, Count: 1, Stride: 1}}
	if a.dims[0].record {
		records, shape, take = take[0], shape[1:], take[1:]
	}
	part := slab.NewArray(shape, take)
	var runs []decomp.Req
	for off, n := range part.Runs(0, part.Elems()) {
		runs = append(runs, decomp.Req{Offset: off, Length: n})
	}
	n := part.Elems()
	for _, s := range records {
		for k := range s.Count {
			read := func(stored any) error { return a.data.Reader.ReadRuns(ctx, a.v.Name, s.First+k*s.Stride, runs, stored) }
			if err := a.mean.Read(out[:n], read); err != nil {
				return err
			}
			out = out[n:]
		}
	}
	return nil
}

// spans converts ascending indices to a slab index.
func spans(list []int64) (out slab.Index) {
	for _, i := range list {
		if n := len(out); n > 0 && out[n-1].First+out[n-1].Count == i {
			out[n-1].Count++
			continue
		}
		out = append(out, slab.Span{First: i, Count: 1, Stride: 1})
	}
	return out
}
