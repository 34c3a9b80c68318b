package vfs

import "errors"

// Mapper is what a File can do in addition: show its bytes in memory, without a copy.
type Mapper interface {
	// Map maps bytes [off, off+n). They must be in the file (io.ErrUnexpectedEOF) and n be at least 1.
	// errors.ErrUnsupported says that they cannot be mapped here and have to be read.
	// The mapping remains when the File is closed.
	Map(off, n int64) (*Mapping, error)
}

// Mapping is a range of a file in memory, for reading: what others write to the file is seen. Where a page cannot be had, as the file
// became shorter or the device fails, the processor faults when it is touched; runtime/debug.SetPanicOnFault
// makes a panic of that, which can be recovered. A system call that is given such a page returns EFAULT.
type Mapping struct {
	b     []byte
	drop  func(b []byte)
	unmap func() error
}

// NewMapping returns a mapping of b. drop (nil: nothing) is told what is not needed for now, unmap
// (nil: nothing) that nothing is needed any more.
func NewMapping(b []byte, drop func(b []byte), unmap func() error) *Mapping {
	return &Mapping{b, drop, unmap}
}

// Bytes returns the bytes. They must not be written to, nor used in any way after Close.
func (m *Mapping) Bytes() []byte { return m.b }

// Drop gives back what the process holds for bytes [lo, hi) of the mapping, which were used. They may be used again.
func (m *Mapping) Drop(lo, hi int64) {
	if m.drop != nil && lo < hi {
		m.drop(m.b[lo:hi])
	}
}

// Close ends the mapping.
func (m *Mapping) Close() error {
	m.b = nil
	if m.unmap == nil {
		return nil
	}
	return m.unmap()
}

// Map maps bytes [off, off+n) of a file; see Mapper. Files that cannot do it return errors.ErrUnsupported.
func Map(f File, off, n int64) (*Mapping, error) {
	if m, ok := f.(Mapper); ok {
		return m.Map(off, n)
	}
	return nil, errors.ErrUnsupported
}
