package pio

import (
	"fmt"
	"math"
	"slices"

	"blobio/internal/cdf5/slab"
)

// A Part is a part of a variable: Count[i] elements from Start[i], Stride[i] apart, along each dimension, including the record
// dimension. The zero value is the whole variable.
type Part struct {
	Start, Count []int64 // both nil: the whole variable
	Stride       []int64 // nil: 1
	Imap         []int64 // distance in memory between consecutive elements along each dimension; nil: C order
}

// region is a checked Part of a variable: the same elements in each of some records.
type region struct {
	first, step, recs int64       // records; 0, 1, 1 for a fixed variable
	part              *slab.Array // part of each record
	elems             int64       // number of elements of part
	count             []int64     // along all dimensions
	imap              []int64     // nil: C order
	need              int64       // number of elements of memory
}

// region checks a Part of a variable. With write the records may be new; room is the maximum number of bytes of records to skip.
func (f *definitions) region(v *variable, p Part, write bool, room float64) (*region, error) {
	n, record := len(v.dims), f.isRecord(v)
	start, count, stride, imap := p.Start, p.Count, p.Stride, p.Imap
	fault := func(c Code, format string, args ...any) error {
		return fmt.Errorf("%s: variable %q: %w", f.path, v.name, failed(c, format, args...))
	}
	full := f.shape(v)
	if record {
		full = append([]int64{f.records}, full...)
	}
	if start == nil && count == nil {
		start, count = make([]int64, n), slices.Clone(full)
		if record && write {
			count[0] = max(count[0], 1)
		}
		if stride != nil {
			for i := range count {
				if i < len(stride) && stride[i] > 0 {
					count[i] = (count[i] + stride[i] - 1) / stride[i]
				}
			}
		}
	}
	for _, l := range [][]int64{start, count} {
		if len(l) != n {
			return nil, fault(EINVAL, "start and count have %d and %d dimensions, want %d", len(start), len(count), n)
		}
	}
	if stride == nil {
		stride = slices.Repeat([]int64{1}, n)
	}
	if len(stride) != n || imap != nil && len(imap) != n {
		return nil, fault(EINVAL, "stride and imap have %d and %d dimensions, want %d", len(stride), len(imap), n)
	}
	g := &region{step: 1, recs: 1, count: count, imap: imap, need: 1}
	empty := slices.Contains(count, 0)
	take := make([]slab.Index, n)
	reach := int64(1)
	for i := range n {
		c, m := count[i], int64(1)
		if imap != nil {
			m = imap[i]
		}
		end, open := full[i], record && i == 0 && write
		if open {
			end = math.MaxInt64/4 - 1
		}
		switch {
		case start[i] < 0 || !open && (start[i] > end || start[i] == end && c > 0):
			return nil, fault(EINVALCOORDS, "start %d of dimension %d, want within %d", start[i], i, full[i])
		case c < 0:
			return nil, fault(EEDGE, "count %d of dimension %d, want 0 or more", c, i)
		case stride[i] < 1:
			return nil, fault(ESTRIDE, "stride %d of dimension %d, want 1 or more", stride[i], i)
		case m < 0:
			return nil, fault(EINVAL, "imap %d of dimension %d, want 0 or more", m, i)
		case c > 0 && c-1 > (end-1-start[i])/stride[i]:
			return nil, fault(EEDGE, "dimension %d: %d elements from %d with stride %d, want a range within %d", i, c, start[i], stride[i], full[i])
		case c > 0 && g.need > math.MaxInt64/8/c:
			return nil, fault(EVARSIZE, "%v elements", count)
		case imap != nil && c > 0 && m > 0 && c-1 > (math.MaxInt64/8-reach)/m:
			return nil, fault(EINVAL, "imap %d of dimension %d is too large", m, i)
		}
		g.need *= c
		if c > 0 {
			reach += (c - 1) * m
		}
		take[i] = slab.Index{{First: start[i], Count: c, Stride: stride[i]}}
	}
	if record {
		g.first, g.step, g.recs = start[0], stride[0], count[0]
		if write && g.recs > 0 && g.last() > max(f.records, 1)+maxRecordGap {
			return nil, fault(EINVALCOORDS, "record %d, want at most %d beyond the existing %d", g.last(), maxRecordGap, f.records)
		}
		if write && g.recs > 0 && g.last() > f.records {
			if err := f.gap(g.last()-f.records-(g.recs-1), room); err != nil {
				return nil, fmt.Errorf("%s: variable %q: record %d: %w", f.path, v.name, g.last(), err)
			}
		}
		take, full = take[1:], full[1:]
	}
	if empty {
		g.recs, g.need = 0, 0
		return g, nil
	}
	g.part = slab.NewArray(full, take)
	g.elems = g.part.Elems()
	if imap != nil {
		g.need = reach
	}
	return g, nil
}

// maxRecordGap is the maximum distance of a new record from the existing records.
const maxRecordGap = 1 << 20

// smallGap is the number of records that a program may always skip.
const smallGap = 16

// gap returns an error if n skipped records exceed room bytes. They would be filled, so a wrong record number could fill the
// disk.
func (f *definitions) gap(n int64, room float64) error {
	if n <= smallGap {
		return nil
	}
	bytes := 0.0 // bytes per record
	for _, v := range f.vars {
		if f.isRecord(v) {
			bytes += float64(product(f.shape(v))) * float64(v.t.Size())
		}
	}
	if float64(n)*bytes > room {
		return failed(EINVALCOORDS, "%d skipped records of %.0f bytes need fill values, want at most %.0f bytes (FileOptions.Memory of each rank)", n, bytes, room)
	}
	return nil
}

// last returns the last record.
func (g *region) last() int64 { return g.first + (g.recs-1)*g.step }

// walk calls move for each element in C order, with its offset in memory.
func (g *region) walk(move func(at, from int64)) {
	index := make([]int64, len(g.count))
	total := product(g.count)
	for at := range total {
		from := int64(0)
		for i, x := range index {
			from += x * g.imap[i]
		}
		move(at, from)
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < g.count[i] {
				break
			}
			index[i] = 0
		}
	}
}
