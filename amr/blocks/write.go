package blocks

import (
	"context"
	"errors"
	"io/fs"

	"blobio/amr"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// Write writes the blocks that the ranks of c hold as one dataset. Every rank gives
// its own, in any number; all ranks give the same m and o. Every block has the same
// fields, those of m or some of them, all with ghosts or all without. The data are lent
// until Write returns. The dataset appears under its name when it is whole; if the
// name is taken the error is of class ErrExist. Collective.
func Write(ctx context.Context, c comm.Comm, name string, m *amr.Meta, local []*amr.Block, o *Options) error {
	err := o.Validate()
	if err == nil {
		err = m.Validate()
	}
	own := new(summary)
	if err == nil {
		own, err = summarize(m, local)
	}
	f := o.filled()
	if err == nil && !f.Force && c.Rank() == 0 {
		err = free(vfs.OS, name, f.Form)
	}
	s, err := agree(ctx, c, own, err)
	if err != nil {
		return err
	}
	l, list, err := arrange(ctx, c, m, s, local, f.Ordering)
	if err != nil {
		return err
	}
	whole := func(_ context.Context, p *placed) (*placed, error) { return p, nil }
	if f.Form == Canonical {
		return writeCanonical(ctx, c, name, l, list, whole, &f)
	}
	return writeBlobs(ctx, c, name, l, list, &f)
}

// arrange makes the layout and the places. Collective.
func arrange(ctx context.Context, c comm.Comm, m *amr.Meta, s *summary, local []*amr.Block, ordering amr.Ordering) (*layout, []placed, error) {
	l, err := newLayout(m, s, nil)
	if err != nil {
		return nil, nil, err
	}
	list, totals, err := place(ctx, c, l, local, ordering)
	if err != nil {
		return nil, nil, err
	}
	l, err = newLayout(m, s, totals)
	if err != nil {
		return nil, nil, err
	}
	return l, list, nil
}

// free reports ErrExist if there is something of the name.
func free(fsys vfs.FS, name string, form Form) error {
	names := []string{name}
	if form != Canonical {
		names = append(names, subfile.ManifestName(name), subfile.Name(name, 0))
	}
	for _, n := range names {
		if _, err := fsys.Stat(n); err == nil {
			return pkg.Errorf("%s: %w", n, ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// rows of a variable that a block has: the first one and their number.
func (p *placed) rows(l *layout, v *variable) (first, n int64) {
	if v.list < 0 {
		return p.pos, 1
	}
	return p.at[v.list], max(l.lists[v.list].count(p.Block), 0)
}

// runs are the rows of blocks in a variable, in elements.
func runs(l *layout, v *variable, list []placed) (out []decomp.Req) {
	size := l.rowBytes(v) / int64(v.typ.Size())
	for i := range list {
		first, n := list[i].rows(l, v)
		if n == 0 {
			continue
		}
		if k := len(out); k > 0 && out[k-1].Offset+out[k-1].Length == first*size {
			out[k-1].Length += n * size
		} else {
			out = append(out, decomp.Req{Offset: first * size, Length: n * size})
		}
	}
	return out
}

// rowOf is what a block has of a variable, checked.
func rowOf(l *layout, v *variable, scratch []byte, p *placed) ([]byte, error) {
	b, err := v.row(scratch, p)
	if err != nil {
		return nil, err
	}
	if _, n := p.rows(l, v); int64(len(b)) != n*l.rowBytes(v) {
		return nil, pkg.Usage("block %s: %d bytes of %s, want %d", p.Index.Name(l.meta.Rank, l.meta.Roots), len(b), v.name, n*l.rowBytes(v))
	}
	return b, nil
}
