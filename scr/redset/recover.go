package redset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// RecoverOptions specify the locations of files, and the checks. nil means all defaults.
type RecoverOptions struct {
	Root string // base directory of relative names in headers; default: the working directory
	// Map returns the current path of a file of a world rank, given the name in the header. By default it is that name, below Root
	// if relative. Generations A and B store only base names; the default is then the directory of the redundancy file, or its
	// parent if that directory is ".scr".
	Map func(rank int, name string) string
	// Sure means that the caller knows a checksum of each file and compares it. Otherwise files without checksums (the reference
	// makes none) are compared with their spare redundancy. A stripe that disagrees is repaired if it has two spare elements, else
	// it causes a *DoubtError. Same on all ranks.
	Sure bool
	// Lost reports whether an existing file, with the path that Map returns, counts as lost, for instance because its checksum is
	// wrong. Such a file is replaced if it can be rebuilt. nil: no file.
	Lost func(name string) bool
}

// Entry is a file of a world rank.
type Entry struct {
	Rank int
	Name string // current path
}

// Report is the result of Recover and Offline: on each rank for its own files, offline for all.
type Report struct {
	Scheme  Scheme
	Files   []Entry // the protected files
	Rebuilt []Entry // rebuilt files, including redundancy files
	Corrupt []Entry // rebuilt files that existed but did not match their checksum or header
	// Verified means that every byte of data and parity of the set was compared with a checksum. Sets made by the
	// reference have no checksums: existence and sizes are checked, and that data and redundancy agree if nothing was lost.
	Verified bool
	Sums     map[string]uint32 // CRC-32 (IEEE) of the files by name, for sets with checksums
}

func (o *RecoverOptions) path(p position, prefix, name string) string {
	switch {
	case o != nil && o.Map != nil:
		return o.Map(p.world, name)
	case p.gen != GenC:
		dir := dirOf(prefix)
		if filepath.Base(dir) == ".scr" {
			dir = filepath.Dir(dir)
		}
		return filepath.Join(dir, name)
	case o != nil:
		return resolve(o.Root, name)
	}
	return name
}

// Recover is a collective over the ranks that made the sets, even if they have no files left. It finds lost and corrupt files in
// all sets and rebuilds them. The prefix is the same as for Encode. All bytes are read once. Files are replaced whole,
// atomically, when all sets are complete.
//
// If losses exceed the scheme, Recover changes nothing and returns a *LostError on all ranks. It returns ErrNone if there are no
// redundancy files at all.
func Recover(ctx context.Context, c comm.Comm, fsys vfs.FS, prefix string, o *RecoverOptions) (*Report, error) {
	fsys = vfs.OrOS(fsys)
	p, all, err := discover(ctx, c, fsys, prefix)
	if err != nil {
		return nil, err
	}
	sc, err := c.Split(ctx, p.set, p.rank)
	if err != nil {
		return nil, err
	}
	if sc.Size() != p.n || sc.Rank() != p.rank {
		err = formatErr("", -1, "GROUP", fmt.Sprintf("set %d has %d ranks, but its files have %d", p.set, sc.Size(), p.n), fault.ErrCorrupt)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	r, err := gather(ctx, sc, findEvidence(fsys, prefix, all, p), p)
	if err != nil {
		return nil, verdict(ctx, c, err)
	}
	m := &member{r: r, fs: fsys, prefix: prefix, rank: p.rank}
	r.locals = []*member{m}
	r.options(o)
	for _, f := range r.descs[p.rank].files {
		m.paths = append(m.paths, o.path(r.descs[p.rank].position, prefix, f.name))
	}
	err = r.run(ctx)
	if err = verdict(ctx, c, err); err != nil {
		m.undo()
		return nil, err
	}
	if err := comm.Agree(ctx, c, m.commit()); err != nil {
		m.undo()
		return nil, err
	}
	rep := &Report{}
	rep.add(m)
	return rep, nil
}

// add adds the rebuilt files of a member.
func (rep *Report) add(m *member) {
	r := m.r
	rank := r.descs[m.rank].world
	entries := func(names []string) (v []Entry) {
		for _, name := range names {
			v = append(v, Entry{rank, name})
		}
		return v
	}
	first := rep.Files == nil && rep.Rebuilt == nil
	rep.Scheme = r.scheme
	rep.Files = append(rep.Files, entries(m.paths)...)
	rep.Rebuilt = append(rep.Rebuilt, entries(m.rebuilt)...)
	rep.Corrupt = append(rep.Corrupt, entries(m.corrupt)...)
	verified := true
	for _, s := range r.sums {
		verified = verified && s != nil
	}
	rep.Verified = verified && (first || rep.Verified)
	if s := r.sums[m.rank]; s != nil {
		if rep.Sums == nil {
			rep.Sums = map[string]uint32{}
		}
		for i, crc := range s.fileSums(r.ext[m.rank], len(m.paths)) {
			rep.Sums[m.paths[i]] = crc
		}
	}
}

// gather sends the evidence of all members to all.
func gather(ctx context.Context, sc comm.Comm, own *evidence, p position) (*repair, error) {
	all, err := sc.Allgather(ctx, own.pack())
	if err != nil {
		return nil, err
	}
	ev := make([]*evidence, len(all))
	for m, b := range all {
		if ev[m], err = unpackEvidence(b); err != nil {
			return nil, err
		}
	}
	worlds, err := sc.Allgather(ctx, fmt.Append(nil, p.world))
	if err != nil {
		return nil, err
	}
	group := make([]int, len(worlds))
	for m, b := range worlds {
		if _, err := fmt.Sscan(string(b), &group[m]); err != nil {
			return nil, err
		}
	}
	r, err := newRepair(p, group, ev)
	if err != nil {
		return nil, err
	}
	r.sc, r.me = sc, p.rank
	return r, nil
}

// verdict is a collective: if any rank has an error, all ranks return one. If some rank has a *LostError, all ranks return a
// *LostError, from the lowest such rank.
func verdict(ctx context.Context, c comm.Comm, err error) error {
	var l *LostError
	first := int64(math.MaxInt64)
	if errors.As(err, &l) {
		first = int64(c.Rank())
	}
	v, e := c.AllreduceInt64(ctx, []int64{first}, comm.Min)
	if e != nil {
		return errors.Join(err, e)
	}
	if v[0] == math.MaxInt64 {
		return comm.Agree(ctx, c, err)
	}
	var b []byte
	if int64(c.Rank()) == v[0] {
		b, _ = json.Marshal(l)
	}
	if b, e = c.Bcast(ctx, int(v[0]), b); e != nil {
		return errors.Join(err, e)
	}
	told := &LostError{}
	if e := json.Unmarshal(b, told); e != nil {
		return e
	}
	return told
}
