package tree

import (
	"context"
	"errors"
	"fmt"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// A decoded header takes a multiple of its size in the file, and a file may have an arbitrarily long header. The memory of
// short headers is a part of each dataset's share. Longer headers are read one at a time. The headers of open datasets
// together may use up to a quarter of Options.Memory.
const (
	shortHeader = 128 << 10 // maximum bytes of an uncounted header
	headerTimes = 25        // bytes of memory per byte of a header while it is read: 18 for variables without dimensions and attributes, and the rest for garbage
)

// headers counts the memory of long headers of open readers, in bytes.
type headers struct {
	all  int64
	turn chan struct{} // held while reading a long header
	used int64         // guarded by Tree.mu; changed by the holder of turn, and when a reader is dropped
}

func newHeaders(memory int64) headers { return headers{all: memory / 4, turn: make(chan struct{}, 1)} }

// open opens a dataset with its share of memory, and counts its header if it is long.
func (t *Tree) open(ctx context.Context, s *shared, fsys vfs.FS) (*blob.Reader, error) {
	return t.openAny(ctx, s, s.name, &blob.OpenOptions{FS: fsys, MissingLater: true, AllowMissing: t.opt.AllowMissing, ZeroFill: t.opt.ZeroFill, Verify: t.opt.Verify, Workers: t.opt.Workers,
		Memory: max(s.memory/4, 1<<20), Maps: max(s.memory/4, 1<<20)})
}

// openAny opens a dataset for s, or with nil for a caller that closes it at once.
func (t *Tree) openAny(ctx context.Context, s *shared, name string, o *blob.OpenOptions) (*blob.Reader, error) {
	o.MaxHeader = shortHeader
	r, err := blob.Open(ctx, name, o)
	if !errors.Is(err, fault.ErrTooLarge) {
		return r, err
	}
	h := &t.readers.headers
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t.mu.Lock()
	var closing []*shared
	if h.used > 0 {
		closing = t.readers.idle(0)
	}
	used := h.used
	t.mu.Unlock()
	_ = closeAll(closing) // opened for reading only
	o.MaxHeader = max((h.all-used)/headerTimes, shortHeader)
	switch r, err = blob.Open(ctx, name, o); {
	case err == nil && s != nil:
		t.mu.Lock()
		s.header = cost(r.Schema())
		h.used += s.header
		t.readers.memory.left -= s.header
		t.mu.Unlock()
	case errors.Is(err, fault.ErrTooLarge) && used > 0:
		err = fmt.Errorf("%w: headers of other datasets use %d of %d bytes: %w", err, used, h.all, ErrTooMany)
	}
	return r, err
}

// cost returns the approximate memory of a dataset's header, in bytes.
func cost(s *blob.Schema) (n int64) {
	const ofVar, ofAtt, ofDim = 600, 120, 60
	atts := func(l []cdf5.Att) {
		for i := range l {
			n += ofAtt + int64(len(l[i].Name)) + l[i].Len()*int64(l[i].Type.Size())
		}
	}
	atts(s.Attributes())
	for _, d := range s.Dims() {
		n += ofDim + int64(len(d.Name))
	}
	for _, v := range s.Vars() {
		n += ofVar + int64(len(v.Name)+24*len(v.Dims))
		atts(v.Atts)
	}
	return n
}
