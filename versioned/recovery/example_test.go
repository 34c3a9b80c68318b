package recovery_test

import (
	"fmt"
	"log"

	"blobio/versioned"
	"blobio/versioned/recovery"
)

// There are four levels. The coarsest is saved at each coarse step, and the third at each of its steps. After an error in the
// finest level, the plan gives the levels to restore and the steps to repeat.
func Example() {
	p := &recovery.Planner{
		Subcycling: versioned.Subcycling{Levels: 4, Ratio: 2},
		Cadence:    versioned.Cadence{1, 0, 1, 0},
	}
	if err := p.Validate(); err != nil {
		log.Fatal(err)
	}
	at := recovery.Moment{Coarse: 10, Step: versioned.Step{Level: 3, Index: 5}}
	plan, err := p.Corruption(at)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("found in:", at.Step)
	fmt.Printf("restore %v, back to %v of coarse step %d\n", plan.Scope, plan.From, plan.Coarse)
	fmt.Println("take again:", plan.Redo)
	// Output:
	// found in: 3:5
	// restore levels, back to 2:2 of coarse step 10
	// take again: [2:2 3:4 3:5]
}

// Find the best cadence for the levels if one coarse step in ten has an error.
func ExampleModel_BestCadence() {
	m := &recovery.Model{
		Ratio:    2,
		Put:      []float64{1, 2, 4},    // seconds to save a level once
		Step:     []float64{10, 20, 40}, // seconds of one step of a level
		Box:      0.1,
		Reconfig: 1,
	}
	for _, perr := range []float64{0.001, 0.1, 1} {
		c, cost, err := m.BestCadence(perr)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%5g errors per coarse step: %v costs %.1f s of %g s\n", perr, c, cost.Total(), m.StepTime())
	}
	// Output:
	// 0.001 errors per coarse step: [1 2 4] costs 7.1 s of 210 s
	//   0.1 errors per coarse step: [1 1 2] costs 20.1 s of 210 s
	//     1 errors per coarse step: [1 0 1] costs 59.1 s of 210 s
}
