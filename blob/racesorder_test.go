package blob

import (
	"blobio/blob/internal/dataset"
	"fmt"
	"slices"
	"sync"
)

// raceState is the content under a name; nil means that there is none.
type raceState struct {
	single  bool    // the dataset is an ordinary file
	creator int64   // seed of the fixed variables
	seeds   []int64 // by record
}

func (s *raceState) String() string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("one file %v, seed %d, records of %v", s.single, s.creator, s.seeds)
}

// canonical returns the bytes of the canonical file.
func (s *raceState) canonical() []byte {
	if s == nil {
		return nil
	}
	m := tinyModel(s.creator, int64(len(s.seeds)))
	return m.canonicalOf(func(v dataset.VarID, rec int64) []byte {
		if m.s.Vars[v].Record {
			return tinyModel(s.seeds[rec], m.records).bytes(v, rec, false)
		}
		return m.bytes(v, rec, false)
	})
}

// after returns the content after the racer's commit to content s. ok is false if this racer cannot have committed to s.
func (j *racer) after(s *raceState) (_ *raceState, ok bool) {
	if j.Do == "append" {
		if s == nil || s.single || j.outcome.What == "committed" && j.outcome.Record != int64(len(s.seeds)) {
			return nil, false
		}
		return &raceState{false, s.creator, append(slices.Clone(s.seeds), j.Seed)}, true
	}
	now := &raceState{j.Do == "to canonical", j.Seed, slices.Repeat([]int64{j.Seed}, int(j.Records))}
	return now, s == nil || s.single == now.single
}

// orders calls f with the content after each possible sequence of commits. all is set if the sequence contains all racers that
// report a commit. A racer that began after the end of another comes after it.
func (r *race) orders(f func(s *raceState, all bool)) {
	used := map[*racer]bool{}
	var next func(s *raceState)
	next = func(s *raceState) {
		all := true
		for _, j := range r.all {
			sure, _ := j.outcome.committed()
			all = all && (used[j] || !sure)
		}
		f(s, all)
		for _, j := range r.all {
			_, perhaps := j.outcome.committed()
			too := slices.ContainsFunc(r.all, func(o *racer) bool { return used[o] && j.end < o.start })
			if used[j] || !perhaps || too {
				continue
			}
			if now, ok := j.after(s); ok {
				used[j] = true
				next(now)
				used[j] = false
			}
		}
	}
	next(r.first())
}

// raceTable counts the outcomes for each task.
type raceTable struct {
	mu    sync.Mutex
	count map[[2]string]int
	done  int
}

func (t *raceTable) add(r *race) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == nil {
		t.count = map[[2]string]int{}
	}
	t.done++
	for _, j := range r.all {
		t.count[[2]string{j.Do, j.outcome.What}]++
	}
}

func (t *raceTable) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	columns := []string{"committed", "unfinished", "in doubt", "in use", "exists", "killed"}
	s := fmt.Sprintf("%-14s", "")
	for _, c := range columns {
		s += fmt.Sprintf("%12s", c)
	}
	for _, do := range []string{"replace", "append", "to blobs", "to canonical"} {
		s += fmt.Sprintf("\n%-14s", do)
		for _, c := range columns {
			s += fmt.Sprintf("%12d", t.count[[2]string{do, c}])
		}
	}
	return fmt.Sprintf("%s\n%d races as they must be", s, t.done)
}
