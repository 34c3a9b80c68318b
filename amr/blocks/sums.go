package blocks

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"

	"blobio/amr"
	"blobio/blob"
	"blobio/internal/elem"
	"blobio/internal/fault"
	"blobio/internal/par"
)

const (
	crcName  = "block_crc"       // checksums of all rows of a block, the last variable
	tableCRC = "block_table_crc" // of those in the tables, the last of these
)

// sum computes the checksums of blocks that are in memory.
func sum(l *layout, list []placed) error {
	scratch, big := make([]byte, 0, 64), make([]byte, sumBuffer)
	for i := range list {
		p := &list[i]
		crc := uint32(0)
		for k := range l.vars {
			v := &l.vars[k]
			p.summed(v, crc)
			row, err := rowOf(l, v, scratch, p)
			if err != nil {
				return err
			}
			crc = sumRow(crc, row, v.typ.Size(), big)
		}
	}
	return nil
}

// sumBuffer is how many bytes are turned into big-endian order at a time: they and their source stay in the first-level cache.
const sumBuffer = int64(8 << 10)

// summed keeps the checksum of the rows before those of a variable, if that is what it holds.
func (p *placed) summed(v *variable, crc uint32) {
	switch v.name {
	case tableCRC:
		p.tables = crc
	case crcName:
		p.crc = crc
	}
}

// sumRow adds a row of the order of the host to a checksum.
func sumRow(crc uint32, row []byte, width int, big []byte) uint32 {
	for len(row) > 0 {
		n := min(len(row), len(big))
		elem.Reorder(big, row[:n], width, true)
		crc = crc32.Update(crc, crc32.IEEETable, big[:n])
		row = row[n:]
	}
	return crc
}

// checkData reads all data, some blocks at a time, compares the checksums, and looks at the values. What cannot be read is
// a finding, and the blocks beside it are checked all the same.
func (d *Dataset) checkData(ctx context.Context, yield func(blob.Finding) bool) {
	c := &dataCheck{d: d, sums: d.hasSums, survey: amr.NewSurvey(&d.meta), found: func(sev blob.Severity, field string, class error, format string, args ...any) bool {
		return yield(d.finding(sev, field, class, format, args...))
	}}
	if !d.hasSums && !c.found(blob.Note, crcName, nil, "not there: data cannot be verified") {
		return
	}
	if d.hasSums {
		if _, err := d.tables(ctx); err != nil {
			if c.sums = false; !c.unread(ctx, "the tables, so data cannot be verified", err) {
				return
			}
		}
	}
	const hold = 4 << 20
	var spans [][2]int
	for lo := 0; lo < d.Len(); {
		hi, size := lo, int64(0)
		for hi < d.Len() && (hi == lo || size < hold) {
			size += d.Bytes(hi) + 1024
			hi++
		}
		spans = append(spans, [2]int{lo, hi})
		lo = hi
	}
	type part struct {
		findings []blob.Finding
		survey   *amr.Survey
		more     bool
	}
	for _, p := range par.Ordered(ctx, par.Workers(0), len(spans), func(ctx context.Context, i int) (p part) {
		own := &dataCheck{d: d, sums: c.sums, survey: amr.NewSurvey(&d.meta), found: func(sev blob.Severity, field string, class error, format string, args ...any) bool {
			p.findings = append(p.findings, d.finding(sev, field, class, format, args...))
			return true
		}}
		p.more, p.survey = own.blocks(ctx, spans[i][0], spans[i][1]), own.survey
		return p
	}) {
		for _, f := range p.findings {
			if !yield(f) {
				return
			}
		}
		if !p.more {
			return
		}
		c.survey.Merge(p.survey)
	}
	if ctx.Err() != nil {
		return
	}
	for _, o := range c.survey.Oddities() {
		field := o.What
		if o.Field {
			field = "field_" + field
		}
		if !c.found(blob.Warning, field, nil, "block %s: %s", d.name(o.Block), o.Msg) {
			return
		}
	}
}

func (d *Dataset) finding(sev blob.Severity, field string, class error, format string, args ...any) blob.Finding {
	return blob.Finding{Severity: sev, File: d.r.Base(), Offset: -1, Field: field, Msg: fmt.Sprintf(format, args...), Err: class}
}

// dataCheck is what checkData knows.
type dataCheck struct {
	d      *Dataset
	sums   bool // there is something to compare with
	survey *amr.Survey
	told   int // how often something could not be read
	found  func(sev blob.Severity, field string, class error, format string, args ...any) bool
}

// blocks checks some blocks, by halves if they cannot all be read. It says whether more findings are wanted.
func (c *dataCheck) blocks(ctx context.Context, lo, hi int) bool {
	d := c.d
	list, rows, err := d.readRows(ctx, lo, hi, true, c.sums)
	var got, want []uint32
	if err == nil && c.sums {
		got, want, err = d.sums(ctx, lo, hi, rows)
	}
	rows.host()
	if err != nil && hi-lo > 1 && ctx.Err() == nil {
		told, mid := c.told, lo+(hi-lo)/2
		more := c.blocks(ctx, lo, mid) && c.blocks(ctx, mid, hi)
		if more && c.told == told { // it happened once; who trusts this disk should know
			return c.unread(ctx, fmt.Sprintf("blocks %d to %d, which could be read again", lo, hi-1), err)
		}
		return more
	}
	if err != nil {
		return c.unread(ctx, fmt.Sprintf("block %d (%s)", lo, d.name(d.infos[lo].Index)), err)
	}
	for i, sum := range got {
		if sum != want[i] && !c.found(blob.Error, crcName, ErrChecksum, "block %d (%s): the rows have %08x, want %08x", lo+i, d.name(d.infos[lo+i].Index), sum, want[i]) {
			return false
		}
	}
	for _, b := range list {
		c.survey.Block(b)
	}
	return true
}

// unread tells what cannot be read. The end of the context ends the check.
func (c *dataCheck) unread(ctx context.Context, what string, err error) bool {
	c.told++
	return !errors.Is(err, context.Canceled) && c.found(blob.Error, "", err, "%s: %v", what, err) && ctx.Err() == nil
}

// tableSums are the checksums of the tables, which are read again for them, all at once.
type tableSums struct {
	mu   sync.Mutex
	done bool
	next int      // the first variable that is no table
	crc  []uint32 // of the rows before it, by block
	bad  map[int]error
	want []uint32 // block_crc
}

// tableRows is how many rows of a table are read at once.
const tableRows = 1 << 16

// tables sums up the tables, and compares them with block_table_crc.
func (d *Dataset) tables(ctx context.Context) (*tableSums, error) {
	t := &d.sum
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return t, nil
	}
	n := d.Len()
	t.next, t.crc, t.bad, t.want = 0, make([]uint32, n), map[int]error{}, make([]uint32, n)
	if err := d.table(ctx, crcName, t.want); err != nil {
		return nil, err
	}
	var crcs []uint32
	for id, v := range d.r.Schema().Vars() {
		if !strings.HasPrefix(v.Name, "block_") || v.Name == crcName || v.Record {
			break
		}
		if v.Name == tableCRC {
			crcs = make([]uint32, n)
			if err := d.table(ctx, tableCRC, crcs); err != nil {
				return nil, err
			}
			for i, want := range crcs {
				if got := t.crc[i]; got != want {
					t.bad[i] = d.differs(i, tableCRC, got, want)
				}
			}
		}
		for lo := 0; lo < n; lo += tableRows {
			hi := min(lo+tableRows, n)
			if err := d.sumVariable(ctx, id, lo, hi, nil, t.crc[lo:hi]); err != nil {
				return nil, err
			}
		}
		t.next = id + 1
	}
	t.done = true
	return t, nil
}

// differs is the error of a block whose rows are not those that were written.
func (d *Dataset) differs(i int, sum string, got, want uint32) error {
	what := "all variables"
	if sum == tableCRC {
		what = "the tables"
	}
	return &FormatError{Pkg: "blocks", File: d.r.Base(), Offset: -1, Field: fmt.Sprintf("block %d (%s)", i, d.name(d.infos[i].Index)),
		Msg: fmt.Sprintf("the rows in %s sum to %08x, %s says %08x", what, got, sum, want), Err: ErrChecksum}
}

// compareTables says whether the rows of blocks in the tables are those that were written.
func (d *Dataset) compareTables(ctx context.Context, lo, hi int) error {
	if !d.compares() {
		return nil
	}
	t, err := d.tables(ctx)
	if err != nil {
		return err
	}
	for i := lo; i < hi && len(t.bad) > 0; i++ {
		if err := t.bad[i]; err != nil {
			return err
		}
	}
	return nil
}

// compare says whether the rows of blocks are those that were written. rows are those that
// were read, which are in the order of the host then.
func (d *Dataset) compare(ctx context.Context, lo, hi int, rows rows) error {
	defer rows.host()
	if !d.compares() {
		return nil
	}
	got, want, err := d.sums(ctx, lo, hi, rows)
	if err != nil {
		return err
	}
	for i := range got {
		if got[i] != want[i] {
			return d.differs(lo+i, crcName, got[i], want[i])
		}
	}
	return nil
}

// compares says whether what is read is compared with checksums.
func (d *Dataset) compares() bool { return d.hasSums && !d.noVerify }

// sums are the checksums of some blocks, as they are and as block_crc says. Of rows that were read and are
// not in rows nothing is read again.
func (d *Dataset) sums(ctx context.Context, lo, hi int, rows rows) (got, want []uint32, err error) {
	t, err := d.tables(ctx)
	if err != nil {
		return nil, nil, err
	}
	got = slices.Clone(t.crc[lo:hi])
	for id, v := range d.r.Schema().Vars() {
		if v.Name == crcName { // what comes behind it was added by somebody else
			break
		}
		if id < t.next || v.Record {
			continue
		}
		if err := d.sumVariable(ctx, id, lo, hi, rows[v.Name], got); err != nil {
			return nil, nil, err
		}
	}
	return got, t.want[lo:hi], nil
}

// sumVariable adds the rows of blocks in a variable to their checksums: those that were read, if they are all of them, or
// what is in the files. Each row is turned into the order of the host when it is summed, while it is in the cache.
func (d *Dataset) sumVariable(ctx context.Context, id, lo, hi int, read *row, out []uint32) error {
	v, shape := d.r.Schema().Vars()[id], d.r.Schema().Shape(blob.VarID(id))
	start, count := make([]int64, len(shape)), append([]int64(nil), shape...)
	rows := int64(1)
	for _, n := range shape[1:] {
		rows *= n
	}
	l := d.listOf(v.Name)
	from := func(i int) int64 { return int64(i) }
	if l != nil {
		from = func(i int) int64 {
			if i == d.Len() {
				return l.start[i-1] + max(l.count[i-1], 0)
			}
			return l.start[i]
		}
	} else if shape[0] != int64(d.Len()) {
		return nil
	}
	start[0], count[0] = from(lo), from(hi)-from(lo)
	if count[0] == 0 {
		return nil
	}
	size := rows * int64(v.Type.Size())
	if read == nil || int64(len(read.b)) != size*count[0] {
		if count[0] > maxSlice/size {
			return pkg.Errorf("%d rows of %s at once: %w", count[0], v.Name, fault.ErrTooLarge)
		}
		read = &row{b: make([]byte, size*count[0]), size: 1, big: true}
		if err := d.r.ReadBytes(ctx, v.Name, start, count, read.b, true); err != nil {
			return err
		}
	}
	var big []byte
	if !read.big {
		big = make([]byte, min(sumBuffer, (size+7)&^7))
	}
	for i := lo; i < hi; i++ {
		b := read.b[(from(i)-start[0])*size : (from(i+1)-start[0])*size]
		if !read.big {
			out[i-lo] = sumRow(out[i-lo], b, read.size, big)
			continue
		}
		out[i-lo] = crc32.Update(out[i-lo], crc32.IEEETable, b)
		if read.size > 1 {
			elem.Reorder(b, b, read.size, true)
		}
	}
	read.big = false
	return nil
}
