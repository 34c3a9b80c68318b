package blob

import (
	"context"
	"errors"

	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/subfile"
)

// bulk writes a whole blob dataset from one place: all ranks of all subfiles
// are its own, so there is nobody to agree with. Convert uses it.
type bulk struct {
	opt     settings
	base    string
	schema  *Schema
	maps    []*decomp.Map // of all ranks
	ranks   int
	engines []*engine
	world   [][]int // by subfile: world rank of each sub rank
	w       Writer  // its commit helpers need a name, options and info only

	unverified bool // the data were not compared with their checksums
}

func newBulk(base string, s *Schema, maps []*decomp.Map, ranks int, o *settings) (*bulk, error) {
	b := &bulk{opt: o.withDefaults(), base: base, schema: s, maps: maps, ranks: ranks}
	if err := s.canSum(o.Records); err != nil {
		return nil, err
	}
	n := b.opt.Subfiles
	if n < 1 || n > ranks {
		return nil, fault.Usage("%d subfiles for %d ranks", n, ranks)
	}
	b.world = make([][]int, n)
	for r := range ranks {
		k := b.opt.Grouping.Of(r, ranks, n)
		b.world[k] = append(b.world[k], r)
	}
	proc := newProcess(&b.opt)
	for k := range n {
		e, err := b.engine(k, proc)
		if err != nil {
			return nil, err
		}
		b.engines = append(b.engines, e)
	}
	b.w = Writer{schema: s, base: base, opt: b.opt, info: datasetInfo{ranks: ranks, subfiles: n}}
	prints := make([]int64, len(maps))
	for d := range maps {
		for _, e := range b.engines {
			prints[d] += mapPrint(e.maps[d], e.table, e.index)
		}
	}
	b.w.info.prints = printTexts(prints)
	return b, nil
}

func (b *bulk) engine(k int, proc *process) (*engine, error) {
	nd := len(b.schema.decomps)
	var rows []*rankRow
	for j, r := range b.world[k] {
		row := &rankRow{sub: j, runs: make([][]decomp.Req, nd)}
		var parts []Part
		for d, m := range b.maps {
			row.runs[d] = m.AppendReqs(nil, r)
			parts = append(parts, Part{DecompID(d + 1), row.runs[d]})
		}
		if _, err := checkParts(b.schema, parts, b.opt.WideMaps); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	all := tableOf(len(rows), nd, func(j, d int) (count, nreqs int64) {
		r := b.world[k][j]
		return b.maps[d].Count(r), b.maps[d].NumReqs(r)
	})
	sh := newShape(all, b.schema, b.opt.WideMaps)
	sh.Ranks, sh.Subfiles = b.ranks, len(b.world)
	e, err := newEngine(&b.opt, proc, b.schema, sh, &team{all: all}, rows)
	if err == nil {
		e.index = k
	}
	return e, err
}

// create claims the name and makes the files.
func (b *bulk) create(ctx context.Context, records int64) error {
	if err := b.w.acquire(ctx, b.base); err != nil {
		return err
	}
	b.engines[0].proc.tenure.Store(b.w.ten)
	if err := b.w.claim(); err != nil {
		return err
	}
	rename := b.w.renames()
	b.w.info.rename = rename
	if !rename {
		if err := b.w.share(); err != nil {
			return err
		}
	}
	if err := b.w.announce(); err != nil {
		return err
	}
	for _, e := range b.engines {
		e.called(b.base, rename, b.w.ten)
		f, err := b.opt.fs.Create(e.name)
		if err != nil {
			return err
		}
		e.made = true
		if err := f.Close(); err != nil {
			return err
		}
		if err := e.settle(records); err != nil {
			return err
		}
	}
	return nil
}

// write writes whole records of variables: data returns the elements of a
// world rank in map order, in host order and the type of the file.
func (b *bulk) write(ctx context.Context, items []unit, data func(item, rank int) []byte) error {
	for k, e := range b.engines {
		lists := make([][]pend, len(e.table.ID))
		for it, u := range items {
			sv := &b.schema.vars[u.v]
			for j, r := range b.world[k] {
				if sv.Decomp == 0 && j != 0 {
					continue
				}
				if raw := data(it, r); raw != nil {
					lists[j] = append(lists[j], pend{raw: raw, rec: u.rec, v: int32(u.v), mem: sv.Type})
				}
			}
		}
		if _, err := e.write(ctx, lists, flushing{}, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// commit completes all subfiles and the manifest.
func (b *bulk) commit(ctx context.Context, records int64) error {
	sync := b.opt.Durability == DurableCommit
	subs := make([]subfile.Subfile, len(b.engines))
	errs := make([]error, len(b.engines))
	par.Do(b.opt.Workers, len(b.engines), func(k int) {
		e := b.engines[k]
		if errs[k] = ctx.Err(); errs[k] != nil {
			return
		}
		if _, errs[k] = e.write(ctx, e.missing(records), flushing{}, nil, nil); errs[k] != nil {
			return
		}
		if errs[k] = e.sealLocal(records, true, b.opt.Durability != DurableNone, true); errs[k] != nil {
			return
		}
		sf, err := e.describe(records)
		if errs[k] = err; err != nil {
			return
		}
		sf.Blobs = e.place.ManifestBlobs(e.table.Blob)
		subs[k] = *sf
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := b.engines[0].proc.pool.Close(); err != nil {
		return err
	}
	m := b.w.newManifest(records, subs)
	m.Unverified = b.unverified
	if err := b.w.writeNext(m, sync); err != nil {
		b.w.committed = errors.As(err, new(*InDoubtError))
		return err
	}
	b.w.committed = true
	return b.w.unfinished(b.w.finish(m, sync))
}

// abandon removes what was made, unless it is committed.
func (b *bulk) abandon() {
	b.engines[0].proc.pool.Close()
	if b.w.committed {
		return
	}
	for _, e := range b.engines {
		if e.made && (!isPartial(e.name) && b.w.ten.check() != nil || b.opt.fs.Remove(e.name) != nil) {
			return // under a final name, it needs the announcement to be known as unfinished
		}
	}
	if !b.w.claimed || b.w.info.foreign || errors.Is(b.w.ten.check(), ErrInUse) || b.opt.fs.SyncDir(subfile.Dir(b.base)) != nil {
		return
	}
	_ = subfile.DropNext(b.opt.fs, b.base, b.w.ten.tag())
}
