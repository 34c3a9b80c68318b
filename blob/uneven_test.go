package blob

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/subfile"
)

// TestUnevenRecords: the nodes of a run that was killed have written different
// numbers of records. What all have can be read.
func TestUnevenRecords(t *testing.T) {
	ctx := context.Background()
	for _, short := range []string{".0000", ".0001"} {
		toy := newToy(4)
		name := filepath.Join(t.TempDir(), "a.nc")
		noError(t, comm.Run(ctx, 4, nil, func(ctx context.Context, c comm.Comm) error {
			return toy.write(ctx, c, name, 3, &settings{Options: Options{Subfiles: 2}})
		}))
		noError(t, os.Remove(subfile.ManifestName(name)))
		b, err := os.ReadFile(name + short)
		noError(t, err)
		binary.BigEndian.PutUint64(b[layout.NumrecsAt:], 2)
		noError(t, os.WriteFile(name+short, b, 0o666))
		read := func(o *OpenOptions) (int64, []float64, error) {
			r, err := Open(ctx, name, o)
			if err != nil {
				return 0, nil, err
			}
			defer r.Close()
			flux := make([]float64, r.Records()*toyCol)
			return r.Records(), flux, r.Read(ctx, "FLUX", nil, nil, flux)
		}
		if _, _, err := read(nil); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "did not end") {
			t.Errorf("%s is short: %v, want ErrMissing", short, err)
		}
		n, flux, err := read(&OpenOptions{AllowMissing: true})
		if err != nil || n != 2 {
			t.Fatalf("%s is short, AllowMissing: %d records, %v", short, n, err)
		}
		for i, v := range flux {
			rec, at := int64(i/toyCol), int64(i%toyCol)
			if want := value(toy.flux, rec, at); at < toyCol-2 && v != want {
				t.Errorf("%s is short: FLUX[%d, %d] = %v, want %v", short, rec, at, v, want)
			}
		}
		said := false
		for f := range Check(ctx, name, nil) {
			said = said || f.Severity == Error && strings.Contains(f.Msg, "did not end")
		}
		if !said {
			t.Errorf("%s is short: check does not say so", short)
		}
	}
}
