package blob

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/internal/vfs"
)

// TestHeaderAgainstManifest: no bit of a header changes what is read. The manifest has its sum, so a file whose header
// still makes sense is refused when it is opened; but for the count of records, where the manifest is right.
func TestHeaderAgainstManifest(t *testing.T) {
	ctx := context.Background()
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		t.Run(l.String(), func(t *testing.T) {
			s, mem := newToy(3), vfs.NewMem()
			o := settings{Options: Options{Layout: l}, knobs: knobs{fs: mem}}
			noError(t, comm.Run(ctx, 3, nil, func(ctx context.Context, c comm.Comm) error { return s.write(ctx, c, "d.nc", 2, &o) }))
			r, err := openWith(ctx, "d.nc", nil, knobs{fs: mem})
			noError(t, err)
			pl := r.sets[0].parts[0].place
			name := r.sets[0].parts[0].name
			r.Close()
			f, err := mem.OpenRW(name)
			noError(t, err)
			defer f.Close()
			b := make([]byte, pl.HeaderLen)
			if _, err := f.ReadAt(b, pl.HeaderOff); err != nil {
				t.Fatal(err)
			}
			refused := 0
			for at := int(l); at < len(b); at += times(5, 1) {
				was := bytes.Clone(b[at : at+1])
				if _, err := f.WriteAt([]byte{was[0] ^ 1<<(at%8)}, pl.HeaderOff+int64(at)); err != nil {
					t.Fatal(err)
				}
				r, err := openWith(ctx, "d.nc", nil, knobs{fs: mem})
				if err == nil {
					err = r.loadSet(ctx, r.sets[0]) // headers of a set may be read later
					r.Close()
				}
				if inCount := at >= layout.NumrecsAt && at < layout.NumrecsAt+layout.NumrecsLen; err == nil && !inCount {
					t.Errorf("byte %#x of the header: nothing found", at)
				} else if errors.Is(err, ErrChecksum) {
					refused++
				}
				if _, err := f.WriteAt(was, pl.HeaderOff+int64(at)); err != nil {
					t.Fatal(err)
				}
			}
			if refused == 0 {
				t.Error("no header that makes sense was refused by its sum")
			}
		})
	}
}
