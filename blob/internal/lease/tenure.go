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
// of the dataset join the lease, so that it does not end while they run. The zero value is a tenure without a lease.
type Tenure struct {
	fsys  vfs.FS
	name  string
	Id    string
	Lease *durable.Lease
	Apart bool // this process is not the process of rank 0

	mu     sync.Mutex
	over   bool // this process has given up its share
	Member *durable.Member
	seen   fs.FileInfo // only on rank 0: file information of the lease when CheckChanged last read it
}

// Hold takes the lease of a dataset, or of another output, with this name.
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

// Check returns an error if another writer has taken over the dataset.
func (t *Tenure) Check() error {
	if t.Lease != nil {
		return t.Lease.Check()
	}
	return durable.CheckHolder(t.fsys, t.name, t.Id)
}

// CheckChanged is a cheaper form of Check, which reads the lease's file only if its file information has changed. It may miss a
// recent change.
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
		t.seen = info // set before the read, so that a later change is noticed
	}
	return err
}

// By returns this writer as package subfile needs it.
func (t *Tenure) By() subfile.By { return t.ByIf(t.Check) }

// ByIf is By with check instead of Check.
func (t *Tenure) ByIf(check func() error) subfile.By {
	shared := false
	if t.Lease != nil { // Shared is known for a held lease; Local may ask all servers of a parallel file system
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

// Explain adds to err that another writer has taken over the dataset, if that is so, because a takeover explains missing or
// foreign files. On ranks other than 0, a released lease is no takeover, because rank 0 releases the lease after any error.
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

// Words returns the writer's identity as numbers that ranks can agree on. Without a lease the numbers are the maximum values.
func (t *Tenure) Words() []int64 {
	if t == nil {
		return []int64{math.MaxInt64, math.MaxInt64}
	}
	var b [16]byte
	_, _ = hex.Decode(b[:], []byte(t.Id)) // 32 digits, from durable.NewID
	return []int64{int64(binary.BigEndian.Uint64(b[:])), int64(binary.BigEndian.Uint64(b[8:]))}
}

// IdOf returns the identity for the numbers of Words.
func IdOf(words []int64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(words[0]))
	binary.BigEndian.PutUint64(b[8:], uint64(words[1]))
	return hex.EncodeToString(b[:])
}

// Serve returns the tenure of a rank that has received the writer's identity. apart is true if the rank is not in the process of
// rank 0.
func Serve(fsys vfs.FS, name, id string, apart bool) *Tenure {
	return &Tenure{fsys: fsys, name: name, Id: id, Apart: apart}
}

// Join adds this process to the lease before it creates or opens a file under its final name. Names with the writer's tag need no
// Join, because no other writer uses such names, and a new writer removes these files. Thus a process makes no lease calls on a
// shared file system if it writes only such files, or gives all its data to aggregators.
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

// LeftBy returns an error if the files of a dataset were renamed to this name while their writer is active. Such a writer still
// holds the lease of the former name, although no dataset has that name.
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
		return nil // without a known holder there is no such writer
	}
	if id, _, err := subfile.Peek(fsys, was); err != nil || id != "" { // a dataset still has the former name, so m belongs to a copy
		return err
	}
	if _, err := subfile.Find(fsys, was); durable.TagOf(h.ID) != tag && !errors.Is(err, fs.ErrNotExist) { // the holder writes another dataset
		return err
	}
	return fmt.Errorf("%s: the dataset was renamed from %s while %s was writing: %w", base, was, h, dataset.ErrInUse)
}

// If a former holder of the lease may still run, Secure replaces all files of the dataset that this holder may have open. m is
// the manifest in force, or nil.
func (t *Tenure) Secure(m *subfile.Manifest, sync bool) error {
	if t.Lease.Unsure() && m != nil && dataset.LayoutGrows(m.Layout) {
		if err := subfile.Rehome(t.fsys, t.name, m, t.By(), sync); err != nil {
			return err
		}
	}
	return t.Lease.Settle()
}

// Leave ends the share of a process that has joined the lease.
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
