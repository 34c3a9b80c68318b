package fti

import (
	"context"
	"time"

	"blobio/comm"
)

// timer decides when Snapshot takes checkpoints. All ranks have the same one.
type timer struct {
	start time.Time
	calls int64 // of Snapshot
	next  int64 // the call at which the clock is looked at

	minutes int64 // at the last look
	id      int32 // of the last checkpoint
}

// lookEvery is about how much time goes by between two looks at the clock, which ask all ranks.
const lookEvery = time.Second

// Snapshot is a collective: in a restart it is Recover; else it takes a checkpoint if the time of some level has come, of the highest one. It reports
// whether there was one.
func (s *Session) Snapshot(ctx context.Context) (bool, error) {
	if s.status != 0 {
		return false, s.Recover(ctx)
	}
	t := &s.timer
	if t.calls++; t.calls < t.next {
		return false, nil
	}
	gone, err := comm.AllreduceOne(ctx, s.c, int64(s.clock().Sub(t.start)), comm.Max)
	if err != nil {
		return false, err
	}
	each := max(1, gone/t.calls) // ns from one call to the next
	t.next = t.calls + min(max(1, int64(lookEvery)/each), s.cfg.MaxSync)
	level := t.due(s.cfg, gone*s.cfg.FastForward/int64(time.Minute))
	if level == 0 {
		return false, nil
	}
	if err := s.Checkpoint(ctx, t.id+1, level); err != nil {
		return false, err
	}
	t.id++
	return true, nil
}

// due is the level whose time has come after this number of minutes, 0 if there is none.
func (t *timer) due(c *Config, minutes int64) (level int) {
	came := func(every int64) bool { return every > 0 && minutes/every > t.minutes/every }
	if came(c.EveryDiff) {
		level = levels + diffShift
	}
	for l := 1; l <= levels; l++ {
		if came(c.Every[l]) && (level <= levels || l == levels) {
			level = l
		}
	}
	t.minutes = minutes
	return level
}
