package read

import (
	"bytes"
	"errors"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/netcdf4"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
)

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

// DecodeFile tells by its content what the file is, and reads its header. A netCDF-4 file becomes the CDF-5 file that it stands for,
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
		err = fault.At(p.Name, -1, "header", dataset.ErrUnsupported, "a subfile of blobs that was stored as netCDF-4")
	}
	if err != nil {
		return nil, 0, err
	}
	p.View, p.Size = v, v.Size()
	return pl, records, nil
}
