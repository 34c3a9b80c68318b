package runloop

import (
	"context"
	"path/filepath"
	"strconv"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/config"
	"blobio/internal/scr/salvage"
)

// CacheNodes returns the locations of the node caches for salvage.Run. If local is set, the nodes are private directories on
// this host, and CacheNodes returns file systems with the paths that the nodes use. Otherwise the nodes must be reached by
// Shell.Scavenge.
func CacheNodes(p *config.Set, nodes []string, local *Local) ([]salvage.Node, error) {
	job, err := config.JobOf(p)
	if err != nil {
		return nil, err
	}
	stores, err := config.StoresOf(p)
	if err != nil {
		return nil, err
	}
	bases := []string{job.Control}
	var caches []string
	for _, s := range stores {
		dir := job.CacheDir(s.Name)
		if s.Count != 0 {
			caches = append(caches, dir)
		}
		bases = append(bases, dir)
	}
	var out []salvage.Node
	for _, n := range nodes {
		x := salvage.Node{Name: n, Catalog: filepath.ToSlash(filepath.Join(job.Control, cachedir.CatalogName)), Caches: caches}
		if local != nil && local.Root != "" {
			var binds []vfs.Bind
			for _, b := range bases {
				binds = append(binds, vfs.Bind{At: b, To: filepath.Join(local.NodeDir(n), below(b))})
			}
			x.FS = vfs.NewBind(vfs.OS, binds)
		}
		out = append(out, x)
	}
	return out, nil
}

// Bases returns the base directories of caches and control files on nodes.
func Bases(p *config.Set) ([]config.Capacity, error) {
	var out []config.Capacity
	for _, key := range []string{"CNTLDIR", "CACHEDIR"} {
		list, err := config.CapacitiesOf(p, key)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			i := 0
			for i < len(out) && out[i].Dir != c.Dir {
				i++
			}
			if i == len(out) {
				out = append(out, c)
			}
			out[i].Bytes = max(out[i].Bytes, c.Bytes)
		}
	}
	return out, nil
}

// Scavenge copies a dataset from a node by running blobio scr scavenge on the node. Of the result only the ranks are set.
func (s *Shell) Scavenge(ctx context.Context, o salvage.ScavengeOptions) (*salvage.Copied, error) {
	args := []string{"scr", "scavenge", "--json", "--id", strconv.Itoa(o.ID), "--control", filepath.Dir(filepath.FromSlash(o.Catalog))}
	for _, c := range o.Caches {
		args = append(args, "--cache", c)
	}
	if o.Was != "" {
		args = append(args, "--was", o.Was)
	}
	var got struct {
		Nodes []struct {
			Safe, Stale bool
			Ranks       []struct {
				Rank  int
				Map   bool
				Bytes int64
				Lost  map[string]string
			}
		} `json:"nodes"`
	}
	if err := s.blobio(ctx, o.Name, &got, func() bool { return len(got.Nodes) == 1 }, append(args, o.Prefix.Path)...); err != nil {
		return nil, err
	}
	n := got.Nodes[0] // got lists the files that the node has lost
	c := &salvage.Copied{ID: o.ID, Dataset: o.Dataset, Safe: n.Safe, Stale: n.Stale}
	for _, r := range n.Ranks {
		c.Ranks = append(c.Ranks, salvage.RankCopy{Rank: r.Rank, Mapped: r.Map, Bytes: r.Bytes, Lost: r.Lost})
	}
	return c, nil
}
