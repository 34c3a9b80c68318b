package blob

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
)

// order compares as pieces lie in the file, or with ByRank in a blob: map variables, then fixed
// variables and records, or variable by variable.
func (e *engine) order(a, b varRec) int {
	if a.v < 0 || b.v < 0 {
		return cmp.Compare(b.v, a.v)
	}
	if e.place.ByRank {
		return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.rec, b.rec))
	}
	if ra, rb := e.schema.vars[a.v].Record, e.schema.vars[b.v].Record; ra != rb {
		if rb {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.rec, b.rec), cmp.Compare(a.v, b.v))
}

// keysOf lists the variables and records that are put, each once, as they lie in the file.
func (e *engine) keysOf(pending []pend, parts []part, seen []pend) []varRec {
	keys := make([]varRec, 0, len(pending)+len(parts)+len(seen))
	for k := range pending {
		keys = append(keys, varRec{pending[k].v, pending[k].rec})
	}
	for k := range parts {
		keys = append(keys, varRec{parts[k].v, parts[k].rec})
	}
	for k := range seen {
		keys = append(keys, varRec{seen[k].v, seen[k].rec})
	}
	if !slices.IsSortedFunc(keys, e.order) {
		slices.SortFunc(keys, e.order)
	}
	return slices.Compact(keys)
}

// allKeys lists everything that this session writes.
func (e *engine) allKeys(records int64) (keys []varRec) {
	for v := range e.schema.vars {
		switch {
		case e.schema.vars[v].Record:
			for rec := e.first; rec < records; rec++ {
				keys = append(keys, varRec{int32(v), rec})
			}
		case !e.appended:
			keys = append(keys, varRec{int32(v), 0})
		}
	}
	slices.SortFunc(keys, e.order)
	return keys
}

// alike says how far all ranks put the same variables and records.
type alike uint8

const (
	notAlike   alike = iota
	partsAlike       // those with a decomposition; of the others only what sub rank 0 puts has bytes
	allAlike
)

// hashWords is how many words hashKeys returns.
const hashWords = 4

// hashKeys returns hashes for alikeOf, to be agreed on by Min: each with its complement, of all keys, and of those
// with a decomposition. e may be nil if there are none.
func (e *engine) hashKeys(keys []varRec) []int64 {
	const odd = 0x9e3779b97f4a7c15 // mix maps 0 to 0
	all, parts := uint64(odd), uint64(odd)
	for _, k := range keys {
		add := func(h *uint64) {
			*h = mix(*h+uint64(k.v)) + odd
			*h = mix(*h+uint64(k.rec)) + odd
		}
		add(&all)
		if k.v >= 0 && e.schema.vars[k.v].Decomp != 0 {
			add(&parts)
		}
	}
	a, b := int64(all>>1), int64(parts>>1)
	return []int64{a, ^a, b, ^b}
}

func alikeOf(v []int64) alike {
	switch {
	case v[0] == ^v[1]:
		return allAlike
	case v[2] == ^v[3]:
		return partsAlike
	}
	return notAlike
}

// keyBytes is the size of an encoded key.
const keyBytes = 12

func encodeKeys(keys []varRec) []byte {
	b := make([]byte, 0, keyBytes*len(keys))
	for _, k := range keys {
		b = binary.LittleEndian.AppendUint32(b, uint32(k.v))
		b = binary.LittleEndian.AppendUint64(b, uint64(k.rec))
	}
	return b
}

func appendKeys(keys []varRec, b []byte) []varRec {
	for ; len(b) >= keyBytes; b = b[keyBytes:] {
		keys = append(keys, varRec{int32(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint64(b[4:]))})
	}
	return keys
}

// keySets lists what each member puts, map variables included, or has one list if that is of all; nil in a team of one.
func (e *engine) keySets(ctx context.Context, maps []pend, b flushing) (sets [][]varRec, err error) {
	switch {
	case e.team.one():
		return nil, nil
	case b.alike == notAlike:
		sets, err = e.team.exchangeKeys(ctx, b.keys)
	case b.alike == partsAlike:
		b.keys, err = e.wholeKeys(ctx, b.keys)
		e.whole = b.keys
		fallthrough
	default:
		sets = [][]varRec{b.keys}
	}
	for i, keys := range sets {
		all := make([]varRec, 0, len(maps)+len(keys))
		for _, m := range maps {
			all = append(all, varRec{v: m.v})
		}
		sets[i] = append(all, keys...)
	}
	return sets, err
}

// exchangeKeys tells the members what each puts.
func (t *team) exchangeKeys(ctx context.Context, keys []varRec) ([][]varRec, error) {
	all, err := t.c.Allgather(ctx, encodeKeys(keys))
	if err != nil {
		return nil, err
	}
	sets := make([][]varRec, len(all))
	for i, b := range all {
		sets[i] = appendKeys(nil, b)
	}
	return sets, nil
}

// wholeKeys returns what all members put that has bytes, if they put the same with a decomposition: for that, and what sub rank 0
// puts without one.
func (e *engine) wholeKeys(ctx context.Context, keys []varRec) ([]varRec, error) {
	var parts, whole []varRec
	for _, k := range keys {
		if e.schema.vars[k.v].Decomp != 0 {
			parts = append(parts, k)
		} else {
			whole = append(whole, k)
		}
	}
	if e.team.members[0] != 0 {
		return parts, nil
	}
	b, err := e.team.c.Bcast(ctx, 0, encodeKeys(whole))
	if err != nil {
		return nil, err
	}
	keys = appendKeys(parts, b)
	slices.SortFunc(keys, e.order)
	return keys, nil
}
