package blob

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"blobio/internal/base/cache"
	"blobio/internal/base/codec"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// A Reader gives the arrays of a dataset in canonical order, whatever its
// layout. It is safe for concurrent use.
type Reader struct {
	opt      OpenOptions
	fs       vfs.FS
	pool     *subfile.Pool
	base     string
	layout   Layout
	schema   *Schema
	records  int64
	manifest *subfile.Manifest
	pending  bool
	foreign  bool // subfiles without a manifest
	complete bool // all files were there when it was opened
	sets     []*set
	since    []int64 // of the last variables, which appends have added: the first record of the set that has them first
	families []*family
	maps     *cache.Cache[*lazyMap, *gotMap]
	known    *known      // with VerifyOnce
	zstd     *codec.Zstd // for chunks of so many bytes
	chunk    int64
	refs     int       // by OpenComm: closed when the last rank closes
	buffers  sync.Pool // of *[]byte, at most maxBatch bytes each
	seen     sync.Once // what replacedLate waits for
	late     sync.Mutex
	looks    int // by late: how often measure has waited
	mu       sync.Mutex
	caches   []weak.Pointer[blockCache] // that count in a pool of others; who follows a dataset makes one for each commit, and forgets it

	// Of the reader that Open has returned. Each state has a reader of its own behind it, so that no call sees two of them.
	newest atomic.Pointer[Reader] // after Refresh
	root   *Reader                // of one that Refresh has made: what Open has returned
	fresh  sync.Mutex             // held by Refresh
	stamp  string                 // by fresh: of newest

	life   context.Context // of what goes on behind a call; nil until there is such
	end    context.CancelFunc
	closed bool
	work   sync.WaitGroup
}

// behind does something in a goroutine, which Close ends and waits for; false if the Reader is closed.
func (r *Reader) behind(f func(ctx context.Context)) bool {
	r = r.opened()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.life == nil {
		r.life, r.end = context.WithCancel(context.Background())
	}
	r.work.Go(func() { f(r.life) })
	return true
}

// family is the sets that were written by the same ranks, with the same maps and grouping. The files of the first one have the maps that hold for all.
type family struct {
	home *set
	at   int // of home among all sets
	maps []lazyMap
}

// set is one set of subfiles: the whole dataset, or what an append or a commit added to it.
type set struct {
	family         *family
	first, records int64 // records of the dataset that it holds
	places         int64 // records for which its files have places, if there is a manifest
	parts          []*filePart
	schema         *Schema    // of the files: an appended set has record variables only
	vars           []VarID    // by variable of the dataset: its id in this set, -1 if it is not there
	blobs          int        // of all parts
	loading        sync.Mutex // of all parts' headers and tables
	loaded         bool
	fatal          error // why nothing of the set can be read
	err            error // why something of it cannot
}

func (r *Reader) numParts() (n int) {
	for _, s := range r.sets {
		n += len(s.parts)
	}
	return n
}

// Missing returns the names of the subfiles that are not there.
func (r *Reader) Missing() []string {
	r = r.now()
	return r.missing(r.sets)
}

func (r *Reader) missing(sets []*set) (names []string) {
	for _, s := range sets {
		for _, p := range s.parts {
			if p.gone() {
				names = append(names, p.wanted())
			}
		}
	}
	return names
}

// Unwritten returns how many bytes of the last variable a canonical file does
// not hold: they were never written, or are lost, and read as zeros.
func (r *Reader) Unwritten() int64 {
	r = r.now()
	if p := r.sets[0].parts[0]; p.place != nil && p.place.Plain {
		if last, end := p.place.LastPiece(r.records); p.place.FileLen >= last && p.place.FileLen < end {
			return end - p.place.FileLen
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
	r.work.Wait()
	for _, w := range r.caches {
		if k := w.Value(); k != nil {
			k.leave()
		}
	}
	err := r.pool.Close()
	if n := r.newest.Load(); n != nil {
		err = errors.Join(err, n.pool.Close())
	}
	return err
}

// Layout returns the layout of the dataset.
func (r *Reader) Layout() Layout { return r.now().layout }

// Compressed says whether files of the dataset are compressed: by the manifest, or the first header that is there.
func (r *Reader) Compressed() bool {
	r = r.now()
	if r.manifest != nil {
		return r.manifest.Codec != ""
	}
	for _, p := range r.sets[0].parts {
		if pl := p.header(); pl != nil {
			return pl.Packed != nil
		}
	}
	return false
}

// Verify returns which checksums reading compares.
func (r *Reader) Verify() Verification { return r.now().opt.Verify }

// Schema returns the canonical schema. For blob layouts it has the
// decompositions; the attributes that the layout adds are not in it.
func (r *Reader) Schema() *Schema { return r.now().schema }

// Extend returns a copy of the dataset's schema to which Dim and Var add dimensions, and variables with records, for AppendSchema. Its ids are those of
// that writer. What a dataset that is there cannot be given is an error of Schema.Err at once: fixed variables, decompositions, an unlimited
// dimension, and attributes of what it has, which Writer.SetAtt sets.
func (r *Reader) Extend() *Schema {
	r = r.now()
	s := r.schema
	if !r.layout.traits().Grows {
		s = s.recordsOnly()
	}
	t := *s
	t.dims, t.vars, t.files = slices.Clip(s.dims), slices.Clip(s.vars), s
	for i := range r.schema.vars {
		if v := &r.schema.vars[i]; !v.Record {
			t.fixed = append(t.fixed, v.Name)
		}
	}
	return &t
}

// Records returns the number of committed records.
func (r *Reader) Records() int64 { return r.now().records }

// Base returns the path of the dataset without subfile number.
func (r *Reader) Base() string { return r.base }

// Manifest returns the dataset's manifest, nil if it was written by another program.
func (r *Reader) Manifest() *subfile.Manifest { return r.now().manifest }

// Subfiles returns the number of subfiles of the first set, and the number of
// ranks that wrote the dataset.
func (r *Reader) Subfiles() (n, ranks int) {
	r = r.now()
	s := r.sets[0]
	for _, p := range s.parts {
		if pl := p.header(); pl != nil {
			ranks = pl.Shape.Ranks
			break
		}
	}
	return len(s.parts), ranks
}

// parallel calls f(0..n-1) from the reader's workers and waits for all.
func (r *Reader) parallel(n int, f func(i int)) { par.Do(r.opt.Workers, n, f) }

// wideMaps says whether a map of the dataset has int64 offsets.
func (r *Reader) wideMaps() bool {
	for _, p := range r.sets[0].parts {
		if pl := p.header(); pl != nil {
			return slices.Contains(pl.Shape.Wide, true)
		}
	}
	return false
}
