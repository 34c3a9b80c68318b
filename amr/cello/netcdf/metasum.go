package netcdf

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"blobio/cdf5"
	"blobio/internal/elem"
)

// Names of attributes that are there only if there is something to say.
const (
	metaCRC       = "blobio_amr_crc" // global
	unverifiedAtt = "unverified"     // global
	scrambledAtt  = "scrambled"      // of a field
	filesAtt      = "files"          // global
)

// What a program that works on the file adds to it, such as the attribute history, is none of these.
var (
	globalAtts = []string{"blobio_amr", "rank", "root_blocks", "block_cells", "ghost_cells", "periodic", "domain_lower", "domain_upper",
		"min_level", "max_level", "cycle", "time", "dt", "redshift", "particle_types", unverifiedAtt, filesAtt}
	metaPrefixes = []string{"meta_", "metastrings_"}
	varAtts      = []string{"face_centered", "ghosts", scrambledAtt, "particle_type", "particle_attribute", "attribute", "kind"}
)

func isGlobalAtt(name string) bool {
	return slices.Contains(globalAtts, name) || slices.ContainsFunc(metaPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// metaSum is the checksum of what describes the mesh, the value of blobio_amr_crc: the CRC-32 of the
// global attributes of this form but for itself, by name, then of each variable up to block_crc. Of an
// attribute that are its name, a zero byte, its type, and its values; of a variable name, zero
// byte, type and the lengths of its dimensions, then its attributes, by name. Types are bytes (that of CDF-5), lengths
// 8 bytes, and all is big endian.
type metaSum struct{ b []byte }

func (m *metaSum) atts(list []cdf5.Att, ours func(name string) bool) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b cdf5.Att) int { return strings.Compare(a.Name, b.Name) })
	for _, a := range list {
		if !ours(a.Name) {
			continue
		}
		m.b = append(append(append(m.b, a.Name...), 0), byte(a.Type))
		if text, ok := a.Value.(string); ok {
			m.b = append(m.b, text...)
			continue
		}
		v := bytesOf(a.Value)
		at := len(m.b)
		m.b = append(m.b, v...)
		elem.Reorder(m.b[at:], v, a.Type.Size(), true)
	}
}

func (m *metaSum) variable(name string, t cdf5.Type, shape []int64, atts []cdf5.Att) {
	m.b = append(append(append(m.b, name...), 0), byte(t))
	for _, n := range shape {
		m.b = binary.BigEndian.AppendUint64(m.b, uint64(n))
	}
	m.atts(atts, func(name string) bool { return slices.Contains(varAtts, name) })
}

func (m *metaSum) sum() uint32 { return crc32.ChecksumIEEE(m.b) }

// metaSum is that of the file.
func (l *layout) metaSum() uint32 {
	m := &metaSum{}
	m.atts(l.atts, isGlobalAtt)
	for i := range l.vars {
		v := &l.vars[i]
		var shape []int64
		for _, d := range v.dims {
			shape = append(shape, l.dims[d].Len)
		}
		m.variable(v.name, v.typ, shape, v.atts)
	}
	return m.sum()
}
