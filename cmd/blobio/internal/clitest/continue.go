package clitest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/blob"
	"blobio/comm"
	"blobio/decomp"
)

// Continue appends a record to a toy in blobs, with the given number of ranks. The values follow from the record number. define,
// unless nil, adds variables, which keep their fill values.
func Continue(t *testing.T, name string, ranks, subfiles int, define func(s *blob.Schema)) {
	t.Helper()
	r, err := blob.Open(t.Context(), name, nil)
	Check(t, err)
	s := r.Extend()
	if define != nil {
		define(s)
	}
	Check(t, errors.Join(s.Err(), r.Close()))
	Check(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		var parts []blob.Part
		for d := range s.NumDecomps() {
			m := decomp.Regular(s.DecompDims(blob.DecompID(d+1)), ranks)
			parts = append(parts, blob.Part{Decomp: blob.DecompID(d + 1), Runs: m.AppendReqs(nil, c.Rank())})
		}
		w, err := blob.Append(ctx, c, name, s, parts, &blob.Options{Subfiles: subfiles, Durability: blob.DurableNone})
		if err != nil {
			return err
		}
		defer w.Abort()
		rec := w.Records()
		for v := range w.Schema().Vars() {
			x, id := &w.Schema().Vars()[v], blob.VarID(v)
			var err error
			switch x.Name {
			case "time":
				err = blob.Put(w, id, rec, []float64{float64(rec) / 4})
			case "date_written":
				err = blob.Put(w, id, rec, fmt.Appendf(nil, "day %04d", rec))
			case "T", "count":
				var own []int32
				for _, q := range parts[x.Decomp-1].Runs {
					for k := range q.Length {
						own = append(own, int32(100*rec+q.Offset+k))
					}
				}
				err = blob.Put(w, id, rec, own)
			}
			if err != nil {
				return err
			}
		}
		return w.Close(ctx)
	}))
}
