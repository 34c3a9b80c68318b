package decomp

import "unsafe"

// The kernels move the runs of whole repetitions between a canonical window and a blob. The cost depends on runs, not bytes. In
// the F case runs have 1.6 elements on average, and a branch on the length of a run is mispredicted every other time. So patterns
// of short runs are first flattened to one offset per element, once per pattern for all repetitions. The inner loop is then a
// load and a store without branches.

const (
	// flatMax is the number of elements flattened at a time.
	flatMax  = 124
	flatStep = 4
	// shortRun is the maximum mean length of runs, in elements, for which flattening pays.
	shortRun = 10
)

// tile is several whole repetitions of a pattern. Lengths are in elements.
type tile struct {
	rel, end      []int32 // nil for a single run
	reps          int
	lead          int // canon begins this many elements before the first run
	stride, elems int // distance of repetitions in the canonical array and in the blob
	ordered       bool
}

// short reports whether flattening pays. Flattening changes the order of elements of different repetitions, so the repetitions
// must not overlap.
func (t *tile) short(width int) bool {
	if !t.ordered || width > 8 || width&(width-1) != 0 {
		return false
	}
	if t.rel == nil {
		return t.elems <= 2
	}
	return t.elems <= shortRun*len(t.rel)
}

// move copies all runs of t: to canon if scatter is set, otherwise to blob.
func (t *tile) move(canon, blob []byte, width int, scatter bool) {
	if t.short(width) {
		t.moveFlat(canon, blob, width, scatter)
	} else {
		t.moveRuns(canon, blob, width, scatter)
	}
}

// moveRuns does the same as move, run by run.
func (t *tile) moveRuns(canon, blob []byte, width int, scatter bool) {
	move := func(canon, blob []byte) {
		if scatter {
			moveRun(canon, blob)
		} else {
			moveRun(blob, canon)
		}
	}
	for r := range t.reps {
		c, b := (t.lead+r*t.stride)*width, r*t.elems*width
		if t.rel == nil {
			move(canon[c:c+t.elems*width], blob[b:b+t.elems*width])
			continue
		}
		prev := 0
		for i, d := range t.rel {
			o, e := c+int(d)*width, int(t.end[i])*width
			move(canon[o:o+e-prev], blob[b+prev:b+e])
			prev = e
		}
	}
}

// longRun is the length in bytes from which the builtin copy is at least as fast as the code of moveRun.
const longRun = 256

// moveRun copies src to dst, which have the same length and do not overlap. For a few elements, copy spends most of its time on
// the length.
func moveRun(dst, src []byte) {
	n := len(src)
	if n >= longRun || n != len(dst) {
		copy(dst, src)
		return
	}
	d, s := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	switch {
	case n >= 16:
		for k := 0; k < n-16; k += 16 {
			*(*[16]byte)(unsafe.Add(d, k)) = *(*[16]byte)(unsafe.Add(s, k))
		}
		*(*[16]byte)(unsafe.Add(d, n-16)) = *(*[16]byte)(unsafe.Add(s, n-16)) // overlaps the bytes already copied
	case n >= 8:
		*(*[8]byte)(d) = *(*[8]byte)(s)
		*(*[8]byte)(unsafe.Add(d, n-8)) = *(*[8]byte)(unsafe.Add(s, n-8))
	case n >= 4:
		*(*[4]byte)(d) = *(*[4]byte)(s)
		*(*[4]byte)(unsafe.Add(d, n-4)) = *(*[4]byte)(unsafe.Add(s, n-4))
	default:
		copy(dst, src)
	}
}

// moveFlat flattens the pattern, flatMax elements at a time, and moves these elements of all repetitions.
func (t *tile) moveFlat(canon, blob []byte, width int, scatter bool) {
	var buf [flatMax + flatStep]int
	if t.rel == nil {
		for i := range t.elems {
			buf[i] = (t.lead + i) * width
		}
		t.moveElems(canon, blob, buf[:t.elems], width, scatter)
		return
	}
	done, n, prev := 0, 0, int32(0)
	for i, d := range t.rel {
		o := (t.lead + int(d)) * width
		left := int(t.end[i] - prev)
		prev = t.end[i]
		for {
			// write four offsets at a time, so that the branches are the same for most runs
			at := (*[flatStep]int)(buf[n:])
			at[0], at[1], at[2], at[3] = o, o+width, o+2*width, o+3*width
			n += min(left, flatStep)
			if n >= flatMax {
				t.moveElems(canon, blob[done*width:], buf[:n], width, scatter)
				done += n
				n = 0
			}
			if left <= flatStep {
				break
			}
			left -= flatStep
			o += flatStep * width
		}
	}
	t.moveElems(canon, blob[done*width:], buf[:n], width, scatter)
}

// moveElems moves the elements at the ascending byte offsets at, for all repetitions.
func (t *tile) moveElems(canon, blob []byte, at []int, width int, scatter bool) {
	if len(at) == 0 || t.reps < 1 {
		return
	}
	cstep, bstep := t.stride*width, t.elems*width
	// check all bounds for the loops below
	_ = canon[at[0]]
	_ = canon[at[len(at)-1]+width-1+(t.reps-1)*cstep]
	_ = blob[len(at)*width-1+(t.reps-1)*bstep]
	c, b := unsafe.Pointer(unsafe.SliceData(canon)), unsafe.Pointer(unsafe.SliceData(blob))
	switch width {
	case 1:
		moveCells[[1]byte](cells{c, b, t.reps, cstep, bstep}, at, scatter)
	case 2:
		moveCells[[2]byte](cells{c, b, t.reps, cstep, bstep}, at, scatter)
	case 4:
		moveCells[[4]byte](cells{c, b, t.reps, cstep, bstep}, at, scatter)
	case 8:
		moveCells[[8]byte](cells{c, b, t.reps, cstep, bstep}, at, scatter)
	}
}

// cells are elements of repetitions, cstep bytes apart in canon and bstep bytes apart in blob.
type cells struct {
	canon, blob        unsafe.Pointer
	reps, cstep, bstep int
}

// moveCells is the innermost loop of moveElems, for elements of the size of T at any alignment. The caller has checked the
// bounds.
func moveCells[T [1]byte | [2]byte | [4]byte | [8]byte](m cells, at []int, scatter bool) {
	width := int(unsafe.Sizeof(*new(T)))
	for r := range m.reps {
		c, b := unsafe.Add(m.canon, r*m.cstep), unsafe.Add(m.blob, r*m.bstep)
		if scatter {
			for i, o := range at {
				*(*T)(unsafe.Add(c, o)) = *(*T)(unsafe.Add(b, i*width))
			}
			continue
		}
		for i, o := range at {
			*(*T)(unsafe.Add(b, i*width)) = *(*T)(unsafe.Add(c, o))
		}
	}
}
