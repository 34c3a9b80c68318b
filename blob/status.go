package blob

import (
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/vfs"
	"context"
	"time"
)

// A Watch looks at the status of one dataset again and again. It is not safe for concurrent use.
//
// A writer holds a lease, docs/format-manifest.md, which a reader only reads. Whether it is alive, its process tells on the same machine; on a file
// system of one machine its lock; anywhere else its heartbeat, by the clock of who watches. So there the first look can be WritingOrDied; it
// is certain after twice the period of the heartbeat at most. A writer that has promised no heartbeat stays WritingOrDied where nothing else tells: see Hopeless.
type Watch struct{ w *read.Watch }

// A WriterState says whether somebody is writing a dataset or another output.
type WriterState = resume.WriterState

// WritingState reports whether the committed state of a dataset is its last one.
type WritingState = read.WritingState

// A Status tells whether a dataset is being written, is finished, or was left by a writer that died. Times are those of the machines that are named;
// they are shown, and never compared.
type Status = read.Status

// WriterStatus is who writes, as the file of its lease has it.
type WriterStatus = read.WriterStatus

// A WriterDiedError says that records are waited for that nobody will write.
type WriterDiedError = read.WriterDiedError

// The states.
const (
	Unmarked      = read.Unmarked      // there is no mark: another program wrote it, or it is an ordinary file
	Writing       = read.Writing       // a writer is at work
	Finished      = read.Finished      // its writer has come to its end
	Died          = read.Died          // its writer has not, and is dead; or it has given up
	WritingOrDied = read.WritingOrDied // its writer is on another machine, and nothing tells yet: see Watch
)

// Unfinished returns the names in a directory for which Recover has something to do, or that somebody is writing
// to.
func Unfinished(dir string) ([]string, error) { return resume.Unfinished(dir) }

// WriterOf looks who writes to a name; nil is nobody. It changes nothing.
func WriterOf(name string) (*WriterState, error) { return resume.WriterOf(name) }

// NewWatch watches the dataset of a path, as Open takes it. It need not be there yet. fsys is nil for the operating system's files.
func NewWatch(fsys vfs.FS, path string) *Watch { return &Watch{read.NewWatch(fsys, path)} }

// StatusOf tells the status of the dataset of a path. wait: until it is certain, which takes twice the period of a heartbeat at most.
func StatusOf(ctx context.Context, path string, wait bool) (*Status, error) {
	return read.StatusOf(ctx, path, wait)
}

// Hopeless says of what Look has told that nothing will ever tell whether the writer is alive: it has promised no heartbeat, or its lease
// cannot be read, and that for 30 seconds.
func (w *Watch) Hopeless(s *Status) bool { return w.w.Hopeless(s) }

// Next is how long to wait before another look can tell more.
func (w *Watch) Next() time.Duration { return w.w.Next() }

// Look tells the status as it is now. A dataset of which there is no sign is fs.ErrNotExist.
func (w *Watch) Look() (*Status, error) { return w.w.Look() }
