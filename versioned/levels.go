package versioned

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
)

// Levels keeps versions of arrays in an scr.Session. The session stores the versions in the caches of the nodes, where a
// redundancy scheme protects them, and in the prefix directory on the parallel file system. A program can make frequent and
// cheap versions in the memory of the ranks, and commit a version to the session from time to time, so that it outlives the job.
//
// A dataset has one file for each rank, NAME/rank_R.fti. The file is an FTI-FF container (layout F, fast hashes). For part i of
// the dataset, variable 2i is a description as JSON, and variable 2i+1 holds the elements. The session decides when a dataset is
// protected, flushed and deleted. It restarts from the caches on the same number of ranks, and from the prefix directory on any
// number of ranks. All datasets of the session must be made by Levels. Only one goroutine at a time may use a Levels.
type Levels struct {
	Comm    comm.Comm // the ranks of the session
	Session *scr.Session
	FS      vfs.FS // file system of the session (Config); nil: the file system of the operating system
}

// file returns the name of a rank's file in the prefix directory.
func (x *Levels) file(dataset string, rank int) string {
	return path.Join(dataset, fmt.Sprintf("rank_%d.fti", rank))
}

// Commit writes versions as one dataset. It is collective, and all ranks must pass the same arguments. name is a file name,
// unique in the prefix directory. After an error no rank has the dataset, except if only the flush failed (see
// scr.Session.Complete). ErrTainted means that a version is tainted.
func (x *Levels) Commit(ctx context.Context, name string, flags scr.Flags, parts ...Part) error {
	var bad error
	if name == "" || name != filepath.Base(name) || len(parts) == 0 {
		bad = fault.Usage("name %q and %d versions, want a file name and at least one version", name, len(parts))
	}
	for _, p := range parts {
		if bad == nil && slices.ContainsFunc(p.Array.Versions(), func(v VersionInfo) bool { return v.Number == p.Version && v.Tainted }) {
			bad = fmt.Errorf("dataset %s: version %d of array %s: %w", name, p.Version, p.Array.Spec().Name, ErrTainted)
		}
	}
	if err := comm.Agree(ctx, x.Comm, bad); err != nil {
		return err
	}
	if err := x.Session.Start(ctx, name, flags); err != nil {
		return err
	}
	err := x.write(ctx, name, parts)
	if cerr := x.Session.Complete(ctx, err == nil); cerr != nil {
		return errors.Join(err, cerr)
	}
	return err
}

func (x *Levels) write(ctx context.Context, name string, parts []Part) (err error) {
	var vars []ffformat.VarBuf
	for i, p := range parts {
		own, err := p.Array.piece(ctx, p.Version)
		if err != nil {
			return err
		}
		head, err := json.Marshal(own)
		if err != nil {
			return err
		}
		vars = append(vars, ffformat.VarBuf{ID: int32(2 * i), Data: head}, ffformat.VarBuf{ID: int32(2*i + 1), Data: own.Data})
	}
	to, err := x.Session.Route(x.file(name, x.Comm.Rank()))
	if err != nil {
		return err
	}
	f, err := vfs.OrOS(x.FS).Create(to)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	w, err := ffformat.NewWriter(&ffformat.Options{Layout: ffformat.LayoutF, Hash: ffformat.Fast})
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

// Restart makes the arrays of the newest undamaged dataset in another store (nil: memory), in the order in which Commit got
// them. It returns false if there is no such dataset. Each array has the committed version and version 0. If a dataset is
// damaged, the session drops it, and Restart takes the dataset before it. Restart is collective, on any number of ranks.
func (x *Levels) Restart(ctx context.Context, in *Store, o *Options) ([]*Array, bool, error) {
	for {
		r, ok, err := x.Session.HaveRestart(ctx)
		if err != nil || !ok {
			return nil, false, err
		}
		if _, err := x.Session.StartRestart(ctx); err != nil {
			return nil, false, err
		}
		mine := []int{x.Comm.Rank()}
		if r.InPlace {
			mine = nil
			for q := x.Comm.Rank(); q < r.Ranks; q += x.Comm.Size() {
				mine = append(mine, q)
			}
		}
		var parts [][]*piece
		for _, q := range mine {
			if err == nil {
				parts, err = x.read(ctx, r.Name, q, parts)
			}
		}
		if cerr := x.Session.CompleteRestart(ctx, err == nil); cerr != nil {
			if errors.Is(cerr, scr.ErrInvalid) {
				continue // try an older dataset
			}
			return nil, false, errors.Join(err, cerr)
		}
		n, err := comm.AllreduceOne(ctx, x.Comm, int64(len(parts)), comm.Max) // a rank may have read no part
		if err != nil {
			return nil, false, err
		}
		var out []*Array
		for i := range n {
			var ps []*piece
			if i < int64(len(parts)) {
				ps = parts[i]
			}
			a, err := createFrom(ctx, x.Comm, in, ps, o)
			if err != nil {
				return nil, false, err
			}
			out = append(out, a)
		}
		return out, true, nil
	}
}

const maxHead = 1 << 20

// read adds the pieces in one file to parts.
func (x *Levels) read(ctx context.Context, dataset string, rank int, parts [][]*piece) ([][]*piece, error) {
	name, err := x.Session.Route(x.file(dataset, rank))
	if err != nil {
		return parts, err
	}
	f, err := vfs.OrOS(x.FS).Open(name)
	if err != nil {
		return parts, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return parts, err
	}
	r, err := ffformat.NewReader(f, size, name, &ffformat.Options{Layout: ffformat.LayoutF})
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
		p := &piece{}
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
