package netcdf

import (
	"hash/crc32"

	"blobio/internal/elem"
)

const (
	crcName  = "block_crc"       // checksums of all rows of a block, the last variable
	tableCRC = "block_table_crc" // of those in the tables, the last of these
)

// sum is the checksum of the rows of a block with its data in all variables but the last.
func sum(l *layout, p placed) (crc uint32, err error) {
	scratch, big := make([]byte, 0, 64), make([]byte, sumBuffer)
	for k := range l.vars[:len(l.vars)-1] {
		v := &l.vars[k]
		if v.name == tableCRC {
			p.tables = crc
		}
		row, err := rowOf(l, v, scratch, &p)
		if err != nil {
			return 0, err
		}
		crc = sumRow(crc, row, v.typ.Size(), big)
	}
	return crc, nil
}

// sumBuffer is how many bytes are turned into big-endian order at a time: they and their source stay in the first-level cache.
const sumBuffer = int64(8 << 10)

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
