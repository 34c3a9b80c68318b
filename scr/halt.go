package scr

import (
	"context"

	"blobio/internal/scr/cadence"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
)

// halts accesses the halt file, which holds the conditions that end the run. Rank 0 reads and changes it.
type halts struct {
	*job
	dir *prefixdir.Dir
}

// ShouldExit reports whether the run should end now, and the reason. The reason is one of the reasons of package cadence, or a
// text that a user wrote into the halt file. Collective. ShouldExit does not end the run. If the reason is new, ShouldExit writes
// it into the halt file, so that the run loop does not start another run.
func (s *Session) ShouldExit(ctx context.Context) (bool, string, error) {
	if err := s.need("ShouldExit", between); err != nil {
		return false, "", err
	}
	var v cadence.Verdict
	var err error
	if s.c.Rank() == 0 {
		v, err = s.halts.verdict(ctx)
		if err == nil && v.Halt && v.Write {
			err = s.halts.setReason(ctx, v.Reason, true)
		}
		if err == nil && v.Halt {
			s.event(runlog.Entry{Event: runlog.Halt, Note: v.Reason})
			s.log.Info("scr: halt", "reason", v.Reason, "why", v.Note)
		}
	}
	halt, err := s.anyOrError(ctx, v.Halt, err)
	if err != nil || !halt {
		return false, "", err
	}
	b, err := s.c.Bcast(ctx, 0, []byte(v.Reason))
	return err == nil, string(b), err
}

// NeedCheckpoint reports whether the application should take a checkpoint now (SCR_Need_checkpoint). Collective. The answer
// depends on the number of calls, the time since the last checkpoint, and the cost of checkpoints. If the run should end, the
// answer is always true.
func (s *Session) NeedCheckpoint(ctx context.Context) (bool, error) {
	if err := s.need("NeedCheckpoint", between); err != nil {
		return false, err
	}
	need := false
	var err error
	if s.c.Rank() == 0 {
		var v cadence.Verdict
		if v, err = s.halts.verdict(ctx); err == nil {
			need = s.pacer.Need(s.cfg.Clock(), v.Halt)
		}
	}
	return s.anyOrError(ctx, need, err)
}

// verdict checks whether the halt file or the clock requires the run to end.
func (ha *halts) verdict(ctx context.Context) (cadence.Verdict, error) {
	h, err := ha.read(ctx)
	if err != nil {
		return cadence.Verdict{}, err
	}
	return cadence.Limits{Halt: h, HaltSeconds: ha.p.haltSeconds, EndTime: ha.p.endTime}.Check(ha.cfg.Clock()), nil
}

// read reads the halt file. If a writer died and left a damaged file, the run does not end: the file is set aside with a warning.
func (ha *halts) read(ctx context.Context) (cadence.Halt, error) {
	h, err := ha.dir.Halt.Read(ctx)
	if !isFormat(err) {
		return h, err
	}
	if err := ha.dir.Halt.Update(ctx, func(*cadence.Halt) error { return nil }); err != nil {
		return h, err
	}
	return ha.dir.Halt.Read(ctx)
}

// countdown decrements the number of remaining checkpoints in the halt file.
func (ha *halts) countdown(ctx context.Context) error {
	h, err := ha.read(ctx)
	if err != nil || !h.Countdown(1) {
		return err
	}
	return ha.dir.Halt.Update(ctx, func(h *cadence.Halt) error { h.Countdown(1); return nil })
}

// setReason writes the reason for the end of the run to the halt file. It keeps an existing reason unless force is set.
func (ha *halts) setReason(ctx context.Context, reason string, force bool) error {
	return ha.dir.Halt.Update(ctx, func(h *cadence.Halt) error {
		if force || h.ExitReason == "" {
			h.ExitReason = reason
		}
		return nil
	})
}
