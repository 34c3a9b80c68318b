package fti

import (
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/base/gf16"
)

// element is a file of a member of a group: its checkpoint file or, if backup is true, what it keeps for others: the copy of the
// checkpoint file of the member before it (level 2), or parity (level 3).
type element struct {
	member int
	backup bool
}

// share describes the elements of one member. Sizes are in bytes.
type share struct {
	Rank   int   // in the run
	File   int64 // size of its checkpoint file; -1: lost or damaged
	Backup int64 // size of its copy, or number of its parity bytes; -1: lost or damaged
	Full   int64 // level 3: number of bytes to which the files of the group are extended; 0: unknown
	Posix  bool  // the files are in FTI's POSIX mode
	Failed bool  // the member could not write its checkpoint file

	Why []string // why files that exist cannot be used
}

// task computes an element: n bytes of to are the sum of the bytes of from times their factors.
type task struct {
	to      element
	n       int64
	from    []element
	factors []uint16 // in the field of package gf16; empty: to is a copy of the only element of from
}

func (j *task) add(from element, factor uint16) {
	if factor != 0 {
		j.from, j.factors = append(j.from, from), append(j.factors, factor)
	}
}

// plan returns the tasks that compute the lost elements of a group. All members make the same plan.
func plan(level int, all []share) ([]task, error) {
	if level == 2 {
		return planCopies(all)
	}
	return planParity(all)
}

func planCopies(all []share) (tasks []task, err error) {
	k := len(all)
	for i, s := range all {
		next, before := (i+1)%k, (i+k-1)%k
		if s.File < 0 {
			if all[next].Backup < 0 {
				return nil, fault.Class(fault.ErrMissing, "the file of rank %d and its copy on rank %d are lost", s.Rank, all[next].Rank)
			}
			tasks = append(tasks, task{to: element{i, false}, n: all[next].Backup, from: []element{{next, true}}})
		}
		if s.Backup < 0 && all[before].File >= 0 {
			tasks = append(tasks, task{to: element{i, true}, n: all[before].File, from: []element{{before, false}}})
		}
	}
	return tasks, nil
}

func planParity(all []share) (tasks []task, err error) {
	k, full, largest, added := len(all), int64(0), int64(0), int64(sizeLen)
	var lost, parity []int
	for i, s := range all {
		if s.File < 0 {
			lost = append(lost, i)
		}
		if s.Backup >= 0 {
			parity = append(parity, i)
		}
		if s.Full > 0 && full > 0 && s.Full != full {
			return nil, fault.Class(fault.ErrCorrupt, "rank %d has %d bytes of parity, other ranks %d", s.Rank, s.Full, full)
		}
		full, largest = max(full, s.Full), max(largest, s.File)
		if s.Posix {
			added = 0
		}
	}
	if len(lost) > len(parity) {
		return nil, fault.Class(fault.ErrMissing, "files of %d of the %d ranks %d, ... are lost, but only %d ranks have parity", len(lost), k, all[0].Rank, len(parity))
	}
	for _, s := range all {
		if s.File > full-added || s.Backup >= 0 && s.Backup != full {
			return nil, fault.Class(fault.ErrCorrupt, "rank %d has a file of %d bytes and %d bytes of parity, want %d", s.Rank, s.File, s.Backup, full)
		}
	}
	if len(lost) == 0 && full != largest+added { // otherwise the size of a parity file confirms full
		return nil, fault.Class(fault.ErrCorrupt, "the ranks %d, ... have %d bytes of parity, want %d as the largest file has %d bytes", all[0].Rank, full, largest+added, largest)
	}
	rows, err := gf16.Decode(k, lost, parity[:len(lost)])
	if err != nil {
		return nil, err
	}
	file := func(x int) element { return element{x % k, x >= k} }
	for n, i := range lost {
		j := task{to: element{i, false}, n: full}
		for x, factor := range rows[n] {
			j.add(file(x), factor)
		}
		tasks = append(tasks, j)
	}
	for i := range k {
		if all[i].Backup >= 0 {
			continue
		}
		j := task{to: element{i, true}, n: full}
		row := make([]uint16, 2*k)
		for f := range k {
			c := gf16.Code(k, i, f)
			n := slices.Index(lost, f)
			if n < 0 {
				row[f] ^= c
				continue
			}
			for x, factor := range rows[n] {
				row[x] ^= gf16.Mul(c, factor)
			}
		}
		for x, factor := range row {
			j.add(file(x), factor)
		}
		tasks = append(tasks, j)
	}
	return tasks, nil
}
