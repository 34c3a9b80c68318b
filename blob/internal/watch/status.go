package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// WritingState reports whether the committed state of a dataset is its last one.
type WritingState uint8

// The states.
const (
	Unmarked      WritingState = iota // there is no mark: another program wrote it, or it is an ordinary file
	Writing                           // a writer is at work
	Finished                          // its writer has come to its end
	Died                              // its writer has not, and is dead; or it has given up
	WritingOrDied                     // its writer is on another machine, and nothing shows yet whether it is alive: see Watch
)

var writingStates = [...]string{"unmarked", "writing", "finished", "died", "writing or died"}

// String is the state in a word.
func (s WritingState) String() string {
	if int(s) < len(writingStates) {
		return writingStates[s]
	}
	return fmt.Sprintf("WritingState(%d)", uint8(s))
}

// MarshalText implements encoding.TextMarshaler.
func (s WritingState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Status is blob.Status.
type Status struct {
	State      WritingState      `json:"state"`
	Committed  bool              `json:"committed"`            // there is a committed state
	Records    int64             `json:"records"`              // of it
	Commit     int64             `json:"commit,omitempty"`     // number of its last commit, of the writer that goes on; 0: by Close
	LastCommit time.Time         `json:"last_commit,omitzero"` // of its file, by the clock of the file system
	Held       *subfile.HeldBack `json:"held_back,omitempty"`  // what its last commit held back, of a writer that has not come to its end
	Writer     *WriterStatus     `json:"writer,omitempty"`     // who holds the dataset, or died with it; nil: nobody, or not known
}

// WriterStatus is who writes, as the file of its lease has it.
type WriterStatus struct {
	Host   string    `json:"host"`
	PID    int       `json:"pid"` // of world rank 0
	User   string    `json:"user,omitempty"`
	Job    string    `json:"job,omitempty"`       // in the batch system
	Since  time.Time `json:"since"`               // by the clock of Host
	Period float64   `json:"heartbeat,omitempty"` // in seconds: Options.Heartbeat; 0: none
	Sign   time.Time `json:"last_sign,omitzero"`  // of its file, by the clock of the file system: when it last changed

	text string
}

// String is "HOST, process PID, since TIME, user USER, job JOB".
func (w *WriterStatus) String() string { return w.text }

// String describes the status in a line.
func (s *Status) String() string {
	at, by := "", "an unknown writer"
	if s.Commit > 0 {
		at = fmt.Sprintf("commit %d, ", s.Commit)
	}
	at += fmt.Sprintf("%d records", s.Records)
	if s.Records == 1 {
		at = at[:len(at)-1]
	}
	if s.Writer != nil {
		by = s.Writer.String()
	}
	switch {
	case s.State == Writing && !s.Committed:
		return "nothing committed yet, being written by " + by
	case s.State == Writing:
		return fmt.Sprintf("being written by %s, at %s", by, at) + heldText(s.Held)
	case s.State == Died && !s.Committed:
		return "its writer died before anything was committed"
	case s.State == Died:
		return "its writer died after " + at + heldText(s.Held)
	case s.State == WritingOrDied && !s.Committed:
		return fmt.Sprintf("nothing committed yet, and its writer (%s) is alive or has died", by)
	case s.State == WritingOrDied:
		return fmt.Sprintf("its writer (%s) is alive or has died, at %s", by, at) + heldText(s.Held)
	case s.State == Finished:
		return "finished, " + at
	}
	return at
}

// A WriterDiedError says that records are waited for that nobody will write.
type WriterDiedError struct {
	Base   string
	Status Status
}

// Error implements error.
func (e *WriterDiedError) Error() string {
	if e.Status.State == WritingOrDied {
		return fmt.Sprintf("%s: %s: without Options.Heartbeat, the writer cannot be known to be alive", e.Base, e.Status.String())
	}
	return e.Base + ": " + e.Status.String()
}

// Watch is blob.Watch.
type Watch struct {
	fs     vfs.FS
	base   string
	Pulse  *durable.Pulse
	unsure time.Time // since when it is not known, of a writer without a heartbeat
	now    func() time.Time

	last  *subfile.State // as it was read last
	stamp string         // of its files before that
}

// NewWatch watches the dataset of a path, as Open takes it. It need not be there yet. fsys is nil for the operating system's files.
func NewWatch(fsys vfs.FS, path string) *Watch { return NewWatchAt(fsys, path, nil) }

func NewWatchAt(fsys vfs.FS, path string, now func() time.Time) *Watch {
	fsys = vfs.OrOS(fsys)
	base := path
	if found, err := subfile.Find(fsys, path); err == nil {
		base = found.Base
	}
	if now == nil {
		now = time.Now
	}
	return &Watch{fs: fsys, base: base, Pulse: durable.NewPulse(fsys, base, now), now: now}
}

// Settle is blob.Watch.Settle.
func (w *Watch) Settle(ctx context.Context) (*Status, error) {
	for {
		s, err := w.Look()
		if err != nil || s.State != WritingOrDied || w.Hopeless(s) {
			return s, err
		}
		if err := Pause(ctx, w.Pulse.Next()); err != nil {
			return nil, err
		}
	}
}

// Hopeless is blob.Watch.Hopeless.
func (w *Watch) Hopeless(s *Status) bool {
	if s.State != WritingOrDied || s.Writer != nil && s.Writer.Period > 0 {
		w.unsure = time.Time{}
		return false
	}
	if w.unsure.IsZero() {
		w.unsure = w.now()
	}
	return w.now().Sub(w.unsure) >= UnsurePatience
}

// UnsurePatience is how long a writer that has promised no heartbeat, and may be dead, is waited for: as long as who would take over waits.
const UnsurePatience = 30 * time.Second

func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Next is how long to wait before another look can tell more.
func (w *Watch) Next() time.Duration { return w.Pulse.Next() }

// maxLooks is how often Look begins again because a writer has begun meanwhile.
const maxLooks = 20

// Look returns the present status. If nothing of the dataset is there, the error is fs.ErrNotExist.
func (w *Watch) Look() (*Status, error) {
	var s *Status
	for range maxLooks {
		h, life, err := w.Pulse.Look()
		if errors.Is(err, fs.ErrPermission) {
			h, life, err = nil, durable.Unsure, nil
		}
		if err != nil {
			return nil, err
		}
		if s, err = w.read(h, life); err != nil || s.State != Died || life == durable.Dead {
			return s, err
		}
		if _, life, err = w.Pulse.Look(); err != nil || life == durable.NoLife {
			return s, err
		} // one has begun meanwhile
	}
	return s, nil
}

// state returns the state by manifest and log, which are read again if they look changed.
func (w *Watch) state() (*subfile.State, error) {
	names := []string{subfile.NextName(w.base), subfile.ManifestName(w.base)}
	if w.last != nil && w.last.Manifest != nil && w.last.Manifest.Log != "" {
		names = append(names, subfile.LogName(w.base, w.last.Manifest.Log))
	}
	stamp := StampOf(w.fs, names)
	if stamp != "" && stamp == w.stamp {
		return w.last, nil
	}
	st, err := subfile.ReadState(w.fs, w.base)
	w.last, w.stamp = st, ""
	if err == nil && (st.Manifest == nil || st.Manifest.Log == "" || len(names) > 2) { // else there is one name more to look at
		w.stamp = stamp
	}
	return st, err
}

// read reads what is committed, after the lease was looked at: so a writer that has finished meanwhile has left its mark.
func (w *Watch) read(h *durable.Holder, life durable.Life) (*Status, error) {
	s := new(Status)
	if h != nil {
		s.Writer = &WriterStatus{Host: h.Host, PID: h.PID, User: h.User, Job: h.Job, Since: h.Since, Period: float64(h.Period) / 1000, text: h.String()}
		if info, err := w.fs.Stat(durable.LockName(w.base)); err == nil {
			s.Writer.Sign = info.ModTime().UTC()
		}
	}
	st, err := w.state()
	never := errors.Is(err, dataset.ErrNotCommitted)
	if err != nil && !never {
		return nil, err
	}
	var m *subfile.Manifest
	if st != nil {
		m = st.Manifest
	}
	known := map[durable.Life]WritingState{durable.Alive: Writing, durable.Dead: Died, durable.Unsure: WritingOrDied}[life]
	if m == nil {
		switch {
		case life == durable.NoLife && never:
			known = Died
		case life == durable.NoLife:
			found, err := subfile.Find(w.fs, w.base)
			if err != nil {
				return nil, err
			}
			if !found.Single && len(found.Members) == 0 { // nothing but partial files
				known = Died
			}
		}
		s.State = known
		return s, nil
	}
	s.Committed, s.Records, s.Commit, s.Held = true, m.Records, m.Commits, m.Held
	name := subfile.ManifestName(w.base)
	switch {
	case m.Commits > 1:
		name = subfile.LogName(w.base, m.Log)
	case st.Pending:
		name = subfile.NextName(w.base)
	}
	if info, err := w.fs.Stat(name); err == nil {
		s.LastCommit = info.ModTime().UTC()
	}
	switch {
	case life != durable.NoLife && (m.Log != "" || h == nil || durable.TagOf(h.ID) != m.Writer): // else it has finished, and is about to go
		s.State = known
	case m.Log != "" || m.Died:
		s.State = Died
	default:
		s.State = Finished
	}
	return s, nil
}

// heldText describes in a state what is held back, "" if nothing is.
func heldText(h *subfile.HeldBack) string {
	if h == nil {
		return ""
	}
	return "; " + h.String()
}

// StampOf is the same text as long as the files are, "" if a file cannot be looked at.
func StampOf(fsys vfs.FS, names []string) (stamp string) {
	for _, n := range names {
		info, err := fsys.Stat(n)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		if stamp += "|"; err == nil {
			stamp += vfs.Identity(info)
		}
	}
	return stamp
}
