package scr

import (
	"context"
	"fmt"
	"path"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/config"
	"blobio/scr/redset"
)

// level is a redundancy descriptor, with the objects that a rank needs to use it.
type level struct {
	config.Descriptor
	count   int64       // maximum number of datasets in the level's store
	dir     string      // cache directory of the level's store
	shared  bool        // all ranks share the store
	device  int         // number of the device of this rank; ranks with equal numbers share the device
	devices []int       // device of each rank
	dc      comm.Comm   // the ranks that share the device
	set     *redset.Set // the redundancy set of this rank
}

// levels has a level for each descriptor, in the same order.
type levels []*level

// formLevels forms the redundancy sets of all descriptors. Collective.
func formLevels(ctx context.Context, j *job) (levels, error) {
	var desc []config.Descriptor
	var groups *config.Groups
	stores := map[string]config.Store{}
	err := func() (err error) {
		if desc, err = config.DescriptorsOf(j.set); err != nil {
			return err
		}
		all, err := config.StoresOf(j.set)
		if err != nil {
			return err
		}
		for _, st := range all {
			stores[path.Clean(st.Name)] = st
		}
		if groups, err = config.GroupsOf(j.set); err != nil {
			return err
		}
		for _, d := range desc {
			if !d.Enabled {
				continue
			}
			if st, ok := stores[path.Clean(d.Store)]; !ok || !st.Enabled {
				return fault.Usage("%v: no store %s", d.Origin, d.Store)
			}
		}
		_, err = config.Select(desc, 1, false)
		return err
	}()
	if err := j.agree(ctx, err); err != nil {
		return nil, fmt.Errorf("descriptors: %w", err)
	}
	var out levels
	for _, d := range desc {
		l := &level{Descriptor: d}
		if d.Enabled {
			if err := l.form(ctx, j, stores[path.Clean(d.Store)], groups); err != nil {
				return nil, fmt.Errorf("descriptor %d: %w", d.Index, err)
			}
		}
		out = append(out, l)
	}
	return out, nil
}

func (l *level) form(ctx context.Context, j *job, st config.Store, groups *config.Groups) error {
	l.count = st.Count
	l.dir = j.p.job.CacheDir(st.Name)
	l.shared = st.Group == "WORLD"

	// A device is shared by ranks with the same value of the store's group. Its number is its first rank.
	device := map[string]int{}
	for r, host := range j.node.names {
		v, ok := groups.Value(host, st.Group)
		if !ok {
			v = "rank " + fmt.Sprint(r)
		}
		if _, ok := device[v]; !ok {
			device[v] = r
		}
		l.devices = append(l.devices, device[v])
	}
	l.device = l.devices[j.c.Rank()]
	var err error
	if l.dc, err = j.c.Split(ctx, l.device, j.c.Rank()); err != nil {
		return err
	}

	scheme, err := redset.ParseScheme(l.Type)
	host, ok := groups.Value(j.node.name, l.Group)
	if err == nil && !ok {
		err = fault.Usage("node %s has no group %s", j.node.name, l.Group)
	}
	if err := j.agree(ctx, err); err != nil {
		return err
	}
	l.set, err = redset.New(ctx, j.c, redset.Options{
		Scheme: scheme, Group: "group " + host, SetSize: int(l.SetSize), Replicas: int(max(l.Replicas, 1)), K: int(max(l.SetFailures, 1)),
		Downgrade: !j.cfg.Strict, NoSums: j.p.noSums,
	})
	if err != nil {
		return err
	}
	if l.set.Downgraded() {
		j.remark("scr: too few failure groups for %s: checkpoints are not protected against the loss of a node (SINGLE)", l.Type)
	}
	return nil
}

// choose returns the level of a new dataset. For a checkpoint the level depends on the checkpoint's number.
func (ls levels) choose(ckpt int, f Flags) (*level, error) {
	desc := make([]config.Descriptor, len(ls))
	for i, l := range ls {
		desc[i] = l.Descriptor
	}
	i, err := config.Select(desc, int64(ckpt), f&Checkpoint == 0)
	if err != nil {
		return nil, err
	}
	return ls[i], nil
}

// forCached returns the level of a cached dataset. It prefers the level that choose would return now, then another level with the
// same store. It returns nil if there is none.
func (ls levels) forCached(e cachedir.Cached) *level {
	f := Output
	if e.Dataset.Checkpoint {
		f = Checkpoint
	}
	dir := path.Dir(e.Path)
	if l, err := ls.choose(max(e.Dataset.Ckpt, 1), f); err == nil && l.dir == dir {
		return l
	}
	for _, l := range ls {
		if l.Enabled && l.dir == dir {
			return l
		}
	}
	return nil
}
