package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"blobio/redset"
	"blobio/scr/cachedir"
	"blobio/scr/salvage"
)

// compare compares cached files that have no checksums, as SCR 3 writes them, with their redundancy, which is on other nodes. What
// is found is told with the node that has the file, or else with the first that has something of the dataset.
func (f *scrCheckFlags) compare(ctx context.Context, nodes []salvage.Node, out []*scrChecked) error {
	type set struct {
		at    []redset.Held
		first int    // of nodes
		path  string // of the dataset there
		home  map[int]int
	}
	sets := map[int]*set{}
	for i, n := range nodes {
		held, err := salvage.Survey(n)
		if err != nil {
			continue // node tells
		}
		for _, h := range held {
			if h.Old || h.Packed || h.Gone || h.Bypass || f.id > 0 && f.id != h.ID {
				continue
			}
			if state, err := cachedir.ReadState(n.FS, h.Path, cachedir.DataGroup); err != nil || state != cachedir.StateEncoded {
				continue // it was not protected to the end
			}
			s := sets[h.ID]
			if s == nil {
				s = &set{first: i, path: h.Path, home: map[int]int{}}
				sets[h.ID] = s
			}
			s.at = append(s.at, redset.Held{FS: n.FS, Prefix: cachedir.GroupFile(h.Path, cachedir.DataGroup, "")})
			for _, r := range h.Ranks {
				s.home[r.Rank] = i
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sets)) {
		s := sets[id]
		c := out[s.first]
		res, err := redset.Compare(ctx, s.at)
		if err != nil && !errors.Is(err, redset.ErrCorrupt) {
			return err
		}
		if err != nil {
			bad := findingOf(sevError, id, s.path, err)
			bad.Field = "redundancy"
			c.add(bad)
			continue
		}
		for _, w := range res.Wrong {
			out[s.home[w.Rank]].add(scrFinding{sevError, id, w.Name, "", "not what the other files and their redundancy make of it", "", classOf(redset.ErrCorrupt)})
		}
		if res.Sets > 0 && len(res.Wrong) == 0 {
			c.say(sevNote, id, s.path, "redundancy", fmt.Sprintf("agrees with the files, which have no checksums (%s)", plural(res.Sets, "set")), "")
		}
	}
	return nil
}
