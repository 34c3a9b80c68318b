package cello

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// YTOptions of WriteYT. nil means the defaults.
type YTOptions struct {
	// Fields to write, nil: all. Face-centred ones are left out: yt cannot read them.
	Fields     []string
	Durability Durability
}

// WriteYT writes the blocks from level 0 on in the form that yt reads: a new directory dir
// with <base>.block_list, which is what yt.load takes, and <base>.h5, base being the last element of
// dir. (The lists of a checkpoint are not those that yt knows, a block below level 0 that comes
// first is an error to it, and of fields without ghosts it shows garbage: those that the checkpoint does not have get the
// value of the nearest cell, and yt cuts them off.)
func WriteYT(ctx context.Context, k *Checkpoint, dir string, o *YTOptions) error {
	if o == nil {
		o = &YTOptions{}
	}
	base := filepath.Base(dir)
	if !plainName(base) || strings.ContainsFunc(base, func(r rune) bool { return r == ' ' }) {
		return fault.Usage("directory %q, want a name without spaces", dir)
	}
	fields := []string{}
	for i := range k.meta.Fields {
		f := &k.meta.Fields[i]
		if f.Centered != [3]bool{} {
			continue
		}
		if o.Fields == nil || slices.Contains(o.Fields, f.Name) {
			fields = append(fields, f.Name)
		}
	}
	j := newJob(comm.Self(), dir, &k.meta, k.Share(0, 1))
	j.yt = base
	return j.run(ctx, &Options{
		Files: 1, Ghosts: true, EnzoFloat: k.enzo, Fields: fields, Levels: &[2]int{0, amr.MaxDepth},
		Durability: o.Durability,
	})
}

// ytLists writes the block list of the yt form: block and file. The order is the order of
// the file, parents before children.
func (j *job) ytLists() error {
	var b []byte
	for i := range j.plan.blocks {
		b = append(b, j.plan.blocks[i].index.Name(j.m.Rank, j.m.Roots)...)
		b = append(b, ' ')
		b = append(b, j.yt+cellodir.DataSuffix+"\n"...)
	}
	return vfs.WriteFile(j.fs, j.path(j.yt+cellodir.ListSuffix), b)
}
