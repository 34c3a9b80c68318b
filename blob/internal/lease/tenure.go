package lease

import (
	"blobio/blob/internal/dataset"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
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
)

// Tenure is a process's share in the lease of the dataset that it writes. Rank 0 holds the lease. Other processes that open files
// of the dataset prevent that the lease ends before they do. The zero value is a tenure without a lease.
type Tenure struct {
	fsys  vfs.FS
	name  string
	Id    string
	Lease *durable.Lease
	Apart bool // not the process of rank 0

	mu     sync.Mutex
	over   bool // ended by this process
	Member *durable.Member
	seen   fs.FileInfo // file information of the lease when CheckChanged last read it; rank 0 only
}

// Hold takes the lease of a dataset, or of another output, with that name.
func Hold(ctx context.Context, o *dataset.Settings, name string) (*Tenure, error) {
	lo := o.Lease
	if o.Heartbeat > 0 {
		lo.Period = o.Heartbeat
	}
	l, err := durable.Acquire(ctx, o.Fs, name, lo)
	if err != nil {
		return nil, err
	}
	return &Tenure{fsys: o.Fs, name: name, Id: l.ID(), Lease: l}, nil
}

// Tag returns the writer's tag in the names of files.
func (t *Tenure) Tag() string { return durable.TagOf(t.Id) }

// Check returns an error if the dataset was taken over by another writer.
func (t *Tenure) Check() error {
	if t.Lease != nil {
		return t.Lease.Check()
	}
	return durable.CheckHolder(t.fsys, t.name, t.Id)
}

// CheckChanged is a cheaper Check that may miss a recent change: it reads the lease's file only if its file information has
// changed.
func (t *Tenure) CheckChanged() error {
	if t.Lease.Recent() {
		return nil
	}
	info, err := t.fsys.Stat(durable.LockName(t.name))
	if err == nil && t.seen != nil && os.SameFile(info, t.seen) && info.ModTime().Equal(t.seen.ModTime()) && info.Size() == t.seen.Size() {
		return nil
	}
	t.seen = nil
	if err = t.Check(); err == nil {
		t.seen = info // taken before the read, so a later change is noticed
	}
	return err
}

// By returns the writer in the form of package subfile.
func (t *Tenure) By() subfile.By { return t.ByIf(t.Check) }

// ByIf is By with another check.
func (t *Tenure) ByIf(check func() error) subfile.By {
	shared := false
	if t.Lease != nil { // a parallel file system may ask all its servers
		shared = t.Lease.Shared()
	} else {
		shared = !t.fsys.Local(t.name)
	}
	by := subfile.By{Tag: t.Tag(), Check: check, Shared: shared, Holds: dataset.HoldsSubfile(t.fsys)}
	if t.Lease != nil && !t.Lease.Unsure() {
		by.Room = func(m *subfile.Manifest) (bool, error) {
			if !dataset.LayoutGrows(m.Layout) {
				return false, nil
			}
			return Cut(t.fsys, t.name, m, t, false)
		}
	}
	return by
}

// Explain adds to an error that the dataset was taken over, if it was, because then files are missing or belong to another
// writer. A lease without a holder explains nothing on other ranks than 0: rank 0 releases it after any error.
func (t *Tenure) Explain(err error) error {
	if err == nil || t == nil || errors.Is(err, dataset.ErrInUse) || t.ended() {
		return err
	}
	var lost *durable.InUseError
	if errors.As(t.Check(), &lost) && !lost.Ended {
		return fmt.Errorf("%w (%w)", lost, err)
	}
	return err
}

// Words returns the identity as numbers that ranks can agree on. Without a lease they are the maximum values.
func (t *Tenure) Words() []int64 {
	if t == nil {
		return []int64{math.MaxInt64, math.MaxInt64}
	}
	var b [16]byte
	_, _ = hex.Decode(b[:], []byte(t.Id)) // 32 digits, from durable.NewID
	return []int64{int64(binary.BigEndian.Uint64(b[:])), int64(binary.BigEndian.Uint64(b[8:]))}
}

// IdOf is the reverse of Words.
func IdOf(words []int64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(words[0]))
	binary.BigEndian.PutUint64(b[8:], uint64(words[1]))
	return hex.EncodeToString(b[:])
}

// Serve returns the tenure of a rank that has received the identity. apart reports that it is in another process than rank 0.
func Serve(fsys vfs.FS, name, id string, apart bool) *Tenure {
	return &Tenure{fsys: fsys, name: name, Id: id, Apart: apart}
}

// Join adds this process to the lease before it creates or opens a file under its final name. Names with the writer's tag need no
// Join: no other writer uses them, and a new writer removes these files. So a process that writes only such files, or gives all
// its data to aggregators, makes no calls for the lease on a shared file system.
func (t *Tenure) Join() (err error) {
	if t == nil || !t.Apart {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Member == nil {
		if t.Member, err = durable.Join(t.fsys, t.name, t.Id); err != nil {
			return err
		}
	}
	return nil
}

// LeftBy returns an error if the files of a dataset were renamed to this name while their writer is active: it holds the lease of
// the former name, under which there is no dataset any more.
func LeftBy(fsys vfs.FS, base string, st *subfile.State) error {
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
		return nil // without a known holder nothing follows
	}
	if id, _, err := subfile.Peek(fsys, was); err != nil || id != "" { // m belongs to a copy
		return err
	}
	if _, err := subfile.Find(fsys, was); durable.TagOf(h.ID) != tag && !errors.Is(err, fs.ErrNotExist) { // the holder writes another dataset
		return err
	}
	return fmt.Errorf("%s: the dataset was renamed from %s while %s was writing: %w", base, was, h, dataset.ErrInUse)
}

// Secure removes from the dataset all files that a former holder of the lease may still have open, if there may be such a holder.
// m is the manifest in force, nil if there is none.
func (t *Tenure) Secure(m *subfile.Manifest, sync bool) error {
	if t.Lease.Unsure() && m != nil && dataset.LayoutGrows(m.Layout) {
		if err := subfile.Rehome(t.fsys, t.name, m, t.By(), sync); err != nil {
			return err
		}
	}
	return t.Lease.Settle()
}

// Leave ends the share of a process that does not hold the lease.
func (t *Tenure) Leave() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.Member
	t.Member = nil
	return m.Leave()
}

// ended reports whether this process has given up the dataset.
func (t *Tenure) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// Release ends the tenure.
func (t *Tenure) Release() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	return errors.Join(t.Leave(), t.Lease.Release())
}
