package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"blobio/comm"
	"blobio/internal/durable"
	"blobio/redset"
)

// protection is the redundancy over the files of one version: what the processes wrote together is lost and rebuilt together, so that none of
// the files goes before all do.
type protection struct {
	Prefix  string `json:"prefix"` // of the names of the redundancy files
	Gen     int    `json:"generation"`
	Born    int64  `json:"born"`
	Members int    `json:"members"` // processes that made it
}

func (p *protection) of(f *fileInfo) bool { return f.Gen == p.Gen && f.Born == p.Born }

func protectionPrefix(gen int, born, seq int64) string {
	return fmt.Sprintf("g%d-v%d.p%d.", gen, born, seq)
}

func isRedundancy(name string) bool {
	return name[0] == 'g' && (strings.HasSuffix(name, ".redset") || strings.HasSuffix(name, ".redsum"))
}

// stray says whether a file is one of an array, but not one that the record names: one that was not finished is neither.
func (r *record) stray(name string) bool {
	switch {
	case isData(name):
		return !slices.ContainsFunc(r.Files, func(f fileInfo) bool { return f.Name == name })
	case isRedundancy(name):
		return !slices.ContainsFunc(r.Sets, func(p protection) bool { return strings.HasPrefix(name, p.Prefix) })
	}
	return durable.IsTemp(name)
}

// leaders makes the Comm of those that write files, one of each process, and their sets.
func (a *Array) leaders(ctx context.Context, st *Store) error {
	if st == nil || st.Redundancy == nil {
		return nil
	}
	color := -1
	if a.node.Rank() == 0 {
		color = 0
	}
	lead, err := a.c.Split(ctx, color, 0)
	if err != nil {
		return err
	}
	var bad error
	if color == 0 {
		a.lead = lead
		a.red, bad = a.sets(ctx, lead, st.Redundancy)
	}
	a.protected = st.Redundancy
	return comm.Agree(ctx, a.c, bad)
}

func (a *Array) sets(ctx context.Context, lead comm.Comm, o *redset.Options) (*redset.Set, error) {
	opt := *o
	opt.Root = a.store.dir
	if opt.Group == "" {
		opt.Group = fmt.Sprint("node ", a.nodeID)
	}
	return redset.New(ctx, lead, opt)
}

// protect makes the redundancy of the files of a version, and enters it into the record. It is collective.
func (a *Array) protect(ctx context.Context, rec *record, number int64, w *written) error {
	if a.protected == nil {
		return nil
	}
	var in [2]int64 // whether anything was written, and the number of processes
	in[0], in[1] = btoi(w.file() != nil), btoi(a.lead != nil)
	sum, err := a.c.AllreduceInt64(ctx, in[:], comm.Sum)
	if err != nil || sum[0] == 0 {
		return err
	}
	p := protection{protectionPrefix(a.geo.ID, number, rec.Seq), a.geo.ID, number, int(sum[1])}
	var bad error
	if a.lead != nil {
		var files []string
		if w.file() != nil {
			files = []string{w.info.Name}
		}
		w.redundancy = p.Prefix
		bad = a.red.Encode(ctx, a.store.fs, files, filepath.Join(a.store.dir, p.Prefix))
	}
	rec.Sets = append(rec.Sets, p)
	return comm.Agree(ctx, a.c, bad)
}

// listing is what each rank of c has in its directory: sizes by name. Where several share a directory all of them
// have its files.
func (a *Array) listing(ctx context.Context, c comm.Comm, sizes bool) ([]map[string]int64, error) {
	var b []byte
	list, err := a.store.fs.ReadDir(a.store.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range list {
		if e.IsDir() || !isData(e.Name()) && !isRedundancy(e.Name()) {
			continue
		}
		n := int64(0)
		if sizes {
			info, ierr := e.Info()
			if ierr != nil {
				continue // it is gone
			}
			n = info.Size()
		}
		b = fmt.Appendf(b, "%d %s\n", n, e.Name())
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	all, err := c.Allgather(ctx, b)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]int64, len(all))
	for r, b := range all {
		out[r] = map[string]int64{}
		for line := range strings.Lines(string(b)) {
			var n int64
			var name string
			if _, err := fmt.Sscanf(line, "%d %s", &n, &name); err == nil {
				out[r][name] = n
			}
		}
	}
	return out, nil
}
