package fti

import (
	"context"
	"time"

	"blobio/comm"
)

// timer decides when Snapshot takes checkpoints. All ranks have the same state.
type timer struct {
	start time.Time
	calls int64 // number of calls of Snapshot
	next  int64 // number of the call that next reads the clock

	minutes int64 // minutes at the last clock reading
	id      int32 // id of the last checkpoint
}

// lookEvery is the approximate time between two clock readings, which involve all ranks.
const lookEvery = time.Second

// Snapshot is a collective. In a restart it calls Recover. Otherwise it takes a checkpoint if one is due, at the highest level
// that is due. It reports whether it took a checkpoint.
func (s *Session) Snapshot(ctx context.Context) (bool, error) {
	if s.status != 0 {
		return false, comm.Agree(ctx, s.c, s.Recover(ctx))
	}
	t := &s.timer
	if t.calls++; t.calls < t.next {
		return false, nil
	}
	gone, err := comm.AllreduceOne(ctx, s.c, int64(s.clock().Sub(t.start)), comm.Max)
	if err != nil {
		return false, err
	}
	each := max(1, gone/t.calls) // nanoseconds per call
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

// due returns the highest level that is due after this number of minutes, or 0.
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
