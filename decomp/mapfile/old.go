package mapfile

import (
	"errors"
	"fmt"

	"blobio/decomp"
)

// readOld reads a CDF file of the older schema: one map, with a list for each process.
func readOld(c container) (*File, error) {
	procs, err := wantDim(c, "num_procs", maxProcs)
	if err != nil {
		return nil, err
	}
	size, err := wantDim(c, "array_size", 1<<62)
	if err != nil {
		return nil, err
	}
	b := decomp.NewBuilder([]int64{size}, int(procs))
	var reqs []decomp.Req
	for p := range int(procs) {
		offsets, err := c.list(fmt.Sprintf("off_%05d", p))
		if err != nil {
			return nil, err
		}
		lengths, err := c.list(fmt.Sprintf("len_%05d", p))
		if err != nil {
			return nil, err
		}
		if offsets == nil && lengths == nil {
			continue // no requests: dimensions cannot have length 0, so the process has no variables
		}
		if offsets == nil || lengths == nil || offsets.n != lengths.n {
			return nil, corrupt(c, fmt.Sprintf("off_%05d, len_%05d", p, p), "a variable is missing, or the lengths differ")
		}
		reqs = reqs[:0]
		for at := int64(0); at < offsets.n; {
			o, err := offsets.window(at, offsets.n-at)
			if err != nil {
				return nil, err
			}
			w, err := lengths.window(at, int64(len(o)))
			if err != nil {
				return nil, err
			}
			for i := range w {
				reqs = append(reqs, decomp.Req{Offset: o[i], Length: w[i]})
			}
			at += int64(len(w))
		}
		if err := b.Set(p, reqs); err != nil {
			if bad := new(decomp.RequestError); errors.As(err, &bad) {
				return nil, offsets.errAt(bad.Index, err, "invalid request of process %d", p)
			}
			return nil, err
		}
	}
	m, err := b.Map()
	if err != nil {
		return nil, err
	}
	return &File{Procs: int(procs), Maps: []Raw{{Reqs: m}}, Format: c.format() + " (one map)"}, nil
}
