package redset

// layout describes where the bytes of a set are. The logical file of a member consists
// of its files one after the other. Its payload is the part of its redundancy file after
// the header. Both are divided into elements. Elements of different members that protect
// each other form a stripe:
//
//	XOR, RS   n stripes of chunk bytes. Each member has one element of each stripe:
//	          in stripe c it is row i = (c - member) mod n of the parity if i < k, data otherwise.
//	PARTNER   each file of each member, with its copies, is a stripe.
//	SINGLE    each file of each member is a stripe.
type layout struct {
	scheme Scheme
	n      int     // number of members
	k      int     // number of parity elements of a stripe: the number of copies for PARTNER, 1 for XOR, 0 for SINGLE
	chunk  int64   // size of an element; XOR and RS only
	lens   []int64 // size of the logical file of each member
	sum    []int64 // for SINGLE and PARTNER: sum of lens of the members before a member; the list of members is repeated once
	files  []piece // for SINGLE and PARTNER: the files of member 0, then of member 1, ...
}

// piece is one file of a member.
type piece struct {
	member, file int
	off, n       int64 // range in the logical file, in bytes
}

// elem is one member's part of a stripe.
type elem struct {
	member int
	parity bool  // the element is in the payload; otherwise it is in the logical file
	off    int64 // offset in the payload or logical file, in bytes
	pos    int   // position in the code; for data the number of the data element in the stripe, for row i of the parity the number of data elements + i
	col    int   // for RS: the column of the matrix (data) or its row (parity)
}

// newLayout returns the layout of a set. sizes holds the sizes of the files of each member.
func newLayout(scheme Scheme, k int, sizes [][]int64) *layout {
	l := &layout{scheme: scheme, n: len(sizes), k: k, lens: make([]int64, len(sizes))}
	longest := int64(0)
	for m, v := range sizes {
		for i, n := range v {
			if !l.chunked() {
				l.files = append(l.files, piece{m, i, l.lens[m], n})
			}
			l.lens[m] += n
		}
		longest = max(longest, l.lens[m])
	}
	if !l.chunked() {
		l.sum = make([]int64, 2*l.n+1)
		for i := range 2 * l.n {
			l.sum[i+1] = l.sum[i] + l.lens[i%l.n]
		}
	} else {
		s := int64(l.n - k)
		l.chunk = max(1, longest/s+min(1, longest%s))
	}
	return l
}

// chunked reports whether logical files are divided into chunks.
func (l *layout) chunked() bool { return l.scheme == XOR || l.scheme == RS }

func (l *layout) stripes() int {
	if l.chunked() {
		return l.n
	}
	return len(l.files)
}

// worker returns the member that computes the elements of stripe c.
func (l *layout) worker(c int) int {
	if l.chunked() {
		return c
	}
	return l.files[c].member
}

// length returns the size of each element of stripe c.
func (l *layout) length(c int) int64 {
	if l.chunked() {
		return l.chunk
	}
	return l.files[c].n
}

// dataPerStripe returns the number of data elements of a stripe. Any selection of this many elements determines the others.
func (l *layout) dataPerStripe() int {
	if l.chunked() {
		return l.n - l.k
	}
	return 1
}

// elems returns the elements of stripe c, first data and then parity, each in the order of pos.
func (l *layout) elems(c int) []elem {
	if !l.chunked() {
		p := l.files[c]
		es := []elem{{member: p.member, off: p.off}}
		for j := 1; j <= l.k; j++ {
			m := (p.member + j) % l.n
			es = append(es, elem{member: m, parity: true, off: l.copyOffset(m, j) + p.off, pos: j, col: j - 1})
		}
		return es
	}
	var es []elem
	for m := range l.n {
		if (c-m+l.n)%l.n < l.k {
			continue
		}
		before := c // number of data elements of m in the stripes before c
		for i := range l.k {
			if (m+i)%l.n < c {
				before--
			}
		}
		es = append(es, elem{member: m, off: int64(before) * l.chunk, pos: len(es), col: m})
	}
	for i := range l.k {
		es = append(es, elem{member: (c - i + l.n) % l.n, parity: true, off: int64(i) * l.chunk, pos: len(es), col: i})
	}
	return es
}

// copyOffset returns the offset of the copy of member m-j in the payload of member m. The copies of the members m-1 ... m-j+1
// come before it.
func (l *layout) copyOffset(m, j int) int64 { return l.sum[m+l.n] - l.sum[m+l.n-j+1] }

// left returns the left neighbours of member m. Their file lists are in the header of m.
func (l *layout) left(m int) []int {
	var v []int
	for j := 1; j <= l.k; j++ {
		v = append(v, (m-j+l.n)%l.n)
	}
	return v
}
