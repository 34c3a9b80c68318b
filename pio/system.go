package pio

import (
	"context"

	"blobio/comm"
)

// SystemOptions are the options of NewSystem. They select the ranks that PIO calls I/O tasks; the zero value, or nil, means all
// ranks. Package blob writes with all ranks and gathers by node in any case. Rank Base has the data of variables without a
// decomposition.
type SystemOptions struct {
	IOTasks int // number of I/O tasks; 0: the maximum
	Stride  int // distance between I/O tasks; 0: 1
	Base    int // the first I/O task; after the last rank the count continues at rank 0
}

// A System is one rank's handle on a group of ranks that write and read files together.
type System struct {
	c     comm.Comm
	opt   SystemOptions
	spare spare
	begun map[string]int // on the root: how many files of Create are open under a name
}

// NewSystem makes a System from the ranks of c. During a call only the System may use c. Collective.
func NewSystem(ctx context.Context, c comm.Comm, o *SystemOptions) (*System, error) {
	ctx = comm.In(ctx, "NewSystem")
	s := &System{c: c, begun: map[string]int{}}
	if o != nil {
		s.opt = *o
	}
	if s.opt.Stride == 0 {
		s.opt.Stride = 1
	}
	fit := (c.Size()-1)/max(s.opt.Stride, 1) + 1
	if s.opt.IOTasks == 0 {
		s.opt.IOTasks = fit
	}
	var err error
	switch o := &s.opt; {
	case o.Base < 0 || o.Base >= c.Size():
		err = failed(EINVAL, "base %d, want 0..%d", o.Base, c.Size()-1)
	case o.Stride < 1:
		err = failed(EINVAL, "stride %d, want 1 or more", o.Stride)
	case o.IOTasks < 1 || o.IOTasks > fit:
		err = failed(EINVAL, "%d I/O tasks, want 1..%d for %d ranks with stride %d", o.IOTasks, fit, c.Size(), o.Stride)
	}
	if err := agree(ctx, c, err); err != nil {
		return nil, err
	}
	return s, nil
}

// usable returns EBADID unless NewSystem made s.
func (s *System) usable() error {
	if s == nil || s.c == nil {
		return failed(EBADID, "the System has no ranks or was freed")
	}
	return nil
}

// Options returns the options of NewSystem, with the defaults filled in.
func (s *System) Options() SystemOptions { return s.opt }

// IOTask returns this rank's index among the I/O tasks, or -1.
func (s *System) IOTask() int {
	if s.usable() != nil {
		return -1
	}
	n := (s.c.Rank() - s.opt.Base + s.c.Size()) % s.c.Size()
	if n%s.opt.Stride != 0 || n/s.opt.Stride >= s.opt.IOTasks {
		return -1
	}
	return n / s.opt.Stride
}

// root returns the rank whose arguments count if one rank writes for all.
func (s *System) root() int { return s.opt.Base }
