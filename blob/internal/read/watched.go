package read

import (
	"bytes"
	"errors"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/netcdf4"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// watched is the file system that a reader opens subfiles in. They are opened when they are needed, and again when too
// many were open; another dataset may have taken their names meanwhile, with a header that is the same byte for byte. So
// each file that is opened is looked at twice: with the manifest still the one that the reader knows, it is that
// dataset's. A dataset of another program has no manifest: then there must still be none.
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

// lent is an open subfile. Where another client of a network file system has removed it, no byte of it can be read any more, usually because
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

// Replaced returns an error if the dataset is no longer the one that was opened. Findings about a subfile, also
// that it is missing, count only if this is called afterwards.
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
		err = fault.At(name, -1, "file", dataset.ErrBroken, "the file belongs to another dataset: %s was replaced after it was opened", r.Base)
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

// viewed is a netCDF-4 file as the equivalent CDF-5 file.
type viewed struct {
	vfs.File
	v *netcdf4.View
}

func (f viewed) ReadAt(b []byte, off int64) (int, error) { return f.v.ReadAt(b, off) }
func (f viewed) Size() (int64, error)                    { return f.v.Size(), nil }

// viewer opens a file anew for each read of a View, which outlives the time for which a file is lent.
type viewer struct{ p *FilePart }

func (r viewer) ReadAt(b []byte, off int64) (int, error) {
	f, done, err := r.p.Raw()
	if err != nil {
		return 0, err
	}
	defer done()
	return f.ReadAt(b, off)
}

// DecodeFile finds out by its content what the file is, and reads its header. A netCDF-4 file becomes the CDF-5 file that it stands for,
// also for whoever calls file from now on.
func (p *FilePart) DecodeFile(f vfs.File) (*dataset.Place, int64, error) {
	pl, records, err := dataset.DecodePlace(f, p.Size, p.Name, p.Files.Opt.MaxHeader)
	if !errors.Is(err, dataset.ErrNotFormat) || p.View != nil {
		return pl, records, err
	}
	hf, herr := h5.NewFile(viewer{p}, p.Size, p.Name)
	if herr != nil || !netcdf4.Is(hf) {
		return pl, records, err
	}
	v, err := netcdf4.FromFile(hf, p.Name, p.Files.Opt.MaxHeader)
	if err == nil && p.Name != p.Files.Base && len(v.LeftOut()) > 0 { // no subfile
		err = v.LeftOut()[0]
	}
	if err != nil {
		return nil, 0, err
	}
	pl, records, err = dataset.DecodePlace(bytes.NewReader(v.Head()), v.Size(), p.Name, p.Files.Opt.MaxHeader) // the data need not be readable
	if err == nil && !pl.Plain {
		err = fault.At(p.Name, -1, "header", dataset.ErrUnsupported, "the blob subfile is stored as netCDF-4")
	}
	if err != nil {
		return nil, 0, err
	}
	p.View, p.Size = v, v.Size()
	return pl, records, nil
}
