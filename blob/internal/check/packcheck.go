package check

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync/atomic"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
)

// index checks the index of a compressed file: its checksum, each entry, and that no two chunks overlap.
func (c *checker) index(p *checkPart, f io.ReaderAt) {
	if p.Un == nil {
		return
	}
	pk, u := p.Place.Packed, p.Un
	if p.Info != nil && p.Files.Manifest.Codec == "" {
		c.say(dataset.Error, place{p.Name, -1, "codec"}, dataset.ErrCorrupt, "the file is compressed, but the manifest names no codec")
	}
	var head [layout.IndexHead]byte
	if err := layout.ReadFull(f, head[:], pk.IndexOff, p.Name, layout.IndexPacked); err != nil {
		c.add(fault.Of(dataset.Error, p.Name, err))
		return
	}
	crc := uint32(0)
	buf := make([]byte, min(1<<20, pk.IndexLen))
	for at := int64(layout.IndexHead); at < pk.IndexLen; {
		b := buf[:min(int64(len(buf)), pk.IndexLen-at)]
		if err := layout.ReadFull(f, b, pk.IndexOff+at, p.Name, layout.IndexPacked); err != nil {
			c.add(fault.Of(dataset.Error, p.Name, err))
			return
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
		at += int64(len(b))
	}
	if want := uint32(head[24]) | uint32(head[25])<<8 | uint32(head[26])<<16 | uint32(head[27])<<24; crc != want {
		c.say(dataset.Error, place{p.Name, pk.IndexOff + layout.IndexHead, layout.IndexPacked}, dataset.ErrChecksum, "checksum is %08x, but the index head says %08x", crc, want)
	}
	type span struct{ from, to int64 }
	var spans []span
	faults := 0
	used := int64(0)
	u.Index.All(func(v int, rec int64, i int, first, n int64) bool {
		for k := first; n > 0; k++ {
			m := min(n, u.Index.Chunk)
			n -= m
			e, err := u.Entry(f, k)
			if err == nil {
				if msg := e.Fault(m, pk.Stored); msg != "" {
					err = fault.At(p.Name, u.EntryAt(k), fmt.Sprintf("entry %d of %s: %s", k, layout.IndexPacked, u.Index.Name(v, rec, i)), dataset.ErrCorrupt, "%s", msg)
				}
			}
			if err != nil {
				c.add(fault.Of(dataset.Error, p.Name, err))
				if faults++; faults == maxListed {
					return false
				}
				continue
			}
			used += int64(e.Stored)
			spans = append(spans, span{e.Off, e.Off + int64(e.Stored)})
		}
		return c.ctx.Err() == nil
	})
	if faults > 0 {
		p.noData = true
		return
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for k := 1; k < len(spans); k++ {
		if spans[k].from < spans[k-1].to {
			c.say(dataset.Error, place{p.Name, p.Place.DataOff + spans[k].from, layout.DataPacked}, dataset.ErrCorrupt, "two chunks overlap at this offset")
			return
		}
	}
	if idle := pk.Stored - used; idle > 0 && len(spans) > 0 {
		c.say(dataset.Note, place{p.Name, -1, layout.DataPacked}, nil, "%d of %d bytes belong to no chunk, because data that were put again take new space", idle, pk.Stored)
	}
}

// sumPacked is read.ExtentSums.Read for compressed files. It decompresses every chunk once, compares its two checksums, and joins
// the checksums of the contents. It does not stop at a fault, but reports no sum for the extent of the fault.
func (c *checker) sumPacked(p *checkPart, f io.ReaderAt, report func(ext int64, v int, rec int64, crc uint32, good bool)) error {
	pl := p.Place
	fixed, recs := pl.Header.Kinds()
	records, err := read.RecordsToSum(pl, pl.Blob.Records, len(recs), p.Name)
	if err != nil {
		return err
	}
	type result struct {
		crc  uint32
		good bool
	}
	n := len(fixed) + int(records)*len(recs)
	results := make([]result, n)
	key := func(k int) (v int, rec int64) {
		if k < len(fixed) {
			return fixed[k], 0
		}
		k -= len(fixed)
		return recs[k%len(recs)], int64(k / len(recs))
	}
	var faults atomic.Int64
	told := make([][]error, n) // by extent, because workers find them in any order
	par.Do(c.o.Workers, n, func(k int) {
		if c.ctx.Err() != nil {
			return
		}
		v, rec := key(k)
		crc, stored, err := p.Un.Verify(f, v, rec, func(err error) {
			if faults.Add(1) <= maxListed {
				told[k] = append(told[k], err)
			}
		})
		results[k] = result{crc, err == nil}
		c.col.Did(stored)
	})
	for _, err := range slices.Concat(told...) {
		c.add(fault.Of(dataset.Error, p.Name, err))
	}
	if more := faults.Load() - maxListed; more > 0 {
		c.say(dataset.Error, place{p.Name, -1, layout.DataPacked}, dataset.ErrChecksum, "%d more chunks are damaged", more)
	}
	for k, r := range results {
		v, rec := key(k)
		report(int64(k), v, rec, r.crc, r.good)
	}
	return c.ctx.Err()
}
