package read

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"blobio/blob/internal/dataset"
	"blobio/internal/base/cache"
	"blobio/internal/base/codec"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// Reader is blob.Reader.
type Reader struct {
	Opt      OpenOptions
	Fs       vfs.FS
	Pool     *subfile.Pool
	Base     string
	Layout   dataset.Layout
	Schema   *dataset.Schema
	Records  int64
	Manifest *subfile.Manifest
	Pending  bool
	foreign  bool // subfiles without a manifest
	complete bool // all files were there when it was opened
	Sets     []*Set
	since    []int64 // of the last variables, which appends have added: the first record of the set that has them first
	Families []*family
	Maps     *cache.Cache[*lazyMap, *gotMap]
	known    *Known      // with VerifyOnce
	zstd     *codec.Zstd // for chunks of so many bytes
	chunk    int64
	refs     int       // by OpenComm: closed when the last rank closes
	buffers  sync.Pool // of *[]byte, at most maxBatch bytes each
	seen     sync.Once // what replacedLate waits for
	late     sync.Mutex
	looks    int // by late: how often measure has waited
	mu       sync.Mutex
	Caches   []weak.Pointer[blockCache] // that count in a pool of others; who follows a dataset makes one for each commit, and forgets it

	// Of the reader that Open has returned. Each state has a reader of its own behind it, so that no call sees two of them.
	newest atomic.Pointer[Reader] // after Refresh
	root   *Reader                // of one that Refresh has made: what Open has returned
	fresh  sync.Mutex             // held by Refresh
	stamp  string                 // by fresh: of newest

	life   context.Context // of what goes on behind a call; nil until there is such
	end    context.CancelFunc
	closed bool
	Work   sync.WaitGroup
}

// Behind does something in a goroutine, which Close ends and waits for; false if the Reader is closed.
func (r *Reader) Behind(f func(ctx context.Context)) bool {
	r = r.opened()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.life == nil {
		r.life, r.end = context.WithCancel(context.Background())
	}
	r.Work.Go(func() { f(r.life) })
	return true
}

// family is the sets that were written by the same ranks, with the same maps and grouping. The files of the first one have the maps that hold for all.
type family struct {
	Home *Set
	at   int // of home among all sets
	Maps []lazyMap
}

// Set is one set of subfiles: the whole dataset, or what an append or a commit added to it.
type Set struct {
	family         *family
	First, Records int64 // records of the dataset that it holds
	places         int64 // records for which its files have places, if there is a manifest
	Parts          []*FilePart
	schema         *dataset.Schema // of the files: an appended set has record variables only
	vars           []dataset.VarID // by variable of the dataset: its id in this set, -1 if it is not there
	blobs          int             // of all parts
	loading        sync.Mutex      // of all parts' headers and tables
	loaded         bool
	fatal          error // why nothing of the set can be read
	err            error // why something of it cannot
}

func (r *Reader) NumParts() (n int) {
	for _, s := range r.Sets {
		n += len(s.Parts)
	}
	return n
}

// Missing returns the names of the subfiles that are not there.
func (r *Reader) Missing() []string {
	r = r.Now()
	return r.MissingIn(r.Sets)
}

func (r *Reader) MissingIn(sets []*Set) (names []string) {
	for _, s := range sets {
		for _, p := range s.Parts {
			if p.Gone() {
				names = append(names, p.Wanted())
			}
		}
	}
	return names
}

// Unwritten is blob.Reader.Unwritten.
func (r *Reader) Unwritten() int64 {
	r = r.Now()
	if p := r.Sets[0].Parts[0]; p.Place != nil && p.Place.Plain {
		if last, end := p.Place.LastPiece(r.Records); p.Place.FileLen >= last && p.Place.FileLen < end {
			return end - p.Place.FileLen
		}
	}
	return 0
}

// Close releases the files.
func (r *Reader) Close() error {
	r.mu.Lock()
	r.refs--
	last := r.refs <= 0
	r.closed = r.closed || last
	if last && r.end != nil {
		r.end()
	}
	r.mu.Unlock()
	if !last {
		return nil
	}
	r.Work.Wait()
	for _, w := range r.Caches {
		if k := w.Value(); k != nil {
			k.leave()
		}
	}
	err := r.Pool.Close()
	if n := r.newest.Load(); n != nil {
		err = errors.Join(err, n.Pool.Close())
	}
	return err
}

// Compressed reports whether files of the dataset are compressed: by the manifest, or the first header that is there.
func (r *Reader) Compressed() bool {
	r = r.Now()
	if r.Manifest != nil {
		return r.Manifest.Codec != ""
	}
	for _, p := range r.Sets[0].Parts {
		if pl := p.header(); pl != nil {
			return pl.Packed != nil
		}
	}
	return false
}

// Verify returns which checksums reading compares.
func (r *Reader) Verify() Verification { return r.Now().Opt.Verify }

// Extend is blob.Reader.Extend.
func (r *Reader) Extend() *dataset.Schema {
	r = r.Now()
	s := r.Schema
	if !r.Layout.Traits().Grows {
		s = s.RecordsOnly()
	}
	t := *s
	t.Dims, t.Vars, t.Files = slices.Clip(s.Dims), slices.Clip(s.Vars), s
	for i := range r.Schema.Vars {
		if v := &r.Schema.Vars[i]; !v.Record {
			t.Fixed = append(t.Fixed, v.Name)
		}
	}
	return &t
}

// Subfiles is blob.Reader.Subfiles.
func (r *Reader) Subfiles() (n, ranks int) {
	r = r.Now()
	s := r.Sets[0]
	for _, p := range s.Parts {
		if pl := p.header(); pl != nil {
			ranks = pl.Shape.Ranks
			break
		}
	}
	return len(s.Parts), ranks
}

// parallel calls f(0..n-1) from the reader's workers and waits for all.
func (r *Reader) parallel(n int, f func(i int)) { par.Do(r.Opt.Workers, n, f) }

// WideMaps reports whether a map of the dataset has int64 offsets.
func (r *Reader) WideMaps() bool {
	for _, p := range r.Sets[0].Parts {
		if pl := p.header(); pl != nil {
			return slices.Contains(pl.Shape.Wide, true)
		}
	}
	return false
}
