package ffformat

import (
	"blobio/internal/base/fault"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"
)

// Reader reads the variables of a file. Its methods are safe for concurrent use.
type Reader struct {
	f    *File
	r    io.ReaderAt
	vars map[int32]*variable
	recs *structure // flaws of the records; variables with flaws are unreadable
	good sync.Map   // chunks that ReadAt has verified, by the offsets of their records
}

// variable holds the chunks of a variable.
type variable struct {
	size   int64
	chunks []place // not empty; if gap is nil, ascending by Dptr without gaps
	gap    *place  // the first chunk that does not follow the chunk before it; the variable is then unreadable
}

// VarBuf is a variable and the buffer for its bytes.
type VarBuf struct {
	ID   int32
	Data []byte // must have exactly the size of the variable
}

// NewReader decodes the metadata of a file like Decode and returns the same errors. A parity file has no variables. r must stay
// open while the Reader is in use.
func NewReader(r io.ReaderAt, size int64, name string, o *Options) (*Reader, error) {
	f, err := Decode(r, size, name, o)
	if err != nil {
		return nil, err
	}
	return newReader(r, f), nil
}

func newReader(r io.ReaderAt, f *File) *Reader {
	rd := &Reader{f: f, r: r, vars: map[int32]*variable{}}
	for p := range f.all() {
		v := rd.vars[p.ID]
		if v == nil {
			v = &variable{}
			rd.vars[p.ID] = v
		}
		if !p.HasContent || p.ChunkSize == 0 {
			continue
		}
		if p.Dptr != v.size && v.gap == nil { // the reads depend on this
			q := p
			v.gap = &q
		}
		v.chunks = append(v.chunks, p)
		v.size = addSat(v.size, p.ChunkSize)
	}
	rd.recs = structureOf(f)
	return rd
}

// File returns the metadata. The caller must not change them.
func (r *Reader) File() *File { return r.f }

// variable returns a variable. It fails if the records of the variable are wrong.
func (r *Reader) variable(id int32) (*variable, error) {
	v := r.vars[id]
	if v == nil {
		return nil, &varError{id, fmt.Errorf("%s: no such variable: %w", r.f.Name, ErrMissing)}
	}
	if why, ok := r.recs.lost[id]; ok {
		return nil, &varError{id, why.err(r.f)}
	}
	if p := v.gap; p != nil {
		return nil, &varError{id, fault.At(r.f.Name, p.offset, p.field()+": dptr", ErrCorrupt, "%d, want an offset after the previous chunk", p.Dptr)}
	}
	return v, nil
}

// ReadAt reads the variable from byte off on. On the first access to a chunk it reads and verifies the whole chunk. Every access
// to a damaged chunk returns an error of class ErrChecksum. Like io.ReaderAt, ReadAt returns fewer bytes than len(p) only with an
// error, which is io.EOF at the end of the variable.
func (r *Reader) ReadAt(id int32, p []byte, off int64) (int, error) {
	return r.readAt(id, p, off, r.whole)
}

// ReadUnverified does the same as ReadAt, but without verification. Use it for content that has its own checksums.
func (r *Reader) ReadUnverified(id int32, p []byte, off int64) (int, error) {
	return r.readAt(id, p, off, nil)
}

// whole verifies a chunk, unless it was verified before.
func (r *Reader) whole(c place) error {
	if _, ok := r.good.Load(c.offset); ok {
		return nil
	}
	err := r.copyChunk(context.Background(), c, make([]byte, min(rewritePiece, c.ChunkSize)), io.Discard)
	if err == nil {
		r.good.Store(c.offset, nil)
	}
	return err
}

// readAt reads like ReadAt, but calls verify for each chunk. A nil verify means no verification.
func (r *Reader) readAt(id int32, p []byte, off int64, verify func(place) error) (int, error) {
	v, err := r.variable(id)
	if err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, fault.Usage("offset %d", off)
	}
	n := 0
	i := sort.Search(len(v.chunks), func(i int) bool { return v.chunks[i].Dptr+v.chunks[i].ChunkSize > off })
	for ; i < len(v.chunks) && n < len(p); i++ {
		c := v.chunks[i]
		in := off - c.Dptr
		if c.ChunkSize <= in {
			continue
		}
		m := int(min(int64(len(p)-n), c.ChunkSize-in))
		if verify != nil {
			if err := verify(c); err != nil {
				return n, err
			}
		}
		k, err := r.read(c, p[n:n+m], in)
		n, off = n+k, off+int64(k)
		if err != nil {
			return n, &varError{id, err}
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// read fills p from byte off of a chunk.
func (r *Reader) read(c place, p []byte, off int64) (int, error) {
	n, err := r.r.ReadAt(p, c.Fptr+off)
	switch {
	case n == len(p):
		return n, nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return n, fault.At(r.f.Name, c.Fptr+off+int64(n), c.field(), ErrTruncated,
			"file ends %d bytes before the end of the chunk", c.ChunkSize-off-int64(n))
	}
	return n, err
}

func (p place) field() string {
	return fmt.Sprintf("block %d, container %d of variable %d", p.block, p.ContainerID, p.ID)
}

// ReadVar reads a whole variable into dst, which must have its size, and verifies the hashes of its chunks in the same pass.
// After an error dst holds the unverified bytes.
func (r *Reader) ReadVar(ctx context.Context, id int32, dst []byte) error {
	return r.ReadVars(ctx, []VarBuf{{id, dst}}, nil)
}

// ReadVars reads and verifies variables, with their chunks in parallel. It reads all good variables. The error has a varError for
// each bad variable (see BadVars), of class ErrChecksum, ErrTruncated, ErrCorrupt (the variable's records), ErrMissing or
// ErrUsage (Data has another size). The Data of bad variables hold the unverified bytes. When ctx ends, ReadVars returns the
// error of ctx, and no variable can be trusted.
func (r *Reader) ReadVars(ctx context.Context, vars []VarBuf, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	if o.Workers < 0 {
		return fault.Usage("%d workers", o.Workers)
	}
	if o.Digests != nil {
		if err := o.Digests.Match(r.f); err != nil {
			return err
		}
	}
	var jobs []chunkJob
	errs := make([]error, len(vars))
	from := make([]int, len(vars)+1) // vars[i] has the jobs jobs[from[i]:from[i+1]]
	for i, b := range vars {
		from[i] = len(jobs)
		v, err := r.variable(b.ID)
		if err != nil {
			errs[i] = err
			continue
		}
		if int64(len(b.Data)) != v.size {
			errs[i] = &varError{b.ID, fault.Usage("buffer has %d bytes, want %d", len(b.Data), v.size)}
			continue
		}
		for _, c := range v.chunks {
			jobs = append(jobs, chunkJob{c: c, dst: b.Data[c.Dptr : c.Dptr+c.ChunkSize]}.with(o.Digests))
		}
	}
	from[len(vars)] = len(jobs)
	res, err := r.hashChunks(ctx, jobs, o.Workers)
	if err != nil {
		return err
	}
	for i := range vars {
		for k := from[i]; k < from[i+1] && errs[i] == nil; k++ {
			if err := r.verdict(jobs[k].c, res[k]); err != nil {
				errs[i] = &varError{vars[i].ID, err}
			}
		}
	}
	return errors.Join(errs...)
}

// verdict compares a chunk with its record. An empty chunk is always right.
func (r *Reader) verdict(c place, res chunkResult) error {
	if res.err != nil || res.hash == c.Hash || c.ChunkSize == 0 {
		return res.err
	}
	return fault.At(r.f.Name, c.Fptr, c.field(), ErrChecksum, "%s of the %d bytes is %x, the header has %x", r.f.hashName(), c.ChunkSize, res.hash, c.Hash)
}

func (f *File) hashName() string {
	if f.Hash == Fast {
		return "XXH3"
	}
	return "MD5"
}

// VarSize returns the size of a variable in bytes, which never exceeds the size of the file. The errors are of the classes
// ErrMissing (there is no such variable), ErrCorrupt (its records are damaged) and ErrTooLarge (its recorded size exceeds the
// file; only with Options.Lenient).
func (r *Reader) VarSize(id int32) (int64, error) {
	v, err := r.variable(id)
	if err != nil {
		return 0, err
	}
	if v.size > r.f.Size {
		return 0, &varError{id, fault.At(r.f.Name, -1, "", fault.ErrTooLarge, "%d bytes in a file of %d", v.size, r.f.Size)}
	}
	return v.size, nil
}

// CopyVar writes a whole variable to w, piece by piece, and verifies each chunk in the same pass. It returns a varError of the
// same classes as ReadVars, or an error of ctx or w. After an error, the bytes that were already written may be wrong.
func (r *Reader) CopyVar(ctx context.Context, id int32, w io.Writer) error {
	v, err := r.variable(id)
	if err != nil {
		return err
	}
	largest := int64(0)
	for _, c := range v.chunks {
		largest = max(largest, c.ChunkSize)
	}
	buf := make([]byte, min(rewritePiece, largest))
	for _, c := range v.chunks {
		if err := r.copyChunk(ctx, c, buf, w); err != nil {
			return err
		}
	}
	return nil
}

// copyChunk writes a chunk to w through buf and verifies it. It returns the errors of CopyVar.
func (r *Reader) copyChunk(ctx context.Context, c place, buf []byte, w io.Writer) error {
	sum := newSum(r.f)
	for off, n := int64(0), int64(0); off < c.ChunkSize; off += n {
		if err := ctx.Err(); err != nil {
			return err
		}
		n = min(int64(len(buf)), c.ChunkSize-off)
		p := buf[:n]
		if _, err := r.read(c, p, off); err != nil {
			return &varError{c.ID, err}
		}
		sum.Write(p)
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	if err := r.verdict(c, chunkResult{hash: sum.Sum()}); err != nil {
		return &varError{c.ID, err}
	}
	return nil
}
