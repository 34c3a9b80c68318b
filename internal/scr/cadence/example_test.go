package cadence_test

import (
	"fmt"
	"time"

	"blobio/internal/scr/cadence"
)

// A checkpoint is taken at every third question, and whenever ten minutes have passed.
func ExamplePacer() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := cadence.NewPacer(cadence.Pace{Interval: 3, Seconds: 600}, now)
	for step := 1; step <= 5; step++ {
		now = now.Add(4 * time.Minute)
		need := p.Need(now, false)
		fmt.Println("step", step, need)
		if need {
			p.Start(now)
			now = now.Add(10 * time.Second) // it is written
			p.Done(now)
		}
	}
	fmt.Println("a checkpoint takes", p.Mean())
	// Output:
	// step 1 false
	// step 2 false
	// step 3 true
	// step 4 false
	// step 5 false
	// a checkpoint takes 10s
}

// The allocation ends in ten minutes, and the run wants to have stopped a quarter of an hour before that.
func ExampleLimits() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := cadence.Limits{HaltSeconds: 900, EndTime: now.Add(10 * time.Minute)}
	v := l.Check(now)
	fmt.Println(v.Halt, v.Reason)
	fmt.Println(v.Note)
	// Output:
	// true TIME_LIMIT
	// 600 s remain, HaltSeconds is 900
}
