package write

import (
	"blobio/blob/internal/layout"
	"encoding/binary"
	"fmt"
)

// rows is what a rank sends to the first one of its subfile about its chunks.
func (pk *packer) rows() []byte {
	x := pk.x
	if x == nil {
		return nil
	}
	b := make([]byte, 0, 8+int64(len(x.Entries))*layout.IndexEntryLen)
	b = binary.LittleEndian.AppendUint64(b, uint64(pk.lay.Table.ID[0]))
	for k := range x.Entries {
		b = x.Entries[k].Append(b)
	}
	return b
}

// gather makes the index of all blobs on the first rank of a team.
func (pk *packer) gather(rows [][]byte) (*layout.Index, error) {
	x, err := layout.NewIndex(&pk.lay.Place.Place, pk.lay.All, pk.chunk)
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

// sealTeam completes the subfile on the first rank of a team, when all have sent the rows of their chunks.
func (e *Engine) sealTeam(rows [][]byte, records int64, sync bool) error {
	x, err := e.Pack.gather(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", e.File.Name, err)
	}
	f, done, err := e.File.Open()
	if err != nil {
		return err
	}
	if err = e.Seal.Packed(f, x, records); err == nil && sync {
		err = f.Sync()
	}
	done()
	if cerr := e.Proc.Pool.CloseFile(e.File.Name); err == nil {
		err = cerr
	}
	return err
}
