package levels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr"
	"blobio/versioned"
)

// Store writes versions as datasets of a session, of which all datasets are its own. It is used by one goroutine at a time.
type Store struct {
	c  comm.Comm
	s  *scr.Session
	fs vfs.FS
}

// Options of New. nil means the defaults.
type Options struct {
	FS vfs.FS // that of the session's Config; default the operating system's
}

// New returns the store of a session whose ranks are those of c.
func New(c comm.Comm, s *scr.Session, o *Options) *Store {
	st := &Store{c: c, s: s, fs: vfs.OS}
	if o != nil {
		st.fs = vfs.OrOS(o.FS)
	}
	return st
}

// file is the name of a rank's file in the prefix directory.
func (st *Store) file(dataset string, rank int) string {
	return path.Join(dataset, fmt.Sprintf("rank_%d.fti", rank))
}

// Commit writes versions as one dataset; it is collective, and all ranks pass the same. name is unique in the prefix directory, a file name. When it
// returns an error there is no such dataset on any rank, unless it is that of a flush: see scr.Session.Complete. ErrTainted: a version is.
func (st *Store) Commit(ctx context.Context, name string, flags scr.Flags, parts ...versioned.Part) error {
	var bad error
	if name == "" || name != filepath.Base(name) || len(parts) == 0 {
		bad = fault.Usage("name %q, %d versions; want a file name, and at least one", name, len(parts))
	}
	for _, p := range parts {
		if bad == nil && slices.ContainsFunc(p.Array.Versions(), func(v versioned.VersionInfo) bool { return v.Number == p.Version && v.Tainted }) {
			bad = fmt.Errorf("dataset %s: version %d of array %s: %w", name, p.Version, p.Array.Spec().Name, versioned.ErrTainted)
		}
	}
	if err := comm.Agree(ctx, st.c, bad); err != nil {
		return err
	}
	if err := st.s.Start(ctx, name, flags); err != nil {
		return err
	}
	err := st.write(ctx, name, parts)
	if cerr := st.s.Complete(ctx, err == nil); cerr != nil {
		return errors.Join(err, cerr)
	}
	return err
}

// Drop deletes a dataset from all levels: its versions are tainted, and no Restart is to take it. It is collective.
func (st *Store) Drop(ctx context.Context, name string) error { return st.s.Delete(ctx, name) }

func (st *Store) write(ctx context.Context, name string, parts []versioned.Part) (err error) {
	var vars []ffformat.VarBuf
	for i, p := range parts {
		x, err := p.Array.Piece(ctx, p.Version)
		if err != nil {
			return err
		}
		head, err := json.Marshal(x)
		if err != nil {
			return err
		}
		vars = append(vars, ffformat.VarBuf{ID: int32(2 * i), Data: head}, ffformat.VarBuf{ID: int32(2*i + 1), Data: x.Data})
	}
	to, err := st.s.Route(st.file(name, st.c.Rank()))
	if err != nil {
		return err
	}
	f, err := st.fs.Create(to)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	w, err := ffformat.NewWriter(&ffformat.WriterOptions{Layout: ffformat.LayoutF, Hash: ffformat.Fast})
	if err != nil {
		return err
	}
	u, err := w.Begin(f, ffformat.UpdateOptions{Fresh: true})
	if err != nil {
		return err
	}
	if err := u.AddAll(ctx, vars); err != nil {
		u.Abort()
		return err
	}
	_, err = u.Finish(ctx)
	return err
}

// Restart makes the arrays of the newest dataset that is whole, in the order in which they were committed, in another store (nil: memory); false: there is
// none. Each array has the version that was committed, and version 0. What turns out to be damaged the session drops, and the one before is taken.
// It is collective, on any number of ranks.
func (st *Store) Restart(ctx context.Context, in *versioned.Store, o *versioned.Options) ([]*versioned.Array, bool, error) {
	for {
		r, ok, err := st.s.HaveRestart(ctx)
		if err != nil || !ok {
			return nil, false, err
		}
		if _, err := st.s.StartRestart(ctx); err != nil {
			return nil, false, err
		}
		mine := []int{st.c.Rank()}
		if r.InPlace {
			mine = nil
			for q := st.c.Rank(); q < r.Ranks; q += st.c.Size() {
				mine = append(mine, q)
			}
		}
		var parts [][]*versioned.Piece
		for _, q := range mine {
			if err == nil {
				parts, err = st.read(ctx, r.Name, q, parts)
			}
		}
		if cerr := st.s.CompleteRestart(ctx, err == nil); cerr != nil {
			if errors.Is(cerr, scr.ErrInvalid) {
				continue // an older one
			}
			return nil, false, errors.Join(err, cerr)
		}
		n, err := comm.AllreduceOne(ctx, st.c, int64(len(parts)), comm.Max) // a rank may have read none
		if err != nil {
			return nil, false, err
		}
		var out []*versioned.Array
		for i := range n {
			var ps []*versioned.Piece
			if i < int64(len(parts)) {
				ps = parts[i]
			}
			a, err := versioned.CreateFrom(ctx, st.c, in, ps, o)
			if err != nil {
				return nil, false, err
			}
			out = append(out, a)
		}
		return out, true, nil
	}
}

const maxHead = 1 << 20

// read adds the pieces of one file, by part.
func (st *Store) read(ctx context.Context, dataset string, rank int, parts [][]*versioned.Piece) ([][]*versioned.Piece, error) {
	name, err := st.s.Route(st.file(dataset, rank))
	if err != nil {
		return parts, err
	}
	f, err := st.fs.Open(name)
	if err != nil {
		return parts, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return parts, err
	}
	r, err := ffformat.NewReader(f, size, name, &ffformat.DecodeOptions{Layout: ffformat.LayoutF})
	if err != nil {
		return parts, err
	}
	bytes := func(id int32, most int64) ([]byte, error) {
		n, err := r.VarSize(id)
		if err != nil {
			return nil, err
		}
		if n > min(size, most) {
			return nil, fault.In(name, "variable", fault.ErrCorrupt, "%d: %d bytes in a file of %d", id, n, size)
		}
		b := make([]byte, n)
		return b, r.ReadVar(ctx, id, b)
	}
	for i := range len(r.File().Vars()) / 2 {
		head, err := bytes(int32(2*i), maxHead)
		if err != nil {
			return parts, err
		}
		p := &versioned.Piece{}
		if err := json.Unmarshal(head, p); err != nil {
			return parts, fault.In(name, "piece", fault.ErrCorrupt, "%v", err)
		}
		if p.Data, err = bytes(int32(2*i+1), size); err != nil {
			return parts, err
		}
		if i == len(parts) {
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], p)
	}
	return parts, nil
}
