package virtual

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"blobio/cdf5"
	"blobio/internal/base/cache"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
)

// Maker makes elements. It is safe for concurrent use.
type Maker interface {
	// Unit returns the elements [lo, hi) of the unit that contains element at of a variable's record.
	Unit(v int, rec, at int64) (lo, hi int64)
	// Make fills dst with elements [lo, hi) of a variable's record, big-endian. The range is one or more whole units.
	Make(ctx context.Context, v int, rec, lo, hi int64, dst []byte) error
}

const (
	defaultMemory = 16 << 20
	batch         = 1 << 20 // maximum of bytes made with one call
	maxUnit       = 1 << 30 // maximum of bytes of a unit that is read in part
)

// A File is a computed ordinary netCDF file. It is an io.ReaderAt, safe for concurrent use.
type File struct {
	name  string
	h     *cdf5.Header
	m     *Map
	head  []byte
	maker Maker
	units *cache.Cache[unitKey, []byte] // units that were read in part
}

// unitKey identifies a unit by the variable, the record and its first byte lo in the record.
type unitKey struct {
	v       int
	rec, lo int64
}

// New lays out the header and returns its file. memory limits the bytes of cached units besides the last one; 0 means 16 MiB.
// name is for errors.
func New(name string, h *cdf5.Header, maker Maker, memory int64) (*File, error) {
	err := h.Layout(&cdf5.LayoutOptions{OddNames: true})
	var head []byte
	if err == nil {
		head, err = h.AppendTo(nil, binary.BigEndian, false)
	}
	if err != nil {
		return nil, fmt.Errorf("netCDF form of %s: %w", name, err)
	}
	if memory == 0 {
		memory = defaultMemory
	}
	return &File{name: name, h: h, m: NewMap(h, int64(len(head))), head: head, maker: maker, units: cache.New[unitKey](memory, func(b []byte) int64 { return int64(len(b)) })}, nil
}

// Size returns the length in bytes.
func (f *File) Size() int64 { return f.m.Size() }

// Header returns the header with the offset of each variable. The caller must not change it.
func (f *File) Header() *cdf5.Header { return f.h }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	return f.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt, but ends when ctx ends. With an error, the first n bytes are valid.
func (f *File) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	switch {
	case off < 0:
		return 0, fault.Usage("netCDF form of %s: read at offset %d, want >= 0", f.name, off)
	case len(p) == 0:
		return 0, nil
	case off >= f.Size():
		return 0, io.EOF
	}
	b := p[:min(int64(len(p)), f.Size()-off)]
	for n < len(b) {
		k, err := f.some(ctx, b[n:], off+int64(n))
		if n += k; err != nil {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// some reads a prefix of p with at least one byte.
func (f *File) some(ctx context.Context, p []byte, off int64) (int, error) {
	s := f.m.At(off)
	p = p[:min(int64(len(p)), s.Off+s.N-off)]
	switch {
	case s.Head:
		return copy(p, f.head[off:]), nil
	case s.Var < 0:
		clear(p)
		return len(p), nil
	}
	size := int64(f.h.Vars[s.Var].Type.Size())
	from := off - s.Off // offset in the record; all offsets below are offsets in the record
	lo, hi := f.unit(s, from/size, size)
	if lo < from || hi > from+int64(len(p)) {
		return f.cut(ctx, s, lo, hi, p, from)
	}
	if b, ok := f.units.Get(unitKey{s.Var, s.Record, lo}); ok {
		return copy(p, b), nil
	}
	for hi < from+int64(len(p)) && hi-lo < batch {
		_, next := f.unit(s, hi/size, size)
		if next > from+int64(len(p)) {
			break
		}
		hi = next
	}
	p = p[:hi-lo]
	err := f.maker.Make(ctx, s.Var, s.Record, lo/size, hi/size, p)
	if err == nil {
		return len(p), nil
	}
	// Some of the units may be valid.
	for n := int64(0); n < hi-lo; {
		_, end := f.unit(s, (lo+n)/size, size)
		if end == hi && n == 0 {
			break // no valid unit
		}
		if err := f.maker.Make(ctx, s.Var, s.Record, (lo+n)/size, end/size, p[n:end-lo]); err != nil {
			return int(n), err
		}
		n = end - lo
		err = nil
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// unit returns the unit of an element, in bytes of the record.
func (f *File) unit(s Stretch, at, size int64) (lo, hi int64) {
	lo, hi = f.maker.Unit(s.Var, s.Record, at)
	return lo * size, hi * size
}

// cut reads the bytes of a record from offset from into p, up to the end of the unit [lo, hi).
func (f *File) cut(ctx context.Context, s Stretch, lo, hi int64, p []byte, from int64) (int, error) {
	size := int64(f.h.Vars[s.Var].Type.Size())
	p = p[:min(int64(len(p)), hi-from)]
	if hi-lo > maxUnit {
		return 0, fmt.Errorf("netCDF form of %s: %s: %d bytes must be read at once, want at most %d: %w", f.name, f.h.Vars[s.Var].Name, hi-lo, maxUnit, fault.ErrTooLarge)
	}
	b, err := f.units.Make(ctx, unitKey{s.Var, s.Record, lo}, func() ([]byte, error) {
		b := make([]byte, hi-lo)
		return b, f.maker.Make(ctx, s.Var, s.Record, lo/size, hi/size, b)
	})
	if err != nil {
		return 0, err
	}
	return copy(p, b[from-lo:]), nil
}

// WriteTo writes the file to w. It calls progress, if not nil, after each piece.
func (f *File) WriteTo(ctx context.Context, w io.WriterAt, workers int, progress func(done, total int64)) error {
	const step = 4 << 20
	n := int((f.Size() + step - 1) / step)
	done := int64(0)
	for i, x := range par.Ordered(ctx, par.Workers(workers), n, func(ctx context.Context, i int) error {
		off := int64(i) * step
		b := make([]byte, min(step, f.Size()-off))
		if _, err := f.ReadAtContext(ctx, b, off); err != nil {
			return err
		}
		_, err := w.WriteAt(b, off)
		return err
	}) {
		if x != nil {
			return x
		}
		if done = min(int64(i+1)*step, f.Size()); progress != nil {
			progress(done, f.Size())
		}
	}
	return ctx.Err()
}
