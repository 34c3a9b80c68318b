package redset

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

// maxHeader is the maximum size of the header of a redundancy file, in bytes.
const maxHeader = 256 << 20

// maxDepth is the maximum number of levels in a header. Valid headers have 7.
const maxDepth = 100

// Limits of the numbers in a header. They limit memory and time, and prevent overflow of byte positions.
const (
	maxMembers = 1 << 10 // maximum number of members of a set
	maxBytes   = 1 << 54 // maximum size of all files of a set
)

// Meta is the metadata of a file in a header.
type Meta = vfs.Meta

// file is a file of a member, as its header describes it.
type file struct {
	name string // name as the header records it
	meta Meta
}

// desc describes a member in a header: its position and its files.
type desc struct {
	position
	files []file
	tree  *kvtree.Tree // DESC/<rank> in generation C, CURRENT in generations A and B; copied unchanged into other headers
}

// size returns the size of the logical file in bytes.
func (d *desc) size() int64 {
	n := int64(0)
	for _, f := range d.files {
		n += f.meta.Size
	}
	return n
}

func (d *desc) sizes() []int64 {
	v := make([]int64, len(d.files))
	for i, f := range d.files {
		v[i] = f.meta.Size
	}
	return v
}

// header is the record at the beginning of a redundancy file.
type header struct {
	position
	chunk  int64         // XOR, RS
	group  []int         // world ranks of the members; nil for SINGLE and PARTNER
	descs  map[int]*desc // the member and its left neighbours, by rank in the set
	extra  *kvtree.Tree  // in generations A and B the keys RANKS and DSET
	length int64         // length of the record in bytes
	crc    uint32        // CRC in the last four bytes of the record
}

// newDescTree makes DESC/<rank> of generation C.
func (p *position) newDescTree(files []file) *kvtree.Tree {
	t := kvtree.New()
	put(t, 1, "DESC", "ENABLED")
	put(t, p.scheme.String(), "DESC", "TYPE")
	put(t, p.set, "DESC", "GROUP")
	put(t, p.sets, "DESC", "GROUPS")
	put(t, p.rank, "DESC", "RANK")
	put(t, p.n, "DESC", "RANKS")
	put(t, p.world, "DESC", "WRANK")
	put(t, p.worlds, "DESC", "WRANKS")
	switch p.scheme {
	case RS:
		put(t, p.k, "DESC", "CKSUM")
	case Partner:
		put(t, p.k, "DESC", "REPLICAS")
	}
	put(t, len(files), "FILES")
	t.Touch("FILE")
	for i, f := range files {
		path := []string{"FILE", strconv.Itoa(i), f.name}
		m := f.meta
		set := func(key string, v any) { put(t, v, append(path[:3:3], key)...) }
		set("SIZE", m.Size)
		set("MODE", m.Mode)
		set("UID", m.UID)
		set("GID", m.GID)
		stamp := func(key string, at time.Time) {
			set(key+"_SECS", at.Unix())
			set(key+"_NSECS", at.Nanosecond())
		}
		stamp("ATIME", m.Atime)
		stamp("CTIME", m.Ctime)
		stamp("MTIME", m.Mtime)
	}
	return t
}

// parsePlace parses DESC/<rank>/DESC.
func parsePlace(t *kvtree.Tree) (position, error) {
	p := position{gen: GenC}
	r := reader{t: t.At("DESC")}
	name, err := r.t.Value("TYPE").Str()
	if err != nil {
		return p, err
	}
	if p.scheme, err = ParseScheme(name); err != nil {
		return p, fmt.Errorf("TYPE: %w", err)
	}
	p.set, p.sets = r.int("GROUP", 0, math.MaxInt32), r.int("GROUPS", 1, math.MaxInt32)
	p.rank, p.n = r.int("RANK", 0, maxMembers), r.int("RANKS", 1, maxMembers)
	p.world, p.worlds = r.int("WRANK", 0, math.MaxInt32), r.int("WRANKS", 1, math.MaxInt32)
	switch p.scheme {
	case Partner:
		p.k = r.int("REPLICAS", 1, p.n-1)
	case XOR:
		p.k = 1
	case RS:
		p.k = r.int("CKSUM", 1, p.n-1)
	}
	if r.err == nil {
		r.err = p.check()
	}
	return p, r.err
}

// check finds contradictory numbers.
func (p *position) check() error {
	switch {
	case p.rank >= p.n, p.gen == GenC && p.set >= p.sets, p.gen == GenC && p.world >= p.worlds:
		return fmt.Errorf("member %d of %d, set %d of %d, world rank %d of %d: out of range", p.rank, p.n, p.set, p.sets, p.world, p.worlds)
	case p.scheme == Single && p.n != 1, p.scheme != Single && p.n < 2, p.scheme == RS && p.n+p.k > 256:
		return fmt.Errorf("%v set of %d members with parity %d is impossible", p.scheme, p.n, p.k)
	}
	return nil
}

// parseDesc parses DESC/<rank> of generation C.
func parseDesc(t *kvtree.Tree) (*desc, error) {
	d := &desc{tree: t}
	var err error
	if d.position, err = parsePlace(t); err != nil {
		return nil, err
	}
	list := t.At("FILE")
	d.files, err = parseFiles(t, func(i int) (file, error) {
		ft := list.At(strconv.Itoa(i))
		for name, mt := range ft.All() {
			r := reader{t: mt}
			m := Meta{Size: r.int64("SIZE", 0, maxBytes), Mode: vfs.ModeRegular | 0o600}
			if mt.At("MODE") != nil {
				m.Mode, m.UID, m.GID = uint32(r.int64("MODE", 0, math.MaxUint32)), uint32(r.int64("UID", 0, math.MaxUint32)), uint32(r.int64("GID", 0, math.MaxUint32))
				stamp := func(key string) time.Time {
					return time.Unix(r.int64(key+"_SECS", math.MinInt64, math.MaxInt64), r.int64(key+"_NSECS", 0, 999_999_999))
				}
				m.Atime, m.Ctime, m.Mtime = stamp("ATIME"), stamp("CTIME"), stamp("MTIME")
			}
			if ft.Len() != 1 || name == "" {
				return file{}, fmt.Errorf("FILE/%d has %d names, want one", i, ft.Len())
			}
			return file{name, m}, r.err
		}
		return file{}, fmt.Errorf("FILE/%d has no name", i)
	})
	return d, err
}

// parseFiles parses FILES and FILE/<i>. It calls f for each file.
func parseFiles(t *kvtree.Tree, f func(i int) (file, error)) ([]file, error) {
	r := reader{t: t}
	n := r.int("FILES", 0, math.MaxInt32)
	if r.err != nil {
		return nil, r.err
	}
	if have := t.At("FILE").Len(); have != n {
		return nil, fmt.Errorf("FILES is %d, want %d", n, have)
	}
	files := make([]file, n)
	total := int64(0)
	for i := range files {
		var err error
		if files[i], err = f(i); err != nil {
			return nil, err
		}
		if total += files[i].meta.Size; total > maxBytes {
			return nil, fmt.Errorf("FILE/%d: sizes add up to more than %d", i, int64(maxBytes))
		}
	}
	return files, nil
}

// newHeader makes the header of member p.rank. descs holds all members of the set.
func newHeader(p position, lay *layout, descs []*desc, group []int, extra *kvtree.Tree) *header {
	h := &header{position: p, chunk: lay.chunk, group: group, extra: extra, descs: map[int]*desc{p.rank: descs[p.rank]}}
	if p.scheme == Single || p.scheme == Partner {
		h.group = nil
	}
	for _, m := range lay.left(p.rank) {
		h.descs[m] = descs[m]
	}
	return h
}

// encode returns the record and stores its length and checksum.
func (h *header) encode() ([]byte, error) {
	t := kvtree.New()
	if h.gen == GenC {
		put(t, h.rank, "RANK")
		for r, d := range h.descs {
			t.SetAt(d.tree, "DESC", strconv.Itoa(r))
		}
	} else {
		t.SetAt(h.descs[h.rank].tree, "CURRENT")
		t.SetAt(h.descs[(h.rank+h.n-1)%h.n].tree, "PARTNER")
		for k, v := range h.extra.All() {
			t.SetAt(v, k)
		}
	}
	if h.scheme == XOR || h.scheme == RS {
		put(t, h.chunk, "CHUNK")
	}
	if h.group != nil {
		put(t, h.n, "GROUP", "RANKS")
		for r, w := range h.group {
			put(t, w, "GROUP", "RANK", strconv.Itoa(r))
		}
	}
	b, err := encodeTree(t)
	if err != nil {
		return nil, err
	}
	h.identify(b)
	return b, nil
}

// identify stores the length and checksum that identify the record.
func (h *header) identify(record []byte) {
	h.length, h.crc = int64(len(record)), recordSum(record)
}

// parseHeader parses the record at the beginning of b. name is the name of the file, and named is the position that
// this name gives. In generations A and B only the name contains the position.
func parseHeader(name string, named position, b []byte) (*header, error) {
	t, n, err := decodeTree(name, b)
	if err != nil {
		return nil, err
	}
	h := &header{descs: map[int]*desc{}}
	h.identify(b[:n])
	bad := func(field string, err error) error {
		return formatErr(name, 0, field, err.Error(), fault.ErrCorrupt)
	}
	if named.gen == GenC {
		err = h.parseC(t, named)
	} else {
		err = h.parseAB(t, named)
	}
	if err != nil {
		return nil, bad("header", err)
	}
	d := h.descs[h.rank]
	if d == nil {
		return nil, bad("header", fmt.Errorf("the list of files of member %d, to which the header belongs, is missing", h.rank))
	}
	h.position = d.position
	if h.scheme == XOR || h.scheme == RS {
		r := reader{t: t}
		h.chunk = r.int64("CHUNK", 0, maxBytes)
		if r.err != nil {
			return nil, bad("CHUNK", r.err)
		}
		if h.group, err = parseGroup(t, h.n); err != nil {
			return nil, bad("GROUP", err)
		}
	}
	if named.rank != h.rank || named.n != h.n || named.set != h.set || named.scheme != h.scheme || named.gen == GenC && (named.world != h.world || named.sets != h.sets) {
		return nil, bad("header", fmt.Errorf("file belongs to member %d of %d, %v set %d, which contradicts its name", h.rank, h.n, h.scheme, h.set))
	}
	return h, nil
}

func (h *header) parseC(t *kvtree.Tree, named position) error {
	// After a rebuild by the original SCR, RANK has two values. One is right, and the other is the number of the member that sent
	// the header. Use the number in the file name.
	h.rank = named.rank
	if t.At("RANK", strconv.Itoa(h.rank)) == nil {
		return fmt.Errorf("RANK differs from %d in the name of the file", h.rank)
	}
	for key, dt := range t.At("DESC").All() {
		r, err := strconv.Atoi(key)
		if err != nil {
			return fmt.Errorf("DESC/%s: not a number", key)
		}
		d, err := parseDesc(dt)
		if err != nil {
			return fmt.Errorf("DESC/%s: %w", key, err)
		}
		if d.rank != r {
			return fmt.Errorf("DESC/%s describes member %d, want member %d", key, d.rank, r)
		}
		h.descs[r] = d
	}
	return nil
}

// parseGroup parses GROUP/RANK/<rank in the set>/<world rank>.
func parseGroup(t *kvtree.Tree, n int) ([]int, error) {
	g := t.At("GROUP")
	r := reader{t: g}
	if have := r.int("RANKS", 2, maxMembers); r.err != nil || have != n {
		return nil, fmt.Errorf("RANKS is %d, want %d", have, n)
	}
	group := make([]int, n)
	for i := range group {
		rr := reader{t: g.At("RANK")}
		if group[i] = rr.int(strconv.Itoa(i), 0, math.MaxInt32); rr.err != nil {
			return nil, rr.err
		}
	}
	return group, nil
}

// sameFiles reports whether two lists of files agree in names and sizes.
func sameFiles(a, b *desc) bool {
	if len(a.files) != len(b.files) {
		return false
	}
	for i := range a.files {
		if a.files[i].name != b.files[i].name || a.files[i].meta.Size != b.files[i].meta.Size {
			return false
		}
	}
	return true
}

// encodePlaces makes the .redset file of a member: the positions of the member and its left neighbours, by world rank.
func encodePlaces(l *layout, descs []*desc, m int) ([]byte, error) {
	t := kvtree.New()
	for _, m := range append(l.left(m), m) {
		t.SetAt(descs[m].tree.At("DESC"), strconv.Itoa(descs[m].world), "DESC")
	}
	return encodeTree(t)
}
