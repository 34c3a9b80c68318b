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

// RecoverOptions specify where files are and how they are checked. A nil *RecoverOptions means all defaults.
type RecoverOptions struct {
	Root string // directory that relative names in headers refer to; default: the working directory
	// Map returns the current path of a file of a world rank. name is the name in the header. The default for Map returns name,
	// below Root if name is relative. Generations A and B store only base names. Then the default is the directory of the
	// redundancy file, or its parent if that directory is ".scr".
	Map func(rank int, name string) string
	// Sure is set if the caller knows a checksum of each file and compares it. Otherwise files without checksums (SCR writes none)
	// are compared with their spare redundancy. If the elements of a stripe disagree, the stripe is repaired if it has two spare
	// elements. Without two spare elements the error is a *DoubtError. Sure must be the same on all ranks.
	Sure bool
	// Lost reports whether an existing file must be treated as lost, for example because its checksum is wrong. name is the path
	// that Map returns. Such a file is replaced if it can be rebuilt. If Lost is nil, no existing file is treated as lost.
	Lost func(name string) bool
}

// Entry is a file of a world rank.
type Entry struct {
	Rank int
	Name string // current path
}

// Report is the result of Recover and Offline. Recover reports the files of this rank, and Offline reports all files.
type Report struct {
	Scheme  Scheme
	Files   []Entry // the protected files
	Rebuilt []Entry // rebuilt files, including redundancy files
	Corrupt []Entry // rebuilt files that existed but did not match their checksums or headers
	// Verified means that every byte of data and parity of the set was compared with a checksum. Sets that SCR made have no
	// checksums. For such sets only existence and sizes are checked, and, if nothing was lost, that data and redundancy agree.
	Verified bool
	Sums     map[string]uint32 // CRC-32 (IEEE) of the files by name, if the set has checksums
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

// Recover finds lost and corrupt files in all sets and rebuilds them. It is a collective of all ranks that made the sets; ranks
// without files must call it too. prefix is the same as for Encode. All bytes are read once. When all sets are complete, each file
// is replaced atomically.
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

// gather sends the evidence of each member to all members.
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

// verdict is a collective. If any rank passes an error, all ranks return an error. If some ranks pass a *LostError, all ranks
// return the *LostError of the lowest of these ranks.
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
