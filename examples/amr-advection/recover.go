package main

import (
	"errors"
	"math"
	"slices"

	"blobio/recovery"
)

// errAborted ends a run that is to be started again on fewer ranks.
var errAborted = errors.New("a node is gone")

// eps is the largest change of a value in a step that can be right: values are in 0 ... 1.
const eps = 1.0

func (s *solver) strikes(now recovery.Moment, modes ...string) bool {
	return !s.done && slices.Contains(modes, s.fail.Mode) && now.Coarse == s.fail.Coarse && now.Step == s.fail.Step
}

// corrupt spoils one value of the box at which the injector aims, or so many that the whole box is given up.
func (s *solver) corrupt(now recovery.Moment, box int) {
	if !s.strikes(now, "data", "point") || box != s.fail.Rank%len(s.levels[now.Step.Level].tiles) {
		return
	}
	s.done = true
	d := s.next[box]
	if d[5] = 100; s.fail.Mode == "data" {
		d[17], d[30] = math.NaN(), math.Inf(-1)
	}
}

// strike makes a rank forget what it has, before it tells.
func (s *solver) strike(now recovery.Moment) (*recovery.Event, error) {
	if s.strikes(now, "abort") { // on all ranks
		return &recovery.Event{Kind: "abort", Scope: recovery.Abort}, nil
	}
	if !s.strikes(now, "temporary", "permanent", "metadata") || s.c.Rank() != s.fail.Rank {
		return nil, nil
	}
	s.done = true
	if s.fail.Mode == "metadata" {
		v := s.levels[0]
		v.tiles = slices.Clone(v.tiles)
		v.tiles[0][0] ^= 1
		return &recovery.Event{Kind: "metadata"}, nil
	}
	for _, v := range s.levels {
		for i := range v.data {
			v.data[i] = nil
		}
	}
	clear(s.next)
	if s.fail.Mode == "permanent" {
		return &recovery.Event{Kind: "permanent", Ranks: []int{s.fail.Rank}}, nil
	}
	return nil, errors.New("the memory of the rank cannot be trusted")
}
