package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"blobio/cdf5"
	"blobio/internal/base/cache"
	"blobio/internal/base/fault"
	"blobio/internal/view/tree"
	"blobio/internal/view/zarr"
)

// zarrPart returns a part that answers a request for PATH/KEY: it sends the value of KEY in the Zarr group of the dataset PATH.
func zarrPart(version zarr.Version) part {
	return func(s *Server, a *answer, r *http.Request, where string) error { return s.zarr(a, r, where, version) }
}

// zarr sends one value. Zarr readers treat a "not found" chunk as fill values, and request only chunks that the metadata promise.
// So no chunk is 404. A read error is 500, a dataset that Zarr cannot hold is 501, and a replaced or removed dataset is 410.
func (s *Server) zarr(a *answer, r *http.Request, where string, version zarr.Version) error {
	err := s.zarrStatus(where, version, s.zarrValue(a, r, where, version))
	_, name := path.Split(where)
	if err == nil || a.sent || a.head || version != zarr.V2 || !zarr.LooksLikeChunk(name, version) || !hidesErrors(r) {
		return err
	}
	a.reset()
	a.told = err
	return sendText(a, "application/octet-stream", nil)
}

// hidesErrors reports whether a client treats failed chunks as fill values, regardless of the status. Python's zarr up to version
// 2 does so over fsspec, which uses aiohttp: FSStore.getitems drops failed keys. Such a client gets an empty answer with status
// 200. No chunk is that short, so the read fails.
func hidesErrors(r *http.Request) bool { return strings.Contains(r.UserAgent(), "aiohttp") }

// zarrStatus adds the HTTP status to an error.
func (s *Server) zarrStatus(where string, version zarr.Version, err error) error {
	var told *statusError
	if errors.As(err, &told) || err == nil {
		return err
	}
	if err == errNoKey {
		if _, name := path.Split(where); zarr.LooksLikeChunk(name, version) {
			return &statusError{http.StatusGone, "no such chunk: if the dataset was replaced, open it again"}
		}
		return &statusError{http.StatusNotFound, "no such dataset, or no such key in the dataset"}
	}
	if statusOf(err)/100 == 5 {
		return err
	}
	if errors.Is(err, fault.ErrUnsupported) { // not an error of the server or data, and not "not found" either
		return &statusError{http.StatusNotImplemented, s.log.relative(fault.Printable(err.Error()))}
	}
	return &statusError{http.StatusInternalServerError, s.log.relative(fault.Printable(err.Error()))}
}

// errNoKey means that the path names no dataset, or names a key that the dataset does not have.
var errNoKey = errors.New("no such dataset, or no such key in the dataset")

func (s *Server) zarrValue(a *answer, r *http.Request, where string, version zarr.Version) error {
	d, key, err := s.zarrDataset(r.Context(), where)
	if err != nil {
		return err
	}
	defer d.Release()
	store, err := s.groups.of(r.Context(), d, version)
	if err != nil {
		return err
	}
	size, ok := store.Size(key)
	if !ok { // try the normal form of the names
		key = cdf5.NormalName(key)
		size, ok = store.Size(key)
	}
	if !ok {
		return errNoKey
	}
	if err := tidyRange(r); err != nil {
		return err
	}
	h := a.Header()
	h.Set("ETag", etag(fmt.Sprintf("%s.%d.%d", d.ID(), version, s.opt.ZarrChunk)))
	h.Set("Content-Type", "application/json")
	need := int64(readAhead) // for a value in memory
	if store.IsChunk(key) {
		h.Set("Content-Type", "application/octet-stream")
		need += size
	}
	if !a.head {
		give, err := s.memory.take(r.Context(), need)
		if err != nil {
			return err
		}
		defer give()
	}
	buf := s.groups.chunk(size)
	f := &virtual{ctx: r.Context(), s: s, size: size, whole: func(ctx context.Context) ([]byte, error) { return store.GetIn(ctx, key, *buf) }}
	http.ServeContent(a, r, "", d.ModTime(), f)
	err = f.close()
	if len(f.buf) >= longChunk && store.IsChunk(key) { // a long value is sent without another read
		*buf = f.buf
		s.groups.memory.Put(buf)
	}
	return err
}

// zarrDataset splits the path into dataset and key. A key is a name, or a variable and a name.
func (s *Server) zarrDataset(ctx context.Context, where string) (*tree.Dataset, string, error) {
	dir, name := path.Split(where)
	one := strings.TrimSuffix(dir, "/")
	var d *tree.Dataset
	err := error(fs.ErrNotExist)
	if zarr.IsMeta(name) && one != "" {
		if d, err = s.dataset(ctx, one); err == nil {
			return d, name, nil
		}
	}
	if two, variable := path.Split(one); two != "" && isNone(err) {
		if d, err = s.dataset(ctx, strings.TrimSuffix(two, "/")); err == nil {
			return d, variable + "/" + name, nil
		}
	}
	if isNone(err) {
		err = errNoKey
	}
	return nil, "", err
}

// isNone reports whether a path leads to nothing or to a directory. A dataset that lacks one of its files still exists.
func isNone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fault.ErrMissing) || errors.Is(err, fault.ErrUsage)
}

// zarrGroups are the Zarr groups of datasets, and memory for their chunks.
type zarrGroups struct {
	most   int64                             // maximum bytes of a chunk
	stores *cache.Cache[string, *zarr.Store] // computed from headers
	memory sync.Pool                         // *[]byte from sent chunks
}

func newZarrGroups(most int64) *zarrGroups {
	return &zarrGroups{most: most, stores: cache.New[string](maxStores, (*zarr.Store).MetaBytes)}
}

// chunk returns memory for a value of size bytes, reused from an earlier value if possible. The first touch of fresh memory costs
// more than computing the value.
func (g *zarrGroups) chunk(size int64) *[]byte {
	if size >= longChunk {
		if b, ok := g.memory.Get().(*[]byte); ok && int64(cap(*b)) <= 2*size {
			return b
		}
	}
	return new([]byte)
}

// longChunk is the minimum size in bytes of a chunk whose memory is reused.
const longChunk = 1 << 20

// maxStores is the maximum size of cached metadata, in bytes.
const maxStores = 16 << 20

// errLong excludes metadata from the cache.
var errLong = errors.New("the metadata are too long")

// of returns the group of a dataset, which reads from it. Concurrent requests for one dataset construct the group only once.
func (g *zarrGroups) of(ctx context.Context, d *tree.Dataset, version zarr.Version) (*zarr.Store, error) {
	var own *zarr.Store
	kept, err := g.stores.Make(ctx, fmt.Sprintf("%d %s", version, d.ID()), func() (_ *zarr.Store, err error) {
		own, err = zarr.New(d.Reader(), &zarr.Options{Version: version, ChunkBytes: g.most, Grows: d.Line() != d.ID()})
		if err == nil && own.MetaBytes() > maxStores/4 {
			err = errLong
		}
		if err != nil {
			return nil, err
		}
		return own.Of(nil), nil
	})
	switch {
	case err == nil && own == nil:
		return kept.Of(d.Reader()), nil
	case err == errLong:
		err = nil
	}
	return own, err
}
