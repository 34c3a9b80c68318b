package ffformat

import (
	"cmp"
	"fmt"
	"slices"

	"blobio/internal/base/fault"
)

// place is a container and the position of its record.
type place struct {
	*Container
	block, index int
	offset       int64 // offset of the record
}

func (f *File) place(block, index int) place {
	return place{&f.Blocks[block].Containers[index], block, index, f.RecordOffset(block, index)}
}

// maxFlaws is the maximum number of findings about records, and also about chunks. Further findings are only counted.
const maxFlaws = 1000

// structure holds the records that break the growth rule of FTI-FF. It finds them without the help of checksums.
type structure struct {
	f     *File
	flaws []Finding // in file order, then sorted by variable
	more  [3]int    // number of flaws beyond maxFlaws, by severity

	// lost holds the variables whose bytes cannot be found or assembled, each with the first reason.
	lost map[int32]reason
	// doubtful holds the lost variables whose only fault is a doubtful id: their bytes may belong to another variable.
	doubtful map[int32]bool
	// nowhere holds the containers with an impossible offset or size.
	nowhere map[*Container]bool
	cut     bool // some block has fewer records than it had before the damage
	// moved holds the containers that are not at the place that the growth rule gives.
	moved map[*Container]bool
}

// reason is the field of a container that makes a variable unreadable. There may be as many reasons as records, so only the first
// maxFlaws reasons store a text.
type reason struct {
	block, index int32 // position of the container
	off          int32 // offset of the field in the record
	field, msg   string
}

// err describes the reason as an error.
func (r reason) err(f *File) error {
	p := f.place(int(r.block), int(r.index))
	msg := r.msg
	if msg == "" {
		msg = "header contradicts the other headers; many headers here do"
	}
	return fault.At(f.Name, p.offset+int64(r.off), p.field()+": "+r.field, ErrCorrupt, "%s", msg)
}

// structureOf examines the records of f.
func structureOf(f *File) *structure {
	s := &structure{f: f, lost: map[int32]reason{}, nowhere: map[*Container]bool{}, moved: map[*Container]bool{}}
	if !f.Parity {
		s.places()
		s.overlaps()
		s.variables()
	}
	return s
}

func (s *structure) add(fi Finding) {
	if len(s.flaws) == maxFlaws {
		s.more[fi.Severity]++
		return
	}
	s.flaws = append(s.flaws, fi)
}

// worst returns the first error among the flaws.
func (s *structure) worst() error {
	for _, fl := range s.flaws {
		if fl.Severity >= Error {
			return fl.AsError()
		}
	}
	for _, r := range s.lost {
		return r.err(s.f)
	}
	if n := s.more[Error]; n > 0 {
		return fault.At(s.f.Name, -1, "records", ErrCorrupt, "%d errors", n)
	}
	return nil
}

func (s *structure) finding(sev fault.Severity, off int64, field, format string, args ...any) Finding {
	return Finding{Severity: sev, File: s.f.Name, Offset: off, Field: field, Msg: fmt.Sprintf(format, args...), Err: ErrCorrupt}
}

// at adds a flaw of a container's field.
func (s *structure) at(p place, f span, field string, lost bool, format string, args ...any) {
	if _, ok := s.lost[p.ID]; lost && !ok {
		r := reason{block: int32(p.block), index: int32(p.index), off: int32(f.off), field: field}
		if len(s.lost) < maxFlaws {
			r.msg = fmt.Sprintf(format, args...)
		}
		s.lost[p.ID] = r
	}
	if len(s.flaws) == maxFlaws { // count the flaw, but do not make a text
		s.more[Error]++
		return
	}
	fi := s.finding(Error, p.offset+int64(f.off), p.field()+": "+field, format, args...)
	fi.Var = fault.Num(p.ID)
	s.add(fi)
}

// noPlace adds a flaw of a container whose offset or size is impossible.
func (s *structure) noPlace(p place, f span, field, format string, args ...any) {
	s.nowhere[p.Container] = true
	s.at(p, f, field, true, format, args...)
}

// places checks each block separately, and checks that containers are adjacent.
func (s *structure) places() {
	f, l := s.f, s.f.Layout
	t := &l.table().vmd
	var next, sum int64 // offset where the next container must be; sum of all dbsize
	if !l.atEnd() {
		sum = l.fbSize()
	}
	limit := f.dataEnd()
	for i := range f.Blocks {
		bl := &f.Blocks[i]
		meta := l.blockMeta(len(bl.Containers))
		want := int64(0)
		if !l.atEnd() {
			want, next = meta, addSat(bl.Offset, meta)
			limit = addSat(bl.Offset, bl.Size)
		}
		for j := range bl.Containers {
			p := f.place(i, j)
			want = addSat(want, p.ContainerSize)
			switch {
			case p.ContainerSize < 0:
				s.noPlace(p, t.room, "containersize", "%d", p.ContainerSize)
			case p.Fptr < 0 || p.Fptr > limit || p.ContainerSize > limit-p.Fptr:
				s.noPlace(p, t.fptr, "fptr", "%d with %d bytes, the data end at %d", p.Fptr, p.ContainerSize, limit)
			case p.Fptr != next:
				s.moved[p.Container] = true
				s.at(p, t.fptr, "fptr", false, "%d, want %d: containers are back to back", p.Fptr, next)
			}
			if p.ChunkSize < 0 || p.ChunkSize > p.ContainerSize {
				s.noPlace(p, t.chunk, "chunksize", "%d, want 0 to %d, the size of the container", p.ChunkSize, p.ContainerSize)
			}
			if p.odd[0] != 0 {
				s.at(p, t.hasContent, "hascontent", false, "%d, want 0 or 1", p.odd[0])
			}
			if p.odd[1] != 0 {
				s.at(p, t.hasCkpt, "hasCkpt", false, "%d, want 0 or 1", p.odd[1])
			}
			// Continue from the expected offset and not from this fptr, so that one wrong fptr gives only one finding.
			next = addSat(next, p.ContainerSize)
		}
		if len(bl.Containers) == 0 {
			s.add(s.finding(fault.Warning, bl.Offset, fmt.Sprintf("block %d: numvars", i), "0, want at least 1, because FTI makes blocks only for new containers"))
		}
		if stored := bl.Size; stored != want && !(!l.wide() && stored == int64(int32(want))) {
			s.add(s.finding(Error, bl.Offset+int64(l.table().bmd.dbsize.off), fmt.Sprintf("block %d: dbsize", i), "%d, the containers give %d", stored, want))
			// dbsize and the offsets agree with each other, so numvars must be wrong, and records are missing.
			s.cut = s.cut || len(bl.Containers) == 0 || s.moved[&bl.Containers[0]]
		}
		sum = addSat(sum, want)
	}
	if l.atEnd() && sum != f.metaOffset() {
		s.add(s.finding(Error, f.FileBlockOffset()+int64(l.table().fb.dataSize.off), "FB.dataSize", "%d, the containers have %d bytes", f.FB.DataSize, sum))
	}
}

// dataEnd returns the highest end of a container.
func (f *File) dataEnd() int64 {
	if f.Layout.atEnd() {
		return f.metaOffset()
	}
	return f.FB.FileSize
}

// FileBlockOffset returns the offset of the file block.
func (f *File) FileBlockOffset() int64 {
	switch {
	case !f.Layout.atEnd() && !f.Parity:
		return 0
	case f.Damaged != nil && len(f.Blocks) > 0:
		last := &f.Blocks[len(f.Blocks)-1]
		return last.Offset + f.Layout.blockMeta(len(last.Containers))
	}
	return f.Size - f.Layout.fbSize()
}

// overlaps finds containers that overlap.
func (s *structure) overlaps() {
	// Containers at the places that the rule gives do not overlap.
	if len(s.moved) == 0 {
		return
	}
	all := make([]place, 0, s.f.containers())
	sorted := true
	for p := range s.f.all() {
		if p.ContainerSize > 0 && p.Fptr >= 0 && !s.nowhere[p.Container] {
			sorted = sorted && (len(all) == 0 || all[len(all)-1].Fptr <= p.Fptr)
			all = append(all, p)
		}
	}
	if !sorted {
		slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.Fptr, b.Fptr) })
	}
	t := &s.f.Layout.table().vmd
	var far place // container with the highest end so far
	for _, p := range all {
		if far.Container != nil && p.Fptr < addSat(far.Fptr, far.ContainerSize) {
			// If a container is at the place that the rule gives, it is assumed to be right. The chunks to be read then never
			// exceed the file.
			if s.moved[p.Container] {
				s.noPlace(p, t.fptr, "fptr", "%d overlaps container %d of variable %d, [%d, %d)", p.Fptr, far.ContainerID, far.ID, far.Fptr, addSat(far.Fptr, far.ContainerSize))
			}
			if s.moved[far.Container] && !s.nowhere[far.Container] {
				s.noPlace(far, t.fptr, "fptr", "%d, %d bytes: overlaps container %d of variable %d at %d", far.Fptr, far.ContainerSize, p.ContainerID, p.ID, p.Fptr)
			}
		}
		if far.Container == nil || addSat(p.Fptr, p.ContainerSize) > addSat(far.Fptr, far.ContainerSize) {
			far = p
		}
	}
}

// containers returns the number of containers.
func (f *File) containers() (n int) {
	for i := range f.Blocks {
		n += len(f.Blocks[i].Containers)
	}
	return n
}

// all yields the containers in file order.
func (f *File) all() func(func(place) bool) {
	return func(yield func(place) bool) {
		for i := range f.Blocks {
			for j := range f.Blocks[i].Containers {
				if !yield(f.place(i, j)) {
					return
				}
			}
		}
	}
}

// varState is the state of a variable after the containers that were examined so far.
type varState struct {
	n     int32 // number of containers
	sum   int64 // sum of the container sizes
	size  int64 // sum of the chunk sizes
	idx   int32
	open  bool  // some container was not full, or had no content
	first place // the first container
}

// fit holds the values that the fields of a variable's next container must have.
type fit struct {
	n    int32
	dptr int64
}

// variables checks the containers of each variable against the growth rule.
func (s *structure) variables() {
	t := &s.f.Layout.table().vmd
	vars := map[int32]*varState{}
	byIdx := map[int32]int32{}
	var order []int32
	var strays []place
	for p := range s.f.all() {
		v := vars[p.ID]
		if v == nil {
			v = &varState{idx: p.Idx, first: p}
			vars[p.ID] = v
			order = append(order, p.ID)
			if id, taken := byIdx[p.Idx]; t.idx.len > 0 && (taken || p.Idx < 0) {
				s.at(p, t.idx, "idx", false, "%d is the index of variable %d, or not an index of a table", p.Idx, id)
			}
			byIdx[p.Idx] = p.ID
		} else if t.idx.len > 0 && p.Idx != v.idx {
			s.at(p, t.idx, "idx", true, "%d, another container of the variable has %d: id or idx is wrong", p.Idx, v.idx)
		}
		stray := false
		if p.ContainerID != v.n {
			stray = true
			s.at(p, t.containerID, "containerid", p.Dptr != v.sum, "%d, want %d: the variable's next", p.ContainerID, v.n)
		}
		if p.Dptr != v.sum {
			stray = true
			s.at(p, t.dptr, "dptr", true, "%d, want %d: the sizes of the variable's containers before it", p.Dptr, v.sum)
		}
		if stray {
			strays = append(strays, p)
		}
		s.content(v, p)
		v.n++
		v.sum = addSat(v.sum, p.ContainerSize)
		if p.HasContent {
			v.size = addSat(v.size, p.ChunkSize)
		}
	}
	for _, id := range order {
		if v := vars[id]; t.idx.len > 0 && int(v.idx) >= len(order) {
			fi := s.finding(fault.Warning, v.first.offset+int64(t.idx.off), v.first.field()+": idx", "%d, want less than %d, the number of variables", v.idx, len(order))
			fi.Var = fault.Num(id)
			s.add(fi)
		}
	}
	for _, id := range order {
		if v := vars[id]; (s.f.RecordsLost || s.cut) && !v.open {
			s.at(v.first, t.id, "id", true, "all containers of this variable are full, so further containers may be in lost headers")
		}
	}
	var single []place
	for _, id := range order {
		if v := vars[id]; v.n == 1 {
			single = append(single, v.first)
		}
	}
	defer s.ids(single) // call it when all other flaws are known
	// If a container has a wrong id, the variable to which it belongs lacks its last container but has no other flaw.
	if len(strays) == 0 {
		return
	}
	ends := map[fit][]int32{}
	for _, id := range order {
		v := vars[id]
		ends[fit{v.n, v.sum}] = append(ends[fit{v.n, v.sum}], id)
	}
	for _, p := range strays {
		owners := ends[fit{p.ContainerID, p.Dptr}]
		delete(ends, fit{p.ContainerID, p.Dptr})
		for _, id := range owners {
			if v := vars[id]; id != p.ID {
				s.at(v.first, t.id, "id", true, "the container at %#x has id %d, but would be the next of this variable: it may have lost it", p.offset, p.ID)
			}
		}
	}
}

// content checks the chunks of a variable: all chunks before the last one must be full, and no container after it may have
// content.
func (s *structure) content(v *varState, p place) {
	t := &s.f.Layout.table().vmd
	switch {
	case !p.HasContent && p.ChunkSize != 0:
		s.at(p, t.hasContent, "hascontent", true, "false, but chunksize is %d", p.ChunkSize)
	case p.HasContent && p.ChunkSize == 0 && v.n > 0 && p.Hash == emptyHash(s.f):
		fi := s.finding(fault.Warning, p.offset+int64(t.hasContent.off), p.field()+": hascontent",
			"true for no bytes: by the growth rule an empty container has no content")
		fi.Var = fault.Num(p.ID)
		s.add(fi)
	case p.HasContent && v.open:
		s.at(p, t.hasContent, "hascontent", p.ChunkSize != 0, "true, but a container of the variable before it is not full")
	case p.HasContent && p.ChunkSize == 0 && p.ContainerSize > 0 && v.n > 0:
		s.at(p, t.chunk, "chunksize", true, "0 with content, which only the first container of an empty variable can have")
	case !p.HasContent && v.n == 0 && p.ContainerSize > 0:
		s.at(p, t.hasContent, "hascontent", true, "false, but a variable's first container always has content")
	}
	if !p.HasContent && p.ContainerSize > 0 || p.ChunkSize != p.ContainerSize {
		v.open = true
	}
}
