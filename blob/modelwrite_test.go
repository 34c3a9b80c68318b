package blob

import (
	"context"
	"errors"
	"fmt"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
)

func (m *model) parts(rank int) (p []write.Part) {
	for d := range m.maps {
		p = append(p, write.Part{Decomp: dataset.DecompID(d + 1), Runs: m.maps[d].AppendReqs(nil, rank)})
	}
	return p
}

// mine returns the values of a rank's elements in a record of a variable.
func (m *model) mine(v dataset.VarID, rec int64, rank int) (x []float64) {
	x = []float64{}
	d := m.s.Vars[v].Decomp
	if d == 0 {
		for at := range m.s.Elems(v) {
			x = append(x, m.x(v, rec, at))
		}
		return x
	}
	for q := range m.maps[d-1].Reqs(rank) {
		for k := range q.Length {
			x = append(x, m.x(v, rec, q.Offset+k))
		}
	}
	return x
}

// put puts one record of a variable. pick selects the type in memory. For each lent slice, put calls lent with a function that
// overwrites the slice.
func (m *model) put(w *write.Writer, v dataset.VarID, rec int64, rank int, pick uint64, lent func(spoil func())) error {
	sv := &m.s.Vars[v]
	id, ok := w.Job.Schema.VarID(sv.Name)
	if !ok {
		return fmt.Errorf("no variable %q", sv.Name)
	}
	x := m.mine(v, rec, rank)
	if sv.Decomp == 0 && pick%3 == 0 && len(x) > 1 {
		shape := m.s.Shape(v)
		if len(shape) > 0 && shape[0] > 1 { // puts two parts, the second part first
			row := dataset.Product(shape[1:])
			half := shape[0] / 2
			start, count := make([]int64, len(shape)), append([]int64(nil), shape...)
			start[0], count[0] = half, shape[0]-half
			if err := putAs(w, id, rec, start, count, sv.Type, x[half*row:], pick/3, lent); err != nil {
				return err
			}
			start[0], count[0] = 0, half
			return putAs(w, id, rec, start, count, sv.Type, x[:half*row], pick/3, lent)
		}
	}
	return putAs(w, id, rec, nil, nil, sv.Type, x, pick/3, lent)
}

func putAs(w *write.Writer, id dataset.VarID, rec int64, start, count []int64, t cdf5.Type, x []float64, pick uint64, lent func(func())) error {
	natural := map[cdf5.Type]int{cdf5.Byte: 0, cdf5.Char: 1, cdf5.UByte: 1, cdf5.Short: 2, cdf5.UShort: 3, cdf5.Int: 4, cdf5.UInt: 5, cdf5.Int64: 6, cdf5.UInt64: 7, cdf5.Float: 8, cdf5.Double: 9}[t]
	wide := []int{natural, 9, 6}
	if t == cdf5.UInt64 || t == cdf5.UByte {
		wide = []int{natural, 9, 7}
	}
	k := wide[pick%3]
	if t == cdf5.Char {
		k = 1
	}
	switch k {
	case 0:
		return putSlice[int8](w, id, rec, start, count, x, lent)
	case 1:
		return putSlice[uint8](w, id, rec, start, count, x, lent)
	case 2:
		return putSlice[int16](w, id, rec, start, count, x, lent)
	case 3:
		return putSlice[uint16](w, id, rec, start, count, x, lent)
	case 4:
		return putSlice[int32](w, id, rec, start, count, x, lent)
	case 5:
		return putSlice[uint32](w, id, rec, start, count, x, lent)
	case 6:
		return putSlice[int64](w, id, rec, start, count, x, lent)
	case 7:
		return putSlice[uint64](w, id, rec, start, count, x, lent)
	case 8:
		return putSlice[float32](w, id, rec, start, count, x, lent)
	}
	return putSlice[float64](w, id, rec, start, count, x, lent)
}

func putSlice[T dataset.Number](w *write.Writer, id dataset.VarID, rec int64, start, count []int64, x []float64, lent func(func())) error {
	data := make([]T, len(x))
	for i := range x {
		data[i] = T(x[i])
	}
	if lent != nil {
		lent(func() {
			for i := range data {
				data[i] = 99
			}
		})
	}
	if start == nil {
		return write.Put(w, id, rec, data)
	}
	return write.PutAt(w, id, rec, start, count, data)
}

// putRecord puts one record of all variables and, if fixed is set, the fixed variables.
func (m *model) putRecord(w *write.Writer, rec int64, rank int, fixed bool) error {
	for v := range m.s.Vars {
		sv := &m.s.Vars[v]
		if !sv.Record && !fixed || m.isAbsent(dataset.VarID(v), rec, rank) {
			continue
		}
		r := rec
		if !sv.Record {
			r = 0
		}
		if err := m.put(w, dataset.VarID(v), r, rank, uint64(v), nil); err != nil {
			return err
		}
	}
	return nil
}

// create runs a session on one rank: Create, a flush after each record, and Close.
func (m *model) create(ctx context.Context, c comm.Comm, base string, o *dataset.Settings) error {
	w, err := write.CreateWith(ctx, c, base, m.s, m.parts(c.Rank()), o)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	for rec := range max(m.records, 1) {
		if m.records == 0 {
			break
		}
		if err := m.putRecord(w, rec, c.Rank(), rec == 0); err != nil {
			return err
		}
		if err := flushOf(w, o)(ctx); err != nil {
			return errors.Join(fmt.Errorf("flush: %w", err), w.Close(ctx))
		}
	}
	if err := w.Close(ctx); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// flushOf returns the flush method for these options: FlushAsync if SyncMin is set, otherwise Flush.
func flushOf(w *write.Writer, o *dataset.Settings) func(context.Context) error {
	if o.SyncMin > 0 {
		return w.FlushAsync
	}
	return w.Flush
}

// append opens a dataset to add records, and to add variables if the model has more than the dataset.
func (m *model) append(ctx context.Context, c comm.Comm, base string, o *dataset.Settings) (*write.Writer, error) {
	var s *dataset.Schema
	if m.more != nil {
		r, err := read.OpenCommWith(ctx, c, base, &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: o.Fs})
		if err != nil {
			return nil, err
		}
		if len(r.Now().Data.Schema.Vars) < len(m.s.Vars) {
			s = r.Now().Data.Extend()
			m.more(s)
		}
		if err := comm.Agree(ctx, c, r.Close()); err != nil {
			return nil, err
		}
	}
	return resume.AppendSettings(ctx, c, base, s, m.parts(c.Rank()), o)
}

// add runs a session on one rank that appends records until the dataset has m.records.
func (m *model) add(ctx context.Context, c comm.Comm, base string, o *dataset.Settings) error {
	w, err := m.append(ctx, c, base, o)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	for rec := w.Puts.Records(); rec < m.records; rec++ {
		if err := m.putRecord(w, rec, c.Rank(), false); err != nil {
			return err
		}
		if err := flushOf(w, o)(ctx); err != nil {
			return errors.Join(fmt.Errorf("flush: %w", err), w.Close(ctx))
		}
	}
	if err := w.Close(ctx); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}
