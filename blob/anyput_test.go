package blob

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// anyPuts is a random program of puts: any rank puts any variable of any uncommitted record, between flushes and commits of all
// kinds. All ranks draw the same numbers from the seed, so that each rank knows the expected content. In some sessions the
// program is killed, or the power fails, before a random file operation.
type anyPuts struct {
	seed   int64
	ranks  int
	apart  bool
	o      dataset.Settings
	s      *dataset.Schema
	owner  []int  // rank that owns each element of a decomposed variable
	never  []bool // for each variable: the program never puts it
	clash  bool   // two ranks put different values at the end
	closes bool

	mu   sync.Mutex
	had  []int64 // number of records after each commit of the session; the first entry is the state before the session
	told int     // index in had of the last commit that returned successfully; -1: none
}

// anyState is the expected content.
type anyState struct {
	val       map[anyElem]float64
	put       map[anyElem]bool // at is a rank for a decomposed variable, otherwise an element
	ever      map[int]bool
	known     int64
	committed int64
	commits   int
	window    int64 // number of flushes
	limit     int64 // maximum number of records; 0: none
	late      *write.HeldBackError
	due       bool
}

type anyElem struct {
	v   int
	rec int64
	at  int // element or rank
}

const anyLone = 3 // number of elements of a variable without a decomposition

func drawAnyPuts(seed int64) *anyPuts {
	rng := rand.New(rand.NewSource(seed))
	p := &anyPuts{seed: seed, ranks: 1 + rng.Intn(6), apart: rng.Intn(2) == 0, clash: rng.Intn(6) == 0, closes: rng.Intn(3) == 0, s: dataset.NewSchema()}
	p.o.Subfiles = min(1+rng.Intn(4), p.ranks)
	p.o.OwnMin = []int64{1, 20, 1 << 40}[rng.Intn(3)]
	p.o.Retain = dataset.Retain(rng.Intn(2))
	switch rng.Intn(5) {
	case 0:
		p.o.Layout = dataset.ProcessCentric
	case 1:
		p.o.Layout, p.o.Records = dataset.ProcessCentric, 8
	case 2:
		p.o.Layout, p.o.Compress.Method = dataset.ProcessCentric, dataset.Zstd
	}
	t, x, z := p.s.Dim("t", dataset.Unlimited), p.s.Dim("x", int64(2*p.ranks+1)), p.s.Dim("z", anyLone)
	d := p.s.Decomp(x)
	p.s.Var("area", cdf5.Double, []dataset.DimID{x}, dataset.Decomposed(d))
	p.s.Var("levels", cdf5.Double, []dataset.DimID{z})
	for k := range 1 + rng.Intn(4) {
		p.s.Var(fmt.Sprint("T", k), cdf5.Double, []dataset.DimID{t, x}, dataset.Decomposed(d))
		p.s.Var(fmt.Sprint("time", k), cdf5.Double, []dataset.DimID{t, z})
	}
	for v := range p.s.Vars {
		p.never = append(p.never, v > 3 && rng.Intn(3) == 0)
	}
	for range 2*p.ranks + 1 {
		p.owner = append(p.owner, rng.Intn(p.ranks))
	}
	if rng.Intn(4) == 0 {
		p.o.FillIncomplete = true
	}
	return p
}

func (p *anyPuts) part(rank int) []write.Part {
	var runs []decomp.Req
	for at, r := range p.owner {
		if r == rank {
			runs = append(runs, decomp.Req{Offset: int64(at), Length: 1})
		}
	}
	return []write.Part{{Decomp: 1, Runs: runs}}
}

// id returns the ID of variable v in the writer's schema, or -1.
func (p *anyPuts) id(w *write.Writer, v int) dataset.VarID {
	id, ok := w.Job.Schema.VarID(p.s.Vars[v].Name)
	if !ok {
		return -1
	}
	return id
}

func (p *anyPuts) value(v int, rec int64, at int, window int64) float64 {
	return float64(v*1000000+int(rec)*10000+at*100) + float64(window)
}

// lacking returns the number of complete records. It also returns the missing variable and the rank that has not put it, for
// the first incomplete record.
func (p *anyPuts) lacking(a *anyState) (n int64, name string, rank int) {
	for n = a.committed; n < a.known; n++ {
		for r := range p.ranks {
			for v := range p.s.Vars {
				sv := &p.s.Vars[v]
				lone := sv.Decomp == 0
				if !sv.Record || !a.ever[v] || lone && r > 0 || !lone && !slices.Contains(p.owner, r) {
					continue
				}
				if lone && !slices.ContainsFunc([]int{0, 1, 2}, func(at int) bool { return a.put[anyElem{v, n, at}] }) {
					return n, sv.Name, -1
				}
				if !lone && !a.put[anyElem{v, n, r}] {
					return n, sv.Name, r
				}
			}
		}
	}
	return n, "", 0
}

// makes appends the number of records that the current commit will have to p.had.
func (p *anyPuts) makes(a *anyState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.had) < a.commits {
		p.had = append(p.had, a.committed)
	}
}

// toldOf records that a commit has returned successfully.
func (p *anyPuts) toldOf(a *anyState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = max(p.told, a.commits-1)
}

// commit applies a commit to the state, and returns the expected error.
func (p *anyPuts) commit(a *anyState) *write.HeldBackError {
	a.commits++
	n, name, rank := p.lacking(a)
	if p.o.FillIncomplete {
		n = a.known
	}
	a.committed = n
	p.makes(a)
	if n == a.known {
		return nil
	}
	return &write.HeldBackError{Base: "d.nc", Committed: n, Put: a.known, Var: name, Rank: rank}
}

// puts draws random puts for all ranks, records their values in the state, and calls Put for this rank.
func (p *anyPuts) puts(w *write.Writer, c comm.Comm, rng *rand.Rand, a *anyState) (err error) {
	for range rng.Intn(7) {
		v := rng.Intn(len(p.s.Vars))
		sv := &p.s.Vars[v]
		rec := a.committed + int64(rng.Intn(2))
		who := rng.Perm(p.ranks)
		if rng.Intn(2) == 0 {
			who = who[:1+rng.Intn(p.ranks)]
		}
		whole, from := rng.Intn(3) > 0, rng.Intn(anyLone)
		n := 1 + rng.Intn(anyLone-from)
		if !sv.Record {
			rec = 0
		}
		if p.never[v] || !sv.Record && a.commits > 0 || a.limit > 0 && rec >= a.limit {
			continue
		}
		if whole || sv.Decomp != 0 {
			from, n = 0, anyLone
		}
		for _, r := range who {
			var x []float64
			if sv.Decomp != 0 {
				for at, o := range p.owner {
					if o == r {
						x = append(x, p.value(v, rec, at, a.window))
						a.val[anyElem{v, rec, at}] = x[len(x)-1]
						a.ever[v] = true
					}
				}
				a.put[anyElem{v, rec, r}] = true
			} else {
				for at := range n {
					x = append(x, p.value(v, rec, from+at, a.window))
					a.val[anyElem{v, rec, from + at}] = x[at]
					a.put[anyElem{v, rec, from + at}] = true
				}
				a.ever[v] = true
			}
			if sv.Record {
				a.known = max(a.known, rec+1)
			}
			if r != c.Rank() {
				continue
			}
			if sv.Decomp == 0 && !whole {
				err = errors.Join(err, write.PutAt(w, p.id(w, v), rec, []int64{int64(from)}, []int64{int64(n)}, x))
			} else {
				err = errors.Join(err, write.Put(w, p.id(w, v), rec, x))
			}
		}
	}
	if rec := a.committed - 1; rec >= w.Puts.First && a.commits > 0 { // a put of a committed record is an error
		if perr := write.Put(w, p.id(w, 3), rec, make([]float64, anyLone)); !errors.Is(perr, dataset.ErrUsage) || !strings.Contains(perr.Error(), "is already committed") {
			err = errors.Join(err, fmt.Errorf("put of record %d, of %d that are committed: %v", rec, a.committed, perr))
		}
	}
	return err
}

// clashes checks that Flush fails if two ranks have put different values of one element.
func (p *anyPuts) clashes(ctx context.Context, w *write.Writer, c comm.Comm, rng *rand.Rand, a *anyState) error {
	if err := p.step(ctx, w, 0, a); err != nil {
		return err
	}
	two := rng.Perm(p.ranks)[:2]
	slices.Sort(two)
	x := []float64{1, 2, 3}
	if c.Rank() == two[1] {
		x[2] = 4
	}
	if slices.Contains(two, c.Rank()) {
		if err := write.Put(w, p.id(w, 3), a.known, x); err != nil {
			return err
		}
	}
	want := fmt.Sprintf(`put of "time0", record %d: ranks %d and %d put different values of element 2`, a.known, two[0], two[1])
	if err := w.Flush(ctx); err == nil || !strings.Contains(err.Error(), want) {
		return fmt.Errorf("flush: %v, want %q", err, want)
	}
	if err := w.Commit(ctx); !errors.Is(err, dataset.ErrBroken) {
		return fmt.Errorf("commit after a failed flush: %v", err)
	}
	return nil
}

// step makes one collective call and checks its result.
func (p *anyPuts) step(ctx context.Context, w *write.Writer, kind int, a *anyState) error {
	var want *write.HeldBackError
	late := func() { // the next collective call completes a CommitAsync
		if a.due {
			a.due, a.late = false, p.commit(a)
		}
		want, a.late = a.late, nil
	}
	var err error
	switch kind {
	case 0:
		late()
		err = w.Flush(ctx)
		a.window++
	case 1:
		late()
		err = w.FlushAsync(ctx)
		a.window++
	case 2:
		late()
		err = w.Wait(ctx)
	case 3:
		late()
		err = w.CommitAsync(ctx)
		a.window++
		a.due = true
	default:
		late()
		want = p.commit(a)
		err = w.Commit(ctx)
		a.window++
	}
	var held *write.HeldBackError
	switch {
	case err != nil && !errors.As(err, &held):
		return err
	case (held == nil) != (want == nil) || held != nil && *held != *want:
		return fmt.Errorf("step %d: %v, want %+v", kind, err, want)
	case w.Committed() != a.committed:
		return fmt.Errorf("step %d: %d committed, want %d", kind, w.Committed(), a.committed)
	}
	p.toldOf(a)
	return nil
}

// session runs one rank's session. Rank 0 then checks the dataset.
func (p *anyPuts) session(ctx context.Context, c comm.Comm, have *anyState, seed int64, done func(*anyState)) (err error) {
	c = isolateIf(c, p.apart)
	rng := rand.New(rand.NewSource(seed))
	a := &anyState{val: map[anyElem]float64{}, put: map[anyElem]bool{}, ever: map[int]bool{}}
	if c.Rank() == 0 {
		defer done(a)
	}
	var w *write.Writer
	if have == nil {
		w, err = write.CreateWith(ctx, c, "d.nc", p.s, p.part(c.Rank()), &p.o)
	} else {
		for k, x := range have.val {
			if !p.s.Vars[k.v].Record || k.rec < have.committed {
				a.val[k], a.ever[k.v] = x, true
			}
		}
		a.committed, a.known, a.commits = have.committed, have.committed, 1
		p.makes(a)
		p.toldOf(a)
		w, err = resume.AppendWith(ctx, c, "d.nc", p.part(c.Rank()), &p.o)
	}
	if err != nil {
		return err
	}
	defer w.Abort()
	a.limit = w.Job.Limit
	steps := 3 + rng.Intn(8)
	for k := range steps {
		if a.due { // values of a pending commit must not be put again
			if err := p.step(ctx, w, rng.Intn(5), a); err != nil {
				return fmt.Errorf("step %d: %w", k, err)
			}
			continue
		}
		if err := comm.Agree(ctx, c, p.puts(w, c, rng, a)); err != nil {
			return err
		}
		if err := p.step(ctx, w, []int{0, 1, 2, 3, 4, 4, 4}[rng.Intn(7)], a); err != nil {
			return fmt.Errorf("step %d: %w", k, err)
		}
	}
	if p.clash && p.ranks > 1 && (a.limit == 0 || a.known < a.limit) {
		if err := p.clashes(ctx, w, c, rng, a); err != nil {
			return err
		}
	}
	if w.State.Err == nil && p.closes {
		if a.due {
			p.commit(a)
		}
		a.committed = max(a.known, a.limit)
		a.commits++
		p.makes(a)
		if err := w.Close(ctx); err != nil {
			return err
		}
		p.toldOf(a)
	} else if a.due && w.State.Err == nil {
		if err := p.step(ctx, w, 2, a); err != nil {
			return err
		}
	}
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	if c.Rank() == 0 {
		err = p.find(a, w)
	}
	return comm.Agree(ctx, c, err)
}

// TestAnyPuts checks random puts with random kills. Every commit that the writer reported must be readable, and the writer must
// have reported all missing data.
func TestAnyPuts(t *testing.T) {
	for seed := range int64(times(20, 300)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := drawAnyPuts(seed)
			rng := rand.New(rand.NewSource(seed))
			disk := vfs.NewMem()
			var state *anyState
			for k := range int64(3) {
				said := fmt.Sprintf("session %d, %d ranks, apart %v, %+v", k, p.ranks, p.apart, p.o.Options)
				way, whole := rng.Intn(6), syncedClone(disk) // a session that is not killed works on the copy
				next, ops, err := p.sitting(whole, state, seed*3+k, 0)
				if err != nil {
					t.Fatalf("%s: %v", said, err)
				}
				if way < 3 {
					at := 1 + rng.Int63n(ops)
					said += fmt.Sprintf(", killed before operation %d of %d in way %d", at, ops, way)
					next, _, err = p.sitting(disk, state, seed*3+k, at)
					if err != nil {
						t.Fatalf("%s: %v", said, err)
					}
					switch way { // in way 0 only the program ends; in the others power fails too
					case 1:
						disk = disk.CrashClone(vfs.CrashOptions{})
					case 2:
						disk = disk.CrashClone(vfs.CrashOptions{Rand: rng})
					}
					p.o.Fs = disk
					if err := p.killed(next); err != nil {
						t.Fatalf("%s: %v\nfiles: %v", said, err, names(disk, "."))
					}
				} else {
					disk = whole
				}
				if state = next; state.commits == 0 {
					state = nil
				}
			}
		})
	}
}
