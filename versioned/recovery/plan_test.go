package recovery

import (
	"blobio/internal/base/fault"
	"blobio/versioned"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var four = versioned.Subcycling{Levels: 4, Ratio: 2}

func levels(steps []versioned.Step) string {
	s := ""
	for _, x := range steps {
		s += fmt.Sprint(x.Level)
	}
	return s
}

func TestSubcyclingOrder(t *testing.T) {
	steps := slices.Collect(four.Order())
	if got := levels(steps); got != "012332331233233" {
		t.Errorf("order %s", got)
	}
	for _, x := range steps {
		if err := (&Planner{Subcycling: four}).valid(x); err != nil {
			t.Error(err)
		}
	}
	if n := len(slices.Collect(versioned.Subcycling{Levels: 1, Ratio: 4}.Order())); n != 1 {
		t.Errorf("%d steps of one level", n)
	}
}

func planner(c ...int) *Planner { return &Planner{Subcycling: four, Cadence: c} }

// TestRuleR: the test vectors of rule R.
func TestRuleR(t *testing.T) {
	for _, v := range []struct {
		cadence versioned.Cadence
		j       int
		scope   Scope
		from    versioned.Step
		redo    string
	}{
		{versioned.Cadence{1, 0, 0, 0}, 5, Global, versioned.Step{Level: 0, Index: 0}, "012332331233"},
		{versioned.Cadence{1, 1, 2, 4}, 4, Box, versioned.Step{Level: 3, Index: 4}, "3"},
		{versioned.Cadence{1, 1, 2, 4}, 5, Levels, versioned.Step{Level: 2, Index: 2}, "233"},
		{versioned.Cadence{1, 1, 2, 4}, 7, Levels, versioned.Step{Level: 1, Index: 1}, "1233233"},
		{versioned.Cadence{1, 0, 1, 0}, 3, Levels, versioned.Step{Level: 2, Index: 1}, "233"},
	} {
		p := planner(v.cadence...)
		pl, err := p.Corruption(Moment{Step: versioned.Step{Level: 3, Index: v.j}})
		if err != nil || pl.Scope != v.scope || pl.From != v.from || levels(pl.Redo) != v.redo {
			t.Errorf("cadence %v fine step %d: %+v %s, %v; want %v from %v, redo %s", v.cadence, v.j, pl, levels(pl.Redo), err, v.scope, v.from, v.redo)
		}
	}
	for j := range 8 {
		pl, err := planner(1, 1, 1, 1).Corruption(Moment{Step: versioned.Step{Level: 3, Index: j}})
		if err != nil || pl.Scope != Box || len(pl.Redo) != 1 || pl.Redo[0] != (versioned.Step{Level: 3, Index: j}) {
			t.Errorf("all saved, fine step %d: %+v, %v", j, pl, err)
		}
	}
}

func TestRuleRWithoutSave(t *testing.T) {
	at := Moment{Coarse: 5, Step: versioned.Step{Level: 3, Index: 2}}
	if _, err := planner(0, 0, 0, 0).Corruption(at); !errors.Is(err, ErrNoRecovery) {
		t.Errorf("nothing saved: %v", err)
	}
	// Level 0 is saved at coarse steps 0, 2 and 4: return to 4.
	pl, err := planner(2, 0, 0, 0).Corruption(at)
	if err != nil || pl.Scope != Global || pl.Coarse != 4 || len(pl.Redo) != 15+7 {
		t.Errorf("%+v, %v", pl, err)
	}
	if _, err := planner(1, 1, 1).Corruption(at); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("cadence of three levels: %v", err)
	}
	if _, err := planner(1, 1, 1, 1).Corruption(Moment{Step: versioned.Step{Level: 3, Index: 8}}); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("step 8 of 8: %v", err)
	}
}

// TestRuleRProperties: rule R restores only saved versions and repeats exactly the steps after them.
func TestRuleRProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := versioned.Subcycling{Levels: rapid.IntRange(1, 5).Draw(t, "levels"), Ratio: rapid.IntRange(1, 4).Draw(t, "ratio")}
		p := &Planner{Subcycling: s, Cadence: rapid.SliceOfN(rapid.IntRange(0, 5), s.Levels, s.Levels).Draw(t, "cadence")}
		l := rapid.IntRange(0, s.Levels-1).Draw(t, "level")
		at := Moment{Coarse: rapid.Int64Range(0, 9).Draw(t, "coarse"), Step: versioned.Step{Level: l, Index: rapid.IntRange(0, s.Steps(l)-1).Draw(t, "step")}}
		pl, err := p.Corruption(at)
		if err != nil {
			if p.Cadence[0] != 0 || !errors.Is(err, ErrNoRecovery) {
				t.Fatal(err)
			}
			return
		}
		for f := pl.From.Level; f < s.Levels; f++ { // every returning level has a version there
			if pl.Scope == Box && f > pl.From.Level {
				break
			}
			if !p.written(versioned.Step{Level: f, Index: pl.From.Index * s.Steps(f-pl.From.Level)}, pl.Coarse) {
				t.Fatalf("%+v restores level %d, which was not saved there (cadence %v)", pl, f, p.Cadence)
			}
		}
		if last := pl.Redo[len(pl.Redo)-1]; last != at.Step {
			t.Fatalf("redo ends with %v, error in %v", last, at.Step)
		}
		if pl.Redo[0] != pl.From {
			t.Fatalf("redo starts with %v, returned to %v", pl.Redo[0], pl.From)
		}
		run := slices.Collect(s.Order())
		var all []versioned.Step
		for range at.Coarse - pl.Coarse + 1 {
			all = append(all, run...)
		}
		i := slices.Index(all, pl.Redo[0])
		if pl.Scope == Box && len(pl.Redo) == 1 {
			return
		}
		if !slices.Equal(all[i:i+len(pl.Redo)], pl.Redo) {
			t.Fatalf("redo %v is not a piece of the run", pl.Redo)
		}
	})
}

// TestLoss (F1, F2): loss of ranks.
func TestLoss(t *testing.T) {
	everywhere := [][]int{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}
	deep := [][]int{{0, 1}, {0, 1, 2}, {0, 3, 3}, {1, 2, 3, 3, 3}}
	fine := [][]int{{0}, {0}, {0}, {3}}
	for _, v := range []struct {
		name    string
		cadence versioned.Cadence
		at      versioned.Step
		owners  [][]int
		lost    int
		scope   Scope
		from    versioned.Step
		redo    string
	}{
		{"boxes on all levels", versioned.Cadence{1, 1, 1, 1}, versioned.Step{Level: 3, Index: 4}, everywhere, 3, Global, versioned.Step{Level: 0, Index: 0}, "01233233123"},
		{"levels 2 and 3", versioned.Cadence{1, 1, 1, 1}, versioned.Step{Level: 3, Index: 5}, deep, 3, Levels, versioned.Step{Level: 2, Index: 2}, "233"},
		{"level 2 was not saved", versioned.Cadence{1, 1, 2, 1}, versioned.Step{Level: 3, Index: 6}, deep, 3, Levels, versioned.Step{Level: 1, Index: 1}, "123323"},
		{"levels 0 and 1 are saved", versioned.Cadence{1, 1, 0, 0}, versioned.Step{Level: 3, Index: 5}, deep, 3, Levels, versioned.Step{Level: 1, Index: 1}, "1233"},
		{"the level of the step", versioned.Cadence{1, 1, 1, 1}, versioned.Step{Level: 3, Index: 5}, fine, 3, Levels, versioned.Step{Level: 3, Index: 5}, "3"},
		{"a finer one, which has not begun a step since", versioned.Cadence{1, 1, 1, 1}, versioned.Step{Level: 1, Index: 1}, fine, 3, Levels, versioned.Step{Level: 1, Index: 1}, "1"},
		{"no boxes", versioned.Cadence{1, 1, 1, 1}, versioned.Step{Level: 3, Index: 4}, fine, 2, Box, versioned.Step{Level: 3, Index: 4}, ""},
	} {
		pl, err := planner(v.cadence...).Loss(Moment{Step: v.at}, v.owners, []int{v.lost})
		if err != nil || pl.Scope != v.scope || pl.From != v.from || levels(pl.Redo) != v.redo {
			t.Errorf("%s: %+v %s, %v", v.name, pl, levels(pl.Redo), err)
		}
	}
	if _, err := planner(1, 1, 1, 1).Loss(Moment{}, deep[1:], []int{0}); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("owners of three levels: %v", err)
	}
}
