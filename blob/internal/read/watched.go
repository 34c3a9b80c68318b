package read

import (
	"errors"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// watched is the file system that a reader opens subfiles in. They are opened when they are needed, and again when too
// many were open; another dataset may have taken their names meanwhile, with a header that is the same byte for byte. So
// each file that is opened is looked at twice: with the manifest still the one that the reader knows, it is that
// dataset's. What another program wrote has no manifest: then there must still be none.
type watched struct {
	vfs.FS
	r *Files
}

func (w watched) Open(name string) (vfs.File, error) {
	f, err := w.FS.Open(name)
	if IsGone(err) {
		if err := w.r.Replaced(name); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if err := w.r.Replaced(name); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lent is an open subfile. Where another client of a network file system has removed it, no byte of it can be read any more, as a rule because
// the dataset was replaced.
type lent struct {
	vfs.File
	p *FilePart
}

func (f lent) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	if f.p.tape != nil {
		f.p.tape.record(off, b[:n])
	}
	if errors.Is(err, vfs.ErrStale) {
		replaced := f.p.Files.replacedLate
		if !f.p.decoded.Load() { // Open looks again
			replaced = f.p.Files.Replaced
		}
		if was := replaced(f.p.Name); was != nil {
			err = was
		}
	}
	return n, err
}

// Replaced returns an error if the dataset is no longer the one that was opened. What is found of a subfile, or
// that it is missing, counts only if this is called afterwards.
func (r *Files) Replaced(name string) error {
	was := ""
	if r.Manifest != nil {
		was = r.Manifest.ID
	}
	if was == "" && !r.foreign {
		return nil
	}
	id, _, err := subfile.Peek(r.Fs, r.Base)
	if err == nil && id != "" && id != was {
		err = fault.At(name, -1, "file", dataset.ErrBroken, "of another dataset: %s was replaced since it was opened", r.Base)
	}
	return err
}

// lateNames is how long a client of a network file system may go on to find the file that had a name before. GlusterFS was seen to take a second,
// and on busy machines more than two.
const lateNames = 4 * time.Second

// replacedLate is replaced for what looks damaged: its file may be of another dataset while the manifest is still found as it was. So where other
// machines write, it is looked for again until the client must have seen it, by the first of a reader's calls.
func (r *Files) replacedLate(name string) error {
	if err := r.Replaced(name); err != nil || r.Fs.Local(r.Base) {
		return err
	}
	r.seen.Do(func() {
		for look := 0; look < maxLooks && r.Replaced(name) == nil; look++ {
			time.Sleep(LookAgain)
		}
	})
	return r.Replaced(name)
}

// Measure notes how long the file is. Where other machines write, a client may know for a moment the size that it had before an append; so what looks
// shorter than the manifest says is looked at again, until the client must have seen the new size: all parts of a reader wait that long together.
func (p *FilePart) Measure(f vfs.File) (err error) {
	if p.Size, err = f.Size(); err != nil || p.Info == nil || p.Size >= p.Info.Size || p.Files.Fs.Local(p.Files.Base) {
		return err
	}
	p.Files.late.Lock()
	defer p.Files.late.Unlock()
	for {
		if p.Size, err = f.Size(); err != nil || p.Size >= p.Info.Size || p.Files.looks == maxLooks {
			return err
		}
		p.Files.looks++
		time.Sleep(LookAgain)
	}
}

// maxLooks is how often what may be late is looked at again within lateNames.
const maxLooks = 20

// LookAgain is the time between two looks. Tests in memory shorten it.
var LookAgain = lateNames / maxLooks
