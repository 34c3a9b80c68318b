package blocks

import (
	"context"
	"errors"
	"hash/crc32"

	"blobio/blob"
	"blobio/cdf5"
)

// crcName is the variable of checksums, the last one.
const crcName = "block_crc"

// sum computes the checksums of blocks that are in memory.
func sum(l *layout, list []placed) error {
	scratch, big := make([]byte, 0, 64), make([]byte, 32<<10)
	for i := range list {
		p := &list[i]
		p.crc = 0
		for k := range l.vars[:len(l.vars)-1] {
			v := &l.vars[k]
			row, err := rowOf(l, v, scratch, p)
			if err != nil {
				return err
			}
			p.crc = sumRow(p.crc, row, v.typ.Size(), big)
		}
	}
	return nil
}

// sumRow adds a row of the order of the host to a checksum.
func sumRow(crc uint32, row []byte, width int, big []byte) uint32 {
	for len(row) > 0 {
		n := min(len(row), len(big))
		toBig(big, row[:n], width)
		crc = crc32.Update(crc, crc32.IEEETable, big[:n])
		row = row[n:]
	}
	return crc
}

// checkSums reads all data, some blocks at a time, and compares the checksums.
func (d *Dataset) checkSums(ctx context.Context, yield func(blob.Finding) bool) {
	finding := func(sev blob.Severity, field string, class error, format string, args ...any) bool {
		return yield(blob.Finding{Severity: sev, File: d.r.Base(), Offset: -1, Field: field, Msg: sprintf(format, args...), Err: class})
	}
	want := make([]uint32, d.Len())
	if _, ok := d.r.Schema().VarID(crcName); !ok {
		finding(blob.Note, crcName, nil, "not there: the data cannot be checked")
		return
	}
	if err := d.table(ctx, crcName, want); err != nil {
		finding(blob.Error, crcName, err, "%v", err)
		return
	}
	const hold = 8 << 20
	for lo := 0; lo < d.Len(); {
		hi, size := lo, int64(0)
		for hi < d.Len() && (hi == lo || size < hold) {
			size += d.Bytes(hi) + 1024
			hi++
		}
		got, err := d.sums(ctx, lo, hi)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				finding(blob.Error, "", err, "blocks %d to %d: %v", lo, hi-1, err)
			}
			return
		}
		for i, c := range got {
			if c != want[lo+i] && !finding(blob.Error, crcName, ErrChecksum, "block %d (%s): the rows have %08x, want %08x: checksum mismatch", lo+i, d.name(d.infos[lo+i].Index), c, want[lo+i]) {
				return
			}
		}
		lo = hi
	}
}

// sums computes the checksums of some blocks from what is in the files.
func (d *Dataset) sums(ctx context.Context, lo, hi int) ([]uint32, error) {
	out := make([]uint32, hi-lo)
	big := make([]byte, 32<<10)
	s := d.r.Schema()
	for id, v := range s.Vars() {
		if v.Name == crcName || v.Record {
			continue
		}
		shape := s.Shape(blob.VarID(id))
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
			continue
		}
		start[0], count[0] = from(lo), from(hi)-from(lo)
		if count[0] == 0 {
			continue
		}
		x := cdf5.NewSlice(v.Type, int(rows*count[0]))
		if err := d.r.Read(ctx, v.Name, start, count, x); err != nil {
			return nil, err
		}
		b, size := bytesOf(x), rows*int64(v.Type.Size())
		for i := lo; i < hi; i++ {
			out[i-lo] = sumRow(out[i-lo], b[(from(i)-start[0])*size:(from(i+1)-start[0])*size], v.Type.Size(), big)
		}
	}
	return out, nil
}
