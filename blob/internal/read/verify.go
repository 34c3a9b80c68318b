package read

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/internal/base/fault"
)

// Verification is blob.Verification.
type Verification uint8

const (
	// VerifyOnce, the default, compares every piece that a read touches with its checksum, once while the dataset is open. To do
	// so, it reads the rest of the piece. A piece is an extent (one record of a variable in a subfile) or, if the manifest has
	// finer checksums, 1 MiB of an extent. Convert and Diff always verify like VerifyOnce, unless VerifyNever is chosen.
	VerifyOnce Verification = iota
	// VerifyWhole compares only pieces that one read covers completely. A smaller read neither reads the rest of the piece nor
	// detects damage. If each rank reads only a part of an extent, possibly no piece is compared.
	VerifyWhole
	// VerifyAlways is like VerifyOnce, but compares at each read.
	VerifyAlways
	// VerifyNever compares no checksums, for rescuing damaged data. Convert then marks its output, see
	// subfile.Manifest.Unverified.
	VerifyNever
)

// Prover compares read bytes with the manifest's checksums.
type Prover struct {
	Files *Files
	known *Known // used with VerifyOnce
}

// proven reports whether the part's maps must be compared with their checksums.
func (p *FilePart) proven() bool {
	return p.Info != nil && p.Un == nil && p.Files.Opt.Verify != VerifyNever
}

// Known is the set of pieces whose checksums were compared. A later read of a part of such a piece need not read the rest.
type Known struct {
	mu   sync.Mutex
	good map[VarExtent]*knownExtent
}

type knownExtent struct {
	mu     sync.Mutex // held while pieces are read and compared, so that only one reader compares
	pieces []uint64   // one bit per piece, set if its checksum was right
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

const maxKnown = 1 << 18 // maximum number of extents

func NewKnown() *Known { return &Known{good: map[VarExtent]*knownExtent{}} }

func (k *Known) extent(e VarExtent) *knownExtent {
	if k == nil {
		return &knownExtent{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.good[e]
	if x == nil {
		if len(k.good) > maxKnown {
			clear(k.good) // the pieces will be compared again
		}
		x = &knownExtent{}
		k.good[e] = x
	}
	return x
}

// proof compares the bytes of one read of a variable's record with the manifest's checksums. A nil proof compares nothing.
type proof struct {
	all   bool   // compare pieces that are read in part too
	known *Known // pieces that need no comparison; may be nil
	later *Late  // if not nil, takes pieces that are read in part
	v     int    // index of the variable in the header
	rec   int64  // of the set

	last  atomic.Pointer[partSums] // last result of of, because successive pieces often belong to one part
	mu    sync.Mutex
	parts map[*FilePart]*checksum.Set
}

type partSums struct {
	part *FilePart
	sums *checksum.Set
}

// proof returns the proof for a read of bytes bytes of variable id of a set. It returns nil if there is nothing to compare.
func (r *Prover) proof(s *Set, id dataset.VarID, rec, bytes int64, fm Form) *proof {
	if fm.Known == nil && r.Files.Opt.Verify == VerifyOnce {
		fm.Known = r.known
	}
	p := r.newProof(s.FirstPart(), id, rec, fm)
	if p != nil && !p.all && !slices.ContainsFunc(s.Parts, func(q *FilePart) bool { return q.Place != nil && bytes >= q.least(p.v) }) {
		return nil // the read is too short to cover a piece
	}
	return p
}

// newProof is like proof. lead is one of the subfiles that are read.
func (r *Prover) newProof(lead *FilePart, id dataset.VarID, rec int64, fm Form) *proof {
	if r.Files.Manifest == nil || r.Files.Opt.Verify == VerifyNever || lead == nil || lead.Place.Packed != nil {
		return nil
	}
	return &proof{all: fm.Known != nil || r.Files.Opt.Verify == VerifyAlways, known: fm.Known, later: fm.Later, v: lead.Place.Header.FileVar(int(id)), rec: rec,
		parts: map[*FilePart]*checksum.Set{}}
}

// least returns the minimum length of an extent's pieces. The last of several pieces may be shorter and is ignored.
func (p *FilePart) least(v int) int64 {
	n := p.Place.ExtentBytes(v, p.Table)
	if p.Fine != nil {
		n = min(n, p.Fine.Size)
	}
	return max(n, 1)
}

// of returns the checksums of a part's reads.
func (p *proof) of(part *FilePart) *checksum.Set {
	if l := p.last.Load(); l != nil && l.part == part {
		return l.sums
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.parts[part]
	if s == nil {
		s = checksum.New(0)
		if part.Fine != nil {
			s.Piece = part.Fine.Size
		}
		s.Keep = true
		p.parts[part] = s
	}
	p.last.Store(&partSums{part, s})
	return s
}

// take adds bytes of a part's extent as they are in the file, from byte at of the extent on.
func (p *proof) take(part *FilePart, at int64, b []byte) {
	if p != nil {
		p.of(part).Sum(0, at, b)
	}
}

// judge compares the checksums of all added bytes.
func (p *proof) judge(ctx context.Context) error {
	if p == nil {
		return nil
	}
	parts := make([]*FilePart, 0, len(p.parts))
	for part := range p.parts {
		parts = append(parts, part)
	}
	slices.SortFunc(parts, func(a, b *FilePart) int { return cmp.Compare(a.Index, b.Index) })
	for _, part := range parts {
		if err := p.judgePart(ctx, part, p.parts[part]); err != nil {
			return err
		}
	}
	return nil
}

func (p *proof) judgePart(ctx context.Context, part *FilePart, s *checksum.Set) error {
	e := VarExtent{part, p.v, p.rec}
	size := e.Bytes()
	piece := max(s.Piece, 1)
	if s.Piece == 0 {
		piece = max(size, 1)
	}
	var open, good []int64 // pieces that were read in part; pieces that were read completely
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
	f, done, err := part.File()
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

// Late collects pieces that several reads of one record of a variable cover in part. If several reads together cover a piece, no
// byte of it is read twice. Settle reads the rest of incomplete pieces.
type Late struct {
	Left int64 // bytes of the record still to be read; the caller maintains this

	mu  sync.Mutex
	all *proof
}

// take keeps the checksum of what one read has of a piece.
func (l *Late) take(p *proof, part *FilePart, g checksum.Seg) {
	l.mu.Lock()
	if l.all == nil {
		l.all = &proof{all: true, known: p.known, v: p.v, rec: p.rec, parts: map[*FilePart]*checksum.Set{}}
	}
	l.mu.Unlock()
	l.all.of(part).Add(0, g)
}

// Settle compares all pieces. No other call may be in progress.
func (l *Late) Settle(ctx context.Context) error { return l.all.judge(ctx) }

// compare compares the checksum of n bytes of an extent, from at on, with the manifest. The bytes must be a piece or the whole
// extent.
func (e VarExtent) compare(at, n int64, crc uint32) error {
	if e.P.Fine != nil {
		if l := e.P.Fine.Of(e.P.Info.Pieces, &e.P.Place.Header, e.V, e.Rec); len(l) > 0 {
			return e.equal(at, n, crc, l[at/e.P.Fine.Size])
		}
	}
	return e.compareWhole(n, crc)
}

// compareWhole is compare for the whole extent of n bytes.
func (e VarExtent) compareWhole(n int64, crc uint32) error {
	ext := e.P.Order.Index(e.V, e.Rec)
	if ext >= int64(len(e.P.Info.Extents)) {
		return fault.At(e.P.Name, e.Offset(0), e.field(), dataset.ErrChecksum, "no checksum in the manifest")
	}
	return e.equal(0, n, crc, e.P.Info.Extents[ext])
}

func (e VarExtent) equal(at, n int64, crc, want uint32) error {
	if crc == want {
		return nil
	}
	if err := e.P.Files.replacedLate(e.P.Name); err != nil {
		return err
	}
	what := "checksum"
	if n < e.Bytes() {
		what = fmt.Sprintf("checksum of bytes %d to %d", at, at+n-1)
	}
	return fault.At(e.P.Name, e.Offset(at), e.field(), dataset.ErrChecksum, "%s is %08x, but the manifest says %08x", what, crc, want)
}

// complete reads those bytes of [lo, hi) that have no checksum in s yet, and adds their checksums. The range must lie inside a
// piece. s has the extent as number 0.
func complete(s *checksum.Set, e VarExtent, f io.ReaderAt, lo, hi int64) error {
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
