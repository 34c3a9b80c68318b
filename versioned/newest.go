package versioned

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"blobio/comm"
)

// NewestClean finds the newest version that is clean, among those that are not tainted: the program has noticed an error, and clean reports whether a
// version does not have it yet. clean is called on all ranks for the same versions and may be collective; a version is clean if all ranks find it so. One that
// cannot be read because it is damaged (clean returns that error) is not clean, and passed over. An error of another kind ends the search on all ranks.
// ErrNoVersion: none is clean. It is collective; nothing is marked.
//
// It looks at one version after the other, newest first. With bisect it looks at about log2 of them: for errors that stay, so that all versions from the first
// bad one on are bad. Otherwise the version that it finds with bisect is clean, but may not be the newest.
func (a *Array) NewestClean(ctx context.Context, bisect bool, clean func(ctx context.Context, version int64) (bool, error)) (int64, error) {
	var list []int64
	for _, v := range a.cat.record().Versions {
		if !v.Tainted {
			list = append(list, v.Number)
		}
	}
	i, err := newestClean(ctx, a.c, bisect, len(list), func(i int) (bool, error) { return clean(ctx, list[i]) })
	if err != nil {
		return 0, err
	}
	if i < 0 {
		return 0, fmt.Errorf("array %s: none of %d versions is clean: %w", a.spec.Name, len(list), ErrNoVersion)
	}
	return list[i], nil
}

// NewestClean is that of an array for snapshots; clean reads by Table and Box what the snapshot names.
func (h *Hierarchy) NewestClean(ctx context.Context, bisect bool, clean func(ctx context.Context, s *Snapshot) (bool, error)) (int64, error) {
	marks := h.marks()
	var list []int64
	for _, v := range h.global.cat.record().Versions {
		if h.global.named[v.Number] != nil && h.global.clean(v.Number, marks) {
			list = append(list, v.Number)
		}
	}
	i, err := newestClean(ctx, h.c, bisect, len(list), func(i int) (bool, error) {
		g, err := h.global.read(ctx, list[i])
		gone := unreadable(err)
		if gone {
			err = nil
		}
		all, err := comm.AgreeMin(ctx, h.c, err, -btoi(gone))
		if err != nil || all[0] < 0 {
			return false, cmp.Or(err, errUnreadable)
		}
		return clean(ctx, g)
	})
	if err != nil {
		return 0, err
	}
	if i < 0 {
		return 0, fmt.Errorf("hierarchy %s: none of %d snapshots is clean: %w", h.spec.Name, len(list), ErrNoVersion)
	}
	return list[i], nil
}

// errUnreadable: the snapshot is damaged, on some rank.
var errUnreadable = errors.New("cannot be read")

// newestClean is the last of n, ascending, that all ranks find clean, -1 if none is. It is collective.
func newestClean(ctx context.Context, c comm.Comm, bisect bool, n int, clean func(i int) (bool, error)) (int, error) {
	const bad, lost, good = 0, 1, 2 // one that is bad on some ranks and cannot be read on others is bad
	judge := func(i int) (int64, error) {
		ok, err := clean(i)
		v := bad + good*btoi(ok)
		if err == errUnreadable || unreadable(err) {
			v, err = lost, nil
		}
		all, err := comm.AgreeMin(ctx, c, err, v)
		if err != nil {
			return 0, err
		}
		return all[0], nil
	}
	// Those up to lo are clean or cannot be read, those from hi on are bad or cannot be read.
	best := -1
	for lo, hi := -1, n; hi-lo > 1; {
		mid := hi - 1
		if bisect {
			mid = lo + (hi-lo)/2
		}
		at, v := mid+1, int64(lost)
		for v == lost && at-1 > lo { // one that cannot be read says nothing: the one before it does
			at--
			var err error
			if v, err = judge(at); err != nil {
				return 0, err
			}
		}
		switch v {
		case bad:
			hi = at
		case good:
			best, lo = at, mid
		default:
			lo = mid
		}
	}
	return best, nil
}
