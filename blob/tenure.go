package blob

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// tenure is a process's part in the lease of the dataset that it writes. Rank 0 holds the lease; other processes that open its
// files keep it from ending before they do. The zero value is nobody's.
type tenure struct {
	fsys  vfs.FS
	name  string
	id    string
	lease *durable.Lease
	apart bool // this process is not rank 0's

	mu     sync.Mutex
	over   bool // given back by this process itself
	member *durable.Member
	seen   fs.FileInfo // of the lease's file, when it was read last by glance; by rank 0 only
}

// hold takes the lease of a dataset, or of another output of that name.
func hold(ctx context.Context, o *settings, name string) (*tenure, error) {
	lo := o.lease
	if o.Heartbeat > 0 {
		lo.Period = o.Heartbeat
	}
	l, err := durable.Acquire(ctx, o.fs, name, lo)
	if err != nil {
		return nil, err
	}
	return &tenure{fsys: o.fs, name: name, id: l.ID(), lease: l}, nil
}

// tag is the writer's in the names of files.
func (t *tenure) tag() string { return durable.TagOf(t.id) }

// check returns an error if the dataset was taken over by another writer.
func (t *tenure) check() error {
	if t.lease != nil {
		return t.lease.Check()
	}
	return durable.CheckHolder(t.fsys, t.name, t.id)
}

// glance is check for one that need not be certain: it reads the lease's file only if it looks changed. The file of another holder is another
// file, or a later one.
func (t *tenure) glance() error {
	if t.lease.Recent() {
		return nil
	}
	info, err := t.fsys.Stat(durable.LockName(t.name))
	if err == nil && t.seen != nil && os.SameFile(info, t.seen) && info.ModTime().Equal(t.seen.ModTime()) && info.Size() == t.seen.Size() {
		return nil
	}
	t.seen = nil
	if err = t.check(); err == nil {
		t.seen = info // of before: what changed meanwhile looks changed
	}
	return err
}

// by is the writer as package subfile has it.
func (t *tenure) by() subfile.By { return t.byIf(t.check) }

// byIf is by with a check of its own.
func (t *tenure) byIf(check func() error) subfile.By {
	shared := false
	if t.lease != nil { // a parallel file system may ask all its servers
		shared = t.lease.Shared()
	} else {
		shared = !t.fsys.Local(t.name)
	}
	by := subfile.By{Tag: t.tag(), Check: check, Shared: shared, Holds: holdsSubfile(t.fsys)}
	if t.lease != nil && !t.lease.Unsure() {
		by.Room = func(m *subfile.Manifest) (bool, error) {
			if !layoutGrows(m.Layout) {
				return false, nil
			}
			return cut(t.fsys, t.name, m, t, false)
		}
	}
	return by
}

// explain adds to an error that the dataset was taken over, if it was: then files are missing, or are another's. A lease that nobody holds explains
// nothing to a rank that did not hold it: rank 0 gives it back after any error.
func (t *tenure) explain(err error) error {
	if err == nil || t == nil || errors.Is(err, ErrInUse) || t.ended() {
		return err
	}
	var lost *durable.InUseError
	if errors.As(t.check(), &lost) && !lost.Ended {
		return fmt.Errorf("%w (%w)", lost, err)
	}
	return err
}

// words is the identity as numbers that ranks can agree on; of nobody, the greatest.
func (t *tenure) words() []int64 {
	if t == nil {
		return []int64{math.MaxInt64, math.MaxInt64}
	}
	var b [16]byte
	_, _ = hex.Decode(b[:], []byte(t.id)) // 32 digits, from durable.NewID
	return []int64{int64(binary.BigEndian.Uint64(b[:])), int64(binary.BigEndian.Uint64(b[8:]))}
}

// idOf is the reverse of words.
func idOf(words []int64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(words[0]))
	binary.BigEndian.PutUint64(b[8:], uint64(words[1]))
	return hex.EncodeToString(b[:])
}

// serve returns the tenure of a rank that has heard the identity. apart: it is in another process than rank 0.
func serve(fsys vfs.FS, name, id string, apart bool) *tenure {
	return &tenure{fsys: fsys, name: name, id: id, apart: apart}
}

// join makes this process part of the lease before it makes or opens a file of the dataset under its final name. A name with the writer's
// tag is nobody else's, and whoever takes over removes that file. So a process that only writes such files, or gives all its data to
// aggregators, costs a file system that many nodes share no calls for the lease.
func (t *tenure) join() (err error) {
	if t == nil || !t.apart {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.member == nil {
		if t.member, err = durable.Join(t.fsys, t.name, t.id); err != nil {
			return err
		}
	}
	return nil
}

// Names of so many bytes, without and with their directory, are good on every file system: encrypted ones have names of 143.
const anyName, anyPath = 140, 1000

// acquire takes the lease of the dataset, on world rank 0.
func (w *Writer) acquire(ctx context.Context, base string) (err error) {
	// The longest name of all: where it is too long for the file system, nothing must be begun.
	longest := subfile.PartialBy(subfile.NextName(base), durable.TagOf(durable.NewID()))
	if len(filepath.Base(longest)) <= anyName && len(longest) <= anyPath {
		// It is not looked up, which takes a message on a network file system.
	} else if _, err := w.opt.fs.Stat(longest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("a writer of this dataset needs names that are %d bytes longer: %w", len(longest)-len(base), err)
	}
	w.ten, err = hold(ctx, &w.opt, base)
	return err
}

// share lets the other processes join, on world rank 0, if they are to write under final names.
func (w *Writer) share() error {
	if !comm.Apart(w.c) {
		return nil
	}
	return w.ten.lease.Share()
}

// serve tells this rank what world rank 0 holds.
func (w *Writer) serve(words []int64) {
	if w.c.Rank() != 0 {
		w.ten = serve(w.opt.fs, w.base, idOf(words), comm.Apart(w.c))
	}
}

// leftBy returns an error if the files of a dataset have got its name from a writer that is at work and has them open: it holds the lease of the name
// before, under which there is no dataset any more.
func leftBy(fsys vfs.FS, base string, st *subfile.State) error {
	m, tag := st.Record, ""
	if m != nil {
		tag = m.Log
	} else if m = st.Intent; m != nil {
		tag = m.Writer
	}
	if m == nil || m.Was() == m.Base {
		return nil
	}
	was := filepath.Join(subfile.Dir(base), m.Was())
	h, life, err := durable.NewPulse(fsys, was, nil).Look()
	if err != nil || h == nil || life == durable.Dead || life == durable.NoLife {
		return nil // if it cannot be told who it is, it cannot be told that it is the one
	}
	if id, _, err := subfile.Peek(fsys, was); err != nil || id != "" { // m is a copy
		return err
	}
	if _, err := subfile.Find(fsys, was); durable.TagOf(h.ID) != tag && !errors.Is(err, fs.ErrNotExist) { // it makes another dataset
		return err
	}
	return fmt.Errorf("%s: it was renamed from %s while %s was writing it: %w", base, was, h, ErrInUse)
}

// secure makes what a former holder of the lease may still have open no part of the dataset any more, if there was one that may be alive. m is
// the manifest in force, nil if there is none.
func (t *tenure) secure(m *subfile.Manifest, sync bool) error {
	if t.lease.Unsure() && m != nil && layoutGrows(m.Layout) {
		if err := subfile.Rehome(t.fsys, t.name, m, t.by(), sync); err != nil {
			return err
		}
	}
	return t.lease.Settle()
}

// leave ends the part of a process that does not hold the lease.
func (t *tenure) leave() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.member
	t.member = nil
	return m.Leave()
}

// ended says that this process itself has given the dataset back.
func (t *tenure) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// release ends the tenure.
func (t *tenure) release() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	return errors.Join(t.leave(), t.lease.Release())
}

// held is the file system that a writer opens its subfiles in. They are opened by name again when too many were open. A name with
// the writer's tag is nobody else's; under a final name there may be the file of a writer that has taken over, so
// the lease is looked at when it is open: who finds it unchanged then, has opened its own file.
type held struct {
	vfs.FS
	proc *process
}

func (h held) OpenRW(name string) (vfs.File, error) {
	t := h.proc.tenure.Load()
	if _, tag, _ := subfile.Final(name); t == nil || tag != "" {
		return h.FS.OpenRW(name)
	}
	if err := t.join(); err != nil {
		return nil, err
	}
	f, err := h.FS.OpenRW(name)
	if err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isPartial says whether a file has a name that its commit takes away.
func isPartial(name string) bool {
	_, _, ok := subfile.Final(name)
	return ok
}
