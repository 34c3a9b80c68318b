package zarr

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"
	"path"
	"path/filepath"
	"sync/atomic"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/base/chunks"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// WriteOptions are the options of Write. The zero value, or nil, means the defaults.
type WriteOptions struct {
	Options                          // Version must be V3
	Force    bool                    // replace an existing Zarr group; nothing else is ever replaced
	NoSync   bool                    // do not wait until the output is on disk
	Memory   int64                   // limit of buffers in bytes, without the buffers of the Reader; default 256 MiB. At least one chunk is in memory
	Workers  int                     // default GOMAXPROCS
	Progress func(done, total int64) // in bytes of the arrays; called by several goroutines
	FS       vfs.FS                  // file system of the output
}

const (
	defaultMemory = 256 << 20
	maxBand       = 64 << 20 // maximum bytes read at once
)

// Write writes a dataset as a Zarr 3 directory, which gets its name when it is complete and durable. The Reader compares
// checksums. It must have been opened with VerifyOnce or more, so that all data are compared, or with VerifyNever. The ranks of
// c share the work, and all pass the same arguments. A single process passes comm.Self(). Collective.
func Write(ctx context.Context, c comm.Comm, src Source, dir string, o *WriteOptions) error {
	if o == nil {
		o = &WriteOptions{}
	}
	w := &writing{c: c, dir: dir, o: *o}
	err := w.prepare(src)
	var temp []byte
	if err == nil && w.root() {
		if err = w.begin(ctx); err == nil {
			temp = []byte(w.out.Temp())
		}
	}
	defer func() { w.out.Discard() }()
	if err = w.agree(ctx, err); err != nil {
		return err
	}
	if temp, err = c.Bcast(ctx, 0, temp); err != nil {
		return err
	}
	if !w.root() {
		w.files = durable.FilesIn(w.o.FS, string(temp), !w.o.NoSync)
	}
	if err = w.agree(ctx, w.fill(ctx)); err != nil {
		return err
	}
	if w.root() {
		err = w.out.Commit()
	}
	return w.agree(ctx, err)
}

type writing struct {
	c     comm.Comm
	s     *Store
	dir   string
	o     WriteOptions
	out   *durable.OutputDir // the output directory for root
	files *durable.Files
	done  atomic.Int64
}

func (w *writing) root() bool { return w.c.Rank() == 0 }

// agree is comm.Agree. With only one rank, the error does not name the rank.
func (w *writing) agree(ctx context.Context, err error) error {
	if w.c.Size() == 1 {
		return err
	}
	return comm.Agree(ctx, w.c, err)
}

func (w *writing) prepare(src Source) (err error) {
	switch o := &w.o; {
	case o.Version != V3:
		return fault.Usage("WriteOptions.Version %d, want 3 for directories", o.Version)
	case o.Memory < 0 || o.Workers < 0:
		return fault.Usage("WriteOptions.Memory %d and Workers %d, want >= 0", o.Memory, o.Workers)
	}
	if r, ok := src.(*blob.Reader); ok && r.Verify() == blob.VerifyWhole {
		return fault.Usage("the Reader of %s verifies only whole pieces, want VerifyOnce", r.Base())
	}
	w.o.FS = vfs.OrOS(w.o.FS)
	if w.o.Memory == 0 {
		w.o.Memory = defaultMemory
	}
	w.o.Workers = par.Workers(w.o.Workers)
	w.s, err = New(src, &w.o.Options)
	return err
}

// begin makes the directory, the directories of the arrays, and the metadata.
func (w *writing) begin(ctx context.Context) (err error) {
	o := durable.DirOptions{NoSync: w.o.NoSync}
	if w.o.Force {
		o.Replace = func(dir string) error { return isGroup(w.o.FS, dir) }
	}
	if w.out, err = durable.NewOutputDir(ctx, w.o.FS, w.dir, o); err != nil {
		return err
	}
	w.files = w.out.Files
	for i := range w.s.arrays {
		if err := w.files.Mkdir(w.s.arrays[i].name); err != nil {
			return err
		}
	}
	for _, key := range w.s.keys {
		if err := w.files.Write(filepath.FromSlash(key), w.s.meta[key]); err != nil {
			return err
		}
	}
	return nil
}

// isGroup returns nil if a directory is a Zarr group of either version: nothing else may be replaced.
func isGroup(fsys vfs.FS, dir string) error {
	for _, key := range []string{"zarr.json", ".zgroup"} {
		info, err := vfs.Lstat(fsys, filepath.Join(dir, key))
		if err == nil && info.Mode().IsRegular() {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fault.Class(blob.ErrExist, "the output %s is a directory, but not a Zarr group", dir)
}

// bands are the parts of an array that are read at once: several consecutive chunks.
type bands struct {
	a      *array
	chunks int64   // maximum chunks per band
	split  int     // the dimension along which a band's chunks are consecutive; -1: only one chunk
	counts []int64 // number of bands along each dimension
	n      int64
}

func (a *array) bands(limit int64) bands {
	b := bands{a: a, chunks: 1, split: a.grid.Split(), counts: a.grid.Counts(), n: 1}
	// The source reads record by record, so a band of several record chunks would gain nothing.
	if b.split > 0 || b.split == 0 && !a.record {
		b.chunks = min(max(limit/a.chunkBytes(), 1), b.counts[b.split])
		b.counts[b.split] = (b.counts[b.split] + b.chunks - 1) / b.chunks
	}
	for _, k := range b.counts {
		b.n *= k
	}
	return b
}

// at returns the index of the first chunk of band k, and its number of chunks.
func (b *bands) at(k int64) (index []int64, n int64) {
	index = chunks.Index(k, b.counts)
	if b.split < 0 {
		return index, 1
	}
	all := b.a.grid.Counts()[b.split]
	index[b.split] *= b.chunks
	return index, min(b.chunks, all-index[b.split])
}

// fill writes this rank's chunks.
func (w *writing) fill(ctx context.Context) error {
	limit := max(min(w.o.Memory/int64(3*w.o.Workers), maxBand), MinChunk)
	var all []bands
	total, largest := int64(0), int64(1)
	for i := range w.s.arrays {
		b := w.s.arrays[i].bands(limit)
		all, total = append(all, b), total+b.n
		largest = max(largest, b.a.chunkBytes()*b.chunks)
	}
	workers := int(max(min(int64(w.o.Workers), w.o.Memory/(2*largest)), 1)) // each needs a band and a compressed chunk
	from, to := share(total, w.c)
	if to-from > math.MaxInt32 {
		return fault.Class(blob.ErrTooLarge, "%s: a chunk needs more than %d reads, want larger chunks", w.dir, math.MaxInt32)
	}
	return par.Crew(ctx, workers, int(to-from), func(ctx context.Context, items iter.Seq[int]) error {
		var buf []byte
		for item := range items {
			k := from + int64(item)
			i := 0
			for ; k >= all[i].n; i++ {
				k -= all[i].n
			}
			if err := w.band(ctx, &all[i], k, &buf); err != nil {
				return err
			}
		}
		return nil
	})
}

// share returns a rank's part of n items.
func share(n int64, c comm.Comm) (from, to int64) {
	of := func(rank int) int64 {
		return n/int64(c.Size())*int64(rank) + n%int64(c.Size())*int64(rank)/int64(c.Size())
	}
	return of(c.Rank()), of(c.Rank() + 1)
}

// band writes the chunks of band k of an array.
func (w *writing) band(ctx context.Context, b *bands, k int64, buf *[]byte) error {
	a := b.a
	index, n := b.at(k)
	start, count := a.grid.Region(index)
	if b.split >= 0 {
		count[b.split] = min(n*a.grid.Chunk[b.split], a.grid.Full[b.split]-start[b.split])
	}
	size := a.chunkBytes()
	if int64(len(*buf)) < n*size {
		*buf = make([]byte, n*size)
	}
	data := (*buf)[:n*size]
	got := elems(count) * int64(a.v.Type.Size())
	if err := w.s.read(ctx, a, start, count, data[:got]); err != nil {
		return err
	}
	a.pad(data[got:])
	for ; len(data) > 0; data = data[size:] {
		c, err := w.s.codecs.encode(data[:size])
		if err == nil {
			err = w.files.Write(filepath.FromSlash(path.Join(a.name, w.s.chunkKey(index))), c)
		}
		if err != nil {
			return err
		}
		if b.split >= 0 {
			index[b.split]++
		}
	}
	if done := w.done.Add(got); w.o.Progress != nil {
		w.o.Progress(done, w.s.bytes/int64(w.c.Size()))
	}
	return nil
}
