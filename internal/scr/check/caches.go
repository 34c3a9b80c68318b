package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/salvage"
	"blobio/scr/kvtree"
	"blobio/scr/redset"
)

// Node describes the caches of a node. Name appears in messages. FS is the file system of the node (nil: the operating system's).
// Catalog is the path of its catalogue (<control folder>/cindex.scrinfo). Caches are folders to search for datasets that the
// catalogue does not list.
type Node = salvage.Node

// Caches finds all faults in the caches of nodes. When a file differs from its redundancy, the finding names the node that has
// the file. If no node has the file, the finding names the first node that has any part of the dataset.
func Caches(ctx context.Context, nodes []Node, o *Options) iter.Seq[Finding] {
	return check(ctx, "", o, func(r *run) error {
		nodes, all := slices.Clone(nodes), make([]*checked, len(nodes))
		for i := range nodes {
			nodes[i].FS = vfs.OrOS(nodes[i].FS)
			all[i] = &checked{run: r, index: i, node: fault.Num(i)}
			if err := all[i].survey(nodes[i]); err != nil {
				return err
			}
		}
		if !r.o.Quick {
			if err := r.compare(nodes, all); err != nil {
				return err
			}
		}
		for _, c := range all {
			if err := c.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

// survey checks the metadata in the caches of a node and adds jobs for the files.
func (c *checked) survey(n salvage.Node) error {
	// If the catalogue is lost or empty, its directory must be searched for datasets too.
	if beside := path.Dir(n.Catalog); !slices.Contains(n.Caches, beside) {
		n.Caches = append(slices.Clone(n.Caches), beside)
	}
	held, err := salvage.Survey(n)
	if err != nil {
		if !fault.IsDamage(err) || errors.Is(err, kvtree.ErrNotFormat) {
			return err
		}
		c.add(findingOf(Error, 0, n.Catalog, err))
	} else if _, err := n.FS.Stat(n.Catalog); errors.Is(err, fs.ErrNotExist) && len(held) == 0 {
		return fmt.Errorf("%s: neither a catalogue %s nor a dataset exists", n.Name, path.Base(n.Catalog))
	}
	if c.o.Dataset > 0 && !slices.ContainsFunc(held, func(h cachedir.Holding) bool { return h.ID == c.o.Dataset }) {
		return fmt.Errorf("%s: no dataset %d", n.Name, c.o.Dataset)
	}
	for _, h := range held {
		if c.skips(h.ID) {
			continue
		}
		c.seen.Datasets++
		field := fmt.Sprintf("DSET/%d", h.ID)
		switch {
		case h.Gone:
			c.say(Error, h.ID, h.Path, "", "absent", "a folder, which the catalogue lists")
			continue
		case !h.Listed:
			c.say(Warning, h.ID, n.Catalog, field, "absent", h.Path+" is there")
		}
		if h.Err != nil {
			c.add(findingOf(Error, h.ID, h.Path, h.Err))
		}
		if !h.Old {
			for _, g := range []string{cachedir.MapGroup, cachedir.DataGroup} {
				c.state(n, h, g)
			}
		}
		for _, r := range h.Ranks {
			c.rank(n, h, r)
		}
		if !h.Old {
			for _, g := range []string{cachedir.MapGroup, cachedir.DataGroup} {
				c.group(n, h, g)
			}
		}
	}
	return nil
}

// group checks that the protected files of a group and its redundancy files exist. Survey has already left out files that do not
// exist.
func (c *checked) group(n salvage.Node, h cachedir.Holding, group string) {
	files, err := cachedir.ReadShuffile(n.FS, h.Path, group)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if state, err := cachedir.ReadState(n.FS, h.Path, group); err == nil && state == cachedir.StateEncoded {
			c.say(Warning, h.ID, cachedir.GroupFile(h.Path, group, "shuffile"), "", "absent", "a file (needed to move files with their ranks)")
		}
		return // the method state reports a dataset whose protection is unfinished
	case err != nil:
		c.add(findingOf(Error, h.ID, cachedir.GroupFile(h.Path, group, "shuffile"), err))
		return
	}
	told := map[string]bool{}
	for _, r := range h.Ranks {
		if r.Map == nil {
			told[cachedir.FilemapName(h.Path, r.Rank)] = true
		}
		for _, name := range r.Missing {
			told[name] = true
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(files)) {
		for _, name := range files[rank] {
			if told[name] || h.Bypass && !strings.HasPrefix(name, h.Path+"/") {
				continue
			}
			if _, err := n.FS.Stat(name); err != nil {
				bad := findingOf(Error, h.ID, name, err)
				bad.File, bad.Wanted = name, fmt.Sprintf("a file of rank %d", rank)
				c.add(bad)
			}
		}
	}
}

// state checks the state file of a redundancy group.
func (c *checked) state(n salvage.Node, h cachedir.Holding, group string) {
	name := cachedir.GroupFile(h.Path, group, "er")
	state, err := cachedir.ReadState(n.FS, h.Path, group)
	switch {
	case errors.Is(err, fs.ErrNotExist) && h.Bypass && group == cachedir.DataGroup: // the files are in the prefix directory
	case errors.Is(err, fs.ErrNotExist):
		c.say(Warning, h.ID, name, "", "absent", "a file (the protection of the dataset was not completed)")
	case err != nil:
		c.add(findingOf(Error, h.ID, name, err))
	case state != cachedir.StateEncoded:
		c.say(Warning, h.ID, name, "STATE", fmt.Sprint(state), fmt.Sprintf("%d (encoded)", cachedir.StateEncoded))
	}
}

// rank checks the files of one rank on a node.
func (c *checked) rank(n salvage.Node, h cachedir.Holding, r cachedir.RankHolding) {
	if r.Err != nil {
		c.add(findingOf(Error, h.ID, cachedir.FilemapName(h.Path, r.Rank), r.Err))
	} else if r.Map == nil && !h.Old {
		name := cachedir.FilemapName(h.Path, r.Rank)
		c.say(Error, h.ID, name, "", "absent", fmt.Sprintf("the file map of rank %d, which has redundancy files", r.Rank))
	}
	if r.Map != nil {
		for _, name := range r.Missing {
			x, _ := r.Map.File(name)
			info, err := n.FS.Stat(name)
			switch {
			case err != nil:
				bad := findingOf(Error, h.ID, name, err)
				bad.File, bad.Wanted = name, fmt.Sprintf("a file of rank %d", r.Rank)
				c.add(bad)
			case !x.Meta.Complete:
				c.say(Error, h.ID, name, "COMPLETE", "0", "1")
			default:
				c.say(Error, h.ID, name, "size", fmt.Sprint(info.Size()), fmt.Sprint(x.Meta.Size))
			}
		}
		for _, name := range r.Files {
			x, _ := r.Map.File(name)
			c.seen.Files++
			c.seen.Bytes += x.Meta.Size
			if !c.o.Quick {
				c.compareCRC(n.FS, h.ID, name, redset.Part{Length: x.Meta.Size, CRC: x.Meta.CRC, HasCRC: x.Meta.HasCRC})
			}
		}
	}
	for _, name := range r.Redundancy {
		c.redundancy(n.FS, h.ID, name)
	}
}

// redundancy checks the header and the payload size of a redundancy file. If a file with checksums of package redset exists, it
// also checks the payload itself. The original SCR checks only the header.
func (c *checked) redundancy(fsys vfs.FS, id int, name string) {
	info, err := fsys.Stat(name)
	if err != nil {
		c.add(findingOf(Error, id, name, err))
		return
	}
	c.seen.Files++
	c.seen.Bytes += info.Size()
	rec, err := kvtree.ReadFileRecord(fsys, name, nil)
	if err != nil {
		c.add(findingOf(Error, id, name, err))
		return
	}
	if rec.HasCRC {
		c.seen.Verified += rec.Size
	}
	pay, err := redset.ReadPayload(fsys, groupOf(name), name)
	if err != nil {
		c.add(findingOf(Error, id, name, err))
		return
	}
	if n := info.Size() - pay.Offset; n != pay.Length {
		c.add(differs(id, name, "payload", fmt.Sprintf("%d bytes", n), pay.Length, kvtree.ErrTruncated))
		return
	}
	if c.o.Quick {
		return
	}
	for _, x := range pay.Parts {
		c.compareCRC(fsys, id, name, x)
	}
}

// groupOf returns the part that the names of all redundancy files of a group begin with, from the name of one of these files. In
// generations A and B it returns the folder.
func groupOf(name string) string {
	dir, base := path.Split(name)
	for _, g := range []string{cachedir.MapGroup, cachedir.DataGroup} {
		if strings.HasPrefix(base, g) {
			return dir + g
		}
	}
	return dir
}
