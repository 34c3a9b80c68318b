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

// watched is the file system in which a reader opens subfiles. A subfile is opened on demand. It may be closed while many others
// are open, and opened again later. In the meantime another dataset may have taken its name, even with a byte-identical header.
// So the manifest is read after each open: if it has not changed, the file belongs to the dataset. A dataset without a manifest
// must still have none.
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

// lent is an open subfile. If another client of a network file system has removed it, its bytes cannot be read any more. Usually
// the reason is that the dataset was replaced.
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
		if !f.p.decoded.Load() { // Open does the same check
			replaced = f.p.Files.Replaced
		}
		if was := replaced(f.p.Name); was != nil {
			err = was
		}
	}
	return n, err
}

// Replaced returns an error if another dataset has replaced the one that was opened. A finding about a subfile, even that it is
// missing, counts only if Replaced is called after it and returns nil.
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

// lateNames is the time for which a client of a network file system may still show the previous file under a name. GlusterFS took
// a second in tests, and more than two on busy machines.
const lateNames = 4 * time.Second

// replacedLate is Replaced for files that look damaged. Such a file may belong to another dataset while the client of a network
// file system still shows the old manifest. On such file systems, the first call in a reader repeats the check until the client
// must see the new manifest.
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

// Measure records the length of the file. For a moment, a client of a network file system may see the size from before an append.
// A file that looks too short is therefore measured again until the client must see the new size; all parts of a reader share
// this wait.
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

// maxLooks is the number of repeated checks within lateNames.
const maxLooks = 20

// LookAgain is the time between two checks. Tests with a file system in memory set a shorter time.
var LookAgain = lateNames / maxLooks

// viewed presents a netCDF-4 file as the equivalent CDF-5 file.
type viewed struct {
	vfs.File
	v *netcdf4.View
}

func (f viewed) ReadAt(b []byte, off int64) (int, error) { return f.v.ReadAt(b, off) }
func (f viewed) Size() (int64, error)                    { return f.v.Size(), nil }

// viewer opens a file for each read of a View, because a View is used longer than a file may stay open.
type viewer struct{ p *FilePart }

func (r viewer) ReadAt(b []byte, off int64) (int, error) {
	f, done, err := r.p.Raw()
	if err != nil {
		return 0, err
	}
	defer done()
	return f.ReadAt(b, off)
}

// DecodeFile recognises the kind of the file by its content, and reads its header. If the file is netCDF-4, File returns the
// equivalent CDF-5 file from then on.
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
	if err == nil && p.Name != p.Files.Base && len(v.LeftOut()) > 0 { // the file is not a subfile
		err = v.LeftOut()[0]
	}
	if err != nil {
		return nil, 0, err
	}
	pl, records, err = dataset.DecodePlace(bytes.NewReader(v.Head()), v.Size(), p.Name, p.Files.Opt.MaxHeader) // only the header is needed, so the data may be unreadable
	if err == nil && !pl.Plain {
		err = fault.At(p.Name, -1, "header", dataset.ErrUnsupported, "the blob subfile is stored as netCDF-4")
	}
	if err != nil {
		return nil, 0, err
	}
	p.View, p.Size = v, v.Size()
	return pl, records, nil
}
