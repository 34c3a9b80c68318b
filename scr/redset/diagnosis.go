package redset

import (
	"fmt"
	"slices"

	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// newRepair evaluates the evidence of the members. If missing information is also missing on all other members, the error is a
// *LostError.
func newRepair(p position, worlds []int, all []*evidence) (*repair, error) {
	r := &repair{position: p, me: -1, group: worlds}
	r.headers, r.descs, r.sums = make([]*header, p.n), make([]*desc, p.n), make([]*memberSums, p.n)
	contradiction := func(m int, what string) error {
		return formatErr(all[m].name, 0, "header", "of member "+fmt.Sprint(m)+" contradicts the others in its set: "+what, fault.ErrCorrupt)
	}
	var ref *header
	for m, e := range all {
		if e.name == "" {
			continue
		}
		named, ok := parseName(e.name)
		if !ok {
			return nil, contradiction(m, "name")
		}
		h, err := parseHeader(e.name, named, e.header)
		if err != nil {
			return nil, err
		}
		if ref == nil {
			ref = h
			r.extra = h.extra
		}
		switch {
		case h.rank != m:
			return nil, contradiction(m, "member number")
		case h.gen != ref.gen || h.scheme != ref.scheme || h.n != p.n || h.set != ref.set || h.k != ref.k || h.worlds != ref.worlds:
			return nil, contradiction(m, "set")
		case h.chunk != ref.chunk:
			return nil, contradiction(m, "CHUNK")
		case !slices.Equal(h.group, ref.group):
			return nil, contradiction(m, "GROUP")
		}
		r.headers[m] = h
	}
	if ref == nil {
		return nil, r.lost("no redundancy file is left")
	}
	r.position = ref.position
	// A member's list of files is in its own header, and copies are in the headers of its right neighbours. Use the first that
	// exists.
	for m, h := range r.headers {
		if h != nil {
			r.descs[m] = h.descs[m]
		}
	}
	for m, h := range r.headers {
		if h == nil {
			continue
		}
		for i, d := range h.descs {
			if i < 0 || i >= p.n {
				return nil, contradiction(m, "member number")
			}
			if r.descs[i] == nil {
				r.descs[i] = d
			} else if !sameFiles(r.descs[i], d) || r.descs[i].world != d.world {
				return nil, contradiction(m, "files of member "+fmt.Sprint(i))
			}
		}
	}
	sizes, total := make([][]int64, p.n), int64(0)
	for m, d := range r.descs {
		if d == nil {
			return nil, r.lost(fmt.Sprintf("no remaining header has the list of files of member %d", m))
		}
		sizes[m] = d.sizes()
		if total += d.size(); total > maxBytes {
			return nil, contradiction(m, "more bytes than any set has")
		}
	}
	r.lay = newLayout(ref.scheme, ref.k, sizes)
	if ref.chunk == 0 && slices.Max(r.lay.lens) == 0 {
		r.lay.chunk = 0 // generations A and B write a different chunk size for empty sets
	}
	if r.lay.chunk != ref.chunk {
		return nil, formatErr("", -1, "CHUNK", fmt.Sprintf("%d, want %d", ref.chunk, r.lay.chunk), fault.ErrCorrupt)
	}
	for m := range sizes {
		r.ext = append(r.ext, r.lay.extents(sizes[m]))
	}
	r.weighSums(all)
	r.compare = r.k > 0 && !slices.ContainsFunc(r.sums, func(s *memberSums) bool { return s != nil })
	r.faith = make([]faith, r.lay.stripes())
	r.learned = make([]*memberSums, p.n)
	for m := range r.learned {
		if r.distrusts(m) {
			r.learned[m] = r.lay.newSums(r.ext[m])
		}
	}
	for c := range r.lay.stripes() {
		es := r.lay.elems(c)
		r.elems, r.state = append(r.elems, es), append(r.state, make([]state, len(es)))
	}
	return r, nil
}

// weighSums selects the checksums of each member. It prefers the member's own checksums to the copies that its right neighbours
// have. It ignores checksums that belong to another header. Such checksums come from an older encode, or another program wrote
// the header later.
func (r *repair) weighSums(all []*evidence) {
	parsed := make([]map[int]*kvtree.Tree, r.n)
	for m, e := range all {
		if e.sums != nil {
			parsed[m], _ = parseSums("", e.sums)
		}
	}
	for m := range r.n {
		for j := 0; j <= r.k && r.sums[m] == nil; j++ {
			by := (m + j) % r.n
			mt := parsed[by][m]
			if mt == nil {
				continue
			}
			s, err := r.lay.fill(r.ext[m], mt)
			if err != nil || r.headers[m] != nil && r.headers[m].crc != s.header {
				continue
			}
			r.sums[m] = s
		}
	}
}

// distrusts reports whether all checksums of a member are lost. Then its bytes are treated as lost too. The result is false if no
// other member has checksums, because then the encode made none.
func (r *repair) distrusts(m int) bool {
	return r.sums[m] == nil && slices.ContainsFunc(r.sums, func(s *memberSums) bool { return s != nil })
}

// lost returns the *LostError of this set.
func (r *repair) lost(detail string) *LostError {
	e := &LostError{Scheme: r.scheme, Set: r.set, Tolerates: r.k, Detail: detail}
	unknown := 0
	for m := range r.n {
		gone := r.headers[m] == nil
		for c := range r.state {
			for x, s := range r.state[c] {
				gone = gone || s.bad && r.elems[c][x].member == m
			}
		}
		switch {
		case gone && m < len(r.group) && r.group[m] >= 0:
			e.Ranks = append(e.Ranks, r.group[m])
		case gone && m < len(r.group): // offline the rank of a lost member is unknown
			unknown++
		}
	}
	if unknown > 0 {
		e.Detail += fmt.Sprintf(" (members without any file left: %d)", unknown)
	}
	return e
}
