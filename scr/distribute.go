package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"blobio/internal/base/fault"
)

// ErrBroken: the communication of the ranks broke.
var ErrBroken = fault.ErrBroken

// mover brings the files of a dataset from the nodes that have them to the nodes where its ranks are now.
type mover struct{ *job }

// distribute brings the files of each rank to the device where the rank is now. A device that has them may be one on
// which other ranks are now. All ranks make the same plan of moves, one file tree of a rank after the other, in rounds
// in which nobody takes part twice; a file gets its name when it is whole. The copies left behind are deleted (sweep)
// when the dataset is whole again.
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
		return fmt.Errorf("dataset %s: %w: no node has a file of it", d.Dataset.Name, ErrMissing)
	}
	if ranks != mv.c.Size() {
		return &ranksError{ranks, mv.c.Size()}
	}
	if l.shared {
		return nil // all is where all are
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

// collide finds moves by which files of two ranks would get one name. Ours have names of their own (apart), but the
// reference calls files by their base names, and ranks that were on different nodes may have the same ones.
func collide(held []holding, moves [][]move, devices []int) error {
	names := map[int][]uint64{} // of each rank, on the lowest device that has some: from there they are brought
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

// move brings the files of a rank from one process to that rank.
type move struct{ rank, from int }

// plan finds the moves: a rank whose device has none of its files gets them from the lowest device that has some. The
// processes of a device take turns in sending. devices is by rank; a device is the number of its first rank.
func plan(held []holding, devices []int) [][]move {
	has := map[int][]int{} // rank -> devices
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

// sweep deletes a device's files of ranks that are elsewhere now: each device keeps the files of its own ranks. The
// first rank of the device calls it.
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

// ranksError: the dataset was written by another number of ranks.
type ranksError struct{ ranks, now int }

func (e *ranksError) Error() string {
	return fmt.Sprintf("dataset has %d ranks, but the session has %d", e.ranks, e.now)
}

func (e *ranksError) Unwrap() error { return ErrMissing }
