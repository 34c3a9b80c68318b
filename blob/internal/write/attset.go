package write

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/comm/verdict"
	"blobio/subfile"
)

// SetAtt is blob.Writer.SetAtt.
func (w *Writer) SetAtt(ctx context.Context, v dataset.VarID, name string, value any) error {
	ctx = comm.In(ctx, "Writer.SetAtt")
	a, err := dataset.AttOf(name, value)
	of := ""
	switch {
	case w.Err != nil:
		return w.Err
	case w.closed:
		err = fault.Usage("attribute %q after Close", name)
	case err != nil:
		err = fault.Usage("%v", err)
	case v < -1 || int(v) >= len(w.Schema.Vars):
		err = fault.Usage("attribute %q of variable id %d, want -1..%d", name, v, len(w.Schema.Vars)-1)
	case slices.Contains(dataset.FixedAtts, name):
		err = fault.Usage("attribute %q: it cannot be changed once there are files", name)
	case v >= 0:
		of = w.Schema.Vars[v].Name
	}
	var info subfile.AttInfo
	if err == nil {
		info, err = dataset.EncodeAtt(of, &a)
	}
	n := int64(len(info.Data) + len(info.Name))
	if err == nil && w.AttBytes+n > MaxSetAtts {
		err = fmt.Errorf("attribute %q of %d bytes: the manifest has %d of attributes, want at most %d: %w", name, len(info.Data), w.AttBytes, MaxSetAtts, dataset.ErrTooLarge)
	}
	h := int64(crc32.ChecksumIEEE([]byte(info.Var + "\x00" + info.Name + "\x00" + info.Type + "\x00" + string(info.Data))))
	alike, err := comm.AgreeMin(ctx, w.C, err, h, ^h)
	if err != nil {
		return err
	}
	if alike[0] != ^alike[1] {
		return fault.Usage("the ranks give different attributes %q", name)
	}
	w.atts, w.AttBytes = append(w.atts, info), w.AttBytes+n
	return nil
}

// MaxSetAtts bounds attributes that are set, all values that one has had counted, so that manifest and log stay such as readers take.
const MaxSetAtts = 256 << 20

// commitAtts commits attributes without records, and what records are held back for, behind the first commit. Collective.
func (w *Writer) commitAtts(ctx context.Context) error {
	if w.Commits == 0 || len(w.atts) == 0 && !w.heldNews() {
		return nil // they wait for the first commit, or Close
	}
	var part func() error
	if w.C.Rank() == 0 {
		part = func() error { return w.addEntry(&subfile.Entry{Records: w.Sealed, Atts: w.atts, Held: w.Held.Info()}) }
	}
	outcome, err := verdict.Commit(ctx, w.C, part)
	if err = w.judged(outcome, err); err == nil {
		w.atts = nil
	}
	return err
}

// closeWithAtts ends an append that has put nothing, but has attributes: files of its own it needs none. Collective.
func (w *Writer) closeWithAtts(ctx context.Context, records int64) (err error) {
	w.going = false
	if w.Lead {
		if err = w.Eng.background.drain(); err == nil && !w.InPlace {
			w.removeMade()
		}
	}
	if err = w.lastCall(ctx, w.Ten.Explain(err)); err == nil {
		_, err = w.putInForce(ctx, nil, records)
	}
	if w.Lead {
		w.Eng.Proc.Pool.Close()
	}
	_ = w.Ten.Release() // a lease that could not be removed ends with the process
	return err
}
