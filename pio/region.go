package pio

import (
	"fmt"
	"math"
	"slices"

	"blobio/internal/cdf5/slab"
)

// region is a part of a variable: of each of some records the same part.
type region struct {
	first, step, recs int64       // records: 0, 1, 1 of a variable without
	part              *slab.Array // of a record
	elems             int64       // of part
	count             []int64     // along all dimensions
	imap              []int64     // nil: C order
	need              int64       // elements of memory
}

// region makes one of the arguments of a call. Records that are not there yet are of writing only.
func (f *File) region(v *variable, start, count, stride, imap []int64, write bool) (*region, error) {
	n, record := len(v.dims), f.isRecord(v)
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
			return nil, fault(EINVAL, "start and count of %d and %d dimensions, want %d", len(start), len(count), n)
		}
	}
	if stride == nil {
		stride = slices.Repeat([]int64{1}, n)
	}
	if len(stride) != n || imap != nil && len(imap) != n {
		return nil, fault(EINVAL, "stride and imap of %d and %d dimensions, want %d", len(stride), len(imap), n)
	}
	g := &region{step: 1, recs: 1, count: count, imap: imap, need: 1}
	empty := slices.Contains(count, 0)
	take := make([]slab.Index, n)
	reach := int64(1)
	for i := range n {
		open := record && i == 0 && write
		switch {
		case start[i] < 0 || !open && (start[i] > full[i] || start[i] == full[i] && count[i] > 0):
			return nil, fault(EINVALCOORDS, "start %d of dimension %d, want within %d", start[i], i, full[i])
		case count[i] < 0:
			return nil, fault(EEDGE, "count %d of dimension %d, want 0 or more", count[i], i)
		case stride[i] < 1:
			return nil, fault(ESTRIDE, "stride %d of dimension %d, want 1 or more", stride[i], i)
		case imap != nil && imap[i] < 0:
			return nil, fault(EINVAL, "imap %d of dimension %d, want 0 or more", imap[i], i)
		}
		end := int64(math.MaxInt64/4 - 1)
		if !open {
			end = full[i]
		}
		if c := count[i]; c > 0 && c-1 > (end-1-start[i])/stride[i] {
			return nil, fault(EEDGE, "dimension %d: %d elements from %d on, %d apart, want within %d", i, c, start[i], stride[i], full[i])
		}
		if count[i] > 0 && g.need > math.MaxInt64/8/count[i] {
			return nil, fault(EVARSIZE, "%v elements", count)
		}
		g.need *= count[i]
		if imap != nil && count[i] > 0 {
			if imap[i] > 0 && count[i]-1 > (math.MaxInt64/8-reach)/imap[i] {
				return nil, fault(EINVAL, "imap %d of dimension %d is too large", imap[i], i)
			}
			reach += (count[i] - 1) * imap[i]
		}
		take[i] = slab.Index{{First: start[i], Count: count[i], Stride: stride[i]}}
	}
	if record {
		g.first, g.step, g.recs = start[0], stride[0], count[0]
		if write && g.recs > 0 && g.last() > max(f.records, 1)+maxRecordGap {
			return nil, fault(EINVALCOORDS, "record %d, want at most %d beyond the %d that are there", g.last(), maxRecordGap, f.records)
		}
		if write && g.recs > 0 && g.last() > f.records {
			if err := f.gap(g.last() - f.records - (g.recs - 1)); err != nil {
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

// maxRecordGap is how far beyond the records that are there a record may lie.
const maxRecordGap = 1 << 20

// smallGap is a number of records that any program may leave out.
const smallGap = 16

// gap says whether n records may be left out, which are filled: a wrong number of a record could fill the disk.
func (f *File) gap(n int64) error {
	if n <= smallGap {
		return nil
	}
	bytes := 0.0 // of a record
	for _, v := range f.vars {
		if f.isRecord(v) {
			bytes += float64(product(f.shape(v))) * float64(v.t.Size())
		}
	}
	if each := float64(n) * bytes / float64(f.s.c.Size()); each > float64(f.opt.Memory) {
		return failed(EINVALCOORDS, "%d records of %.0f bytes are left out, want at most %d bytes of each rank: FileOptions.Memory", n, bytes, f.opt.Memory)
	}
	return nil
}

// last is the last record.
func (g *region) last() int64 { return g.first + (g.recs-1)*g.step }

// walk calls move for each element in C order with its place in memory.
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
