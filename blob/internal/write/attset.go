package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/comm/verdict"
	"blobio/internal/subfile"
	"context"
	"fmt"
	"hash/crc32"
	"slices"
)

// SetAtt is blob.Writer.SetAtt.
func (w *Writer) SetAtt(ctx context.Context, v dataset.VarID, name string, value any) error {
	ctx = comm.In(ctx, "Writer.SetAtt")
	a, err := dataset.AttOf(name, value)
	of := ""
	switch {
	case w.State.Err != nil:
		return w.State.Err
	case w.State.closed:
		err = fault.Usage("attribute %q after Close", name)
	case err != nil:
		err = fault.Usage("%v", err)
	case v < -1 || int(v) >= len(w.Job.Schema.Vars):
		err = fault.Usage("attribute %q of variable id %d, want -1..%d", name, v, len(w.Job.Schema.Vars)-1)
	case slices.Contains(dataset.FixedAtts, name):
		err = fault.Usage("attribute %q: it cannot be changed once there are files", name)
	case v >= 0:
		of = w.Job.Schema.Vars[v].Name
	}
	var info subfile.AttInfo
	if err == nil {
		info, err = dataset.EncodeAtt(of, &a)
	}
	n := int64(len(info.Data) + len(info.Name))
	if err == nil && w.Commits.AttBytes+n > MaxSetAtts {
		err = fmt.Errorf("attribute %q of %d bytes: the manifest has %d of attributes, want at most %d: %w", name, len(info.Data), w.Commits.AttBytes, MaxSetAtts, dataset.ErrTooLarge)
	}
	h := int64(crc32.ChecksumIEEE([]byte(info.Var + "\x00" + info.Name + "\x00" + info.Type + "\x00" + string(info.Data))))
	alike, err := comm.AgreeMin(ctx, w.Job.C, err, h, ^h)
	if err != nil {
		return err
	}
	if alike[0] != ^alike[1] {
		return fault.Usage("the ranks give different attributes %q", name)
	}
	w.Commits.atts, w.Commits.AttBytes = append(w.Commits.atts, info), w.Commits.AttBytes+n
	return nil
}

// MaxSetAtts bounds attributes that are set, all values that one has had counted, so that manifest and log stay such as readers take.
const MaxSetAtts = 256 << 20

// commitAtts commits attributes without records, and what records are held back for, behind the first commit. Collective.
func (w *Writer) commitAtts(ctx context.Context) error {
	if w.Commits.Count == 0 || len(w.Commits.atts) == 0 && !w.Held.news() {
		return nil // they wait for the first commit, or Close
	}
	var part func() error
	if w.Job.C.Rank() == 0 {
		part = func() error {
			return w.Commits.addEntry(&subfile.Entry{Records: w.Commits.Sealed, Atts: w.Commits.atts, Held: w.Held.Last.Info()})
		}
	}
	outcome, err := verdict.Commit(ctx, w.Job.C, part)
	if err = w.State.judged(outcome, err); err == nil {
		w.Commits.atts = nil
	}
	return err
}
