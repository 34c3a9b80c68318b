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

// again lets the collective that begins now fail for lack of space without ending the writer; end withdraws this permission. At
// that time all puts are in memory or in a file on a local disk. (A file server may report only later that it lacked space for
// earlier data.)
func (s *state) again() (end func()) {
	s.lacked = nil
	s.commits.soft = s.Err == nil && s.job.Eng != nil && !s.puts.flying && !s.commits.due && !s.job.Opt.Compress.On() && s.job.Opt.Fs.Local(s.job.Base)
	return func() {
		if s.commits.soft = false; s.job.Lead && s.job.Eng != nil {
			s.job.Eng.Kept.before = nil
		}
	}
}

// goesOn undoes the steps of a collective that failed on all ranks for lack of space, so that a later collective can repeat them,
// and reports whether the writer continues. Committed data stay in the files, and all puts stay in memory.
func (s *state) goesOn(err error) bool {
	if s.lacked != nil && s.commits.soft {
		return true // an earlier step of this collective has reported it
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
		_ = s.job.Opt.Fs.Remove(subfile.LogName(s.job.Base, s.job.Ten.Tag())) // if the removal fails, the next commit fails
		s.commits.log = nil
	}
	if s.job.Opt.Keeps() {
		s.files.placed = false
	}
	var undone error
	if s.job.Lead {
		undone = s.job.Eng.undo(s.commits.Count > 0)
	}
	if s.job.C.Rank() == 0 && s.files.named { // files of a set without a log entry
		undone = errors.Join(undone, s.files.unname())
	}
	if undone != nil {
		s.job.Eng.Seal.late = fmt.Errorf("%w: %w", dataset.ErrBroken, undone) // the next collective returns the error
	}
	if !s.job.apart() { // no other rank may use the engine meanwhile
		_ = s.job.C.Barrier(context.Background())
	}
	return true
}

// crash handles an error that ranks agreed on before a collective did its work. The failure may come from a background flush,
// which may still read lent data.
func (s *state) crash(err error) error {
	if s.puts.flying {
		s.puts.flying = false
		s.Fail(err)
	}
	return err
}

// judged ends a step of the commit that only world rank 0 takes. An error ends the writer.
func (s *state) judged(outcome verdict.Outcome, err error) error {
	if outcome == verdict.InDoubt {
		err = s.job.inDoubt(err)
	}
	if err != nil {
		s.Fail(err)
	}
	return err
}

// lastCall is the guard before the seal is written. If the agreement itself fails, rank 0 may have received success and written
// the seal. Therefore the other ranks leave their files in place, and the next writer decides.
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

// abandon removes the partial subfile of this rank, and on world rank 0 the announcement. Committed files stay. abandon returns
// no error, because it runs after an error that is already reported.
func (s *state) abandon() {
	defer s.job.Ten.Release()
	if s.job.Eng == nil {
		return
	}
	s.job.Eng.background.ground()
	_ = s.commits.log.Close()
	if s.job.Lead { // after a commit the file is still open, and no other call closes it
		_ = s.job.Eng.Proc.Pool.CloseFile(s.job.Eng.File.Name)
	}
	if s.commits.MayBeInForce {
		return
	}
	if s.commits.Count > 0 { // committed files stay; files of an uncommitted set still have partial names
		if s.job.Lead && lease.IsPartial(s.job.Eng.File.Name) {
			s.files.removeMade()
		}
		return
	}
	if s.commits.log != nil { // only this writer uses the name of the log
		_ = s.job.Opt.Fs.Remove(subfile.LogName(s.job.Base, s.job.Ten.Tag()))
	}
	s.files.removeMade()
	if s.job.C.Rank() != 0 || !s.claim.Claimed || s.claim.Foreign {
		return
	}
	if s.files.made != filesNone && !s.claim.Rename && !s.files.removeFinals() {
		return
	}
	if errors.Is(s.job.Ten.Check(), dataset.ErrInUse) { // this writer has lost the lease, and another writer may hold it
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

// state holds the errors of the writer and decides whether it can continue.
type state struct {
	job     *Job
	puts    *puts
	claim   *claim
	files   *files
	commits *commits
	Err     error // error of an earlier collective, after which the writer is broken
	closed  bool
	lacked  error // error of the last collective, if it failed for lack of space
}

// guard ends a collective: if any rank has an error, all ranks return it. A failed writer stays failed.
func (s *state) guard(ctx context.Context, err error) error {
	if err = comm.Agree(ctx, s.job.C, s.job.Ten.Explain(err)); err != nil {
		s.Fail(err)
	}
	return err
}

// Fail ends the writer unless it can continue, see goesOn. If communication failed, the leader may still read lent data of this
// rank; Fail waits for it.
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
	if re, ok := err.(*comm.RankError); ok { // all ranks have the error, so the next agreement must name the same rank
		s.Err = comm.MetBy(s.job.C, re.Rank, earlier(re.Err))
	} else {
		s.Err = earlier(err)
	}
	s.abandon()
}
