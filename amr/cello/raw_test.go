package cello

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/amr/cellodir"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
)

// raw is a checkpoint in the form of plain Go structures. Tests damage them and write them with the general HDF5 writer, to
// make files that Write would not make.
type raw struct {
	list  string // content of check.file_list; "": list all files
	files []*rawFile
}

type rawFile struct {
	name   string
	lines  []string // lines of the block list
	attrs  []rawAttr
	groups []*rawGroup
	patch  func(b []byte) []byte // modifies the HDF5 file
}

type rawGroup struct {
	name  string
	attrs []rawAttr
	data  []rawAttr
}

type rawAttr struct {
	name  string
	typ   h5.Type
	dims  []int64
	value any
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func attrsOf(o *h5.Object) (l []rawAttr) {
	for a, err := range o.Attrs() {
		must(err)
		v, err := a.Value()
		must(err)
		l = append(l, rawAttr{a.Name, a.Type, a.Dims, v})
	}
	return l
}

// loadRaw reads a checkpoint without the code under test.
func loadRaw(t testing.TB, fsys vfs.FS, dir string) *raw {
	t.Helper()
	r := &raw{}
	b, err := vfs.ReadFile(fsys, filepath.Join(dir, cellodir.FileList), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(b))[1:] {
		f := &rawFile{name: name}
		r.files = append(r.files, f)
		b, err := vfs.ReadFile(fsys, filepath.Join(dir, name+cellodir.ListSuffix), 1<<30)
		must(err)
		f.lines = strings.Split(strings.TrimSpace(string(b)), "\n")
		if len(b) == 0 {
			f.lines = nil
		}
		b, err = vfs.ReadFile(fsys, filepath.Join(dir, name+cellodir.DataSuffix), 1<<30)
		must(err)
		h, err := h5.NewFile(bytes.NewReader(b), int64(len(b)), name)
		must(err)
		root, err := h.Root()
		must(err)
		f.attrs = attrsOf(root.Object)
		for l, err := range root.Members() {
			must(err)
			o, err := root.Open(l)
			must(err)
			g, err := o.Group()
			must(err)
			rg := &rawGroup{name: l.Name, attrs: attrsOf(o)}
			for m, err := range g.Members() {
				must(err)
				d, err := g.Dataset(m.Name)
				must(err)
				v := make([]byte, d.Bytes())
				if _, err := d.ReadAt(v, 0); err != nil && err != io.EOF {
					panic(err)
				}
				rg.data = append(rg.data, rawAttr{m.Name, d.Type(), d.Dims(), v})
			}
			f.groups = append(f.groups, rg)
		}
	}
	return r
}

// store writes the checkpoint.
func (r *raw) store(fsys vfs.FS, dir string) {
	must(fsys.Mkdir(dir))
	put := func(name string, b []byte) { must(vfs.WriteFile(fsys, filepath.Join(dir, name), b)) }
	list := fmt.Sprintln(len(r.files))
	for _, f := range r.files {
		list += f.name + "\n"
		text := ""
		for _, l := range f.lines {
			text += l + "\n"
		}
		put(f.name+cellodir.ListSuffix, []byte(text))
		b := h5.NewBuilder()
		for _, a := range f.attrs {
			b.Attr(a.name, a.typ, a.dims, a.value)
		}
		templates := make([]*h5.Template, len(f.groups))
		size := int64(0)
		for i, g := range f.groups {
			var err error
			templates[i], err = h5.NewTemplate(func(n *h5.Builder) {
				for _, a := range g.attrs {
					n.Attr(a.name, a.typ, a.dims, a.value)
				}
				for _, d := range g.data {
					n.Dataset(d.name, d.typ, d.dims, nil)
					size += int64(len(d.value.([]byte)))
				}
			})
			must(err)
			b.Stamp(g.name, templates[i])
		}
		b.Reserve(size, 8)
		l, err := b.Layout()
		must(err)
		out := make([]byte, l.Size)
		for _, p := range l.Pieces {
			copy(out[p.Off:], p.Data)
		}
		at := l.Reserved
		for i, s := range b.Stamps() {
			group := out[s.Offset():][:templates[i].Len()]
			s.Encode(group)
			for k, d := range f.groups[i].data {
				templates[i].SetDataset(group, k, nil, at)
				at += int64(copy(out[at:], d.value.([]byte)))
			}
		}
		if f.patch != nil {
			out = f.patch(out)
		}
		put(f.name+cellodir.DataSuffix, out)
	}
	if r.list != "" {
		list = r.list
	}
	put(cellodir.FileList, []byte(list))
}

func (r *raw) group(name string) *rawGroup {
	for _, f := range r.files {
		for _, g := range f.groups {
			if g.name == name {
				return g
			}
		}
	}
	panic("no block " + name)
}

func (g *rawGroup) attr(name string) *rawAttr {
	for i := range g.attrs {
		if g.attrs[i].name == name {
			return &g.attrs[i]
		}
	}
	panic("no attribute " + name)
}

// drop removes an attribute.
func (g *rawGroup) drop(name string) {
	for i := range g.attrs {
		if g.attrs[i].name == name {
			g.attrs = append(g.attrs[:i:i], g.attrs[i+1:]...)
			return
		}
	}
	panic("no attribute " + name)
}

func (r *raw) remove(name string) {
	for _, f := range r.files {
		for i, g := range f.groups {
			if g.name == name {
				f.groups = append(f.groups[:i:i], f.groups[i+1:]...)
			}
		}
		for i, l := range f.lines {
			if strings.HasPrefix(l, name+" ") {
				f.lines = append(f.lines[:i:i], f.lines[i+1:]...)
			}
		}
	}
}

// renumber sets the order numbers to the order of the lists.
func (r *raw) renumber() {
	n := 0
	for _, f := range r.files {
		n += len(f.lines)
	}
	i := 0
	for _, f := range r.files {
		for _, l := range f.lines {
			g := r.group(strings.Fields(l)[0])
			g.attr("index_order").value = []int64{int64(i)}
			g.attr("count_order").value = []int64{int64(n)}
			i++
		}
	}
}

func (r *raw) each(f func(g *rawGroup)) {
	for _, x := range r.files {
		for _, g := range x.groups {
			f(g)
		}
	}
}

var vfsNotExist = fs.ErrNotExist
