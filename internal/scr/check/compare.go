package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/salvage"
	"blobio/scr/redset"
)

// compare checks cached files that have no checksums against their redundancy on other nodes. SCR 3 writes no checksums. A
// finding names the node that has the file. If no node has the file, the finding names the first node that has any part of the
// dataset.
func (r *run) compare(nodes []salvage.Node, all []*checked) error {
	type set struct {
		at    []redset.Held
		first int    // index of the first node
		path  string // path of the dataset on that node
		home  map[int]int
	}
	sets := map[int]*set{}
	for i, n := range nodes {
		held, err := salvage.Survey(n)
		if err != nil {
			continue // survey has reported the error
		}
		for _, h := range held {
			if h.Old || h.Gone || h.Bypass || r.skips(h.ID) {
				continue
			}
			if state, err := cachedir.ReadState(n.FS, h.Path, cachedir.DataGroup); err != nil || state != cachedir.StateEncoded {
				continue // the protection of the dataset is unfinished
			}
			s := sets[h.ID]
			if s == nil {
				s = &set{first: i, path: h.Path, home: map[int]int{}}
				sets[h.ID] = s
			}
			s.at = append(s.at, redset.Held{FS: n.FS, Prefix: cachedir.GroupFile(h.Path, cachedir.DataGroup, "")})
			for _, x := range h.Ranks {
				s.home[x.Rank] = i
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sets)) {
		s := sets[id]
		c := all[s.first]
		res, err := redset.Compare(r.ctx, s.at)
		if err != nil && !errors.Is(err, fault.ErrCorrupt) {
			return err
		}
		if err != nil {
			bad := findingOf(Error, id, s.path, err)
			bad.Offset, bad.Field = -1, "redundancy"
			c.add(bad)
			continue
		}
		for _, w := range res.Wrong {
			all[s.home[w.Rank]].add(differs(id, w.Name, "", "differs from the other files and their redundancy", "", fault.ErrCorrupt))
		}
		if res.Sets > 0 && len(res.Wrong) == 0 {
			sets := "1 set"
			if res.Sets > 1 {
				sets = fmt.Sprintf("%d sets", res.Sets)
			}
			c.say(Note, id, s.path, "redundancy", "agrees with the files, which have no checksums ("+sets+")", "")
		}
	}
	return nil
}
