package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"blobio/internal/base/fault"
)

// ErrBroken means that the communication between ranks failed.
var ErrBroken = fault.ErrBroken

// mover moves the files of a dataset from the nodes that have them to the nodes on which their ranks now run.
type mover struct{ *job }

// distribute moves the files of each rank to the rank's current device, because the device that has them may now be used by other
// ranks. All ranks make the same plan of moves. The plan has rounds, and in a round each rank takes part in at most one move. A
// move transfers all files of one rank. A file gets its name when it is whole. sweep deletes the old copies when the dataset is
// whole again.
func (mv *mover) distribute(ctx context.Context, d *cachedSet) error {
	l := d.level
	if err := mv.step("distribute"); err != nil {
		return err
	}
	held, err := mv.held(ctx, d, l)
	if err != nil {
		return err
	}
	ranks := 0
	for _, h := range held {
		for _, r := range h.ranks {
			ranks = max(ranks, r+1)
		}
		ranks = max(ranks, h.world)
	}
	if ranks == 0 {
		return fmt.Errorf("dataset %s: %w: no node has any of its files", d.Dataset.Name, ErrMissing)
	}
	if ranks != mv.c.Size() {
		return &ranksError{ranks, mv.c.Size()}
	}
	if l.shared {
		return nil // all files are in place
	}
	moves := plan(held, l.devices)
	if err := collide(held, moves, l.devices); err != nil {
		return fmt.Errorf("dataset %s: %w", d.Dataset.Name, err)
	}
	for _, round := range moves {
		err := mv.moveRound(ctx, d, round)
		if err := mv.agree(ctx, err); err != nil {
			return err
		}
	}
	d.held = held
	return mv.step("distributed")
}

// collide returns an error if moves would give files of two ranks the same name. This library uses unique file names (apart). The
// original SCR uses base names, which may be equal for ranks on different nodes.
func collide(held []holding, moves [][]move, devices []int) error {
	names := map[int][]uint64{} // file names of each rank on the lowest device that has files of the rank, because this device will send them
	for _, h := range held {
		for j, r := range h.ranks {
			if _, ok := names[r]; !ok {
				names[r] = h.names[j]
			}
		}
	}
	type deviceName struct {
		device int
		name   uint64
	}
	owner := map[deviceName]int{}
	for _, h := range held {
		for j, r := range h.ranks {
			for _, n := range h.names[j] {
				owner[deviceName{h.device, n}] = r
			}
		}
	}
	for _, round := range moves {
		for _, m := range round {
			for _, n := range names[m.rank] {
				to := deviceName{devices[m.rank], n}
				if r, ok := owner[to]; ok && r != m.rank {
					return fmt.Errorf("%w: files of ranks %d and %d have the same name in the cache, and the ranks are now on the same node", ErrCorrupt, r, m.rank)
				}
				owner[to] = m.rank
			}
		}
	}
	return nil
}

// move transfers the files of a rank from a process to that rank.
type move struct{ rank, from int }

// plan returns the moves. If a rank's device has none of its files, the lowest device that has some sends them to the rank. The
// processes of a device take turns as senders. devices has an entry for each rank. A device is identified by its first rank.
func plan(held []holding, devices []int) [][]move {
	has := map[int][]int{} // devices by rank
	for _, h := range held {
		for _, r := range h.ranks {
			has[r] = append(has[r], h.device)
		}
	}
	members := map[int][]int{}
	for r, dev := range devices {
		members[dev] = append(members[dev], r)
	}
	var todo []move
	turn := map[int]int{}
	for r, dev := range devices {
		at := has[r]
		if len(at) == 0 || slices.Contains(at, dev) {
			continue
		}
		from := slices.Min(at)
		m := members[from]
		todo = append(todo, move{r, m[turn[from]%len(m)]})
		turn[from]++
	}
	var rounds [][]move
	for len(todo) > 0 {
		busy := map[int]bool{}
		var round, rest []move
		for _, m := range todo {
			if busy[m.rank] || busy[m.from] {
				rest = append(rest, m)
				continue
			}
			busy[m.rank], busy[m.from] = true, true
			round = append(round, m)
		}
		rounds, todo = append(rounds, round), rest
	}
	return rounds
}

// sweep deletes the files of ranks that do not use the device. Files of ranks that use the device are kept. The first rank of the
// device calls it.
func (mv *mover) sweep(d *cachedSet) error {
	l := d.level
	for _, h := range d.held {
		if h.device != l.device || l.dc.Rank() != 0 {
			continue
		}
		for _, r := range h.ranks {
			if r < len(l.devices) && l.devices[r] == l.device {
				continue
			}
			names, err := ranksIn(mv.fs, d.Path)
			if err != nil {
				return err
			}
			for _, n := range append(mv.userFiles(d.Path, r), names[r]...) {
				if err := mv.fs.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	return nil
}

// ranksError means that the number of ranks that wrote the dataset differs from the present number.
type ranksError struct{ ranks, now int }

func (e *ranksError) Error() string {
	return fmt.Sprintf("the dataset has %d ranks, but the session has %d", e.ranks, e.now)
}

func (e *ranksError) Unwrap() error { return ErrMissing }
