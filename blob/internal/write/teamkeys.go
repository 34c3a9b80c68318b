package write

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
)

// order compares as pieces lie in the file, or with ByRank in a blob: map variables, then fixed
// variables and records, or variable by variable.
func (l *Layout) order(a, b varRec) int {
	if a.v < 0 || b.v < 0 {
		return cmp.Compare(b.v, a.v)
	}
	if l.Place.ByRank {
		return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.rec, b.rec))
	}
	if ra, rb := l.Schema.Vars[a.v].Record, l.Schema.Vars[b.v].Record; ra != rb {
		if rb {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.rec, b.rec), cmp.Compare(a.v, b.v))
}

// keysOf lists the variables and records that are put, each once, as they lie in the file.
func (l *Layout) keysOf(pending []Pend, parts []part, seen []lonePut) []varRec {
	keys := make([]varRec, 0, len(pending)+len(parts)+len(seen))
	for k := range pending {
		keys = append(keys, varRec{pending[k].V, pending[k].Rec})
	}
	for k := range parts {
		keys = append(keys, varRec{parts[k].V, parts[k].Rec})
	}
	for k := range seen {
		keys = append(keys, varRec{seen[k].V, seen[k].Rec})
	}
	if !slices.IsSortedFunc(keys, l.order) {
		slices.SortFunc(keys, l.order)
	}
	return slices.Compact(keys)
}

// allKeys lists everything that this session writes.
func (l *Layout) allKeys(records int64) (keys []varRec) {
	for v := range l.Schema.Vars {
		switch {
		case l.Schema.Vars[v].Record:
			for rec := l.First; rec < records; rec++ {
				keys = append(keys, varRec{int32(v), rec})
			}
		case !l.Appended:
			keys = append(keys, varRec{int32(v), 0})
		}
	}
	slices.SortFunc(keys, l.order)
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

// hashKeys returns words for alikeOf, to be agreed on by Min: a hash of the keys with a decomposition, whose last bit is set if
// this rank has no say in lone, with its complement; and lone, which are loneWords, or of keys alone loneKeys. e may be nil if there are none.
func (e *Engine) hashKeys(keys []varRec, lone [2]int64) []int64 {
	parts := uint64(hashOdd)
	for _, k := range keys {
		if k.v >= 0 && e.Layout.Schema.Vars[k.v].Decomp != 0 {
			parts = hashAdd(hashAdd(parts, uint64(k.v)), uint64(k.rec))
		}
	}
	a := int64(parts>>1) &^ 1
	if lone[0] == noSay {
		a |= 1
	}
	return []int64{a, ^a, lone[0], lone[1]}
}

// loneKeys are loneWords where no values are to be compared: of these keys.
func (l *Layout) wholeKeyWords(keys []varRec) [2]int64 {
	var list []part
	for _, k := range keys {
		if l.Schema.Vars[k.v].Decomp == 0 {
			list = append(list, part{Pend: Pend{V: k.v, Rec: k.rec}})
		}
	}
	if len(list) == 0 && l.Table.ID[0] != 0 {
		return [2]int64{noSay, noSay}
	}
	sum := int64(loneSum(list))
	return [2]int64{sum, ^sum}
}

func alikeOf(v []int64) alike {
	switch most := ^v[1]; {
	case v[0]|1 != most|1:
		return notAlike
	case v[2] == ^v[3] && (most&1 == 0 || v[2] == noLones):
		return allAlike
	}
	return partsAlike
}

// lonesDiffer says of the same words that not all first ranks of subfiles have put what some rank has of lone variables.
func lonesDiffer(v []int64) bool { return v[2] != ^v[3] }

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
func (e *Engine) keySets(ctx context.Context, maps []Pend, b Flushing) (sets [][]varRec, err error) {
	switch {
	case e.team.one():
		return nil, nil
	case b.alike == notAlike:
		sets, err = e.team.exchangeKeys(ctx, b.keys)
	case b.alike == partsAlike:
		b.keys, err = e.wholeKeys(ctx, b.keys)
		fallthrough
	default:
		sets = [][]varRec{b.keys}
	}
	for i, keys := range sets {
		all := make([]varRec, 0, len(maps)+len(keys))
		for _, m := range maps {
			all = append(all, varRec{v: m.V})
		}
		sets[i] = append(all, keys...)
	}
	return sets, err
}

// exchangeKeys tells the members what each puts.
func (t *Team) exchangeKeys(ctx context.Context, keys []varRec) ([][]varRec, error) {
	all, err := t.C.Allgather(ctx, encodeKeys(keys))
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
func (e *Engine) wholeKeys(ctx context.Context, keys []varRec) ([]varRec, error) {
	var parts, whole []varRec
	for _, k := range keys {
		if e.Layout.Schema.Vars[k.v].Decomp != 0 {
			parts = append(parts, k)
		} else {
			whole = append(whole, k)
		}
	}
	if e.team.members[0] != 0 {
		return parts, nil
	}
	b, err := e.team.C.Bcast(ctx, 0, encodeKeys(whole))
	if err != nil {
		return nil, err
	}
	keys = appendKeys(parts, b)
	slices.SortFunc(keys, e.Layout.order)
	return keys, nil
}
