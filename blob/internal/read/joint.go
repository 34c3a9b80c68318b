package read

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"sort"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/fault"
)

// Collective is blob.Collective.
type Collective struct {
	r     *Reader
	C     comm.Comm
	known *Known // used with VerifyOnce and after errors
	sets  map[*Set]*jointSet
	dirs  map[mapKey]*directory
	buf   spare // elements that this rank reads
	out   spare // messages
	got   spare // received elements

	Share int64 // minimum number of bytes that each of many ranks reads: bytes of a map, or of a variable with 4 bytes per element
	Span  int64 // minimum number of elements of an array in the part of the directory that a rank holds
}

// spare is memory that the next read uses again: new memory costs several times as much as a copy to it.
type spare []byte

const maxSpare = 16 << 20 // bytes

// of returns n bytes of any content, which are valid until the next call. It keeps them if they are a small part of memory, the
// limit of the options.
func (s *spare) of(n, memory int64) []byte {
	switch {
	case n > min(maxSpare, memory/4):
		return make([]byte, n)
	case n > int64(cap(*s)):
		*s = make([]byte, n)
	}
	return (*s)[:n]
}

// Collective is blob.Reader.Collective.
func (r *Reader) Collective(c comm.Comm) *Collective {
	r = r.Now()
	return &Collective{r: r, C: c, known: NewKnown(), sets: map[*Set]*jointSet{}, dirs: map[mapKey]*directory{}, Share: 1 << 20, Span: 1 << 16}
}

// mapKey identifies a map of a set and of all sets that share its maps. For variables without a map d is 0, and elems
// distinguishes them.
type mapKey struct {
	home  *Set
	d     dataset.DecompID
	elems int64
}

// ReadPlan is blob.ReadPlan.
type ReadPlan struct {
	k        *Collective
	runs     []decomp.Req // the caller's runs, without empty runs
	Total    int64        // total elements of runs
	uniq     []decomp.Req // runs sorted and joined, each element once
	at       []int64      // index of each run of uniq in the received elements, and at the end their number
	straight bool         // elements are received in the order of runs
	bad      int          // index of the first invalid run, or -1
	own      map[mapKey]*owners
}

// Plan is blob.Collective.Plan.
func (k *Collective) Plan(runs []decomp.Req) *ReadPlan {
	p := &ReadPlan{k: k, straight: true, bad: -1, own: map[mapKey]*owners{}}
	end := int64(0)
	for i, q := range runs {
		if q.Offset < 0 || q.Length < 0 || q.Offset+q.Length < q.Offset {
			p.bad = i
			return p
		}
		if q.Length == 0 {
			continue
		}
		p.runs, p.Total = append(p.runs, q), p.Total+q.Length
		p.straight = p.straight && q.Offset >= end
		end = q.End()
	}
	sorted := p.runs
	if !p.straight {
		sorted = slices.Clone(p.runs)
		slices.SortFunc(sorted, func(a, b decomp.Req) int { return cmp.Compare(a.Offset, b.Offset) })
	}
	for _, q := range sorted {
		if n := len(p.uniq); n > 0 && q.Offset <= p.uniq[n-1].End() {
			p.uniq[n-1].Length = max(p.uniq[n-1].End(), q.End()) - p.uniq[n-1].Offset
			continue
		}
		p.uniq = append(p.uniq, q)
	}
	p.at = make([]int64, len(p.uniq)+1)
	for i, q := range p.uniq {
		p.at[i+1] = p.at[i] + q.Length
	}
	return p
}

// wanted returns the number of received elements.
func (p *ReadPlan) wanted() int64 { return p.at[len(p.uniq)] }

// place returns the index of a wanted element in the received elements.
func (p *ReadPlan) place(off int64) int64 {
	i := sort.Search(len(p.uniq), func(i int) bool { return p.uniq[i].Offset > off }) - 1
	return p.at[i] + off - p.uniq[i].Offset
}

// Get is one record of a variable that a ReadPlan reads.
type Get struct {
	Name   string
	Record int64 // 0 for a fixed variable
	Into   any   // a slice of numbers ([]byte for char) with as many elements as the plan; ranks may use different types
	Keep   bool  // elements that no rank wrote keep their values in Into; otherwise they get the fill value
}

// job is a Get that has been checked.
type job struct {
	Want  // with id and srec, the variable and record in the set
	keep  bool
	out   *target
	key   mapKey
	at    int64        // offset of the variable's bytes in buf of jointRead
	holes []decomp.Req // received elements that no rank wrote
	got   []byte       // received elements, in the byte order of the file
}

// Read is blob.ReadPlan.Read.
func (p *ReadPlan) Read(ctx context.Context, gets ...Get) error {
	ctx = comm.In(ctx, "ReadPlan.Read")
	k := p.k
	jobs, sum, err := p.check(gets)
	have, exact, begun := int64(1), int64(1), int64(0)
	for i := range jobs {
		if p.own[jobs[i].key] == nil {
			have = 0
		}
		if jobs[i].out.raw == nil {
			exact = 0
		}
	}
	var b *batch
	var msgs [][]byte
	if err == nil && have == 1 {
		if b = p.ready(ctx, jobs); b != nil {
			msgs, begun = b.x.messages(0), 1
		}
	}
	got, all, err := comm.AlltoallvMin(ctx, k.C, err, msgs, sum, ^sum, have, exact, begun)
	switch {
	case err != nil:
		return err
	case all[0] != ^all[1]:
		return fault.Usage("%s: the ranks differ in dataset, commit, options, variables, records or their order", k.r.Files.Base)
	case all[4] == 1: // the messages are the data
		return b.run(ctx, got, all[3] == 0)
	}
	if all[2] == 0 { // some rank does not know the owners, so all ranks find them together
		clear(p.own)
	}
	for len(jobs) > 0 {
		first := &jobs[0]
		js, err := k.join(ctx, first.s)
		if err != nil {
			return err
		}
		own, err := p.owners(ctx, js, first.key)
		if err != nil {
			return err
		}
		n := k.together(own, jobs)
		if err := p.batch(js, own, jobs[:n]).run(ctx, nil, all[3] == 0); err != nil {
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

// together returns how many of the first jobs are read at once: they have the same map and set, and fit in memory.
func (k *Collective) together(own *owners, jobs []job) (n int) {
	for room := k.r.Files.Opt.Memory / 2; n < len(jobs) && jobs[n].s == jobs[0].s && jobs[n].key == jobs[0].key; n++ {
		if room -= own.most * jobs[n].size; room < 0 && n > 0 {
			break
		}
	}
	return n
}

// Refuse is blob.Collective.Refuse.
func (k *Collective) Refuse(ctx context.Context, err error) error {
	_, _, err = comm.AlltoallvMin(comm.In(ctx, "ReadPlan.Read"), k.C, err, nil, 0, 0, 0, 0, 0)
	if err == nil {
		err = fault.Usage("%s: Refuse without an error", k.r.Files.Base)
	}
	return err
}

// check checks gets. It returns a hash of everything that must be the same on all ranks.
func (p *ReadPlan) check(gets []Get) (jobs []job, sum int64, err error) {
	r := p.k.r
	h := fnv.New64a()
	// All ranks must read the same state of the same dataset and have loaded the same parts. Their options must lead to the same
	// batches and checksums.
	missing := 0
	if r.Files.Opt.AllowMissing {
		missing = 1
	}
	state := []byte(r.Files.identity())
	for _, n := range []int{int(r.Data.Records), len(p.k.sets), len(p.k.dirs), int(r.Files.Opt.Memory), int(r.Files.Opt.Verify), missing} {
		state = binary.LittleEndian.AppendUint64(state, uint64(n))
	}
	h.Write(state)
	for _, g := range gets {
		h.Write(binary.LittleEndian.AppendUint64([]byte(g.Name), uint64(g.Record)))
	}
	sum = int64(h.Sum64() >> 2)
	for i := range gets {
		g := &gets[i]
		v, ok := r.Data.Schema.VarID(g.Name)
		if !ok {
			return nil, sum, fault.Usage("%s: no variable %q", r.Files.Base, g.Name)
		}
		j := job{Want: Want{V: v, Rec: g.Record, sv: &r.Data.Schema.Vars[v]}, keep: g.Keep}
		if err := j.sv.CheckRecord(g.Record, r.Data.Records); err != nil {
			return nil, sum, fault.Usage("%s: read of %q: %v", r.Files.Base, g.Name, err)
		}
		elems := r.Data.Schema.Elems(v)
		if n := len(p.uniq); p.bad >= 0 || n > 0 && p.uniq[n-1].End() > elems {
			return nil, sum, fault.Usage("%s: read of %q: %s, want a run within %d elements", r.Files.Base, g.Name, p.beyond(elems), elems)
		}
		if j.out, err = newTarget(g.Into, j.sv.Type, p.Total); err != nil {
			return nil, sum, fmt.Errorf("%s: read of %q: %w", r.Files.Base, g.Name, err)
		}
		j.size = int64(j.sv.Type.Size())
		j.s, j.srec = r.Data.SetOf(v, g.Record)
		j.key = mapKey{home: j.s.family.Home, d: j.sv.Decomp}
		if j.sv.Decomp == 0 {
			j.key = mapKey{home: j.s, elems: elems}
		}
		jobs = append(jobs, j)
	}
	return jobs, sum, nil
}

// identity identifies the dataset. Without a manifest the identity describes the files.
func (r *Files) identity() string {
	if r.Manifest != nil {
		return r.Manifest.ID
	}
	return filepath.Base(r.Base)
}

// beyond describes a run outside an array, for an error.
func (p *ReadPlan) beyond(elems int64) string {
	if p.bad >= 0 {
		return fmt.Sprintf("run %d is negative or too large", p.bad)
	}
	for _, q := range p.runs {
		if q.End() > elems {
			return fmt.Sprintf("a run has %d elements from element %d on", q.Length, q.Offset)
		}
	}
	return ""
}
