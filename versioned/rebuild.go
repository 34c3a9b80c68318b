package versioned

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"blobio/comm"
	"blobio/internal/durable"
	"blobio/internal/vfs"
	"blobio/scr/redset"
)

// rebuild makes the files anew that a node has lost, of all versions that the record names. Where there are not as many processes as
// made the redundancy, it is made anew by those that there are. It is collective; rec becomes what the files are now.
func (r *redundancy) rebuild(ctx context.Context, rec *record) error {
	if r == nil {
		return nil
	}
	var bad error
	changed := int64(0)
	if r.lead != nil {
		n, err := r.rebuildSets(ctx, rec)
		changed, bad = int64(n), err
	}
	if err := comm.Agree(ctx, r.nodes.c, bad); err != nil {
		return err
	}
	changed, err := comm.AllreduceOne(ctx, r.nodes.c, changed, comm.Max)
	if err != nil || changed == 0 {
		return err
	}
	// The same on all ranks: those that lead no process have to know the new sets.
	if changed > 1 {
		rec.Seq++
		n := int64(0)
		if r.lead != nil {
			n = int64(r.lead.Size())
		}
		if n, err = comm.AllreduceOne(ctx, r.nodes.c, n, comm.Max); err != nil {
			return err
		}
		rec.Sets = renewed(rec, int(n))
	}
	_, err = r.nodes.writeRecords(ctx, rec, anySeq)
	return err
}

// renewed is the redundancy of all files, by that many members, in the commit of rec.Seq.
func renewed(rec *record, members int) (out []protection) {
	for i := range rec.Files {
		f := &rec.Files[i]
		if !slices.ContainsFunc(out, func(p protection) bool { return p.covers(f) }) {
			out = append(out, protection{protectionPrefix(f.Gen, f.Born, rec.Seq), f.Gen, f.Born, members})
		}
	}
	return out
}

// rebuildSets is rebuild for those that lead a process. It returns 0 if nothing was lost, 1 if all is as it was, 2 if the redundancy was
// made by others than before: that of all files is made anew then.
func (r *redundancy) rebuildSets(ctx context.Context, rec *record) (int, error) {
	if err := comm.Agree(ctx, r.lead, r.nodes.makeDir()); err != nil {
		return 0, err
	}
	changed, again := 0, false
	covered := map[string]bool{}
	for i := range rec.Sets {
		p := &rec.Sets[i]
		for k := range rec.Files {
			if p.covers(&rec.Files[k]) {
				covered[rec.Files[k].Name] = true
			}
		}
		if p.Members != r.lead.Size() {
			again = true
			if err := r.gather(ctx, rec, p); err != nil {
				return 0, err
			}
			continue
		}
		n, err := r.recover(ctx, p)
		if err != nil {
			return 0, err
		}
		changed = max(changed, n)
	}
	for i := range rec.Files {
		again = again || !covered[rec.Files[i].Name] // written without redundancy
	}
	if !again {
		_, err := r.nodes.store.fs.Stat(r.nodes.file(recordName))
		n, aerr := comm.AllreduceOne(ctx, r.lead, max(int64(changed), btoi(err != nil)), comm.Max)
		return int(n), aerr
	}
	have, err := r.nodes.listing(ctx, r.lead, true)
	if err != nil {
		return 0, err
	}
	next := rec.clone()
	next.Seq++
	for _, p := range renewed(next, r.lead.Size()) {
		var mine []string
		for i := range rec.Files {
			f := &rec.Files[i]
			if !p.covers(f) {
				continue
			}
			owner := slices.IndexFunc(have, func(l map[string]int64) bool { return l[f.Name] == f.Size && f.Size > 0 })
			if owner < 0 {
				return 0, pkg.Errorf("array %s: %s is on no node: %w", rec.Spec.Name, f.Name, ErrMissing)
			}
			if owner == r.lead.Rank() {
				mine = append(mine, f.Name)
			}
		}
		if err := r.set.Encode(ctx, r.nodes.store.fs, mine, r.nodes.file(p.Prefix)); err != nil {
			return 0, err
		}
	}
	return 2, nil
}

// recover rebuilds what members have lost, where there are as many processes as members. They need not be in the
// order of then: each becomes the member whose files its node has, the rest what is left. It returns 1 if something was rebuilt.
func (r *redundancy) recover(ctx context.Context, p *protection) (int, error) {
	have, err := r.nodes.listing(ctx, r.lead, false)
	if err != nil {
		return 0, err
	}
	member := make([]int, r.lead.Size())
	taken := make([]bool, len(member))
	for pass := range 2 {
		for i := range member {
			if pass == 0 {
				member[i] = -1
			}
			for m := range taken {
				_, there := have[i][fmt.Sprintf("%s%d.redset", p.Prefix, m)]
				if member[i] < 0 && !taken[m] && (there || pass > 0) {
					member[i], taken[m] = m, true
				}
			}
		}
	}
	c, err := r.lead.Split(ctx, 0, member[r.lead.Rank()])
	if err != nil {
		return 0, err
	}
	rep, err := redset.Recover(ctx, c, r.nodes.store.fs, r.nodes.file(p.Prefix), &redset.RecoverOptions{Root: r.nodes.store.dir})
	if err != nil {
		return 0, pkg.Errorf("array %s: version %d: %w", r.nodes.array, p.Born, err)
	}
	n, err := comm.AllreduceOne(ctx, r.lead, btoi(len(rep.Rebuilt) > 0), comm.Max)
	return int(n), err
}

// gather brings the files of lost members to the directory of the first process, when there are not as many processes as members: it copies what the others
// have of the set, and rebuilds the rest without them.
func (r *redundancy) gather(ctx context.Context, rec *record, p *protection) error {
	have, err := r.nodes.listing(ctx, r.lead, true)
	if err != nil {
		return err
	}
	var lost []string
	for i := range rec.Files {
		f := &rec.Files[i]
		if p.covers(f) && !slices.ContainsFunc(have, func(l map[string]int64) bool { return l[f.Name] == f.Size }) {
			lost = append(lost, f.Name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	fsys, tmp := r.nodes.store.fs, r.nodes.file(rebuildDir)
	first := r.lead.Rank() == 0
	var bad error
	if first {
		if bad = clearDir(fsys, tmp); bad == nil {
			bad = fsys.MkdirAll(tmp)
		}
	}
	if err := comm.Agree(ctx, r.lead, bad); err != nil {
		return err
	}
	seen := map[string]bool{}
	for from, l := range have {
		names := make([]string, 0, len(l))
		for n := range l {
			if !seen[n] && (strings.HasPrefix(n, p.Prefix) || slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Name == n && p.covers(&f) })) {
				names = append(names, n)
				seen[n] = true
			}
		}
		slices.Sort(names)
		for _, n := range names {
			if err := r.carry(ctx, from, n, l[n], filepath.Join(tmp, n)); err != nil {
				return err
			}
		}
	}
	if first {
		_, bad = redset.Offline(ctx, fsys, filepath.Join(tmp, p.Prefix), &redset.RecoverOptions{Root: tmp})
		for _, n := range lost {
			if bad == nil {
				bad = durable.Rename(fsys, filepath.Join(tmp, n), r.nodes.file(n))
			}
		}
		if bad != nil {
			bad = pkg.Errorf("array %s: version %d: %w", r.nodes.array, p.Born, bad)
		}
		bad = errors.Join(bad, clearDir(fsys, tmp))
	}
	return comm.Agree(ctx, r.lead, bad)
}

// carry copies a file of a rank to the first one.
func (r *redundancy) carry(ctx context.Context, from int, name string, size int64, to string) error {
	const piece = 1 << 20
	var src, dst vfs.File
	var bad error
	me := r.lead.Rank()
	if me == from {
		src, bad = r.nodes.store.fs.Open(r.nodes.file(name))
	}
	if me == 0 {
		var err error
		if dst, err = r.nodes.store.fs.Create(to); bad == nil {
			bad = err
		}
	}
	for off := int64(0); off < size; off += piece {
		b := make([]byte, 0)
		if me == from {
			b = make([]byte, min(piece, size-off))
			if src != nil {
				if _, err := src.ReadAt(b, off); err != nil && bad == nil {
					bad = err
				}
			}
			if me != 0 {
				if err := r.lead.Send(ctx, 0, 0, b); err != nil {
					return err
				}
			}
		}
		if me == 0 {
			if from != 0 {
				var err error
				if b, err = r.lead.Recv(ctx, from, 0); err != nil {
					return err
				}
			}
			if dst != nil {
				if _, err := dst.WriteAt(b, off); err != nil && bad == nil {
					bad = err
				}
			}
		}
	}
	if src != nil {
		src.Close()
	}
	if dst != nil {
		if err := dst.Sync(); bad == nil {
			bad = err
		}
		if err := dst.Close(); bad == nil {
			bad = err
		}
	}
	return comm.Agree(ctx, r.lead, bad)
}
