package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/scr/cachedir"
	"blobio/scr/salvage"
)

// node looks at the metadata in the caches of a node, and makes jobs of the files.
func (f *scrCheckFlags) node(c *scrChecked, n salvage.Node) error {
	// A catalogue that is lost, or empty, says nothing of what lies beside it.
	if beside := path.Dir(n.Catalog); !slices.Contains(n.Caches, beside) {
		n.Caches = append(slices.Clone(n.Caches), beside)
	}
	held, err := salvage.Survey(n)
	if err != nil {
		if !isTreeDamage(err) {
			return err
		}
		c.add(findingOf(sevError, 0, n.Catalog, err))
	} else if _, err := n.FS.Stat(n.Catalog); errors.Is(err, fs.ErrNotExist) && len(held) == 0 {
		return fmt.Errorf("%s: no catalogue %s, and no dataset", n.Name, path.Base(n.Catalog))
	}
	if f.id > 0 && !slices.ContainsFunc(held, func(h cachedir.Holding) bool { return h.ID == f.id }) {
		return fmt.Errorf("%s: no dataset %d", n.Name, f.id)
	}
	for _, h := range held {
		if f.id > 0 && f.id != h.ID {
			continue
		}
		c.Datasets++
		field := fmt.Sprintf("DSET/%d", h.ID)
		switch {
		case h.Gone:
			c.say(sevError, h.ID, h.Path, "", "absent", "a folder, which the catalogue lists")
			continue
		case !h.Listed:
			c.say(sevWarning, h.ID, n.Catalog, field, "absent", h.Path+" is there")
		}
		if h.Err != nil {
			c.add(findingOf(sevError, h.ID, h.Path, h.Err))
		}
		if !h.Old && !h.Packed {
			for _, g := range []string{cachedir.MapGroup, cachedir.DataGroup} {
				f.state(c, n, h, g)
			}
		}
		for _, r := range h.Ranks {
			f.rank(c, n, h, r)
		}
		switch {
		case h.Packed:
			f.packed(c, n, h)
		case !h.Old:
			for _, g := range []string{cachedir.MapGroup, cachedir.DataGroup} {
				f.group(c, n, h, g)
			}
		}
	}
	return nil
}

// group looks for the files that a group protects, and for those that protect them. Survey tells only of those that are there.
func (f *scrCheckFlags) group(c *scrChecked, n salvage.Node, h cachedir.Holding, group string) {
	files, err := cachedir.ReadShuffile(n.FS, h.Path, group)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if state, err := cachedir.ReadState(n.FS, h.Path, group); err == nil && state == cachedir.StateEncoded {
			c.say(sevWarning, h.ID, cachedir.GroupFile(h.Path, group, "shuffile"), "", "absent", "a file: without it files do not move with their ranks")
		}
		return // state tells of a dataset that was not protected to the end
	case err != nil:
		c.add(findingOf(sevError, h.ID, cachedir.GroupFile(h.Path, group, "shuffile"), err))
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
				bad := findingOf(sevError, h.ID, name, err)
				bad.File, bad.Wanted = name, fmt.Sprintf("a file of rank %d", rank)
				c.add(bad)
			}
		}
	}
}

// packed looks at what the packed metadata say of the redundancy files, of which those with a payload are beside them.
func (f *scrCheckFlags) packed(c *scrChecked, n salvage.Node, h cachedir.Holding) {
	p, err := cachedir.ReadPacked(n.FS, h.Path)
	if err != nil {
		return // h.Err tells
	}
	name := cachedir.PackedName(h.Path)
	if p.State != cachedir.StateEncoded && !h.Bypass {
		c.say(sevWarning, h.ID, name, "STATE", fmt.Sprint(p.State), fmt.Sprintf("%d (encoded)", cachedir.StateEncoded))
	}
	payload := map[int]bool{}
	for _, r := range h.Ranks {
		payload[r.Rank] = slices.ContainsFunc(r.Redundancy, func(s string) bool { return memberName.MatchString(s) })
	}
	for _, file := range slices.Sorted(maps.Keys(p.Files)) {
		t, _, err := kvtree.DecodeRecord(p.Files[file], &kvtree.Options{File: name})
		if err != nil {
			bad := findingOf(sevError, h.ID, name, err)
			bad.Field = "FILE/" + clean(file) + ": " + bad.Field
			c.add(bad)
			continue
		}
		rank, ok := cachedir.RankOf(file)
		if file != cachedir.DataGroup+strconv.Itoa(rank)+".redset" || !ok || payload[rank] {
			continue
		}
		if scheme, err := t.At(strconv.Itoa(rank), "DESC").Str("TYPE"); err == nil && scheme != "SINGLE" {
			c.say(sevError, h.ID, path.Join(path.Dir(name), cachedir.DataGroup+strconv.Itoa(rank)), "", "absent", fmt.Sprintf("a redundancy file (%s) of rank %d", clean(scheme), rank))
		}
	}
}

// state looks at what is said of a group of redundancy files.
func (f *scrCheckFlags) state(c *scrChecked, n salvage.Node, h cachedir.Holding, group string) {
	name := cachedir.GroupFile(h.Path, group, "er")
	state, err := cachedir.ReadState(n.FS, h.Path, group)
	switch {
	case errors.Is(err, fs.ErrNotExist) && h.Bypass && group == cachedir.DataGroup: // the files are in the prefix directory
	case errors.Is(err, fs.ErrNotExist):
		c.say(sevWarning, h.ID, name, "", "absent", "a file: the dataset was not protected to the end")
	case err != nil:
		c.add(findingOf(sevError, h.ID, name, err))
	case state != cachedir.StateEncoded:
		c.say(sevWarning, h.ID, name, "STATE", fmt.Sprint(state), fmt.Sprintf("%d (encoded)", cachedir.StateEncoded))
	}
}

// rank looks at what a node has of a rank.
func (f *scrCheckFlags) rank(c *scrChecked, n salvage.Node, h cachedir.Holding, r cachedir.RankHolding) {
	if r.Err != nil {
		c.add(findingOf(sevError, h.ID, cachedir.FilemapName(h.Path, r.Rank), r.Err))
	} else if r.Map == nil && !h.Old {
		name := cachedir.FilemapName(h.Path, r.Rank)
		if h.Packed {
			name = cachedir.PackedName(h.Path)
		}
		c.say(sevError, h.ID, name, "", "absent", fmt.Sprintf("the file map of rank %d, of which there are redundancy files", r.Rank))
	}
	if r.Map != nil && !r.Copy {
		for _, name := range r.Missing {
			x, _ := r.Map.File(name)
			info, err := n.FS.Stat(name)
			switch {
			case err != nil:
				bad := findingOf(sevError, h.ID, name, err)
				bad.File, bad.Wanted = name, fmt.Sprintf("a file of rank %d", r.Rank)
				c.add(bad)
			case !x.Meta.Complete:
				c.say(sevError, h.ID, name, "COMPLETE", "0", "1")
			default:
				c.say(sevError, h.ID, name, "size", fmt.Sprint(info.Size()), fmt.Sprint(x.Meta.Size))
			}
		}
		for _, name := range r.Files {
			x, _ := r.Map.File(name)
			c.Files++
			c.Bytes += x.Meta.Size
			if f.quick {
				continue
			}
			c.jobs = append(c.jobs, scrJob{x.Meta.Size, x.Meta.HasCRC, func(ctx context.Context, read func(int)) []scrFinding {
				crc, err := crcOfPart(ctx, read, n.FS, name, 0, x.Meta.Size)
				switch {
				case ctx.Err() != nil:
					return nil
				case err != nil:
					return []scrFinding{findingOf(sevError, h.ID, name, err)}
				case x.Meta.HasCRC && crc != x.Meta.CRC:
					return []scrFinding{{sevError, h.ID, name, "crc", fmt.Sprintf("%#x", crc), fmt.Sprintf("%#x", x.Meta.CRC), classOf(kvtree.ErrChecksum)}}
				}
				return nil
			}})
		}
	}
	for _, name := range r.Redundancy {
		f.redundancy(c, n.FS, h.ID, name)
	}
}

// crcOfPart is the CRC-32 of a range of a file.
func crcOfPart(ctx context.Context, read func(int), fsys vfs.FS, name string, off, length int64) (uint32, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	crc, n, err := crcOf(&section{ctx, file, off, off + length, read})
	if err == nil && n != length {
		err = fmt.Errorf("%s: %w: %d bytes from offset %d, want %d", name, kvtree.ErrTruncated, n, off, length)
	}
	return crc, err
}

// memberName is the end of the name of a redundancy file of generation C that has a payload.
var memberName = regexp.MustCompile(`\.(single|partner|xor|rs)\.grp_\d+_of_\d+\.mem_(\d+)_of_(\d+)\.redset$`)

// redundancy looks at a redundancy file: its header, the size of its payload, and where there are sums (of package redset,
// in a file beside it) the payload itself. The reference looks at the header only.
func (f *scrCheckFlags) redundancy(c *scrChecked, fsys vfs.FS, id int, name string) {
	info, err := fsys.Stat(name)
	if err != nil {
		c.add(findingOf(sevError, id, name, err))
		return
	}
	c.Files++
	c.Bytes += info.Size()
	rec, err := kvtree.ReadFileRecord(fsys, name, nil)
	if err != nil {
		c.add(findingOf(sevError, id, name, err))
		return
	}
	if rec.HasCRC {
		c.Verified += rec.Size
	}
	payload := info.Size() - rec.Size
	parts, err := payloadParts(name, rec.Tree)
	if err != nil {
		c.add(findingOf(sevError, id, name, err))
		return
	}
	var want int64
	for _, p := range parts {
		want += p.length
	}
	if payload != want {
		c.add(scrFinding{sevError, id, name, "payload", fmt.Sprintf("%d bytes", payload), fmt.Sprint(want), classOf(kvtree.ErrTruncated)})
		return
	}
	if f.quick || want == 0 {
		return
	}
	sums := sumsBeside(fsys, name)
	off := rec.Size
	for _, p := range parts {
		at := off
		off += p.length
		crc, ok := p.sum(sums, rec.CRC)
		c.jobs = append(c.jobs, scrJob{p.length, ok, func(ctx context.Context, read func(int)) []scrFinding {
			got, err := crcOfPart(ctx, read, fsys, name, at, p.length)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				return []scrFinding{findingOf(sevError, id, name, err)}
			case ok && got != crc:
				return []scrFinding{{sevError, id, name, fmt.Sprintf("%#x: %s: crc", at, p.what), fmt.Sprintf("%#x", got), fmt.Sprintf("%#x", crc), classOf(kvtree.ErrChecksum)}}
			}
			return nil
		}})
	}
}

// payloadPart is a part of the payload that has a checksum of its own: a row of parity, or the copy of a file.
type payloadPart struct {
	what   string
	length int64
	self   string   // the member whose file it is
	path   []string // of the sum, below MEMBER
}

// sum is the checksum of a part, if the sums are of this very header.
func (p payloadPart) sum(sums *kvtree.Tree, header uint32) (uint32, bool) {
	if h, err := sums.At("MEMBER", p.self).CRC32("HEADER"); err != nil || h != header {
		return 0, false
	}
	last := len(p.path) - 1
	crc, err := sums.Get("MEMBER").At(p.path[:last]...).CRC32(p.path[last])
	return crc, err == nil
}

// payloadParts says from a header what follows it.
func payloadParts(name string, t *kvtree.Tree) ([]payloadPart, error) {
	m := memberName.FindStringSubmatch(path.Base(name))
	if m == nil {
		if t.Has("CHUNK") && t.Has("CURRENT") { // generations A and B: XOR
			chunk, err := t.Int64("CHUNK")
			if err != nil || chunk < 0 {
				return nil, &kvtree.FormatError{Pkg: "redset", File: name, Offset: -1, Field: "CHUNK", Msg: "no number of bytes", Err: kvtree.ErrCorrupt}
			}
			return []payloadPart{{what: "parity", length: chunk, path: []string{"", ""}}}, nil
		}
		return nil, nil
	}
	scheme, size := m[1], 0
	member, err := strconv.Atoi(m[2])
	if err == nil {
		size, err = strconv.Atoi(m[3])
	}
	bad := func(field string, err error) ([]payloadPart, error) {
		return nil, &kvtree.FormatError{Pkg: "redset", File: name, Offset: -1, Field: field, Msg: errorText(err), Err: kvtree.ErrCorrupt}
	}
	if err != nil || member < 1 || member > size {
		return bad("name", fmt.Errorf("member %s of %s", m[2], m[3]))
	}
	self := strconv.Itoa(member - 1)
	number := func(key string) (int64, error) {
		n, err := t.At("DESC", self, "DESC").Int64(key)
		if err == nil && (n < 1 || n >= int64(size)) {
			err = fmt.Errorf("%d, want 1 to %d", n, size-1)
		}
		return n, err
	}
	switch scheme {
	case "single":
		return nil, nil
	case "partner":
		copies := int64(1)
		if t.At("DESC", self, "DESC").Has("REPLICAS") {
			if copies, err = number("REPLICAS"); err != nil {
				return bad("REPLICAS", err)
			}
		}
		var parts []payloadPart
		for j := 1; int64(j) <= copies; j++ {
			left := strconv.Itoa((member - 1 - j + size) % size)
			files := t.At("DESC", left, "FILE")
			for i := range files.Len() {
				_, x := files.Get(strconv.Itoa(i)).First()
				n, err := x.Int64("SIZE")
				if err != nil || n < 0 {
					return bad(fmt.Sprintf("DESC/%s/FILE/%d/SIZE", left, i), errors.New("no number of bytes"))
				}
				parts = append(parts, payloadPart{fmt.Sprintf("copy of file %d of member %s", i, left), n, self, []string{left, "FILE", strconv.Itoa(i), "CRC", "0"}})
			}
		}
		return parts, nil
	}
	chunk, err := t.Int64("CHUNK")
	if err != nil || chunk < 0 {
		return bad("CHUNK", errors.New("no number of bytes"))
	}
	rows := int64(1)
	if scheme == "rs" {
		if rows, err = number("CKSUM"); err != nil {
			return bad("CKSUM", err)
		}
	}
	var parts []payloadPart
	for i := range rows {
		parts = append(parts, payloadPart{fmt.Sprintf("parity %d", i), chunk, self, []string{self, "ROW", strconv.FormatInt(i, 10)}})
	}
	return parts, nil
}

// sumsBeside reads the checksums beside a redundancy file; nil if there are none that can be read (they are looked at
// as a file of their own).
func sumsBeside(fsys vfs.FS, name string) *kvtree.Tree {
	rank, ok := cachedir.RankOf(path.Base(name))
	if !ok {
		return nil
	}
	group := cachedir.DataGroup
	if strings.HasPrefix(path.Base(name), cachedir.MapGroup) {
		group = cachedir.MapGroup
	}
	base := group + strconv.Itoa(rank) + ".redsum"
	t, err := kvtree.ReadFile(fsys, path.Join(path.Dir(name), base), nil)
	if errors.Is(err, fs.ErrNotExist) {
		var p *cachedir.Packed
		if p, err = cachedir.ReadPacked(fsys, path.Dir(path.Dir(name))); err == nil {
			t, _, err = kvtree.DecodeRecord(p.Files[base], nil)
		}
	}
	if err != nil {
		return nil
	}
	return t
}
