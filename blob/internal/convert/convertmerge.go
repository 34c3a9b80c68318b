package convert

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/blob/internal/write"
	"blobio/comm"
)

// join lets this process write into the files that the root of the conversion has made. The root writes the map variables and
// all metadata.
func (b *bulk) join(c *conversion, told []byte) (err error) {
	var id string
	var rename bool
	if _, err := fmt.Sscan(string(told), &id, &rename); err != nil {
		return fmt.Errorf("convert: invalid message %q from rank 0: %w", told, err)
	}
	b.w.Job.Ten = lease.Serve(b.opt.Fs, b.base, id, comm.Apart(c.ranks.Comm))
	b.engines[0].Proc.Tenure.Store(b.w.Job.Ten)
	for _, e := range b.engines {
		e.File.Called(b.base, rename, b.w.Job.Ten)
		e.Layout.MapsOut = true
		if err := e.Layout.Settle(c.Records); err != nil {
			return err
		}
	}
	return nil
}

// merge ends the work of all ranks except the root, and sends the checksums of their data to the root. err is the error of this
// rank so far.
func (c *conversion) merge(ctx context.Context, b *bulk, units work, err error) error {
	var told []byte
	if b != nil && !c.ranks.root() {
		if err == nil && c.o.Durability != dataset.DurableNone {
			err = b.sync()
		}
		err = errors.Join(err, b.engines[0].Proc.Pool.Close())
		told = b.appendSums(nil)
	}
	if err := c.ranks.agree(ctx, err); err != nil {
		return err
	}
	all, err := c.ranks.Gather(ctx, 0, told)
	if err != nil || !c.ranks.root() {
		return err
	}
	for r, t := range all {
		if err := b.addSums(t); err != nil {
			return fmt.Errorf("convert: checksums of rank %d: %w", r, err)
		}
	}
	// Units that other ranks have written count as put, so that they are not filled.
	own := c.mine(units)
	for k := range units.len() {
		if k += units.from; k >= own.from && k < own.to {
			continue
		}
		u := units.at(k - units.from)
		sv := &c.Schema.Vars[u.v]
		p := write.Pend{V: int32(u.v), Rec: u.rec}
		for _, e := range b.engines {
			for i, id := range e.Layout.Table.ID {
				if sv.Decomp != 0 || id == 0 {
					e.Tally.Done.Set(i, &p, sv.Record)
				}
			}
		}
	}
	return nil
}

// sync syncs the files that this process has written.
func (b *bulk) sync() error {
	for _, e := range b.engines {
		f, done, err := e.File.Open()
		if err != nil {
			return err
		}
		err = f.Sync()
		done()
		if err != nil {
			return err
		}
	}
	return nil
}

// sumWords is the number of words of one checksum in a message: subfile, extent, offset, length and sum.
const sumWords = 5

// appendSums appends the checksums of this process, each number in 8 bytes, little endian.
func (b *bulk) appendSums(dst []byte) []byte {
	for k, e := range b.engines {
		for ext, list := range e.Sums.Set.Ext {
			for _, s := range list {
				for _, n := range [sumWords]int64{int64(k), ext, s.At, s.N, int64(s.CRC)} {
					dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
				}
			}
		}
	}
	return dst
}

// addSums adds the checksums of another process.
func (b *bulk) addSums(src []byte) error {
	for ; len(src) >= 8*sumWords; src = src[8*sumWords:] {
		var n [sumWords]int64
		for i := range n {
			n[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
		}
		if n[0] < 0 || n[0] >= int64(len(b.engines)) {
			return fmt.Errorf("subfile number %d, want less than %d", n[0], len(b.engines))
		}
		b.engines[n[0]].Sums.Set.Add(n[1], checksum.Seg{At: n[2], N: n[3], CRC: uint32(n[4])})
	}
	if len(src) != 0 {
		return fmt.Errorf("%d extra bytes follow the checksums", len(src))
	}
	return nil
}
