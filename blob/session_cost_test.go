package blob

import (
	"context"
	"errors"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// asked returns the numbers of operations, syncs, written bytes and read bytes of a file system.
func asked(c *vfs.Counter) [4]int64 {
	return [4]int64{c.Ops(), c.Kind(vfs.OpSync), c.Bytes(vfs.OpWrite), c.Bytes(vfs.OpRead)}
}

// TestSessionNotQuadratic checks that the last of 10,000 commits costs as much as the hundredth, apart from more digits in
// numbers. It needs the same operations, with one sync of the data and one of the log.
func TestSessionNotQuadratic(t *testing.T) {
	grown := int64(times(600, 10_000))
	for _, tc := range []struct {
		name    string
		o       dataset.Options
		commits int64
		syncs   int64
	}{
		{"grow", dataset.Options{}, grown, 2},
		{"room", dataset.Options{Layout: dataset.ProcessCentric, Records: grown}, grown, 2},
		{"sets", dataset.Options{Layout: dataset.ProcessCentric}, grown / 4, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			mem := vfs.NewMem()
			fsys := vfs.Count(mem)
			m := tinyModelOf(1, tc.commits, 1)
			var early, late [4]int64
			o := &dataset.Settings{Options: tc.o, Knobs: dataset.Knobs{Fs: fsys}}
			o.Workers = 1
			noError(t, run(1, func(ctx context.Context, c comm.Comm) error {
				w := need(write.CreateWith(ctx, c, "d.nc", m.s, m.parts(0), o))
				x := []float32{1, 2, 3, 4, 5, 6}
				for rec := range tc.commits {
					before := asked(fsys)
					must(errors.Join(write.Put(w, 1, rec, x), write.Put(w, 2, rec, x), write.Put(w, 3, rec, []float64{float64(rec)}), w.Commit(ctx)))
					now := asked(fsys)
					for i := range now {
						now[i] -= before[i]
					}
					if late = now; rec == 99 {
						early = now
					}
				}
				return w.Close(ctx)
			}))
			if early[0] != late[0] || early[1] != tc.syncs || late[1] != tc.syncs || late[2] > early[2]+32 || late[3] > early[3]+32 {
				t.Errorf("operations, syncs, bytes written and read: %v, then %v", early, late)
			}
			if r := opened(t, mem, "d.nc", nil); r.Now().Data.Records != tc.commits {
				t.Errorf("%d records", r.Now().Data.Records)
			}
		})
	}
}
