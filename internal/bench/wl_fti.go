package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/ffformat/ffstore"
)

// ftiStore is a store of checkpoints of one rank, with files of one kind.
type ftiStore struct {
	who  string
	dir  string
	o    ffstore.Options
	vars [][]byte
	s    *ffstore.Store
	id   int32 // of the last checkpoint
}

// fti measures full and differential checkpoints of one rank, and recovery, with hashes of blobio and with those that FTI reads.
func (s *session) fti(ctx context.Context) error {
	size := int64(1 << 30)
	if s.Quick {
		size = 4 << 20
	}
	if err := s.room(6 * size); err != nil {
		return err
	}
	vars := randomParts(size, 4)
	for _, sync := range s.syncs() {
		if err := s.ftiRows(ctx, vars, size, sync); err != nil {
			return err
		}
		if err := s.sweep(); err != nil { // two slots of each store
			return err
		}
	}
	return nil
}

func (s *session) ftiRows(ctx context.Context, vars [][]byte, size int64, sync bool) (err error) {
	durability, suffix := ffstore.DurableNone, ""
	if sync {
		durability, suffix = ffstore.DurableCommit, " and fsync"
	}
	stores := []*ftiStore{
		{who: "XXH3", dir: s.path("fast"), o: ffstore.Options{Hash: ffformat.Fast, Durability: durability}, vars: vars},
		{who: "MD5, as FTI", dir: s.path("md5"), o: ffstore.Options{Hash: ffformat.MD5, Durability: durability}, vars: vars},
	}
	defer func() {
		for _, k := range stores {
			err = errors.Join(err, k.close(ctx))
		}
	}()
	race := func(what string, run func(context.Context, *ftiStore, *Row) (Took, error), bound func(context.Context, *ftiStore, *Row) error) error {
		var list []runner
		for _, k := range stores {
			row := &Row{Data: fmt.Sprintf("%d MiB in %d variables", size>>20, len(vars)), What: what, Who: k.who, Ranks: 1, Sync: sync, Bytes: size}
			list = append(list, runner{row: row,
				run:   func(ctx context.Context) (Took, error) { return run(ctx, k, row) },
				bound: func(ctx context.Context, r *Row) error { return bound(ctx, k, r) }})
		}
		return s.race(ctx, true, list...)
	}
	for _, k := range stores {
		if err := k.open(ctx); err != nil {
			return err
		}
	}
	for _, share := range []int{-1, 0, 1, 10, 50, 100} { // percent of the blocks; -1: a full checkpoint
		what := "full checkpoint" + suffix
		if share >= 0 {
			what = fmt.Sprintf("differential checkpoint, %d %% changed%s", share, suffix)
		}
		for range 2 { // both slots come to the state that they have between two checkpoints of this kind
			for _, k := range stores {
				if _, err := k.checkpoint(ctx, share, nil); err != nil {
					return err
				}
			}
		}
		raw := s.rawWrites(rawWriting{writers: writers(), sync: sync})
		err := race(what,
			func(ctx context.Context, k *ftiStore, row *Row) (Took, error) { return k.checkpoint(ctx, share, row) },
			func(ctx context.Context, _ *ftiStore, row *Row) error { return raw(ctx, row) })
		if err != nil {
			return err
		}
	}
	if sync {
		return nil // a recovery syncs nothing
	}
	return race("recover and verify",
		func(ctx context.Context, k *ftiStore, _ *Row) (Took, error) { return k.recover(ctx) },
		func(ctx context.Context, k *ftiStore, row *Row) error {
			l := k.s.List()
			return s.rawReads(ffstore.FileName(k.dir, l[len(l)-1].Slot, 0))(ctx, row)
		})
}

func (k *ftiStore) open(ctx context.Context) (err error) {
	if k.s, err = ffstore.Open(ctx, comm.Self(), k.dir, &k.o); err != nil {
		return err
	}
	for i, v := range k.vars {
		if err := k.s.Protect(int32(i), v); err != nil {
			return err
		}
	}
	return nil
}

func (k *ftiStore) close(ctx context.Context) error {
	if k.s == nil {
		return nil
	}
	s := k.s
	k.s = nil
	return s.Close(ctx)
}

// checkpoint changes a share of the blocks, evenly spread and always the same ones, and makes a differential checkpoint;
// with a share of -1 it changes all and makes a full one. The row (nil: none) is told what was written.
func (k *ftiStore) checkpoint(ctx context.Context, share int, row *Row) (took Took, err error) {
	for _, v := range k.vars {
		for i := 0; i*ffformat.DefaultBlockSize < len(v); i++ {
			if share < 0 || i*37%100 < share { // 37 and 100 have no common divisor
				v[i*ffformat.DefaultBlockSize]++
			}
		}
	}
	k.id++
	write := k.s.CheckpointDiff
	if share < 0 {
		write = k.s.Checkpoint
	}
	var st ffformat.Stats
	took, err = timed(func() error { st, err = write(ctx, k.id); return err })
	if row != nil {
		row.Note = fmt.Sprintf("%.1f MiB written", float64(st.Written)/(1<<20))
	}
	return took, err
}

// recover opens the store anew and reads everything back.
func (k *ftiStore) recover(ctx context.Context) (Took, error) {
	if err := k.close(ctx); err != nil {
		return Took{}, err
	}
	if err := k.open(ctx); err != nil {
		return Took{}, err
	}
	return timed(func() error {
		_, skipped, err := k.s.Recover(ctx)
		return errors.Join(append(skipped, err)...)
	})
}

// timed measures f.
func timed(f func() error) (Took, error) {
	runtime.GC()
	cpu, start := cpuTime(), time.Now()
	err := f()
	return Took{Seconds: time.Since(start).Seconds(), CPU: cpuTime() - cpu}, err
}

// randomParts returns n parts of random bytes, size in all.
func randomParts(size int64, n int) [][]byte {
	rng := rand.NewChaCha8([32]byte{3})
	parts := make([][]byte, n)
	for i := range parts {
		parts[i] = make([]byte, size/int64(n))
		_, _ = rng.Read(parts[i])
	}
	return parts
}
