package blocks

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/durable"
	"blobio/internal/elem"
	"blobio/internal/vfs"
)

// loader gives a block with its data.
type loader func(ctx context.Context, p *placed) (*placed, error)

// output begins the canonical file, on rank 0.
func output(ctx context.Context, name string, o *Options) (*durable.Output, error) {
	out, err := durable.NewOutput(ctx, vfs.OS, name, durable.OutputOptions{Force: o.Force,
		NoSync: o.Durability == blob.DurableNone, NoSyncDir: o.Durability != blob.DurableCommit})
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	return out, nil
}

// writeCanonical writes one CDF-5 file. Collective.
func writeCanonical(ctx context.Context, c comm.Comm, name string, l *layout, list []placed, load loader, o *Options) error {
	var out *durable.Output
	var err error
	if c.Rank() == 0 {
		out, err = output(ctx, name, o)
		defer func() { out.Discard() }()
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return err
	}
	if err = fill(ctx, c, out, l, list, load, o); err == nil && c.Rank() == 0 {
		err = out.Commit()
	}
	return comm.Agree(ctx, c, err)
}

// fill writes the file that rank 0 has begun: each rank the rows of its blocks, rank 0 the header, last.
// A block is loaded once; at most Buffer bytes of each variable are held. Collective.
func fill(ctx context.Context, c comm.Comm, out *durable.Output, l *layout, list []placed, load loader, o *Options) error {
	h := l.header()
	if err := h.Layout(nil); err != nil {
		return err
	}
	f, mine, err := open(ctx, c, out, vfs.OS)
	if err != nil {
		return err
	}
	err = writeRows(ctx, f, h, l, list, load, o)
	if mine && err == nil && o.Durability != blob.DurableNone {
		err = f.Sync()
	}
	err = comm.Agree(ctx, c, err) // another rank may use what this one closes
	if mine {
		err = errors.Join(err, f.Close())
	}
	if err == nil && c.Rank() == 0 {
		err = writeHeader(f, h)
	}
	return comm.Agree(ctx, c, err)
}

// open opens the file once in each process; mine says that this rank did, and closes it. Rank 0 has it open. Collective.
func open(ctx context.Context, c comm.Comm, out *durable.Output, fsys vfs.FS) (f vfs.File, mine bool, err error) {
	var temp []byte
	if c.Rank() == 0 {
		f, temp = out.File(), []byte(out.Temp())
	}
	if temp, err = c.Bcast(ctx, 0, temp); err != nil {
		return nil, false, err
	}
	peers, err := c.Share(ctx, c.Rank())
	if err != nil {
		return nil, false, err
	}
	first := 0
	for peers[first] == nil {
		first++
	}
	if mine = first == c.Rank() && f == nil; mine {
		f, err = fsys.OpenRW(string(temp))
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, false, closed(f, mine, err)
	}
	files, err := c.Share(ctx, f)
	if err != nil {
		return nil, false, closed(f, mine, err)
	}
	return files[first].(vfs.File), mine, nil
}

func closed(f vfs.File, mine bool, err error) error {
	if mine && f != nil {
		_ = f.Close() // the error before is the one to tell
	}
	return err
}

// writeHeader makes the file a CDF file. What no block has at its end is a hole.
func writeHeader(f vfs.File, h *cdf5.Header) error {
	b, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		return err
	}
	if size, err := f.Size(); err != nil {
		return err
	} else if size < h.FileSize(0) {
		if err := f.Truncate(h.FileSize(0)); err != nil {
			return err
		}
	}
	_, err = f.WriteAt(b, 0)
	return err
}

// pending are rows of a variable that are not written yet, in file order of bytes.
type pending struct {
	off int64 // in the file
	buf []byte
}

// writeRows writes all variables of the blocks, big endian. Blocks are taken in
// groups of about Buffer bytes, so that a block is loaded once.
func writeRows(ctx context.Context, f vfs.File, h *cdf5.Header, l *layout, list []placed, load loader, o *Options) error {
	places := h.Places()
	wait := make([]pending, len(l.vars))
	flush := func(v int) error {
		p := &wait[v]
		if len(p.buf) == 0 {
			return nil
		}
		_, err := f.WriteAt(p.buf, p.off)
		p.off, p.buf = p.off+int64(len(p.buf)), p.buf[:0]
		return err
	}
	most := shares(l, list, o.Buffer)
	scratch := make([]byte, 0, 64)
	for i := range list {
		if i%16 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := load(ctx, &list[i])
		if err != nil {
			return err
		}
		var crc uint32
		for k := range l.vars {
			v := &l.vars[k]
			p.summed(v, crc)
			row, err := rowOf(l, v, scratch, p)
			if err != nil {
				return err
			}
			first, n := p.rows(l, v)
			if n == 0 {
				continue
			}
			begin, _ := places.Extent(k, 0)
			off := begin + first*l.rowBytes(v)
			if q := &wait[k]; q.off+int64(len(q.buf)) != off {
				if err := flush(k); err != nil {
					return err
				}
				q.off = off
			}
			if err := add(f, &wait[k], row, v.typ.Size(), most[k], &crc); err != nil {
				return err
			}
		}
	}
	for k := range wait {
		if err := flush(k); err != nil {
			return err
		}
	}
	return nil
}

// shares divides a buffer among the variables, by what a block has of them.
func shares(l *layout, list []placed, buffer int) []int {
	size := make([]float64, len(l.vars))
	sum := 1.0
	for k := range l.vars {
		v := &l.vars[k]
		size[k] = float64(l.rowBytes(v))
		if v.list >= 0 && len(list) > 0 {
			size[k] *= float64(l.lists[v.list].total) / float64(l.dims[0].Len)
		}
		sum += size[k]
	}
	out := make([]int, len(l.vars))
	for k := range out {
		most := size[k]*float64(len(list)) + 64 // all that there is
		out[k] = int(min(max(float64(buffer)*size[k]/sum, 4<<10), most)) / 8 * 8
	}
	return out
}

// add swaps a row into the buffer, adds it to the checksum, and writes the buffer whenever it is full.
func add(f vfs.File, q *pending, row []byte, width, most int, crc *uint32) error {
	if q.buf == nil {
		q.buf = make([]byte, 0, most)
	}
	for len(row) > 0 {
		if free := (cap(q.buf) - len(q.buf)) / width * width; free == 0 {
			if _, err := f.WriteAt(q.buf, q.off); err != nil {
				return err
			}
			q.off, q.buf = q.off+int64(len(q.buf)), q.buf[:0]
		} else {
			n := min(free, len(row))
			at := len(q.buf)
			q.buf = q.buf[:at+n]
			elem.Reorder(q.buf[at:], row[:n], width, true)
			*crc = crc32.Update(*crc, crc32.IEEETable, q.buf[at:])
			row = row[n:]
		}
	}
	return nil
}
