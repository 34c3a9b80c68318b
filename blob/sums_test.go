package blob

import (
	"hash/crc32"
	"math/rand"
	"slices"
	"testing"

	"blobio/blob/internal/layout"
)

// TestSums: the checksums of an extent and of its pieces are those of its bytes, in whatever order the bytes come, and
// there are none before all of them have come.
func TestSums(t *testing.T) {
	const ext, n = 3, 100
	rnd := rand.New(rand.NewSource(1))
	b := make([]byte, n)
	rnd.Read(b)
	for _, piece := range []int64{0, 7, 64, n} {
		var want []uint32
		for lo := int64(0); layout.NumPieces(n, piece) > 0 && lo < n; lo += piece {
			want = append(want, crc32.ChecksumIEEE(b[lo:min(lo+piece, n)]))
		}
		for range 50 {
			cuts := []int64{0, n}
			for range 1 + rnd.Intn(6) {
				cuts = append(cuts, 1+rnd.Int63n(n-1))
			}
			slices.Sort(cuts)
			cuts = slices.Compact(cuts)
			order := rnd.Perm(len(cuts) - 1)
			s := newSums(piece)
			for k, i := range order {
				if _, _, ok := s.whole(ext, n); ok {
					t.Fatalf("pieces of %d, cut at %v, order %v: complete before the bytes of number %d", piece, cuts, order, k)
				}
				s.sum(ext, cuts[i], b[cuts[i]:cuts[i+1]])
			}
			crc, pieces, ok := s.whole(ext, n)
			if !ok || crc != crc32.ChecksumIEEE(b) || !slices.Equal(pieces, want) {
				t.Fatalf("pieces of %d, cut at %v, order %v: %08x, %08x, %v", piece, cuts, order, crc, pieces, ok)
			}
		}
	}
}

// TestSumsOfHoles: what has a hole, or lacks its begin, has no checksum.
func TestSumsOfHoles(t *testing.T) {
	for _, at := range [][]int64{{0, 20}, {5}, {5, 30}, {0, 10, 40}} {
		s := newSums(0)
		for _, at := range at {
			s.sum(0, at, make([]byte, 10))
		}
		if crc, pieces, n := s.joined(0); n != 0 || crc != 0 || pieces != nil {
			t.Errorf("10 bytes at each of %v: %08x, %v, of %d bytes", at, crc, pieces, n)
		}
	}
}

// TestSumsOfOverlaps: bytes that come again have the extent summed anew, or are passed over.
func TestSumsOfOverlaps(t *testing.T) {
	b := []byte("0123456789")
	for _, keep := range []bool{false, true} {
		for _, again := range []seg{{at: 0, n: 10}, {at: 2, n: 4}, {at: 0, n: 3}, {at: 4, n: 2}, {at: 5, n: 3}, {at: 2, n: 1}} {
			s := newSums(0)
			s.keep = keep
			s.sum(0, 2, b[2:6])
			s.sum(0, again.at, make([]byte, again.n))
			s.sum(0, 0, b[:2])
			s.sum(0, 6, b[6:])
			crc, _, ok := s.whole(0, 10)
			if !keep && (ok || !s.redo[0]) {
				t.Errorf("bytes %d to %d again: sums to %08x, anew: %v", again.at, again.at+again.n-1, crc, s.redo[0])
			}
			if keep && (!ok || crc != crc32.ChecksumIEEE(b)) {
				t.Errorf("the first count, bytes %d to %d again: %08x, %v", again.at, again.at+again.n-1, crc, ok)
			}
		}
	}
}
