// Package read opens and reads datasets: manifests and headers, maps, data with their checksums, collective reads, and
// canonical files, which are computed on demand.
package read

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"blobio/blob/internal/dataset"
	"blobio/cdf5"
	"blobio/internal/base/codec"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// Reader is blob.Reader: one state of a dataset, split into parts. Refresh makes a new Reader for a later state, so that no
// call sees two states. All these Readers share Life.
type Reader struct {
	Files  *Files
	Data   *Data
	Maps   *Maps
	Prover *Prover
	Elems  *Elems
	Life   *Life

	// Only the Reader that Open returned uses the following fields.
	newest atomic.Pointer[Reader] // the newest state, set by Refresh
	fresh  sync.Mutex             // held by Refresh
	stamp  string                 // guarded by fresh: identifies the state of newest
}

// Files knows the paths of the files of a dataset, opens them, and checks that they belong to it.
type Files struct {
	Opt      OpenOptions
	Fs       vfs.FS
	Pool     *subfile.Pool
	Base     string
	Manifest *subfile.Manifest
	Pending  bool
	foreign  bool      // the dataset has no manifest
	seen     sync.Once // for replacedLate
	late     sync.Mutex
	looks    int // guarded by late: how often Measure has waited
	mu       sync.Mutex
	zstd     *codec.Zstd // guarded by mu; decompresses chunks of chunk bytes
	chunk    int64
}

// Data is the content of a dataset: its schema, its records, and the sets of subfiles that have them.
type Data struct {
	Files    *Files
	Layout   dataset.Layout
	Schema   *dataset.Schema
	Records  int64
	complete bool // all files existed when this state was opened
	Sets     []*Set
	since    []int64 // by added variable: the first record of the first set that has the variable
	Families []*family
}

// Elems reads elements of variables from their blobs.
type Elems struct {
	Files   *Files
	Data    *Data
	Maps    *Maps
	Prover  *Prover
	buffers sync.Pool // *[]byte of at most maxBatch bytes
}

// Life holds the goroutines and caches of a Reader until its last rank closes it.
type Life struct {
	refs   int // number of ranks that still have to call Close
	mu     sync.Mutex
	Caches []weak.Pointer[blockCache] // caches in a shared pool; weak, because a program that follows a dataset makes a cache for each commit and drops it
	ctx    context.Context            // nil until the first goroutine starts
	end    context.CancelFunc
	closed bool
	Work   sync.WaitGroup
}

// Behind runs f in a goroutine. Close cancels f and waits for it. Behind returns false if the Reader is closed.
func (l *Life) Behind(f func(ctx context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.ctx == nil {
		l.ctx, l.end = context.WithCancel(context.Background())
	}
	l.Work.Go(func() { f(l.ctx) })
	return true
}

// newReader makes the reader of a dataset that is not open yet.
func newReader(o OpenOptions, fsys vfs.FS, base string) *Reader {
	files := &Files{Opt: o, Fs: fsys, Base: base}
	files.Pool = subfile.NewPool(watched{fsys, files}, o.MaxOpen)
	data := &Data{Files: files}
	maps, prover := newMaps(files, data), &Prover{files, NewKnown()}
	elems := &Elems{Files: files, Data: data, Maps: maps, Prover: prover}
	return &Reader{Files: files, Data: data, Maps: maps, Prover: prover, Elems: elems, Life: &Life{refs: 1}}
}

// family is the sets that the same ranks have written with the same maps and grouping. The files of the first set have the maps
// of all sets.
type family struct {
	Home *Set
	at   int // index of Home in Data.Sets
	Maps []lazyMap
}

// Set is one set of subfiles: the files of Create, or the files that an append or a commit has added.
type Set struct {
	of             *Data
	family         *family
	First, Records int64 // the records of the dataset that the set holds
	places         int64 // number of records for which the files have room, if there is a manifest
	Parts          []*FilePart
	schema         *dataset.Schema // schema of the files; an appended set has only record variables
	vars           []dataset.VarID // by variable of the dataset: its id in this set, or -1
	blobs          int             // number of blobs of all parts
	loading        sync.Mutex      // held while headers and tables of all parts are loaded
	loaded         bool
	fatal          error // why no element of the set can be read
	err            error // why some elements of the set cannot be read
}

func (r *Data) NumParts() (n int) {
	for _, s := range r.Sets {
		n += len(s.Parts)
	}
	return n
}

// Missing returns the names of missing subfiles.
func (r *Data) Missing() []string {
	return r.MissingIn(r.Sets)
}

func (r *Data) MissingIn(sets []*Set) (names []string) {
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
func (r *Data) Unwritten() int64 {
	if p := r.Sets[0].Parts[0]; p.Place != nil && p.Place.Plain {
		if last, end := p.Place.Header.LastPiece(r.Records); p.Place.FileLen >= last && p.Place.FileLen < end {
			return end - p.Place.FileLen
		}
	}
	return 0
}

// Close releases the files.
func (r *Reader) Close() error {
	r.Life.mu.Lock()
	r.Life.refs--
	last := r.Life.refs <= 0
	r.Life.closed = r.Life.closed || last
	if last && r.Life.end != nil {
		r.Life.end()
	}
	r.Life.mu.Unlock()
	if !last {
		return nil
	}
	r.Life.Work.Wait()
	for _, w := range r.Life.Caches {
		if k := w.Value(); k != nil {
			k.leave()
		}
	}
	err := r.Files.Pool.Close()
	if n := r.newest.Load(); n != nil {
		err = errors.Join(err, n.Files.Pool.Close())
	}
	return err
}

// Compressed reports whether files of the dataset are compressed, according to the manifest or to the first existing header.
func (r *Data) Compressed() bool {
	if r.Files.Manifest != nil {
		return r.Files.Manifest.Codec != ""
	}
	for _, p := range r.Sets[0].Parts {
		if pl := p.header(); pl != nil {
			return pl.Packed != nil
		}
	}
	return false
}

// Extend is blob.Reader.Extend.
func (r *Data) Extend() *dataset.Schema {
	s := r.Schema
	if !r.Layout.Traits().Grows {
		s = s.RecordsOnly()
	}
	x := &dataset.Extension{Files: s}
	for i := range r.Schema.Vars {
		if v := &r.Schema.Vars[i]; !v.Record {
			x.Fixed = append(x.Fixed, v.Name)
		}
	}
	t := *s
	t.Dims, t.Vars, t.Extends = slices.Clip(s.Dims), slices.Clip(s.Vars), x
	return &t
}

// Subfiles is blob.Reader.Subfiles.
func (r *Data) Subfiles() (n, ranks int) {
	s := r.Sets[0]
	for _, p := range s.Parts {
		if pl := p.header(); pl != nil {
			ranks = pl.Shape.Ranks
			break
		}
	}
	return len(s.Parts), ranks
}

// parallel calls f(0) to f(n-1) in the reader's workers and waits for all calls.
func (r *Files) parallel(n int, f func(i int)) { par.Do(r.Opt.Workers, n, f) }

// WideMaps reports whether a map of the dataset has int64 offsets.
func (r *Data) WideMaps() bool {
	for _, p := range r.Sets[0].Parts {
		if pl := p.header(); pl != nil {
			return slices.Contains(pl.Shape.Wide, true)
		}
	}
	return false
}

// File is one file of a dataset.
type File struct {
	Set     int    // 0, or the number of the append that made the set (process-centric)
	Index   int    // subfile number within the set
	Name    string // path; also set for a missing file
	Missing bool
	Size    int64 // in bytes; 0 if the file is missing
}

// List lists the files of the dataset. It does not open them.
func (r *Data) List() []File {
	var out []File
	for k, s := range r.Sets {
		for _, p := range s.Parts {
			f := File{Set: k, Index: p.Index, Name: p.Wanted(), Missing: true}
			if info, err := r.Files.Fs.Stat(f.Name); err == nil {
				f.Missing, f.Size = false, info.Size()
			}
			out = append(out, f)
		}
	}
	return out
}

// NetCDF4 reports whether the dataset is an ordinary netCDF-4 file, which is read as the equivalent CDF-5 file.
func (r *Data) NetCDF4() bool { return r.Sets[0].Parts[0].View != nil }

// LeftOut is blob.Reader.LeftOut.
func (r *Data) LeftOut() []error {
	if v := r.Sets[0].Parts[0].View; v != nil {
		return v.LeftOut()
	}
	return nil
}

// Version returns the version of the header. For both blob layouts and for netCDF-4 files it is CDF5.
func (r *Data) Version() cdf5.Version {
	for _, s := range r.Sets {
		for _, p := range s.Parts {
			if pl := p.header(); pl != nil {
				return pl.Header.Version
			}
		}
	}
	return 0
}
