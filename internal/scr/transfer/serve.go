package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

// ServeOptions are the options of Serve.
type ServeOptions struct {
	FS     vfs.FS // file system of the transfer file and of sources; nil: the operating system's
	DstFS  vfs.FS // file system of destinations; nil: FS
	File   string // path of the transfer file; if its folder is missing, Serve creates it
	NoLock bool
	// Prefix is the absolute path of the prefix directory. Serve writes no file elsewhere, even if the transfer file requests it.
	// Shared allows the group to write to the prefix directory. If the directory has the sticky bit, all users may write to it.
	Prefix string
	Shared bool
	Poll   time.Duration // interval at which the transfer file is read, at least 1 ms; 0: 1 s
	// Rate (bytes/s) and CPU (percent) are additional limits. If the transfer file has limits too, the lower limits apply. 0
	// means no limit.
	Rate, CPU float64
	Files     int // same as in Options, but 0 means 1
	BufSize   int // same as in Options
	// Once makes Serve return when no work is left. Otherwise Serve waits for commands. The error is a *FailedError if files
	// could not be copied.
	Once  bool
	Clock Clock // nil: real time
}

// Serve is the transfer process of a node. While COMMAND in the transfer file is RUN, Serve copies the listed files. While
// COMMAND is STOP or missing, or while the file is missing, Serve pauses. It returns nil when COMMAND is EXIT, and the error of
// ctx when ctx ends. It copies each file as Engine.Copy does with Sync. The limits PERCENT and BW can be changed at any time.
//
// Serve updates WRITTEN of each file at each poll. WRITTEN becomes SIZE only when the copy is durable. When all copies are
// durable, STATE becomes STOPPED and FLAG becomes DONE. If a file cannot be copied, Serve sets ERROR and continues with the next
// file. When only failed files are left, FLAG becomes FAILED. They are copied again when ERROR is removed or the process is
// restarted. The original SCR has neither ERROR nor FAILED.
//
// If the process is killed, STATE is left unchanged. The next process copies the files whose WRITTEN is less than SIZE, or which
// do not exist with the right size. It first reads the existing files, because the killed process may have finished a copy
// without updating WRITTEN, and it removes unfinished copies. A lock on <File>.lock excludes a second process for the same
// transfer file; the second process gets an error that wraps ErrInUse. The list of files may be replaced only while STATE is
// STOPPED.
func Serve(ctx context.Context, o ServeOptions) error {
	s, err := newServer(o)
	if err != nil {
		return err
	}
	if err := MakeControl(s.o.FS, s.o.File); err != nil {
		return err
	}
	if o.NoLock {
		return s.loop(ctx)
	}
	wait, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	entered := false
	err = kvtree.Update(wait, s.o.FS, o.File+lockSuffix, &kvtree.Options{NoLock: o.NoLock, Replace: true, Perm: 0o600}, func(*kvtree.Tree) error {
		entered = true
		return s.loop(ctx)
	})
	if !entered && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", o.File, fault.ErrInUse)
	}
	return err
}

// Served reports whether a process currently serves a transfer file. The error wraps kvtree.ErrNoLocks if this is unknown because
// there are no locks, for example with noLock.
func Served(fsys vfs.FS, file string, noLock bool) (bool, error) {
	if noLock {
		return false, fmt.Errorf("%s: no lock: %w", file, kvtree.ErrNoLocks)
	}
	return kvtree.Locked(fsys, file+lockSuffix)
}

// Serve locks the file whose name is the name of the transfer file followed by lockSuffix.
const lockSuffix = ".lock"

// lockTime is the maximum time that Serve waits for an earlier process to end.
const lockTime = time.Second

type server struct {
	o        ServeOptions
	e        *Engine
	owner    string // a name made from this node and the transfer file; the lock makes it unique
	run      *run
	settled  map[itemKey]bool    // whole according to the transfer file, and verified to exist
	outcomes map[itemKey]outcome // outcomes that are not written to the transfer file yet
	fresh    bool                // no copy has started yet, and earlier failures are retried
	done     bool                // FLAG as it was last written
}

// itemKey identifies a request to copy a file. Two items with different keys are different requests.
type itemKey struct {
	src, dst string
	size     int64
}

func (i Item) key() itemKey { return itemKey{i.Src, i.Dst, i.Size} }

type outcome struct {
	crc uint32
	err error
}

func newServer(o ServeOptions) (*server, error) {
	switch {
	case o.File == "":
		return nil, fault.Usage("ServeOptions.File is empty, want the path of a transfer file")
	case !filepath.IsAbs(o.Prefix):
		return nil, fault.Usage("ServeOptions.Prefix is %q, want an absolute path", o.Prefix)
	case o.Poll != 0 && o.Poll < time.Millisecond:
		return nil, fault.Usage("ServeOptions.Poll is %v, want at least 1ms", o.Poll)
	}
	o.FS, o.Poll, o.Files = vfs.OrOS(o.FS), cmp.Or(o.Poll, time.Second), cmp.Or(o.Files, 1)
	if o.Clock == nil {
		o.Clock = wallClock{}
	}
	e, err := New(Options{FS: o.FS, DstFS: o.DstFS, Files: o.Files, Rate: o.Rate, CPU: o.CPU, BufSize: o.BufSize, Sync: true, Clock: o.Clock})
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // used only to distinguish nodes
	file, err := filepath.Abs(o.File)
	if err != nil {
		return nil, err
	}
	return &server{o: o, e: e, owner: host + "\x00" + file, settled: map[itemKey]bool{}, outcomes: map[itemKey]outcome{}, fresh: true}, nil
}

// loop polls the file.
func (s *server) loop(ctx context.Context) error {
	for {
		again, err := s.poll(ctx)
		if err != nil || !again {
			s.halt()
			return err
		}
		var done <-chan struct{}
		if s.run != nil {
			done = s.run.Done()
		}
		select {
		case <-s.o.Clock.After(s.o.Poll):
		case <-done:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), s.leave())
		}
	}
}

// leave stops all work before the process ends.
func (s *server) leave() error {
	s.halt()
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	if _, err := s.o.FS.Stat(s.o.File); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.write(ctx, "", StateStopped)
}

// halt stops the current run and keeps its results.
func (s *server) halt() {
	if s.run == nil {
		return
	}
	s.run.Stop()
	<-s.run.Done()
	s.reap()
}

// reap collects the results of a finished run.
func (s *server) reap() {
	for i := range s.run.items {
		if out := s.run.outcome(i); out != nil {
			s.outcomes[s.run.items[i].key()] = *out
		}
	}
	s.run = nil
}

// poll reads the transfer file, executes its command and writes the progress. again is false when no work is left.
func (s *server) poll(ctx context.Context) (again bool, err error) {
	if err := checkFiles(s.o.FS, s.o.File); err != nil {
		return false, err
	}
	f, err := ReadFile(ctx, s.o.FS, s.o.File, s.o.NoLock)
	var damage *fault.FormatError
	switch {
	case ctx.Err() != nil:
		return false, errors.Join(ctx.Err(), s.leave())
	case errors.As(err, &damage):
		s.halt()
		if s.o.Once {
			return false, err
		}
		return true, nil
	case err != nil:
		return false, err
	}
	if s.run != nil && (f.Command != CommandRun || !s.run.within(f)) {
		s.halt()
	}
	if s.run != nil {
		select {
		case <-s.run.Done():
			s.reap()
		default:
		}
	}
	if f.Tree.Len() == 0 { // the file is missing; do not create it again
		clear(s.outcomes)
		return !s.o.Once, nil
	}
	switch f.Command {
	case CommandExit:
		return false, s.write(ctx, f.Command, StateExiting)
	case CommandRun:
		return s.work(ctx, f)
	}
	s.fresh = true
	clear(s.settled) // the next list may be a different one
	return !s.o.Once, s.write(ctx, f.Command, StateStopped)
}

// work continues the copies.
func (s *server) work(ctx context.Context, f *File) (again bool, err error) {
	if s.done && !f.Done { // this is a new request, and earlier copies may have been removed
		clear(s.settled)
	}
	if err := s.e.SetLimits(lower(f.BW, s.o.Rate), lower(f.Percent, s.o.CPU)); err != nil {
		return false, err
	}
	if s.run == nil {
		if todo := s.todo(f); len(todo) > 0 {
			s.run = s.start(ctx, todo)
		}
		s.fresh = false
	}
	if s.run != nil {
		return true, s.write(ctx, f.Command, StateRunning)
	}
	if err := s.write(ctx, f.Command, StateStopped); err != nil || !s.o.Once {
		return true, err
	}
	f, err = ReadFile(ctx, s.o.FS, s.o.File, s.o.NoLock)
	if err != nil {
		return false, err
	}
	failed := &FailedError{}
	for _, i := range f.Items {
		if i.Error != "" {
			failed.Items = append(failed.Items, i)
		}
	}
	if f.Failed {
		return false, failed
	}
	return f.Command == CommandRun && !f.Done, nil
}

// lower returns the lower of two limits. 0 means no limit.
func lower(a, b float64) float64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

func (s *server) todo(f *File) []Item {
	var out []Item
	for _, i := range f.Items {
		k := i.key()
		if _, ok := s.outcomes[k]; ok || i.Error != "" && !s.fresh {
			continue
		}
		if !i.Whole() {
			delete(s.settled, k)
		} else if !s.settled[k] {
			s.settled[k] = s.there(i)
		}
		if !s.settled[k] {
			out = append(out, i)
		}
	}
	return out
}

// there reports whether a finished copy still exists with the right size.
func (s *server) there(i Item) bool {
	for _, seg := range i.Out {
		st, err := s.e.o.DstFS.Stat(seg.File)
		if err != nil || !st.Mode().IsRegular() || st.Size() < seg.Offset+seg.Length {
			return false
		}
	}
	if i.Out != nil {
		return true
	}
	st, err := s.e.o.DstFS.Stat(i.Dst)
	return err == nil && st.Mode().IsRegular() && st.Size() == i.Size
}

// write updates the transfer file. command is the command that was last read. If the file now has a different command, write only
// stores the outcomes of the listed files. The command "" matches any command.
func (s *server) write(ctx context.Context, command Command, state State) error {
	done, whole := map[itemKey]bool{}, false
	err := UpdateFile(ctx, s.o.FS, s.o.File, s.o.NoLock, func(f *File) error {
		clear(done)
		if s.done && !f.Done { // there is a new request since the file was read
			clear(s.settled)
		}
		left, failed := 0, 0
		for n := range f.Items {
			i := &f.Items[n]
			k := i.key()
			if out, ok := s.outcomes[k]; ok {
				done[k] = out.err == nil
				i.settle(out)
			} else if s.run != nil {
				s.run.progress(i)
			}
			switch {
			case i.Error != "":
				failed++
			case !i.Whole() || !s.settled[k] && !done[k]:
				left++
			}
		}
		if command != "" && f.Command != command {
			return nil
		}
		f.State = state
		if command == CommandRun {
			f.Done = left+failed == 0
			f.Failed = left == 0 && failed > 0
			whole = f.Done
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.done = whole
	clear(s.outcomes)
	for k, ok := range done {
		if ok {
			s.settled[k] = true
		}
	}
	return nil
}

func (i *Item) settle(out outcome) {
	if out.err != nil {
		i.Error = out.err.Error()
		i.Written = 0
		return
	}
	i.Written, i.CRC, i.HasCRC, i.Error = i.Size, out.crc, true, ""
}
