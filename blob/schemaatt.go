package blob

import "blobio/cdf5"

// SetAtt gives a variable that was defined before an attribute, or the schema
// itself if v is -1. One of the same name is replaced. Like all building, it must not be done
// after the schema was given to Create.
func (s *Schema) SetAtt(v VarID, a cdf5.Att) {
	list := &s.atts
	s.checkNewAtt(v, a.Name)
	switch {
	case v == -1:
	case v < 0 || int(v) >= len(s.vars):
		s.fail("attribute %q of variable id %d, want -1..%d", a.Name, v, len(s.vars)-1)
		return
	default:
		list = &s.vars[v].Atts
	}
	if old := cdf5.FindAtt(*list, a.Name); old != nil {
		*old = a
		return
	}
	*list = append(*list, a)
}
