//go:build linux && !386 && !arm

package mount

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"blobio/blob"
	"blobio/internal/base/vfs"
	"blobio/internal/view/tree"
)

// dataset is a file of one line of states: a finished dataset, which never changes, or one that grows while it is written.
//
// The kernel must know the size that belongs to the data and to the header of each read. So entry, the state known to the kernel,
// changes only when the kernel asks for attributes or reads. Later reads are answered from this state. While the dataset grows,
// the kernel caches no attributes.
type dataset struct {
	fs.Inode
	m    *Mount
	path string
	line string

	mu    sync.Mutex
	entry tree.Entry // the state known to the kernel
	held  *holding   // the held state, while handles are open
	opens int        // open handles

	looking sync.Mutex
	watch   *blob.Watch // finds the writer; nil until it is needed
}

// holding is a state that the node and each read in progress hold.
type holding struct {
	set  *tree.Dataset
	uses int // guarded by dataset.mu
}

var _ interface {
	fs.NodeGetattrer
	fs.NodeOpener
} = (*dataset)(nil)

// update reads the current state of the dataset and returns the entry for the kernel. This is a newer state of the same line, or
// the previous state with the present permissions.
func (d *dataset) update() tree.Entry {
	e, err := d.m.tree.Lookup(d.path)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil || e.Kind != tree.KindDataset || e.Line != d.line || e.Size < d.entry.Size:
	case e.ID == d.entry.ID || d.opens == 0:
		d.entry = e
	default:
		h, err := d.m.tree.Dataset(context.Background(), d.path)
		if err != nil {
			break
		}
		if h.Line() != d.line || h.Canonical().Size() < d.entry.Size {
			h.Release()
			break
		}
		d.hold(h, e)
	}
	return d.entry
}

// hold switches to a state. The caller holds mu.
func (d *dataset) hold(h *tree.Dataset, e tree.Entry) {
	d.drop(d.held)
	d.held = &holding{set: h, uses: 1}
	d.entry = e
	d.entry.ID, d.entry.Size, d.entry.ModTime, d.entry.Growing = h.ID(), h.Canonical().Size(), h.ModTime(), h.Growing()
}

// drop ends one use of a state. The caller holds mu.
func (d *dataset) drop(x *holding) {
	if x == nil {
		return
	}
	if x.uses--; x.uses == 0 {
		x.set.Release()
	}
}

// Getattr returns the attributes of the newest state.
func (d *dataset) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	e := d.update()
	attributes(&e, &out.Attr)
	out.SetTimeout(valid(&e))
	return 0
}

// Open holds the state. If the state is gone or belongs to another line, ESTALE makes the kernel look up the name again.
//
// Reads bypass the kernel's cache, which would read page by page. If a program reads a block with damage, the cache would return
// the pages before the damage. Programs such as netCDF-C treat a short block as the last block of the file, and its rest as
// zeros.
func (d *dataset) Open(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, err := d.m.tree.Dataset(context.Background(), d.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, unix.ESTALE
	}
	if err != nil {
		return nil, 0, d.m.errno("open", d.path, err)
	}
	if h.Line() != d.line {
		h.Release()
		return nil, 0, unix.ESTALE
	}
	if err := d.m.allow(ctx, h); err != nil {
		h.Release()
		return nil, 0, d.m.errno("open", d.path, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opens++
	if d.held == nil || h.ID() != d.held.set.ID() && h.Canonical().Size() > d.entry.Size {
		d.hold(h, d.entry)
	} else {
		h.Release()
	}
	return &opened{d: d}, fuse.FOPEN_DIRECT_IO, 0
}

type opened struct {
	d *dataset

	mu       sync.Mutex
	from, to int64  // range that follow has proved readable
	ring     []byte // the last bytes of this range, with byte n at n % len(ring), if the dataset does not cache them; nil: not used yet
}

var _ interface {
	fs.FileReader
	fs.FileReleaser
} = (*opened)(nil)

// Read returns all requested bytes or an error, because the kernel and many programs treat a short answer as the end of the
// file. A request is a whole read of a program (see Open), or a part of a read with maxRead bytes. If a later part fails, the
// kernel returns the parts before it. So Read returns a part only if the data that may follow are readable too (follow). A
// program whose read touches damage then gets an error. It gets neither the bytes before the damage nor zeros.
//
// For a mapped file, the kernel requests several pages ahead. If such a request fails, the kernel requests single pages. Signals
// do not interrupt a read, because programs do not expect interrupted reads of files. A read always ends without a signal.
func (o *opened) Read(_ context.Context, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	d := o.d
	d.mu.Lock()
	if d.entry.Growing {
		d.mu.Unlock()
		d.update()
		d.mu.Lock()
	}
	x, size := d.held, d.entry.Size
	x.uses++
	d.mu.Unlock()
	done := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.drop(x)
	}
	if off >= size {
		done()
		return fuse.ReadResultData(nil), 0
	}
	bytes := x.set.Canonical()
	if len(b) > maxRead-os.Getpagesize() { // parts of an unaligned buffer are shorter than maxRead
		if at, err := o.follow(bytes, off+int64(len(b)), size); err != nil {
			done()
			n, _ := short(err)
			d.m.say("read "+d.path, "read %s from byte %d on: reading ahead failed at byte %d: %v: %v", d.path, off, at, n, err)
			return nil, n
		}
	}
	b = b[:min(int64(len(b)), size-off)]
	if o.kept(b, off) {
		return &lent{fuse.ReadResultData(b), done}, 0
	}
	if l, ok := bytes.(lender); ok {
		if p, back := l.Borrow(context.Background(), off, len(b)); p != nil {
			return &lent{fuse.ReadResultData(p), func() { back(); done() }}, 0
		}
	}
	defer done()
	if n, err := bytes.ReadAtContext(context.Background(), b, off); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		no, _ := short(err)
		d.m.say("read "+d.path, "read %s from byte %d on: %v: %v", d.path, off+int64(n), no, err)
		return nil, no
	}
	return fuse.ReadResultData(b), 0
}

// longest is the maximum length of a read by a program that is never answered short.
const longest = 32 << 20

// maxRings is the maximum number of handles per mount that keep the data read by follow, 34 MiB each in addition to
// Options.Memory. Other handles read the data twice.
const maxRings = 4

// follow reads the data that may follow a part that ends at off, unless an earlier call has read these data. If a read fails,
// follow returns the position of the failure.
func (o *opened) follow(bytes tree.Bytes, off, size int64) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	end := min(off+longest, size)
	if off < o.from || off > o.to {
		o.from, o.to = off, off
	}
	if l, ok := bytes.(lender); ok {
		n, err := l.Prove(context.Background(), o.to, end)
		o.to += n
		return o.to, err
	}
	for o.to < end {
		if o.ring == nil {
			o.ring = o.d.m.newRing()
		}
		at := o.to % int64(len(o.ring))
		b := o.ring[at:min(at+min(maxRead, end-o.to), int64(len(o.ring)))]
		n, err := bytes.ReadAtContext(context.Background(), b, o.to)
		if n < len(b) {
			return o.to + int64(n), err
		}
		o.to += int64(n)
	}
	return 0, nil
}

// newRing returns memory for a part and, if there is enough, for the data that follow reads after it.
func (m *Mount) newRing() []byte {
	if m.rings.Add(1) > maxRings {
		m.rings.Add(-1)
		return make([]byte, maxRead)
	}
	return make([]byte, longest+2*maxRead)
}

// kept copies the bytes at off that follow has read, if the ring still has them.
func (o *opened) kept(b []byte, off int64) bool {
	if !o.mu.TryLock() {
		return false
	}
	defer o.mu.Unlock()
	size := int64(len(o.ring))
	if size == 0 || off < max(o.from, o.to+maxRead-size) || off+int64(len(b)) > o.to {
		return false
	}
	n := copy(b, o.ring[off%size:])
	copy(b[n:], o.ring)
	return true
}

// lender is implemented by blob.CanonicalFile.
type lender interface {
	Prove(ctx context.Context, off, end int64) (n int64, err error)
	Borrow(ctx context.Context, off int64, n int) (p []byte, back func())
}

// lent holds bytes borrowed from a lender. They are given back when the kernel has copied them.
type lent struct {
	fuse.ReadResult
	back func()
}

func (l *lent) Done() { l.back() }

// Release releases the dataset with the last handle.
func (o *opened) Release(context.Context) syscall.Errno {
	d := o.d
	if len(o.ring) > maxRead {
		d.m.rings.Add(-1)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opens--; d.opens == 0 {
		d.drop(d.held)
		d.held = nil
	}
	return 0
}

// plain is a file that is passed through.
type plain struct {
	fs.Inode
	m    *Mount
	path string

	mu    sync.Mutex
	entry tree.Entry // as last seen
}

var _ interface {
	fs.NodeGetattrer
	fs.NodeOpener
} = (*plain)(nil)

// look returns the entry that the name has now, and whether the name still refers to this file.
func (p *plain) look() (tree.Entry, bool, error) {
	e, err := p.m.tree.Lookup(p.path)
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, os.ErrNotExist) || err == nil && e.File != p.entry.File {
		return p.entry, false, nil
	}
	if err == nil {
		p.entry = e
	}
	return e, true, err
}

// Getattr returns the present attributes of the file, or its last known attributes if the file has lost its name.
func (p *plain) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	e, _, err := p.look()
	if err != nil {
		return p.m.errno("look up", p.path, err)
	}
	attributes(&e, &out.Attr)
	out.SetTimeout(fresh)
	return 0
}

// Open opens the file if it still has its name.
func (p *plain) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	_, same, err := p.look()
	if err == nil && !same {
		return nil, 0, unix.ESTALE
	}
	var f vfs.File
	if err == nil {
		f, err = p.m.tree.File(p.path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, unix.ESTALE
	}
	if err != nil {
		return nil, 0, p.m.errno("open", p.path, err)
	}
	return &passed{p: p, file: f}, 0, 0
}

type passed struct {
	p    *plain
	file vfs.File
}

var _ interface {
	fs.FileReader
	fs.FileReleaser
} = (*passed)(nil)

// Read reads from the file.
func (f *passed) Read(_ context.Context, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := f.file.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f.p.m.errno("read", f.p.path, err)
	}
	return fuse.ReadResultData(b[:n]), 0
}

// Release closes the file.
func (f *passed) Release(context.Context) syscall.Errno {
	if err := f.file.Close(); err != nil {
		return f.p.m.errno("close", f.p.path, err)
	}
	return 0
}
