package blob

import (
	"encoding/binary"
	"fmt"

	"blobio/blob/internal/layout"
	"blobio/internal/base/vfs"
)

// sealPacked completes a compressed subfile: metadata, header and index. x is of all its blobs.
func (e *engine) sealPacked(f vfs.File, x *layout.Index, records int64) error {
	idx := x.Encode()
	pk := e.place.Packed
	pk.Stored, pk.IndexLen, pk.Index = e.pack.end, int64(len(idx)), x
	meta, err := e.place.Container(e.place.DataLen)
	if err != nil {
		return err
	}
	if err := e.writeContainer(f, meta, records, true); err != nil {
		return err
	}
	_, err = f.WriteAt(idx, pk.IndexOff)
	return err
}

// packRows is what a rank tells the first one of its subfile of its chunks.
func (e *engine) packRows() []byte {
	x := e.pack.x
	if x == nil {
		return nil
	}
	b := make([]byte, 0, 8+int64(len(x.Entries))*layout.IndexEntryLen)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.table.ID[0]))
	for k := range x.Entries {
		b = x.Entries[k].Append(b)
	}
	return b
}

// gatherPacked makes the index of all blobs on the first rank of a team.
func (e *engine) gatherPacked(rows [][]byte) (*layout.Index, error) {
	x, err := layout.NewIndex(&e.place.Place, e.team.all, e.pack.chunk)
	if err != nil {
		return nil, err
	}
	x.Entries = make([]layout.Entry, x.Total)
	for _, b := range rows {
		if len(b) == 0 {
			continue
		}
		if len(b) < 8 {
			return nil, errSealed
		}
		i := binary.LittleEndian.Uint64(b)
		if b = b[8:]; i >= uint64(len(x.Table.ID)) {
			return nil, errSealed
		}
		for v, rec := range x.Pieces() {
			first, n, _ := x.Of(v, rec, int(i))
			for k := first; n > 0; k, n = k+1, n-min(n, x.Chunk) {
				if len(b) < layout.IndexEntryLen {
					return nil, errSealed
				}
				x.Entries[k], _ = layout.ParseEntry(b)
				b = b[layout.IndexEntryLen:]
			}
		}
		if len(b) > 0 {
			return nil, errSealed
		}
	}
	return x, nil
}

// sealTeam completes the subfile on the first rank of a team, when all have told of their chunks.
func (e *engine) sealTeam(rows [][]byte, records int64, sync bool) error {
	x, err := e.gatherPacked(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	f, done, err := e.file()
	if err != nil {
		return err
	}
	if err = e.sealPacked(f, x, records); err == nil && sync {
		err = f.Sync()
	}
	done()
	if cerr := e.proc.pool.CloseFile(e.name); err == nil {
		err = cerr
	}
	return err
}
