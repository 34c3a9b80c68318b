package read

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// For Open, one process of a job reads the files. The other processes open the dataset from its recorded reads.

// tape records the reads of a file, so that other processes can repeat them without the file.
type tape struct {
	Size  int64
	Gone  bool // the file does not exist
	Offs  []int64
	Bytes [][]byte
}

func (t *tape) record(off int64, b []byte) {
	have := make([]byte, len(b))
	if n, err := t.ReadAt(have, off); (err == nil || errors.Is(err, io.EOF)) && n == len(b) && string(have) == string(b) {
		return
	}
	t.Offs, t.Bytes = append(t.Offs, off), append(t.Bytes, append([]byte(nil), b...))
}

// errTape is the error of a read that was not recorded.
var errTape = errors.New("not recorded")

// ReadAt implements io.ReaderAt. If bytes were recorded twice, the last recording counts.
func (t *tape) ReadAt(b []byte, off int64) (int, error) {
	for i := len(t.Bytes) - 1; i >= 0; i-- {
		x := t.Bytes[i]
		switch at := off - t.Offs[i]; {
		case at < 0 || at > int64(len(x)):
		case at+int64(len(b)) <= int64(len(x)):
			return copy(b, x[at:]), nil
		case t.Offs[i]+int64(len(x)) == t.Size:
			return copy(b, x[at:]), io.EOF
		}
	}
	return 0, errTape
}

// found is the recorded information about one file or directory.
type found struct {
	Called string
	Gone   bool
	Bytes  int64
	Bits   fs.FileMode
	Time   time.Time
}

func (f found) Name() string               { return f.Called }
func (f found) Size() int64                { return f.Bytes }
func (f found) Mode() fs.FileMode          { return f.Bits }
func (f found) ModTime() time.Time         { return f.Time }
func (f found) IsDir() bool                { return f.Bits.IsDir() }
func (f found) Sys() any                   { return nil }
func (f found) Type() fs.FileMode          { return f.Bits.Type() }
func (f found) Info() (fs.FileInfo, error) { return f, nil }

// record holds all recorded operations on a file system.
type record struct {
	Files map[string]*tape
	Stats map[string]found
	Dirs  map[string][]found
	Alone map[string]bool // results of vfs.FS.Local
}

func newRecord() *record {
	return &record{map[string]*tape{}, map[string]found{}, map[string][]found{}, map[string]bool{}}
}

// recording is a file system that records the results of operations.
type recording struct {
	vfs.FS
	mu sync.Mutex
	*record
}

func (r *recording) Open(name string) (vfs.File, error) {
	f, err := r.FS.Open(name)
	var size int64
	if err == nil {
		if size, err = f.Size(); err != nil {
			f.Close()
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.Files[name]
	if t == nil {
		t = &tape{}
		r.Files[name] = t
	}
	if t.Size, t.Gone = size, IsGone(err); err != nil {
		return nil, err
	}
	return &recordedFile{f, r, t}, nil
}

func (r *recording) Stat(name string) (fs.FileInfo, error) {
	info, err := r.FS.Stat(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.Stats[name] = found{info.Name(), false, info.Size(), info.Mode(), info.ModTime()}
	case IsGone(err):
		r.Stats[name] = found{Gone: true}
	}
	return info, err
}

func (r *recording) ReadDir(name string) ([]fs.DirEntry, error) {
	l, err := r.FS.ReadDir(name)
	if err == nil {
		list := make([]found, len(l))
		for i, e := range l {
			list[i] = found{Called: e.Name(), Bits: e.Type()}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Dirs[name] = list
	}
	return l, err
}

func (r *recording) Local(name string) bool {
	l := r.FS.Local(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Alone[name] = l
	return l
}

type recordedFile struct {
	vfs.File
	r *recording
	t *tape
}

func (f *recordedFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	if err == nil || errors.Is(err, io.EOF) {
		f.r.mu.Lock()
		defer f.r.mu.Unlock()
		f.t.record(off, b[:n])
	}
	return n, err
}

// replaying is a read-only file system that repeats recorded results.
type replaying struct {
	vfs.FS // for methods that are not recorded
	*record
}

func lacking(op, name string, gone bool) error {
	if gone {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return &fs.PathError{Op: op, Path: name, Err: errTape}
}

func (r replaying) Open(name string) (vfs.File, error) {
	if t := r.Files[name]; t != nil && !t.Gone {
		return vfs.ReaderFile(name, t.Size, t), nil
	} else {
		return nil, lacking("open", name, t != nil)
	}
}

func (r replaying) Stat(name string) (fs.FileInfo, error) {
	if f, ok := r.Stats[name]; ok && !f.Gone {
		return f, nil
	} else {
		return nil, lacking("stat", name, ok)
	}
}

func (r replaying) ReadDir(name string) ([]fs.DirEntry, error) {
	l, ok := r.Dirs[name]
	if !ok {
		return nil, lacking("readdir", name, false)
	}
	out := make([]fs.DirEntry, len(l))
	for i, f := range l {
		out[i] = f
	}
	return out, nil
}

func (r replaying) Local(name string) bool { return r.Alone[name] }

// openTogether opens a dataset on the lowest rank of each process. At least two processes take part. Other ranks of a process
// only wait for the agreement.
func openTogether(ctx context.Context, c comm.Comm, path string, o *OpenOptions, k dataset.Knobs, lead bool) (*Reader, error) {
	fsys := vfs.OrOS(k.Fs)
	var r *Reader
	var err error
	var b []byte
	if c.Rank() == 0 {
		rec := &recording{FS: fsys, record: newRecord()}
		on := k
		on.Fs = rec
		if r, err = OpenWith(ctx, path, o, on); err == nil {
			r.Files.move(fsys)
			b = encode(rec.record)
		}
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return r, err
	}
	if b, err = c.Bcast(ctx, 0, b); err != nil || c.Rank() == 0 || !lead {
		return r, err
	}
	rec := newRecord()
	if err = decode(b, rec); err == nil {
		on := k
		on.Fs = replaying{fsys, rec}
		if r, err = OpenWith(ctx, path, o, on); err == nil {
			r.Files.move(fsys)
			return r, nil
		}
	}
	return OpenWith(ctx, path, o, k) // this rank uses a different name for the dataset or its directory
}

// move moves a newly opened reader to another file system with the same files.
func (r *Files) move(fsys vfs.FS) {
	r.Pool.Close() // drop the open files of the recording
	r.Fs = fsys
	r.Pool = subfile.NewPool(watched{fsys, r}, r.Opt.MaxOpen)
}
