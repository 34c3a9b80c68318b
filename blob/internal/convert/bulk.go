package convert

import (
	"context"
	"errors"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/blob/internal/process"
	"blobio/blob/internal/write"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/subfile"
)

// bulk writes a whole blob dataset for Convert. One process writes the blobs of all ranks, without communication.
type bulk struct {
	opt     dataset.Settings
	base    string
	schema  *dataset.Schema
	maps    []*decomp.Map // maps of all ranks
	ranks   int
	engines []*write.Engine
	world   [][]int       // by subfile: world rank of each sub rank
	w       *write.Writer // its commit functions use only name, options and info

	unverified bool // the data were not compared with their checksums
}

func NewBulk(base string, s *dataset.Schema, maps []*decomp.Map, ranks int, o *dataset.Settings) (*bulk, error) {
	b := &bulk{opt: o.WithDefaults(), base: base, schema: s, maps: maps, ranks: ranks}
	if err := s.CanSum(o.Records); err != nil {
		return nil, err
	}
	n := b.opt.Subfiles
	if n < 1 || n > ranks {
		return nil, fault.Usage("%d subfiles for %d ranks, want at least 1 and at most 1 per rank", n, ranks)
	}
	b.world = make([][]int, n)
	for r := range ranks {
		k := b.opt.Grouping.Of(r, ranks, n)
		b.world[k] = append(b.world[k], r)
	}
	proc := process.NewProcess(&b.opt)
	for k := range n {
		e, err := b.engine(k, proc)
		if err != nil {
			return nil, err
		}
		b.engines = append(b.engines, e)
	}
	b.w = write.NewWriter(&write.Job{Schema: s, Base: base, Opt: b.opt, Ranks: ranks, Subfiles: n})
	prints := make([]int64, len(maps))
	for d := range maps {
		for _, e := range b.engines {
			prints[d] += dataset.MapPrint(e.Layout.Maps[d], e.Layout.Table, e.File.Index)
		}
	}
	b.w.Commits.MapPrints = dataset.PrintTexts(prints)
	return b, nil
}

func (b *bulk) engine(k int, proc *process.Process) (*write.Engine, error) {
	nd := len(b.schema.Decomps)
	var rows []*write.RankRow
	for j, r := range b.world[k] {
		row := &write.RankRow{Sub: j, Runs: make([][]decomp.Req, nd)}
		var parts []write.Part
		for d, m := range b.maps {
			row.Runs[d] = m.AppendReqs(nil, r)
			parts = append(parts, write.Part{Decomp: dataset.DecompID(d + 1), Runs: row.Runs[d]})
		}
		if _, err := write.CheckParts(b.schema, parts, b.opt.WideMaps); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	all := write.TableOf(len(rows), nd, func(j, d int) (count, nreqs int64) {
		r := b.world[k][j]
		return b.maps[d].Count(r), b.maps[d].NumReqs(r)
	})
	sh := write.NewShape(all, b.schema, b.opt.WideMaps)
	sh.Ranks, sh.Subfiles = b.ranks, len(b.world)
	e, err := write.NewEngine(&b.opt, proc, b.schema, sh, &write.Team{All: all}, rows)
	if err == nil {
		e.File.Index = k
	}
	return e, err
}

// Create claims the name and makes the files.
func (b *bulk) Create(ctx context.Context, records int64) error {
	if err := b.w.Job.Acquire(ctx, b.base); err != nil {
		return err
	}
	b.engines[0].Proc.Tenure.Store(b.w.Job.Ten)
	if err := b.w.Claim.Take(); err != nil {
		return err
	}
	rename := b.w.Claim.Renames()
	b.w.Claim.Rename = rename
	if !rename {
		if err := b.w.Job.Share(); err != nil {
			return err
		}
	}
	if err := b.w.Claim.Announce(0); err != nil {
		return err
	}
	for _, e := range b.engines {
		e.File.Called(b.base, rename, b.w.Job.Ten)
		f, err := b.opt.Fs.Create(e.File.Name)
		if err != nil {
			return err
		}
		e.File.Made = true
		if err := f.Close(); err != nil {
			return err
		}
		if err := e.Layout.Settle(records); err != nil {
			return err
		}
	}
	return nil
}

// write writes whole records of variables. data returns the elements of a world rank in map order, in host byte order and in the
// type of the file.
func (b *bulk) write(ctx context.Context, items []unit, data func(item, rank int) []byte) error {
	for k, e := range b.engines {
		lists := make([][]write.Pend, len(e.Layout.Table.ID))
		for it, u := range items {
			sv := &b.schema.Vars[u.v]
			for j, r := range b.world[k] {
				if sv.Decomp == 0 && j != 0 {
					continue
				}
				if raw := data(it, r); raw != nil {
					lists[j] = append(lists[j], write.Pend{Raw: raw, Rec: u.rec, V: int32(u.v), Mem: sv.Type})
				}
			}
		}
		if _, err := e.Write(ctx, lists, write.Flushing{}, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Commit completes all subfiles and the manifest.
func (b *bulk) Commit(ctx context.Context, records int64) error {
	sync := b.opt.Durability == dataset.DurableCommit
	subs := make([]subfile.Subfile, len(b.engines))
	errs := make([]error, len(b.engines))
	par.Do(b.opt.Workers, len(b.engines), func(k int) {
		e := b.engines[k]
		if errs[k] = ctx.Err(); errs[k] != nil {
			return
		}
		if _, errs[k] = e.Write(ctx, e.Kept.Missing(records), write.Flushing{}, nil, nil); errs[k] != nil {
			return
		}
		if errs[k] = e.Seal.Local(records, true, b.opt.Durability != dataset.DurableNone, true); errs[k] != nil {
			return
		}
		sf, err := e.Sums.Describe(records)
		if errs[k] = err; err != nil {
			return
		}
		sf.Blobs = e.Layout.Place.ManifestBlobs(e.Layout.Table.Blob)
		subs[k] = *sf
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := b.engines[0].Proc.Pool.Close(); err != nil {
		return err
	}
	m := b.w.Commits.NewManifest(records, subs)
	m.Unverified = b.unverified
	if err := b.w.Commits.WriteNext(m, sync); err != nil {
		b.w.Commits.MayBeInForce = errors.As(err, new(*dataset.InDoubtError))
		return err
	}
	b.w.Commits.MayBeInForce = true
	return b.w.Job.Unfinished(b.w.Commits.Finish(m, sync))
}

// abandon removes the files, unless they are committed.
func (b *bulk) abandon() {
	b.engines[0].Proc.Pool.Close()
	if b.w.Commits.MayBeInForce {
		return
	}
	for _, e := range b.engines {
		if e.File.Made && (!lease.IsPartial(e.File.Name) && b.w.Job.Ten.Check() != nil || b.opt.Fs.Remove(e.File.Name) != nil) {
			return // files under final names need the announcement to count as unfinished
		}
	}
	if !b.w.Claim.Claimed || b.w.Claim.Foreign || errors.Is(b.w.Job.Ten.Check(), dataset.ErrInUse) || b.opt.Fs.SyncDir(subfile.Dir(b.base)) != nil {
		return
	}
	_ = subfile.DropNext(b.opt.Fs, b.base, b.w.Job.Ten.Tag())
}
