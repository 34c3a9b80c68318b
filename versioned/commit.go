package versioned

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Inc commits the current state as a version whose number is step (>= 1) above the newest one. The version includes all earlier
// puts. No rank may put during Inc. Inc is collective, and all ranks must pass the same step and label (UTF-8, at most 1024
// bytes). If Inc returns an error, no rank has a new version, unless the error wraps ErrBroken.
func (a *Array) Inc(ctx context.Context, step int64, label string) (int64, error) {
	return a.inc(ctx, step, label, nil)
}

// inc does the work of Inc. bad is an earlier error of this rank; if it is not nil, all ranks get an error, and no version is
// committed.
func (a *Array) inc(ctx context.Context, step int64, label string, bad error) (int64, error) {
	if a.broken != nil { // all ranks take this branch
		return 0, comm.Agree(ctx, a.c, a.broken)
	}
	if bad == nil && (step < 1 || len(label) > 1<<10 || !utf8.ValidString(label)) {
		bad = fault.Usage("array %s: step is %d, want >= 1; or the label has %d bytes, want at most 1024 bytes of UTF-8", a.spec.Name, step, len(label))
	}
	number := step
	if bad == nil {
		newest := a.cat.record().top()
		if newest > math.MaxInt64-step {
			bad = fault.Usage("array %s: version %d + %d exceeds the largest version number", a.spec.Name, newest, step)
		}
		number += newest
	}
	if err := a.state.win.Fence(ctx); err != nil {
		return 0, err
	}
	return a.commit(ctx, number, label, bad)
}

// commit does the steps of Inc after the fence. doc.go describes the steps.
func (a *Array) commit(ctx context.Context, number int64, label string, bad error) (int64, error) {
	copied := a.nodes.copied() // the collectives between the write of the files and gather
	if copied {
		if err := comm.Agree(ctx, a.c, bad); err != nil {
			return 0, err
		}
	}
	x := a.newCommit(number, label, bad)
	if err := x.weigh(ctx); err != nil {
		return 0, err
	}
	err := x.writeFile(ctx)
	if bad == nil {
		bad = err
	}
	if copied {
		if bad = comm.Agree(ctx, a.c, bad); bad == nil {
			bad = a.nodes.copyFile(ctx, x.file())
		}
		if bad != nil {
			x.discard()
			return 0, bad
		}
	}
	if err := x.gather(ctx, bad); err != nil {
		x.discard()
		return 0, err
	}
	if err := a.windows.exposeVersion(ctx, x.rec, a.state.geo.ID, number); err != nil {
		x.discard()
		return 0, err
	}
	if a.later.on {
		a.later.pending = true
	} else if err := a.writeRecord(ctx, x.rec); err != nil {
		if a.broken == nil {
			x.discard()
			err = errors.Join(err, a.windows.conceal(ctx, x.old))
		}
		return 0, err
	}
	a.changes.committed(x.own)
	return number, a.install(ctx, x.rec)
}

// commit is the state of a version commit on one rank.
type commit struct {
	a        *Array
	old, rec *record // the record before the commit, and with the new version
	v        verInfo
	own      *changeSet
	written  *written // the file written by this rank, or nil
	dead     []string // files of this process that no version needs after this commit
}

func (a *Array) newCommit(number int64, label string, bad error) *commit {
	x := &commit{a: a, old: a.cat.record(), own: &changeSet{rank: a.c.Rank(), err: bad}}
	x.rec = x.old.clone()
	x.rec.Seq++
	if last := x.rec.Generations[len(x.rec.Generations)-1]; last.ID != a.state.geo.ID {
		g := a.state.geo
		if x.rec.Order != hostOrder() {
			g.Order = hostOrder()
		}
		x.rec.Generations = append(x.rec.Generations, g)
	}
	x.rec.Spec.Shape = a.state.shape
	if bad == nil {
		x.own = a.changes.find(a.c.Rank(), a.state.local)
	}
	x.v = verInfo{VersionInfo: VersionInfo{Number: number, Label: label, Generation: a.state.geo.ID, Shape: slices.Clone(a.state.shape)}}
	return x
}

// weigh sets the time of the version, and its sum, which covers the segments of all ranks. It is collective.
func (x *commit) weigh(ctx context.Context) error {
	if x.a.nodes.memory {
		return nil
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(x.a.opt.clock().UnixNano()))
	if p := x.own; p.err == nil {
		b = append(b, segSum(len(p.sums), func(k int) digest { return p.sums[k] })...)
	}
	all, err := x.a.c.Allgather(ctx, b)
	if err != nil {
		return err
	}
	segs := make([][]byte, len(all)) // copy, because all is shared with other ranks
	for r, b := range all {
		if len(b) < 8 {
			return fault.At("", int64(len(b)), "message", fault.ErrTruncated, "%d bytes, want 8", len(b)) // all ranks take this branch
		}
		segs[r] = b[8:]
	}
	x.v.Time = int64(binary.LittleEndian.Uint64(all[0]))
	x.v.Sum = stateSum(segs) // if some rank has failed, this version is never committed
	return nil
}

// On the leader of each process, writeFile writes the chunks of all ranks of the process. The other ranks wait in the next
// collective, while the leader reads their memory.
func (x *commit) writeFile(ctx context.Context) error {
	a := x.a
	got, err := a.nodes.process.Share(ctx, x.own)
	if err != nil || a.nodes.process.Rank() != 0 {
		return err
	}
	var sets []*changeSet
	for _, v := range got {
		if v == nil {
			continue
		}
		p := v.(*changeSet)
		if p.err != nil {
			return p.err
		}
		sets = append(sets, p)
	}
	stay := retained(x.rec.Versions, x.v.Number, a.spec.Keep, a.pins)
	if a.spec.Keep.Last > 0 {
		if x.dead, err = a.cat.clean(ctx, &a.state.geo, x.v.Number, stay, sets); err != nil {
			return err
		}
		if a.c.Rank() == 0 {
			older, err := a.cat.cleanOlder(ctx, a.state.geo.ID, stay)
			if err != nil {
				return err
			}
			x.dead = append(x.dead, older...)
		}
	}
	if !slices.ContainsFunc(sets, func(p *changeSet) bool { return !p.empty() }) {
		return nil
	}
	var said []byte
	if !a.nodes.memory {
		if said, err = json.Marshal(aboutOf(x.rec, a.nodes.own, x.v, stay, len(x.dead) > 0)); err != nil {
			return err
		}
	}
	info := fileInfo{Name: dataName(x.v.Generation, x.v.Number, a.c.Rank()), Node: a.nodes.own, Gen: x.v.Generation, Born: x.v.Number}
	x.written, err = (&dataWriter{a.nodes, a.cat, a.opt.clock, a.nodes.sync && !a.later.on}).write(ctx, info, sets, said)
	if err == nil {
		a.later.wrote(info.Name)
	}
	return err
}

// file returns the file that this rank has written, or nil.
func (x *commit) file() *fileInfo {
	if x.written == nil || x.written.info.Sum == "" {
		return nil
	}
	return &x.written.info
}

// message is the JSON message that each rank sends to all others when a version is committed.
type message struct {
	Failed  bool      `json:"failed,omitempty"`
	Number  int64     `json:"number"` // number and label of the version; equal on all ranks
	Label   string    `json:"label,omitempty"`
	Time    int64     `json:"time"`              // only on rank 0
	Changed int64     `json:"changed,omitempty"` // size of the new chunks in bytes
	File    *fileInfo `json:"file,omitempty"`    // only on the leader of a process
	Dead    []string  `json:"dead,omitempty"`    // files that no version needs after the commit
}

// differs returns an error if the version or label of a rank differs from the version or label of rank 0.
func (m *message) differs(array string, rank int, first *message) error {
	if m.Number == first.Number && m.Label == first.Label {
		return nil
	}
	return fault.Usage("array %s: rank %d commits version %d with label %q, but rank 0 commits %d with %q", array, rank, m.Number, m.Label, first.Number, first.Label)
}

// gather completes the record, which is the same on all ranks. If any rank has failed, all ranks get an error. It is collective.
func (x *commit) gather(ctx context.Context, bad error) error {
	a := x.a
	m := message{Failed: bad != nil, Number: x.v.Number, Label: x.v.Label, Time: x.v.Time}
	if a.c.Rank() == 0 && x.v.Time == 0 {
		m.Time = a.opt.clock().UnixNano()
	}
	if bad == nil {
		m.Dead = x.dead
		if m.File = x.file(); m.File != nil {
			m.Changed = x.written.changed
			a.cat.mu.Lock()
			a.cat.addFile(m.File, x.written.tables) // discard reverts this after an error
			a.cat.mu.Unlock()
		}
	}
	mine, err := json.Marshal(&m)
	if err != nil {
		return err
	}
	all, err := a.c.Allgather(ctx, mine)
	if err != nil {
		return err
	}
	dead := map[string]bool{}
	messages := make([]message, len(all))
	for r := range messages {
		m := &messages[r]
		if err := json.Unmarshal(all[r], m); err != nil {
			return fmt.Errorf("array %s: message of rank %d: %w", a.spec.Name, r, err) // all ranks take this branch
		}
		if m.Failed {
			return comm.Agree(ctx, a.c, bad) // all ranks take this branch
		}
		if err := m.differs(a.spec.Name, r, &messages[0]); err != nil {
			return err
		}
		x.v.Changed += m.Changed
		if m.File != nil {
			x.rec.Files = append(x.rec.Files, *m.File)
			x.v.Written += m.File.Size
		}
		for _, n := range m.Dead {
			dead[n] = true
		}
	}
	x.v.Time = messages[0].Time
	x.rec.add(x.v, retained(x.rec.Versions, x.v.Number, a.spec.Keep, a.pins))
	x.rec.prune(dead)
	return nil
}

// discard removes the file of a failed commit. If this fails, the next Open removes the file.
func (x *commit) discard() {
	n := x.a.nodes
	f := x.file()
	if f == nil {
		return
	}
	x.a.cat.forget(f)
	n.store.fs.Remove(n.file(f.Name))
	for k := range n.copies {
		if st := n.stores[(n.own+k+1)%n.count]; st != nil && st != n.store {
			st.fs.Remove(st.path(f.Name))
		}
	}
}
