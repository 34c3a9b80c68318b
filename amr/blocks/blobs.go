package blocks

import (
	"context"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
)

// writeBlobs writes a dataset of blobs, a variable at a time: the rows of this rank's blocks
// are its part of each variable. Collective.
func writeBlobs(ctx context.Context, c comm.Comm, name string, l *layout, list []placed, o *Options) error {
	s, decomps, wide, err := l.schema()
	if err != nil {
		return err
	}
	var parts []blob.Part
	seen := map[blob.DecompID]bool{}
	for i := range l.vars {
		if d := decomps[i]; !seen[d] {
			seen[d] = true
			parts = append(parts, blob.Part{Decomp: d, Runs: runs(l, &l.vars[i], list)})
		}
	}
	w, err := blob.Create(ctx, c, name, s, parts, &blob.Options{Layout: o.Form.Layout(), Subfiles: o.Subfiles, Records: 1,
		Durability: o.Durability, Force: o.Force, WideMaps: wide, Retain: blob.LendUntilFlush})
	if err != nil {
		return err
	}
	serr := sum(l, list)
	for i := range l.vars {
		x, err := gather(l, &l.vars[i], list, w.Count(decomps[i]))
		if err == nil {
			err = serr
		}
		if err == nil {
			err = put(w, blob.VarID(i), x)
		}
		// an error of one rank is that of all: nobody waits in Flush for a rank that gave up
		if err := comm.Agree(ctx, c, err); err != nil {
			w.Abort()
			return err
		}
		if err := w.Flush(ctx); err != nil {
			return err
		}
	}
	return w.Close(ctx)
}

// gather makes one slice of the rows of a variable.
func gather(l *layout, v *variable, list []placed, n int64) (any, error) {
	if n > maxSlice/int64(v.typ.Size()) {
		return nil, pkg.Usage("%d elements of %s on one rank", n, v.name)
	}
	x := cdf5.NewSlice(v.typ, int(n))
	b := bytesOf(x)
	scratch := make([]byte, 0, 64)
	for i := range list {
		row, err := rowOf(l, v, scratch, &list[i])
		if err != nil {
			return nil, err
		}
		if len(row) > len(b) {
			return nil, pkg.Usage("%s: more rows than the map has", v.name)
		}
		b = b[copy(b, row):]
	}
	return x, nil
}

// maxSlice is what one slice may have, in bytes; less where int has 32 bits.
const maxSlice = int64(^uint(0)>>1) / 2

func put(w *blob.Writer, v blob.VarID, x any) error {
	switch x := x.(type) {
	case []int8:
		return blob.Put(w, v, 0, x)
	case []int16:
		return blob.Put(w, v, 0, x)
	case []int32:
		return blob.Put(w, v, 0, x)
	case []int64:
		return blob.Put(w, v, 0, x)
	case []uint8:
		return blob.Put(w, v, 0, x)
	case []uint16:
		return blob.Put(w, v, 0, x)
	case []uint32:
		return blob.Put(w, v, 0, x)
	case []uint64:
		return blob.Put(w, v, 0, x)
	case []float32:
		return blob.Put(w, v, 0, x)
	case []float64:
		return blob.Put(w, v, 0, x)
	}
	return pkg.Usage("%T", x)
}
