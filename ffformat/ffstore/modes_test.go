package ffstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// content returns the content of variable id of a rank at a step. Sizes grow and shrink, and a quarter of the groups of 512 bytes
// changes with each step.
func content(rank int, id int32, step int) []byte {
	k := [3]int{rank, int(id), step}
	b, ok := contents.Load(k)
	if !ok {
		b, _ = contents.LoadOrStore(k, makeContent(rank, id, step))
	}
	return bytes.Clone(b.([]byte))
}

var contents sync.Map

func makeContent(rank int, id int32, step int) []byte {
	n := 700 * int(id) * (1 + (step+int(id))%3)
	if id == 2 && step%4 == 3 {
		n = 0
	}
	b := make([]byte, n)
	for i := range b {
		g := i / 512
		last := max(0, step-((step-g)%4+4)%4) // step in which this group changed last
		if g%3 == 1 {                         // these groups alternate, so that a later checkpoint needs the earlier content of a slot again after a torn write
			last = step / 2 % 2
		}
		b[i] = byte(i*7 + g*13 + last*31 + rank*101 + int(id)*17)
	}
	return b
}

// varsAt returns the ids of the variables at a step. Their number grows over time.
func varsAt(step int) []int32 {
	return []int32{1, 2, 3, 4, 5}[:2+min(step, 3)]
}

func protectStep(s *Store, rank, step int) error {
	for _, id := range varsAt(step) {
		if err := s.Protect(id, content(rank, id, step)); err != nil {
			return err
		}
	}
	return nil
}

// protectEmpty protects the variables of a step before a recovery.
func protectEmpty(s *Store, rank, step int) error {
	for _, id := range varsAt(step) {
		if err := s.Protect(id, make([]byte, len(content(rank, id, step)))); err != nil {
			return err
		}
	}
	return nil
}

// hasStep returns an error unless the memory has the variables of a step.
func hasStep(s *Store, rank, step int) error {
	for _, id := range varsAt(step) {
		if !bytes.Equal(s.data[id], content(rank, id, step)) {
			return fmt.Errorf("rank %d: variable %d of checkpoint %d has wrong bytes", rank, id, step)
		}
	}
	return nil
}

// mode is a way of writing and keeping checkpoints.
type mode struct {
	name  string
	o     Options
	ranks int
	diff  bool
	incr  bool // add the variables one by one
}

var modes = []mode{
	{name: "full", ranks: 1},
	{name: "diff", ranks: 1, diff: true},
	{name: "diff-keep2", ranks: 1, diff: true, o: Options{Keep: 2}},
	{name: "fast", ranks: 1, diff: true, o: Options{Hash: ffformat.Fast}},
	{name: "incremental", ranks: 1, diff: true, incr: true},
	{name: "layoutA", ranks: 1, diff: true, o: Options{Layout: ffformat.LayoutA}},
	{name: "ranks", ranks: 3, diff: true},
	{name: "ranks-full", ranks: 3},
}

var testTime = time.Unix(1700000000, 0)

func (m mode) options(fsys vfs.FS) *Options {
	o := m.o
	o.FS, o.BlockSize, o.Workers = fsys, 512, 1
	o.Clock = func() time.Time { return testTime }
	return &o
}

// step writes checkpoint n of the test content.
func (m mode) step(ctx context.Context, c comm.Comm, s *Store, n int) (ffformat.Stats, error) {
	if err := protectStep(s, c.Rank(), n); err != nil {
		return ffformat.Stats{}, err
	}
	switch {
	case m.incr:
		inc, err := s.Begin(ctx, int32(n), m.diff)
		if err != nil {
			return ffformat.Stats{}, err
		}
		ids := varsAt(n)
		for i := range ids {
			if err = inc.Add(ctx, ids[(i+c.Rank()+n)%len(ids)]); err != nil {
				break
			}
		}
		return inc.Commit(ctx)
	case m.diff:
		return s.CheckpointDiff(ctx, int32(n))
	}
	return s.Checkpoint(ctx, int32(n))
}

// run opens a store in a file system on all ranks and runs f.
func (m mode) run(fsys vfs.FS, f func(ctx context.Context, c comm.Comm, s *Store) error) error {
	return comm.Run(context.Background(), m.ranks, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		s, err := Open(ctx, c, "d", m.options(fsys))
		if err != nil {
			return err
		}
		err = f(ctx, c, s)
		return errors.Join(err, s.Close(ctx))
	})
}

// holdsStep recovers checkpoint id (0: the newest) with a new store and compares every byte.
func (m mode) holdsStep(fsys vfs.FS, id int32) (int32, error) {
	var got int32
	err := m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
		n := id
		if n == 0 {
			l := s.List()
			if len(l) == 0 {
				return nil
			}
			n = l[len(l)-1].ID
		}
		if c.Rank() == 0 {
			got = n
		}
		if id == 0 {
			return m.recoverStep(ctx, c, s, n, 0)
		}
		if err := protectEmpty(s, c.Rank(), int(n)); err != nil {
			return err
		}
		return errors.Join(s.RecoverID(ctx, n), hasStep(s, c.Rank(), int(n)))
	})
	return got, err
}

func checkClean(t testing.TB, fsys vfs.FS) {
	t.Helper()
	for f := range Check(context.Background(), "d", &Options{FS: fsys}) {
		if f.Severity != fault.Note {
			t.Errorf("%v", f)
		}
	}
}

func checkQuiet(t testing.TB, fsys vfs.FS) {
	t.Helper()
	for f := range Check(context.Background(), "d", &Options{FS: fsys}) {
		if f.Severity >= ffformat.Error {
			t.Errorf("%v", f)
		}
	}
}

// open opens the store of one rank and protects variable 1.
func (m mode) open(t testing.TB, fsys vfs.FS, data []byte) *Store {
	t.Helper()
	s, err := Open(t.Context(), comm.Self(), "d", m.options(fsys))
	must(t, err)
	must(t, s.Protect(1, data))
	return s
}

func diffs(t testing.TB, s *Store, from, to int32) {
	t.Helper()
	for id := from; id <= to; id++ {
		_, err := s.CheckpointDiff(t.Context(), id)
		must(t, err)
	}
}

func (m mode) steps(t testing.TB, fsys vfs.FS, from, to int) {
	t.Helper()
	must(t, m.run(fsys, func(ctx context.Context, c comm.Comm, s *Store) error {
		for n := from; n <= to; n++ {
			if _, err := m.step(ctx, c, s, n); err != nil {
				return fmt.Errorf("checkpoint %d: %w", n, err)
			}
		}
		return nil
	}))
}

// holds fails unless the newest checkpoint is id, with the right bytes.
func (m mode) holds(t testing.TB, fsys vfs.FS, id int) {
	t.Helper()
	if got, err := m.holdsStep(fsys, 0); err != nil || got != int32(id) {
		t.Fatalf("checkpoint %d, want %d: %v", got, id, err)
	}
}

func readAll(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name, 1<<30)
	must(t, err)
	return b
}

func writeAll(t testing.TB, fsys vfs.FS, name string, b []byte) {
	t.Helper()
	fsys.Remove(name)
	must(t, vfs.WriteFile(fsys, name, b))
}

func mustView(t testing.TB, fsys vfs.FS) *View {
	t.Helper()
	v, err := OpenView("d", fsys)
	must(t, err)
	return v
}
