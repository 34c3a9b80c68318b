package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/verdict"
	"blobio/internal/subfile"
	"context"
	"errors"
	"fmt"
)

// again lets the collective that begins fail for want of space without an end of the writer; what it returns ends that. All that was put is in memory
// then, or in a file that its own disk holds: a file server may tell of the space that it lacked for what it was given before.
func (s *state) again() (end func()) {
	s.lacked = nil
	s.commits.soft = s.Err == nil && s.job.Eng != nil && !s.puts.flying && !s.commits.due && !s.job.Opt.Compress.On() && s.job.Opt.Fs.Local(s.job.Base)
	return func() {
		if s.commits.soft = false; s.job.Lead && s.job.Eng != nil {
			s.job.Eng.Kept.before = nil
		}
	}
}

// goesOn undoes what a collective has begun that failed on all ranks for want of space, so that a later one can do all of it. It reports whether that is
// so. Committed data are not touched, and all puts are kept.
func (s *state) goesOn(err error) bool {
	if s.lacked != nil && s.commits.soft {
		return true // reported before
	}
	for _, ends := range []error{durable.ErrUnsure, dataset.ErrInUse, dataset.ErrBroken} {
		if errors.Is(err, ends) {
			return false
		}
	}
	if !s.commits.soft || s.Err != nil || s.commits.MayBeInForce || s.puts.flying || !vfs.Full(err) || errors.As(err, new(*dataset.InDoubtError)) || errors.As(err, new(*dataset.UnfinishedError)) {
		return false
	}
	s.lacked = err
	if s.commits.Count == 0 {
		s.commits.going = false
	}
	if s.commits.Count == 0 && s.commits.log != nil {
		_ = s.commits.log.Close()
		_ = s.job.Opt.Fs.Remove(subfile.LogName(s.job.Base, s.job.Ten.Tag())) // if it stays, the next commit fails
		s.commits.log = nil
	}
	if s.job.Opt.Keeps() {
		s.files.placed = false
	}
	var undone error
	if s.job.Lead {
		undone = s.job.Eng.undo(s.commits.Count > 0)
	}
	if s.job.C.Rank() == 0 && s.files.named { // of a set without an entry
		undone = errors.Join(undone, s.files.unname())
	}
	if undone != nil {
		s.job.Eng.Seal.late = fmt.Errorf("%w: %w", dataset.ErrBroken, undone) // for the next collective to tell
	}
	if !s.job.apart() { // no rank goes on with an engine that is being changed
		_ = s.job.C.Barrier(context.Background())
	}
	return true
}

// crash is for an error that ranks agreed on before a collective did its work: if there is a flight, it may be
// the one that failed, or may still be reading what is lent.
func (s *state) crash(err error) error {
	if s.puts.flying {
		s.puts.flying = false
		s.Fail(err)
	}
	return err
}

// judged ends a step of the commit that only world rank 0 makes: an error ends the writer, and says if the step may be in force all the same.
func (s *state) judged(outcome verdict.Outcome, err error) error {
	if outcome == verdict.InDoubt {
		err = s.job.inDoubt(err)
	}
	if err != nil {
		s.Fail(err)
	}
	return err
}

// lastCall is the guard before the record is written. If it is the agreement
// itself that breaks, rank 0 may have heard that all is well and write the record, so
// the other ranks leave their files; the next writer finds out.
func (s *state) lastCall(ctx context.Context, err error) error {
	v, agreed := comm.AgreeMin(ctx, s.job.C, err, 0)
	if agreed == nil {
		return nil
	}
	if s.commits.MayBeInForce = s.job.C.Rank() != 0 && v == nil && err == nil; s.commits.MayBeInForce {
		agreed = &dataset.InDoubtError{Base: s.job.Base, Err: agreed}
	}
	s.Fail(agreed)
	return agreed
}

// abandon removes what this rank made: the partial subfile, and on world rank
// 0 the announcement. Committed files are not touched. It reports nothing: it
// runs after an error that is reported.
func (s *state) abandon() {
	defer s.job.Ten.Release()
	if s.job.Eng == nil {
		return
	}
	s.job.Eng.background.ground()
	_ = s.commits.log.Close()
	if s.job.Lead { // after a commit the file stays, and no other call closes it
		_ = s.job.Eng.Proc.Pool.CloseFile(s.job.Eng.File.Name)
	}
	if s.commits.MayBeInForce {
		return
	}
	if s.commits.Count > 0 { // what is committed stays; a set that is not has partial names
		if s.job.Lead && lease.IsPartial(s.job.Eng.File.Name) {
			s.files.removeMade()
		}
		return
	}
	if s.commits.log != nil { // a name that nobody else has
		_ = s.job.Opt.Fs.Remove(subfile.LogName(s.job.Base, s.job.Ten.Tag()))
	}
	s.files.removeMade()
	if s.job.C.Rank() != 0 || !s.claim.Claimed || s.claim.Foreign {
		return
	}
	if s.files.made != filesNone && !s.claim.Rename && !s.files.removeFinals() {
		return
	}
	if errors.Is(s.job.Ten.Check(), dataset.ErrInUse) { // it is gone, and another's may be there
		return
	}
	_ = subfile.DropNext(s.job.Opt.Fs, s.job.Base, s.job.Ten.Tag())
}

func (s *state) open() error {
	if s.closed {
		return fault.Usage("commit after Close")
	}
	return nil
}

// state is whether the writer can go on.
type state struct {
	job     *Job
	puts    *puts
	claim   *claim
	files   *files
	commits *commits
	Err     error // of an earlier collective: the writer is broken
	closed  bool
	lacked  error // of the last collective, if it lacked space
}

// guard ends a collective: all ranks learn of any rank's error, and a writer
// that failed stays failed.
func (s *state) guard(ctx context.Context, err error) error {
	if err = comm.Agree(ctx, s.job.C, s.job.Ten.Explain(err)); err != nil {
		s.Fail(err)
	}
	return err
}

// Fail ends the writer, unless it can go on, see goesOn. If the communication broke, the leader may still be
// reading what this rank has lent; it is waited for.
func (s *state) Fail(err error) {
	if s.goesOn(err) {
		return
	}
	if s.job.Eng != nil {
		s.job.Eng.background.stop()
	}
	s.puts.list, s.puts.parts, s.puts.seen = nil, nil, nil
	s.puts.flying, s.puts.away = false, nil
	earlier := func(err error) error {
		if errors.Is(err, dataset.ErrBroken) {
			return fmt.Errorf("%s: %w", s.job.Base, err)
		}
		return fmt.Errorf("%s: %w: %w", s.job.Base, dataset.ErrBroken, err)
	}
	if re, ok := err.(*comm.RankError); ok { // all ranks have it, so it stays that one's when the next call agrees on it
		s.Err = comm.MetBy(s.job.C, re.Rank, earlier(re.Err))
	} else {
		s.Err = earlier(err)
	}
	s.abandon()
}
