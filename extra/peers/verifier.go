package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"blobio/blob"
	"blobio/comm"
)

// verifier compares a peer's file of a job with blobio's.
type verifier struct {
	t    *task
	box  *toolbox
	dir  string
	job  string // file
	data []rankData
}

// ours writes the job by goroutines and returns the name of the dataset.
func (v *verifier) ours(ctx context.Context, l blob.Layout) (string, error) {
	name := filepath.Join(v.dir, "ours."+l.String())
	if _, err := os.Stat(name + ".manifest"); err == nil {
		return name, nil
	}
	if v.data == nil {
		var err error
		if v.data, err = v.t.fillAll(); err != nil {
			return "", err
		}
	}
	return name, comm.Run(ctx, v.t.Ranks, nil, func(ctx context.Context, c comm.Comm) error {
		_, err := v.t.write(ctx, c, v.data[c.Rank()], name, v.t.options(l))
		return err
	})
}

// verify runs the peer once. The file it makes is removed.
func (v *verifier) verify(ctx context.Context, p Peer, tune Tuning) error {
	if v.job == "" {
		v.job = filepath.Join(v.dir, "job")
		if err := v.t.writeJobFile(v.job); err != nil {
			return err
		}
	}
	theirs := filepath.Join(v.dir, "theirs."+p.prog)
	defer os.RemoveAll(theirs)
	took, err := v.box.RunPeer(ctx, p, v.t.Ranks, tune, v.job, theirs)
	if err != nil {
		return err
	}
	if p.plain() || p == adios2Blob { // files of other kinds, which hold all the data at least
		if want := v.t.bytes(); took.Bytes < want {
			return fmt.Errorf("%s wrote %d bytes of %d: %w", p.Name, took.Bytes, want, errDiffer)
		}
		return nil
	}
	l := blob.VariableCentric
	if p == hdf5Blob {
		l = blob.ProcessCentric
	}
	ours, err := v.ours(ctx, l)
	if err != nil {
		return err
	}
	switch {
	case p == hdf5Blob:
		return compareProcessCentric(ours+".0000", theirs)
	case strings.HasSuffix(p.prog, "_blob"):
		return v.t.compareVariableCentric(ours+".0000", theirs)
	}
	canonical := ours + ".canonical"
	if _, err := os.Stat(canonical); err != nil {
		r, err := blob.Open(ctx, ours, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		if err := blob.Convert(ctx, r, canonical, &blob.ConvertOptions{Durability: blob.DurableNone}); err != nil {
			return err
		}
	}
	return compareCanonical(ctx, canonical, theirs)
}

// remove removes the dataset of ours.
func (v *verifier) remove() {
	// Other files of this verifier go with the directory. Other verifiers keep their job files there: job.PROGRAM.RANKS.
	_ = removeDataset(filepath.Join(v.dir, "ours."))
	if v.job != "" {
		_ = os.Remove(v.job)
	}
	v.job, v.data = "", nil
}
