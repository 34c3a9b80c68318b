package blob

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/checksum"
	"blobio/internal/base/fault"
)

// Verification says which checksums are compared when data are read. A difference is an ErrChecksum of
// the read that met it; everything else can still be read. Datasets without a manifest have no checksums; chunks of compressed
// files, headers and what a reader needs to find the blobs are compared whatever is chosen, but for the maps with VerifyNever.
type Verification uint8

const (
	// VerifyOnce, the default, compares every piece that a read takes bytes of, and reads the rest of it for that, once
	// while the dataset is open. A piece is an extent (what a subfile holds of a variable, of one record) or, where the
	// manifest has them, 1 MiB of it. Convert and Diff always verify like this, unless VerifyNever is chosen.
	VerifyOnce Verification = iota
	// VerifyWhole compares only pieces that one read takes as a whole. A read that takes less of a piece does not read
	// the rest of it, and does not see damage: ranks that each read a part of an extent may compare nothing.
	VerifyWhole
	// VerifyAlways is VerifyOnce at each read.
	VerifyAlways
	// VerifyNever compares nothing, for saving what is left of damaged data. Convert marks the dataset that it makes:
	// see subfile.Manifest.Unverified.
	VerifyNever
)

// proven says whether the part's maps are compared with their checksums.
func (p *filePart) proven() bool {
	return p.info != nil && p.un == nil && p.r.opt.Verify != VerifyNever
}

// known are pieces that were compared with their checksums, so that who reads some of one need not read the rest.
type known struct {
	mu   sync.Mutex
	good map[extent]*knownExtent
}

type knownExtent struct {
	mu     sync.Mutex // held while pieces are read and compared, so that only one reader does
	pieces []uint64   // a bit for each that was found right
}

func (x *knownExtent) has(k int64) bool {
	i := int(k / 64)
	return i < len(x.pieces) && x.pieces[i]>>(k%64)&1 != 0
}

func (x *knownExtent) add(k int64) {
	for i := int(k / 64); i >= len(x.pieces); {
		x.pieces = append(x.pieces, 0)
	}
	x.pieces[k/64] |= 1 << (k % 64)
}

const maxKnown = 1 << 18 // extents

func newKnown() *known { return &known{good: map[extent]*knownExtent{}} }

func (k *known) extent(e extent) *knownExtent {
	if k == nil {
		return &knownExtent{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.good[e]
	if x == nil {
		if len(k.good) > maxKnown {
			clear(k.good) // they are compared again
		}
		x = &knownExtent{}
		k.good[e] = x
	}
	return x
}

// proof compares what one read takes of a record of a variable with the manifest's checksums. A nil one compares nothing.
type proof struct {
	all   bool   // pieces that are read in part too
	known *known // those that need no look; may be nil
	later *late  // not nil: takes pieces that are read in part
	v     int    // variable of the header
	rec   int64  // of the set

	last  atomic.Pointer[partSums] // what of returned last: many pieces in a row are of one part
	mu    sync.Mutex
	parts map[*filePart]*checksum.Set
}

type partSums struct {
	part *filePart
	sums *checksum.Set
}

// proof returns what a read of so many bytes of variable id of a set needs, nil if nothing can be compared.
func (r *Reader) proof(s *set, id VarID, rec, bytes int64, fm form) *proof {
	if fm.known == nil && r.opt.Verify == VerifyOnce {
		fm.known = r.known
	}
	p := r.newProof(s.firstPart(), id, rec, fm)
	if p != nil && !p.all && !slices.ContainsFunc(s.parts, func(q *filePart) bool { return q.place != nil && bytes >= q.least(p.v) }) {
		return nil // no piece is that small
	}
	return p
}

// newProof is proof for what is read of subfiles like lead.
func (r *Reader) newProof(lead *filePart, id VarID, rec int64, fm form) *proof {
	if r.manifest == nil || r.opt.Verify == VerifyNever || lead == nil || lead.place.Packed != nil {
		return nil
	}
	return &proof{all: fm.known != nil || r.opt.Verify == VerifyAlways, known: fm.known, later: fm.later, v: lead.place.fileVar(id), rec: rec,
		parts: map[*filePart]*checksum.Set{}}
}

// least is the length of the shortest piece of an extent, the last of several aside.
func (p *filePart) least(v int) int64 {
	n := p.place.ExtentBytes(v, p.table)
	if p.fine != nil {
		n = min(n, p.fine.Size)
	}
	return max(n, 1)
}

// of returns the sums of what is read of a part.
func (p *proof) of(part *filePart) *checksum.Set {
	if l := p.last.Load(); l != nil && l.part == part {
		return l.sums
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.parts[part]
	if s == nil {
		s = checksum.New(0)
		if part.fine != nil {
			s.Piece = part.fine.Size
		}
		s.Keep = true
		p.parts[part] = s
	}
	p.last.Store(&partSums{part, s})
	return s
}

// take tells of bytes of the extent of a part that were read: as they lie in the file, from byte at of the extent on.
func (p *proof) take(part *filePart, at int64, b []byte) {
	if p != nil {
		p.of(part).Sum(0, at, b)
	}
}

// judge compares all that was taken.
func (p *proof) judge(ctx context.Context) error {
	if p == nil {
		return nil
	}
	parts := make([]*filePart, 0, len(p.parts))
	for part := range p.parts {
		parts = append(parts, part)
	}
	slices.SortFunc(parts, func(a, b *filePart) int { return cmp.Compare(a.index, b.index) })
	for _, part := range parts {
		if err := p.judgePart(ctx, part, p.parts[part]); err != nil {
			return err
		}
	}
	return nil
}

func (p *proof) judgePart(ctx context.Context, part *filePart, s *checksum.Set) error {
	e := extent{part, p.v, p.rec}
	size := e.bytes()
	piece := max(s.Piece, 1)
	if s.Piece == 0 {
		piece = max(size, 1)
	}
	var open, good []int64 // pieces that were not read as a whole; those that were
	for _, g := range s.Ext[0] {
		k := g.At / piece
		if g.At != k*piece || g.N != min(piece, size-g.At) {
			if p.later != nil {
				p.later.take(p, part, g)
			} else if n := len(open); n == 0 || open[n-1] != k {
				open = append(open, k)
			}
			continue
		}
		if err := e.compare(k*piece, g.N, g.CRC); err != nil {
			return err
		}
		good = append(good, k)
	}
	if !p.all || len(open) == 0 && p.known == nil {
		return nil
	}
	x := p.known.extent(e)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, k := range good {
		x.add(k)
	}
	open = slices.DeleteFunc(open, x.has)
	if len(open) == 0 {
		return nil
	}
	f, done, err := part.file()
	if err != nil {
		return err
	}
	defer done()
	for _, k := range open {
		if err := ctx.Err(); err != nil {
			return err
		}
		lo, hi := k*piece, min((k+1)*piece, size)
		if err := complete(s, e, f, lo, hi); err != nil {
			return err
		}
		i, _ := slices.BinarySearchFunc(s.Ext[0], lo, func(g checksum.Seg, at int64) int { return cmp.Compare(g.At, at) })
		if err := e.compare(lo, hi-lo, s.Ext[0][i].CRC); err != nil {
			return err
		}
		x.add(k)
	}
	return nil
}

// late is what several reads take of one record of a variable in part. Pieces that one begins and another ends are read
// once; what nobody has read of a piece is read when settle compares them.
type late struct {
	left int64 // bytes of the record that are still to be read, of whoever counts them

	mu  sync.Mutex
	all *proof
}

// take keeps what a read has summed of a piece of a part.
func (l *late) take(p *proof, part *filePart, g checksum.Seg) {
	l.mu.Lock()
	if l.all == nil {
		l.all = &proof{all: true, known: p.known, v: p.v, rec: p.rec, parts: map[*filePart]*checksum.Set{}}
	}
	l.mu.Unlock()
	l.all.of(part).Add(0, g)
}

// settle compares all pieces. Nobody reads any more.
func (l *late) settle(ctx context.Context) error { return l.all.judge(ctx) }

// compare holds what n bytes of an extent, from at on, sum to against the manifest. They are a piece of it, or all of it.
func (e extent) compare(at, n int64, crc uint32) error {
	if e.p.fine != nil {
		if l := e.p.fine.Of(e.p.info.Pieces, e.p.place.Header, e.v, e.rec); len(l) > 0 {
			return e.equal(at, n, crc, l[at/e.p.fine.Size])
		}
	}
	return e.compareWhole(n, crc)
}

// compareWhole is compare for all n bytes of the extent.
func (e extent) compareWhole(n int64, crc uint32) error {
	ext := e.p.order.Index(e.v, e.rec)
	if ext >= int64(len(e.p.info.Extents)) {
		return fault.At(e.p.name, e.offset(0), e.field(), ErrChecksum, "the manifest has no checksum of it")
	}
	return e.equal(0, n, crc, e.p.info.Extents[ext])
}

func (e extent) equal(at, n int64, crc, want uint32) error {
	if crc == want {
		return nil
	}
	if err := e.p.r.replacedLate(e.p.name); err != nil {
		return err
	}
	what := "sums"
	if n < e.bytes() {
		what = fmt.Sprintf("bytes %d to %d of it sum", at, at+n-1)
	}
	return fault.At(e.p.name, e.offset(at), e.field(), ErrChecksum, "%s to %08x, the manifest says %08x", what, crc, want)
}

// complete sums what is not yet summed of bytes [lo, hi) of extent 0, which are within a piece, from the file.
func complete(s *checksum.Set, e extent, f io.ReaderAt, lo, hi int64) error {
	var holes []checksum.Seg
	at := lo
	for _, g := range s.Ext[0] {
		if g.At+g.N <= lo || g.At >= hi {
			continue
		}
		if g.At > at {
			holes = append(holes, checksum.Seg{At: at, N: g.At - at})
		}
		at = g.At + g.N
	}
	if at < hi {
		holes = append(holes, checksum.Seg{At: at, N: hi - at})
	}
	for _, h := range holes {
		if err := e.read(f, h.At, h.At+h.N, func(at int64, b []byte) { s.Sum(0, at, b) }); err != nil {
			return err
		}
	}
	return nil
}
