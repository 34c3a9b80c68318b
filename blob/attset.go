package blob

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/comm/verdict"
	"blobio/subfile"
)

// SetAtt gives a variable, or the dataset if v is -1, an attribute, or another value to one that it has, while it is written. The next Commit, or Close, commits
// it; of an append, the first Commit that has records, or Close without any. It is in the manifest: the headers of the files stay
// as they are, so that other programs do not see it before Convert. _FillValue and what the layout adds cannot be changed. What is given in a session, with what was
// given before, has at most 256 MiB: more is ErrTooLarge. The same on all ranks. Collective.
func (w *Writer) SetAtt(ctx context.Context, v VarID, name string, value any) error {
	ctx = comm.In(ctx, "Writer.SetAtt")
	a, err := attOf(name, value)
	of := ""
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		err = fault.Usage("attribute %q after Close", name)
	case err != nil:
		err = fault.Usage("%v", err)
	case v < -1 || int(v) >= len(w.schema.vars):
		err = fault.Usage("attribute %q of variable id %d, want -1..%d", name, v, len(w.schema.vars)-1)
	case slices.Contains(fixedAtts, name):
		err = fault.Usage("attribute %q: it cannot be changed once there are files", name)
	case v >= 0:
		of = w.schema.vars[v].Name
	}
	var info subfile.AttInfo
	if err == nil {
		info, err = encodeAtt(of, &a)
	}
	n := int64(len(info.Data) + len(info.Name))
	if err == nil && w.attBytes+n > maxSetAtts {
		err = fmt.Errorf("attribute %q of %d bytes: the manifest has %d of attributes, want at most %d: %w", name, len(info.Data), w.attBytes, maxSetAtts, ErrTooLarge)
	}
	h := int64(crc32.ChecksumIEEE([]byte(info.Var + "\x00" + info.Name + "\x00" + info.Type + "\x00" + string(info.Data))))
	alike, err := comm.AgreeMin(ctx, w.c, err, h, ^h)
	if err != nil {
		return err
	}
	if alike[0] != ^alike[1] {
		return fault.Usage("the ranks give different attributes %q", name)
	}
	w.atts, w.attBytes = append(w.atts, info), w.attBytes+n
	return nil
}

// maxSetAtts bounds attributes that are set, all values that one has had counted, so that manifest and log stay such as readers take.
const maxSetAtts = 256 << 20

// commitAtts commits attributes without records, and what records are held back for, behind the first commit. Collective.
func (w *Writer) commitAtts(ctx context.Context) error {
	if w.commits == 0 || len(w.atts) == 0 && !w.heldNews() {
		return nil // they wait for the first commit, or Close
	}
	var part func() error
	if w.c.Rank() == 0 {
		part = func() error { return w.addEntry(&subfile.Entry{Records: w.sealed, Atts: w.atts, Held: w.held.info()}) }
	}
	outcome, err := verdict.Commit(ctx, w.c, part)
	if err = w.judged(outcome, err); err == nil {
		w.atts = nil
	}
	return err
}

// closeWithAtts ends an append that has put nothing, but has attributes: files of its own it needs none. Collective.
func (w *Writer) closeWithAtts(ctx context.Context, records int64) (err error) {
	w.going = false
	if w.lead {
		if err = w.eng.drain(); err == nil && !w.inPlace {
			w.removeMade()
		}
	}
	if err = w.lastCall(ctx, w.ten.explain(err)); err == nil {
		_, err = w.putInForce(ctx, nil, records)
	}
	if w.lead {
		w.eng.proc.pool.Close()
	}
	_ = w.ten.release() // a lease that could not be removed ends with the process
	return err
}
