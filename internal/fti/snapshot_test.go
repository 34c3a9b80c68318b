package fti

import (
	"context"
	"fmt"
	"testing"
	"time"

	"blobio/comm"
)

// TestDue: the highest due level is taken, each time once.
func TestDue(t *testing.T) {
	c := &Config{Every: [levels + 1]int64{0, 2, 0, 3, 6}, EveryDiff: 4}
	var x timer
	var got []int
	for minute := int64(1); minute <= 12; minute++ {
		got = append(got, x.due(c, minute))
	}
	if want := "[0 1 3 8 0 4 0 8 3 1 0 4]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestSnapshot: all ranks take checkpoints by the clock of the rank that has run longest.
func TestSnapshot(t *testing.T) {
	m := disk(t, "ckpt_l2 = 5")
	must(t, comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		now := time.Unix(1e9, 0)
		s, err := Open(ctx, c, "config", &Options{FS: m, Clock: func() time.Time { return now }})
		if err != nil {
			return err
		}
		var taken []int
		for i := range 40 {
			now = now.Add(time.Duration(5+5*c.Rank()) * time.Second)
			if err := protect(s, memory(c.Rank(), i)); err != nil {
				return err
			}
			ok, err := s.Snapshot(ctx)
			if err != nil {
				return err
			}
			if ok {
				taken = append(taken, i*10+s.last.Level)
			}
		}
		if want := "[81 142 171 261 292 351]"; fmt.Sprint(taken) != want {
			return fmt.Errorf("checkpoints %v, want %s", taken, want)
		}
		return s.release()
	}))
	if got, err := stepOf(m); err != nil || got != 35 {
		t.Errorf("step %d, %v", got, err)
	}
}
