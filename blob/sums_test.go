package blob

import (
	"context"
	"errors"
	"hash/crc32"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// TestSums checks the checksums of an extent and of its pieces. They must be right for any order of the bytes, and absent until
// all bytes are there.
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
			s := checksum.New(piece)
			for k, i := range order {
				if _, _, ok := s.Whole(ext, n); ok {
					t.Fatalf("pieces of %d, cut at %v, order %v: complete before the bytes of number %d", piece, cuts, order, k)
				}
				s.Sum(ext, cuts[i], b[cuts[i]:cuts[i+1]])
			}
			crc, pieces, ok := s.Whole(ext, n)
			if !ok || crc != crc32.ChecksumIEEE(b) || !slices.Equal(pieces, want) {
				t.Fatalf("pieces of %d, cut at %v, order %v: %08x, %08x, %v", piece, cuts, order, crc, pieces, ok)
			}
		}
	}
}

// TestSumsOfHoles checks that an extent has no checksum if bytes are missing, at its beginning or between others.
func TestSumsOfHoles(t *testing.T) {
	for _, at := range [][]int64{{0, 20}, {5}, {5, 30}, {0, 10, 40}} {
		s := checksum.New(0)
		for _, at := range at {
			s.Sum(0, at, make([]byte, 10))
		}
		if crc, pieces, n := s.Joined(0); n != 0 || crc != 0 || pieces != nil {
			t.Errorf("10 bytes at each of %v: %08x, %v, of %d bytes", at, crc, pieces, n)
		}
	}
}

// TestSumsOfOverlaps checks bytes that are summed twice. Without Keep, the extent must be marked for a new checksum. With Keep,
// the first values count.
func TestSumsOfOverlaps(t *testing.T) {
	b := []byte("0123456789")
	for _, keep := range []bool{false, true} {
		for _, again := range []checksum.Seg{{At: 0, N: 10}, {At: 2, N: 4}, {At: 0, N: 3}, {At: 4, N: 2}, {At: 5, N: 3}, {At: 2, N: 1}} {
			s := checksum.New(0)
			s.Keep = keep
			s.Sum(0, 2, b[2:6])
			s.Sum(0, again.At, make([]byte, again.N))
			s.Sum(0, 0, b[:2])
			s.Sum(0, 6, b[6:])
			crc, _, ok := s.Whole(0, 10)
			if !keep && (ok || !s.Redo[0]) {
				t.Errorf("bytes %d to %d again: sums to %08x, anew: %v", again.At, again.At+again.N-1, crc, s.Redo[0])
			}
			if keep && (!ok || crc != crc32.ChecksumIEEE(b)) {
				t.Errorf("the first count, bytes %d to %d again: %08x, %v", again.At, again.At+again.N-1, crc, ok)
			}
		}
	}
}

// TestRepeats checks that a rank may own an element twice only with Options.Repeats. Then the later value counts, and Check
// gives a warning. An element with two ranks as owners is still an error of Check.
func TestRepeats(t *testing.T) {
	ctx := t.Context()
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, shared := range []bool{false, true} {
			name := filepath.Join(t.TempDir(), "d")
			s := dataset.NewSchema()
			tm, x := s.Dim("t", 0), s.Dim("x", 8)
			d := s.Decomp(x)
			v := s.Var("v", cdf5.Float, []dataset.DimID{tm, x}, dataset.Decomposed(d))
			runs := []decomp.Req{{Offset: 0, Length: 2}, {Offset: 1, Length: 1}, {Offset: 3, Length: 2}}
			noError(t, comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
				parts := []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 5, Length: 3}}}}
				if shared {
					parts[0].Runs = append(parts[0].Runs, decomp.Req{Offset: 0, Length: 1})
				}
				if c.Rank() == 1 {
					parts[0].Runs = runs
				}
				if _, err := write.Create(ctx, c, name, s, parts, &dataset.Options{Layout: l}); !errors.Is(err, dataset.ErrUsage) ||
					!strings.Contains(err.Error(), "the first is element 1") || !strings.Contains(err.Error(), "rank 1") {
					t.Errorf("rank %d: %v", c.Rank(), err)
				}
				session := func(w *write.Writer, err error) error {
					must(err)
					data := []float32{1, 2, 3, 4, 5}
					if c.Rank() == 0 {
						data = []float32{6, 7, 8, 9}[:w.Job.Count(d)]
					}
					must(write.Put(w, v, w.Puts.Records(), data))
					return w.Close(ctx)
				}
				must(session(write.Create(ctx, c, name, s, parts, &dataset.Options{Layout: l, Repeats: true})))
				if _, err := resume.Append(ctx, c, name, nil, parts, nil); !errors.Is(err, dataset.ErrUsage) {
					t.Errorf("append: %v", err)
				}
				return session(resume.Append(ctx, c, name, nil, parts, &dataset.Options{Repeats: true}))
			}))
			r := need(read.Open(ctx, name, nil))
			got := make([]float32, 8)
			if err := r.Read(ctx, "v", []int64{1, 0}, []int64{1, 8}, got); err != nil || !slices.Equal(got[:2], []float32{1, 3}) || got[2] == 3 || !slices.Equal(got[3:], []float32{4, 5, 6, 7, 8}) {
				t.Errorf("%v: read %v, %v", l, got, err)
			}
			noError(t, r.Close())
			var warned, wrong []string
			for f := range check.Check(ctx, name, nil) {
				switch f.Severity {
				case dataset.Warning:
					warned = append(warned, f.Msg)
				case dataset.Error:
					wrong = append(wrong, f.Msg)
				}
			}
			if len(warned) == 0 || !strings.HasPrefix(warned[0], "1 index given twice; a merge as in E3SM-IO claims 1 more: the first is element 1 in blob 1 of ") {
				t.Errorf("%v: warnings %q", l, warned)
			}
			several := slices.ContainsFunc(warned, func(s string) bool {
				return strings.HasPrefix(s, "1 elements are owned by several ranks; the value of the highest rank is kept: the first 1 start at element 0")
			})
			if len(wrong) > 0 || shared != several {
				t.Errorf("%v, shared %v: errors %q, warnings %q", l, shared, wrong, warned)
			}
		}
	}
}
