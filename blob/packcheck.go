package blob

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sync/atomic"

	"blobio/internal/crccat"
	"blobio/subfile"
)

// expansion is how many times the bytes of its file a piece may have before its content is looked at.
const expansion = 64

// backs says whether a file has n bytes at off, before they are allocated. Compressed ones that
// are far more than the file are decompressed, bit by bit, to know.
func (p *place) backs(f io.ReaderAt, off, n int64, name, field string) error {
	if p.packed == nil {
		if off < 0 || n > p.fileLen-off {
			return formatErr(name, off, field, ErrTruncated, "%d bytes, but the file ends at %d", n, p.fileLen)
		}
		return nil
	}
	if off < 0 || n < 0 || n > p.dataOff+p.dataLen-off {
		return formatErr(name, -1, field, ErrCorrupt, "%d bytes of content, but the blobs have %d", n, p.dataLen)
	}
	if n/expansion < p.fileLen {
		return nil
	}
	b := make([]byte, p.packed.chunk)
	for at := off; at < off+n; at += int64(len(b)) {
		if err := readFull(f, b[:min(int64(len(b)), off+n-at)], at, name, field); err != nil {
			return err
		}
	}
	return nil
}

// requestBytes is what one request takes while a map is read: in both lists, as a decomp.Req, and in the map.
const requestBytes = 32

// roomForLists says whether the lists of map d of all blobs may be held in memory. Those of a plain file are in it, byte by byte; lists
// of a compressed one may be 32,768 times as long as what they are stored in, and no limit follows from the file.
func (p *place) roomForLists(t *ranks, d int, name string) error {
	if p.packed == nil || len(t.id) == 0 {
		return nil
	}
	k := (len(t.id)-1)*p.nd() + d
	n := t.reqs[k] + t.nreqs[k]
	if size := p.offsetSize(d) + 4; n/expansion < p.fileLen/size || n <= p.packed.memory/requestBytes {
		return nil
	}
	return formatErr(name, p.tableAt(d, mapNreqs, 0), fmt.Sprintf("D%d.nreqs", d+1), ErrTooLarge,
		"%d requests of all blobs in a file of %d bytes: want at most %d, or more OpenOptions.Memory", n, p.fileLen, p.packed.memory/requestBytes)
}

// shown is the offset to name for what is at off of the plain file: none in a compressed one.
func (p *place) shown(off int64) int64 {
	if p.packed != nil {
		return -1
	}
	return off
}

// all calls f for each piece of all blobs, in the order of the entries, as long as it returns true. v is the
// index of the variable in the header, rec its record in this file.
func (x *packIndex) all(f func(v int, rec int64, i int, first, n int64) bool) {
	for d := range x.pl.nd() {
		for w := range 2 {
			for i := range x.t.id {
				if first, n, _ := x.list(d, w, i); n > 0 && !f(d*mapVars+mapOffsets+w, 0, i, first, n) {
					return
				}
			}
		}
	}
	for v := range x.pl.schema.vars {
		recs := int64(1)
		if x.pl.schema.vars[v].Record {
			recs = x.pl.records
		}
		if x.step[v] == 0 {
			continue
		}
		for rec := range recs {
			for i := range x.t.id {
				if first, n, _ := x.piece(v, rec, i); n > 0 && !f(x.pl.fileVar(VarID(v)), rec, i, first, n) {
					return
				}
			}
		}
	}
}

// name says what a piece is.
func (x *packIndex) name(v int, rec int64, i int) string {
	s := fmt.Sprintf("variable %q", x.pl.hdr.Vars[v].Name)
	if x.pl.hdr.IsRecord(v) {
		s += fmt.Sprintf(" record %d", rec)
	}
	return s + fmt.Sprintf(" of blob %d", x.t.id[i])
}

// index checks the index of a compressed file: its checksum, each entry, and that no two
// chunks have bytes in common.
func (c *checker) index(p *checkPart, f io.ReaderAt) {
	if p.un == nil {
		return
	}
	pk, u := p.place.packed, p.un
	if p.info != nil && p.r.manifest.Codec == "" {
		c.say(Error, p.name, -1, "codec", ErrCorrupt, "compressed, the manifest says that nothing is")
	}
	var head [indexHead]byte
	if err := readFull(f, head[:], pk.idxOff, p.name, indexPacked); err != nil {
		c.add(findingOf(Error, p.name, err))
		return
	}
	crc := uint32(0)
	buf := make([]byte, min(1<<20, pk.idxLen))
	for at := int64(indexHead); at < pk.idxLen; {
		b := buf[:min(int64(len(buf)), pk.idxLen-at)]
		if err := readFull(f, b, pk.idxOff+at, p.name, indexPacked); err != nil {
			c.add(findingOf(Error, p.name, err))
			return
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
		at += int64(len(b))
	}
	if want := uint32(head[24]) | uint32(head[25])<<8 | uint32(head[26])<<16 | uint32(head[27])<<24; crc != want {
		c.say(Error, p.name, pk.idxOff+indexHead, indexPacked, ErrChecksum, "sums to %08x, its head says %08x", crc, want)
	}
	type span struct{ from, to int64 }
	var spans []span
	faults := 0
	used := int64(0)
	u.x.all(func(v int, rec int64, i int, first, n int64) bool {
		for k := first; n > 0; k++ {
			m := min(n, u.x.chunk)
			n -= m
			e, err := u.entry(f, k)
			if err == nil {
				if msg := e.fault(m, pk.stored); msg != "" {
					err = formatErr(p.name, u.entryAt(k), fmt.Sprintf("entry %d of %s: %s", k, indexPacked, u.x.name(v, rec, i)), ErrCorrupt, "%s", msg)
				}
			}
			if err != nil {
				c.add(findingOf(Error, p.name, err))
				if faults++; faults == maxListed {
					return false
				}
				continue
			}
			used += int64(e.stored)
			spans = append(spans, span{e.off, e.off + int64(e.stored)})
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
			c.say(Error, p.name, p.place.dataOff+spans[k].from, dataPacked, ErrCorrupt, "two chunks have the bytes from here on")
			return
		}
	}
	if idle := pk.stored - used; idle > 0 && len(spans) > 0 {
		c.say(Note, p.name, -1, dataPacked, nil, "%d of %d bytes belong to no chunk: what was put again was written again", idle, pk.stored)
	}
}

// sumPacked is sumExtents for compressed files: it decompresses every chunk, once, compares both its checksums,
// and joins those of the contents. All that is wrong is found; of an extent that has a fault nothing is reported.
func (c *checker) sumPacked(p *checkPart, f io.ReaderAt, report func(ext int64, v int, rec int64, crc uint32, good bool)) error {
	pl, x := p.place, p.un.x
	fixed, recs := kinds(pl)
	records := pl.records
	if len(recs) == 0 {
		records = 0 // whatever the header says
	}
	if records > maxExtents/int64(max(len(recs), 1)) {
		return formatErr(p.name, pl.hdrOff+numrecsAt, "numrecs", ErrTooLarge, "%d records of %d variables, want at most %d checksums", records, len(recs), maxExtents)
	}
	type result struct {
		crc  uint32
		good bool
	}
	n := len(fixed) + int(records)*len(recs)
	results := make([]result, n)
	key := func(k int) (ext int64, v int, rec int64) {
		if k < len(fixed) {
			return int64(k), fixed[k], 0
		}
		k -= len(fixed)
		rec = int64(k / len(recs))
		return subfile.ExtentIndex(len(fixed), len(recs), k%len(recs), true, rec), recs[k%len(recs)], rec
	}
	var faults atomic.Int64
	told := make([][]error, n) // by extent: workers meet them in any order
	inParallel(c.o.Workers, n, func(k int) {
		if c.ctx.Err() != nil {
			return
		}
		_, v, rec := key(k)
		crc, stored, err := x.verify(p.un, f, v, rec, func(err error) {
			if faults.Add(1) <= maxListed {
				told[k] = append(told[k], err)
			}
		})
		results[k] = result{crc, err == nil}
		c.col.Did(stored)
	})
	for _, err := range slices.Concat(told...) {
		c.add(findingOf(Error, p.name, err))
	}
	if more := faults.Load() - maxListed; more > 0 {
		c.say(Error, p.name, -1, dataPacked, ErrChecksum, "%d more chunks are not right", more)
	}
	for k, r := range results {
		ext, v, rec := key(k)
		report(ext, v, rec, r.crc, r.good)
	}
	return c.ctx.Err()
}

// verify decompresses what all blobs hold of a header variable's record and returns the checksum of that. Each
// fault goes to report, and the last one is returned.
func (x *packIndex) verify(u *unpacker, f io.ReaderAt, v int, rec int64, report func(error)) (crc uint32, stored int64, last error) {
	nmap := x.pl.nd() * mapVars
	if v < nmap && v%mapVars < mapOffsets {
		crc, last = x.sum(v, rec)
		return crc, 0, last
	}
	var join crccat.Joiner
	var buf []byte
	for i := range x.t.id {
		var first, n, size int64
		if v < nmap {
			first, n, size = x.list(v/mapVars, v%mapVars-mapOffsets, i)
		} else {
			first, n, size = x.piece(v-nmap, rec, i)
		}
		for k := first; n > 0; k++ {
			m := min(n, x.chunk)
			n -= m
			err := u.plausible(f, k, m)
			if err == nil {
				if int64(len(buf)) < m {
					buf = make([]byte, m)
				}
				err = u.chunk(f, k, size, buf[:m])
			}
			if err != nil {
				var bad *FormatError
				if errors.As(err, &bad) {
					named := *bad
					named.Field += ": " + x.name(v, rec, i)
					err = &named
				}
				report(err)
				last = err
				continue
			}
			e, _ := u.entry(f, k)
			stored += int64(e.stored)
			crc = join.Cat(crc, e.content, m)
		}
	}
	return crc, stored, last
}

// stored is where blob j's piece of a header variable's record lies compressed: offset in the file, bytes and form.
func (u *unpacker) stored(f io.ReaderAt, v int, rec int64, j int) (off, n, content int64, form string, err error) {
	nmap := u.pl.nd() * mapVars
	var first int64
	switch {
	case v < nmap && v%mapVars < mapOffsets:
		n = int64(mapVarDefs[v%mapVars].typ.Size())
		return u.pl.tableAt(v/mapVars, v%mapVars, j), n, n, formNames[formRaw], nil
	case v < nmap:
		first, content, _ = u.x.list(v/mapVars, v%mapVars-mapOffsets, j)
	default:
		first, content, _ = u.x.piece(v-nmap, rec, j)
	}
	off = int64(math.MaxInt64)
	best := uint8(formNone)
	for k, left := first, content; left > 0; k++ {
		left -= min(left, u.x.chunk)
		e, err := u.entry(f, k)
		if err != nil {
			return 0, 0, 0, "", err
		}
		off, n, best = min(off, u.pl.dataOff+e.off), n+int64(e.stored), max(best, e.form)
	}
	if content == 0 {
		off = u.pl.dataOff
	}
	return off, n, content, formNames[min(best, formCount-1)], nil
}
