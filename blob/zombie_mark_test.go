package blob

import (
	"context"
	"errors"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// TestZombieBetween: who takes a dataset over from a writer that may be alive, and gives it back without having written it anew, leaves
// that known: the next one must not append to files that the first may still write to.
func TestZombieBetween(t *testing.T) {
	cc := zombieCases()[0]
	was := tinyModel(1, 1)
	start := vfs.NewMem()
	was.writeTo(t, start, cc.with(start, false))
	grown := was.upTo(2)
	lease := func(boot string) durable.LeaseOptions {
		return durable.LeaseOptions{Beat: time.Hour, Patience: 2 * time.Millisecond, Boot: boot}
	}
	add := cc.contenders(was, grown)[1]
	create := func(fsys vfs.FS, boot string, force, end bool) error {
		o := cc.with(fsys, force)
		o.lease = lease(boot)
		m := tinyModel(2, 2)
		return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
			w, err := createWith(ctx, cc.comm(c), "d.nc", m.s, m.parts(c.Rank()), o)
			if err == nil && end {
				w.Abort()
				err = c.Barrier(ctx)
			}
			return err
		})
	}
	between := map[string]func(fsys vfs.FS, boot string) error{
		"recover": func(fsys vfs.FS, boot string) error {
			_, err := recoverWith(context.Background(), "d.nc", nil, knobs{fs: fsys, lease: lease(boot)})
			return err
		},
		"refused": func(fsys vfs.FS, boot string) error {
			if err := create(fsys, boot, false, false); !errors.Is(err, ErrExist) && !errors.Is(err, ErrInUse) {
				return err
			}
			return nil
		},
		"aborted": func(fsys vfs.FS, boot string) error { return create(fsys, boot, true, true) },
	}
	for name, do := range between {
		t.Run(name, func(t *testing.T) {
			other := was.upTo(2) // of other values
			other.seed = 77
			z := zombieTest{cc: cc, start: start, first: cc.contenders(was, other)[1], was: was}
			z.second = contender{add.name, add.after, func(fsys vfs.FS, boot string) error {
				if err := do(fsys, boot); err != nil {
					return err
				}
				return add.do(fsys, boot)
			}}
			z.run(t)
		})
	}
}
