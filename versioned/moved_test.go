package versioned

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"blobio/comm"
)

// A chunk of an older version that is written again, out of a file that is to go, is verified first: damage does not get a new file, and a version
// that would need it is not committed.
func TestMovedChunkIsVerified(t *testing.T) {
	const n, chunks = 512, 8
	for name, o := range map[string]*Options{"raw": nil, "zstd": {Codec: Zstd}, "encrypted": {Key: []byte("0123456789abcdef")}} {
		for _, damaged := range []bool{false, true} {
			mem, st := memStore(t)
			ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
				a, err := Create(ctx, c, st, Spec{Name: "a", Type: Float64, Shape: []int64{n}, Chunk: 512, Keep: Retention{Last: 1}}, o)
				must(t, err)
				commit := func(from, to int64, x int) error {
					if c.Rank() == 0 {
						rng, data := rand.New(rand.NewSource(int64(x))), make([]float64, to-from) // which no codec makes shorter
						for i := range data {
							data[i] = math.Float64frombits(rng.Uint64())
						}
						if err := Put(ctx, a, []int64{from}, []int64{to}, data); err != nil {
							return err
						}
					}
					_, err := a.Inc(ctx, 1, "")
					return err
				}
				must(t, commit(0, n, 1))
				if c.Rank() == 0 && damaged {
					spoil(t, mem, "d/a/"+dataName(1, 1, 0)) // the last chunk
				}
				moved := false
				for v := 2; v < 9; v++ { // all but the last chunk change, until the first file is too empty
					err := commit(0, n-n/chunks, 100*v)
					if damaged && errors.Is(err, ErrChecksum) {
						if a.Newest() != int64(v-1) {
							return fmt.Errorf("version %d", a.Newest())
						}
						moved = true
						break
					}
					must(t, err)
					rec := a.cat.record()
					if !slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Born == 1 }) {
						if moved = true; damaged {
							return fmt.Errorf("%s: version %d was committed with a damaged chunk", name, v)
						}
					}
				}
				if !moved {
					return fmt.Errorf("%s, damaged %v: no chunk was written again", name, damaged)
				}
				return nil
			})
		}
	}
}
