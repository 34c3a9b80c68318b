package dataset

import (
	"context"
	"fmt"
	"slices"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp"
)

// dumpStored prints the stored header of a file of the dataset, and the values of the maps, which no other reader shows.
func (f *dumpFlags) dumpStored(ctx context.Context, w *cdlWriter, r *blob.Reader, path string) error {
	file, err := storedFile(r, path)
	if err != nil {
		return err
	}
	h, err := r.Inspect().StoredHeader(file)
	if err != nil {
		return err
	}
	m := newStoredMaps(r, file, h)
	if f.header {
		m.s = blob.NewSchema()
	}
	vars := m.s.Vars()
	if f.asJSON {
		data := map[string]any{}
		for v := range vars {
			if n := m.s.Elems(blob.VarID(v)); n > maxStoredJSON {
				return tooLong(file.Name, vars[v].Name, n)
			}
			values := cdf5.NewSlice(vars[v].Type, int(m.s.Elems(blob.VarID(v))))
			if err := m.ReadRuns(ctx, vars[v].Name, 0, []decomp.Req{{Length: m.s.Elems(blob.VarID(v))}}, values); err != nil {
				return err
			}
			data[vars[v].Name] = values
		}
		return w.e.PrintJSON(describeHeader(file.Name, h, data))
	}
	w.header(cdlTitle(file.Name), h, nil)
	if len(vars) > 0 {
		fmt.Fprintln(w.e.Out, "data:")
	}
	for v := range vars {
		if err := w.data(ctx, m, v, func(int64) {}); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(w.e.Out, "}")
	return err
}

// maxStoredJSON is the maximum number of elements of a map variable in JSON. A file with few requests may declare long rows.
const maxStoredJSON = 1 << 26

func tooLong(file, name string, n int64) error {
	return fmt.Errorf("%s: %s has %d elements, want at most %d in JSON; omit --json to print all of them, or give -h to omit them: %w",
		file, name, n, maxStoredJSON, blob.ErrTooLarge)
}

// storedMaps presents the map variables of a blob file as a source to print. Only the lists of one map are in memory at a time.
type storedMaps struct {
	*blob.Reader
	file blob.File
	s    *blob.Schema
	of   []mapVar // by index of the variable in s

	now          blob.DecompID // the map whose lists are in memory
	start, count []int64
	lists        [][]decomp.Req
}

type mapVar struct {
	d    blob.DecompID
	kind string
}

func newStoredMaps(r *blob.Reader, file blob.File, h *cdf5.Header) *storedMaps {
	m := &storedMaps{Reader: r, file: file, s: blob.NewSchema()}
	for _, d := range h.Dims {
		m.s.Dim(d.Name, d.Len)
	}
	for d := range r.Schema().NumDecomps() {
		for _, kind := range []string{"nreqs", "blob_start", "blob_count", "offsets", "lengths"} {
			id := slices.IndexFunc(h.Vars, func(v cdf5.Var) bool { return v.Name == fmt.Sprintf("D%d.%s", d+1, kind) })
			if id < 0 {
				continue
			}
			var dims []blob.DimID
			for _, d := range h.Vars[id].Dims {
				dims = append(dims, blob.DimID(d))
			}
			m.s.Var(h.Vars[id].Name, h.Vars[id].Type, dims)
			m.of = append(m.of, mapVar{blob.DecompID(d + 1), kind})
		}
	}
	return m
}

// Schema returns a schema of the map variables only.
func (m *storedMaps) Schema() *blob.Schema { return m.s }

// ReadRuns reads elements of a map variable. Every row has the length of the longest list; shorter lists are padded with zeros.
func (m *storedMaps) ReadRuns(ctx context.Context, name string, _ int64, runs []decomp.Req, dst any) error {
	id, _ := m.s.VarID(name)
	of := m.of[id]
	if m.now != of.d {
		var err error
		if m.start, m.count, m.lists, err = m.Inspect().StoredMap(ctx, m.file, of.d); err != nil {
			return err
		}
		m.now = of.d
	}
	row := int64(1)
	if shape := m.s.Shape(id); len(shape) == 2 {
		row = shape[1]
	}
	at := func(i int64) int64 {
		j, k := i/row, i%row
		switch {
		case of.kind == "nreqs":
			return int64(len(m.lists[j]))
		case of.kind == "blob_start":
			return m.start[j]
		case of.kind == "blob_count":
			return m.count[j]
		case k >= int64(len(m.lists[j])):
			return 0
		case of.kind == "offsets":
			return m.lists[j][k].Offset
		}
		return m.lists[j][k].Length
	}
	k := 0
	for _, q := range runs {
		for i := q.Offset; i < q.Offset+q.Length; i++ {
			switch x := dst.(type) {
			case []int32:
				x[k] = int32(at(i))
			case []int64:
				x[k] = at(i)
			default:
				return fmt.Errorf("%s: %s has type %s, want int or int64: %w", m.file.Name, name, m.s.Vars()[id].Type, blob.ErrCorrupt)
			}
			k++
		}
	}
	return nil
}

// storedFile returns the file of the dataset with the given path, or the first existing file.
func storedFile(r *blob.Reader, path string) (blob.File, error) {
	files := r.Inspect().Files()
	for _, f := range files {
		if f.Name == path {
			return f, nil
		}
	}
	for _, f := range files {
		if !f.Missing {
			return f, nil
		}
	}
	return blob.File{}, fmt.Errorf("%s: all subfiles are missing: %w", r.Base(), blob.ErrMissing)
}

// describeHeader returns a header for JSON output, with the values of the variables in data.
func describeHeader(path string, h *cdf5.Header, data map[string]any) any {
	type variable struct {
		Name  string   `json:"name"`
		Type  string   `json:"type"`
		Dims  []string `json:"dims"`
		Shape []int64  `json:"shape"`
		Atts  jsonAtts `json:"attributes"`
		Data  any      `json:"data,omitempty"`
	}
	dims, vars := []dimDesc{}, []variable{}
	for _, d := range h.Dims {
		x := dimDesc{d.Name, d.Len, d.Len == blob.Unlimited}
		if x.Unlimited {
			x.Length = h.NumRecs
		}
		dims = append(dims, x)
	}
	for _, v := range h.Vars {
		x := variable{Name: v.Name, Type: v.Type.String(), Dims: []string{}, Shape: []int64{}, Atts: v.Atts, Data: data[v.Name]}
		for _, d := range v.Dims {
			x.Dims, x.Shape = append(x.Dims, dims[d].Name), append(x.Shape, dims[d].Length)
		}
		vars = append(vars, x)
	}
	return map[string]any{"name": path, "records": h.NumRecs, "dims": dims, "variables": vars, "attributes": jsonAtts(h.Atts)}
}
