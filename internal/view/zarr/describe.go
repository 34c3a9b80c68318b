package zarr

import (
	"blobio/cdf5"
	"fmt"
)

const (
	dimsName = "_ARRAY_DIMENSIONS"
	charName = "netcdf_type" // attribute of version 3 arrays that have type char in netCDF
)

// describe makes the metadata.
func (s *Store) describe(global []cdf5.Att) error {
	if s.version == V2 {
		return s.describeV2(global)
	}
	return s.describeV3(global)
}

func (s *Store) put(key string, v any) error {
	b, err := ascii(v)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.src.Base(), key, err)
	}
	s.meta[key] = b
	s.keys = append(s.keys, key)
	return nil
}

func (s *Store) describeV2(global []cdf5.Att) error {
	all := object{{".zattrs", attributes(global)}, {".zgroup", object{{"zarr_format", 2}}}}
	for i := range s.arrays {
		a := &s.arrays[i]
		atts := attributes(a.v.Atts, a.elsewhere(dimsName)...)
		all = append(all, member{a.name + "/.zarray", object{{"zarr_format", 2}, {"shape", a.grid.Full}, {"chunks", a.grid.Chunk}, {"dtype", a.typ.v2},
			{"compressor", nil}, {"fill_value", a.fillV2()}, {"order", "C"}, {"filters", nil}}},
			member{a.name + "/.zattrs", append(atts, member{dimsName, a.dims})})
	}
	for _, m := range all {
		if err := s.put(m.name, m.value); err != nil {
			return err
		}
	}
	return s.put(".zmetadata", object{{"zarr_consolidated_format", 1}, {"metadata", all}})
}

func (s *Store) describeV3(global []cdf5.Att) error {
	all := object{}
	for i := range s.arrays {
		a := &s.arrays[i]
		m := object{{"zarr_format", 3}, {"node_type", "array"}, {"shape", a.grid.Full}, {"data_type", a.typ.v3},
			{"chunk_grid", named("regular", object{{"chunk_shape", a.grid.Chunk}})},
			{"chunk_key_encoding", named("default", object{{"separator", string(separator)}})},
			{"fill_value", a.fillV3()}, {"codecs", s.codecs.describe(a.v.Type.Size())},
			{"attributes", a.attributesV3()}, {"dimension_names", a.dims}}
		if err := s.put(a.name+"/zarr.json", m); err != nil {
			return err
		}
		all = append(all, member{a.name, m})
	}
	return s.put("zarr.json", object{{"zarr_format", 3}, {"node_type", "group"}, {"attributes", attributes(global)},
		{"consolidated_metadata", object{{"kind", "inline"}, {"must_understand", false}, {"metadata", all}}}})
}

// named formats an extension point of version 3: a name and its configuration.
func named(name string, configuration object) object {
	if len(configuration) == 0 {
		return object{{"name", name}}
	}
	return object{{"name", name}, {"configuration", configuration}}
}

// elsewhere returns the names of attributes that the metadata contain in another form: the given names, and _FillValue if
// the array has a fill value.
func (a *array) elsewhere(names ...string) []string {
	if a.fill != nil {
		names = append(names, fillName)
	}
	return names
}

func (a *array) attributesV3() object {
	// xarray requires its own spelling of _FillValue. There is no spelling for a value whose type differs from the array's,
	// so such a _FillValue is left out.
	out := attributes(a.v.Atts, fillName, dimsName, charName)
	if a.fill != nil {
		out = append(out, member{fillName, a.fillAtt()})
	}
	if a.v.Type == cdf5.Char {
		out = append(out, member{charName, "char"})
	}
	return out
}
