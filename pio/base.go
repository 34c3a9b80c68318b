package pio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/subfile"
)

// base is the committed state of a file.
type base struct {
	path    string
	records int64
	layout  blob.Layout
	netcdf4 bool
	version cdf5.Version
	stamp   stamp

	dims []dim // as they are there
	vars []Var
	atts [][]cdf5.Att // of vars, then of the file

	r     *blob.Reader // nil: not open
	k     *blob.Collective
	plans map[*Decomp]*blob.ReadPlan
}

// maxPlans is how many plans of decompositions a base keeps.
const maxPlans = 16

// open keeps a Reader of the base.
func (b *base) open(c comm.Comm, r *blob.Reader) {
	b.r, b.k, b.plans = r, r.Collective(c), map[*Decomp]*blob.ReadPlan{}
}

// collective opens the base, if it is not open yet, for all ranks. Collective.
func (b *base) collective(ctx context.Context, c comm.Comm) (*blob.Collective, error) {
	if b.r == nil {
		r, err := blob.OpenComm(ctx, c, b.path, nil)
		if err != nil {
			return nil, err
		}
		b.open(c, r)
	}
	return b.k, nil
}

// plan returns the reads of this rank by a decomposition, from element off of a record on. Collective.
func (b *base) plan(ctx context.Context, d *Decomp, off int64) (*blob.ReadPlan, error) {
	k, err := b.collective(ctx, d.s.c)
	if err != nil {
		return nil, err
	}
	if off > 0 {
		return k.Plan(shifted(d.runs, off)), nil
	}
	if p := b.plans[d]; p != nil {
		return p, nil
	}
	if len(b.plans) >= maxPlans {
		clear(b.plans)
	}
	b.plans[d] = k.Plan(d.runs)
	return b.plans[d], nil
}

// close closes the files.
func (b *base) close() error {
	if b == nil || b.r == nil {
		return nil
	}
	r := b.r
	b.r, b.k, b.plans = nil, nil, nil
	return r.Close()
}

// newBase is a base with the definitions as they are now.
func newBase(f *definitions, path string, layout blob.Layout) *base {
	b := &base{path: path, layout: layout, version: cdf5.CDF5, dims: slices.Clone(f.dims)}
	for _, v := range f.vars {
		b.vars = append(b.vars, Var{Name: v.name, Type: v.t, Dims: v.dims})
		b.atts = append(b.atts, slices.Clone(v.atts))
	}
	b.atts = append(b.atts, slices.Clone(f.atts))
	return b
}

// A stamp identifies one committed state of a name; the root alone has it. "": blobs without a manifest.
type stamp string

// stampOf is the stamp of blobs with a manifest. It stays the same when the log of a dead writer is folded into the manifest.
func stampOf(m *subfile.Manifest) stamp {
	if m == nil {
		return ""
	}
	return stamp(fmt.Sprint(m.ID, m.Records, m.Atts))
}

// stampOfFile is the stamp of an ordinary file.
func stampOfFile(info fs.FileInfo) stamp {
	return stamp(fmt.Sprint(info.Size(), info.ModTime().UnixNano()))
}

// read returns the stamp of the files that are there now.
func (b *base) read() (stamp, error) {
	if b.layout == blob.Canonical {
		info, err := os.Stat(b.path)
		if err != nil {
			return "", err
		}
		return stampOfFile(info), nil
	}
	state, err := subfile.ReadState(nil, b.path)
	if errors.Is(err, blob.ErrNotCommitted) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return stampOf(state.Manifest), nil
}

// unchanged is ESTALE if another writer has changed the files since the base was made: its data would be lost. With adds an append has begun, which gives
// blobs of another program a manifest: such a base, without a stamp, is not checked. Collective.
func (b *base) unchanged(ctx context.Context, s *System, adds bool) error {
	var err error
	if s.c.Rank() == s.root() && !(adds && b.stamp == "") {
		var now stamp
		if now, err = b.read(); err == nil && now != b.stamp {
			err = failed(Code(syscall.ESTALE), "%s: another writer has changed it since it was opened, or committed, here: nothing more is written", b.path)
		}
	}
	return agree(ctx, s.c, err)
}
