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
	"blobio/internal/vfs"
	"blobio/redset"
)

// rebuild makes the files anew that a node has lost, of all versions that the record names. Where there are not as many processes as
// made the redundancy, it is made anew by those that there are. It is collective; rec becomes what the files are now.
func (a *Array) rebuild(ctx context.Context, rec *record) error {
	if a.protected == nil {
		return nil
	}
	var bad error
	changed := int64(0)
	if a.lead != nil {
		n, err := a.rebuildSets(ctx, rec)
		changed, bad = int64(n), err
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil {
		return err
	}
	changed, err := comm.AllreduceOne(ctx, a.c, changed, comm.Max)
	if err != nil || changed == 0 {
		return err
	}
	// The same on all ranks: those that lead no process have to know the new sets.
	if changed > 1 {
		rec.Seq++
		n := int64(0)
		if a.lead != nil {
			n = int64(a.lead.Size())
		}
		if n, err = comm.AllreduceOne(ctx, a.c, n, comm.Max); err != nil {
			return err
		}
		rec.Sets = renewed(rec, int(n))
	}
	return a.writeRecords(ctx, rec, false)
}

// renewed is the redundancy of all files, by that many members, in the commit of rec.Seq.
func renewed(rec *record, members int) (out []protection) {
	for i := range rec.Files {
		f := &rec.Files[i]
		if !slices.ContainsFunc(out, func(p protection) bool { return p.of(f) }) {
			out = append(out, protection{protectionPrefix(f.Gen, f.Born, rec.Seq), f.Gen, f.Born, members})
		}
	}
	return out
}

// rebuildSets is rebuild for those that lead a process. It returns 0 if nothing was lost, 1 if all is as it was, 2 if the redundancy was
// made by others than before: that of all files is made anew then.
func (a *Array) rebuildSets(ctx context.Context, rec *record) (int, error) {
	if err := comm.Agree(ctx, a.lead, a.makeStore()); err != nil {
		return 0, err
	}
	changed, again := 0, false
	covered := map[string]bool{}
	for i := range rec.Sets {
		p := &rec.Sets[i]
		for k := range rec.Files {
			if p.of(&rec.Files[k]) {
				covered[rec.Files[k].Name] = true
			}
		}
		if p.Members != a.lead.Size() {
			again = true
			if err := a.gather(ctx, rec, p); err != nil {
				return 0, err
			}
			continue
		}
		n, err := a.recover(ctx, p)
		if err != nil {
			return 0, err
		}
		changed = max(changed, n)
	}
	for i := range rec.Files {
		again = again || !covered[rec.Files[i].Name] // written without redundancy
	}
	if !again {
		_, err := a.store.fs.Stat(filepath.Join(a.store.dir, recordName))
		n, aerr := comm.AllreduceOne(ctx, a.lead, max(int64(changed), btoi(err != nil)), comm.Max)
		return int(n), aerr
	}
	have, err := a.listing(ctx, a.lead, true)
	if err != nil {
		return 0, err
	}
	next := rec.clone()
	next.Seq++
	for _, p := range renewed(next, a.lead.Size()) {
		var mine []string
		for i := range rec.Files {
			f := &rec.Files[i]
			if !p.of(f) {
				continue
			}
			owner := slices.IndexFunc(have, func(l map[string]int64) bool { return l[f.Name] == f.Size && f.Size > 0 })
			if owner < 0 {
				return 0, pkg.Errorf("array %s: %s is on no node: %w", rec.Spec.Name, f.Name, ErrMissing)
			}
			if owner == a.lead.Rank() {
				mine = append(mine, f.Name)
			}
		}
		if err := a.red.Encode(ctx, a.store.fs, mine, filepath.Join(a.store.dir, p.Prefix)); err != nil {
			return 0, err
		}
	}
	return 2, nil
}

// recover rebuilds what members have lost, where there are as many processes as members. They need not be in the
// order of then: each becomes the member whose files its node has, the rest what is left. It returns 1 if something was rebuilt.
func (a *Array) recover(ctx context.Context, p *protection) (int, error) {
	have, err := a.listing(ctx, a.lead, false)
	if err != nil {
		return 0, err
	}
	member := make([]int, a.lead.Size())
	taken := make([]bool, len(member))
	for pass := range 2 {
		for r := range member {
			if pass == 0 {
				member[r] = -1
			}
			for m := range taken {
				_, there := have[r][fmt.Sprintf("%s%d.redset", p.Prefix, m)]
				if member[r] < 0 && !taken[m] && (there || pass > 0) {
					member[r], taken[m] = m, true
				}
			}
		}
	}
	c, err := a.lead.Split(ctx, 0, member[a.lead.Rank()])
	if err != nil {
		return 0, err
	}
	rep, err := redset.Recover(ctx, c, a.store.fs, filepath.Join(a.store.dir, p.Prefix), &redset.RecoverOptions{Root: a.store.dir})
	if err != nil {
		return 0, pkg.Errorf("array %s: version %d: %w", a.spec.Name, p.Born, err)
	}
	n, err := comm.AllreduceOne(ctx, a.lead, btoi(len(rep.Rebuilt) > 0), comm.Max)
	return int(n), err
}

const rebuildDir = "rebuild"

// gather brings the files of lost members to the directory of the first process, when there are not as many processes as members: it copies what the others
// have of the set, and rebuilds the rest without them.
func (a *Array) gather(ctx context.Context, rec *record, p *protection) error {
	have, err := a.listing(ctx, a.lead, true)
	if err != nil {
		return err
	}
	var lost []string
	for i := range rec.Files {
		f := &rec.Files[i]
		if p.of(f) && !slices.ContainsFunc(have, func(l map[string]int64) bool { return l[f.Name] == f.Size }) {
			lost = append(lost, f.Name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	fsys, tmp := a.store.fs, filepath.Join(a.store.dir, rebuildDir)
	first := a.lead.Rank() == 0
	var bad error
	if first {
		if bad = clearDir(fsys, tmp); bad == nil {
			bad = fsys.MkdirAll(tmp)
		}
	}
	if err := comm.Agree(ctx, a.lead, bad); err != nil {
		return err
	}
	seen := map[string]bool{}
	for r, l := range have {
		names := make([]string, 0, len(l))
		for n := range l {
			if !seen[n] && (strings.HasPrefix(n, p.Prefix) || slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Name == n && p.of(&f) })) {
				names = append(names, n)
				seen[n] = true
			}
		}
		slices.Sort(names)
		for _, n := range names {
			if err := a.carry(ctx, r, n, l[n], filepath.Join(tmp, n)); err != nil {
				return err
			}
		}
	}
	if first {
		_, bad = redset.Offline(ctx, fsys, filepath.Join(tmp, p.Prefix), &redset.RecoverOptions{Root: tmp})
		for _, n := range lost {
			if bad == nil {
				bad = durable.Rename(fsys, filepath.Join(tmp, n), filepath.Join(a.store.dir, n))
			}
		}
		if bad != nil {
			bad = pkg.Errorf("array %s: version %d: %w", a.spec.Name, p.Born, bad)
		}
		bad = errors.Join(bad, clearDir(fsys, tmp))
	}
	return comm.Agree(ctx, a.lead, bad)
}

// carry copies a file of a rank to the first one.
func (a *Array) carry(ctx context.Context, from int, name string, size int64, to string) error {
	const piece = 1 << 20
	var src, dst vfs.File
	var bad error
	me := a.lead.Rank()
	if me == from {
		src, bad = a.store.fs.Open(filepath.Join(a.store.dir, name))
	}
	if me == 0 {
		var err error
		if dst, err = a.store.fs.Create(to); bad == nil {
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
				if err := a.lead.Send(ctx, 0, 0, b); err != nil {
					return err
				}
			}
		}
		if me == 0 {
			if from != 0 {
				var err error
				if b, err = a.lead.Recv(ctx, from, 0); err != nil {
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
	return comm.Agree(ctx, a.lead, bad)
}

// clearDir removes a directory of files.
func clearDir(fsys vfs.FS, dir string) error {
	list, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return fsys.Remove(dir)
}

// locate notes in the record on which node each file of a private store is now: the nodes may have other numbers than when it was written. It
// is collective.
func (a *Array) locate(ctx context.Context, rec *record) error {
	if a.shared {
		return nil
	}
	have, err := a.listing(ctx, a.c, false)
	if err != nil {
		return err
	}
	ids, err := a.c.Allgather(ctx, fmt.Append(nil, a.nodeID))
	if err != nil {
		return err
	}
	on := make([]map[string]int64, a.nodes)
	for r := range have {
		var n int
		if _, err := fmt.Sscan(string(ids[r]), &n); err == nil && n >= 0 && n < len(on) {
			on[n] = have[r]
		}
	}
	for i := range rec.Files {
		f := &rec.Files[i]
		if f.Node < len(on) {
			if _, ok := on[f.Node][f.Name]; ok {
				continue
			}
		}
		if n := slices.IndexFunc(on, func(l map[string]int64) bool { _, ok := l[f.Name]; return ok }); n >= 0 {
			f.Node = n
		}
	}
	return nil
}
