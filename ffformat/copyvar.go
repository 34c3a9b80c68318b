package ffformat

import (
	"context"
	"io"
)

// CopyVar writes a whole variable to w, piece by piece, and verifies each chunk in the
// same pass. The error is a varError, of the classes that ReadVars gives, that
// of ctx or that of w; what was written until then is not to be trusted.
func (r *Reader) CopyVar(ctx context.Context, id int32, w io.Writer) error {
	v, err := r.variable(id)
	if err != nil {
		return err
	}
	buf := make([]byte, rewritePiece)
	for _, c := range v.chunks {
		if err := r.copyChunk(ctx, c, buf, w); err != nil {
			return err
		}
	}
	return nil
}

// copyChunk writes a chunk to w by way of buf, and verifies it. Errors are as of CopyVar.
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
