package versioned

import (
	"context"
	"fmt"

	"blobio/comm"
	"blobio/scr/redset"
)

// redundancy protects what the processes write by a scheme of package redset. nil: there is none.
type redundancy struct {
	nodes *nodes
	lead  comm.Comm   // of the ranks that write files, one of each process; nil on others
	set   *redset.Set // of lead
}

// newRedundancy makes the sets. It is collective.
func newRedundancy(ctx context.Context, n *nodes, st *Store) (*redundancy, error) {
	if st == nil || st.Redundancy == nil {
		return nil, nil
	}
	color := -1
	if n.process.Rank() == 0 {
		color = 0
	}
	lead, err := n.c.Split(ctx, color, 0)
	if err != nil {
		return nil, err
	}
	r := &redundancy{nodes: n}
	var bad error
	if color == 0 {
		opt := *st.Redundancy
		opt.Root = n.store.dir
		if opt.Group == "" {
			opt.Group = fmt.Sprint("node ", n.own)
		}
		r.lead = lead
		r.set, bad = redset.New(ctx, lead, opt)
	}
	return r, comm.Agree(ctx, n.c, bad)
}

// encode makes the redundancy of the files of a version, of which this rank has written file, nil for none, and enters it into the record. begun is the prefix of the
// files that it may have made, even if it fails. It is collective.
func (r *redundancy) encode(ctx context.Context, rec *record, gen int, number int64, file *fileInfo) (begun string, err error) {
	if r == nil {
		return "", nil
	}
	n := r.nodes
	var in [2]int64 // whether anything was written, and the number of processes
	in[0], in[1] = btoi(file != nil), btoi(r.lead != nil)
	sum, err := n.c.AllreduceInt64(ctx, in[:], comm.Sum)
	if err != nil || sum[0] == 0 {
		return "", err
	}
	p := protection{protectionPrefix(gen, number, rec.Seq), gen, number, int(sum[1])}
	var bad error
	if r.lead != nil {
		var files []string
		if file != nil {
			files = []string{file.Name}
		}
		begun = p.Prefix
		bad = r.set.Encode(ctx, n.store.fs, files, n.file(p.Prefix))
	}
	rec.Sets = append(rec.Sets, p)
	return begun, comm.Agree(ctx, n.c, bad)
}

// drop removes what encode has begun. What stays is removed when the array is opened next.
func (r *redundancy) drop(begun string) {
	if begun != "" {
		redset.Drop(r.nodes.store.fs, r.nodes.file(begun), r.lead.Rank())
	}
}
