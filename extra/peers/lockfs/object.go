package lockfs

import "slices"

// lock is granted to a client on the bytes [from, to) of an object.
type lock struct {
	from, to int64
	client   int
	write    bool
}

// excludes reports whether l keeps another client from a lock on what it covers.
func (l lock) excludes(client int, write bool) bool { return l.client != client && (l.write || write) }

// object is the part of a file on one storage server.
type object struct {
	server int
	locks  []lock
	dirty  map[int]spans // by client: written, and not sent
}

// endOfObject is beyond every object.
const endOfObject = int64(1) << 62

// take gives a client a lock on [from, to), unless it has one, and returns the locks that were revoked for it.
func (o *object) take(client int, from, to int64, write bool) (revoked []lock, asked bool) {
	from, to = from/pageSize*pageSize, (to+pageSize-1)/pageSize*pageSize
	for _, l := range o.locks {
		if l.client == client && l.from <= from && to <= l.to && (l.write || !write) {
			return nil, false
		}
	}
	got := lock{0, endOfObject, client, write}
	o.locks = slices.DeleteFunc(o.locks, func(l lock) bool {
		if !l.excludes(client, write) {
			return false
		}
		switch {
		case l.to <= from:
			got.from = max(got.from, l.to)
		case l.from >= to:
			got.to = min(got.to, l.from)
		default:
			revoked = append(revoked, l)
			return true
		}
		return false
	})
	o.locks = slices.DeleteFunc(o.locks, func(l lock) bool { // the range of the new lock
		return l.client == client && got.from <= l.from && l.to <= got.to && (got.write || !l.write)
	})
	o.locks = append(o.locks, got)
	return revoked, true
}

// spans are disjoint ranges of bytes, ascending, none touching the next.
type spans [][2]int64

// add joins [from, to).
func (s spans) add(from, to int64) spans {
	i, _ := slices.BinarySearchFunc(s, from, func(x [2]int64, from int64) int {
		if x[1] < from {
			return -1
		}
		return 1
	})
	k := i
	for ; k < len(s) && s[k][0] <= to; k++ {
		from, to = min(from, s[k][0]), max(to, s[k][1])
	}
	return slices.Replace(s, i, k, [2]int64{from, to})
}

// cut removes what lies in [from, to), and returns it.
func (s spans) cut(from, to int64) (rest, out spans) {
	for _, x := range s {
		lo, hi := max(x[0], from), min(x[1], to)
		if lo >= hi {
			rest = append(rest, x)
			continue
		}
		out = append(out, [2]int64{lo, hi})
		if x[0] < lo {
			rest = append(rest, [2]int64{x[0], lo})
		}
		if hi < x[1] {
			rest = append(rest, [2]int64{hi, x[1]})
		}
	}
	return rest, out
}
