package blob

import (
	"context"
	"fmt"
	"sync"

	"blobio/cdf5"
	"blobio/internal/durable"
	"blobio/internal/h5"
	"blobio/internal/nc4"
	"blobio/internal/par"
	"blobio/internal/version"
)

// NetCDF4Options say how Convert stores a netCDF-4 file. The zero value does not compress.
type NetCDF4Options struct {
	Deflate    int   // level 1 to 9; 0: none
	Zstd       int   // instead of Deflate, level 1 to 22; 0: none. HDF5 needs a plugin to read it: filter 32015
	NoShuffle  bool  // compress the bytes of elements as they are, not all first bytes, all second bytes, ...
	ChunkBytes int64 // of a chunk before compression, at most; default 4 MiB, or an eighth of ConvertOptions.Memory if that is less
}

// leastShare is what part of the memory a chunk may be.
const leastShare = 8

func (o *NetCDF4Options) pipeline() h5.Pipeline {
	p := h5.Pipeline{Deflate: o.Deflate, Zstd: o.Zstd}
	p.Shuffle = p.On() && !o.NoShuffle
	return p
}

// validate says what is wrong with the options. memory is ConvertOptions.Memory.
func (o *NetCDF4Options) validate(memory int64) error {
	if o == nil {
		return nil
	}
	if err := o.pipeline().Validate(); err != nil {
		return pkg.Usage("ConvertOptions.NetCDF4: %v", err)
	}
	most := (&ConvertOptions{Memory: memory}).withDefaults().Memory / leastShare
	if o.ChunkBytes < 0 || o.ChunkBytes > min(most, 1<<30) {
		return pkg.Usage("ConvertOptions.NetCDF4.ChunkBytes %d, want 0 to %d: an eighth of Memory and at most 1 GiB", o.ChunkBytes, min(most, 1<<30))
	}
	return nil
}

// toNetCDF4 writes one netCDF-4 file. The root does so alone: where a chunk goes follows from those before it.
func (c *conversion) toNetCDF4(ctx context.Context) (err error) {
	if c.root() {
		err = c.writeNetCDF4(ctx)
	}
	return c.agree(ctx, err)
}

func (c *conversion) writeNetCDF4(ctx context.Context) error {
	hdr := c.schema.canonicalHeader(cdf5.CDF5)
	hdr.NumRecs = c.records
	chunk := c.o.NetCDF4.ChunkBytes
	if chunk == 0 {
		chunk = min(nc4.DefaultChunkBytes, c.o.Memory/leastShare)
	}
	file, err := nc4.New(hdr, &nc4.Options{Filters: c.o.NetCDF4.pipeline(), ChunkBytes: chunk, Program: "blobio=" + version.Number})
	if err != nil {
		return pkg.Errorf("convert to %s: %w", c.out, err)
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
		return pkg.Errorf("convert: %w", err)
	}
	return nil
}

// nc4Writer writes the data of a netCDF-4 file, then what the file says of itself.
type nc4Writer struct {
	c       *conversion
	file    *nc4.File
	out     *durable.Output
	workers int
	jobs    []nc4Job
	bufs    sync.Pool // of *[]byte
}

// nc4Job is a part of a variable that is read and packed at once: chunks, or elements of contiguous data.
type nc4Job struct {
	v          VarID
	chunked    bool
	first, end int64
}

// cut divides the variables into jobs of at most limit bytes, or one chunk.
func (w *nc4Writer) cut(limit int64) {
	total := int64(0)
	for i, v := range w.file.Vars() {
		n, each := v.Bytes()/v.Elem(), v.Elem()
		chunked := v.Chunks() > 0
		if chunked {
			n, each = int64(v.Chunks()), v.ChunkBytes()
		}
		step := max(1, limit/each)
		for first := int64(0); first < n; first += step {
			w.jobs = append(w.jobs, nc4Job{VarID(i), chunked, first, min(first+step, n)})
		}
		total += v.Bytes()
	}
	w.c.total.Add(total)
}

// nc4Done is a job that was read and packed.
type nc4Done struct {
	buf    []byte
	packed []nc4.Packed
	err    error
}

// write packs jobs in parallel and writes them in order, so that the bytes of the file do not depend on the workers.
func (w *nc4Writer) write(ctx context.Context) error {
	f, at := w.out.File(), w.file.Start()
	for i, d := range par.Ordered(ctx, w.workers, len(w.jobs), w.do) {
		if d.err != nil {
			return d.err
		}
		j := &w.jobs[i]
		v := w.file.Vars()[j.v]
		off := at
		if !j.chunked {
			off = v.Offset() + j.first*v.Elem()
		}
		if _, err := f.WriteAt(d.buf, off); err != nil {
			return err
		}
		for k, p := range d.packed {
			v.SetChunk(int(j.first)+k, at, p.Len, p.Mask)
			at += p.Len
		}
		w.give(d.buf)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := w.c.settle(ctx); err != nil {
		return err
	}
	meta, err := w.file.Encode(at)
	if err != nil {
		return pkg.Errorf("convert to %s: %w", w.c.out, err)
	}
	if err := f.Truncate(at); err != nil { // contiguous data without elements may have been the last
		return err
	}
	_, err = f.WriteAt(meta, 0)
	return err
}

// do reads and packs a job.
func (w *nc4Writer) do(ctx context.Context, i int) (d nc4Done) {
	c, j := w.c, &w.jobs[i]
	v, sv := w.file.Vars()[j.v], &c.schema.vars[j.v]
	spans := []nc4.Span{{Lo: j.first, Hi: j.end}}
	if j.chunked {
		spans = v.Spans(j.first, j.end, sv.Record)
	}
	n := int64(0)
	for _, s := range spans {
		n += (s.Hi - s.Lo) * v.Elem()
	}
	data := w.take(n)
	for at := int64(0); len(spans) > 0; spans = spans[1:] {
		s := spans[0]
		k := (s.Hi - s.Lo) * v.Elem()
		if d.err = c.read(ctx, unit{v: j.v, rec: s.Rec, lo: s.Lo, hi: s.Hi}, data[at:at+k], false); d.err != nil {
			return d
		}
		at += k
	}
	c.progress(n)
	if !j.chunked {
		d.buf = data
		return d
	}
	room := w.take(2 * v.ChunkBytes())
	d.buf, d.packed, d.err = v.Pack(w.take(n)[:0], data, room, j.first, j.end)
	if d.err != nil {
		d.err = fmt.Errorf("convert: variable %q: %w", sv.Name, d.err)
	}
	w.give(room)
	w.give(data)
	return d
}

// take returns a buffer of n bytes; give has it used again.
func (w *nc4Writer) take(n int64) []byte {
	if b, _ := w.bufs.Get().(*[]byte); b != nil && int64(cap(*b)) >= n {
		return (*b)[:n]
	}
	return make([]byte, n)
}

func (w *nc4Writer) give(b []byte) { w.bufs.Put(&b) }
