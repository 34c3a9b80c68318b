package convert

import (
	"context"
	"fmt"
	"sync"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/netcdf4"
	"blobio/cdf5"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/par"
	"blobio/internal/base/version"
)

// NetCDF4Options control the storage of a netCDF-4 file by Convert. The zero value does not compress.
type NetCDF4Options struct {
	Deflate    int   // level 1 to 9; 0: no compression
	Zstd       int   // level 1 to 22, instead of Deflate; 0: no zstd. HDF5 needs plugin 32015 to read such files
	NoShuffle  bool  // do not group the bytes of elements by significance before compression
	ChunkBytes int64 // maximum bytes of a chunk before compression; default 4 MiB, or an eighth of ConvertOptions.Memory if that is less
}

// leastShare is the part of the memory, as a divisor, that a chunk may use.
const leastShare = 8

func (o *NetCDF4Options) pipeline() h5.Pipeline {
	p := h5.Pipeline{Deflate: o.Deflate, Zstd: o.Zstd}
	p.Shuffle = p.On() && !o.NoShuffle
	return p
}

// validate checks the options. memory is ConvertOptions.Memory.
func (o *NetCDF4Options) validate(memory int64) error {
	if o == nil {
		return nil
	}
	if err := o.pipeline().Validate(); err != nil {
		return fault.Usage("ConvertOptions.NetCDF4: %v", err)
	}
	most := (&ConvertOptions{Memory: memory}).withDefaults().Memory / leastShare
	if o.ChunkBytes < 0 || o.ChunkBytes > min(most, 1<<30) {
		return fault.Usage("ConvertOptions.NetCDF4.ChunkBytes %d, want 0 to %d, the smaller of Memory/8 and 1 GiB", o.ChunkBytes, min(most, 1<<30))
	}
	return nil
}

// toNetCDF4 writes one netCDF-4 file. Only root writes, because the offset of a chunk depends on the sizes of all earlier
// chunks.
func (c *conversion) toNetCDF4(ctx context.Context) (err error) {
	if c.ranks.root() {
		err = c.writeNetCDF4(ctx)
	}
	return c.ranks.agree(ctx, err)
}

func (c *conversion) writeNetCDF4(ctx context.Context) error {
	hdr := c.Schema.CanonicalHeader(cdf5.CDF5)
	hdr.NumRecs = c.Records
	chunk := c.o.NetCDF4.ChunkBytes
	if chunk == 0 {
		chunk = min(netcdf4.DefaultChunkBytes, c.o.Memory/leastShare)
	}
	file, err := netcdf4.New(hdr, &netcdf4.Options{Filters: c.o.NetCDF4.pipeline(), ChunkBytes: chunk, Program: "blobio=" + version.Number})
	if err != nil {
		return fmt.Errorf("convert to %s: %w", c.out, err)
	}
	defer file.Close()
	out, err := c.output(ctx)
	if err != nil {
		return err
	}
	defer out.Discard()
	w := &nc4Writer{c: c, file: file, out: out, workers: int(max(1, min(int64(c.o.Workers), c.o.Memory/(leastShare*chunk))))}
	w.cut(max(chunk, min(c.o.Memory/int64(leastShare*w.workers), 64<<20)))
	if err := w.write(ctx); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	return nil
}

// nc4Writer writes the data of a netCDF-4 file, then its metadata.
type nc4Writer struct {
	c       *conversion
	file    *netcdf4.File
	out     *durable.Output
	workers int
	jobs    []nc4Job
	batches []int     // index of the first job of each batch, and the end
	bufs    sync.Pool // of *[]byte
}

// nc4Job is a part of a variable: some chunks, or elements of contiguous data.
type nc4Job struct {
	v          dataset.VarID
	chunked    bool
	first, end int64
	bytes      int64 // maximum
}

// maxJobs limits the jobs of one read, because each job needs some memory beside its bytes.
const maxJobs = 1 << 12

// cut divides the variables into jobs of at most limit bytes, or of one chunk. It groups jobs into batches of about limit
// bytes. Each batch is read with one call.
func (w *nc4Writer) cut(limit int64) {
	total, sum := int64(0), int64(0)
	for i, v := range w.file.Vars() {
		n, each := v.Bytes()/v.Elem(), v.Elem()
		chunked := v.Chunks() > 0
		if chunked {
			n, each = int64(v.Chunks()), v.ChunkBytes()
		}
		step := max(1, limit/each)
		for first := int64(0); first < n; first += step {
			j := nc4Job{v: dataset.VarID(i), chunked: chunked, first: first, end: min(first+step, n)}
			j.bytes = (j.end - j.first) * each
			if k := len(w.jobs); k == 0 || sum+j.bytes > limit || k-w.batches[len(w.batches)-1] == maxJobs {
				w.batches, sum = append(w.batches, k), 0
			}
			sum += j.bytes
			w.jobs = append(w.jobs, j)
		}
		total += v.Bytes()
	}
	w.batches = append(w.batches, len(w.jobs))
	w.c.progress.total.Add(total)
}

// nc4Batch is a batch that was read and packed.
type nc4Batch struct {
	data   []byte             // data as they were read; contiguous data are written from here
	out    []byte             // stored chunks, one after the other
	plain  []nc4Piece         // data of contiguous variables
	packed [][]netcdf4.Packed // by job
	err    error
}

// nc4Piece is contiguous data and its offset.
type nc4Piece struct {
	b   []byte
	off int64
}

// write packs batches in parallel and writes them in order, so that the bytes of the file do not depend on the workers.
func (w *nc4Writer) write(ctx context.Context) error {
	f, at := w.out.File(), w.file.Start()
	if err := f.Truncate(at); err != nil { // the file may end without chunks
		return err
	}
	for i, d := range par.Ordered(ctx, w.workers, len(w.batches)-1, w.do) {
		if d.err != nil {
			return d.err
		}
		for _, p := range d.plain {
			if _, err := f.WriteAt(p.b, p.off); err != nil {
				return err
			}
		}
		if len(d.out) > 0 {
			if _, err := f.WriteAt(d.out, at); err != nil {
				return err
			}
		}
		for k, packed := range d.packed {
			j := &w.jobs[w.batches[i]+k]
			for n, p := range packed {
				w.file.Vars()[j.v].SetChunk(int(j.first)+n, at, p.Len, p.Mask)
				at += p.Len
			}
		}
		w.give(d.out)
		w.give(d.data)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := w.c.late.settle(ctx); err != nil {
		return err
	}
	meta, err := w.file.Encode(at)
	if err != nil {
		return fmt.Errorf("convert to %s: %w", w.c.out, err)
	}
	_, err = f.WriteAt(meta, 0)
	return err
}

// do reads and compresses a batch.
func (w *nc4Writer) do(ctx context.Context, i int) (d nc4Batch) {
	c, jobs := w.c, w.jobs[w.batches[i]:w.batches[i+1]]
	total := int64(0)
	for k := range jobs {
		total += jobs[k].bytes
	}
	d.data = w.take(total)
	var units []unit
	var dst [][]byte
	at := int64(0)
	lens := make([]int64, len(jobs)) // bytes of each job
	for k := range jobs {
		j := &jobs[k]
		v := w.file.Vars()[j.v]
		spans := []netcdf4.Span{{Lo: j.first, Hi: j.end}}
		if j.chunked {
			spans = v.Spans(j.first, j.end, c.Schema.Vars[j.v].Record)
		}
		for _, s := range spans {
			n := (s.Hi - s.Lo) * v.Elem()
			units, dst = append(units, unit{v: j.v, rec: s.Rec, lo: s.Lo, hi: s.Hi}), append(dst, d.data[at:at+n])
			at, lens[k] = at+n, lens[k]+n
		}
	}
	if d.err = c.read(ctx, units, func(k int) []byte { return dst[k] }, false); d.err != nil {
		return d
	}
	d.out, at = w.take(total)[:0], 0
	var room []byte
	for k := range jobs {
		j := &jobs[k]
		v, b := w.file.Vars()[j.v], d.data[at:at+lens[k]]
		at += lens[k]
		var packed []netcdf4.Packed
		if !j.chunked {
			d.plain = append(d.plain, nc4Piece{b, v.Offset() + j.first*v.Elem()})
		} else {
			if n := 2 * v.ChunkBytes(); int64(len(room)) < n {
				room = w.take(n)
			}
			if d.out, packed, d.err = v.Pack(d.out, b, room, j.first, j.end); d.err != nil {
				d.err = fmt.Errorf("convert: variable %q: %w", c.Schema.Vars[j.v].Name, d.err)
				return d
			}
		}
		d.packed = append(d.packed, packed)
		c.progress.add(lens[k])
	}
	w.give(room)
	return d
}

// take returns a buffer of n bytes; give returns it to the pool.
func (w *nc4Writer) take(n int64) []byte {
	if b, _ := w.bufs.Get().(*[]byte); b != nil && int64(cap(*b)) >= n {
		return (*b)[:n]
	}
	return make([]byte, n)
}

func (w *nc4Writer) give(b []byte) { w.bufs.Put(&b) }
