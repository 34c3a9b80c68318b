package blob

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// TestRepeats: a rank that holds an element twice does not write unless asked for; then the later value counts, a check warns of it and calls
// nothing damaged. One that another rank holds too remains an error of the check.
func TestRepeats(t *testing.T) {
	ctx := t.Context()
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		for _, shared := range []bool{false, true} {
			name := filepath.Join(t.TempDir(), "d")
			s := NewSchema()
			tm, x := s.Dim("t", 0), s.Dim("x", 8)
			d := s.Decomp(x)
			v := s.Var("v", cdf5.Float, []DimID{tm, x}, Decomposed(d))
			runs := []decomp.Req{{Offset: 0, Length: 2}, {Offset: 1, Length: 1}, {Offset: 3, Length: 2}}
			err := comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
				parts := []Part{{d, []decomp.Req{{Offset: 5, Length: 3}}}}
				if shared {
					parts[0].Runs = append(parts[0].Runs, decomp.Req{Offset: 0, Length: 1})
				}
				if c.Rank() == 1 {
					parts[0].Runs = runs
				}
				if _, err := Create(ctx, c, name, s, parts, &Options{Layout: l}); !errors.Is(err, ErrUsage) ||
					!strings.Contains(err.Error(), "the first is element 1") || !strings.Contains(err.Error(), "rank 1") {
					t.Errorf("rank %d: %v", c.Rank(), err)
				}
				session := func(w *Writer, err error) error {
					must(err)
					data := []float32{1, 2, 3, 4, 5}
					if c.Rank() == 0 {
						data = []float32{6, 7, 8, 9}[:w.Count(d)]
					}
					must(Put(w, v, w.Records(), data))
					return w.Close(ctx)
				}
				must(session(Create(ctx, c, name, s, parts, &Options{Layout: l, Repeats: true})))
				if _, err := Append(ctx, c, name, parts, nil); !errors.Is(err, ErrUsage) {
					t.Errorf("append: %v", err)
				}
				return session(Append(ctx, c, name, parts, &Options{Repeats: true}))
			})
			noError(t, err)
			r, err := Open(ctx, name, nil)
			noError(t, err)
			got := make([]float32, 8)
			if err := r.Read(ctx, "v", []int64{1, 0}, []int64{1, 8}, got); err != nil || !slices.Equal(got[:2], []float32{1, 3}) || got[2] == 3 || !slices.Equal(got[3:], []float32{4, 5, 6, 7, 8}) {
				t.Errorf("%v: read %v, %v", l, got, err)
			}
			noError(t, r.Close())
			var warned, wrong []string
			for f := range Check(ctx, name, nil) {
				switch f.Severity {
				case Warning:
					warned = append(warned, f.Msg)
				case Error:
					wrong = append(wrong, f.Msg)
				}
			}
			if len(warned) == 0 || !strings.HasPrefix(warned[0], "1 index twice; merged as E3SM-IO does, claims 1 more: the first is element 1, of blob 1 of ") {
				t.Errorf("%v: warnings %q", l, warned)
			}
			if shared != (len(wrong) > 0) || shared && !strings.HasPrefix(wrong[0], "1 elements are owned by several ranks: the first are 1 from 0 on") {
				t.Errorf("%v, shared %v: errors %q", l, shared, wrong)
			}
		}
	}
}
