package h5

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"blobio/internal/base/fault"
)

// Kind is the kind of an object.
type Kind uint8

// Kinds of objects.
const (
	KindUnknown Kind = iota
	KindGroup
	KindDataset
	KindType // a committed datatype
)

// String returns the name of the kind.
func (k Kind) String() string {
	return [...]string{"unknown", "group", "dataset", "datatype"}[k&3]
}

// Object is a group, dataset or committed datatype.
type Object struct {
	f    *File
	path string
	h    *header
}

// Open opens the object with the header at addr (from Object.Addr or Link.Addr), without a search through groups. path is its
// name in error messages.
func (f *File) Open(addr int64, path string) (*Object, error) {
	h, err := f.header(addr)
	if err != nil {
		return nil, err
	}
	return &Object{f: f, path: path, h: h}, nil
}

// Path returns the path with which the object was opened.
func (o *Object) Path() string { return o.path }

// Addr returns the address of the object header, which is unique.
func (o *Object) Addr() int64 { return o.h.addr }

// Kind returns the kind of the object.
func (o *Object) Kind() Kind {
	switch {
	case o.h.find(msgSymbolTable) != nil, o.h.find(msgLinkInfo) != nil, o.h.find(msgLink) != nil:
		return KindGroup
	case o.h.find(msgLayout) != nil:
		return KindDataset
	case o.h.find(msgDatatype) != nil:
		return KindType
	}
	return KindUnknown
}

// not returns the error for an object that is not of a kind. An object of no kind is damaged.
func (o *Object) not(want Kind) error {
	kind := o.Kind()
	if kind == KindUnknown {
		return o.f.errAt(o.f.base+o.h.addr, o.path, fault.ErrCorrupt, "object header without the messages of a group, dataset or datatype, want a %s", want)
	}
	return fault.Class(fault.ErrUsage, "%s: %s is a %s, not a %s", o.f.name, o.path, kind, want)
}

// Root returns the root group.
func (f *File) Root() (*Group, error) {
	o, err := f.Open(f.root, "/")
	if err != nil {
		return nil, err
	}
	return o.Group()
}

// Lookup opens the object at a path from the root ("/", "a/b", "/a/b"). Lookup returns ErrMissing if a member is missing, and
// ErrUnsupported if the path contains a soft or external link.
func (f *File) Lookup(path string) (*Object, error) {
	g, err := f.Root()
	if err != nil {
		return nil, err
	}
	return g.Lookup(path)
}

// Dataset opens the dataset at a path.
func (f *File) Dataset(path string) (*Dataset, error) {
	o, err := f.Lookup(path)
	if err != nil {
		return nil, err
	}
	return o.Dataset()
}

// join appends a member name to a path.
func join(path, name string) string {
	return strings.TrimSuffix(path, "/") + "/" + name
}

// Group is a group.
type Group struct {
	*Object
	members memberSource
}

// memberSource is one of three storage forms of links.
type memberSource interface {
	all(yield func(Link, error) bool)
	find(name string) (Link, bool, error)
}

// Group returns the object as a group, or ErrUsage for another kind.
func (o *Object) Group() (*Group, error) {
	g := &Group{Object: o}
	f := o.f
	if m := o.h.find(msgSymbolTable); m != nil {
		c := f.over(m.data, m.off)
		st := symbolTable{f: f, tree: c.addr("group B-tree address"), heapAt: c.addr("local heap address")}
		if c.err == nil && (st.tree == undef || st.heapAt == undef) {
			c.fail(m.off, "symbol table message", fault.ErrCorrupt, "B-tree at %d and local heap at %d, want valid addresses", st.tree, st.heapAt)
		}
		if c.err != nil {
			return nil, c.err
		}
		g.members = &st
		return g, nil
	}
	if o.Kind() != KindGroup {
		return nil, o.not(KindGroup)
	}
	if m := o.h.find(msgLinkInfo); m != nil {
		d, err := f.decodeLinkInfo(m)
		if err != nil {
			return nil, err
		}
		if d != nil {
			g.members = d
			return g, nil
		}
	}
	g.members = &compactLinks{o}
	return g, nil
}

// Members iterates over the links of the group. Symbol tables are in name order. Other links are in creation order if the file
// keeps it. Otherwise compact links are in the stored order, and dense links in the order of the hashes of their names. The
// iteration ends at an error.
func (g *Group) Members() iter.Seq2[Link, error] { return g.members.all }

// Link returns the member with this name, or ErrMissing.
func (g *Group) Link(name string) (Link, error) {
	l, ok, err := g.members.find(name)
	if err != nil {
		return l, err
	}
	if !ok {
		return l, fault.Class(fault.ErrMissing, "%s: %s has no member %q", g.f.name, g.path, name)
	}
	return l, nil
}

// Open opens the object of a hard link of this group. Other links are ErrUnsupported.
func (g *Group) Open(l Link) (*Object, error) {
	if l.Kind != LinkHard {
		return nil, g.f.errAt(g.f.base+g.h.addr, join(g.path, l.Name), fault.ErrUnsupported, "%s link to %q is not supported", l.Kind, l.Target)
	}
	return g.f.Open(l.addr, join(g.path, l.Name))
}

// Lookup opens the object at a path below the group.
func (g *Group) Lookup(path string) (*Object, error) {
	o := g.Object
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." {
			continue
		}
		if g == nil {
			var err error
			if g, err = o.Group(); err != nil {
				return nil, err
			}
		}
		l, err := g.Link(name)
		if err != nil {
			return nil, err
		}
		if o, err = g.Open(l); err != nil {
			return nil, err
		}
		g = nil
	}
	return o, nil
}

// Dataset opens the dataset at a path below the group.
func (g *Group) Dataset(path string) (*Dataset, error) {
	o, err := g.Lookup(path)
	if err != nil {
		return nil, err
	}
	return o.Dataset()
}

// compactLinks reads link messages in the object header.
type compactLinks struct{ o *Object }

func (k *compactLinks) all(yield func(Link, error) bool) {
	var links []Link
	for _, m := range k.o.h.all(msgLink) {
		c := k.o.f.over(m.data, m.off)
		l := c.decodeLink()
		if c.err != nil {
			yield(Link{}, c.err)
			return
		}
		links = append(links, l)
	}
	slices.SortStableFunc(links, func(a, b Link) int { return cmp.Compare(a.order, b.order) })
	for _, l := range links {
		if !yield(l, nil) {
			return
		}
	}
}

func (k *compactLinks) find(name string) (Link, bool, error) { return findLinear(k, name) }

func findLinear(s memberSource, name string) (Link, bool, error) {
	for l, err := range s.all {
		if err != nil {
			return Link{}, false, err
		}
		if l.Name == name {
			return l, true, nil
		}
	}
	return Link{}, false, nil
}
