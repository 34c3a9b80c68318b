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
		why := p.Need(now, false)
		fmt.Println("step", step, why)
		if why != cadence.NotNeeded {
			p.Start(now)
			now = now.Add(10 * time.Second) // it is written
			p.Done(now)
		}
	}
	fmt.Println("a checkpoint takes", p.Mean())
	// Output:
	// step 1 not needed
	// step 2 not needed
	// step 3 interval
	// step 4 not needed
	// step 5 not needed
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

// Every checkpoint is at least copied to a partner, every fourth one protected by XOR.
func ExampleSelect() {
	levels := []cadence.Level{{Enabled: true, Interval: 1}, {Enabled: true, Interval: 4}}
	for id := int64(1); id <= 5; id++ {
		i, err := cadence.Select(levels, id)
		fmt.Println("checkpoint", id, "uses", []string{"PARTNER", "XOR"}[i], err)
	}
	// Output:
	// checkpoint 1 uses PARTNER <nil>
	// checkpoint 2 uses PARTNER <nil>
	// checkpoint 3 uses PARTNER <nil>
	// checkpoint 4 uses XOR <nil>
	// checkpoint 5 uses PARTNER <nil>
}
