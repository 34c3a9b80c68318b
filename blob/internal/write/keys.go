package write

import (
	"context"
	"encoding/binary"
	"slices"
)

type varRec struct {
	v   int32
	rec int64
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
// this rank has no say in undivided, with its complement; and undivided, which are undividedWords, or of keys alone wholeKeyWords. e may be nil if there are none.
func (e *Engine) hashKeys(keys []varRec, undivided [2]int64) []int64 {
	parts := uint64(hashOdd)
	for _, k := range keys {
		if k.v >= 0 && e.Layout.Schema.Vars[k.v].Decomp != 0 {
			parts = hashAdd(hashAdd(parts, uint64(k.v)), uint64(k.rec))
		}
	}
	a := int64(parts>>1) &^ 1
	if undivided[0] == noSay {
		a |= 1
	}
	return []int64{a, ^a, undivided[0], undivided[1]}
}

func alikeOf(v []int64) alike {
	switch most := ^v[1]; {
	case v[0]|1 != most|1:
		return notAlike
	case v[2] == ^v[3] && (most&1 == 0 || v[2] == noUndivided):
		return allAlike
	}
	return partsAlike
}

// undividedDiffer says of the same words that not all first ranks of subfiles have put what some rank has of undivided variables.
func undividedDiffer(v []int64) bool { return v[2] != ^v[3] }

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

// exchangeKeys exchanges the lists of what each member puts.
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
