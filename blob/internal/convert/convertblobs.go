package convert

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/blob/internal/read"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
)

// toBlobs writes the output as blobs.
func (c *conversion) toBlobs(ctx context.Context) error {
	b, err := c.newBulk(ctx)
	if err := c.ranks.agree(ctx, err); err != nil {
		return err
	}
	b.w.Job.C = c.ranks.Comm
	var told []byte // the identity of the writer, and whether files have partial names
	if c.ranks.root() {
		if err = b.Create(ctx, c.Records); err == nil {
			told = fmt.Appendf(nil, "%s %t", b.w.Job.Ten.Id, lease.IsPartial(b.engines[0].File.Name))
		}
	}
	told, err = c.ranks.told(ctx, told, err)
	if err == nil && !c.ranks.root() {
		err = b.join(c, told)
	}
	units := c.units(1 << 62)
	if err == nil {
		err = c.fillBlobs(ctx, b, c.mine(units))
	}
	if c.ranks.Size() > 1 {
		err = c.merge(ctx, b, units, err)
	}
	if c.ranks.root() && err == nil {
		err = b.Commit(ctx, c.Records)
	}
	if c.ranks.root() && err != nil {
		b.abandon()
	}
	err = c.ranks.agree(ctx, errors.Join(err, b.w.Job.Ten.Leave()))
	_ = b.w.Job.Ten.Release()
	return err
}

func (c *conversion) newBulk(ctx context.Context) (*bulk, error) {
	maps, ranks, err := c.assign(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.keepsAll(ctx, maps); err != nil {
		return nil, err
	}
	b, err := NewBulk(c.out, c.Schema, maps, ranks, &dataset.Settings{Options: dataset.Options{Layout: c.o.Layout, Grouping: c.o.Grouping, Subfiles: c.o.Subfiles,
		Force: c.o.Force, Workers: c.o.Workers, Durability: c.o.Durability, Records: c.Records,
		WideMaps: c.o.WideMaps || c.R.Data.WideMaps(), Compress: c.o.Compress,
		Buffer: int(min(dataset.DefaultBuffer, max(c.o.Memory/16, 64<<10)))}, Knobs: c.Knobs})
	if err == nil && c.R.Files.Manifest != nil {
		b.unverified = c.R.Files.Opt.Verify == read.VerifyNever || c.R.Files.Manifest.Unverified
	}
	if err == nil && filepath.Clean(c.out) == filepath.Clean(c.R.Files.Base) {
		err = fault.Usage("convert: output %s is also the source", c.out)
	}
	return b, err
}

// fillBlobs copies units from canonical order into the blobs. It converts as many records of variables at once as fit into the
// memory twice.
func (c *conversion) fillBlobs(ctx context.Context, b *bulk, units work) error {
	c.progress.total.Add(units.bytes())
	limit := c.o.Memory / 4
	var some []unit
	for units.len() > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		some = c.take(&units, some[:0], limit, int64(max(1, maxPieces/b.ranks)))
		sum := int64(0)
		for _, u := range some {
			sum += c.bytesOf(u)
		}
		var err error
		if sum > 2*limit {
			err = c.fillLarge(ctx, b, some[0], limit)
		} else {
			err = c.fillSome(ctx, b, some)
		}
		if err != nil {
			return err
		}
		c.progress.add(sum)
	}
	return nil
}

// maxPieces limits the pieces that are converted at once. A piece is the part of one rank and needs some memory beside its bytes.
const maxPieces = 1 << 22

func (c *conversion) fillSome(ctx context.Context, b *bulk, items []unit) error {
	data := make([][][]byte, len(items)) // by item and rank; a variable without a decomposition has one entry for all ranks
	wins, alls := c.scratch(b, items)
	if err := c.read(ctx, items, func(k int) []byte { return wins[k] }, dataset.HostBig); err != nil {
		return err
	}
	par.Do(c.o.Workers, len(items), func(k int) {
		sv := &c.Schema.Vars[items[k].v]
		size, win := int64(sv.Type.Size()), wins[k]
		if sv.Decomp == 0 {
			data[k] = [][]byte{win}
			return
		}
		m := b.maps[sv.Decomp-1]
		all := alls[k]
		data[k] = make([][]byte, b.ranks)
		for r := range b.ranks {
			n := m.Count(r) * size
			data[k][r] = all[:n:n]
			m.Gather(all[:n], 0, win, 0, r, int(size))
			all = all[n:]
		}
	})
	return b.write(ctx, items, func(it, rank int) []byte {
		if len(data[it]) == 1 && c.Schema.Vars[items[it].v].Decomp == 0 {
			return data[it][0]
		}
		return data[it][rank]
	})
}

// scratch returns memory for each item in canonical order, and also in map order if the item is decomposed. It reuses the memory
// of the previous call, to avoid garbage.
func (c *conversion) scratch(b *bulk, items []unit) (wins, alls [][]byte) {
	lens := make([]int64, 0, 2*len(items))
	need := int64(0)
	for _, u := range items {
		sv := &c.Schema.Vars[u.v]
		size, blobs := int64(sv.Type.Size()), int64(0)
		if sv.Decomp != 0 {
			blobs = b.maps[sv.Decomp-1].Total() * size
		}
		lens = append(lens, (u.hi-u.lo)*size, blobs)
		need += (lens[len(lens)-2]+7)&^7 + (blobs+7)&^7 // so that elements stay aligned
	}
	if int64(cap(c.room)) < need {
		c.room = nil
		c.room = make([]byte, need)
	}
	room := c.room[:need]
	take := func(n int64) []byte {
		p := room[:n:n]
		room = room[(n+7)&^7:]
		return p
	}
	for k := range items {
		wins, alls = append(wins, take(lens[2*k])), append(alls, take(lens[2*k+1]))
	}
	return wins, alls
}

// fillLarge converts one record of a variable that does not fit into the memory. It converts the parts of a few ranks at once,
// and looks up each element in the source.
func (c *conversion) fillLarge(ctx context.Context, b *bulk, u unit, limit int64) error {
	sv := &c.Schema.Vars[u.v]
	if sv.Decomp == 0 {
		return fmt.Errorf("convert: record %d of %q has %d bytes and no decomposition, but ConvertOptions.Memory is %d: %w",
			u.rec, sv.Name, (u.hi-u.lo)*int64(sv.Type.Size()), c.o.Memory, dataset.ErrTooLarge)
	}
	m, size := b.maps[sv.Decomp-1], int64(sv.Type.Size())
	fm := c.form(dataset.HostBig)
	fm.Later = &read.Late{}
	for from := 0; from < b.ranks; {
		to, sum := from, int64(0)
		for to < b.ranks && (to == from || sum+m.Count(to)*size <= limit) {
			sum += m.Count(to) * size
			to++
		}
		if sum > 4*limit {
			return fmt.Errorf("convert: the blob of rank %d of %q has %d bytes, but ConvertOptions.Memory is %d: %w", from, sv.Name, sum, c.o.Memory, dataset.ErrTooLarge)
		}
		data := make([][]byte, to-from)
		for k := range data {
			data[k] = make([]byte, m.Count(from+k)*size)
			if err := c.RawRuns(ctx, u.v, u.rec, read.EachRun(m.Reqs(from+k)), data[k], fm); err != nil {
				return err
			}
		}
		if err := b.write(ctx, []unit{u}, func(_, rank int) []byte {
			if rank < from || rank >= to {
				return nil
			}
			return data[rank-from]
		}); err != nil {
			return err
		}
		from = to
	}
	return fm.Later.Settle(ctx)
}
