package scr

import (
	"context"
	"fmt"
	"path"

	"blobio/redset"
	"blobio/scr/cadence"
	"blobio/scr/config"
)

// formLevels forms the redundancy sets of all descriptors. It is collective.
func (s *Session) formLevels(ctx context.Context) error {
	var desc []config.Descriptor
	var groups *config.Groups
	stores := map[string]config.Store{}
	err := func() (err error) {
		if desc, err = s.set.Descriptors(); err != nil {
			return err
		}
		all, err := s.set.Stores()
		if err != nil {
			return err
		}
		for _, st := range all {
			stores[path.Clean(st.Name)] = st
		}
		if groups, err = s.set.Groups(); err != nil {
			return err
		}
		for _, d := range desc {
			if !d.Enabled {
				continue
			}
			if st, ok := stores[path.Clean(d.Store)]; !ok || !st.Enabled {
				return fmt.Errorf("%w: %v: no store %s", ErrUsage, d.Origin, d.Store)
			}
		}
		if _, err = cadence.Select(config.Levels(desc), 1); err != nil {
			return err
		}
		return nil
	}()
	if err := s.agree(ctx, err); err != nil {
		return pkg.Errorf("descriptors: %w", err)
	}
	for _, d := range desc {
		l := level{Descriptor: d}
		if d.Enabled {
			if err := s.formLevel(ctx, &l, stores[path.Clean(d.Store)], groups); err != nil {
				return pkg.Errorf("descriptor %d: %w", d.Index, err)
			}
		}
		s.levels = append(s.levels, l)
	}
	return nil
}

func (s *Session) formLevel(ctx context.Context, l *level, st config.Store, groups *config.Groups) error {
	l.count = st.Count
	dir, derr := s.set.CacheDir(st.Name)
	l.dir = dir
	l.shared = st.Group == "WORLD"

	// The device: ranks with the same value of the store's group, numbered by their first rank.
	device := map[string]int{}
	for r, host := range s.node.names {
		v, ok := groups.Value(host, st.Group)
		if !ok {
			v = "rank " + fmt.Sprint(r)
		}
		if _, ok := device[v]; !ok {
			device[v] = r
		}
		l.devices = append(l.devices, device[v])
	}
	l.device = l.devices[s.c.Rank()]
	var err error
	if l.dc, err = s.c.Split(ctx, l.device, s.c.Rank()); err != nil {
		return err
	}

	scheme, err := redset.ParseScheme(l.Type)
	if err == nil {
		err = derr
	}
	host, ok := groups.Value(s.node.name, l.Group)
	if err == nil && !ok {
		err = fmt.Errorf("%w: node %s is in no group %s", ErrUsage, s.node.name, l.Group)
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	l.set, err = redset.New(ctx, s.c, redset.Options{
		Scheme: scheme, Group: "group " + host, SetSize: int(l.SetSize), Replicas: int(max(l.Replicas, 1)), K: int(max(l.SetFailures, 1)),
		Downgrade: !s.cfg.Strict,
	})
	if err != nil {
		return err
	}
	if l.set.Downgraded() {
		s.note("scr: too few failure groups for %s: checkpoints are not protected against the loss of a node (SINGLE)", l.Type)
	}
	return nil
}

// level returns the descriptor for a dataset.
func (s *Session) level(ckpt int, f Flags) (int, error) {
	if f&Checkpoint != 0 {
		return cadence.Select(config.Levels(s.descriptors()), int64(ckpt))
	}
	return cadence.SelectOutput(config.Levels(s.descriptors()))
}

func (s *Session) descriptors() []config.Descriptor {
	out := make([]config.Descriptor, len(s.levels))
	for i := range s.levels {
		out[i] = s.levels[i].Descriptor
	}
	return out
}
