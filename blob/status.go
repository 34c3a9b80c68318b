package blob

import (
	"blobio/blob/internal/resume"
	"blobio/blob/internal/watch"
	"blobio/vfs"
	"context"
	"time"
)

// A Watch looks at the status of one dataset again and again. It is not safe for concurrent use.
//
// A writer holds a lease, docs/format-manifest.md, which a reader only reads. On the same machine its process shows whether it is alive; on a file
// system of one machine its lock; anywhere else its heartbeat, by the clock of who watches. So there the first look can be "writing or died"; it
// is certain after twice the period of the heartbeat at most. A writer that has promised no heartbeat stays so where nothing else shows it: see Hopeless.
type Watch struct{ w *watch.Watch }

// A Status is the state of a dataset: being written, finished, or left by a writer that died. Times are by the clocks of the machines that are named;
// they are shown, and never compared.
type Status = watch.Status

// A WriterDiedError says that records are waited for that nobody will write.
type WriterDiedError = watch.WriterDiedError

// States of a Status that stay. The others print as "unmarked" (there is no mark: another program wrote the dataset, or it is an ordinary file) and as
// "writing or died" (its writer is on another machine, and nothing shows yet whether it is alive: see Watch).
const (
	Writing  = watch.Writing  // a writer is at work
	Finished = watch.Finished // its writer has come to its end
	Died     = watch.Died     // its writer has not, and is dead; or it has given up
)

// Unfinished returns the names in a directory for which Recover has something to do, or that somebody is writing
// to.
func Unfinished(dir string) ([]string, error) { return resume.Unfinished(dir) }

// WriterOf looks who writes to a name: host, process and time of the beginning, by the host's clock, and "writing", "dead", or "writing or dead" of a
// writer on another machine. Both are empty if nobody does. It changes nothing.
func WriterOf(name string) (holder, state string, err error) { return resume.WriterOf(name) }

// NewWatch watches the dataset of a path, as Open takes it. It need not be there yet. fsys is nil for the operating system's files.
func NewWatch(fsys vfs.FS, path string) *Watch { return &Watch{watch.NewWatch(fsys, path)} }

// Hopeless reports, of a status that Look has returned, that nothing will ever show whether the writer is alive: it has promised no heartbeat, or its
// lease cannot be read, and that for 30 seconds.
func (w *Watch) Hopeless(s *Status) bool { return w.w.Hopeless(s) }

// Next is how long to wait before another look can show more.
func (w *Watch) Next() time.Duration { return w.w.Next() }

// Settle looks until the status is certain, which takes twice the period of a heartbeat at most, or hopeless.
func (w *Watch) Settle(ctx context.Context) (*Status, error) { return w.w.Settle(ctx) }

// Look returns the present status. If there is no sign of a dataset, the error is fs.ErrNotExist.
func (w *Watch) Look() (*Status, error) { return w.w.Look() }
