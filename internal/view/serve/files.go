package serve

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"blobio/internal/view/tree"
)

// maxRanges is how many ranges one request may ask for.
const maxRanges = 64

// netcdfType is the media type of a netCDF file.
const netcdfType = "application/x-netcdf"

// files answers with a dataset as one netCDF file, with an ordinary one as it is, or with the list of a directory.
func (s *Server) files(a *answer, r *http.Request, path string) error {
	if path == "" || strings.HasSuffix(path, "/") {
		return s.list(a, r, strings.TrimSuffix(path, "/"))
	}
	d, err := s.dataset(r.Context(), path)
	if err != nil {
		return s.orList(a, path, err)
	}
	defer d.Release()
	if err := tidyRange(r); err != nil {
		return err
	}
	give, err := s.memory.take(r.Context(), readAhead+2*piece)
	if err != nil {
		return err
	}
	defer give()
	h := a.Header()
	h.Set("Content-Type", netcdfType)
	h.Set("ETag", etag(d.ID()))
	var file contextReaderAt = d.Canonical()
	size := d.Canonical().Size()
	plain, n, err := d.Plain()
	if err != nil {
		return err
	}
	if plain != nil {
		defer plain.Close()
		file, size = plainFile{plain}, n
	}
	f := &virtual{ctx: r.Context(), s: s, file: file, size: size}
	http.ServeContent(a, r, "", d.ModTime(), f)
	return f.close()
}

// orList sends who asks for a dataset by the path of a directory to its list. err is why there is no dataset.
func (s *Server) orList(a *answer, path string, err error) error {
	if e, lerr := s.tree.Lookup(path); lerr != nil || e.Kind != tree.KindDir {
		return err
	}
	a.Header().Set("Location", link("files", path)+"/")
	a.WriteHeader(http.StatusMovedPermanently)
	return nil
}

// plainFile is an ordinary netCDF file, which is sent as it is.
type plainFile struct{ io.ReaderAt }

// ReadAtContext reads what is there, whatever becomes of ctx.
func (f plainFile) ReadAtContext(_ context.Context, p []byte, off int64) (int, error) {
	return f.ReadAt(p, off)
}

// tidyRange takes what net/http would follow, and must not, out of the headers of a request: a range in another unit than bytes, which counts as none;
// and one under the condition that a date is still right (If-Range), since two states may be of the same second.
func tidyRange(r *http.Request) error {
	asked, only := r.Header.Get("Range"), r.Header.Get("If-Range")
	if !strings.HasPrefix(asked, "bytes=") || only != "" && !strings.HasPrefix(only, `"`) {
		r.Header.Del("Range")
		return nil
	}
	if strings.Count(asked, ",") >= maxRanges {
		return &statusError{http.StatusRequestedRangeNotSatisfiable, "so many ranges are too many: ask for fewer at once"}
	}
	return nil
}

// etag is an ID as the header has it.
func etag(id string) string { return `"` + url.PathEscape(id) + `"` }
