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
// A writer holds a lease (docs/format-manifest.md), which a Watch only reads. To find whether the writer is alive, a Watch on
// the writer's machine looks at the process. On a file system that is local to one machine it looks at the lock of the lease
// file. Elsewhere it looks at the heartbeat, with the watcher's clock: the status is then "writing or died" at first, and
// certain within twice the heartbeat period. If a writer has no heartbeat, the status can stay "writing or died", see Hopeless.
type Watch struct{ w *watch.Watch }

// A Status is the state of a dataset: being written, finished, or abandoned by a dead writer. Its times come from the clocks of
// the named machines. They serve for display only, since the clocks may differ.
type Status = watch.Status

// A WriterDiedError means that a call waited for records, but the writer died.
type WriterDiedError = watch.WriterDiedError

// States of a Status. Two more states print as "unmarked" and "writing or died". "unmarked" means that another program wrote
// the dataset, or that it is an ordinary file. "writing or died" means that the writer is on another machine and may be alive
// or dead, see Watch.
const (
	Writing  = watch.Writing  // a writer is writing
	Finished = watch.Finished // the writer has finished
	Died     = watch.Died     // the writer died or gave up before Close
)

// Unfinished returns the names of datasets in a directory that a writer is writing or that Recover can finish.
func Unfinished(dir string) ([]string, error) { return resume.Unfinished(dir) }

// WriterOf finds the writer of a name. holder has the writer's host, process, and start time by the host's clock. state is
// "writing" or "dead". If the writer is on another machine, state can be "writing or dead". Without a writer both are empty.
// WriterOf changes nothing.
func WriterOf(name string) (holder, state string, err error) { return resume.WriterOf(name) }

// NewWatch watches the dataset at path; Open describes the forms of path. The dataset need not exist yet. A nil fsys means the
// operating system's files.
func NewWatch(fsys vfs.FS, path string) *Watch { return &Watch{watch.NewWatch(fsys, path)} }

// Hopeless reports whether the status s from Look will never become certain. This is so if for 30 seconds the lease was
// unreadable, or belonged to a writer without a heartbeat.
func (w *Watch) Hopeless(s *Status) bool { return w.w.Hopeless(s) }

// Next returns the time after which Look may return a different status.
func (w *Watch) Next() time.Duration { return w.w.Next() }

// Settle calls Look until the status is certain or hopeless. This takes at most twice the heartbeat period, or 30 seconds if it
// is hopeless.
func (w *Watch) Settle(ctx context.Context) (*Status, error) { return w.w.Settle(ctx) }

// Look returns the present status. If nothing of a dataset exists, the error is fs.ErrNotExist.
func (w *Watch) Look() (*Status, error) { return w.w.Look() }
