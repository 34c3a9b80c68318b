package salvage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/salvage"
	"blobio/scr"
)

// TestSameNames checks that a salvaged dataset may overwrite files of an older checkpoint, and that the older checkpoint is
// first marked as incomplete. It must not overwrite files of newer datasets or of output.
func TestSameNames(t *testing.T) {
	state := func(step, rank int) []byte { return bytes.Repeat([]byte{byte(step), byte(rank)}, 700) }
	for _, flags := range []scr.Flags{scr.Checkpoint, scr.Checkpoint | scr.Output} { // flags of the second checkpoint, which was flushed
		j := newJob(t, "SCR_COPY_TYPE=SINGLE", "SCR_FLUSH=2", "SCR_CACHE_SIZE=4")
		nodes := []string{"a", "b"}
		err := j.run(t, nodes, func(ctx context.Context, s *scr.Session, rank int) error {
			for step := 1; step <= 3; step++ {
				f := scr.Checkpoint
				if step == 2 {
					f = flags
				}
				if err := s.Start(ctx, fmt.Sprint("step", step), f); err != nil {
					return err
				}
				name, err := s.Route(fmt.Sprint("state/", rank))
				if err != nil {
					return err
				}
				if err := vfs.WriteFile(j.fs, name, state(step, rank)); err != nil {
					return err
				}
				if err := s.Complete(ctx, true); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		save := func(id int) error {
			for _, n := range nodes {
				if _, err := salvage.Scavenge(t.Context(), salvage.ScavengeOptions{Node: j.node(n), Prefix: prefixdir.Open(j.fs, simPrefix), ID: id}); err != nil {
					return err
				}
			}
			_, err := salvage.Index(t.Context(), salvage.Options{Prefix: prefixdir.Open(j.fs, simPrefix), ID: id, Current: true})
			return err
		}
		holds := func(step int, complete map[string]bool) {
			t.Helper()
			for rank := range 4 {
				b, err := vfs.ReadFile(j.fs, fmt.Sprint(simPrefix, "/state/", rank), 1<<20)
				if err != nil || !bytes.Equal(b, state(step, rank)) {
					t.Errorf("flags %d: rank %d has not the bytes of step %d: %v", flags, rank, step, err)
				}
			}
			d := prefixdir.Open(j.fs, simPrefix)
			x, err := d.Index.Read()
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range complete {
				e, _ := x.Entry(name)
				s, err := d.Datasets.ReadSummary(d.Datasets.Place(e.ID))
				if e.Complete != want || err != nil || s.Complete != want {
					t.Errorf("flags %d: %s: complete %v in the index, %+v, %v", flags, name, e.Complete, s, err)
				}
			}
		}
		if err := save(1); !errors.Is(err, fault.ErrExist) {
			t.Errorf("flags %d: an older one: %v", flags, err)
		}
		holds(2, map[string]bool{"step2": true})
		err = save(3)
		if flags&scr.Output != 0 {
			if !errors.Is(err, fault.ErrExist) {
				t.Errorf("output: %v", err)
			}
			holds(2, map[string]bool{"step2": true})
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		holds(3, map[string]bool{"step2": false, "step3": true})
	}
}
