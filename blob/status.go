package blob

import (
	"blobio/blob/internal/resume"
	"blobio/blob/internal/watch"
	"blobio/vfs"
	"context"
	"time"
)

// A Watch repeatedly reads the status of one dataset. It is not safe for concurrent use.
//
// A writer holds a lease (docs/format-manifest.md); a Watch only reads it. To find whether the writer is alive, a Watch on the
// same machine looks at the process. On a file system local to one machine it looks at the lock. Elsewhere it looks at the
// heartbeat, by the watcher's clock: the first status can be "writing or died", and is certain within twice the heartbeat period.
// A writer without a heartbeat can stay "writing or died", see Hopeless.
type Watch struct{ w *watch.Watch }

// A Status is the state of a dataset: being written, finished, or abandoned by a dead writer. Its times are by the clocks of the
// named machines. They are for display, never compared.
type Status = watch.Status

// A WriterDiedError reports a wait for records that no writer will write.
type WriterDiedError = watch.WriterDiedError

// Final and active states of a Status. The others print as "unmarked" and "writing or died". "unmarked" means that another
// program wrote the dataset, or that it is an ordinary file. "writing or died" means that the writer is on another machine and
// may be alive or dead, see Watch.
const (
	Writing  = watch.Writing  // a writer is at work
	Finished = watch.Finished // the writer has finished
	Died     = watch.Died     // the writer died or gave up before it finished
)

// Unfinished returns the names in a directory that Recover can finish or that a writer is using.
func Unfinished(dir string) ([]string, error) { return resume.Unfinished(dir) }

// WriterOf finds the writer of a name. holder is its host, process and start time by the host's clock. state is "writing" or
// "dead"; for a writer on another machine it can be "writing or dead". Both are empty if there is no writer. WriterOf changes
// nothing.
func WriterOf(name string) (holder, state string, err error) { return resume.WriterOf(name) }

// NewWatch watches the dataset at path, which is as for Open. The dataset need not exist yet. A nil fsys means the operating
// system's files.
func NewWatch(fsys vfs.FS, path string) *Watch { return &Watch{watch.NewWatch(fsys, path)} }

// Hopeless reports whether s, returned by Look, will never become certain: for 30 seconds the writer has promised no heartbeat,
// or its lease has been unreadable.
func (w *Watch) Hopeless(s *Status) bool { return w.w.Hopeless(s) }

// Next returns how long to wait before another look can show more.
func (w *Watch) Next() time.Duration { return w.w.Next() }

// Settle looks until the status is certain or hopeless. This takes at most twice the heartbeat period.
func (w *Watch) Settle(ctx context.Context) (*Status, error) { return w.w.Settle(ctx) }

// Look returns the present status. If there is no trace of a dataset, the error is fs.ErrNotExist.
func (w *Watch) Look() (*Status, error) { return w.w.Look() }
