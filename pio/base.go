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

	dims  []dim // dimensions in the base
	vars  []Var
	atts  [][]cdf5.Att       // attributes of each variable, then of the file
	blank map[*variable]bool // large variables without writes

	r     *blob.Reader // nil: not open
	k     *blob.Collective
	plans map[*Decomp]*blob.ReadPlan
}

// maxPlans is the maximum number of decomposition plans that a base keeps.
const maxPlans = 16

// open gives the base an open Reader.
func (b *base) open(c comm.Comm, r *blob.Reader) {
	b.r, b.k, b.plans = r, r.Collective(c), map[*Decomp]*blob.ReadPlan{}
}

// collective opens the base for all ranks, if necessary. Collective.
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

// plan returns this rank's read plan for a decomposition that starts at element off of a record. Collective.
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

// newBase makes a base with the present definitions.
func newBase(f *definitions, path string, layout blob.Layout) *base {
	b := &base{path: path, layout: layout, version: cdf5.CDF5, dims: slices.Clone(f.dims), blank: map[*variable]bool{}}
	for _, v := range f.vars {
		b.vars = append(b.vars, Var{Name: v.name, Type: v.t, Dims: v.dims})
		b.atts = append(b.atts, slices.Clone(v.atts))
	}
	b.atts = append(b.atts, slices.Clone(f.atts))
	return b
}

// A stamp identifies one committed state of a dataset. Only the root has it. "" stands for blobs without a manifest.
type stamp string

// stampOf returns the stamp of blobs with a manifest. The stamp does not change when Recover moves the log of a dead writer into
// the manifest.
func stampOf(m *subfile.Manifest) stamp {
	if m == nil {
		return ""
	}
	return stamp(fmt.Sprint(m.ID, m.Records, m.Atts))
}

// stampOfFile returns the stamp of an ordinary file.
func stampOfFile(info fs.FileInfo) stamp {
	return stamp(fmt.Sprint(info.Size(), info.ModTime().UnixNano()))
}

// read returns the stamp of the present files.
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

// unchanged returns ESTALE if another writer has changed the files since the base was made, because a commit would lose that
// writer's data. adds means that an append has begun. The append gives a manifest to blobs of another program, so a base without
// a stamp is then not checked. Collective.
func (b *base) unchanged(ctx context.Context, s *System, adds bool) error {
	var err error
	if s.c.Rank() == s.root() && !(adds && b.stamp == "") {
		var now stamp
		if now, err = b.read(); err == nil && now != b.stamp {
			err = failed(Code(syscall.ESTALE), "%s: another writer has changed the file since this program opened or last committed it; nothing more is written", b.path)
		}
	}
	return agree(ctx, s.c, err)
}
