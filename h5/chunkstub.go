package h5

type fixedIndex struct{ d *Dataset }
type extIndex struct{ d *Dataset }
type tree2Index struct{ d *Dataset }

func (x *fixedIndex) find(grid []int64) (chunkRef, bool, error) {
	return chunkRef{}, false, ErrUnsupported
}
func (x *extIndex) find(grid []int64) (chunkRef, bool, error) {
	return chunkRef{}, false, ErrUnsupported
}
func (x *tree2Index) find(grid []int64) (chunkRef, bool, error) {
	return chunkRef{}, false, ErrUnsupported
}

type dense struct{}

func (o *Object) denseAttrs() (*denseAttributes, error) { return nil, nil }

type denseAttributes struct{}

func (*denseAttributes) all(func(*Attr, error) bool) {}
func (*denseAttributes) find(string) (*Attr, error)  { return nil, nil }

type denseLinks struct{}

func (f *File) decodeLinkInfo(m *message) (memberSource, error) { return nil, nil }
func (a *Attr) vlenStrings(n int64) (any, error)                { return nil, ErrUnsupported }
