package fti

import (
	"context"
	"fmt"
	"path/filepath"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/scr/redset"
)

// redundancy protects the checkpoints of levels 2 and 3 against the loss of nodes. All methods are collective.
type redundancy struct {
	*files
	c    comm.Comm
	node string                  // name of this rank's node
	size int                     // number of nodes in a group
	sets [levels + 1]*redset.Set // by level, made at first use
}

// prepare makes the redundancy set of a level.
func (r *redundancy) prepare(ctx context.Context, level int) (err error) {
	if level == 1 || level == levels || r.sets[level] != nil {
		return nil
	}
	o := redset.Options{Scheme: redset.Partner, Group: r.node, SetSize: r.size}
	if level == 3 { // like FTI's parity, survives the loss of half of a group
		o.Scheme, o.K = redset.RS, max(1, r.size/2)
	}
	r.sets[level], err = redset.New(ctx, r.c, o)
	if err != nil {
		return fmt.Errorf("level %d: %w", level, err)
	}
	return nil
}

// encode writes the redundancy files of a checkpoint whose files are complete. name is this rank's file.
func (r *redundancy) encode(ctx context.Context, k key, name string) error {
	set := r.sets[k.Level]
	if set == nil {
		return nil
	}
	if err := set.Encode(ctx, r.fs, []string{name}, r.p.set(k)); err != nil {
		return fmt.Errorf("redundancy of level %d: %w", k.Level, err)
	}
	return nil
}

// rebuild rebuilds lost and damaged files of a checkpoint. A lost file gets its fresh name.
func (r *redundancy) rebuild(ctx context.Context, k key) error {
	err := durable.MkdirAll(r.fs, r.p.level(k.Level), true)
	if err := comm.Agree(ctx, r.c, err); err != nil {
		return err
	}
	now := r.p.fresh(k)
	if f, err := r.open(ctx, r.p.final(k.Level, k.ID)); err == nil {
		if stampOf(f.r.File()) == k.Stamp {
			now = r.p.final(k.Level, k.ID)
		}
		f.close()
	}
	_, err = redset.Recover(ctx, r.c, r.fs, r.p.set(k), &redset.RecoverOptions{Map: func(rank int, name string) string {
		if rank == r.p.rank {
			return now
		}
		return filepath.Join(r.p.level(k.Level), filepath.Base(name))
	}})
	return err
}
