package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/internal/base/durable"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// WritingState is the state of a dataset's writer.
type WritingState uint8

// The states.
const (
	Unmarked      WritingState = iota // unknown: another program wrote the dataset, or it is an ordinary file
	Writing                           // a writer is alive
	Finished                          // the writer has finished
	Died                              // the writer died or gave up before it finished
	WritingOrDied                     // the writer is on another machine and may be alive or dead, see Watch
)

var writingStates = [...]string{"unmarked", "writing", "finished", "died", "writing or died"}

// String returns the state as a word.
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
	Records    int64             `json:"records"`              // number of committed records
	Commit     int64             `json:"commit,omitempty"`     // number of the writer's last commit; 0 for the commit by Close
	LastCommit time.Time         `json:"last_commit,omitzero"` // modification time of the commit's file, by the clock of the file system
	Held       *subfile.HeldBack `json:"held_back,omitempty"`  // records that the last commit of an unfinished writer held back
	Writer     *WriterStatus     `json:"writer,omitempty"`     // the writer that holds the dataset, or that died with it; nil if there is none or it is unknown
}

// WriterStatus describes a writer, as recorded in the file of its lease.
type WriterStatus struct {
	Host   string    `json:"host"`
	PID    int       `json:"pid"` // process of world rank 0
	User   string    `json:"user,omitempty"`
	Job    string    `json:"job,omitempty"`       // job number in the batch system
	Since  time.Time `json:"since"`               // by the clock of Host
	Period float64   `json:"heartbeat,omitempty"` // in seconds, see Options.Heartbeat; 0 without a heartbeat
	Sign   time.Time `json:"last_sign,omitzero"`  // last change of the lease's file, by the clock of the file system

	text string
}

// String returns "HOST, process PID, since TIME, user USER, job JOB".
func (w *WriterStatus) String() string { return w.text }

// String describes the status in one line.
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

// WriterDiedError is the error of a wait for records if the writer has died.
type WriterDiedError struct {
	Base   string
	Status Status
}

// Error implements error.
func (e *WriterDiedError) Error() string {
	if e.Status.State == WritingOrDied {
		return fmt.Sprintf("%s: %s: without Options.Heartbeat it is unknown whether the writer is alive", e.Base, e.Status.String())
	}
	return e.Base + ": " + e.Status.String()
}

// Watch is blob.Watch.
type Watch struct {
	fs     vfs.FS
	base   string
	Pulse  *durable.Pulse
	unsure time.Time // when Look first found that a writer without a heartbeat may be dead
	now    func() time.Time

	last  *subfile.State // result of the last read
	stamp string         // StampOf the files before the last read
}

// NewWatch watches the dataset of a path. The path has the forms that Open accepts. The dataset need not exist yet. If fsys is
// nil, the operating system's files are used.
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
		if err := par.Pause(ctx, w.Pulse.Next()); err != nil {
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

// UnsurePatience is how long to wait for a writer without a heartbeat that may be dead. A writer that takes over waits equally
// long.
const UnsurePatience = 30 * time.Second

// Next returns the time until the next Look can show a change.
func (w *Watch) Next() time.Duration { return w.Pulse.Next() }

// maxLooks limits how often Look starts again because a writer has begun in the meantime.
const maxLooks = 20

// Look returns the current status, or fs.ErrNotExist if no file of the dataset exists.
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
		} // a writer has begun in the meantime
	}
	return s, nil
}

// state returns the state of manifest and log. It reads them again only if their file information has changed.
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
	if err == nil && (st.Manifest == nil || st.Manifest.Log == "" || len(names) > 2) { // otherwise the stamp would not cover the log
		w.stamp = stamp
	}
	return st, err
}

// read reads the committed state after Look has read the lease. A writer that finished between the two reads has therefore left
// its mark in the state.
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
			if !found.Single && len(found.Members) == 0 { // there are only partial files
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
	case life != durable.NoLife && (m.Log != "" || h == nil || durable.TagOf(h.ID) != m.Writer): // otherwise the writer has finished and is about to release the lease
		s.State = known
	case m.Log != "" || m.Died:
		s.State = Died
	default:
		s.State = Finished
	}
	return s, nil
}

// heldText describes the held-back records of a state. Without held-back records the text is empty.
func heldText(h *subfile.HeldBack) string {
	if h == nil {
		return ""
	}
	return "; " + h.String()
}

// StampOf returns a text that changes if the files change. It returns "" if a file cannot be examined.
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
