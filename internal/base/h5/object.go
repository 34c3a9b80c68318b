package h5

import (
	"strings"
)

// Kind says what an object is.
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

// open reads the object header at addr.
func (f *File) open(addr int64, path string) (*Object, error) {
	h, err := f.header(addr)
	if err != nil {
		return nil, err
	}
	return &Object{f: f, path: path, h: h}, nil
}

// Open opens the object whose header is at addr, as Object.Addr or Link.Addr told before; path
// is what it is to be called. It saves the way through the groups.
func (f *File) Open(addr int64, path string) (*Object, error) { return f.open(addr, path) }

// Path returns the path by which the object was reached.
func (o *Object) Path() string { return o.path }

// Addr returns the address of the object header: what tells two objects apart.
func (o *Object) Addr() int64 { return o.h.addr }

// Kind says what the object is.
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

// Root returns the root group.
func (f *File) Root() (*Group, error) {
	o, err := f.open(f.root, "/")
	if err != nil {
		return nil, err
	}
	return o.Group()
}

// Lookup opens the object at a path from the root ("/", "a/b", "/a/b").
// A missing member has ErrMissing; a soft or external link on the way has
// ErrUnsupported.
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
