package recovery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
)

// TestReplicas (F4): metadata corruption.
func TestReplicas(t *testing.T) {
	good, other := seal([]byte("boxes of level 2")), seal([]byte("boxes of level 3"))
	bad := bytes.Clone(good)
	bad[3] ^= 1
	for _, v := range []struct {
		name string
		in   [][]byte
		good int
		bad  []int
	}{
		{"all good", [][]byte{good, good, good}, 0, nil},
		{"one flipped", [][]byte{good, good, bad, good}, 0, []int{2}},
		{"first flipped", [][]byte{bad, good, good}, 1, []int{0}},
		{"sound but different", [][]byte{other, good, good}, 1, []int{0}},
		{"one left", [][]byte{bad, bad, good}, 2, []int{0, 1}},
		{"all bad", [][]byte{bad, bad}, -1, []int{0, 1}},
		{"a tie", [][]byte{good, other}, -1, []int{0, 1}},
		{"empty", [][]byte{nil, good}, 1, []int{0}},
	} {
		var d [][sha256.Size]byte
		for _, x := range v.in {
			d = append(d, digest(x))
		}
		g, b := majority(d)
		if g != v.good || !slices.Equal(b, v.bad) {
			t.Errorf("%s: %d %v, want %d %v", v.name, g, b, v.good, v.bad)
		}
	}
	// Flip every bit of a replica.
	for i := range len(good) * 8 {
		b := bytes.Clone(good)
		b[i/8] ^= 1 << (i % 8)
		if _, ok := unseal(b); ok {
			t.Fatalf("bit %d unnoticed", i)
		}
	}
}

func TestRepairReplicas(t *testing.T) {
	good := seal([]byte("metadata"))
	bad := bytes.Clone(good)
	bad[0] ^= 4
	for _, v := range []struct {
		name    string
		bad     []int // ranks
		version []byte
		err     error
	}{
		{"none bad", nil, nil, nil},
		{"rank 2 bad", []int{2}, nil, nil},
		{"rank 0 bad", []int{0}, nil, nil},
		{"all bad, saved", []int{0, 1, 2, 3}, good, nil},
		{"all bad, saved one bad", []int{0, 1, 2, 3}, bad, errMetadataLost},
		{"all bad, nothing saved", []int{0, 1, 2, 3}, nil, errMetadataLost},
	} {
		errs := make([]error, 4)
		err := comm.Run(context.Background(), 4, nil, func(ctx context.Context, c comm.Comm) error {
			mine := good
			if slices.Contains(v.bad, c.Rank()) {
				mine = bad
			}
			var version func() ([]byte, error)
			if v.version != nil {
				version = func() ([]byte, error) { return v.version, nil }
			}
			got, who, err := repairReplicas(ctx, c, mine, version)
			errs[c.Rank()] = err
			if err == nil && (!bytes.Equal(got, good) || !slices.Equal(who, v.bad)) {
				return fmt.Errorf("%q, bad %v", got, who)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		for r, e := range errs {
			if !errors.Is(e, v.err) {
				t.Errorf("%s: rank %d: %v, want %v", v.name, r, e, v.err)
			}
		}
	}
}
